"""Projects as a target of invitations."""

from __future__ import annotations

from django.shortcuts import get_object_or_404
from django.urls import reverse

from annotation import projects, roles
from annotation.models import Project
from evalsvc.core.accounts.invitations import InvitationTarget
from evalsvc.core.accounts.models import User


def _require_inviter(project: Project, user: User) -> None:
    roles.require(project, user, roles.CURATOR)


def _admit(project: Project, user: User, role: str, by: User) -> None:
    projects.set_member(project, user=user, role=role, by=by)


INVITATION_TARGET = InvitationTarget(
    name="project",
    noun="project",
    roles=tuple((role, role) for role in (roles.ANNOTATOR, roles.ADJUDICATOR, roles.VIEWER, roles.CURATOR)),
    find=lambda pk: get_object_or_404(Project, pk=pk),
    require_inviter=_require_inviter,
    role_of=roles.role_in,
    admit=_admit,
    url=lambda project: reverse("project", args=[project.slug]),
    members_url=lambda project: reverse("project-members", args=[project.slug]),
)
