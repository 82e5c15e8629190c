"""Page of the versions of an ontology: two compared, an earlier one restored."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from annotation import roles
from annotation.consensus.effects import preview
from annotation.models import Project
from annotation.ontology import versions
from annotation.ontology.versions import Version
from annotation.pages.plan import described
from annotation.pages.project_page import project_context, project_for
from evalsvc.core.accounts.models import User
from evalsvc.core.accounts.users import person
from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.web.forms import PageForm, add_form_error
from evalsvc.core.web.views import page, page_of

LISTED = 50


class PairForm(PageForm):
    """Two versions to compare; `restore` with the first one is sent by buttons."""

    OTHER_NAMES = ("action",)
    before = forms.TypedChoiceField(label="Version", coerce=int)
    after = forms.TypedChoiceField(label="With", coerce=int)

    def __init__(self, *args: Any, n: int, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choices = [(number, f"version {number}") for number in range(n, 0, -1)]
        for field in self.fields.values():
            field.choices = choices  # type: ignore[attr-defined]


@page("GET", "POST")
def ontology_versions(request: HttpRequest, slug: str) -> HttpResponse:
    """List the versions, compare two; show the effect of restoring the first, or restore it."""
    project, role = project_for(request, slug, roles.CURATOR)
    user = person(request)
    rows = versions.versions(project, by=user)
    sent = request.POST or request.GET or None
    form = PairForm(sent, n=len(rows), initial={"before": max(1, len(rows) - 1), "after": len(rows)})
    comparison, effect = None, None
    if form.is_valid():
        before, after = (rows[form.cleaned_data[name] - 1] for name in ("before", "after"))
        try:
            if request.POST.get("action") == "restore":
                return _restored(request, project, before, by=user)
            if request.POST.get("action") == "show":
                effect = preview(project, lambda copy: versions.restore(copy, before.number, by=user))
        except DomainError as error:
            add_form_error(form, error, "before")
        comparison = (before, after, versions.compare(project, before, after))
    pages = page_of(request, rows[::-1], size=LISTED)
    context = {
        "form": form,
        "pages": pages,
        "versions": [(version, _what(version)) for version in pages],
        "comparison": comparison,
        "effect": effect,
        "current": len(rows),
    }
    return render(request, "annotation/ontology_versions.html", project_context(project, role, **context))


def _what(version: Version) -> str:
    """Return what was made and undone, in words."""
    parts = [described(step, {}) for step in version.made]
    parts += [f"Undo step {step.number}" for step in version.undone]
    return "; ".join(parts) or "As imported, without steps"


def _restored(request: HttpRequest, project: Project, version: Version, *, by: User) -> HttpResponse:
    versions.restore(project, version.number, by=by)
    messages.info(
        request, f"The steps of version {version.number} are in use again; the answers are replayed."
    )
    return redirect("ontology-versions", project.slug)
