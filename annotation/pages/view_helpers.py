"""What every page asks first: which project, which role; and how a refusal comes back to its form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from django.contrib.auth.decorators import login_required
from django.forms import BaseForm
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_http_methods

from annotation import roles
from annotation.models import Project
from annotation.pages.setup_checklist import following, setting_up
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import DomainError

Done = TypeVar("Done")
View = Callable[..., HttpResponseBase]


def page(*methods: str) -> Callable[[View], View]:
    """A page for people who are logged in; GET alone unless told otherwise."""

    def wrap(view: View) -> View:
        return login_required(require_http_methods([*(methods or ("GET",)), "HEAD"])(view))

    return wrap


def person(request: HttpRequest) -> User:
    """Who asks; pages are for people who are logged in."""
    return cast(User, request.user)


def project_for(request: HttpRequest, slug: str, *allowed: str) -> tuple[Project, str]:
    """The project and the person's role in it, if that is one of those allowed."""
    project = get_object_or_404(Project, slug=slug)
    return project, roles.require(project, person(request), *allowed)


def key(sent: str) -> int:
    """A row's number as a form sent it; 0, which no row has, for anything else."""
    return int(sent) if sent.isascii() and sent.isdigit() and len(sent) < 19 else 0


def attempt(form: BaseForm, verb: Callable[[], Done], *, otherwise: str = "") -> Done | None:
    """Do it, or write the refusal onto the form: at its field, else at the one named `otherwise`."""
    try:
        return verb()
    except DomainError as refusal:
        field = next((name for name in (refusal.field, otherwise) if name in form.fields), None)
        form.add_error(field, f"{refusal.detail} {refusal.hint}".strip())
        return None


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
