"""Submitting a run from the browser; bad lines are shown with what to mend."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.formats.problems import KINDS, FileRejected, Problem, Problems
from evalsvc.core.formats.registry import formats
from evalsvc.core.formats.text_lines import read_lines
from evalsvc.core.web.formatting import count
from evalsvc.core.web.forms import add_form_error
from evalsvc.evaluation import roles
from evalsvc.evaluation.benchmarks import file_contract
from evalsvc.evaluation.models import Benchmark, Setting, System
from evalsvc.evaluation.pages import quota_view as left
from evalsvc.evaluation.pages.curl_command import curl
from evalsvc.evaluation.pages.forms import FileForm, PipelineForm, RunForm
from evalsvc.evaluation.submissions import intake, model_intake

SHOWN = 8
SCANNED = 500_000
WIDTH = 100
NAMED = 3  # of those that have no line
NO_LINE = "no line for "
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
    asked = request.POST.get("do")
    if request.method != "POST":
        return _page(request, benchmark)
    if asked == "check":
        return _check(request, benchmark)
    form: RunForm = (PipelineForm if asked == "model" else RunForm)(request.POST, request.FILES)
    if not form.is_valid():
        return _page(request, benchmark, form, status=400)
    return _received(request, benchmark, form)


def _check(request: HttpRequest, benchmark: Benchmark) -> HttpResponse:
    """A dry run; asked for by the button alone, only the answer changes and the chosen file stays chosen."""
    form, shown = FileForm(request.POST, request.FILES), RunForm(request.POST)
    if form.is_valid():
        told, status = _looked_at(benchmark, form)
    else:
        told, status = {"refused": next(iter(form.errors.values()))[0]}, 400
    if not getattr(request, "htmx", False):
        return _page(request, benchmark, shown, status=status, **told)
    return render(request, "evaluation/submit_answer.html", told | {"alone": True})


def _looked_at(benchmark: Benchmark, form: FileForm) -> tuple[dict[str, Any], int]:
    file = form.cleaned_data["file"]
    try:
        checked = intake.check(benchmark, file.chunks(), phase=form.cleaned_data["phase"])
    except DomainError as refusal:
        return {"refused": f"{refusal.detail} {refusal.hint}".strip()}, refusal.status
    if checked.problems.total:
        return {"problems": _told(checked.problems, file)}, 422
    counts = [f"{count(n)} {word}" for word, n in checked.counts.items() if n]
    return {"checked": f"{', '.join(counts) or 'Every line'}, no problem."}, 200


def _received(request: HttpRequest, benchmark: Benchmark, form: RunForm) -> HttpResponse:
    given, file = form.cleaned_data, form.cleaned_data["file"]
    pipeline = isinstance(form, PipelineForm)
    told: dict[str, Any] = {} if pipeline else {"aggregate": given["aggregate"] or "ONE"}
    try:
        received = (model_intake if pipeline else intake).receive(
            benchmark,
            team=roles.team_of(request, named=given["team"]),
            by=roles.person(request),
            system=given["system"],
            run=given["run"],
            chunks=file.chunks(),
            filename=file.name,
            tags=form.tags,
            phase=given["phase"],
            **told,
        )
    except FileRejected as refused:
        return _page(request, benchmark, form, problems=_told(refused.problems, file), status=422)
    except DomainError as refusal:
        add_form_error(form, refusal)
        return _page(request, benchmark, form, status=refusal.status)
    if not received.created:
        messages.info(request, "This file was submitted as this run before: here it is.")
    return redirect("submission", received.submission.pk)


def _page(
    request: HttpRequest, benchmark: Benchmark, form: RunForm | None = None, *, status: int = 200, **more: Any
) -> HttpResponse:
    teams = list(roles.teams_of(request.user))
    units = list(dict.fromkeys(benchmark.settings.values_list("unit", flat=True)))
    label = benchmark.labels[0]["name"]
    systems = System.objects.filter(benchmark=benchmark, team__in=teams).order_by("name")
    pipeline = isinstance(form, PipelineForm)
    told = {
        "benchmark": benchmark,
        "form": form if form and not pipeline else RunForm(),
        "teams": teams,
        "quotas": left.of_team(teams[0], [benchmark]) if len(teams) == 1 else [],
        "systems": systems.values_list("name", flat=True).distinct(),
        "bags": Setting.Unit.BAG in units,
        "taken": ", ".join(
            format.title for format in formats("predictions").values() if format.task in ("", benchmark.task)
        ),
        "limit": file_contract.limit(benchmark, "upload_bytes"),
        "examples": [line.replace("%s", label) for unit in units for line in EXAMPLES[Setting.Unit(unit)]],
        "curl": curl(request, benchmark),
    }
    told |= _open(benchmark) | _models(benchmark, form if pipeline else PipelineForm())
    return render(request, "evaluation/submit.html", told | more, status=status)


def _open(benchmark: Benchmark) -> dict[str, Any]:
    """What takes submissions now, and the phases there are to choose from."""
    taking = file_contract.open_settings(benchmark)
    open_phases = file_contract.open_phases(taking)
    return {"taking": taking, "phases": open_phases if len(open_phases) > 1 else []}


def _models(benchmark: Benchmark, form: RunForm | None) -> dict[str, Any]:
    """Whether a trained pipeline can be sent, by which limits, and why not."""
    if benchmark.task != Benchmark.Task.ENTITIES:
        return {}
    return {"models": model_intake.limits(), "model_form": form}


# ---- what does not fit ---------------------------------------------------------------------------
def _told(problems: Problems, file: UploadedFile) -> dict[str, Any]:
    """Each thing to mend once, with its first line and how many problems have its code; and these lines."""
    # what has no line (ids left out) comes last and once: it must not crowd out the lines that are wrong
    once = {(p.code, _says(p) if p.line else ""): p for p in reversed(problems.first)}
    first = sorted(once.values(), key=lambda problem: (not problem.line, problem.line))[:SHOWN]
    shown = [_mending(problem, problems) for problem in first] + _untold(first, problems)
    told = {"total": problems.total, "shown": shown, "excerpt": _excerpt(first, file)}
    return told | {"all": problems.total == len(first)}


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
