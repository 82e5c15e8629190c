"""Saved views of a board: their list, the form that saves one, and their addresses."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from evalsvc.core.accounts import users
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.web.forms import PageForm
from evalsvc.core.web.unknown_names import unknown_names
from evalsvc.core.web.views import attempt, page, row_id, submitted
from evalsvc.evaluation import roles
from evalsvc.evaluation.benchmarks import saved_views
from evalsvc.evaluation.benchmarks.file_contract import settings_of
from evalsvc.evaluation.measures.menu import menu_of
from evalsvc.evaluation.models import Benchmark, SavedView
from evalsvc.evaluation.pages import board_choice
from evalsvc.evaluation.pages.board_choice import Choice

SAVE = "save"
LONGEST_QUERY = 8000
NAMES = ("setting", "version", "columns", *board_choice.FILTERS, "order", "page")


class ViewForm(PageForm):
    """Name of a view; organisers may save it for everybody."""

    OTHER_NAMES = ("action",)
    title = forms.CharField(label="Name", max_length=saved_views.MOST_CHARACTERS)
    query = forms.CharField(required=False, max_length=LONGEST_QUERY, widget=forms.HiddenInput)
    shared = forms.BooleanField(
        required=False,
        label="For everybody who sees the leaderboard",
        help_text="Otherwise only you have it.",
    )


def kept(choice: Choice) -> str:
    """Return what a saved view keeps of a query: all but the version, so that it shows the newest."""
    return choice.query(version=None)[1:]


def checked(benchmark: Benchmark, query: str) -> str:
    """Return a query of the board as saved, or reject it."""
    texts = QueryDict(query.removeprefix("?"))
    if unknown := unknown_names(texts, NAMES, "parameter"):
        name, detail = next(iter(unknown.items()))
        raise DomainError("bad_view", f"{name}: {detail}", field="query")
    settings = settings_of(benchmark)
    key = texts.get("setting", "")
    setting = next((each for each in settings if key in ("", each.key)), None)
    if setting is None:
        raise DomainError("bad_view", f"The benchmark has no setting {key[:60]!r}.", field="query")
    choice = board_choice.requested(texts, settings, setting)
    if choice.order and choice.order not in menu_of(setting):
        detail = f"The benchmark has no column {choice.order[:100]!r}."
        raise DomainError("unknown_measure", detail, field="query")
    return kept(choice)


@require_safe
def view_page(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Address of a saved view: leads to the board as it was saved."""
    benchmark = roles.benchmark_for(request.user, slug)
    view = get_object_or_404(saved_views.seen_by(benchmark, request.user), pk=pk)
    return redirect(f"{reverse('board', args=[slug])}?{view.query}")


@page("GET", "POST", rename=("title",), remove=("title",), save=("title", "query", "shared"))
def views_page(request: HttpRequest, slug: str) -> HttpResponse:
    """Saved views of a board, with the form that saves the one in the query."""
    benchmark, person = roles.benchmark_for(request.user, slug), users.person(request)
    organiser = roles.role_in(benchmark, person) == roles.ORGANISER
    given = request.GET.urlencode()
    form = ViewForm(*submitted(request, SAVE)[:1], initial={"query": given})
    if not organiser:
        del form.fields["shared"]
    change = forms.Form(request.POST if {"rename", "remove"} & set(request.POST) else None)
    if form.is_valid() and (view := attempt(form, lambda: _saved(form, benchmark, person))):
        messages.info(request, f"View saved: {view}.")
        return redirect("board-saved-view", slug, view.pk)
    chosen = _chosen(request, benchmark, person) if change.is_bound else None
    if chosen and (done := attempt(change, lambda: _changed(request, chosen, person))):
        messages.info(request, done)
        return redirect("board-views", slug)
    rows = saved_views.seen_by(benchmark, person).order_by("-shared", "title", "pk")
    context = {
        "benchmark": benchmark,
        "rows": [(each, organiser or not each.shared) for each in rows],
        "form": form if given or form.is_bound else None,
        "change": change,
    }
    bad = bool(form.errors or change.errors)
    return render(request, "evaluation/saved_views.html", context, status=400 if bad else 200)


def _saved(form: ViewForm, benchmark: Benchmark, person: User) -> SavedView:
    values = form.cleaned_data
    query = checked(benchmark, values["query"])
    shared = values.get("shared", False)
    return saved_views.save(benchmark, title=values["title"], query=query, by=person, shared=shared)


def _chosen(request: HttpRequest, benchmark: Benchmark, person: User) -> SavedView:
    """Return the view whose button was pressed, if the person may change it."""
    number = row_id(request.POST.get("rename") or request.POST.get("remove", ""))
    view = get_object_or_404(saved_views.seen_by(benchmark, person), pk=number)
    saved_views.require_own(view, person)
    return view


def _changed(request: HttpRequest, view: SavedView, person: User) -> str:
    if "remove" in request.POST:
        saved_views.remove(view, by=person)
        return f"View deleted: {view}."
    saved_views.rename(view, title=request.POST.get("title", ""), by=person)
    return f"View renamed: {view}."
