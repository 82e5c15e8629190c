"""Final runs: those that a team can no longer drop, retry or choose, as it knows their figures.

A run is final under a setting

- from the moment it closes, which is never before its closing date was set; or
- if it had closed before and was changed since, in whatever way: `Setting.final_before` says before when such
  runs were sent, `earlier_ends` the same of ends before that. Others are as free as those of any setting.

Both hold for the setting that a run was sent to, and for one that chooses its runs by their figures there, if
the run was sent before that one closed. What is sent later chooses no final run.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.db.models import Max, Q
from django.utils import timezone

from evalsvc.core.errors.exceptions import Conflict
from evalsvc.evaluation.dates import stated
from evalsvc.evaluation.models import Setting, Submission
from evalsvc.evaluation.roles import ORGANISER, Person, role_in


def ended_for(setting: Setting, sent: datetime) -> datetime | None:
    """Return when a setting ended and made a run final that was sent at a time, if it has."""
    earlier = [*map(datetime.fromisoformat, setting.earlier_ends), setting.final_before]
    if end := next((each for each in earlier if each is not None and sent < each), None):
        return end
    return setting.ended_at if setting.has_closed() else None


def final_under(submission: Submission, user: Person) -> Setting | None:
    """Return the setting that makes the run final for a person; for organisers none does."""
    if role_in(submission.benchmark, user) == ORGANISER:
        return None
    sent_to = Q(versions__in=submission.held_to) | Q(evaluations__submissions=submission)
    settings = Setting.objects.filter(benchmark=submission.benchmark).select_related("benchmark")
    own, sent = settings.filter(sent_to).distinct().order_by("closes_at"), submission.created_at
    choosing = settings.filter(row_rule__in=[f"best:{each.key}" for each in own])
    ended = [*own, *(each for each in choosing if sent < (ended_for(each, sent) or sent))]
    return next((each for each in ended if ended_for(each, sent)), None)


def require_not_final(submission: Submission, by: Person) -> None:
    """Reject dropping a run, or adding one that failed, once its figures are out."""
    if setting := final_under(submission, by):
        raise phase_ended(setting, submission)


def phase_ended(setting: Setting, submission: Submission) -> Conflict:
    at = ended_for(setting, submission.created_at)
    ended = f"ended on {stated(at, setting.benchmark)}" if at else "has ended"
    detail = f"Runs on “{setting.title}” are final: it {ended} and its scores are public."
    hint = "Organisers can still choose, withdraw, cancel or retry a run. Ask them."
    return Conflict("phase_ended", detail, hint=hint)


def ends(setting: Setting) -> dict[str, Any]:
    """Return `final_before` and `earlier_ends` that a setting needs when it is changed now.

    Runs may have come after its end, if that was moved to the past before `open_until` was stored.
    """
    before = setting.final_before
    if ended_for(setting, timezone.now()) is None:
        return {}
    newest = Submission.objects.filter(evaluations__setting=setting).aggregate(at=Max("created_at"))["at"]
    end = max(filter(None, (setting.ended_at, before, newest and newest + timedelta(microseconds=1))))
    if before is None or before == end:
        return {"final_before": end}
    return {"final_before": end, "earlier_ends": [*setting.earlier_ends, before.isoformat()]}
