"""The relation form in a real browser: keys, undo, drafts, no network, conflicts, any script."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from annotation import known, projects, voting
from annotation.models import Annotator, Vote
from tests.annotation.desk import PASSWORD, Desk, line

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

pytestmark = pytest.mark.browser
MANY = [{"name": f"r{at}", "title": f"relation {at}", "phrase": f"is {at} of"} for at in range(40)]
Start = Callable[..., Desk]


@pytest.fixture
def start(live: str, page: Page) -> Start:
    """Lay the desk, log Ann in and wait for the first sentence."""

    def begin(*lines: dict[str, object], **how: object) -> Desk:
        desk = Desk.laid(**how)  # type: ignore[arg-type]
        desk.bring(*(lines or [line(at) for at in range(1, 9)]))
        desk.open()
        log_in(page)
        return desk

    return begin


def log_in(page: Page) -> None:
    """As Ann, on her first sentence."""
    page.goto("/login/?next=/label/harbour/")
    page.fill("#id_username", "ann")
    page.fill("#id_password", PASSWORD)
    page.keyboard.press("Enter")
    page.locator("#work").wait_for()


def wait_for_reserve(page: Page, n: int) -> None:
    """So many sentences are on this device behind the one on show."""
    page.locator(f"#saved[title='{n} more on this device']").wait_for(state="attached")


def wait_until(page: Page, happened: Callable[[], bool]) -> None:
    for _ in range(200):
        if happened():
            return
        page.wait_for_timeout(50)
    raise AssertionError("it did not happen within ten seconds")


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def read_back(page: Page) -> str:
    return page.locator("#readback").inner_text()


def chosen(page: Page) -> list[str]:
    return [
        str(name)
        for name in page.locator("input[name=relation]:checked").evaluate_all("all => all.map(x => x.value)")
    ]


def said(at: int) -> list[dict[str, object]]:
    """What is in the log for a sentence, oldest first."""
    return list(
        Vote.objects.filter(item__external_id=f"s{at}").order_by("number").values_list("payload", flat=True)
    )


def wait_until_sent(page: Page, n: int) -> None:
    wait_until(page, lambda: Vote.objects.count() == n)


def asked(route: Route) -> str:
    return route.request.post_data or ""


def test_the_answer_is_read_back_as_a_sentence(page: Page, start: Start) -> None:
    start()
    assert read_back(page) == "Nothing chosen yet."
    press(page, "1", "2")
    assert read_back(page) == "You say: Ada lived in Turin; Ada was born in Turin."
    press(page, "n")
    assert read_back(page) == "You say: the sentence says none of these."
    assert chosen(page) == []


def test_thirty_relations_have_keys_and_the_rest_are_found_by_name(page: Page, start: Start) -> None:
    start(labels=MANY)
    press(page, "0", "Shift+Digit1", "Alt+Digit0")
    assert chosen(page) == ["r9", "r10", "r29"]
    press(page, "/")
    page.keyboard.type("relation 35")
    press(page, "Enter")
    assert chosen(page) == ["r9", "r10", "r29", "r35"]


def test_arrows_move_space_chooses_and_the_guideline_follows(page: Page, start: Start) -> None:
    start()
    press(page, "ArrowDown", "Space")
    assert chosen(page) == ["lived_in"]
    assert page.locator("aside section:not([hidden]) h2").inner_text() == "place lived"
    press(page, "ArrowDown")
    assert page.locator("aside section:not([hidden]) h2").inner_text() == "place of birth"


def test_letters_in_a_field_are_text(page: Page, start: Start) -> None:
    start()
    press(page, "c")
    page.keyboard.type("n 1 z s")
    press(page, "Enter", "1", "Enter")
    wait_until_sent(page, 1)
    vote = Vote.objects.get()
    assert (vote.comment, vote.payload["relations"]) == ("n 1 z s", ["lived_in"])


def test_sixty_steps_are_undone_and_redone(page: Page, start: Start) -> None:
    start()
    for at in range(60):
        press(page, str(at % 3 + 1))
    full = chosen(page)
    press(page, *["z"] * 60)
    assert chosen(page) == []
    assert page.locator("#undo").get_attribute("aria-disabled") == "true"
    press(page, *["Shift+Z"] * 60)
    assert chosen(page) == full


def test_enter_without_an_answer_says_what_is_missing(page: Page, start: Start) -> None:
    start()
    press(page, "Enter")
    assert "Nothing is chosen" in page.locator("#said").inner_text()
    assert not Vote.objects.exists()


def test_a_sentence_is_skipped_with_a_reason(page: Page, start: Start) -> None:
    start()
    press(page, "s", "2")
    page.locator("#sentence", has_text=" 2 was seen").wait_for()
    wait_until_sent(page, 1)
    assert Vote.objects.values_list("act", "reason").get() == ("skip", "entity")
    assert chosen(page) == []


def test_a_former_answer_is_opened_again_and_changed(page: Page, start: Start) -> None:
    start()
    press(page, "1", "Enter")
    page.locator("#sentence", has_text=" 2 was seen").wait_for()
    wait_until_sent(page, 1)
    press(page, "h")
    page.get_by_role("button", name="Open again").wait_for()
    press(page, "Enter")
    page.locator("#sentence", has_text=" 1 was seen").wait_for()
    assert chosen(page) == ["lived_in"]
    press(page, "n", "Enter")
    page.locator("#sentence", has_text=" 2 was seen").wait_for()
    wait_until_sent(page, 2)
    assert [payload["relations"] for payload in said(1)] == [["lived_in"], []]  # type: ignore[index]


def test_the_next_sentence_is_there_before_the_answer_has_arrived(page: Page, start: Start) -> None:
    start()
    wait_for_reserve(page, 7)
    page.context.set_offline(True)
    press(page, "1", "Enter")
    assert " 2 was seen" in page.locator("#sentence").inner_text()


def test_a_sentence_that_has_come_is_shown_while_the_reserve_is_still_on_its_way(
    page: Page, start: Start
) -> None:
    held: list[Route] = []
    page.route(
        "**/reserve", lambda route: held.append(route) if '"n":1}' not in asked(route) else route.continue_()
    )
    start()
    press(page, "1", "Enter")
    wait_until(page, lambda: len(held) == 1)
    held[0].continue_()
    wait_until(page, lambda: len(held) == 2)
    page.locator("#sentence", has_text=" 2 was seen").wait_for()


def test_fifty_answers_given_without_a_network_arrive_in_order_and_once(page: Page, start: Start) -> None:
    start(*(line(at) for at in range(1, 61)), k=1)
    wait_for_reserve(page, 55)
    page.context.set_offline(True)
    for at in range(50):
        press(page, "1" if at % 2 else "n", "Enter")
    page.get_by_text("50 answers are kept on this device and go out in order").wait_for()
    page.get_by_text("5 sentences more on this device. Keep labelling.").wait_for()
    assert not Vote.objects.exists()
    page.context.set_offline(False)
    wait_until_sent(page, 50)
    sent = list(Vote.objects.order_by("pk").values_list("item__external_id", "payload"))
    expected = [["lived_in"] if at % 2 else [] for at in range(50)]
    assert [name for name, _ in sent] == [f"s{at}" for at in range(1, 51)]
    assert [payload["relations"] for _, payload in sent] == expected


def test_when_the_device_has_no_more_sentences_the_page_waits_for_the_network(
    page: Page, start: Start
) -> None:
    start(line(1), line(2))
    wait_for_reserve(page, 1)
    page.context.set_offline(True)
    press(page, "1", "Enter", "2", "Enter")
    page.get_by_role("heading", name="No network").wait_for()
    page.get_by_text("2 answers are kept on this device").wait_for()
    page.context.set_offline(False)
    wait_until_sent(page, 2)
    page.get_by_role("heading", name="Nothing waits for you here").wait_for()


def test_answers_kept_on_the_device_survive_a_closed_page(page: Page, start: Start) -> None:
    start()
    page.route("**/api/v1/items/**", lambda route: route.abort())
    press(page, "1", "Enter")
    page.get_by_text("1 answer is kept on this device").wait_for()
    page.on("dialog", lambda dialog: dialog.accept())
    page.unroute("**/api/v1/items/**")
    page.reload()
    wait_until_sent(page, 1)
    assert said(1) == [{"spans": [], "relations": ["lived_in"]}]


def test_a_draft_is_there_again_after_a_reload(page: Page, start: Start) -> None:
    start()
    press(page, "2", "f")
    page.reload()
    page.locator("#sentence", has_text=" 1 was seen").wait_for()
    assert chosen(page) == ["born_in"]
    assert page.locator("#flag").get_attribute("aria-pressed") == "true"


def test_a_begun_answer_waits_while_a_former_one_is_looked_at(page: Page, start: Start) -> None:
    start()
    press(page, "1", "Enter")
    page.locator("#sentence", has_text=" 2 was seen").wait_for()
    wait_until_sent(page, 1)
    press(page, "3", "h")
    page.get_by_role("button", name="Open again").click()
    page.locator("#sentence", has_text=" 1 was seen").wait_for()
    page.reload()
    page.locator("#sentence", has_text=" 2 was seen").wait_for()
    assert chosen(page) == ["died_in"]


def test_an_answer_not_sent_yet_is_opened_again_and_both_arrive(page: Page, start: Start) -> None:
    start()
    wait_for_reserve(page, 7)
    page.context.set_offline(True)
    press(page, "1", "Enter", "h")
    page.get_by_role("button", name="Open again").click()
    press(page, "n", "Enter")
    page.get_by_text("2 answers are kept on this device").wait_for()
    page.context.set_offline(False)
    wait_until_sent(page, 2)
    assert [payload["relations"] for payload in said(1)] == [["lived_in"], []]  # type: ignore[index]


def test_a_key_is_changed_shown_kept_and_given_back(page: Page, start: Start) -> None:
    start()
    press(page, "?")
    page.get_by_role("button", name="Change the key for place lived").click()
    press(page, "q")
    page.get_by_text("place lived is on Q now.").wait_for()
    press(page, "Escape", "q")
    assert chosen(page) == ["lived_in"]
    press(page, "?")
    page.get_by_text("What you change is kept on this device.").wait_for()
    page.reload()
    page.locator("#sentence", has_text=" 1 was seen").wait_for()
    assert page.locator(".rel", has_text="place lived").locator("kbd").inner_text() == "Q"
    press(page, "1")
    assert chosen(page) == ["lived_in"]
    press(page, "?")
    page.get_by_role("button", name="All as at first").click()
    press(page, "Escape", "1")
    assert chosen(page) == []


@pytest.mark.parametrize(
    ("key", "told"),
    [
        ("2", "2 is the key of place of birth."),
        ("z", "Z is the key of Undo."),
        ("Enter", "stays as it is"),
        ("Control+k", "belong to the browser"),
    ],
)
def test_a_key_in_use_is_refused_in_words(page: Page, start: Start, key: str, told: str) -> None:
    start()
    press(page, "?")
    page.get_by_role("button", name="Change the key for place lived").click()
    press(page, key)
    assert told in page.locator("#keys-said").inner_text()
    press(page, "Escape", "Escape", "1")
    assert chosen(page) == ["lived_in"]


def test_the_qualification_round_tells_each_relation_before_the_next_sentence(
    page: Page, start: Start
) -> None:
    desk = Desk.laid()
    desk.bring(line(90, relations=["born_in"]), known="qualify")
    desk.bring(line(1))
    known.set_quality(desk.project, by=desk.curator, qualifies=True, pass_percent=0)
    desk.open()
    log_in(page)
    press(page, "1", "Enter")
    page.get_by_role("heading", name="Known otherwise").wait_for()
    told = page.locator("#round-list li").all_inner_texts()
    assert told == [
        "✗ place of birth – it holds, and you did not choose it",
        "✗ place lived – you chose it, and it does not hold\n\nThe head lived there.",
    ]
    page.get_by_text("The round is passed.").wait_for()
    press(page, "Enter")
    page.locator("#sentence", has_text=" 1 was seen").wait_for()
    press(page, "1", "Enter")
    page.get_by_role("heading", name="Nothing waits for you here").wait_for()
    assert page.locator("#round-dialog[open]").count() == 0


def test_whoever_is_paused_reads_why(page: Page, start: Start) -> None:
    desk = start()
    ann = Annotator.objects.get(user=desk.people["ann"])
    known.pause(ann, by=desk.curator, reason="Talk to Cleo first.")
    page.reload()
    page.get_by_text("Talk to Cleo first.").wait_for()


def test_a_suggestion_is_ticked_and_said_to_be_one(page: Page, start: Start) -> None:
    desk = Desk.laid()
    desk.bring(line(1))
    desk.bring({"id": "s1", "label": "died_in"}, what="suggestions")
    known.set_quality(desk.project, by=desk.curator, suggests=True)
    desk.open()
    log_in(page)
    page.get_by_text("A prediction file suggests the answer").wait_for()
    assert chosen(page) == ["died_in"]


def test_an_answer_given_in_another_tab_is_never_overwritten_unasked(page: Page, start: Start) -> None:
    desk = start()
    elsewhere = {"spans": [], "relations": ["died_in"]}
    voting.answer(desk.item(1), desk.people["ann"], client_id=uuid4(), payload=elsewhere)
    press(page, "1", "Enter")
    page.get_by_text("You answered this sentence elsewhere too.").wait_for()
    assert said(1) == [elsewhere]
    page.get_by_role("button", name="This one counts").click()
    wait_until_sent(page, 2)
    assert said(1) == [elsewhere, {"spans": [], "relations": ["lived_in"]}]
    assert page.locator("#clashes").inner_text() == ""


def test_an_answer_to_a_project_closed_meanwhile_is_kept(page: Page, start: Start) -> None:
    desk = start()
    projects.close(desk.project, by=desk.curator)
    press(page, "1", "Enter")
    page.get_by_text("This answer was not taken.").wait_for()
    projects.open_for_work(desk.project, by=desk.curator)
    page.get_by_role("button", name="Send it again").click()
    wait_until_sent(page, 1)


@pytest.mark.parametrize(
    "text",
    [
        "👩‍🚀 Ada saw 🗼 Turin",
        "e\u0301t\u0327e\u0301 Ada a\u0300 Turin",
        "艾达 Ada 住在 Turin 。",
        "עדה Ada גרה ב Turin",
        "𝔸 𝕓 Ada 𝟙 Turin 𝟚",
        "Ada < Turin & <b>bold</b>",
        f"{'lorem 🐌 ' * 600}Ada was in Turin",
    ],
)
def test_marks_stand_on_the_right_characters_in_any_script(page: Page, start: Start, text: str) -> None:
    start(line(1, text))
    marks = page.locator("#sentence mark")
    only_text = "all => all.map(x => x.firstChild.textContent)"
    assert marks.evaluate_all(only_text) == ["Ada", "Turin"]
    whole = page.locator("#sentence").evaluate(
        "p => [...p.childNodes].map(x => x.tagName ? x.firstChild.textContent : x.textContent).join('')"
    )
    assert whole == text
