"""The relation form and who is logged in: a session that ends and begins again costs nobody an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from annotation.models import Vote
from tests.annotation.browser_keyboard import Start, press, wait_for_reserve, wait_until_sent
from tests.cast.browser import log_in

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser


def log_out_and_in(page: Page, name: str) -> None:
    """In a second tab, as this person."""
    other = page.context.new_page()
    other.goto("/docs/keyboard/")
    other.get_by_role("button", name="Log out").click()
    other.locator(".who").get_by_role("link", name="Log in").wait_for()
    press(page, "1", "Enter", "n", "Enter")
    page.locator("#saved[data-state=logged-out][data-unsent='2']").wait_for()
    log_in(other, name)
    other.close()


def test_logging_in_again_in_another_tab_sends_all_answers_in_order(page: Page, start: Start) -> None:
    start()
    wait_for_reserve(page, 7)
    log_out_and_in(page, "ann")
    press(page, "2", "Enter")
    wait_until_sent(page, 3)
    sent = Vote.objects.order_by("pk").values_list("item__external_id", flat=True)
    assert list(sent) == ["s1", "s2", "s3"]
    assert page.locator("#conflicts").inner_text() == ""


def test_answers_are_never_sent_as_another_user(page: Page, start: Start) -> None:
    start()
    wait_for_reserve(page, 7)
    log_out_and_in(page, "bob")
    page.locator("#saved[data-state=other-user][data-unsent='2']").wait_for()
    assert not Vote.objects.exists()
    page.context.clear_cookies()
    log_in(page.context.new_page(), "ann")
    wait_until_sent(page, 2)
    assert set(Vote.objects.values_list("annotator__user__username", flat=True)) == {"ann"}
