"""Where a person sits in a project: as which annotator, in which role, read in one query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import BigIntegerField, OuterRef, QuerySet, Subquery
from django.http import Http404

from annotation.models import Annotator, Member, Project
from annotation.roles import CURATOR, MAY_LABEL, require
from evalsvc.core.accounts.models import User
from evalsvc.core.db.prepared_queries import Given, Prepared
from evalsvc.core.errors.exceptions import Conflict, NotAllowed


@dataclass(frozen=True, slots=True)
class Participant:
    """A person at work; `project` was read together with the rest."""

    annotator: Annotator
    project: Project
    role: str


def sitting(*, lock: bool = False, **more: Any) -> QuerySet[Annotator]:
    """The rows of a seat, for a prepared query; `more` are annotations of the annotator's row.

    With `lock` the person's own row is held, so that two of their tabs take turns.
    """
    role = Member.objects.filter(project=OuterRef("project"), user=OuterRef("user")).values("role")[:1]
    rows = Annotator.objects.select_related("project").annotate(role=Subquery(role), **more)
    if lock:
        rows = rows.select_for_update(of=("self",), no_key=True)
    return rows.filter(project=key("project"), user=key("user"))[:1]


def key(name: str) -> Given:
    """A row's number, given by name."""
    return Given(name, BigIntegerField())


LOCKED = Prepared(lambda: sitting(lock=True))


def participant_of(
    project: int, user: User, *, by: Prepared[Annotator] = LOCKED, **given: Any
) -> Participant:
    """The seat of somebody who may label, read `by` a query of who is sitting."""
    found = by.first(project=project, user=user.pk, **given)
    if found is None:
        known = Project.objects.filter(pk=project).first()
        if known is None:
            raise Http404
        require(known, user, *MAY_LABEL)
        annotator_of(known, user)
        found = by.first(project=project, user=user.pk, **given)
        assert found is not None
    role = CURATOR if user.is_superuser else found.role  # type: ignore[attr-defined]
    if role not in MAY_LABEL:
        require(found.project, user, *MAY_LABEL)
        raise NotAllowed("not_allowed", "Your role changed just now.")
    return Participant(found, found.project, role)


def former_project(user: User, slug: str) -> Project | None:
    """The project in which the person was handed sentences and is a member no more; no other one."""
    once = Project.objects.filter(slug=slug, annotators__user=user)
    return once.exclude(members__user=user).first()


def annotator_of(project: Project, user: User) -> Annotator:
    """The person as an annotator of this project."""
    known = Annotator.objects.filter(project=project, user=user).first()
    return (
        known
        or Annotator.objects.get_or_create(
            project=project, user=user, defaults={"name": _free_name(project, user)}
        )[0]
    )


def _free_name(project: Project, user: User) -> str:
    """The user name, unless imported votes brought somebody of the same name."""
    taken = Annotator.objects.filter(project=project, name=user.username).exists()
    return f"{user.username} ({user.pk})" if taken else user.username


def require_open(project: Project) -> None:
    """Answers are taken while a project is open."""
    if project.state != Project.State.OPEN:
        raise Conflict(
            "project_not_open",
            f"{project} is not open for labelling.",
            hint="A curator can open it; answers not sent yet stay on your device.",
        )
