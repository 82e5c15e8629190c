"""Lists of runs: state, remark, main figure, equal answers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Prefetch, QuerySet
from django.http import Http404, HttpRequest

from evalsvc.core.web import formatting
from evalsvc.core.web.views import row_id
from evalsvc.evaluation import roles
from evalsvc.evaluation.benchmarks import final_entries
from evalsvc.evaluation.benchmarks.row_rules import BY_CHOICE
from evalsvc.evaluation.dates import local_time
from evalsvc.evaluation.disclosure.distinct_runs import COLUMNS, Digests, Firsts, keys_of
from evalsvc.evaluation.disclosure.policy import hidden_among
from evalsvc.evaluation.measures.menu import as_shown
from evalsvc.evaluation.models import Evaluation, Setting, SettingVersion, Submission
from evalsvc.evaluation.roles import Person
from evalsvc.evaluation.shown_scores import main_values, precedence

SYSTEM, TEAM = "submission__system_id", "submission__system__team_id"
SCORING = ("evaluation__setting_id", "evaluation__gold_sha256", "evaluation__scorer")
ANSWERS = tuple(f"evaluation__{column}" for column in COLUMNS)
State = Submission.State
IN_PROGRESS = (State.RECEIVED, State.QUEUED, State.RUNNING)
NEEDS_YOU = (State.INVALID, State.FAILED)
ORDINALS = {2: "second", 3: "third"}


@dataclass(frozen=True)
class ListedRun:
    """Run with its remark and main figure; `final` says in which phases it is a final run."""

    submission: Submission
    remark: str
    figure: str
    measure: str
    final: str = ""

    @property
    def local_time(self) -> str:
        """When it was submitted in the zone of its benchmark, by which organisers filter; nothing for UTC."""
        return local_time(self.submission.created_at, self.submission.benchmark)


def remark(submission: Submission) -> str:
    """Progress, reason or attempt beside the state."""
    if submission.withdrawn_at:
        return ""
    if submission.state == State.RUNNING and submission.job and submission.job.total:
        return f"{submission.job.done:,} of {submission.job.total:,} steps"
    if submission.state in NEEDS_YOU:
        return submission.reason.split(". ")[0][:60]
    attempt = submission.job.attempt if submission.job else 1
    return f"{ORDINALS[attempt]} attempt" if attempt in ORDINALS else ""


def main_figures(
    submissions: Sequence[Submission], person: Person, *, phase: str = ""
) -> list[tuple[str, str]]:
    """Return main figure and measure of each run's first visible setting, of a phase if one is named.

    The measure of a run in several settings names the setting too.
    """
    scored = []
    for submission in submissions:
        shown = [each for each in submission.evaluations.all() if not roles.is_sealed(each.setting)]
        shown.sort(key=precedence, reverse=True)
        scored += [
            (submission, each)
            for each in sorted(shown, key=lambda each: each.setting.rank)
            if phase in ("", each.setting.phase) or not each.setting.phase
        ]
    figures: dict[int, tuple[str, str]] = {}
    for (submission, evaluation), value in zip(scored, main_values(scored, person), strict=True):
        if value is not None and submission.pk not in figures:
            measure = as_shown(evaluation.setting, evaluation.setting.main)
            several = len({each.setting_id for each in submission.evaluations.all()}) > 1
            title = f"{measure.title}, {evaluation.setting.title}" if several else measure.title
            figures[submission.pk] = formatting.measured(value, measure), title
    return [figures.get(submission.pk, ("", "")) for submission in submissions]


def with_figures(submissions: QuerySet[Submission]) -> QuerySet[Submission]:
    """Prefetch what a list of runs reads."""
    versions = SettingVersion.objects.select_related("test_set", "only")
    settings = Setting.objects.select_related("benchmark", "test_set")
    settings = settings.prefetch_related(Prefetch("versions", versions))
    evaluations = Evaluation.objects.defer("classes", "detail").prefetch_related(
        Prefetch("setting", settings)
    )
    related = submissions.select_related("system__team", "benchmark", "job")
    return related.prefetch_related(Prefetch("evaluations", evaluations))


def as_runs(submissions: Sequence[Submission], person: Person, *, phase: str = "") -> list[ListedRun]:
    figures = main_figures(submissions, person, phase=phase)
    phases = final_entries.final_phases(
        {each.benchmark_id for each in submissions if _counts_by_choice(each)}
    )
    return [
        ListedRun(submission, remark(submission), figure, measure, _final(submission, phases))
        for submission, (figure, measure) in zip(submissions, figures, strict=True)
    ]


def _counts_by_choice(submission: Submission) -> bool:
    """True if a board shows its system, or its team, by the run that the team chose."""
    return any(evaluation.setting.row_rule in BY_CHOICE for evaluation in submission.evaluations.all())


def _final(submission: Submission, phases: Mapping[int, Sequence[str]]) -> str:
    if submission.pk not in phases or not _counts_by_choice(submission):
        return ""
    named = " and ".join(filter(None, phases[submission.pk]))
    return f"final in {named}" if named else "final"


def page_of(
    submissions: QuerySet[Submission], request: HttpRequest, *, size: int = 50, phase: str = ""
) -> tuple[list[ListedRun], str]:
    """Return the runs older than `before`, and the next page's query."""
    text = request.GET.get("before", "")
    before = row_id(text)
    if text and not before:
        raise Http404(f"There is no run {text[:20]!r}.")
    if before:
        submissions = submissions.filter(pk__lt=before)
    newest = list(with_figures(submissions.order_by("-pk"))[: size + 1])
    query = request.GET.copy()
    query["before"] = str(newest[size - 1].pk) if len(newest) > size else ""
    return as_runs(newest[:size], request.user, phase=phase), query.urlencode() if len(newest) > size else ""


def on_boards(runs: QuerySet[Submission]) -> QuerySet[Submission]:
    """Return the scored runs that are not withdrawn."""
    return runs.filter(scored_at__isnull=False, withdrawn_at=None)


def oldest_equals(runs: QuerySet[Submission], *, within: str = SYSTEM) -> dict[int, int]:
    """Return the oldest run with the same answers, by run.

    Runs with answers of their own are absent. Runs are compared within their system or team.
    """
    links = Submission.evaluations.through.objects.filter(submission__in=on_boards(runs))
    rows = links.order_by("submission_id").values_list(within, "submission_id", *SCORING, *ANSWERS)
    read = list(rows)
    settings = Setting.objects.in_bulk({setting for _, _, setting, *_ in read})
    hidden = hidden_among(settings.values())
    oldest = Firsts()
    firsts: dict[int, set[int]] = defaultdict(set)
    for group, pk, setting, gold, scorer, *digests in read:
        keys = keys_of(Digests(*digests), settings[setting], hidden=setting in hidden)
        firsts[pk].add(oldest.of(pk, (group, setting, gold, scorer), keys))
    return {pk: min(of_run) for pk, of_run in firsts.items() if pk not in of_run}


def counts_by_system(runs: QuerySet[Submission]) -> dict[int, int]:
    """Return the number of runs with different answers by system."""
    equal, counts = oldest_equals(runs), defaultdict[int, int](int)
    for pk, system in on_boards(runs).values_list("pk", "system_id"):
        counts[system] += pk not in equal
    return counts
