"""Rows that are removed some time after their end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.sessions.models import Session
from django.db.models import Exists, ManyToOneRel, OuterRef, Q, QuerySet
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Now

from evalsvc.core.accounts.models import ApiToken, Invitation
from evalsvc.core.jobs.models import Job, JobEvent

ROWS_PER_DELETE = 500
Rows = Callable[[], QuerySet[Any]]


def removable() -> Iterator[tuple[str, QuerySet[Any]]]:
    """Yield name and rows of everything that is kept no longer."""
    for name, rows in RETENTION.items():
        if settings.KEEP_DAYS or rows is _sessions:
            yield name, rows()


def remove() -> int:
    """Remove these rows, in short transactions."""
    removed = 0
    for _, rows in removable():
        while keys := list(rows.order_by("pk").values_list("pk", flat=True)[:ROWS_PER_DELETE]):
            removed += rows.filter(pk__in=keys).delete()[0]
    return removed


def _cutoff() -> CombinedExpression:
    return Now() - timedelta(days=settings.KEEP_DAYS)


def _jobs() -> QuerySet[Job]:
    """Return ended jobs that one of the same subject replaced, which began after their end.

    Those that a row of another table names stay, such as the job of a submission.
    """
    same = {name: OuterRef(name) for name in ("kind", "subject")}
    later = Job.objects.filter(**same, claimed_at__gt=OuterRef("ended_at"))
    jobs = Job.objects.filter(Exists(later), state__in=Job.ENDED, ended_at__lt=_cutoff())
    for relation in Job._meta.get_fields(include_hidden=True):
        if isinstance(relation, ManyToOneRel) and relation.related_model is not JobEvent:
            rows = relation.related_model._default_manager.filter(**{relation.field.name: OuterRef("pk")})
            jobs = jobs.filter(~Exists(rows))
    return jobs


def _sessions() -> QuerySet[Session]:
    return Session.objects.filter(expire_date__lt=Now())


def _invitations() -> QuerySet[Invitation]:
    ended = Q(used_at__lt=_cutoff()) | Q(revoked_at__lt=_cutoff()) | Q(expires_at__lt=_cutoff())
    return Invitation.objects.filter(ended)


def _tokens() -> QuerySet[ApiToken]:
    return ApiToken.objects.filter(Q(revoked_at__lt=_cutoff()) | Q(expires_at__lt=_cutoff()))


RETENTION: dict[str, Rows] = {
    "jobs that later ones replaced": _jobs,
    "ended sessions": _sessions,
    "invitations that were used, revoked or not accepted in time": _invitations,
    "revoked and expired tokens": _tokens,
}
