"""Opening a board and adding settings to it."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods

from annotation.testset import TestSet
from evalsvc.evaluation import benchmarks, roles
from evalsvc.evaluation.forms import BoardForm, SettingForm
from evalsvc.evaluation.pages.boards import may_organise
from evalsvc.refusals import NotAllowed, Refusal
from evalsvc.teams.models import User


def choosable(person: User) -> QuerySet[TestSet]:
    """Frozen sets that the person may know of."""
    return TestSet.objects.seen_by(person).frozen().order_by("name", "version", "origin")


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def new_board(request: HttpRequest) -> HttpResponse:
    if not may_organise(request):
        raise NotAllowed("not_organiser", "Opening a board needs the right to organise.")
    form = BoardForm(request.POST or None, test_sets=choosable(roles.person(request)))
    if request.method == "POST" and form.is_valid():
        try:
            benchmark = _create(form.cleaned_data, roles.person(request))
        except Refusal as refusal:
            _explain(form, refusal)
        else:
            return redirect("setting-new", benchmark.slug)
    return _form(request, "evaluation/board_new.html", form)


def _create(given: dict[str, Any], person: User) -> Any:
    test_set = given["test_set"]
    return benchmarks.create(
        title=given["title"],
        slug=given["slug"],
        task=given["task"],
        labels=benchmarks.labels_of([test_set]),
        negative=given["negative"] or test_set.negative,
        missing=given["missing"],
        summary=given["summary"],
        description=given["description"],
        by=person,
    )


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def new_setting(request: HttpRequest, slug: str) -> HttpResponse:
    benchmark = get_object_or_404(roles.visible(request.user), slug=slug)
    roles.require(benchmark, request.user, roles.ORGANISER)
    form = SettingForm(request.POST or None, benchmark=benchmark, test_sets=choosable(roles.person(request)))
    if request.method == "POST" and form.is_valid():
        try:
            benchmarks.add_setting(benchmark, by=roles.person(request), **form.cleaned_data)
        except Refusal as refusal:
            _explain(form, refusal)
        else:
            return redirect("board", benchmark.slug)
    return _form(request, "evaluation/setting_new.html", form, benchmark=benchmark)


def _explain(form: BoardForm | SettingForm, refusal: Refusal) -> None:
    field = refusal.field if refusal.field in form.fields else None
    form.add_error(field, f"{refusal.detail} {refusal.hint}".strip())


def _form(request: HttpRequest, template: str, form: BoardForm | SettingForm, **more: Any) -> HttpResponse:
    return render(request, template, {"form": form} | more, status=400 if form.errors else 200)
