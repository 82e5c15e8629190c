"""Votes of a person as they read them again."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, QuerySet

from annotation.models import Annotator, Lease, Project, Vote
from annotation.queue import sql
from annotation.roles import require
from evalsvc.core.accounts.models import User


def last_vote_number(lease: Lease) -> int:
    """Return the number of the annotator's last vote, 0 for none."""
    last = sql.first(Vote, sql.LAST_VOTE, item=lease.item_id, annotator=lease.annotator_id)
    return last.number if last else 0


def history(project: Project, user: User, n: int = 10) -> QuerySet[Vote]:
    """Return the person's last votes on their latest items, newest first."""
    require(project, user)
    return last_votes(project, user)[:n]


def last_votes(project: Project, user: User) -> QuerySet[Vote]:
    """Return the person's last vote on each item, newest first."""
    annotator = Annotator.objects.filter(project=project, user=user).first()
    if annotator is None:
        return Vote.objects.none()
    later = Vote.objects.filter(item=OuterRef("item"), annotator=annotator, number__gt=OuterRef("number"))
    own = Vote.objects.filter(annotator=annotator, batch=None).exclude(Exists(later.filter(batch=None)))
    return own.select_related("item").defer("item__gold").order_by("-pk")
