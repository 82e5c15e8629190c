"""Modules that Django and its REST framework load if they are there, and that no page uses."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings

# 14 MB of each process of the web
UNUSED = ("django.contrib.postgres.fields", "jinja2", "pygments", "requests")


@contextmanager
def without_unused() -> Iterator[None]:
    """Let imports of these fail while the web is loaded, unless somebody needed one before.

    Single sign-on needs `requests`, and is loaded with the other views.
    """
    needed = {"requests"} if settings.SINGLE_SIGN_ON else set()
    hidden = [name for name in UNUSED if name not in {*sys.modules, *needed}]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # None lets an import fail
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]
