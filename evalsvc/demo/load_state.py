"""Whether the demo is here and whole: a first start that was cut short is taken up by the next."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings

from annotation.models import Project
from evalsvc.demo.accounts import logins


def is_wanted() -> bool:
    """On an empty database, or where a loading began and did not come to its end."""
    return not Project.objects.exists() or (bool(logins()) and not _stamp().exists())


def remember() -> None:
    """All of it was loaded."""
    _stamp().touch()


def _stamp() -> Path:
    return Path(settings.DATA_DIR) / "demo.whole"
