"""Writing and reading the log of a project or benchmark."""

from __future__ import annotations

from typing import Any

from django.db.models import Model, QuerySet

from evalsvc.core.accounts.models import User
from evalsvc.core.activity.models import LogEntry


def record(
    subject: Model, action: str, *, by: User | None, about: object = "", before: Any = None, after: Any = None
) -> None:
    """Log a change, in its own transaction, unless it changed nothing."""
    if before is not None and before == after:
        return
    LogEntry.objects.create(
        area=subject._meta.model_name or "",
        subject=subject.pk,
        action=action,
        about=str(about)[:300],
        before=before,
        after=after,
        by=by,
    )


def entries(subject: Model) -> QuerySet[LogEntry]:
    """Return the entries about a project or benchmark, newest first."""
    rows = LogEntry.objects.filter(area=subject._meta.model_name, subject=subject.pk)
    return rows.select_related("by").order_by("-pk")
