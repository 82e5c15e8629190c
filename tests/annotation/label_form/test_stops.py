"""The relation form in a closed project, for removed members and paused annotators."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from annotation import projects
from annotation.models import Annotator, Vote
from annotation.queue import pauses
from evalsvc.core.jobs.models import Job
from evalsvc.core.jobs.queue import enqueue
from tests.annotation.browser_keyboard import (
    Start,
    chosen,
    press,
    see,
    wait_for_reserve,
    wait_until,
    wait_until_sent,
)
from tests.cast.basics import sentence
from tests.cast.browser import log_in
from tests.cast.projects import ProjectCast, import_lines

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

pytestmark = pytest.mark.browser


def order() -> list[str]:
    return list(Vote.objects.order_by("pk").values_list("item__external_id", flat=True))


def answer_three_away(page: Page) -> None:
    page.context.set_offline(True)
    press(page, "1", "Enter", "n", "Enter", "2", "Enter")
    page.locator("#saved[data-state=offline][data-unsent='3']").wait_for()
    press(page, "2")


def is_stopped(page: Page, why: str) -> None:
    """Wait for the reason and the unsent answers; no sentence or conflict is shown."""
    page.locator("#finished[data-state=stopped]").wait_for()
    page.get_by_text(why).wait_for()
    page.locator("#saved[data-state=stopped][data-unsent='3']").wait_for()
    assert page.locator("#work").is_hidden()
    assert page.locator("#conflicts").inner_text() == ""


def closed_while_away(page: Page, start: Start) -> ProjectCast:
    cast = start()
    wait_for_reserve(page, 7)
    answer_three_away(page)
    projects.close(cast.project, by=cast.curator)
    page.context.set_offline(False)
    is_stopped(page, "Harbour news is not open for labelling.")
    return cast


def removed_while_away(page: Page, start: Start) -> ProjectCast:
    cast = start()
    wait_for_reserve(page, 7)
    answer_three_away(page)
    projects.remove_member(cast.project, user=cast.people["ann"], by=cast.curator)
    page.context.set_offline(False)
    is_stopped(page, "You are no longer a member of this project.")
    return cast


def paused_while_labelling(page: Page, start: Start) -> tuple[ProjectCast, Annotator]:
    """Pause an annotator who answers six more sentences before the form knows."""
    cast = start(*(sentence(at) for at in range(1, 61)))
    wait_for_reserve(page, 55)
    ann = Annotator.objects.get(user=cast.people["ann"])
    pauses.pause(ann, by=cast.curator, reason="Read the guideline again.")
    for _ in range(6):
        press(page, "1", "Enter")
    page.locator("#finished[data-state=stopped]").wait_for()
    return cast, ann


def downloaded_answers(page: Page) -> list[tuple[str, Any]]:
    """Download the unsent answers, in order."""
    page.get_by_text("3 answers for harbour").wait_for()
    with page.expect_download() as taken:
        page.get_by_role("button", name="Download answers").click()
    assert taken.value.suggested_filename == "harbour-unsent-answers.jsonl"
    rows = [json.loads(row) for row in taken.value.path().read_text().splitlines()]
    return [(row["answer"], row["payload"]["relations"]) for row in rows]


def test_unsent_answers_of_a_closed_project_can_be_downloaded(page: Page, start: Start) -> None:
    cast = closed_while_away(page, start)
    answers = [("place lived", ["lived_in"]), ("N/A", []), ("place of birth", ["born_in"])]
    page.reload()
    page.get_by_role("heading", name="Closed").wait_for()
    assert downloaded_answers(page) == answers
    projects.remove_member(cast.project, user=cast.people["ann"], by=cast.curator)
    page.goto("/label/")
    assert downloaded_answers(page) == answers


def test_unsent_answers_of_another_user_are_not_shown(page: Page, start: Start) -> None:
    closed_while_away(page, start)
    page.goto("/docs/keyboard/")
    page.get_by_role("button", name="Log out").click()
    page.locator(".who").get_by_role("link", name="Log in").wait_for()
    log_in(page, "bob", "/label/harbour/")
    page.get_by_role("heading", name="Closed").wait_for()
    page.wait_for_load_state("load")
    assert page.locator("#unsent").is_hidden()


def test_closing_a_project_stops_the_form_and_reopening_sends_the_answers(page: Page, start: Start) -> None:
    cast = closed_while_away(page, start)
    page.get_by_role("button", name="Check again").click()
    is_stopped(page, "Harbour news is not open for labelling.")
    projects.open_for_work(cast.project, by=cast.curator)
    see(page, 4)
    assert chosen(page) == ["born_in"]
    press(page, "Enter")
    wait_until_sent(page, 4)
    assert order() == ["s1", "s2", "s3", "s4"]


def test_a_removed_member_keeps_the_answers_until_added_again(page: Page, start: Start) -> None:
    cast = removed_while_away(page, start)
    projects.set_member(cast.project, user=cast.people["ann"], role="annotator", by=cast.curator)
    see(page, 4)
    wait_until_sent(page, 3)
    assert order() == ["s1", "s2", "s3"]


def test_a_removed_member_can_download_the_answers_after_a_reload(page: Page, start: Start) -> None:
    cast = removed_while_away(page, start)
    page.reload()
    page.get_by_role("heading", name="You are no longer a member").wait_for()
    assert downloaded_answers(page) == [
        ("place lived", ["lived_in"]),
        ("N/A", []),
        ("place of birth", ["born_in"]),
    ]
    projects.set_member(cast.project, user=cast.people["ann"], role="annotator", by=cast.curator)
    page.reload()
    wait_until_sent(page, 3)
    assert order() == ["s1", "s2", "s3"]


def test_pausing_stops_the_form_and_sends_the_answers_given(page: Page, start: Start) -> None:
    cast, ann = paused_while_labelling(page, start)
    page.get_by_text("Read the guideline again.").wait_for()
    assert page.locator("#work").is_hidden()
    wait_until_sent(page, 6)
    assert page.locator("#conflicts").inner_text() == ""
    pauses.resume(ann, by=cast.curator)
    # the form checks by itself once all answers are sent, which may hide the button before a click
    page.locator("#look-again").dispatch_event("click")
    page.locator("#work").wait_for()


def test_a_paused_annotator_sees_no_sentence_once_the_answers_are_sent(page: Page, start: Start) -> None:
    cast = start(*(sentence(at) for at in range(1, 61)))
    wait_for_reserve(page, 55)
    pauses.pause(Annotator.objects.get(user=cast.people["ann"]), by=cast.curator, reason="Wait.")
    answers: list[Route] = []
    page.route("**/items/*/answer", lambda route: answers.append(route))
    for _ in range(6):
        press(page, "1", "Enter")
    page.locator("#finished[data-state=stopped]").wait_for()
    # the form asks for sentences again, and the server's answer has to wait until the page was looked at
    requests: list[Route] = []
    page.route("**/reserve", lambda route: requests.append(route))
    page.unroute("**/items/*/answer")
    answers.pop().continue_()
    wait_until(page, lambda: bool(requests))
    assert page.locator("#work").is_hidden()
    requests[0].continue_()
    wait_until_sent(page, 6)
    assert page.locator("#finished").get_attribute("data-state") == "stopped"


def test_a_late_reply_from_before_the_end_of_a_pause_stops_nothing(page: Page, start: Start) -> None:
    cast, ann = paused_while_labelling(page, start)
    wait_until_sent(page, 6)
    requests: list[Route] = []
    page.route("**/reserve", lambda route: route.continue_() if requests else requests.append(route))
    page.get_by_role("button", name="Check again").click()
    wait_until(page, lambda: bool(requests))
    late = requests[0].fetch()
    assert late.status == 403
    pauses.resume(ann, by=cast.curator)
    page.locator("#look-again").dispatch_event("click")
    see(page, 7)
    with page.expect_response("**/reserve"):
        requests[0].fulfill(response=late)
    press(page, "1", "Enter")
    wait_until_sent(page, 7)
    see(page, 8)


def test_a_sentence_with_a_rejected_answer_is_not_shown_again(page: Page, start: Start) -> None:
    start(sentence(1), sentence(2))
    wait_for_reserve(page, 1)
    page.route("**/items/*/answer", lambda route: route.fulfill(status=400, json={"detail": "Not so."}))
    press(page, "1", "Enter", "1", "Enter")
    page.locator(".conflict").nth(1).wait_for()
    page.reload()
    page.locator("#finished[data-state=done]").wait_for()
    assert page.locator(".conflict").count() == 2


def test_the_form_goes_on_by_itself_when_the_project_is_recomputed(page: Page, start: Start) -> None:
    cast = start(sentence(1))
    job = enqueue("recompute", cast.project.pk)
    press(page, "1", "Enter")
    page.get_by_text("The sentences of this project are being recomputed.").wait_for()
    import_lines(cast.project, [sentence(2)], by=cast.curator)
    Job.objects.filter(pk=job.pk).update(state=Job.State.DONE)
    page.locator("#work").wait_for()
    wait_until(page, lambda: ", s2." in page.locator("#sentence").inner_text())
