"""Comments and flags of annotators, for curators and adjudicators."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Exists, OuterRef, Q, QuerySet

from annotation.models import Batch, Item, Project, Vote
from annotation.roles import CURATOR, MAY_DECIDE, display_names, require
from evalsvc.core.accounts.models import User

MAX_LISTED = 500


@dataclass(frozen=True, slots=True)
class Remark:
    """A comment or flag on an item; adjudicators get no name, and open what is or was in dispute alone."""

    item: Item
    comment: str
    flagged: bool
    name: str
    linked: bool


def remarks(project: Project) -> QuerySet[Vote]:
    """Return current votes with a comment or flag, by item.

    Votes on one item come in random order, since the order of time would show who gave them.
    """
    later = Vote.objects.filter(item=OuterRef("item"), annotator=OuterRef("annotator"), pk__gt=OuterRef("pk"))
    noted = Q(flagged=True) | ~Q(comment="")
    of_project = Vote.objects.filter(noted, annotator__project=project, batch=None)
    votes = of_project.filter(~Exists(later), item__use="", item__batch__state=Batch.State.DONE)
    return votes.order_by("item__rank", "item", "client_id")


def listed(project: Project, *, for_user: User) -> list[Remark]:
    """Return comments and flags, with names for curators only."""
    role = require(project, for_user, *MAY_DECIDE)
    votes = remarks(project).select_related("item", "annotator")[:MAX_LISTED]
    names = display_names(project) if role == CURATOR else {}
    closed = (Item.State.OPEN, Item.State.SETTLED)
    return [
        Remark(
            vote.item, vote.comment, vote.flagged, names.get(vote.annotator.name, ""),
            linked=role == CURATOR or vote.item.state not in closed,
        )
        for vote in votes
    ]  # fmt: skip
