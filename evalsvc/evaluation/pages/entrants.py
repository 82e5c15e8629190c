"""Pages of taking part: terms, entrants, announcements, all runs and their archive."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import Count, Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_safe

from evalsvc.core.accounts import users
from evalsvc.core.accounts.models import Team
from evalsvc.core.web.downloads import csv_file, long_csv_file
from evalsvc.core.web.formatting import counted, quoted
from evalsvc.core.web.forms import PageForm
from evalsvc.core.web.markdown import MAX_LENGTH, to_html
from evalsvc.core.web.views import attempt, page, page_of, row_id, show_effect, submitted
from evalsvc.evaluation import roles
from evalsvc.evaluation.api.archive import archive_file
from evalsvc.evaluation.benchmarks import (
    announcements,
    entrants,
    file_contract,
    final_entries,
    row_rules,
)
from evalsvc.evaluation.dates import submitted_on, zone_title
from evalsvc.evaluation.models import Benchmark, Entrant, Setting, Submission, Terms
from evalsvc.evaluation.pages import run_list
from evalsvc.evaluation.pages.organise import organised

STATE_TITLES = {"asked": "asked", "approved": "approved", "declined": "declined"}
NEW, TERMS, RULE = "announce", "terms", "approval"


# ---- a team takes part -----------------------------------------------------------------------------
@page("GET", "POST", names=("team", "terms"))
def take_part(request: HttpRequest, slug: str) -> HttpResponse:
    """Terms of a benchmark; each team of the reader accepts them and asks for approval."""
    benchmark, person = roles.benchmark_for(request.user, slug), users.person(request)
    teams = list(roles.teams_of(person))
    form = forms.Form()
    if request.method == "POST":
        form = forms.Form(request.POST)
        team = get_object_or_404(roles.teams_of(person), slug=request.POST.get("team", ""))
        number = row_id(request.POST.get("terms", "")) or None
        if form.is_valid() and (
            made := attempt(form, lambda: entrants.enter(benchmark, team, by=person, terms=number))
        ):
            messages.info(request, _entered(benchmark, made))
            return redirect("board-take-part", slug)
    terms = entrants.terms_of(benchmark)
    entered = {
        each.team_id: each for each in benchmark.entrants.filter(team__in=teams).select_related("terms")
    }
    context = {
        "benchmark": benchmark,
        "terms": terms,
        "text": to_html(terms.text) if terms else "",
        "rows": [_team_row(benchmark, team, entered.get(team.pk), terms) for team in teams],
        "form": form,
        "organiser": roles.role_in(benchmark, person) == roles.ORGANISER,
    }
    return render(request, "evaluation/take_part.html", context, status=409 if form.errors else 200)


def _entered(benchmark: Benchmark, entrant: Entrant) -> str:
    if benchmark.approval and entrant.state != Entrant.State.APPROVED:
        return f"{entrant.team} asked to take part. The organisers decide."
    return f"{entrant.team} takes part in {benchmark}."


def _team_row(
    benchmark: Benchmark, team: Team, entrant: Entrant | None, terms: Terms | None
) -> dict[str, Any]:
    """What a team has done, and what it is to do next."""
    accepted = terms is None or (entrant is not None and entrant.terms_id == terms.pk)
    asked = not benchmark.approval or (entrant is not None and entrant.state != Entrant.State.DECLINED)
    approved = not benchmark.approval or (entrant is not None and entrant.state == Entrant.State.APPROVED)
    return {
        "team": team,
        "entrant": entrant,
        "accepted": accepted,
        "approved": approved,
        "may_submit": accepted and approved,
        "button": "" if accepted and asked else "Accept the terms" if not accepted else "Ask to take part",
    }


# ---- entrants, for organisers ----------------------------------------------------------------------
class TermsForm(PageForm):
    """Terms of a benchmark; a change is a new version, which teams accept anew."""

    OTHER_NAMES = ("action",)
    text = forms.CharField(
        widget=forms.Textarea(attrs={"rows": 8}), required=False, max_length=MAX_LENGTH, label="Terms",
        help_text="Markdown. Empty: no terms. Teams accept a changed text before their next submission.",
    )  # fmt: skip


class ApprovalForm(PageForm):
    OTHER_NAMES = ("action",)
    approval = forms.BooleanField(
        required=False, label="Approve each team before it submits",
        help_text="Runs submitted before stay, also of a team that you decline; those that wait are scored.",
    )  # fmt: skip


@page("GET", "POST", approve=("reason",), decline=("reason",), terms=("text",), approval=("approval",))
def entrants_page(request: HttpRequest, slug: str) -> HttpResponse:
    """Teams that take part; organisers decide on them, and write the terms."""
    benchmark, person = organised(request, slug), users.person(request)
    terms = entrants.terms_of(benchmark)
    text = TermsForm(*submitted(request, TERMS)[:1], initial={"text": terms.text if terms else ""})
    rule = ApprovalForm(*submitted(request, RULE)[:1], initial={"approval": benchmark.approval})
    decision = forms.Form(request.POST if {"approve", "decline"} & set(request.POST) else None)
    if text.is_bound and request.POST.get("do") == "show":
        if text.is_valid() and (
            shown := attempt(
                text, lambda: entrants.effect(benchmark, by=person, text=text.cleaned_data["text"])
            )
        ):
            show_effect(request, shown)
    elif rule.is_bound and rule.is_valid() and request.POST.get("do") == "show":
        show_effect(request, entrants.effect(benchmark, by=person, needed=rule.cleaned_data["approval"]))
    elif text.is_bound and text.is_valid():
        if attempt(text, lambda: (entrants.set_terms(benchmark, text.cleaned_data["text"], by=person), True)):
            messages.info(request, "Terms saved.")
            return redirect("board-entrants", slug)
    elif rule.is_bound and rule.is_valid():
        entrants.set_approval(benchmark, needed=rule.cleaned_data["approval"], by=person)
        messages.info(request, "Rule saved.")
        return redirect("board-entrants", slug)
    elif decision.is_bound and decision.is_valid():
        approve = "approve" in request.POST
        chosen = row_id(request.POST.get("approve" if approve else "decline", ""))
        entrant = get_object_or_404(benchmark.entrants.select_related("team"), pk=chosen)
        reason = request.POST.get("reason", "")
        if attempt(decision, lambda: entrants.decide(entrant, approve=approve, by=person, reason=reason)):
            runs = "" if approve else " Its runs so far stay; those that wait are scored."
            messages.info(request, f"{entrant.team}: {STATE_TITLES[entrant.state]}.{runs}")
            return redirect("board-entrants", slug)
    wanted, finals = _state_in(request), final_entries.of_teams(benchmark)
    context = {
        "benchmark": benchmark,
        "rows": [(each, finals.get(each.team_id, ())) for each in _with_runs(benchmark, wanted)],
        "finals": finals,
        "wanted": wanted,
        "states": STATE_TITLES.items(),
        "terms": terms,
        "text": text,
        "rule": rule,
        "decision": decision,
        "without_final": _without_final(benchmark, finals),
    }
    bad = any(each.is_bound and each.errors for each in (text, rule, decision))
    return render(request, "evaluation/entrants.html", context, status=400 if bad else 200)


def _state_in(request: HttpRequest) -> str:
    """Return the state in the query, empty for all, or 404."""
    wanted = request.GET.get("state", "")
    if wanted not in ("", *Entrant.State.values):
        raise Http404(f"There is no state {wanted[:20]!r}.")
    return wanted


def _with_runs(benchmark: Benchmark, state: str = "") -> QuerySet[Entrant]:
    """Return the entrants with their numbers of scored runs."""
    scored = Q(team__systems__benchmark=benchmark, team__systems__runs__scored_at__isnull=False)
    standing = scored & Q(team__systems__runs__withdrawn_at=None)
    rows = benchmark.entrants.filter(**({"state": state} if state else {}))
    counts = {
        "n_runs": Count("team__systems__runs", filter=standing, distinct=True),
    }
    return rows.select_related("team", "terms", "by").annotate(**counts)


def _without_final(benchmark: Benchmark, finals: Collection[int]) -> list[str]:
    """Return the teams with runs and no final entry, where a setting shows final ones."""
    if not benchmark.settings.filter(row_rule__in=row_rules.BY_CHOICE).exists():
        return []
    runs = run_list.on_boards(Submission.objects.filter(benchmark=benchmark))
    teams = Team.objects.filter(pk__in=runs.values("system__team")).exclude(pk__in=finals)
    return [quoted(name) for name in teams.order_by("name").values_list("name", flat=True)]


def _named(run: Mapping[str, Any]) -> str:
    phase = f"{run['phase']}: " if run["phase"] else ""
    return f"{phase}{run['system']}/{run['run']}"


@require_safe
def entrants_csv(request: HttpRequest, slug: str) -> HttpResponse:
    benchmark = organised(request, slug)
    heads = ("team", "name", "state", "reason", "terms", "accepted_at", "by", "runs", "final")
    finals = final_entries.of_teams(benchmark)
    rows = (
        (
            *(each.team.slug, each.team.name, each.state, each.reason),
            *(each.terms.number if each.terms else "", each.accepted_at or "", each.by.username),
            each.n_runs,  # type: ignore[attr-defined]
            "; ".join(_named(run) for run in finals.get(each.team_id, ())),
        )
        for each in _with_runs(benchmark, _state_in(request))
    )
    return csv_file(f"{slug}-entrants.csv", heads, rows)


# ---- runs of all teams, for organisers -------------------------------------------------------------
class RunFilters(PageForm):
    """Filters of the runs of a benchmark; each may be left out."""

    OTHER_NAMES = ("before",)
    team = forms.CharField(required=False, label="Team")
    phase = forms.ChoiceField(required=False, choices=[("", "any"), *Setting.Phase.choices])
    state = forms.ChoiceField(required=False, choices=[("", "any"), *Submission.State.choices])
    since = forms.DateField(
        required=False, label="From", widget=forms.DateInput(attrs={"type": "date"}), help_text=""
    )
    until = forms.DateField(required=False, label="To", widget=forms.DateInput(attrs={"type": "date"}))

    def runs_of(self, benchmark: Benchmark) -> QuerySet[Submission]:
        """Return the runs that match, none while a filter is wrong."""
        runs = Submission.objects.filter(benchmark=benchmark)
        if not self.is_valid():
            return runs.none()
        names = {"team": "system__team__slug", "phase": "phase__in", "state": "state"}
        values = self.cleaned_data | {"phase": file_contract.sent_to(self.cleaned_data["phase"])}
        days = submitted_on(benchmark, since=values["since"], until=values["until"])
        named = {field: values[name] for name, field in names.items() if self.cleaned_data[name]}
        return runs.filter(**named, **days)


@page()
def runs_page(request: HttpRequest, slug: str) -> HttpResponse:
    """Runs of all teams with filters, for organisers."""
    benchmark = organised(request, slug)
    form = RunFilters(request.GET)
    runs = form.runs_of(benchmark)
    found = runs.count()
    phase = form.cleaned_data["phase"] if form.is_valid() else ""
    shown, older = run_list.page_of(runs, request, phase=phase)
    teams = Team.objects.filter(systems__benchmark=benchmark).distinct().order_by("name")
    query = request.GET.copy()
    query.pop("before", None)
    context = {
        "benchmark": benchmark,
        "form": form,
        "teams": teams,
        "runs": shown,
        "older": older,
        "zone": zone_title(benchmark),
        "by_team": True,
        "one_benchmark": True,
        "query": query.urlencode(),
        "lead": f"{counted(found, 'run')} {'under these filters' if form.changed_data else 'of all teams'}.",
        "empty": "No run matches." if form.changed_data else "No team has submitted a run yet.",
    }
    return render(request, "evaluation/board_runs.html", context, status=400 if form.errors else 200)


@require_safe
def runs_csv(request: HttpRequest, slug: str) -> HttpResponseBase:
    benchmark = organised(request, slug)
    form = RunFilters(request.GET)
    runs = form.runs_of(benchmark).select_related("system__team", "by").order_by("pk")
    if form.errors:
        text = " ".join(f"{name}: {' '.join(map(str, errors))}" for name, errors in form.errors.items())
        return HttpResponse(text, status=400, content_type="text/plain; charset=utf-8")
    heads = (
        *("id", "team", "system", "run", "phase", "state", "reason", "file_sha256", "by"),
        *("created_at", "scored_at", "final_at", "withdrawn_at", "final_in"),
    )
    final = final_entries.final_phases([benchmark.pk])
    return long_csv_file(f"{slug}-runs.csv", heads, _run_rows(runs, final))


def _run_rows(
    runs: QuerySet[Submission], final: Mapping[int, Collection[str]]
) -> Iterator[tuple[object, ...]]:
    for run in runs.iterator(chunk_size=500):
        yield (
            *(run.pk, run.system.team.slug, run.system.name, run.run, run.phase, run.state, run.reason),
            *(run.file_id, run.by.username, run.created_at, run.scored_at or ""),
            *((run.pk in final and run.final_at) or "", run.withdrawn_at or ""),
            " ".join(phase or "all" for phase in final.get(run.pk, ())),
        )


@require_safe
def archive(request: HttpRequest, slug: str) -> StreamingHttpResponse:
    """All entrants, runs, files and scores as one zip, for organisers."""
    benchmark = organised(request, slug)
    return archive_file(benchmark, person=users.person(request))


# ---- announcements ---------------------------------------------------------------------------------
class AnnouncementForm(PageForm):
    OTHER_NAMES = ("action",)
    title = forms.CharField(max_length=announcements.MOST_CHARACTERS)
    text = forms.CharField(
        widget=forms.Textarea(attrs={"rows": 6}), required=False, max_length=announcements.MAX_LENGTH,
        help_text="Markdown. Everybody who sees the benchmark can read it, here and in the feed.",
    )  # fmt: skip


@page("GET", "POST", remove=(), announce=("title", "text"))
def announcements_page(request: HttpRequest, slug: str) -> HttpResponse:
    """Announcements of a benchmark; organisers add and remove them."""
    benchmark, person = roles.benchmark_for(request.user, slug), users.person(request)
    organiser = roles.role_in(benchmark, person) == roles.ORGANISER
    form = AnnouncementForm(*submitted(request, NEW)[:1])
    if request.method == "POST":
        roles.require(benchmark, person, roles.ORGANISER)
        if (removed := request.POST.get("remove")) is not None:
            announcement = get_object_or_404(benchmark.announcements, pk=row_id(removed))
            announcements.remove(announcement, by=person)
            messages.info(request, f"“{announcement.title}” removed.")
            return redirect("board-announcements", slug)
        values = form.cleaned_data if form.is_valid() else None
        if values and attempt(form, lambda: announcements.announce(benchmark, by=person, **values)):
            messages.info(request, "Announced.")
            return redirect("board-announcements", slug)
    pages = page_of(request, benchmark.announcements.all(), size=announcements.PAGE)
    context = {
        "benchmark": benchmark,
        "organiser": organiser,
        "pages": pages,
        "announcements": [(each, to_html(each.text)) for each in pages],
        "form": form,
    }
    return render(request, "evaluation/announcements.html", context, status=400 if form.errors else 200)
