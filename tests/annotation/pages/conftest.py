"""Fixtures of the tests of pages."""

from __future__ import annotations

import pytest
from django.test import Client

from tests.cast.projects import ProjectCast


@pytest.fixture
def cast(db: None, client: Client) -> ProjectCast:
    """Return the cast, with its curator logged in."""
    cast = ProjectCast.create()
    client.force_login(cast.curator)
    return cast
