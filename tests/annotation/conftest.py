"""Fixtures of the annotation tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.annotation.browser_keyboard import Start, open_form
from tests.cast.basics import sentence
from tests.cast.projects import ProjectCast

if TYPE_CHECKING:
    from playwright.sync_api import Page


@pytest.fixture
def start(live: str, page: Page) -> Start:
    """Create the cast, log Ann in and wait for the first sentence."""

    def begin(*lines: dict[str, object], **options: object) -> ProjectCast:
        cast = ProjectCast.create(**options)  # type: ignore[arg-type]
        cast.import_lines(*(lines or [sentence(at) for at in range(1, 9)]))
        cast.open()
        open_form(page)
        return cast

    return begin
