"""The relation form and its network: sentences ahead of need, answers kept until the server has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from annotation.models import Lease, Vote
from annotation.queue import leases, votes
from tests.annotation.browser_keyboard import (
    Start,
    chosen,
    press,
    request_body,
    see,
    stored_payloads,
    wait_for_reserve,
    wait_until,
    wait_until_sent,
)
from tests.cast.basics import PASSWORD, sentence

if TYPE_CHECKING:
    from playwright.sync_api import Clock, Page, Route

pytestmark = pytest.mark.browser
LINK_STAYS = """() => {
  const link = document.querySelector("#saved a");
  dispatchEvent(new StorageEvent("storage"));
  return link.isConnected;
}"""
SLOW_LOCKS = """() => {
  const plain = LockManager.prototype.request;
  const released = new Promise((release) => Object.assign(window, { release }));
  LockManager.prototype.request = async function (...given) {
    const done = await plain.apply(this, given);
    window.isEnding = true;
    await released;
    return done;
  };
}"""


def test_the_next_sentence_is_shown_before_the_answer_is_saved(page: Page, start: Start) -> None:
    start()
    wait_for_reserve(page, 7)
    page.context.set_offline(True)
    press(page, "1", "Enter")
    assert ", s2." in page.locator("#sentence").inner_text()


def test_a_fetched_sentence_is_shown_while_the_reserve_is_being_filled(page: Page, start: Start) -> None:
    held: list[Route] = []
    page.route(
        "**/reserve",
        lambda route: held.append(route) if '"n":1}' not in request_body(route) else route.continue_(),
    )
    start()
    press(page, "1", "Enter")
    wait_until(page, lambda: len(held) == 1)
    held[0].continue_()
    wait_until(page, lambda: len(held) == 2)
    see(page, 2)
    page.unroute_all(behavior="ignoreErrors")


def test_sentences_are_asked_for_once_the_last_answer_was_sent(page: Page, start: Start) -> None:
    start(sentence(1), sentence(2))
    wait_for_reserve(page, 1)
    page.evaluate(SLOW_LOCKS)
    requests: list[str] = []
    page.on("request", lambda sent: requests.append(sent.url.rpartition("/")[2]))
    press(page, "1", "Enter")
    wait_until(page, lambda: bool(page.evaluate("window.isEnding")))
    press(page, "1", "Enter")
    page.evaluate("release()")
    page.locator("#finished[data-state=done]").wait_for()
    wait_until_sent(page, 2)
    assert requests[-2:] == ["answer", "reserve"]


def test_the_status_shows_answers_being_sent_and_saved(page: Page, start: Start) -> None:
    held: list[Route] = []
    page.route("**/api/v1/items/**", lambda route: held.append(route))
    start()
    wait_for_reserve(page, 7)
    line_of_work = page.get_by_role("status").filter(has_text="No answers sent yet")
    assert line_of_work.count() == 1
    press(page, "1", "Enter", "2", "Enter")
    page.locator("#saved[data-state=sending][data-unsent='2']").wait_for()
    wait_until(page, lambda: len(held) == 1)
    held[0].continue_()
    page.locator("#saved[data-state=sending][data-unsent='1']").wait_for()
    wait_until(page, lambda: len(held) == 2)
    held[1].continue_()
    page.locator("#saved[data-state=saved][data-unsent='0']").wait_for()


def test_fifty_offline_answers_are_saved_once_and_in_order(page: Page, start: Start, clock: Clock) -> None:
    start(*(sentence(at) for at in range(1, 61)), k=1)
    wait_for_reserve(page, 55)
    page.context.set_offline(True)
    for at in range(50):
        press(page, "1" if at % 2 else "n", "Enter")
        if at % 10 == 9:
            clock.fast_forward(25_000)
    page.locator("#saved[data-state=offline][data-unsent='50']").wait_for()
    page.locator("#saved[data-reserved='5']").wait_for()
    assert not Vote.objects.exists()
    page.context.set_offline(False)
    wait_until_sent(page, 50)
    sent: list[Any] = list(Vote.objects.order_by("pk").values_list("item__external_id", "payload"))
    expected = [["lived_in"] if at % 2 else [] for at in range(50)]
    assert [name for name, _ in sent] == [f"s{at}" for at in range(1, 51)]
    assert [payload["relations"] for _, payload in sent] == expected


def test_an_offline_page_without_sentences_waits_for_the_network(page: Page, start: Start) -> None:
    start(sentence(1), sentence(2))
    wait_for_reserve(page, 1)
    page.context.set_offline(True)
    press(page, "1", "Enter", "2", "Enter")
    page.locator("#waiting").wait_for()
    page.locator("#saved[data-state=offline][data-unsent='2']").wait_for()
    page.context.set_offline(False)
    wait_until_sent(page, 2)
    page.locator("#finished[data-state=done]").wait_for()


def test_an_offline_page_waits_at_once_although_a_request_for_sentences_is_pending(
    page: Page, start: Start
) -> None:
    held: list[Route] = []
    page.route(
        "**/reserve",
        lambda route: held.append(route) if '"n":1}' not in request_body(route) else route.continue_(),
    )
    start(sentence(1), sentence(2))
    wait_for_reserve(page, 1)
    wait_until(page, lambda: len(held) == 1)
    page.context.set_offline(True)
    press(page, "1", "Enter")
    page.locator("#saved[data-state=offline][data-unsent='1']").wait_for()
    press(page, "2", "Enter")
    page.locator("#saved[data-state=offline][data-unsent='2']").wait_for()
    assert page.locator("#waiting").is_visible()
    page.unroute_all(behavior="ignoreErrors")


def test_an_answer_reopened_while_waiting_is_not_replaced_by_the_next_sentence(
    page: Page, start: Start
) -> None:
    cast = start(sentence(1))
    wait_for_reserve(page, 0)
    page.context.set_offline(True)
    press(page, "1", "Enter")
    page.locator("#waiting").wait_for()
    press(page, "h")
    page.get_by_role("button", name="Open again").wait_for()
    press(page, "1")
    see(page, 1)
    press(page, "2")
    cast.import_lines(sentence(1), sentence(2))
    page.context.set_offline(False)
    wait_for_reserve(page, 1)
    assert chosen(page) == ["lived_in", "born_in"]
    press(page, "Enter")
    see(page, 2)
    wait_until_sent(page, 2)
    assert [payload["relations"] for payload in stored_payloads(1)] == [["lived_in"], ["lived_in", "born_in"]]


def test_unsent_answers_survive_a_closed_page(page: Page, start: Start) -> None:
    start()
    page.route("**/api/v1/items/**", lambda route: route.abort())
    press(page, "1", "Enter")
    page.locator("#saved[data-state=offline][data-unsent='1']").wait_for()
    page.unroute("**/api/v1/items/**")
    page.reload()
    wait_until_sent(page, 1)
    assert stored_payloads(1) == [{"spans": [], "relations": ["lived_in"]}]


def test_no_answer_stays_on_the_device_once_it_is_sent(page: Page, start: Start) -> None:
    votes = "() => JSON.parse(localStorage.getItem('evalsvc-unsent-votes:' + owner)).length"
    start()
    page.evaluate("localStorage.setItem('evalsvc-recent:harbour:99', '[1]')")  # by an earlier build
    page.reload()
    wait_for_reserve(page, 7)
    page.evaluate("window.owner = Object.keys(localStorage).join().match(/votes:(\\w+:\\d+)/)[1]")
    page.context.set_offline(True)
    press(page, "1", "Enter")
    page.locator("#saved[data-state=offline][data-unsent='1']").wait_for()
    assert page.evaluate(votes) == 1
    page.context.set_offline(False)
    wait_until_sent(page, 1)
    wait_until(page, lambda: page.evaluate(votes) == 0)
    assert not page.evaluate("Object.keys(localStorage).filter(key => key.includes('recent')).length")
    page.context.set_offline(True)
    press(page, "h")
    page.get_by_role("button", name="Open again").wait_for()


def test_the_status_says_that_answers_are_in_the_tab_alone_if_storage_is_full(
    page: Page, start: Start
) -> None:
    start()
    wait_for_reserve(page, 7)
    page.evaluate("() => { Storage.prototype.setItem = () => { throw new DOMException('', 'Quota') } }")
    page.context.set_offline(True)
    press(page, "1", "Enter")
    page.locator("#saved[data-state=offline][data-unsent='1']").wait_for()
    assert "1 answer is kept in this open tab alone" in page.locator("#saved").inner_text()
    page.context.set_offline(False)
    wait_until_sent(page, 1)


def test_an_answer_whose_response_was_lost_is_saved_once(page: Page, start: Start) -> None:
    lost: list[Route] = []

    def lose(route: Route) -> None:
        route.fetch()
        lost.append(route)
        route.abort()

    start()
    page.route("**/api/v1/items/**", lose, times=1)
    press(page, "1", "Enter")
    wait_until(page, lambda: len(lost) == 1)
    page.locator("#saved[data-state=saved][data-unsent='0']").wait_for()
    assert stored_payloads(1) == [{"spans": [], "relations": ["lived_in"]}]


def test_an_unsent_answer_is_reopened_and_both_versions_are_saved(page: Page, start: Start) -> None:
    start()
    wait_for_reserve(page, 7)
    page.context.set_offline(True)
    press(page, "1", "Enter", "h")
    page.get_by_role("button", name="Open again").click()
    see(page, 1)
    press(page, "n", "Enter")
    page.locator("#saved[data-state=offline][data-unsent='2']").wait_for()
    page.context.set_offline(False)
    wait_until_sent(page, 2)
    assert [payload["relations"] for payload in stored_payloads(1)] == [["lived_in"], []]


def test_answers_after_a_logout_are_kept_and_sent_after_logging_in(page: Page, start: Start) -> None:
    start()
    wait_for_reserve(page, 7)
    page.context.clear_cookies(name="sessionid")
    press(page, "1", "Enter")
    page.locator("#saved[data-state=logged-out][data-unsent='1']").wait_for()
    assert page.evaluate(LINK_STAYS)  # while the status is shown anew, as a click takes a moment
    page.get_by_role("link", name="Log in again").click()
    page.fill("#id_username", "ann")
    page.fill("#id_password", PASSWORD)
    press(page, "Enter")
    page.locator("#work").wait_for()
    wait_until_sent(page, 1)


def test_an_offline_answer_to_a_reassigned_sentence_is_surplus(page: Page, start: Start) -> None:
    cast = start(*(sentence(at) for at in range(1, 6)), k=1)
    wait_for_reserve(page, 4)
    page.context.set_offline(True)
    bob = cast.people["bob"]
    taken = leases.lease_next(cast.project, bob)
    assert taken is not None
    votes.answer(taken.item, bob, client_id=uuid4(), payload={"spans": [], "relations": ["died_in"]})
    press(page, *["1", "Enter"] * 5)
    page.locator("#saved[data-state=offline][data-unsent='5']").wait_for()
    page.context.set_offline(False)
    wait_until_sent(page, 6)
    assert taken.item.external_id == "s5"
    assert Lease.objects.filter(ending="taken back").count() == 1
    taken.item.refresh_from_db()
    assert (taken.item.gold, taken.item.answers.count()) == ({"spans": [], "relations": ["died_in"]}, 2)
    page.locator("#finished[data-state=done]").wait_for()


def test_a_heartbeat_drops_reassigned_sentences_and_renews_the_others(
    page: Page, start: Start, clock: Clock
) -> None:
    cast = start(*(sentence(at) for at in range(1, 6)), k=1)
    wait_for_reserve(page, 4)
    before = list(Lease.objects.order_by("pk").values_list("expires_at", flat=True)[:4])
    taken = leases.lease_next(cast.project, cast.people["bob"])
    assert taken is not None
    clock.fast_forward(5 * 60_000 + 1_000)
    wait_for_reserve(page, 3)
    after = list(Lease.objects.order_by("pk").values_list("expires_at", flat=True)[:4])
    assert all(late > early for early, late in zip(before, after, strict=True))
    press(page, *["1", "Enter"] * 4)
    page.locator("#finished[data-state=done]").wait_for()
    wait_until_sent(page, 4)


def test_a_form_left_alone_for_half_an_hour_leaves_its_sentences_to_others(
    page: Page, start: Start, clock: Clock
) -> None:
    start(*(sentence(at) for at in range(1, 6)), k=1)
    wait_for_reserve(page, 4)
    extended: list[str] = []
    page.on("request", lambda sent: extended.append(sent.url) if sent.url.endswith("/heartbeat") else None)
    for minutes in (31, 5, 5):
        clock.fast_forward(minutes * 60_000)
    press(page, "Shift")
    clock.fast_forward(5 * 60_000)
    press(page, *["1", "Enter"] * 5)
    wait_until_sent(page, 5)
    assert len(extended) == 2  # none while nobody was there


@pytest.mark.parametrize(
    ("status", "kind", "body"),
    [
        (200, "text/html", "<h1>Log in to the hotel</h1>"),
        (200, "application/json", "{}"),
        (204, "text/plain", ""),
    ],
)
def test_an_answer_counts_as_saved_only_with_a_valid_response(
    page: Page, start: Start, status: int, kind: str, body: str
) -> None:
    def hotel(route: Route) -> None:
        route.fulfill(status=status, content_type=kind, body=body)

    start()
    wait_for_reserve(page, 7)
    page.route("**/api/v1/**", hotel)
    press(page, "1", "Enter")
    page.locator("#saved[data-state=offline][data-unsent='1']").wait_for()
    page.unroute_all(behavior="ignoreErrors")
    wait_until_sent(page, 1)
