"""One person in two tabs, and answers that the server does not take: nothing is overwritten, nothing lost."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from annotation.models import Vote
from annotation.queue import votes
from tests.annotation.browser_keyboard import (
    Start,
    chosen,
    press,
    see,
    stored_payloads,
    wait_for_reserve,
    wait_until,
    wait_until_sent,
)
from tests.cast.basics import sentence

if TYPE_CHECKING:
    from playwright.sync_api import APIResponse, Page, Route

pytestmark = pytest.mark.browser
ELSEWHERE = {"spans": [], "relations": ["died_in"]}
HERE = {"spans": [], "relations": ["lived_in"]}
KEPT = """() => {
  const note = document.querySelector(".conflict");
  const stored = (done) => addEventListener("storage", () => done(note.isConnected), { once: true });
  window.kept = new Promise(stored);
}"""


def conflict(page: Page, start: Start) -> None:
    """The first sentence answered elsewhere, then here."""
    cast = start()
    votes.answer(cast.item(1), cast.people["ann"], client_id=uuid4(), payload=ELSEWHERE)
    press(page, "1", "Enter")
    page.get_by_text("here “place lived”, elsewhere “place of death”.").wait_for()
    assert stored_payloads(1) == [ELSEWHERE]


def other_tab(page: Page) -> Page:
    other = page.context.new_page()
    other.goto("/label/harbour/")
    other.locator("#work").wait_for()
    return other


def test_an_answer_from_another_tab_is_overwritten_only_on_request(page: Page, start: Start) -> None:
    conflict(page, start)
    page.locator("#saved[data-state=conflict]").wait_for()
    page.get_by_role("button", name="Use this answer").click()
    wait_until_sent(page, 2)
    assert stored_payloads(1) == [ELSEWHERE, HERE]
    assert page.locator("#conflicts").inner_text() == ""


def test_a_conflict_can_be_settled_with_the_other_answer(page: Page, start: Start) -> None:
    conflict(page, start)
    page.get_by_role("button", name="Use the other answer").click()
    page.locator("#saved[data-state=saved][data-unsent='0']").wait_for()
    assert page.locator("#conflicts").inner_text() == ""
    assert stored_payloads(1) == [ELSEWHERE]


def test_settling_a_conflict_in_one_tab_settles_it_in_both(page: Page, start: Start) -> None:
    conflict(page, start)
    other = other_tab(page)
    other.get_by_role("button", name="Use this answer").click()
    wait_until(page, lambda: stored_payloads(1) == [ELSEWHERE, HERE])
    wait_until(page, lambda: page.locator("#conflicts").inner_text() == "")
    assert other.locator("#conflicts").inner_text() == ""


def test_a_conflict_in_one_tab_is_shown_in_the_other(page: Page, start: Start) -> None:
    cast = start()
    other = other_tab(page)
    votes.answer(cast.item(1), cast.people["ann"], client_id=uuid4(), payload=ELSEWHERE)
    press(page, "1", "Enter")
    other.get_by_text("You also answered this sentence elsewhere.").wait_for()
    other.evaluate(KEPT)
    press(page, "1")  # a draft, which the storage has for both tabs
    assert other.evaluate("window.kept")  # a button that is just being pressed stays
    other.get_by_role("button", name="Use the other answer").click()
    wait_until(page, lambda: page.locator("#conflicts").inner_text() == "")


def test_a_conflict_can_be_settled_fifty_answers_later(page: Page, start: Start) -> None:
    """The number to answer upon comes with the refusal, however much was answered since."""
    cast = start(*(sentence(at) for at in range(1, 56)), k=1)
    wait_for_reserve(page, 54)
    votes.answer(cast.item(1), cast.people["ann"], client_id=uuid4(), payload=ELSEWHERE)
    press(page, "1", "Enter")
    for _ in range(51):
        press(page, "n", "Enter")
    wait_until(page, lambda: Vote.objects.count() == 52)
    page.get_by_role("button", name="Use this answer").click()
    wait_until(page, lambda: stored_payloads(1) == [ELSEWHERE, HERE])


def test_a_sentence_answered_in_one_tab_is_not_shown_in_the_other(page: Page, start: Start) -> None:
    start()
    wait_for_reserve(page, 7)
    other = other_tab(page)
    wait_for_reserve(other, 7)
    press(page, "1", "Enter", "1", "Enter", "1", "Enter")
    wait_until_sent(page, 3)
    see(other, 4)
    other.locator("#notice", has_text="in another tab. This is the next sentence.").wait_for()
    press(other, "2", "Enter")
    see(page, 5)
    wait_until(page, lambda: len(stored_payloads(4)) == 1)
    assert page.locator("#conflicts").inner_text() == other.locator("#conflicts").inner_text() == ""


def test_a_late_reply_does_not_bring_back_what_another_tab_has_answered(page: Page, start: Start) -> None:
    start()
    other = page.context.new_page()
    held: list[tuple[Route, APIResponse]] = []
    other.route("**/reserve", lambda route: held.append((route, route.fetch())), times=1)
    other.goto("/label/harbour/")
    wait_until(other, lambda: len(held) == 1)
    press(page, "1", "Enter")
    wait_until_sent(page, 1)
    ((route, reply),) = held
    assert ", s1." in reply.text()
    route.fulfill(response=reply)
    see(other, 2)


def test_a_draft_of_one_tab_does_not_hold_its_answered_sentence_in_the_other(
    page: Page, start: Start
) -> None:
    start()
    wait_for_reserve(page, 7)
    press(page, "1")
    other = other_tab(page)
    wait_for_reserve(other, 7)
    assert chosen(other) == ["lived_in"]
    press(page, "Enter")
    see(other, 2)


def test_a_started_answer_stays_when_another_tab_answers_the_sentence(page: Page, start: Start) -> None:
    start()
    wait_for_reserve(page, 7)
    other = other_tab(page)
    wait_for_reserve(other, 7)
    press(other, "2")
    press(page, "1", "Enter")
    wait_until_sent(page, 1)
    wait_until(page, lambda: chosen(other) == ["born_in"])
    press(other, "Enter")
    other.get_by_text("here “place of birth”, elsewhere “place lived”.").wait_for()


WORK = """() => { window.trial = (async () => {
  const { newId, storedQueue } = await import("/static/annotation/label/storage.js");
  const box = storedQueue("trial"), put = [], gone = [];
  for (let at = 0; at < 300; at++) {
    put.push(newId());
    box.add({ id: put.at(-1) });
    if (at % 2) gone.push(box.read()[0].id);
    if (at % 2) box.remove(gone.at(-1));
    await new Promise((done) => setTimeout(done, 0));
  }
  return [put, gone];
})(); }"""
LEFT = """async () => {
  const { storedQueue } = await import("/static/annotation/label/storage.js");
  return storedQueue("trial").read().map(({ id }) => id);
}"""


def test_two_tabs_change_the_stored_queue_without_losing_entries(page: Page, start: Start) -> None:
    start()
    tabs = [page, other_tab(page)]
    for tab in tabs:
        tab.evaluate(WORK)
    done = [tab.evaluate("() => window.trial") for tab in tabs]
    put, gone = ({name for tab in done for name in tab[at]} for at in (0, 1))
    left = page.evaluate(LEFT)
    assert len(put) == 600
    assert sorted(left) == sorted(put - gone)
