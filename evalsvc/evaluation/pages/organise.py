"""What organisers do to a board: open it, change its rules, add settings and date them, change the gold."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_safe

from annotation.testset import TestSet
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import DomainError, NotAllowed
from evalsvc.core.web.formatting import byte_size, count, counted
from evalsvc.core.web.forms import add_form_error
from evalsvc.evaluation import roles
from evalsvc.evaluation.benchmarks import creation, file_contract, phases, rules
from evalsvc.evaluation.measures.menu import as_shown
from evalsvc.evaluation.measures.options import complete_options
from evalsvc.evaluation.models import Benchmark, Setting
from evalsvc.evaluation.pages.benchmark_forms import MISSING_WORDS, QUOTA_WORDS, BoardForm, RulesForm
from evalsvc.evaluation.pages.boards import may_organise
from evalsvc.evaluation.pages.setting_forms import PHASE_WORDS, UNIT_WORDS, GoldForm, SettingForm, ShownForm


def choosable(person: User) -> QuerySet[TestSet]:
    """Frozen sets that the person may know of."""
    return TestSet.objects.visible_to(person).frozen().order_by("name", "version", "origin")


def organised(request: HttpRequest, slug: str) -> Benchmark:
    """The board, for its organisers."""
    benchmark = roles.benchmark_for(request.user, slug)
    roles.require(benchmark, request.user, roles.ORGANISER)
    return benchmark


def _form(request: HttpRequest, template: str, form: Form, **more: Any) -> HttpResponse:
    return render(request, template, {"form": form} | more, status=400 if form.errors else 200)


# ---- the board -----------------------------------------------------------------------------------
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def new_board(request: HttpRequest) -> HttpResponse:
    if not may_organise(request):
        raise NotAllowed("not_organiser", "Opening a board needs the right to organise.")
    person = roles.person(request)
    form = BoardForm(*_sent(request), test_sets=choosable(person))
    if request.method == "POST" and form.is_valid():
        try:
            benchmark = _create(form, person)
        except DomainError as refusal:
            add_form_error(form, refusal, no_labels="test_sets")
        else:
            return redirect("setting-new", benchmark.slug)
    return _form(request, "evaluation/board_new.html", form)


def _sent(request: HttpRequest) -> tuple[Any, ...]:
    return (request.POST, request.FILES) if request.method == "POST" else ()


def _create(form: BoardForm, person: User) -> Benchmark:
    given, test_sets = form.cleaned_data, list(form.cleaned_data["test_sets"])
    return creation.create(
        slug=given["slug"],
        task=given["task"],
        labels=creation.labels_of(test_sets),
        negative=_negative(given, test_sets[0]),
        missing=given["missing"],
        options=form.options,
        by=person,
        **form.rules,
    )


def _negative(given: dict[str, Any], test_set: TestSet) -> str:
    """How files spell it: entities are simply not there."""
    if given["task"] == Benchmark.Task.ENTITIES:
        return ""
    return str(given["negative"] or test_set.negative)


@login_required
@require_safe
def organise(request: HttpRequest, slug: str) -> HttpResponse:
    """The whole of a board as its organisers set it, with the way to change each part."""
    benchmark = organised(request, slug)
    settings = list(benchmark.settings.select_related("test_set", "only"))
    now = timezone.now()
    told = {
        "benchmark": benchmark,
        "settings": [_row(setting, now) for setting in settings],
        "lead": _lead(benchmark, settings, now),
        "fixed": _fixed(benchmark),
        "rules": _rules(benchmark),
        "people": benchmark.people.count(),
    }
    return render(request, "evaluation/organise.html", told)


def _lead(benchmark: Benchmark, settings: list[Setting], now: Any) -> str:
    if not settings:
        return "It has no setting yet: nothing can be submitted before there is one."
    taking = [setting for setting in settings if file_contract.state_at(setting, now) == "open"]
    runs = benchmark.submissions.filter(state="scored", withdrawn_at=None).count()
    some = counted(len(taking), "setting takes", "settings take") if taking else "No setting takes"
    return f"{some} submissions now; {counted(runs, 'run')} scored so far."


def _row(setting: Setting, now: Any) -> dict[str, Any]:
    return {
        "setting": setting,
        "state": file_contract.state_at(setting, now),
        "phase": PHASE_WORDS[setting.phase].removeprefix("in "),
        "unit": UNIT_WORDS[setting.unit].partition(" ")[0],
        "rows": file_contract.count_items(setting),
        "main": as_shown(setting, setting.main),
        "sealed": phases.is_sealed(setting, now),
    }


def _fixed(benchmark: Benchmark) -> list[tuple[str, str]]:
    """What scores rest on."""
    options = complete_options(benchmark.options, task=benchmark.task)
    changed = {key: value for key, value in options.items() if key in benchmark.options}
    told = [f"{key.replace('_', ' ')} {_said(value)}" for key, value in changed.items()]
    return [
        ("Task", benchmark.get_task_display().lower()),
        ("Labels", counted(len(benchmark.labels), "label")),
        ("None of these", benchmark.negative or "–"),
        ("A sentence without a line", MISSING_WORDS[benchmark.missing]),
        ("Options", ", ".join(told) or "as the menu has them"),
    ]


def _said(value: Any) -> str:
    return ("no", "yes")[value] if isinstance(value, bool) else str(value)


def _rules(benchmark: Benchmark) -> list[tuple[str, str]]:
    quotas = [(word, getattr(benchmark, name)) for name, word in QUOTA_WORDS.items()]
    size, lines = benchmark.limits.get("upload_bytes"), benchmark.limits.get("lines")
    known = benchmark.training_counts
    return [
        ("Who sees it", "everybody" if benchmark.public else "only its people"),
        *((word, "no quota" if most is None else count(most)) for word, most in quotas),
        ("Days begin at midnight in", benchmark.time_zone),
        ("Largest file", byte_size(size) if size else "as this service allows"),
        ("Most lines of a file", count(lines) if lines else "as this service allows"),
        ("Training counts", f"of {counted(len(known), 'label')}" if known else "none"),
    ]


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def change_board(request: HttpRequest, slug: str) -> HttpResponse:
    benchmark = organised(request, slug)
    form = RulesForm(*_sent(request), benchmark=benchmark)
    if request.method == "POST" and form.is_valid():
        try:
            rules.change(benchmark, by=roles.person(request), **form.rules)
        except DomainError as refusal:
            add_form_error(form, refusal)
        else:
            messages.info(request, "Kept. Scores are as they were.")
            return redirect("board-organise", slug)
    return _form(request, "evaluation/board_change.html", form, benchmark=benchmark)


# ---- settings ------------------------------------------------------------------------------------
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def new_setting(request: HttpRequest, slug: str) -> HttpResponse:
    benchmark, person = organised(request, slug), roles.person(request)
    form = SettingForm(*_sent(request), benchmark=benchmark, test_sets=choosable(person))
    if request.method == "POST" and form.is_valid():
        try:
            setting = creation.add_setting(benchmark, by=person, **form.cleaned_data)
        except DomainError as refusal:
            add_form_error(form, refusal)
        else:
            messages.info(request, f"“{setting.title}” is added.")
            return redirect("board-organise", slug)
    return _form(request, "evaluation/setting_new.html", form, benchmark=benchmark)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def change_setting(request: HttpRequest, slug: str, key: str) -> HttpResponse:
    benchmark = organised(request, slug)
    setting = get_object_or_404(benchmark.settings, key=key)
    form = ShownForm(*_sent(request), units=[setting.unit], setting=setting)
    if request.method == "POST" and form.is_valid():
        try:
            creation.change_setting(setting, by=roles.person(request), **form.cleaned_data)
        except DomainError as refusal:
            add_form_error(form, refusal)
        else:
            messages.info(request, f"“{setting.title}” is changed. Scores are as they were.")
            return redirect("board-organise", slug)
    told = {"benchmark": benchmark, "setting": setting}
    return _form(request, "evaluation/setting_change.html", form, **told)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def revise_setting(request: HttpRequest, slug: str, key: str) -> HttpResponse:
    """Another gold is a new version: nothing that was scored is overwritten."""
    benchmark, person = organised(request, slug), roles.person(request)
    setting = get_object_or_404(benchmark.settings.select_related("test_set", "only"), key=key)
    now = {"only": setting.only_id}
    form = GoldForm(*_sent(request), benchmark=benchmark, test_sets=choosable(person), initial=now)
    if request.method == "POST" and form.is_valid():
        try:
            made = creation.revise_setting(setting, by=person, **form.cleaned_data)
        except DomainError as refusal:
            add_form_error(form, refusal, no_change="test_set")
        else:
            messages.info(
                request, f"Version {made.number} of “{setting.title}” begins; its runs are scored anew."
            )
            return redirect("setting", slug, key)
    told = {"benchmark": benchmark, "setting": setting}
    return _form(request, "evaluation/setting_revise.html", form, **told)
