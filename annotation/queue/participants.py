"""Participants: people with their annotator and role in a project."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.http import Http404

from annotation.models import Annotator, Item, Project
from annotation.queue import sql
from annotation.roles import CURATOR, MAY_LABEL, require
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import Conflict, NotAllowed


@dataclass(frozen=True, slots=True)
class Participant:
    """A user, annotator and role in one project."""

    annotator: Annotator
    project: Project
    role: str
    last_number: int = 0  # of their last vote on the item
    last_guideline: int = 0  # the newest version that one of their votes on the item has
    earlier_vote: int | None = None  # the vote already written with this `client_id`


def participant_of(
    project_id: int, user: User, *, item: Item | None = None, client_id: UUID | None = None
) -> Participant:
    """Return the user as a participant who may label.

    For a vote on an item the project is locked against label changes; else the annotator's own row is locked,
    so that two tabs take turns.
    """
    statement = sql.PROJECT if item is None else sql.PROJECT_SHARED
    project = sql.first(Project, statement, project=project_id)
    if project is None:
        raise Http404
    annotator = _read(project, user, item, client_id)
    if annotator is None:
        require(project, user, *MAY_LABEL)
        annotator_of(project, user)
        annotator = _read(project, user, item, client_id)
        assert annotator is not None
    role = CURATOR if user.is_superuser else annotator.role  # type: ignore[attr-defined]
    if role not in MAY_LABEL:
        require(project, user, *MAY_LABEL)
        raise NotAllowed("not_allowed", "Your role in this project just changed.")
    number, guideline, earlier = (
        getattr(annotator, name, None) for name in ("last_number", "last_guideline", "earlier_vote")
    )
    return Participant(annotator, project, role, number or 0, guideline or 0, earlier)


def _read(project: Project, user: User, item: Item | None, client_id: UUID | None) -> Annotator | None:
    if item is None:
        return sql.first(Annotator, sql.PARTICIPANT, project=project.pk, user=user.pk)
    values = {"project": project.pk, "user": user.pk, "item": item.pk, "client_id": client_id}
    return sql.first(Annotator, sql.VOTER, **values)


def former_project(user: User, slug: str) -> Project | None:
    """Return a project that the person labelled in and has left."""
    labelled = Project.objects.filter(slug=slug, annotators__user=user)
    return labelled.exclude(members__user=user).first()


def annotator_of(project: Project, user: User) -> Annotator:
    """Return the person's annotator in this project; create it at first use."""
    annotator = Annotator.objects.filter(project=project, user=user).first()
    if annotator is None:
        # an imported annotator may have the same name
        taken = Annotator.objects.filter(project=project, name=user.username).exists()
        name = f"{user.username} ({user.pk})" if taken else user.username
        annotator = Annotator.objects.get_or_create(project=project, user=user, defaults={"name": name})[0]
    return annotator


def require_open(project: Project) -> None:
    """Reject votes and leases unless the project is open."""
    if project.state != Project.State.OPEN:
        raise Conflict(
            "project_not_open",
            f"{project} is not open for labelling.",
            hint="Ask a curator to open it. Unsent answers stay on your device.",
        )
