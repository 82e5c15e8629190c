"""Entities and joint projects labelled in a browser: what was marked equals the stored answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from annotation import projects
from annotation.ontology import inventory
from annotation.queue import quality_settings, votes
from tests.annotation.browser_keyboard import open_form, press, read_back, stored_payloads, wait_until_sent
from tests.cast.projects import ProjectCast
from tests.places.browser import barriers

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
TEXTS = ("🚢 Ada met Bob in Turin.\nBob left  Turin.", "Nothing here, s2.")
LABELS = ["person", "place"]
MODULES = "/static/annotation/spans"


def start(page: Page, kind: str = "entities", *, by_sentence: bool = False) -> ProjectCast:
    cast = ProjectCast.create(kind=kind, k=1, labels=LABELS)
    projects.set_by_sentence(cast.project, by_sentence=by_sentence, by=cast.curator)
    if kind == "joint":
        relation = {"name": "visited", "phrase": "visited", "head_type": "person", "tail_type": "place"}
        inventory.add_labels(cast.project, [relation], by=cast.curator, part="relation")
    cast.import_lines(*({"id": f"s{at}", "text": text} for at, text in enumerate(TEXTS, 1)))
    cast.open()
    open_form(page)
    page.locator("#sentence", has_text="Ada").wait_for()
    return cast


def words_of(payload: Any) -> list[tuple[str, str]]:
    return [(TEXTS[0][begin:end], name) for begin, end, name in payload["spans"]]


def place_of(page: Page, word: str) -> tuple[float, float]:
    """Middle of the first occurrence of a word on the screen."""
    box = page.evaluate(
        """word => {
          const node = document.getElementById("sentence").firstChild;
          const range = document.createRange();
          range.setStart(node, node.data.indexOf(word));
          range.setEnd(node, node.data.indexOf(word) + word.length);
          const { x, y, width, height } = range.getBoundingClientRect();
          return [x + width / 2, y + height / 2];
        }""",
        word,
    )
    return (box[0], box[1])


def test_spans_are_marked_by_keyboard_and_the_next_text_takes_na(page: Page) -> None:
    start(page)
    press(page, *["ArrowRight"] * 4, "1", "e", "Enter", "ArrowRight", "ArrowRight", "2", "Enter")
    page.locator("#sentence", has_text="Nothing here").wait_for()
    press(page, "n", "Enter")
    wait_until_sent(page, 2)
    marked = [("Bob", "person"), ("Turin", "place"), ("Bob", "person")]
    assert words_of(stored_payloads(1)[0]) == marked
    assert stored_payloads(2)[0] == {"spans": [], "relations": []}


def test_spans_are_marked_by_mouse(page: Page) -> None:
    start(page)
    page.mouse.dblclick(*place_of(page, "Ada"))
    press(page, "1")
    page.mouse.move(*place_of(page, "Bob"))
    page.mouse.down()
    page.mouse.move(*place_of(page, "Turin"), steps=4)
    page.mouse.up()
    page.get_by_role("button", name="place").click()
    assert read_back(page) == "Your answer: 2 spans."
    page.locator("#submit").click()
    wait_until_sent(page, 1)
    assert words_of(stored_payloads(1)[0]) == [("Ada", "person"), ("Bob in Turin", "place")]


def test_an_overlapping_span_is_refused_with_the_reason(page: Page) -> None:
    start(page)
    press(page, "ArrowRight", "ArrowRight", "1", "Escape")
    press(page, "ArrowRight", "Shift+ArrowRight", "Shift+ArrowRight", "2")
    reason = "Spans of this project may not overlap. “Ada”, person, is here: select it to change it."
    assert page.locator("#answer-error").inner_text() == reason


def test_a_relation_takes_a_head_a_key_and_a_tail(page: Page) -> None:
    start(page, "joint")
    page.mouse.click(*place_of(page, "Ada"))
    press(page, "1")
    page.mouse.click(*place_of(page, "Turin"))
    press(page, "2")
    page.mouse.click(*place_of(page, "Ada"))
    press(page, "Shift+1")
    page.mouse.click(*place_of(page, "Turin"))
    assert read_back(page) == "Your answer: 2 spans; Ada visited Turin."
    page.get_by_role("button", name="Turn Ada").click()
    assert read_back(page) == "Your answer: 2 spans; Turin visited Ada."
    press(page, "t")
    assert page.locator("#link-list").inner_text().startswith("Ada – visited – Turin")
    assert barriers(page) == []
    press(page, "Delete")
    assert read_back(page) == "Your answer: 1 span."
    press(page, "z", "Enter")
    wait_until_sent(page, 1)
    stored = stored_payloads(1)[0]
    assert words_of(stored) == [("Ada", "person"), ("Turin", "place")]
    assert stored["relations"] == [[0, "visited", 1]]


def test_a_phone_keeps_labels_relations_and_text_in_view_for_a_relation(page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    start(page, "joint")
    page.mouse.click(*place_of(page, "Ada"))
    page.get_by_role("button", name="person").click()
    page.mouse.click(*place_of(page, "Turin"))
    page.get_by_role("button", name="place").click()
    page.mouse.click(*place_of(page, "Ada"))
    page.get_by_role("button", name="visited").click()
    page.mouse.click(*place_of(page, "Turin"))
    assert read_back(page) == "Your answer: 2 spans; Ada visited Turin."
    assert page.evaluate("scrollY") == 0
    labels, bar = page.locator(".trays").bounding_box(), page.locator(".work__bar").bounding_box()
    assert labels
    assert bar
    assert bar["y"] - labels["y"] - labels["height"] > 250


def test_a_text_without_given_entities_is_not_skipped_for_one(page: Page) -> None:
    start(page)
    press(page, "s")
    reasons = page.locator("#skip-dialog [data-reason]").all_inner_texts()
    assert [reason.split(maxsplit=1) for reason in reasons] == [
        ["1", "The sentence is broken"],
        ["2", "I can’t decide"],
        ["3", "Later"],
    ]


def test_a_resized_relabelled_and_removed_span_comes_back_by_undo(page: Page) -> None:
    start(page)
    press(page, "ArrowRight", "ArrowRight", "1", "]", "l")
    assert page.locator("#span-list").inner_text().split("\t") == ["Ada met", "place", "2, 9"]
    press(page, "Delete")
    assert read_back(page) == "Nothing marked yet."
    press(page, "z", "z")
    page.locator("#undo").click()
    assert page.locator("#span-list").inner_text().split("\t") == ["Ada", "person", "2, 5"]
    said = page.locator("#span-note").inner_text()
    assert said == "Marked: “Ada” person. No longer marked: “Ada met” person."
    press(page, "]", "[")
    assert page.locator("#span-note").inner_text() == "“Ada” is the span now."
    handle = page.locator(".marks__handle--end").bounding_box()
    assert handle is not None
    page.mouse.move(handle["x"] + 6, handle["y"] + 9)
    page.mouse.down()
    page.mouse.move(*place_of(page, "Bob"), steps=4)
    page.mouse.up()
    assert page.locator("#span-list").inner_text().split("\t") == ["Ada met Bob", "person", "2, 13"]


def test_a_handle_leaves_the_next_letter_to_a_finger(page: Page) -> None:
    start(page)
    press(page, "k", "ArrowRight", "ArrowRight", "1")
    code = """() => {
      const { firstChild: node } = document.getElementById("sentence");
      const range = document.createRange();
      range.setStart(node, node.data.indexOf("da"));
      range.setEnd(node, node.data.indexOf("da") + 1);
      const { x, y, width, height } = range.getBoundingClientRect();
      return document.elementFromPoint(x + width / 2, y + height / 2).id;
    }"""
    assert page.locator("#span-list").inner_text().split("\t") == ["A", "person", "2, 3"]
    assert page.evaluate(code) == "sentence"


def test_the_caret_stays_in_view_in_a_long_text(page: Page) -> None:
    cast = ProjectCast.create(kind="entities", k=1, labels=LABELS)
    cast.import_lines({"id": "s1", "text": "A sentence of seven words stands here. " * 120 + "x" * 400})
    cast.open()
    open_form(page)
    page.locator("#sentence", has_text="seven").wait_for()
    press(page, "ArrowLeft")
    caret, bar = (
        page.locator(name).first.evaluate("part => part.getBoundingClientRect().top")
        for name in (".marks__range", ".work__bar")
    )
    assert 0 < caret < bar
    press(page, "1")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert "x" * 59 + "…" in page.locator("#span-note").inner_text()


def test_predictions_are_dashed_until_each_is_accepted_refused_or_changed(page: Page) -> None:
    cast = ProjectCast.create(kind="joint", k=1, labels=LABELS)
    inventory.add_labels(cast.project, ["met"], by=cast.curator, part="relation")
    cast.import_lines({"id": "s1", "text": TEXTS[0]})
    spans = [[2, 5, "person"], [10, 13, "place"], [17, 22, "place"], [24, 27, "person"]]
    links = [[0, "met", 1], [0, "met", 2], [3, "met", 1], [1, "met", 0]]
    cast.import_lines({"id": "s1", "spans": spans, "relations": links}, what="suggestions")
    quality_settings.set_quality_options(cast.project, by=cast.curator, suggests=True)
    cast.open()
    open_form(page)
    dashed = page.locator(".marks__bar.marks--guess")
    dashed.nth(3).wait_for()
    press(page, "Tab", "Tab", "1")
    assert dashed.count() == 3
    tag = page.locator(".marks__tag.marks--guess").first
    assert tag.evaluate("tag => getComputedStyle(tag).borderTopWidth") == "0px"
    press(page, "Escape", "y", "Enter")
    assert page.locator("#answer-error").inner_text().startswith("6 predictions left.")
    page.locator("#refuse-guess").click()
    assert page.locator("#guess-count").inner_text() == "4 predictions"
    assert page.locator("#readback").inner_text().endswith(" Not accepted yet: 4 predictions.")
    press(page, "y", "y")
    assert "Next: “Bob” met “Ada”." in page.locator("#span-note").inner_text()
    arcs = page.locator(".marks__guess")
    assert arcs.count() == 2
    press(page, "x", "z")
    page.get_by_role("button", name="Accept the prediction Bob – met – Bob").click()
    assert arcs.count() == 1
    press(page, "Shift+Y", "z")
    assert page.locator("#link-list .predicted").all_inner_texts() == ["Bob – met – Ada"]
    press(page, "Shift+X", "Enter")
    wait_until_sent(page, 1)
    stored = stored_payloads(1)[0]
    assert words_of(stored) == [("Ada", "person"), ("Bob", "person"), ("Bob", "person")]
    assert stored["relations"] == [[0, "met", 1], [2, "met", 1]]


def test_a_text_is_shown_sentence_by_sentence_and_sent_after_the_last(page: Page) -> None:
    start(page, by_sentence=True)
    text = page.locator("#sentence")
    assert text.inner_text().strip() == TEXTS[0].splitlines()[0]
    press(page, "ArrowRight", "ArrowRight", "1")
    page.get_by_role("button", name="Next sentence ↵").click()
    assert page.locator("#submit").inner_text().startswith("Submit and next")
    assert text.inner_text().strip() == TEXTS[0].splitlines()[1]
    assert page.locator("#sentence-at").inner_text() == "Sentence 2 of 2"
    assert page.locator(".marks__bar").count() == 0
    press(page, "Escape", "ArrowRight", "1", "Enter")
    wait_until_sent(page, 1)
    assert words_of(stored_payloads(1)[0]) == [("Ada", "person"), ("Bob", "person")]


def test_drafts_conflicts_history_and_the_outbox_take_spans(page: Page) -> None:
    cast = start(page, "joint")
    elsewhere = {"spans": [[2, 5, "person"], [17, 22, "place"]], "relations": [[0, "visited", 1]]}
    here = {"spans": [[2, 5, "person"]], "relations": []}
    press(page, "ArrowRight", "ArrowRight", "1")
    page.reload()
    page.locator("#span-list tr").wait_for()
    votes.answer(cast.item(1), cast.people["ann"], client_id=uuid4(), payload=elsewhere)
    press(page, "Enter")
    both = "here “1 span”, elsewhere “2 spans, 1 relation”. "
    page.get_by_text(
        both + "Only elsewhere: “Turin” place, “Ada” person – visited – “Turin” place."
    ).wait_for()
    page.get_by_role("button", name="Use this answer").click()
    wait_until_sent(page, 2)
    page.locator("#sentence", has_text="Nothing here").wait_for()
    page.context.set_offline(True)
    press(page, "n", "Enter", "h")
    page.locator("#history-list").get_by_text("1 span: “Ada” person", exact=True).wait_for()
    page.locator("#history-list button").nth(1).click()
    page.locator("#notice", has_text="It stays “1 span” until you submit").wait_for()
    press(page, "Tab", "Delete", "n", "Enter")
    page.context.set_offline(False)
    wait_until_sent(page, 4)
    empty = {"spans": [], "relations": []}
    assert stored_payloads(1) == [elsewhere, here, empty]
    assert stored_payloads(2) == [empty]


def test_the_feedback_of_the_qualification_round_quotes_the_words(page: Page) -> None:
    cast = ProjectCast.create(kind="entities", k=1, labels=LABELS)
    known = {"id": "q", "text": "Ada met Bob", "spans": [[0, 3, "person"], [8, 11, "person"]]}
    cast.import_lines(known, known="qualify")
    cast.import_lines({"id": "s1", "text": "Ada"})
    quality_settings.set_quality_options(cast.project, by=cast.curator, qualifies=True)
    cast.open()
    open_form(page)
    page.locator("#sentence", has_text="Ada met").wait_for()
    press(page, "ArrowRight", "1", "ArrowRight", "2", "Enter")
    page.locator("#feedback-dialog[open]").wait_for()
    assert page.locator("#feedback-list li").all_inner_texts() == [
        "✓ “Ada” person – you marked it, and it is right",
        "✗ “met” place – you marked it, and it does not belong here",
        "✗ “Bob” person – it belongs here, and you did not mark it",
    ]


def run(page: Page, module: str, code: str, argument: Any = None) -> Any:
    return page.evaluate(
        f"async x => {{ const m = await import('{MODULES}/{module}.js'); {code} }}", argument
    )


WORDS: list[tuple[dict[str, Any], list[list[int]]]] = [
    ({"text": "🚢 Ada"}, [[0, 1], [2, 5]]),
    ({"text": "a  b\nc"}, [[0, 1], [3, 4], [5, 6]]),
    ({"text": "e\u0301te\u0301 x"}, [[0, 5], [6, 7]]),
    ({"text": "שלום עולם"}, [[0, 4], [5, 9]]),
    ({"text": "北京是"}, [[0, 2], [2, 3]]),
    ({"text": "", "tokens": ["New", "York", "."]}, [[0, 1], [1, 2], [2, 3]]),
]


def test_words_are_counted_in_code_points_or_tokens(live: str, page: Page) -> None:
    page.goto("/docs/keyboard/")
    found = run(page, "text", "return x.map((item) => m.textOf(item).words);", [item for item, _ in WORDS])
    assert found == [words for _, words in WORDS]


def place_editor(page: Page, item: dict[str, Any], **setup: Any) -> None:
    """Put an editor on a page of its own, as `editor`; its answer and its last message stay beside it."""
    page.goto("/docs/keyboard/")
    labels = [{"name": "A", "title": "A", "key": "1"}, {"name": "B", "title": "B", "key": "2"}]
    code = """
      const root = document.createElement("div");
      Object.assign(root, { id: "sentence", dir: "auto", tabIndex: 0 });
      document.body.prepend(root);
      const own = window.own = {};
      const notify = { onChange: (answer) => (own.answer = answer), announce: (text) => (own.note = text) };
      own.editor = m.createEditor(root, { ...x.setup, ...notify });
      own.editor.begin(x.item);
      document.addEventListener("keydown", own.editor.onKey);
      root.focus();
    """
    run(page, "editor", code, {"item": item, "setup": {"labels": labels, **setup}})


def marked(page: Page) -> Any:
    return page.evaluate("own.answer.spans")


def test_arrows_follow_the_script_and_spans_count_tokens(live: str, page: Page) -> None:
    place_editor(page, {"text": "", "tokens": ["שלום", "עולם", "רב", "."]})
    press(page, "ArrowLeft", "ArrowLeft", "Shift+ArrowLeft", "1", "ArrowRight", "2")
    assert marked(page) == [[0, 1, "B"], [1, 3, "A"]]
    assert page.evaluate("own.note") == "“\u2068שלום\u2069” is marked as B."
    left = "all => all.map(({ style }) => parseFloat(style.left))"
    start, end = page.locator(".marks__handle").evaluate_all(left)
    assert start > end


@pytest.mark.parametrize(
    ("text", "keys", "message"),
    [
        (" \n", ["ArrowRight"], "This text has no words to mark."),
        ("Ada", ["ArrowRight", "Delete"], "Choose a span first: ⇥ goes through them, a click takes one."),
        ("Ada", ["ArrowRight", "1", "t"], "The chosen span has no relation."),
        ("Ada", ["ArrowRight", "Escape"], "Nothing is selected."),
        ("Ada", ["ArrowRight", "1", "Escape", "Escape"], "Space no longer marks A."),
        ("Ada ran. Bob sat.", ["ArrowDown"], "Sentence 2 of 2. “Bob” is selected."),
        (
            "Ada Bob",
            ["ArrowRight", "1", "ArrowRight", "1", "r", "ArrowLeft", "ArrowLeft", "2"],
            "“Ada” is marked as B.",
        ),
    ],
)
def test_each_key_says_what_it_did(live: str, page: Page, text: str, keys: list[str], message: str) -> None:
    place_editor(page, {"text": text}, relations=[{"name": "in", "title": "in"}], bySentence=True)
    press(page, *keys)
    assert page.evaluate("own.note") == message


def test_an_empty_answer_in_place_of_another_is_no_turned_relation(live: str, page: Page) -> None:
    place_editor(page, {"text": "Ada ran."})
    page.evaluate("for (const at of [1, 2]) own.editor.show({ spans: [], relations: [] })")
    assert page.evaluate("own.note") is None


def test_a_title_or_initial_ends_no_sentence(live: str, page: Page) -> None:
    page.goto("/docs/keyboard/")
    text = "Dr. Kim met J. Roe in Ulm. They left at 5 p.m. Mr.\nBo saw plan B. She ran."
    code = "return m.textOf(x).sentences.map(([from, to]) => x.text.slice(from, to));"
    assert run(page, "text", code, {"text": text}) == [
        "Dr. Kim met J. Roe in Ulm.",
        "They left at 5 p.m.",
        "Mr.",
        "Bo saw plan B. She ran.",
    ]


def test_a_drag_ends_when_the_button_is_released_outside_the_window(live: str, page: Page) -> None:
    place_editor(page, {"text": "Ada met Bob in Turin"})
    page.mouse.move(*place_of(page, "Ada"))
    page.mouse.down()
    page.mouse.move(*place_of(page, "Bob"))
    x, y = place_of(page, "Turin")
    page.locator("#sentence").dispatch_event("pointermove", {"clientX": x, "clientY": y})
    assert page.evaluate("own.note") == "“Ada met Bob” is selected."
    page.mouse.up()


def test_a_click_takes_the_nested_span_and_again_the_one_around_it(live: str, page: Page) -> None:
    place_editor(page, {"text": "Port of Rotterdam Authority"}, mayOverlap=True)
    press(page, "ArrowRight", "ArrowRight", "ArrowRight", "1")
    press(page, "Escape", "ArrowUp", "Shift+ArrowDown", "2")
    assert marked(page) == [[0, 27, "B"], [8, 17, "A"]]
    chosen = []
    for _ in range(3):
        page.mouse.click(*place_of(page, "Rotterdam"))
        chosen.append(page.evaluate("own.editor.selected"))
    assert chosen == [1, 0, -1]


def test_a_relation_to_an_unexpected_type_is_made_with_a_warning(live: str, page: Page) -> None:
    relation = {"name": "in", "title": "located in", "key": "⇧1", "head": "A", "tail": "B"}
    place_editor(page, {"text": "Ada met Bob"}, relations=[relation])
    press(page, "ArrowRight", "1", "ArrowRight", "ArrowRight", "1")
    assert page.evaluate("own.editor.fits({ head: 'A', tail: 'B' })") is False
    press(page, "Shift+1", "Enter")
    assert page.evaluate("own.answer.relations") == [[1, "in", 0]]
    assert page.evaluate("own.note").endswith("Check it: located in is expected from A to B.")


def test_tab_goes_to_any_tail_of_the_expected_type(live: str, page: Page) -> None:
    relation = {"name": "in", "title": "in", "key": "⇧1", "head": "A", "tail": "B"}
    place_editor(page, {"text": "Ada Bob Turin Milan"}, relations=[relation])
    press(page, "ArrowRight", "1", "ArrowRight", "1", "ArrowRight", "2", "ArrowRight", "2")
    press(page, *["Shift+Tab"] * 3, "Shift+1", "Tab", "Enter")
    assert page.evaluate("own.answer.relations") == [[0, "in", 3]]


def test_names_of_relations_of_one_span_cover_neither_each_other_nor_arrows(live: str, page: Page) -> None:
    place_editor(page, {"text": "Ada Roe saw Ulm and Turin and Milan"})
    links = [[0, "lives in", 1], [0, "lives in", 2], [0, "was born in", 2], [3, "is the home of", 0]]
    spans = [[0, 7, "A"], [12, 15, "B"], [20, 25, "B"], [30, 35, "B"]]
    code = """([spans, relations]) => {
      own.editor.show({ spans, relations });
      own.editor.choose(0);
      const arcs = document.querySelector(".marks__arcs");
      arcs.style.font = "600 12px sans-serif";
      const boxes = [...arcs.querySelectorAll("text")].map((text) => [text.textContent, text.getBBox()]);
      const paths = [...arcs.querySelectorAll("path")];
      const tips = paths.map((path) => path.getPointAtLength(path.getTotalLength()));
      const names = [...arcs.children].map(({ tagName }) => tagName);
      return [boxes.map(([text, { x, y, width, height }]) => [text, x, y, x + width, y + height]),
        tips.map(({ x, y }) => [x, y]), names];
    }"""
    boxes, tips, order = page.evaluate(code, [spans, links])
    assert [text for text, *_ in boxes] == ["lives in", "lives in · was born in", "is the home of"]
    assert order == ["path"] * 3 + ["text"] * 3
    for at, (_, left, top, right, bottom) in enumerate(boxes):
        for _, x, y, x_end, y_end in boxes[:at]:
            assert x_end <= left or right <= x or y_end <= top or bottom <= y, boxes
        assert not any(left < x < right and top < y < bottom for x, y in tips), (boxes, tips)


def test_arcs_from_line_to_line_cross_no_words(live: str, page: Page) -> None:
    place_editor(page, {"text": "Ada Roe saw Ulm\nand Turin and then Milan\nor Rome"})
    spans = [[0, 7, "A"], [12, 15, "B"], [20, 25, "B"], [35, 40, "B"], [44, 48, "B"]]
    code = """(spans) => {
      const root = document.getElementById("sentence");
      const over = { position: "absolute", inset: 0, overflow: "visible" };
      Object.assign(root.style, { position: "relative", padding: "2rem", lineHeight: 4, whiteSpace: "pre" });
      Object.assign(root.querySelector(".marks").style, over);
      own.editor.show({ spans, relations: [[0, "r", 1], [0, "r", 2], [3, "r", 0], [0, "r", 4]] });
      own.editor.choose(0);
      const arcs = root.querySelector(".marks__arcs");
      Object.assign(arcs.style, over);
      const range = document.createRange();
      range.selectNodeContents(root.firstChild);
      const words = [...range.getClientRects()];
      const origin = arcs.getBoundingClientRect();
      const isIn = (box, x, y) => box.left < x && x < box.right && box.top + 1 < y && y < box.bottom - 1;
      const isCrossed = ({ x, y }) => words.some((box) => isIn(box, x + origin.x, y + origin.y));
      const paths = [...arcs.querySelectorAll("path")];
      const along = (path, at) => path.getPointAtLength((at * path.getTotalLength()) / 400);
      const points = paths.flatMap((path) => Array.from({ length: 400 }, (_, at) => along(path, at)));
      return [paths.length, words.length, points.filter(isCrossed).length];
    }"""
    paths, lines, crossed = page.evaluate(code, spans)
    assert (paths, crossed) == (4, 0)
    assert lines >= 3


def test_labels_messages_and_answer_stay_in_view_beside_a_long_text(page: Page) -> None:
    cast = ProjectCast.create(kind="entities", k=1, labels=LABELS)
    cast.import_lines({"id": "s1", "text": "A sentence of seven words stands here. " * 120})
    cast.open()
    page.set_viewport_size({"width": 1280, "height": 800})
    open_form(page)
    page.locator("#sentence", has_text="seven").wait_for()
    press(page, "ArrowLeft", "1")
    bar = page.locator(".work__bar").evaluate("part => part.getBoundingClientRect().top")
    for part in ("[data-mark=person]", "#span-note", "#readback", "label:has(#na)", ".marks__chosen"):
        box = page.locator(part).first.bounding_box()
        assert box, part
        assert 0 < box["y"] < box["y"] + box["height"] <= bar + 1, part
    assert page.evaluate("scrollY") == 0
    assert page.locator("#sticky").inner_text() == "space and double click: person Esc clears it"


def test_a_phone_shows_why_a_span_is_rejected_above_the_bar_beside_a_long_text(page: Page) -> None:
    cast = ProjectCast.create(kind="entities", k=1, labels=LABELS)
    cast.import_lines({"id": "s1", "text": "A sentence of seven words stands here. " * 60})
    cast.open()
    page.set_viewport_size({"width": 360, "height": 740})
    open_form(page)
    page.locator("#sentence", has_text="seven").wait_for()
    press(page, "ArrowRight", "1")
    bar = page.locator(".work__bar").bounding_box()
    assert bar
    for part in ("#span-note", "#answer-error"):
        box = page.locator(part).bounding_box()
        assert box, part
        assert bar["y"] - 60 < box["y"] + box["height"] <= bar["y"] + 1, (part, box, bar)
        press(page, "Escape", "ArrowLeft", "Shift+ArrowRight", "2")


def test_removing_one_of_300_spans_draws_the_others_no_more(live: str, page: Page) -> None:
    place_editor(page, {"text": "abc def " * 625})
    code = """(spans) => {
      own.editor.show({ spans, relations: [] });
      own.editor.choose(5);
      const [root, drawn] = [document.getElementById("sentence"), []];
      const observer = new MutationObserver((records) => drawn.push(...records));
      observer.observe(root, { childList: true, subtree: true });
      own.editor.remove();
      observer.takeRecords().forEach((record) => drawn.push(...record.addedNodes));
      return [drawn.length, own.answer.spans.length, root.querySelectorAll("[data-span='298']").length];
    }"""
    drawn, left, last = page.evaluate(code, [[at, at + 3, "A"] for at in range(0, 2_400, 8)])
    assert (left, last) == (299, 1)
    assert drawn < 5


def test_relations_follow_their_spans(live: str, page: Page) -> None:
    page.goto("/docs/keyboard/")
    answer = {"spans": [[0, 1, "a"], [2, 3, "b"], [4, 5, "c"]], "relations": [[1, "r", 2], [0, "r", 1]]}
    assert run(page, "document", "return m.remove(x, 0);", answer)["relations"] == [[0, "r", 1]]
    moved = run(page, "document", "return m.replace(x, 2, [1, 2, 'c'], false);", answer)
    assert moved["spans"] == [[0, 1, "a"], [1, 2, "c"], [2, 3, "b"]]
    assert moved["relations"] == [[2, "r", 1], [0, "r", 2]]
    assert run(page, "document", "return m.add(x, [6, 7, 'a'], false);", answer)["relations"] == [
        [1, "r", 2],
        [0, "r", 1],
    ]
