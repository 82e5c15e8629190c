"""Who may see a project, and who may do what in it."""

from __future__ import annotations

from django.db.models import QuerySet
from django.http import Http404

from annotation.models import Member, Project
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import NotAllowed

VIEWER, ANNOTATOR = Member.Role.VIEWER, Member.Role.ANNOTATOR
ADJUDICATOR, CURATOR = Member.Role.ADJUDICATOR, Member.Role.CURATOR
MAY_LABEL = (ANNOTATOR, CURATOR)
MAY_DECIDE = (ADJUDICATOR, CURATOR)
MAY_OVERSEE = (VIEWER, ADJUDICATOR, CURATOR)


def role_in(project: Project, user: User) -> str | None:
    """The person's role, None for strangers."""
    if user.is_superuser:
        return CURATOR
    return Member.objects.filter(project=project, user=user).values_list("role", flat=True).first()


def visible_projects(user: User) -> QuerySet[Project]:
    """The projects a person knows of."""
    return Project.objects.all() if user.is_superuser else Project.objects.filter(members__user=user)


def visible_project(user: User, slug: str) -> Project | None:
    """The project of that name, when the person knows of it."""
    return visible_projects(user).filter(slug=slug).first()


def require(project: Project, user: User, *roles: str) -> str:
    """The person's role when it is one of `roles`; strangers do not learn that the project exists."""
    role = role_in(project, user)
    if role is None:
        raise Http404
    if roles and role not in roles:
        needed = " or ".join(dict.fromkeys(roles))
        raise NotAllowed(
            "not_allowed",
            f"In {project} you are {role}; this needs {needed}.",
            hint="A curator of the project can change your role.",
        )
    return role


def require_organiser(user: User) -> None:
    """Opening projects and importing published gold is for organisers."""
    if not (user.is_superuser or user.may_organise):
        raise NotAllowed(
            "not_organiser",
            "Opening projects and importing published test sets is for organisers.",
            hint="An administrator can make you one.",
        )
