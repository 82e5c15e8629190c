"""Layout of the relation form: on a screen, on a phone, in every state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pytest

from annotation.ontology.presets import PRESETS
from tests.annotation.browser_keyboard import (
    MANY,
    Start,
    open_form,
    press,
    see,
    wait_for_reserve,
    wait_until_sent,
)
from tests.cast.basics import sentence
from tests.cast.projects import ProjectCast
from tests.places.browser import barriers, in_turn

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

pytestmark = pytest.mark.browser
TYPED = (
    {"name": "lived_in", "title": "place lived", "head_type": "person", "tail_type": "place"},
    {"name": "founded", "title": "founded", "head_type": "person", "tail_type": "organisation"},
    {"name": "any", "title": "knows of"},
)


def typed(at: int, **types: str) -> dict[str, Any]:
    entry = sentence(at)
    return entry | {key: entry[key] | {"type": kind} for key, kind in types.items()}


def in_view(page: Page, what: Locator) -> bool:
    """True when all of an element is inside the window."""
    inside = """node => {
      const { top, bottom } = node.getBoundingClientRect();
      return top >= 0 && bottom <= innerHeight;
    }"""
    return bool(what.evaluate(inside))


def test_relations_for_other_entity_types_are_dimmed_and_can_be_chosen(page: Page, start: Start) -> None:
    start(typed(1, h="Person", t="place"), sentence(2), labels=TYPED)
    page.locator("#mismatch-note").wait_for()
    assert page.locator(".rel--off").all_inner_texts() == ["2\nfounded"]
    assert page.locator(".ent--head .role").inner_text() == "head, Person"
    press(page, "2", "Enter")
    see(page, 2)
    assert page.locator(".rel--off").count() == 0
    assert page.locator("#mismatch-note").is_hidden()
    assert page.locator(".ent--head .role").inner_text() == "head"


def test_the_guideline_of_the_focused_relation_stays_in_view(page: Page, start: Start) -> None:
    page.set_viewport_size({"width": 1280, "height": 600})
    start(labels=[entry | {"definition": f"It is {entry['title']}."} for entry in MANY])
    for _ in range(14):
        press(page, "ArrowDown")
    heading = page.get_by_role("heading", name="relation 13")
    heading.wait_for()
    assert page.evaluate("scrollY") > 0
    assert in_view(page, heading)
    assert in_view(page, page.get_by_role("button", name="Submit and next"))


PLACES = "all => all.map((row) => Math.round(row.getBoundingClientRect().top))"


def test_the_relations_of_nyt10_stay_in_view_and_in_place_from_sentence_to_sentence(
    page: Page, start: Start
) -> None:
    page.set_viewport_size({"width": 1280, "height": 800})
    long = sentence(2, "word " * 170 + "Ada was in Turin, s2.")
    start(sentence(1), long, labels=[asdict(entry) for entry in PRESETS["nyt10"].entries])
    wait_for_reserve(page, 1)
    rows = page.locator(".rel")
    places = rows.evaluate_all(PLACES)
    assert rows.count() == 25
    for _ in range(2):
        assert all(in_view(page, row) for row in (rows.first, rows.last))
        assert max(places) + 30 <= page.locator(".work__bar").evaluate(
            "node => node.getBoundingClientRect().top"
        )
        press(page, "1", "2")
        assert rows.evaluate_all(PLACES) == places
        press(page, "Enter")
    page.locator("#finished").wait_for()


def test_brackets_and_underscores_are_shown_readable_and_stored_raw(page: Page, start: Start) -> None:
    cast = start(sentence(1, "Ada_L._May -lrb- a_b -rrb- was\nin Turin, s1.", name="Ada_L._May"))
    see(page, 1)
    text = page.locator("#sentence").inner_text()
    assert text.replace("head", "").split("was")[0].split() == ["Ada", "L.", "May", ",", "(", "a_b", ")"]
    assert "was\nin" in text
    press(page, "1")
    assert "Ada L. May" in page.locator("#readback").inner_text()
    assert cast.item(1).text.startswith("Ada_L._May -lrb-")


def test_a_phone_has_n_a_beside_submit_and_relations_at_a_fixed_place(page: Page, start: Start) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    lines = [sentence(at, "word " * (at * at) + f"Ada was in Turin, s{at}.") for at in range(1, 11)]
    start(*lines, labels=[asdict(entry) for entry in PRESETS["nyt10"].entries])
    bar, first = page.locator(".work__bar"), page.locator(".rels .rel").first
    places = set()
    for at in range(1, 11):
        see(page, at)
        places.update(first.evaluate_all(PLACES))
        bar.get_by_text("N/A").click()
        assert page.locator("#na").is_checked()
        places.update(first.evaluate_all(PLACES))
        assert all(in_view(page, bar.get_by_text(text)) for text in ("N/A", "Submit and next"))
        bar.get_by_role("button", name="Submit and next").click()
    page.locator("#finished").wait_for()
    assert len(places) == 1
    assert places.pop() + 100 < 740  # the first row and more are in view


def test_a_phone_shows_the_definition_above_the_buttons(page: Page, start: Start) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    start(labels=[entry | {"definition": f"It is {entry['title']}."} for entry in MANY])
    page.locator(".rel", has_text="relation 30").click()
    hint = page.locator("#hint")
    assert hint.inner_text() == "relation 30 – It is relation 30."
    assert in_view(page, hint)
    page.get_by_role("button", name="Submit and next").click()
    see(page, 2)
    assert hint.is_hidden()
    wait_until_sent(page, 1)


WIDTHS = (
    "org:place of headq",
    "org:place of headquarters",
    "per:country of birth",
    "m" * 17,
    "m" * 18,
    "i" * 40,
)


def test_eighteen_relations_and_the_buttons_fit_into_1280_by_720(page: Page, start: Start) -> None:
    page.set_viewport_size({"width": 1280, "height": 720})
    start(labels=MANY[:18])
    press(page, "1")
    page.locator("#pace").wait_for(state="attached")
    bar = page.locator(".work__bar").bounding_box()
    last = [page.locator(".rel", has_text=f"relation {at}").last.bounding_box() for at in (5, 11, 17)]
    assert bar
    assert all(box and box["y"] + box["height"] <= bar["y"] for box in last)
    assert in_view(page, page.get_by_role("button", name="Submit and next"))


def test_a_phone_shows_all_tools_in_one_row(page: Page, start: Start) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    start()
    steps = page.locator(".work__bar .btn--bare")
    assert steps.all_inner_texts() == ["Undo", "Redo", "Comment", "Flag", "Skip"]
    assert len(set(steps.evaluate_all("all => all.map(one => one.getBoundingClientRect().top)"))) == 1


@pytest.mark.parametrize("width", [1280, 360])
def test_choosing_moves_no_relation(page: Page, start: Start, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    start(labels=[{"name": f"r{at}", "title": title} for at, title in enumerate(WIDTHS * 3)])
    places = """all => all.map(one => {
      const { x, y, width, height } = one.getBoundingClientRect();
      return [x, y + scrollY, width, height].map(Math.round);
    })"""
    relations = page.locator(".rels .rel")
    before = relations.evaluate_all(places)
    page.locator("input[name=relation]").evaluate_all("all => all.forEach(one => (one.checked = true))")
    assert page.locator("input[name=relation]:checked").count() == 18
    assert relations.evaluate_all(places) == before


def test_relations_keep_their_place_for_sentences_of_any_length(page: Page, start: Start) -> None:
    start(sentence(1), sentence(2, "Ada was seen in Turin, s2. " + "She was seen there. " * 8))
    first = page.locator(".rel", has_text="place lived")
    before = first.bounding_box()
    press(page, "1", "2")
    assert first.bounding_box() == before
    press(page, "Enter")
    see(page, 2)
    assert first.bounding_box() == before


def test_a_phone_cancels_and_confirms_a_skip_without_keys(page: Page, start: Start) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    start()
    for _ in range(2):
        page.get_by_role("button", name="Skip").click()
        dialog = page.locator("#skip-dialog")
        assert dialog.locator("kbd:visible").count() == 0
        dialog.get_by_role("button", name="Cancel").click()
        assert dialog.is_hidden()
    page.get_by_role("button", name="Skip").click()
    page.get_by_role("button", name="I can’t decide").click()
    see(page, 2)
    wait_until_sent(page, 1)


def test_a_long_text_scrolls_to_its_first_mention(page: Page, start: Start) -> None:
    filler = "She was seen nowhere. " * 120
    start(sentence(1, f"{filler}Ada saw Turin. {filler}"), sentence(2))
    assert in_view(page, page.locator("#sentence mark").first)
    assert in_view(page, page.get_by_text("Nothing chosen yet."))
    press(page, "1", "Enter")
    see(page, 2)
    assert page.locator("#sentence").evaluate("box => box.scrollTop") == 0


# ---- states that the round of all pages does not meet ------------------------------------------------


def skipping(page: Page, cast: ProjectCast) -> None:
    press(page, "s")


def finding(page: Page, cast: ProjectCast) -> None:
    press(page, "/")
    page.keyboard.type("place")
    page.locator("#hits li").first.wait_for()


def among_keys(page: Page, cast: ProjectCast) -> None:
    press(page, "?")


def looking_back(page: Page, cast: ProjectCast) -> None:
    press(page, "1", "Enter")
    see(page, 2)
    wait_until_sent(page, 1)
    press(page, "h")
    page.get_by_role("button", name="Open again").wait_for()


def all_at_once(page: Page, cast: ProjectCast) -> None:
    press(page, "Enter", "1", "f", "c")
    page.keyboard.type("Is it she?")


def in_conflict(page: Page, cast: ProjectCast) -> None:
    cast.answer("ann", 1, "any")
    press(page, "1", "Enter")
    page.get_by_text("You also answered this sentence elsewhere.").wait_for()


def without_network(page: Page, cast: ProjectCast) -> None:
    wait_for_reserve(page, 1)
    page.context.set_offline(True)
    press(page, "1", "Enter", "1", "Enter")
    page.locator("#waiting").wait_for()
    page.locator("#saved[data-state=offline][data-unsent='2']").wait_for()


def at_the_end(page: Page, cast: ProjectCast) -> None:
    wait_for_reserve(page, 1)
    press(page, "1", "Enter", "1", "Enter")
    page.locator("#finished[data-state=done]").wait_for()


STATES: tuple[Callable[[Page, ProjectCast], None], ...] = (
    skipping,
    finding,
    among_keys,
    looking_back,
    all_at_once,
    in_conflict,
    without_network,
    at_the_end,
)


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
def test_each_state_of_the_form_has_no_barriers(
    page: Page, live: str, state: Callable[[Page, ProjectCast], None]
) -> None:
    cast = ProjectCast.create(labels=TYPED)
    cast.import_lines(typed(1, h="place", t="place"), sentence(2))
    cast.open()
    open_form(page)
    state(page, cast)
    assert barriers(page, in_turn(STATES.index(state))) == []
