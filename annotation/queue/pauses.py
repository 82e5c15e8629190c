"""Pauses of annotators, by a curator or after failed gold questions."""

from __future__ import annotations

from django.db import transaction
from django.db.models.functions import Now

from annotation.models import Annotator, Oversight
from annotation.queue.lease_endings import return_all
from annotation.queue.participants import Participant
from annotation.roles import CURATOR, require_to_change
from evalsvc.core.accounts.models import User
from evalsvc.core.activity.models import record
from evalsvc.core.errors.exceptions import NotAllowed


def require_not_paused(participant: Participant) -> None:
    """Reject new leases of paused people; their late answers are stored."""
    if participant.annotator.paused_at is not None:
        raise NotAllowed(
            "paused",
            f"Your work in {participant.project} is paused. {participant.annotator.pause_reason}".strip(),
            hint="A curator of the project can resume it.",
        )


def pause_work(annotator: Annotator, reason: str, *, by: User | None = None) -> None:
    """Pause a person's work; the caller has checked who may."""
    Annotator.objects.filter(pk=annotator.pk).update(paused_at=Now(), pause_reason=reason[:200])
    Oversight.objects.create(annotator=annotator, act=Oversight.Act.PAUSE, reason=reason[:200], by=by)
    after = {"work": "paused", "reason": reason[:200]}
    record(annotator.project, "pause", by=by, about=annotator.name, before={"work": "active"}, after=after)
    # after the commit: no transaction locks two items at once
    transaction.on_commit(lambda: return_all(annotator))


@transaction.atomic
def pause(annotator: Annotator, *, by: User, reason: str = "") -> None:
    """Pause a person's work; their leases are returned."""
    require_to_change(annotator.project, by, CURATOR)
    pause_work(annotator, reason, by=by)


@transaction.atomic
def resume(annotator: Annotator, *, by: User, reason: str = "") -> None:
    """Resume a person's work and restart the count of checks."""
    require_to_change(annotator.project, by, CURATOR)
    rows = Annotator.objects.filter(pk=annotator.pk)
    rows.update(paused_at=None, pause_reason="", resumed_at=Now(), qualified_at=Now())
    Oversight.objects.create(annotator=annotator, act=Oversight.Act.RESUME, reason=reason[:200], by=by)
    after = {"work": "active", "reason": reason[:200]}
    record(
        annotator.project, "resumption", by=by, about=annotator.name, before={"work": "paused"}, after=after
    )
