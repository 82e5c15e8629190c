"""Freezing, and the test sets it makes: the list, one set's page, its lines."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from annotation import roles
from annotation.adjudication import unanswerable_items
from annotation.freezing import builder
from annotation.models import Project
from annotation.pages.forms import FreezeForm
from annotation.pages.projects import organises
from annotation.pages.testset_composition import composition
from annotation.pages.view_helpers import around, project_for
from annotation.testset import Origin, TestSet, TestSetQuerySet, export_lines
from evalsvc.core.accounts.models import User
from evalsvc.core.accounts.users import person
from evalsvc.core.jobs.models import Job
from evalsvc.core.web.downloads import jsonl_file
from evalsvc.core.web.views import attempt, page


@page("GET", "POST")
def freeze(request: HttpRequest, slug: str) -> HttpResponse:
    project, role = project_for(request, slug, roles.CURATOR)
    form = FreezeForm(
        request.POST or None, initial={"name": project.title, "version": _next_version(project)}
    )
    if form.is_valid():
        made = attempt(form, lambda: builder.freeze(project, by=person(request), **form.cleaned_data))
        if made:
            return redirect("test-set", made.slug)
    shown = around(
        project,
        role,
        form=form,
        blockers=builder.count_by_state(project),
        passed_on=unanswerable_items.unanswerable(project).count(),
        sets=project.test_sets.order_by("-pk"),
    )
    return render(request, "annotation/freeze.html", shown)


def _next_version(project: Project) -> str:
    """1.0, then one more in the last place."""
    last = (
        project.test_sets.filter(origin=Origin.ANNOTATED)
        .order_by("-pk")
        .values_list("version", flat=True)
        .first()
    )
    head, _, tail = (last or "").rpartition(".")
    return f"{head}.{int(tail) + 1}" if head and tail.isdigit() else "1.0"


def visible(request: HttpRequest) -> TestSetQuerySet:
    """The sets this person may know of."""
    return TestSet.objects.visible_to(person(request)).select_related("project", "by", "twin")


@page()
def index(request: HttpRequest) -> HttpResponse:
    sets = visible(request).order_by("-pk")
    return render(request, "annotation/test_sets.html", {"sets": sets[:200], "organises": organises(request)})


@page()
def test_set(request: HttpRequest, slug: str) -> HttpResponse:
    """The whole page, or for htmx its answer while the set is being built or its figures are."""
    found = get_object_or_404(visible(request), slug=slug)
    building = found.state == TestSet.State.BUILDING
    if getattr(request, "htmx", False) and building:
        return render(request, "annotation/_freeze_state.html", {"set": found, "job": _job(found)})
    response = render(request, "annotation/test_set.html", _shown(found, person(request)))
    if getattr(request, "htmx", False) and request.GET.get("of") != "figures":
        response["HX-Refresh"] = "true"
    return response


def _shown(found: TestSet, user: User) -> dict[str, Any]:
    return {
        "set": found,
        "job": _job(found) if found.state == TestSet.State.BUILDING else None,
        "may_read": found.readable_by(user),
        "project_seen": found.project is not None and roles.role_in(found.project, user) is not None,
        "source": TestSet.objects.filter(twin=found).first(),
        **composition(found),
    }


def _job(found: TestSet) -> Job | None:
    kind, subject = ("import", found.batch_id) if found.batch_id else ("freeze", found.twin_id or found.pk)
    return Job.objects.filter(kind=kind, subject=subject).order_by("-pk").first()


@page()
def lines(request: HttpRequest, slug: str) -> StreamingHttpResponse:
    """The set's lines, byte for byte what its digest is of."""
    found = get_object_or_404(visible(request), slug=slug)
    found.require_reader(person(request))
    headers = {"X-Content-SHA256": found.sha256}
    return jsonl_file(f"{found.slug}.jsonl", export_lines(found), **headers)
