"""A hand on the relation form in a real browser: what it presses, and what it finds afterwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from annotation.models import Vote
from tests.cast.basics import PASSWORD
from tests.cast.projects import ProjectCast

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

MANY = [{"name": f"r{at}", "title": f"relation {at}", "phrase": f"is {at} of"} for at in range(40)]
Start = Callable[..., ProjectCast]


def log_in(page: Page, name: str = "ann") -> None:
    """As this person, on the form of the project."""
    page.goto("/login/?next=/label/harbour/")
    page.fill("#id_username", name)
    page.fill("#id_password", PASSWORD)
    page.keyboard.press("Enter")
    page.locator("#work").wait_for()


def see(page: Page, at: int) -> None:
    """Wait for this sentence."""
    page.locator("#sentence", has_text=f" {at} was seen").wait_for()


def wait_for_reserve(page: Page, n: int) -> None:
    """So many sentences are on this device behind the one on show."""
    page.locator(f"#saved[title='{n} more on this device']").wait_for(state="attached")


def wait_until(page: Page, happened: Callable[[], bool]) -> None:
    for _ in range(600):
        if happened():
            return
        page.wait_for_timeout(50)
    raise AssertionError("it did not happen within half a minute")


def wait_until_sent(page: Page, n: int) -> None:
    """So many lines are in the log, and the page knows it."""
    wait_until(page, lambda: Vote.objects.count() == n)
    page.locator("#saved", has_text="Saved").wait_for()


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def read_back(page: Page) -> str:
    return page.locator("#readback").inner_text()


def chosen(page: Page) -> list[str]:
    ticked = page.locator("input[name=relation]:checked")
    return [str(name) for name in ticked.evaluate_all("all => all.map(x => x.value)")]


def said(at: int) -> list[Any]:
    """What is in the log for a sentence, oldest first."""
    return list(
        Vote.objects.filter(item__external_id=f"s{at}").order_by("number").values_list("payload", flat=True)
    )


def asked(route: Route) -> str:
    return route.request.post_data or ""
