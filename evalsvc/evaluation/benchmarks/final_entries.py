"""Final entries: the run that a team, or each of its systems, has chosen in a phase."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now

from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import Conflict, DomainError
from evalsvc.evaluation.benchmarks.file_contract import BOTH
from evalsvc.evaluation.benchmarks.row_rules import BY_CHOICE, ENTRY
from evalsvc.evaluation.final_runs import ended_for, phase_ended
from evalsvc.evaluation.models import Benchmark, FinalEntry, Setting, Submission
from evalsvc.evaluation.roles import ORGANISER, require_own, role_in
from evalsvc.evaluation.submission_states import mark_boards


def phases_of(submission: Submission) -> list[str]:
    """Return the phases a run was sent to; one empty name without phases."""
    return list(Setting.Phase.values) if submission.phase == BOTH else [submission.phase]


def choosable(submission: Submission) -> list[str]:
    """Return the phases of a run in which its team may still choose."""
    return [phase for phase, ended in _phases(submission).items() if ended is None]


def choose(submission: Submission, *, by: User, phase: str = "") -> None:
    """Make a scored run the final one, by default in all its phases that have not ended.

    Organisers choose in those that have ended too.
    """
    require_own(by, submission)
    if submission.state != Submission.State.SCORED or submission.withdrawn_at is not None:
        raise Conflict("not_scored", f"Submission {submission.pk} is on no leaderboard.")
    sent = phases_of(submission)
    if phase and phase not in sent:
        detail = f"Submission {submission.pk} was not sent to the phase {phase[:20]}."
        hint = f"Its phases: {', '.join(filter(None, sent)) or 'none'}."
        raise DomainError("unknown_phase", detail, hint=hint, field="phase")
    phases = {each: ended for each, ended in _phases(submission).items() if phase in ("", each)}
    if not phases:
        shown = f"in the phase {phase or sent[0]} " if any(sent) else ""
        detail = f"No setting {shown}shows the final run of submission {submission.pk}."
        raise Conflict("no_final_runs", detail, hint="They show what “Runs shown” says on their pages.")
    chosen = [each for each, ended in phases.items() if ended is None]
    if not chosen and role_in(submission.benchmark, by) == ORGANISER:
        chosen = list(phases)
    if not chosen:
        raise phase_ended(next(ended for ended in phases.values() if ended), submission)
    with transaction.atomic():
        for each in chosen:
            FinalEntry.objects.update_or_create(submission=submission, phase=each, defaults={"at": Now()})
        Submission.objects.filter(pk=submission.pk).update(final_at=Now())
        mark_boards(submission)


def _phases(submission: Submission) -> dict[str, Setting | None]:
    """Return the phases of a run in which it can be chosen, each with a setting that made it final."""
    settings = Setting.objects.filter(row_rule__in=BY_CHOICE, evaluations__submissions=submission)
    phases: dict[str, Setting | None] = {}
    for setting in settings.distinct().order_by("closes_at"):
        for phase in phases_of(submission):
            if setting.phase in ("", phase) or not phase:
                final = ended_for(setting, submission.created_at)
                phases[phase] = phases.get(phase) or (setting if final else None)
    return phases


def final_phases(benchmarks: Collection[int]) -> dict[int, list[str]]:
    """Return the phases in which runs are final at present, by run.

    The last run chosen is final: of the team where a setting of the phase shows one entry per team, else of
    the system. A withdrawn one is not.
    """
    rules = Setting.objects.filter(benchmark__in=benchmarks, row_rule=ENTRY)
    of_teams = set(rules.values_list("benchmark", "phase"))
    with_one = {benchmark for benchmark, _ in of_teams}
    rows = FinalEntry.objects.filter(
        Q(submission__scored_at__isnull=False),
        submission__benchmark__in=benchmarks,
        submission__withdrawn_at=None,
    )
    names = ("benchmark_id", "system__team_id", "system_id")
    columns = (f"submission__{name}" for name in names)
    last: dict[tuple[int, str, int, int], int] = {}
    for run, phase, benchmark, team, system in rows.order_by("at", "pk").values_list(
        "submission", "phase", *columns
    ):
        whole = {(benchmark, phase), (benchmark, "")} & of_teams or (not phase and benchmark in with_one)
        last[benchmark, phase, team, 0 if whole else system] = run
    phases: dict[int, list[str]] = defaultdict(list)
    for (_, phase, _, _), run in sorted(last.items()):
        phases[run].append(phase)
    return dict(phases)


def of_teams(benchmark: Benchmark) -> dict[int, list[dict[str, Any]]]:
    """Return the final runs at present, by team."""
    phases = final_phases([benchmark.pk])
    runs = Submission.objects.filter(pk__in=phases).select_related("system").order_by("system__name", "pk")
    teams: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for run in runs:
        teams[run.system.team_id] += [
            {"phase": phase, "system": run.system.name, "run": run.run, "submission": run.pk}
            for phase in phases[run.pk]
        ]
    return dict(teams)


def in_words(submission: Submission, phases: Collection[str]) -> str:
    """Say whose final run it is, and in which phases."""
    benchmark = submission.benchmark
    of_team = benchmark.settings.filter(row_rule=ENTRY, phase__in=["", *phases]).exists()
    whose = f"entry of {submission.system.team}" if of_team else f"run of {submission.system}"
    named = [phase for phase in phases if phase]
    phase = f" in {' and '.join(named)}" if named else ""
    return f"This is the final {whose}{phase}."
