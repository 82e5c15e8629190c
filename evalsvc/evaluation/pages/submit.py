"""Page for submitting a run, with quotas and a shell command."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from evalsvc.core.accounts import login_throttle, users
from evalsvc.core.accounts.models import Team
from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.formats.old_labels import mapped_in_words
from evalsvc.core.formats.problem_kinds import KINDS
from evalsvc.core.formats.problems import FileRejected
from evalsvc.core.formats.registry import formats
from evalsvc.core.web.body_limits import takes_files
from evalsvc.core.web.formatting import byte_size, count
from evalsvc.core.web.forms import add_form_error
from evalsvc.core.web.views import page
from evalsvc.evaluation import roles
from evalsvc.evaluation.benchmarks import entrants, file_contract, inputs
from evalsvc.evaluation.benchmarks.quotas import allowances_of
from evalsvc.evaluation.dates import stated, zone_title
from evalsvc.evaluation.disclosure.policy import is_hidden
from evalsvc.evaluation.measures.computation import missing_words, of_setting
from evalsvc.evaluation.measures.inventory import relation_labels, scored_labels
from evalsvc.evaluation.models import Benchmark, Setting, System
from evalsvc.evaluation.pages import charts, score_view
from evalsvc.evaluation.pages.file_problems import shown_problems
from evalsvc.evaluation.pages.forms import FileForm, PipelineForm, RunForm
from evalsvc.evaluation.submissions import intake, model_intake
from evalsvc.evaluation.submissions.other_inputs import Submitter

EXAMPLES: dict[str, tuple[str, ...]] = {
    Setting.Unit.SENTENCE: (
        '{"id": "s1", "scores": {"%s": 0.93}}',
        '{"id": "s1", "labels": ["%s"]}',
        '{"id": "s1", "label": "%s"}',
    ),
    Setting.Unit.BAG: ('{"h": "Q1", "t": "Q2", "relation": "%s", "score": 0.93}',),
    Setting.Unit.DOCUMENT: (
        '{"id": "d1", "spans": [[0, 2, "%s"]]}',
        '{"id": "d1", "tags": ["B-%s", "O"]}',
        '{"id": "d1", "entities": [["Ada Byron", "%s"]]}',
    ),
    "joint": (
        '{"id": "d1", "spans": [[0, 2, "%s"], [4, 5, "%s"]], "relations": [[0, "%r", 1]]}',
        '{"id": "d1", "triples": [["Ada Byron", "%r", "Turin"]]}',
    ),
}
QUOTA_TITLES = {"per_day": "today", "in_total": "in total", "at_once": "waiting or running"}


@takes_files()
@page("GET", "POST")
def submit(request: HttpRequest, slug: str) -> HttpResponse:
    benchmark = roles.benchmark_for(request.user, slug)
    action = request.POST.get("do")
    if request.method != "POST":
        return _page(request, benchmark)
    if action == "check":
        return _check(request, benchmark)
    form: RunForm = (PipelineForm if action == "model" else RunForm)(request.POST, request.FILES)
    if not form.is_valid():
        return _page(request, benchmark, form, status=400)
    return _receive(request, benchmark, form)


def _check(request: HttpRequest, benchmark: Benchmark) -> HttpResponse:
    """Check a file.

    Htmx replaces the answer alone, so that the chosen file stays chosen.
    """
    form = FileForm(request.POST, request.FILES)
    if form.is_valid():
        context, status = _checked(request, benchmark, form)
        context["inputs_url"] = inputs_url(benchmark, form.cleaned_data["phase"])
    else:
        context, status = {"rejected": next(iter(form.errors.values()))[0]}, 400
    if not getattr(request, "htmx", False):
        return _page(request, benchmark, RunForm(request.POST), status=status, **context)
    return render(request, "evaluation/submit_answer.html", context | {"alone": True})


def _checked(request: HttpRequest, benchmark: Benchmark, form: FileForm) -> tuple[dict[str, Any], int]:
    file = form.cleaned_data["file"]
    try:
        with login_throttle.check(request):
            checked = intake.check(
                benchmark,
                file.chunks(),
                phase=form.cleaned_data["phase"],
                names=form.names,
                by=Submitter(users.person(request)),
            )
    except DomainError as error:
        return {"rejected": f"{error.detail} {error.hint}".strip()}, error.status
    if checked.problems.total:
        return {"problems": shown_problems(checked.problems, file)}, 422
    counts = [f"{count(n)} {noun}" for noun, n in checked.counts.items() if n and noun not in KINDS]
    warnings = [f"{count(n)} × {message}" for n, message in score_view.warnings_of(checked.counts)]
    summary = f"{', '.join(counts)}, no problems." if counts else "No problems."
    mapped = mapped_in_words(checked.old_labels, negative=benchmark.negative)
    return {"checked": " ".join([summary, *([f"{mapped}."] if mapped else []), *warnings])}, 200


def _receive(request: HttpRequest, benchmark: Benchmark, form: RunForm) -> HttpResponse:
    values, file = form.cleaned_data, form.cleaned_data["file"]
    pipeline = isinstance(form, PipelineForm)
    fields: dict[str, Any] = {}
    if not pipeline:
        fields = {"aggregate": values["aggregate"] or "ONE", "names": form.names}
    try:
        received = (model_intake if pipeline else intake).receive(
            benchmark,
            chunks=file.chunks(),
            phase=values["phase"],
            team=roles.team_of(request, named=values["team"]),
            by=users.person(request),
            system=values["system"],
            run=values["run"],
            filename=file.name,
            tags=form.tags,
            **fields,
        )
    except FileRejected as error:
        problems, inputs = shown_problems(error.problems, file), inputs_url(benchmark, values["phase"])
        return _page(request, benchmark, form, problems=problems, inputs_url=inputs, status=422)
    except DomainError as error:
        add_form_error(form, error)
        return _page(request, benchmark, form, status=error.status)
    if not received.created:
        messages.info(request, "You already submitted this file as this run.")
    return redirect("submission", received.submission.pk)


def _page(
    request: HttpRequest, benchmark: Benchmark, form: RunForm | None = None, *, status: int = 200, **more: Any
) -> HttpResponse:
    teams = list(roles.teams_of(request.user))
    open_settings = file_contract.open_settings(benchmark)
    settings = file_contract.settings_of(benchmark)
    units = list(dict.fromkeys(setting.unit for setting in settings))
    kinds = list(dict.fromkeys(setting.kind for setting in settings))
    labels = scored_labels(benchmark, [each.test_set for each in settings])
    label, relations = labels[0]["name"], relation_labels(benchmark)
    relation = relations[0]["name"] if relations else ""
    systems = System.objects.filter(benchmark=benchmark, team__in=teams).order_by("name")
    model_form = form if isinstance(form, PipelineForm) else PipelineForm()
    run_form = form if form and form is not model_form else RunForm()
    for each in (run_form, model_form):
        each.offer(teams, file_contract.open_phases(open_settings), bags=Setting.Unit.BAG in units)
        each.offer_columns(benchmark.task == Benchmark.Task.RELATIONS)
    size = byte_size(file_contract.limit(benchmark, "upload_bytes"))
    titles = [each.title for each in formats("predictions").values() if each.task in ("", benchmark.task)]
    run_form.fields["file"].help_text = format_html(
        '{}, plain or .gz, up to {}. <a href="{}#predictions">Prediction formats</a>',
        *(", ".join(titles), size, reverse("docs-formats")),
    )
    models = model_intake.limits() if benchmark.task == Benchmark.Task.ENTITIES else None
    if models:
        size = f"{byte_size(models['bytes'])} and {count(models['files'])} files"
        model_form.fields["file"].help_text = f"Regular files only, up to {size}."
    phases = file_contract.open_phases(open_settings) or ([""] if open_settings else [])
    context = {
        "heading": f"Submit a run to {benchmark}",
        "benchmark": benchmark,
        "form": run_form,
        "model_form": model_form,
        "models": models,
        "teams": teams,
        "quotas": quotas_of(teams[0], [benchmark]) if len(teams) == 1 else [],
        "systems": systems.values_list("name", flat=True).distinct(),
        "open_settings": [_open_setting(each, benchmark) for each in open_settings],
        "inputs": list(_inputs(benchmark, phases)),
        "labels": labels,
        "relations": relations,
        "hidden": [setting.title for setting in open_settings if is_hidden(setting)],
        "outside": entrants.not_entered(benchmark, teams),
        "examples": [
            line.replace("%s", label).replace("%r", relation) for kind in kinds for line in EXAMPLES[kind]
        ],
        "missing_lines": _missing_lines(open_settings),
        "curl": curl(request, benchmark),
    }
    return render(request, "evaluation/submit.html", context | more, status=status)


def _open_setting(setting: Setting, benchmark: Benchmark) -> tuple[Setting, int, str]:
    """Return a setting with its number of items and when it closes."""
    closes = stated(setting.closes_at, benchmark) if setting.closes_at else ""
    return setting, inputs.count_items(setting), closes


def _inputs(benchmark: Benchmark, phases: Iterable[str]) -> Iterator[tuple[str, str, int]]:
    """Yield each phase with the address and number of its inputs."""
    for phase in phases:
        try:
            contract = file_contract.for_new_file(benchmark, phase=phase)
        except DomainError:
            continue  # ids that name different items in both phases
        name = "both phases" if phase == file_contract.BOTH else phase
        yield name, inputs_url(benchmark, phase), contract.count_items()


def _missing_lines(settings: Sequence[Setting]) -> str:
    """Describe how items without a line count; settings are named where they differ."""
    titles: dict[str, list[str]] = {}
    for setting in settings:
        titles.setdefault(missing_words(of_setting(setting)), []).append(setting.title)
    named = [f"“{'”, “'.join(names)}”: {words}" for words, names in titles.items()]
    text = "; ".join(titles if len(titles) == 1 else named)
    empty = " An empty list means no entities." if settings and settings[0].unit == "document" else ""
    return f"Items without a line: {text}.{empty}" if text else ""


def inputs_url(benchmark: Benchmark, phase: str = "") -> str:
    """Return where everything that a file must answer can be downloaded."""
    address = reverse("board-inputs", args=[benchmark.slug])
    return f"{address}?{urlencode({'phase': phase})}" if phase else address


# ---- parts of other pages --------------------------------------------------------------------------
@dataclass(frozen=True)
class QuotaView:
    """Quota of a benchmark with what remains of it."""

    benchmark: Benchmark
    title: str
    remaining: str
    bar: SafeString
    renewal: str


def quotas_of(team: Team, benchmarks: Collection[Benchmark]) -> list[QuotaView]:
    """Return the quotas of a team; benchmarks without any are left out."""
    own = allowances_of(benchmarks, team)
    return [
        QuotaView(
            benchmark,
            QUOTA_TITLES[quota.name] + (f", {quota.phase} phase" if quota.phase else ""),
            f"{count(quota.left or 0)} of {count(quota.most)} left",
            charts.quota(quota.left or 0, quota.most),
            f"renews at 00:00 {zone_title(benchmark)}" if quota.name == "per_day" else "",
        )
        for benchmark in benchmarks
        for quota in own[benchmark.pk]
        if quota.most is not None
    ]


@dataclass(frozen=True)
class Command:
    lines: list[str]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def curl(
    request: HttpRequest, benchmark: Benchmark, *, team: Team | None = None, setting: Setting | None = None
) -> Command:
    """Return the shell command, with team and phase where there are several.

    The phase is that of the setting if it is open, else the first open one.
    """
    address = request.build_absolute_uri(reverse("api-submissions", args=[benchmark.slug]))
    teams = list(roles.teams_of(request.user))
    phases = file_contract.open_phases(file_contract.open_settings(benchmark))
    named = f" -F team={(team or teams[0]).slug}" if len(teams) > 1 else ""
    if len(phases) > 1:
        named += f" -F phase={setting.phase if setting and setting.phase in phases else phases[0]}"
    return Command(
        [
            'curl -H "Authorization: Bearer $TOKEN" \\',
            "  -F file=@predictions.jsonl \\",
            f'  -F system="my system" -F run=1{named} \\',
            f"  {address}",
        ]
    )
