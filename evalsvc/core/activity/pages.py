"""Page and file of the log, shared by projects and benchmarks."""

from __future__ import annotations

from typing import Any

from django.db.models import Model
from django.http import HttpRequest, StreamingHttpResponse

from evalsvc.core.activity.models import entries
from evalsvc.core.database import in_batches
from evalsvc.core.web.downloads import long_csv_file
from evalsvc.core.web.views import page_of

ROWS = 50
COLUMNS = ("at", "by", "action", "about", "before", "after")


def log_context(request: HttpRequest, subject: Model) -> dict[str, Any]:
    """Return the context of `activity/log.html`: a page of the entries."""
    return {"pages": page_of(request, entries(subject), size=ROWS)}


def log_csv(subject: Model, slug: str) -> StreamingHttpResponse:
    """Return the whole log as CSV, oldest first."""
    rows = (
        [entry.at.isoformat(), entry.by and entry.by.username, entry.action, entry.about, before, after]
        for entry in in_batches(entries(subject).order_by("pk"))
        for before, after in [(entry.before_text, entry.after_text)]
    )
    return long_csv_file(f"{slug}-log.csv", COLUMNS, rows)
