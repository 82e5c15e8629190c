"""Pages of annotation in unusual states in a real browser."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from annotation import projects
from annotation.adjudication import decisions
from annotation.freezing import builder
from annotation.models import Item
from annotation.queue import pauses, votes
from tests.annotation.browser_keyboard import wait_until
from tests.cast.basics import person, run_job, sentence
from tests.cast.browser import open_as
from tests.cast.projects import ProjectCast
from tests.places.browser import WIDER, barriers, in_turn

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page, Route

pytestmark = pytest.mark.browser
KNOWN = {
    "h": {"id": "ada", "name": "Ada", "pos": [0, 3]},
    "t": {"id": "turin", "name": "Turin", "pos": [7, 12]},
    "relations": ["born_in"],
}


@pytest.fixture
def addresses(live: str) -> list[str]:
    """A curator's pages in states beside the usual: with mistakes, decided, paused, or not begun."""
    cast = ProjectCast.create()
    batch = cast.import_lines(*(sentence(at, relations=["born_in"]) for at in range(1, 6)), {"id": "bad"})
    cast.open()
    for who in ("ann", "bob"):
        cast.answer(who, 1, "lived_in")
    cast.dispute(2)
    decided = cast.dispute(3)
    arguments = {"finding": "broken", "client_id": uuid4(), "votes_key": decided.votes_key}
    decisions.decide(decided, by=cast.curator, reason="Cut off.", **arguments)
    cast.import_lines({"id": "s9", "text": "Ada is Turin"} | KNOWN, known="qualify")
    ann = cast.project.annotators.get(name="ann")
    pauses.pause(ann, by=cast.curator, reason="Too quick.")
    fresh = projects.create(title="Fresh", kind="relations", by=cast.curator)
    made = builder.freeze(cast.project, name="Harbour", version="1.0", leave_out=True, by=cast.curator)
    for kind in ("freeze", "describe"):
        run_job(kind, made.pk)
    parts = ("", "quality/", f"annotators/{ann.pk}/", "disputes/?decided", f"disputes/{decided.key}/")
    return [
        *(f"/projects/harbour/{part}" for part in parts),
        f"/test-sets/{made.slug}/",
        f"/imports/{batch.pk}/",
        *(f"/projects/{fresh.slug}/{part}" for part in ("", "import/", "ontology/", "members/", "freeze/")),
    ]


def test_each_page_has_no_barriers(page: Page, addresses: list[str]) -> None:
    found = {}
    for at, address in enumerate(addresses):
        open_as(page, "cleo", address)
        found[address] = barriers(page, in_turn(at))
    assert {address: each for address, each in found.items() if each} == {}


def test_what_differs_in_a_copy_fits_a_phone(page: Page, live: str, tmp_path: Path) -> None:
    digest = "0f" * 32
    files = {"manifest.json": "{}", "gold.jsonl": "", "SHA256SUMS": f"{digest}  gold.jsonl\n"}
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(f"{live}/check-a-copy/")
    page.get_by_label("Files").set_input_files([tmp_path / name for name in files])
    page.get_by_role("button", name="Check files").click()
    page.get_by_text(digest).wait_for()
    assert page.evaluate(WIDER) == 0


@pytest.mark.parametrize(("width", "highest"), [(1280, 80), (360, 200)])  # pixels
def test_a_sentence_with_many_spans_takes_a_low_row(page: Page, live: str, width: int, highest: int) -> None:
    cast = ProjectCast.create(kind="entities", k=1, labels=["organisation"])
    text = "Harbour Optics and Pale Lantern met in the north. " * 4
    cast.import_lines({"id": "s1", "text": text})
    cast.open()
    starts = [50 * at for at in range(4)]
    spans = [
        [start + begin, start + end, "organisation"] for start in starts for begin, end in ((0, 14), (19, 31))
    ]
    votes.answer(cast.item(1), person("ann"), client_id=uuid4(), payload={"spans": spans, "relations": []})
    page.set_viewport_size({"width": width, "height": 800})
    open_as(page, "cleo", "/projects/harbour/sentences/")
    row = page.locator("#rows tbody tr").bounding_box()
    assert row
    assert row["height"] < highest


def test_a_row_opens_below_itself_and_changes_its_sentence(page: Page, live: str) -> None:
    cast = ProjectCast.create()
    cast.import_lines(sentence(1), sentence(2))
    cast.open().dispute(1)
    cast.answer("ann", 2, "lived_in")
    open_as(page, "cleo", "/projects/harbour/sentences/")
    link, opened = page.locator("#rows > tbody > tr th a").first, page.locator(".opened")
    for key in ("j", "Enter"):
        page.keyboard.press(key)
    opened.get_by_text("“She stayed for years.”", exact=True).wait_for()
    assert link.get_attribute("aria-expanded") == "true"
    assert barriers(page) == []
    ids = page.eval_on_selector_all("[id]", "nodes => nodes.map(node => node.id)")
    assert len(ids) == len(set(ids))
    answers = page.locator("[data-head=Answers]").first
    both = answers.inner_text()
    opened.get_by_role("button", name="Exclude the answer of").first.click()
    opened.get_by_text("The answer is excluded.").wait_for()
    assert (len(both.split(" · ")), len(answers.inner_text().split(" · "))) == (2, 1)
    opened.get_by_role("button", name="Include the answer of").click()
    opened.get_by_text("The answer counts again.").wait_for()
    assert answers.inner_text() == both
    opened.get_by_role("button", name="Exclude sentence").click()
    opened.get_by_text("The sentence is excluded from the queue").wait_for()
    assert "excluded" in page.locator("#rows > tbody > tr").first.inner_text()
    assert cast.item(1).state == Item.State.UNUSABLE
    opened.get_by_role("button", name="Include sentence again").click()
    opened.get_by_role("link", name="Decide").wait_for()
    for key in ("j", "Enter"):
        page.keyboard.press(key)
    page.locator("tr:nth-child(2) + .opened").wait_for()
    assert opened.count() == 1
    page.keyboard.press("Enter")
    assert opened.count() == 0
    assert page.url.endswith("/projects/harbour/sentences/")
    assert page.locator("#id_label").is_visible()
    page.set_viewport_size({"width": 360, "height": 740})
    page.locator("#filters:not([open])").wait_for()
    page.get_by_text("Filters", exact=True).click()
    assert page.locator("#id_label").is_visible()
    link.click()
    opened.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") == 360


def test_a_reply_about_a_row_that_was_left_does_not_fill_the_open_one(page: Page, live: str) -> None:
    cast = ProjectCast.create()
    cast.import_lines(sentence(1), sentence(2))
    cast.open()
    open_as(page, "cleo", "/projects/harbour/sentences/")
    rows, opened = page.locator("#rows > tbody > tr:not(.opened)"), page.locator(".opened")
    held: list[Route] = []
    page.route(
        "**", lambda route: held.append(route) if route.request.method == "POST" else route.continue_()
    )
    rows.first.locator("th a").click()
    opened.get_by_role("button", name="Exclude sentence").click()
    rows.nth(1).locator("th a").click()
    page.locator("tr:last-child.opened").wait_for()
    other = opened.get_by_role("link", name="Page of this sentence").get_attribute("href")
    held[0].continue_()
    rows.first.get_by_text("excluded").wait_for()
    assert opened.get_by_role("link", name="Page of this sentence").get_attribute("href") == other
    assert opened.get_by_text("The sentence is excluded from the queue").count() == 0


def test_the_row_opened_last_stays_open_when_an_earlier_page_comes_late(page: Page, live: str) -> None:
    cast = ProjectCast.create()
    cast.import_lines(sentence(1), sentence(2))
    cast.open()
    open_as(page, "cleo", "/projects/harbour/sentences/")
    rows, opened = page.locator("#rows > tbody > tr:not(.opened)"), page.locator(".opened")
    held: list[Route] = []
    page.route("**/sentences/*/", lambda route: held.append(route))
    for at in (0, 0, 0, 1):  # opened, closed, opened again, and left
        rows.nth(at).locator("th a").click()
    wait_until(page, lambda: len(held) == 3)
    held.pop().continue_()
    page.locator("tr:last-child.opened").wait_for()
    for late in held:
        with page.expect_response(late.request.url):
            late.continue_()
    page.evaluate("fetch('/healthz')")  # by its reply the earlier ones were handled
    page.locator("tr:last-child.opened").wait_for()
    assert opened.count() == 1


def test_a_form_of_an_open_row_keeps_what_was_typed_while_the_network_is_off(page: Page, live: str) -> None:
    cast = ProjectCast.create()
    cast.import_lines(sentence(1))
    cast.open()
    open_as(page, "cleo", "/projects/harbour/sentences/")
    opened = page.locator(".opened")
    page.locator("#rows th a").first.click()
    form = opened.get_by_role("region", name="Exclude sentence")
    form.get_by_role("textbox").fill("Cut off.")
    page.context.set_offline(True)
    form.get_by_role("button").click()
    form.get_by_role("alert").wait_for()
    page.context.set_offline(False)
    assert form.get_by_role("textbox").input_value() == "Cut off."
    form.get_by_role("button").click()
    opened.get_by_text("The sentence is excluded from the queue").wait_for()


def test_the_chosen_theme_is_stored(page: Page, live: str) -> None:
    page.goto("/login/")
    shown = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(shown)
    for _ in range(2):
        page.get_by_role("button", name="Theme").click()
    dark = page.evaluate(shown)
    assert dark != light
    page.reload()
    assert page.evaluate(shown) == dark
