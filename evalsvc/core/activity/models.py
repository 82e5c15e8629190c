"""The log: who changed what and when, with values before and after."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Model, QuerySet
from django.db.models.functions import Now

from evalsvc.core.accounts import security_log
from evalsvc.core.accounts.models import User

ROLES = ("role", "member removed", "person removed")  # changes of rights, which the security log has, too


class LogEntry(models.Model):
    """One change of a project or benchmark; entries are never changed."""

    area = models.CharField(max_length=20, help_text="project or benchmark")
    subject = models.BigIntegerField(help_text="Primary key of the project or benchmark.")
    action = models.CharField(max_length=40)
    about = models.CharField(max_length=300, blank=True, help_text="The person, label or setting changed.")
    before = models.JSONField(null=True)
    after = models.JSONField(null=True)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        null=True,
        related_name="+",
        help_text="Nobody: a rule of the project.",
    )
    at = models.DateTimeField(db_default=Now())

    class Meta:
        verbose_name_plural = "log entries"
        indexes = [models.Index(fields=["area", "subject", "-id"], name="log_of_subject")]

    def __str__(self) -> str:
        return f"{self.action} {self.about}".strip()

    @property
    def before_text(self) -> str:
        return _text(self.before)

    @property
    def after_text(self) -> str:
        return _text(self.after)


def _text(value: Any) -> str:
    """Write a logged value in one line."""
    if isinstance(value, dict):
        return "; ".join(f"{name.replace('_', ' ')}: {_text(entry)}" for name, entry in value.items())
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)


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
    if action in ROLES:
        place = f"{subject._meta.model_name}/{subject.pk}"
        security_log.write("role_set", account=about, role=after or "none", place=place, by=by)


def entries(subject: Model) -> QuerySet[LogEntry]:
    """Return the entries about a project or benchmark, newest first."""
    rows = LogEntry.objects.filter(area=subject._meta.model_name, subject=subject.pk)
    return rows.select_related("by").order_by("-pk")
