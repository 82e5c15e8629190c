"""A crawler shared by the tests of a module."""

from __future__ import annotations

import pytest

from tests.permissions.crawler import Crawler
from tests.permissions.requester import Requester


@pytest.fixture(scope="module")
def crawler(requester: Requester) -> Crawler:
    return Crawler(requester)
