"""A reader of a paper goes from the leaderboard to the comparison, the errors, and a table for a paper."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from evalsvc.evaluation.models import Submission
from tests.annotation.browser_keyboard import wait_until
from tests.cast.benchmarks import BenchmarkCast
from tests.cast.browser import log_in
from tests.conftest import StartWorker
from tests.evalsvc.evaluation.test_leaderboard import answers
from tests.places.browser import SCREEN, barriers, look_at

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.worker]
CUT_OFF = """() => [...document.querySelectorAll("main .scroll table")].filter((table) => {
  const boxes = [table.closest(".scroll"), table.closest(".card")].filter(Boolean);
  const cuts = (box) => getComputedStyle(box).overflowX !== "visible" && table.scrollWidth > box.clientWidth;
  return boxes.some(cuts);
}).map((table) => table.outerHTML.slice(0, 100))"""


def test_a_reader_compares_two_systems_reads_their_errors_and_takes_a_table(
    page: Page, worker: StartWorker
) -> None:
    cast = BenchmarkCast.create()
    benchmark = cast.relations(title="Port news", main="accuracy")
    for system, rights in (("Net", (5, 6)), ("Tree", (1, 2))):
        for run, right in enumerate(rights):
            cast.submit(benchmark, answers(right), system=system, run=str(run))
    worker()
    log_in(page, "lars", "/boards/rel/")
    wait_until(page, lambda: not Submission.objects.exclude(state=Submission.State.SCORED).exists())
    page.reload()
    rows = page.locator(".board tbody tr")
    assert [row.split()[0] for row in rows.locator("th").all_inner_texts()] == ["Net", "Tree"]
    for box in page.locator("input[name=systems]").all():
        box.check()
    page.get_by_role("button", name="Compare marked systems").click()
    page.get_by_role("button", name="Compute the tests").click()
    page.get_by_text("“Net” is ahead of “Tree” by 66.7 accuracy (p .03").wait_for()
    page.wait_for_load_state()
    assert page.get_by_role("heading", name="Net − Tree").count() == 1
    assert barriers(page) == []
    look_at(page, SCREEN)
    page.emulate_media(media="print", color_scheme="dark")
    ink = page.evaluate("getComputedStyle(document.querySelector('.lab')).fill")
    assert page.locator("details.data:not([open]) table").first.is_visible()  # paper can't unfold it
    page.set_viewport_size({"width": 420, "height": 900})
    assert page.evaluate(CUT_OFF) == []  # paper can't scroll
    page.set_viewport_size({"width": SCREEN[1], "height": SCREEN[2]})
    page.emulate_media(media="screen", color_scheme="light")
    assert ink == page.evaluate("getComputedStyle(document.querySelector('.lab')).fill")  # dark on paper
    with page.expect_download() as table:
        page.get_by_role("navigation", name="Download the table of systems").get_by_text("LaTeX").click()
    latex = Path(table.value.path()).read_text()
    assert "\\toprule" in latex
    assert r"\textbf{91.7 $\pm$ 11.8}" in latex  # a test says so
    page.get_by_role("link", name="Errors side by side").click()
    with page.expect_navigation():
        page.get_by_role("link", name="Only A right").click()
    articles = page.locator("article")
    assert articles.count() == 4  # the median runs have five and one right
    assert "right" in articles.first.inner_text()
    assert barriers(page) == []
    look_at(page, SCREEN)
    _walk_by_keys(page)
    with page.expect_navigation():
        articles.first.locator("a.mono").click()
    assert articles.count() == 1
    page.get_by_role("link", name="Show the board").click()
    page.locator(".board tbody tr").first.wait_for()


def _walk_by_keys(page: Page) -> None:
    """Move between sentences, drop and set a filter, and switch the keys off."""
    here = "document.activeElement.getAttribute('aria-label')"
    page.keyboard.press("j")
    first = page.evaluate(here)
    page.keyboard.press("j")
    assert page.evaluate(here) not in (first, None)
    page.keyboard.press("k")
    assert page.evaluate(here) == first
    page.keyboard.press("x")
    page.wait_for_url("**who=neither**")
    page.keyboard.press("a")
    page.wait_for_url("**who=a**")
    page.keyboard.press("n")
    marked = page.evaluate(
        "document.activeElement.matches('article .no-mark') && document.activeElement.innerText"
    )
    assert marked == "×\N{NO-BREAK SPACE}wrong relation"
    page.get_by_label("Single-key shortcuts").uncheck()
    page.reload()
    page.keyboard.press("x")
    page.keyboard.press("j")
    assert page.evaluate(here) is None
    page.get_by_label("Single-key shortcuts").check()
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.name") == "text"
    page.keyboard.press("Escape")  # leaves the field
    page.keyboard.press("Escape")
    page.get_by_role("link", name="Clear all").wait_for(state="detached")
