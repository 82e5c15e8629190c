"""The relation form in a real browser: from a sentence to its answer and on to the next one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from annotation.models import Annotator, Vote
from annotation.queue import pauses, quality_settings
from tests.annotation.browser_keyboard import (
    Start,
    chosen,
    open_form,
    press,
    read_back,
    request_body,
    see,
    stored_payloads,
    wait_for_reserve,
    wait_until,
    wait_until_sent,
)
from tests.cast.basics import sentence
from tests.cast.projects import ProjectCast

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

pytestmark = pytest.mark.browser


def test_the_chosen_answer_is_shown_as_a_sentence(page: Page, start: Start) -> None:
    start()
    assert read_back(page) == "Nothing chosen yet."
    press(page, "1", "2")
    assert read_back(page) == "Your answer: Ada lived in Turin; Ada was born in Turin."
    press(page, "n")
    assert read_back(page) == "Your answer: the sentence says none of these."
    assert chosen(page) == []


def test_na_and_each_relation_take_one_key(page: Page, start: Start) -> None:
    start()
    wait_for_reserve(page, 7)
    press(page, "n", "Enter")
    press(page, "1", "3", "Enter")
    wait_until_sent(page, 2)
    assert [stored_payloads(1)[0]["relations"], stored_payloads(2)[0]["relations"]] == [
        [],
        ["lived_in", "died_in"],
    ]


IN_ONE_GO = """
() => {
  const enter = new KeyboardEvent("keydown", { key: "Enter", code: "Enter", bubbles: true });
  document.getElementById("sentence").dispatchEvent(enter);
  return document.getElementById("sentence").textContent;
}
"""


def test_enter_shows_the_next_sentence_without_a_request(page: Page, start: Start) -> None:
    """It is on this device already, so the key press itself puts it there: no request, no page load."""
    start()
    wait_for_reserve(page, 7)
    page.evaluate("window.sameAsBefore = true")
    for at in range(2, 8):
        press(page, "1")
        assert f", s{at}." in page.evaluate(IN_ONE_GO)
    wait_until_sent(page, 6)
    assert page.evaluate("window.sameAsBefore")


def test_a_held_enter_submits_once(page: Page, start: Start) -> None:
    start()
    wait_for_reserve(page, 7)
    press(page, "1")
    for _ in range(3):
        page.keyboard.down("Enter")
    page.keyboard.up("Enter")
    wait_until_sent(page, 1)
    assert ", s2." in page.locator("#sentence").inner_text()
    assert page.locator("#answer-error").is_hidden()


def test_submitting_without_an_answer_shows_an_error(page: Page, start: Start) -> None:
    start()
    press(page, "Enter")
    assert "Nothing is chosen" in page.locator("#answer-error").inner_text()
    assert not Vote.objects.exists()


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


def test_a_sentence_is_skipped_with_a_reason(page: Page, start: Start) -> None:
    start()
    press(page, "s", "2")
    see(page, 2)
    wait_until_sent(page, 1)
    assert Vote.objects.values_list("act", "reason").get() == ("skip", "entity")
    assert chosen(page) == []


def test_a_sentence_put_off_comes_back_when_the_others_are_answered(page: Page, start: Start) -> None:
    start(sentence(1), sentence(2))
    press(page, "s", "4")
    see(page, 2)
    press(page, "n", "Enter")
    see(page, 1)
    press(page, "1", "Enter")
    wait_until_sent(page, 3)
    assert list(Vote.objects.order_by("pk").values_list("act", "reason")) == [
        ("skip", "later"),
        ("answer", ""),
        ("answer", ""),
    ]


def test_a_flag_and_a_comment_are_sent_with_the_answer(page: Page, start: Start) -> None:
    start()
    press(page, "c")
    page.keyboard.type("n 1 z s")
    press(page, "Enter", "f", "1", "Enter")
    wait_until_sent(page, 1)
    vote = Vote.objects.get()
    assert (vote.comment, vote.flagged, vote.payload) == ("n 1 z s", True, stored_payloads(1)[0])
    assert page.locator("#comment-row").is_hidden()


def test_an_earlier_answer_is_reopened_and_changed(page: Page, start: Start) -> None:
    start()
    press(page, "1", "Enter")
    see(page, 2)
    wait_until_sent(page, 1)
    press(page, "h")
    page.get_by_role("button", name="Open again").wait_for()
    press(page, "Enter")
    see(page, 1)
    assert chosen(page) == ["lived_in"]
    press(page, "n", "Enter")
    see(page, 2)
    wait_until_sent(page, 2)
    assert [payload["relations"] for payload in stored_payloads(1)] == [["lived_in"], []]


def test_a_skipped_sentence_is_reopened_and_answered(page: Page, start: Start) -> None:
    start()
    press(page, "s", "1")
    see(page, 2)
    wait_until_sent(page, 1)
    press(page, "h")
    page.get_by_text("skipped – Ada was seen in Turin, s1.").wait_for()
    press(page, "1")
    see(page, 1)
    assert chosen(page) == []
    press(page, "2", "Enter")
    see(page, 2)
    wait_until_sent(page, 2)
    assert stored_payloads(1) == [None, {"spans": [], "relations": ["born_in"]}]


def test_each_of_the_last_ten_answers_is_reopened_by_its_digit(page: Page, start: Start) -> None:
    start(*(sentence(at) for at in range(1, 14)))
    wait_for_reserve(page, 12)
    press(page, *["1", "Enter"] * 12)
    wait_until_sent(page, 12)
    for digit, at in (("0", 3), ("4", 9)):
        press(page, "h")
        page.get_by_role("button", name="Open again").nth(9).wait_for()
        assert page.get_by_role("button", name="Open again").count() == 10
        press(page, digit)
        see(page, at)
        assert chosen(page) == ["lived_in"]


def test_the_last_ten_answers_can_be_reopened_when_the_queue_is_empty(page: Page, start: Start) -> None:
    start(sentence(1))
    press(page, "1", "Enter")
    page.locator("#finished[data-state=done]").wait_for()
    wait_until_sent(page, 1)
    press(page, "n", "Enter", "s", "h")
    page.get_by_role("button", name="Open again").wait_for()
    press(page, "1")
    see(page, 1)
    press(page, "2", "Enter")
    page.locator("#finished[data-state=done]").wait_for()
    wait_until_sent(page, 2)
    assert [payload["relations"] for payload in stored_payloads(1)] == [["lived_in"], ["lived_in", "born_in"]]


def test_keys_and_buttons_do_nothing_while_no_sentence_is_shown(page: Page, start: Start) -> None:
    held: list[Route] = []
    page.route(
        "**/reserve",
        lambda route: held.append(route) if '"n":1}' not in request_body(route) else route.continue_(),
    )
    start()
    wait_for_reserve(page, 1)
    press(page, "1", "Enter")
    see(page, 2)
    press(page, "1", "Enter")
    page.locator("#work[aria-busy=true]").wait_for(state="attached")
    wait_until(page, lambda: bool(held))
    # after a second the form gives way to a note that sentences are searched for
    for name in ("undo", "redo", "comment-button", "flag", "skip", "submit"):
        page.locator(f"#{name}").dispatch_event("click")
    page.locator(".rel", has_text="place of birth").dispatch_event("click")
    press(page, "n", "z", "s", "Enter")
    assert page.locator("dialog[open]").count() == 0
    held[0].continue_()
    see(page, 3)
    assert chosen(page) == []
    wait_until_sent(page, 2)
    page.unroute_all(behavior="ignoreErrors")


def test_a_draft_survives_a_reload(page: Page, start: Start) -> None:
    start()
    press(page, "2", "f")
    page.reload()
    see(page, 1)
    assert chosen(page) == ["born_in"]
    assert page.locator("#flag").get_attribute("aria-pressed") == "true"


def test_a_draft_is_kept_while_an_earlier_answer_is_open(page: Page, start: Start) -> None:
    start()
    press(page, "1", "Enter")
    see(page, 2)
    wait_until_sent(page, 1)
    press(page, "3", "h")
    page.get_by_role("button", name="Open again").click()
    see(page, 1)
    page.reload()
    see(page, 2)
    assert chosen(page) == ["died_in"]


def test_the_qualification_round_gives_feedback_before_the_next_sentence(page: Page, live: str) -> None:
    cast = ProjectCast.create()
    cast.import_lines(sentence(90, relations=["born_in"]), known="qualify")
    cast.import_lines(sentence(1))
    quality_settings.set_quality_options(cast.project, by=cast.curator, qualifies=True, pass_percent=0)
    cast.open()
    open_form(page)
    press(page, "1", "Enter")
    page.locator("#feedback-dialog[open]").wait_for()
    feedback = page.locator("#feedback-list li").all_inner_texts()
    assert feedback == [
        "✗ place of birth – it applies, and you did not choose it",
        "✗ place lived – you chose it, and it does not apply\n\nThe head lived there.",
    ]
    page.locator("#feedback-result", has_text="You passed").wait_for()
    press(page, "Enter")
    see(page, 1)
    progress = page.locator(".progress", has_text="1 of 2")
    progress.wait_for()
    page.reload()
    see(page, 1)
    progress.wait_for()
    press(page, "1", "Enter")
    page.locator("#finished[data-state=done]").wait_for()
    assert page.locator("#feedback-dialog[open]").count() == 0


def test_a_paused_annotator_sees_the_reason(page: Page, start: Start) -> None:
    cast = start()
    ann = Annotator.objects.get(user=cast.people["ann"])
    pauses.pause(ann, by=cast.curator, reason="Talk to Cleo first.")
    page.reload()
    page.locator("#finished[data-state=stopped]").wait_for()
    assert "Talk to Cleo first." in page.locator("#finished-text").inner_text()
    pauses.resume(ann, by=cast.curator)
    page.get_by_role("button", name="Check again").click()
    page.locator("#sentence", has_text="was seen").wait_for()


def test_a_prediction_is_preselected_and_marked(page: Page, live: str) -> None:
    cast = ProjectCast.create()
    cast.import_lines(sentence(1))
    cast.import_lines({"id": "s1", "label": "died_in"}, what="suggestions")
    quality_settings.set_quality_options(cast.project, by=cast.curator, suggests=True)
    cast.open()
    open_form(page)
    page.locator("#suggested").wait_for()
    assert chosen(page) == ["died_in"]


def test_a_reopened_answer_is_marked_and_can_be_left_unchanged(page: Page, start: Start) -> None:
    start()
    press(page, "1", "Enter")
    see(page, 2)
    assert page.locator("#notice").is_hidden()
    wait_until_sent(page, 1)
    press(page, "h")
    page.get_by_role("button", name="Open again").click()
    see(page, 1)
    page.locator("#notice", has_text="“place lived”").wait_for()
    press(page, "2")
    page.get_by_role("button", name="Keep the earlier answer").click()
    see(page, 2)
    assert page.locator("#notice").is_hidden()
    assert stored_payloads(1) == [{"spans": [], "relations": ["lived_in"]}]
