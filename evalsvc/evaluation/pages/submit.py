"""Page for submitting a run, and the parts it shares: quotas and the command for a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.views.decorators.http import require_http_methods

from evalsvc.core.accounts.models import Team
from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.formats.problems import KINDS, FileRejected, Problem, Problems
from evalsvc.core.formats.registry import formats
from evalsvc.core.formats.text_lines import read_lines
from evalsvc.core.web.formatting import count
from evalsvc.core.web.forms import add_form_error
from evalsvc.evaluation import roles
from evalsvc.evaluation.benchmarks import file_contract
from evalsvc.evaluation.benchmarks.quotas import allowances
from evalsvc.evaluation.models import Benchmark, Setting, System
from evalsvc.evaluation.pages import charts
from evalsvc.evaluation.pages.file_problems import shown_problems
from evalsvc.evaluation.pages.forms import FileForm, PipelineForm, RunForm
from evalsvc.evaluation.submissions import intake, model_intake

EXAMPLES = {
    Setting.Unit.SENTENCE: (
        '{"id": "s1", "scores": {"%s": 0.93}}',
        '{"id": "s1", "labels": ["%s"]}',
        '{"id": "s1", "label": "%s"}',
    ),
    Setting.Unit.BAG: ('{"h": "Q1", "t": "Q2", "relation": "%s", "score": 0.93}',),
    Setting.Unit.DOCUMENT: ('{"id": "d1", "spans": [[0, 2, "%s"]]}', '{"id": "d1", "tags": ["B-%s", "O"]}'),
}


@dataclass(frozen=True)
class Excerpt:
    """A line of the file; `marked` is the part that does not fit."""

    number: int
    before: str
    marked: str = ""
    after: str = ""
    bad: bool = False


@dataclass(frozen=True)
class Mending:
    line: int | None
    code: str
    says: str
    alike: int
    example: str


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
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
    """Check a file; htmx replaces the answer alone, so that the chosen file stays chosen."""
    form = FileForm(request.POST, request.FILES)
    if form.is_valid():
        context, status = _checked(benchmark, form)
    else:
        context, status = {"rejected": next(iter(form.errors.values()))[0]}, 400
    if not getattr(request, "htmx", False):
        return _page(request, benchmark, RunForm(request.POST), status=status, **context)
    return render(request, "evaluation/submit_answer.html", context | {"alone": True})


def _checked(benchmark: Benchmark, form: FileForm) -> tuple[dict[str, Any], int]:
    file = form.cleaned_data["file"]
    try:
        checked = intake.check(benchmark, file.chunks(), phase=form.cleaned_data["phase"])
    except DomainError as error:
        return {"rejected": f"{error.detail} {error.hint}".strip()}, error.status
    if checked.problems.total:
        return {"problems": shown_problems(checked.problems, file)}, 422
    counts = [f"{count(n)} {noun}" for noun, n in checked.counts.items() if n]
    return {"checked": f"{', '.join(counts)}, no problems." if counts else "No problems."}, 200


def _receive(request: HttpRequest, benchmark: Benchmark, form: RunForm) -> HttpResponse:
    values, file = form.cleaned_data, form.cleaned_data["file"]
    pipeline = isinstance(form, PipelineForm)
    fields: dict[str, Any] = {} if pipeline else {"aggregate": values["aggregate"] or "ONE"}
    try:
        received = (model_intake if pipeline else intake).receive(
            benchmark,
            chunks=file.chunks(),
            phase=values["phase"],
            team=roles.team_of(request, named=values["team"]),
            by=roles.person(request),
            system=values["system"],
            run=values["run"],
            filename=file.name,
            tags=form.tags,
            **fields,
        )
    except FileRejected as error:
        return _page(request, benchmark, form, problems=shown_problems(error.problems, file), status=422)
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
    units = list(dict.fromkeys(benchmark.settings.values_list("unit", flat=True)))
    label = benchmark.labels[0]["name"]
    systems = System.objects.filter(benchmark=benchmark, team__in=teams).order_by("name")
    model_form = form if isinstance(form, PipelineForm) else PipelineForm()
    run_form = form if form and form is not model_form else RunForm()
    for each in (run_form, model_form):
        each.offer(teams, file_contract.open_phases(open_settings), bags=Setting.Unit.BAG in units)
    size = byte_size(file_contract.limit(benchmark, "upload_bytes"))
    run_form.fields["file"].help_text = format_html(
        '{}, plain or .gz, up to {}. <a href="{}#predictions">Prediction formats</a>',
        *(FORMATS[benchmark.task], size, reverse("docs-formats")),
    )
    models = model_intake.limits() if benchmark.task == Benchmark.Task.ENTITIES else None
    if models:
        size = f"{byte_size(models['bytes'])} and {count(models['files'])} files"
        model_form.fields["file"].help_text = f"Regular files only, up to {size}."
    context = {
        "heading": f"Submit a run to {benchmark}",
        "benchmark": benchmark,
        "form": run_form,
        "model_form": model_form,
        "models": models,
        "teams": teams,
        "quotas": quotas_of(teams[0], [benchmark]) if len(teams) == 1 else [],
        "systems": systems.values_list("name", flat=True).distinct(),
        "bags": Setting.Unit.BAG in units,
        "taken": ", ".join(
            format.title for format in formats("predictions").values() if format.task in ("", benchmark.task)
        ),
        "limit": file_contract.limit(benchmark, "upload_bytes"),
        "examples": [line.replace("%s", label) for unit in units for line in EXAMPLES[Setting.Unit(unit)]],
        "missing_lines": MISSING_LINES[benchmark.task, benchmark.missing],
        "curl": curl(request, benchmark),
    }
    return render(request, "evaluation/submit.html", context | more, status=status)


# ---- parts of other pages --------------------------------------------------------------------------
@dataclass(frozen=True)
class QuotaView:
    """Quota of a benchmark with what remains of it."""

    benchmark: Benchmark
    title: str
    remaining: str
    bar: SafeString
    renewal: str


def quotas_of(team: Team, benchmarks: Iterable[Benchmark]) -> list[QuotaView]:
    """Return the quotas of a team; benchmarks without any are left out."""
    return [
        QuotaView(
            benchmark,
            QUOTA_TITLES[quota.name],
            f"{count(quota.left or 0)} of {count(quota.most)} left",
            charts.quota(quota.left or 0, quota.most),
            f"renewed at 00:00 {benchmark.time_zone}" if quota.name == "per_day" else "",
        )
        for benchmark in benchmarks
        for quota in allowances(benchmark, team)
        if quota.most is not None
    ]


@dataclass(frozen=True)
class Command:
    lines: list[str]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def _mending(problem: Problem, problems: Problems) -> Mending:
    like = [] if problem.line else [p for p in problems.first if p.code == problem.code and not p.line]
    alike = problems.by_code[problem.code]
    more = [p.value.removeprefix(NO_LINE) for p in like[1:NAMED] if p.value]
    return Mending(problem.line, problem.code, _says(problem, more, alike), alike, problem.example or "")


def _untold(first: Sequence[Problem], problems: Problems) -> list[Mending]:
    """Kinds of which none is among the first problems, such as ids left out of a file of slips."""
    codes = problems.by_code.keys() - {problem.code for problem in first}
    return [Mending(None, code, KINDS[code].message, problems.by_code[code], "") for code in sorted(codes)]


def _says(problem: Problem, more: Sequence[str] = (), alike: int = 1) -> str:
    """The problem without its line, which stands beside it; `more` are others that were found alike."""
    parts = [KINDS[problem.code].message]
    if problem.value is not None:
        found = ", ".join([problem.value, *more])
        left = alike - 1 - len(more)
        parts += [f"Found {found} and {count(left)} more." if more and left else f"Found {found}."]
    parts += [f"Expected {problem.expected}."] if problem.expected is not None else []
    return " ".join([*parts, problem.hint] if problem.hint else parts)


def _excerpt(problems: Iterable[Problem], file: UploadedFile) -> list[Excerpt]:
    """The bad lines and the one before the first, as they stand in the file; none where it cannot be read."""
    bad = {problem.line: problem for problem in reversed(list(problems)) if problem.line}
    if not bad:
        return []
    wanted = {min(bad) - 1, *bad}
    file.seek(0)
    found = []
    try:
        for number, text in islice(read_lines(file, problems=Problems()), min(max(bad), SCANNED)):
            if number in wanted:
                found.append(_line(number, text, bad.get(number)))
    except FileRejected:
        return found
    return found


def _line(number: int, text: str, problem: Problem | None) -> Excerpt:
    """The line cut around what was found in it."""
    if problem is None:
        return Excerpt(number, _cut(text))
    found = problem.value.removesuffix("…") if problem.value else ""
    at = text.find(found) if found else -1
    if at < 0:
        return Excerpt(number, "", _cut(text), bad=True)
    before, after = text[:at], text[at + len(found) :]
    if len(before) > WIDTH // 2:
        before = "… " + before[-WIDTH // 2 :]
    return Excerpt(number, before, _cut(found), _cut(after), bad=True)


def _cut(text: str) -> str:
    return text if len(text) <= WIDTH else text[: WIDTH - 2] + " …"
