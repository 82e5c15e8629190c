"""Pages of organisers: a benchmark and its settings."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import Q, QuerySet
from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from rest_framework.exceptions import ValidationError

from annotation.testset import TestSet
from annotation.testset_overlap import published_gold
from evalsvc.core.accounts import users
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import Conflict, NotAllowed
from evalsvc.core.web.body_limits import takes_files
from evalsvc.core.web.formatting import byte_size, count, counted
from evalsvc.core.web.forms import ModelChoices, PageForm
from evalsvc.core.web.views import attempt, page, show_effect
from evalsvc.evaluation import roles
from evalsvc.evaluation.benchmarks import creation, file_contract, inputs, old_names, revision_effect, rules
from evalsvc.evaluation.benchmarks.label_inventory import labels_of
from evalsvc.evaluation.benchmarks.training_counts import are_held_back, shown_counts
from evalsvc.evaluation.comparison import display_effect
from evalsvc.evaluation.dates import stated, zone_of, zone_title
from evalsvc.evaluation.disclosure import gold_digest
from evalsvc.evaluation.disclosure.policy import Policy, hidden_among
from evalsvc.evaluation.measures.computation import complete_options
from evalsvc.evaluation.measures.inventory import scored_labels
from evalsvc.evaluation.measures.menu import as_shown
from evalsvc.evaluation.measures.old_labels import OPTION, in_words
from evalsvc.evaluation.models import Benchmark, Setting, System
from evalsvc.evaluation.pages.benchmark_forms import MISSING_TITLES, QUOTA_TITLES, BoardForm, RulesForm
from evalsvc.evaluation.pages.boards import may_organise
from evalsvc.evaluation.pages.setting_forms import PHASE_TITLES, UNIT_TITLES, GoldForm, SettingForm, ShownForm

MOST_SUGGESTED = 500  # names of systems in the page
LEAST_SORTED = 20  # lines from which on an order by labels is no chance


def selectable_sets(person: User) -> QuerySet[TestSet]:
    """Return the frozen test sets that the user may score against."""
    return TestSet.objects.usable_by(person).order_by("name", "version", "origin")


def organised(request: HttpRequest, slug: str) -> Benchmark:
    """Return the benchmark to its organisers."""
    benchmark = roles.benchmark_for(request.user, slug)
    roles.require(benchmark, request.user, roles.ORGANISER)
    return benchmark


def _submitted(request: HttpRequest) -> tuple[Any, ...]:
    """Arguments of a form: what was sent, or nothing."""
    return (request.POST, request.FILES) if request.method == "POST" else ()


def _form_page(request: HttpRequest, template: str, form: Form, **more: Any) -> HttpResponse:
    context = {"form": form} | more
    return render(request, f"evaluation/{template}", context, status=400 if form.errors else 200)


# ---- the benchmark -------------------------------------------------------------------------------
@takes_files()
@page("GET", "POST")
def new_board(request: HttpRequest) -> HttpResponse:
    if not may_organise(request):
        raise NotAllowed("not_organiser", "You are not allowed to create benchmarks.")
    person = users.person(request)
    form = BoardForm(*_submitted(request), test_sets=selectable_sets(person))
    if form.is_valid() and (made := attempt(form, lambda: _create(form, person), "test_sets")):
        _say_skipped(request, form)
        return redirect("setting-new", made.slug)
    return _form_page(request, "board_new.html", form)


def _say_skipped(request: HttpRequest, form: RulesForm) -> None:
    if form.skipped:
        messages.info(request, form.skipped)


def _create(form: BoardForm, person: User) -> Benchmark:
    values, test_sets = form.cleaned_data, list(form.cleaned_data["test_sets"])
    negative = str(values["negative"] or test_sets[0].negative)
    return creation.create(
        slug=values["slug"],
        task=values["task"],
        labels=labels_of(test_sets, task=values["task"], symmetric=values["symmetric"]),
        negative=negative if values["task"] == Benchmark.Task.RELATIONS else "",
        missing=values["missing"],
        options=form.options,
        by=person,
        **form.rules,
    )


class SystemChoices(ModelChoices):
    """Choice of systems, each with its team."""

    def label_from_instance(self, system: System) -> str:
        return f"{system}, {system.team}"


class BaselinesForm(PageForm):
    """Systems of a benchmark that the board marks as baselines: those of now, and one more."""

    baselines = SystemChoices(
        System.objects.none(), widget=forms.CheckboxSelectMultiple, required=False, label="Marked systems",
        help_text="The board marks these systems. Teams cannot do so themselves.",
    )  # fmt: skip
    system = forms.CharField(
        required=False,
        label="Mark another system",
        help_text="Its name; if several teams use it, with the team: Majority, Kelpie.",
        widget=forms.TextInput(attrs={"list": "systems"}),
    )

    def __init__(self, *args: Any, benchmark: Benchmark) -> None:
        self.systems = benchmark.systems.select_related("team").order_by("name", "team__name")
        marked = self.systems.filter(baseline=True)
        super().__init__(*args, initial={"baselines": marked})
        self.fields["baselines"].queryset = marked  # type: ignore[attr-defined]

    def clean_system(self) -> list[System]:
        text = self.cleaned_data["system"].strip()
        name, _, team = text.rpartition(", ")
        systems = list(self.systems.filter(Q(name=text) | Q(name=name, team__name=team))) if text else []
        if text and not systems:
            raise forms.ValidationError(f"No system of this benchmark is named {text}.")
        if len(systems) > 1:
            named = ", or ".join(f"{system}, {system.team}" for system in systems)
            raise forms.ValidationError(f"Several systems have this name. Write {named}.")
        return systems

    @property
    def chosen(self) -> list[System]:
        return [*self.cleaned_data["baselines"], *self.cleaned_data["system"]]


def _quotas(benchmark: Benchmark) -> list[tuple[str, str]]:
    """Return names and values of the quotas, of all phases and of each."""
    of_all = [(title, getattr(benchmark, name)) for name, title in QUOTA_TITLES.items()]
    of_phases = [
        (f"{QUOTA_TITLES[name]}, {phase} phase", most)
        for phase, own in sorted(benchmark.phase_quotas.items())
        for name, most in own.items()
    ]
    return [(title, "unlimited" if most is None else count(most)) for title, most in of_all + of_phases]


@page("GET", "POST", map=(), reject=())
def organise(request: HttpRequest, slug: str) -> HttpResponse:
    """Settings and rules of a benchmark; its baselines can be chosen."""
    benchmark, by = organised(request, slug), users.person(request)
    action = request.POST.get("action", "")
    if action in ("map", "reject"):
        _switch_old_names(request, benchmark, mapped=action == "map", by=by)
        return redirect("board-organise", slug)
    if action:  # the form of baselines has none: without this, they would be cleared
        raise ValidationError({"action": f"There is no action {action[:40]!r}. Reload the page."})
    form = BaselinesForm(*_submitted(request)[:1], benchmark=benchmark)
    if form.is_valid():
        rules.name_baselines(benchmark, form.chosen, by=users.person(request))
        messages.info(request, "Baselines saved.")
        return redirect("board-organise", slug)
    related = benchmark.settings.select_related("test_set", "only").prefetch_related("versions")
    settings = list(related)
    labels = scored_labels(benchmark, [each.test_set for each in settings])
    now = timezone.now()
    hidden_ones = hidden_among(settings, now)
    hidden = [setting for setting in settings if setting.pk in hidden_ones]
    context = {
        "heading": f"Organise {benchmark}",
        "benchmark": benchmark,
        "settings": [_row(setting, benchmark, now) for setting in settings],
        "lead": _lead(benchmark, settings, now),
        "fixed": _fixed(benchmark, len(labels)),
        "labels": labels,
        "training_counts": shown_counts(benchmark),
        "rules": _rules(benchmark),
        "people": benchmark.people.count(),
        "opened": [setting.title for setting in settings if _shows_everything(setting, now)],
        "unranked": [setting for setting in hidden if Policy(setting, hidden=True).withholds_main],
        "given_away": _given_away([each for each in settings if each.pk not in hidden_ones], now),
        "sorted": [setting for setting in hidden if _stands_by_labels(setting.test_set)],
        "published": published_gold(setting.test_set for setting in hidden),
        "systems": form.systems.values_list("name", "team__name")[:MOST_SUGGESTED],
    }
    return _form_page(request, "organise.html", form, **context, **_old_names(benchmark, by))


def _stands_by_labels(test_set: TestSet) -> bool:
    """True if lines have the labels of the line before far more often than by chance."""
    figures = (test_set.statistics or {}).get("neighbours")
    if figures is None or test_set.rows < LEAST_SORTED:
        return False
    same, by_chance = figures["same"], figures["by_chance"]
    return bool(same - by_chance > (test_set.rows - 1 - by_chance) / 2)


def _fixed(benchmark: Benchmark, n_labels: int) -> list[tuple[str, str]]:
    """Return what never changes, as scores depend on it."""
    options = complete_options(benchmark.options, task=benchmark.task)
    changed = [
        f"{key.replace('_', ' ')} {('no', 'yes')[value] if isinstance(value, bool) else value}"
        for key, value in options.items()
        if key in benchmark.options and key != OPTION
    ]
    return [
        ("Task", benchmark.get_task_display().lower()),
        ("Labels", counted(n_labels, "label")),
        ("Negative class", benchmark.negative or "–"),
        ("Missing predictions", MISSING_TITLES[benchmark.missing]),
        ("Options", ", ".join(changed) or "defaults"),
    ]


def _rules(benchmark: Benchmark) -> list[tuple[str, str]]:
    size, lines = benchmark.limits.get("upload_bytes"), benchmark.limits.get("lines")
    return [
        ("Visible to", "everybody" if benchmark.public else "people with a role"),
        *_quotas(benchmark),
        ("Default quotas in hidden phases", "yes" if benchmark.default_quotas else "no"),
        ("Time zone of dates and of the daily quota", zone_title(benchmark)),
        ("Largest file", byte_size(size) if size else "limit of the service"),
        ("Maximum lines", count(lines) if lines else "limit of the service"),
        ("Training counts", _training_counts(benchmark)),
    ]


def _training_counts(benchmark: Benchmark) -> str:
    if not benchmark.training_counts:
        return "none"
    held_back = ", not shown while a phase hides lines of the training set" * are_held_back(benchmark)
    return f"of {counted(len(benchmark.training_counts), 'label')}{held_back}"


def _old_names(benchmark: Benchmark, by: User) -> dict[str, Any]:
    """Return what mapping old names of labels would change, in words too."""
    stated = old_names.effect(benchmark, by=by)
    return {
        "old_names": stated,
        "names": in_words(stated.names, negative=benchmark.negative),
        "changed_names": in_words(stated.changed, negative=benchmark.negative),
    }


def _switch_old_names(request: HttpRequest, benchmark: Benchmark, *, mapped: bool, by: User) -> None:
    try:
        old_names.switch(benchmark, mapped=mapped, by=by)
    except Conflict as error:
        messages.warning(request, f"{error.detail} {error.hint}")
    else:
        messages.info(request, f"Old names of labels are {'mapped' if mapped else 'rejected'} in new files.")


def _shows_everything(setting: Setting, now: Any) -> bool:
    """True if teams see exact figures of gold still in use."""
    is_open = setting.disclosure == Setting.Disclosure.OPEN and setting.phase != Setting.Phase.DEV
    return is_open and file_contract.state_at(setting, now) != "closed"


def _given_away(settings: list[Setting], now: datetime) -> list[str]:
    """Name those that show exact figures of gold that another setting hides, perhaps in part."""
    secret = gold_digest.SecretGold(now)
    return [
        each.title
        for each in settings
        if file_contract.state_at(each, now) != "coming"
        and not roles.is_sealed(each, now)
        and secret.has_lines_of(gold_digest.newest(each))
    ]


def _lead(benchmark: Benchmark, settings: list[Setting], now: Any) -> str:
    if not settings:
        return "It has no setting yet. Add one to accept submissions."
    open_now = [setting for setting in settings if file_contract.state_at(setting, now) == "open"]
    runs = benchmark.submissions.filter(state="scored", withdrawn_at=None).count()
    return f"{counted(len(open_now), 'open setting')}, {counted(runs, 'scored run')}."


def _row(setting: Setting, benchmark: Benchmark, now: Any) -> dict[str, Any]:
    state = file_contract.state_at(setting, now)
    at = setting.opens_at if state == "coming" else setting.closes_at
    return {
        "setting": setting,
        "state": state,
        "at": stated(at, benchmark) if at else "",
        "preposition": {"coming": "from", "open": "until"}.get(state, "since"),
        "phase": PHASE_TITLES[setting.phase].removeprefix("in "),
        "unit": UNIT_TITLES[setting.unit].partition(" ")[0],
        "items": inputs.count_items(setting),
        "main": as_shown(setting, setting.main),
        "sealed": roles.is_sealed(setting, now),
    }


@takes_files()
@page("GET", "POST")
def change_board(request: HttpRequest, slug: str) -> HttpResponse:
    benchmark, person = organised(request, slug), users.person(request)
    form = RulesForm(*_submitted(request), benchmark=benchmark)
    if form.is_valid():
        change = rules.effect if request.POST.get("do") == "show" else rules.change
        changed = attempt(form, lambda: change(benchmark, by=person, **form.rules))
        if changed:
            _say_skipped(request, form)
        if isinstance(changed, rules.BoardEffect):
            show_effect(request, changed)
        elif changed:
            messages.info(request, "Changes saved.")
            return redirect("board-organise", slug)
    return _form_page(request, "board_change.html", form, benchmark=benchmark)


# ---- settings ------------------------------------------------------------------------------------
@page("GET", "POST")
def new_setting(request: HttpRequest, slug: str) -> HttpResponse:
    benchmark, person = organised(request, slug), users.person(request)
    with timezone.override(zone_of(benchmark)):
        form = SettingForm(*_submitted(request), benchmark=benchmark, test_sets=selectable_sets(person))
        if form.is_valid():
            setting = attempt(form, lambda: creation.add_setting(benchmark, by=person, **form.cleaned_data))
            if setting:
                messages.info(request, f"“{setting.title}” added.")
                return redirect("board-organise", slug)
        return _form_page(request, "setting_new.html", form, benchmark=benchmark)


@page("GET", "POST")
def change_setting(request: HttpRequest, slug: str, key: str) -> HttpResponse:
    benchmark, person = organised(request, slug), users.person(request)
    setting = get_object_or_404(benchmark.settings, key=key)
    beta = benchmark.options.get("beta", 1)
    with timezone.override(zone_of(benchmark)):
        form = ShownForm(*_submitted(request), kinds=[setting.kind], setting=setting, beta=beta)
        if form.is_valid():
            change = display_effect.of_change if request.POST.get("do") == "show" else creation.change_setting
            changed = attempt(form, lambda: change(setting, by=person, **form.cleaned_data))
            if isinstance(changed, display_effect.DisplayEffect):
                show_effect(request, changed)
            elif changed:
                messages.info(request, f"“{setting.title}” changed.")
                return redirect("board-organise", slug)
        return _form_page(request, "setting_change.html", form, benchmark=benchmark, setting=setting)


@page("GET", "POST")
def revise_setting(request: HttpRequest, slug: str, key: str) -> HttpResponse:
    """Begin a version with another gold."""
    benchmark, person = organised(request, slug), users.person(request)
    setting = get_object_or_404(benchmark.settings.select_related("test_set", "only"), key=key)
    initial, test_sets = {"only": setting.only_id}, selectable_sets(person)
    form = GoldForm(*_submitted(request), benchmark=benchmark, test_sets=test_sets, initial=initial)
    if form.is_valid():
        begin = revision_effect.of_revision if request.POST.get("do") == "show" else creation.revise_setting
        done = attempt(form, lambda: begin(setting, by=person, **form.cleaned_data), "test_set")
        if isinstance(done, revision_effect.RevisionEffect):
            show_effect(request, done)
        elif version := done:
            begins = f"Version {version.number} of “{setting.title}” begins."
            messages.info(request, f"{begins} Its runs are scored again.")
            return redirect("setting", slug, key)
    context = {"heading": f"New gold for “{setting.title}”", "benchmark": benchmark, "setting": setting}
    return _form_page(request, "setting_revise.html", form, **context)
