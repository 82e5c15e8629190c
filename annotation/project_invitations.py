"""A project as a place that people are invited to."""

from __future__ import annotations

from django.http import Http404
from django.urls import reverse

from annotation import projects, roles
from annotation.models import Project
from evalsvc.core.accounts.invitation_targets import Place
from evalsvc.core.accounts.models import User


def _found(pk: int) -> Project:
    project = Project.objects.filter(pk=pk).first()
    if project is None:
        raise Http404
    return project


def _require(project: Project, user: User) -> None:
    roles.require(project, user, roles.CURATOR)


def _admit(project: Project, user: User, role: str, by: User) -> None:
    projects.set_member(project, user=user, role=role, by=by)


def _address(project: Project) -> str:
    return reverse("project", args=[project.slug])


def _staffed_at(project: Project) -> str:
    return reverse("project-members", args=[project.slug])


PLACE = Place(
    name="project",
    noun="project",
    roles=tuple((role, role) for role in (roles.ANNOTATOR, roles.ADJUDICATOR, roles.VIEWER, roles.CURATOR)),
    find=_found,
    require=_require,
    role_of=roles.role_in,
    admit=_admit,
    address=_address,
    staffed_at=_staffed_at,
)
