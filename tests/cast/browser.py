"""One of the cast in a browser: logging in, or with a session from the start."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth import get_user_model
from django.test import Client

from tests.cast.basics import PASSWORD

if TYPE_CHECKING:
    from playwright.sync_api import Page


def log_in(page: Page, name: str, address: str = "/docs/keyboard/") -> None:
    """Log in on the way to an address, and wait for it."""
    page.goto(f"/login/?next={address}")
    page.fill("#id_username", name)
    page.fill("#id_password", PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: urlsplit(url).path == address)


def open_as(page: Page, name: str, address: str) -> None:
    """Open an address with a session of this person, without the pages for logging in."""
    client = Client()
    client.force_login(get_user_model().objects.get(username=name))
    session = client.cookies[settings.SESSION_COOKIE_NAME].value
    cookie = {"name": settings.SESSION_COOKIE_NAME, "value": session, "domain": "localhost", "path": "/"}
    page.context.add_cookies([cookie])  # type: ignore[list-item]
    page.goto(address)


def press(page: Page, name: str) -> None:
    """Press the button, and wait for the next page."""
    with page.expect_navigation():
        page.get_by_role("button", name=name, exact=True).click()
