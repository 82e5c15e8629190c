"""Keyboard actions on the labelling form in a browser, and their results."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from annotation.models import Vote
from tests.cast.browser import open_as
from tests.cast.projects import ProjectCast

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

MANY = [{"name": f"r{at}", "title": f"relation {at}", "phrase": f"is {at} of"} for at in range(40)]
Start = Callable[..., ProjectCast]


def open_form(page: Page) -> None:
    """Open the labelling form as Ann and wait for a sentence on the labelling form."""
    open_as(page, "ann", "/label/harbour/")
    page.locator("#work").wait_for()


def see(page: Page, at: int) -> None:
    """Wait for a sentence to appear."""
    page.locator("#sentence", has_text=f", s{at}.").wait_for()


def wait_for_reserve(page: Page, n: int) -> None:
    """Wait until the device holds n more sentences."""
    page.locator(f"#saved[data-reserved='{n}']").wait_for(state="attached")


def wait_until(page: Page, happened: Callable[[], bool]) -> None:
    for _ in range(2_400):
        if happened():
            return
        page.wait_for_timeout(50)
    raise AssertionError("nothing happened within 120 s")


def wait_until_sent(page: Page, n: int) -> None:
    """Wait until n votes are stored and the page shows them as saved."""
    wait_until(page, lambda: Vote.objects.count() == n)
    page.locator("#saved[data-state=saved][data-unsent='0']").wait_for()


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def read_back(page: Page) -> str:
    return page.locator("#readback").inner_text()


def chosen(page: Page) -> list[str]:
    ticked = page.locator("input[name=relation]:checked")
    return [str(name) for name in ticked.evaluate_all("all => all.map(x => x.value)")]


def stored_payloads(at: int) -> list[Any]:
    """Return the stored votes on a sentence, oldest first."""
    return list(
        Vote.objects.filter(item__external_id=f"s{at}").order_by("number").values_list("payload", flat=True)
    )


def request_body(route: Route) -> str:
    return route.request.post_data or ""
