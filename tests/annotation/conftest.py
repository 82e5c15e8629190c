"""Fixtures of this room's tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.annotation.browser_keyboard import Start, log_in
from tests.annotation.page_project import Desk, line

if TYPE_CHECKING:
    from playwright.sync_api import Page


@pytest.fixture
def start(live: str, page: Page) -> Start:
    """Lay the desk, log Ann in and wait for the first sentence."""

    def begin(*lines: dict[str, object], **how: object) -> Desk:
        desk = Desk.laid(**how)  # type: ignore[arg-type]
        desk.bring(*(lines or [line(at) for at in range(1, 9)]))
        desk.open()
        log_in(page)
        return desk

    return begin
