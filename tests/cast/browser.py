"""Logging in as one of the cast in a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

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
