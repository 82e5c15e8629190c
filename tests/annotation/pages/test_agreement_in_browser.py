"""Agreement asked for in a browser: the page follows the work by itself and then shows the figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from annotation.models import AgreementReport
from tests.cast.basics import compute_agreement, run_job, sentence
from tests.cast.browser import open_as
from tests.cast.projects import ProjectCast

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser


@pytest.fixture
def cast(live: str) -> ProjectCast:
    cast = ProjectCast.create()
    cast.import_lines(*(sentence(at) for at in range(1, 13)))
    cast.open()
    for at in range(1, 13):
        cast.answer("ann", at, "lived_in")
        cast.answer("bob", at, "lived_in" if at % 3 else "born_in")
    return cast


def test_the_page_shows_progress_and_then_the_figures(page: Page, cast: ProjectCast) -> None:
    open_as(page, "cleo", "/projects/harbour/agreement/")
    page.get_by_role("button", name="Compute agreement").click()
    page.locator(".state--wait").wait_for()
    assert page.get_by_role("button", name="Compute agreement").count() == 0
    run_job("agreement", AgreementReport.objects.get().pk)
    page.get_by_role("button", name="Recompute agreement").wait_for()
    page.wait_for_load_state()
    assert page.get_by_role("row", name="ann").first.is_visible()
    tip = page.locator("td[title*='on 12 sentences']")
    assert tip.count() == 1
    bars = page.locator("#relations svg[role=img]")
    assert "place lived" in page.locator("#relations").inner_text()
    assert bars.count() >= 1


@pytest.mark.parametrize("name", ["agreement", "progress"])
def test_a_phone_shows_intervals_without_scrolling(page: Page, cast: ProjectCast, name: str) -> None:
    compute_agreement(cast.project, by=cast.curator)
    page.set_viewport_size({"width": 360, "height": 740})
    open_as(page, "cleo", f"/projects/harbour/{name}/")
    page.locator("#relations tbody svg:visible").first.wait_for()
    drawn = page.locator("table svg[role=img]:visible").all()
    ends = [box["x"] + box["width"] for svg in drawn if (box := svg.bounding_box())]
    assert len(ends) >= 2
    assert max(ends) <= 360
    wider = "all => all.filter(box => box.scrollWidth > box.clientWidth + 1).length"
    assert page.locator(".scroll:has(table svg[role=img])").evaluate_all(wider) == 0
