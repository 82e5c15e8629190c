"""Project and role of a page's viewer."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.shortcuts import get_object_or_404

from annotation import roles
from annotation.models import Project
from annotation.pages.setup_checklist import following, setting_up
from evalsvc.core.accounts.users import person


def project_for(request: HttpRequest, slug: str, *allowed: str) -> tuple[Project, str]:
    """The project and the person's role in it, if that is one of those allowed."""
    project = get_object_or_404(Project, slug=slug)
    return project, roles.require(project, person(request), *allowed)


def around(project: Project, role: str, **more: Any) -> dict[str, Any]:
    """What the frame of a project's page shows; to its curator also what is left of setting it up."""
    steps = setting_up(project) if role == roles.CURATOR else []
    return {
        "setup": steps,
        "setup_next": following(steps),
        "project": project,
        "role": role,
        "decides": role in roles.MAY_DECIDE,
        "curates": role == roles.CURATOR,
        "labels": role in roles.MAY_LABEL,
        "oversees": role in roles.MAY_OVERSEE,
    } | more
