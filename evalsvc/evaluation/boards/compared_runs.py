"""Distinct runs of systems under the version of a board, and the median one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple, TypeVar

from evalsvc.evaluation.benchmarks import versions
from evalsvc.evaluation.boards.choices import read_choices
from evalsvc.evaluation.boards.ranking import Board
from evalsvc.evaluation.boards.reading import Reading
from evalsvc.evaluation.disclosure.disclosed import Disclosed
from evalsvc.evaluation.disclosure.distinct_runs import Digests
from evalsvc.evaluation.disclosure.history import histories
from evalsvc.evaluation.models import Evaluation, Submission
from evalsvc.evaluation.roles import Person
from evalsvc.evaluation.shown_scores import disclosed

Run = TypeVar("Run")


class ComparedRun(NamedTuple):
    """Run whose figures a system shows, its evaluation and the digests of its answers."""

    submission: int
    evaluation: int
    digests: Digests


def compared_runs(board: Board, systems: Collection[int]) -> dict[int, list[ComparedRun]]:
    """Return the distinct runs of systems under the version of a board.

    Near-duplicates are replaced as on the board.
    """
    policy, shown = board.policy, versions.of_systems(board.version, systems).limited(board.runs)
    reading = Reading(policy, shown, policy.setting.main)
    system_of = {run.pk: system for system, runs in reading.runs.items() for run in runs}
    [past] = histories([(policy, system_of)])
    read_choices([reading])
    stored = {each.run.pk: ComparedRun(each.run.pk, each.evaluation, each.digests) for each in shown.runs}
    compared: dict[int, list[ComparedRun]] = {system: [] for system in systems}
    counted = {pk for pk, _ in reading.count(past.earlier)}
    for system, runs in reading.runs.items():
        for chosen in reading.chosen([run for run in runs if run.pk in counted]):
            run = past.earlier.get(chosen.pk, chosen.pk)
            if run in stored and chosen.pk not in reading.withheld:
                compared[system].append(stored[run])
    return compared


def open_runs(board: Board, system: int, person: Person | None) -> list[tuple[Submission, Disclosed]]:
    """Return the distinct runs of a system with their evaluations, under the version of a board.

    None while the gold is hidden: which run is the median, and what a near-duplicate scored, would show.
    """
    if board.policy.hidden:
        return []
    compared = {run.evaluation: run.submission for run in compared_runs(board, [system])[system]}
    related = ("setting", "setting__test_set", "setting__only", "setting__benchmark")
    evaluations = Evaluation.objects.select_related(*related).prefetch_related(
        "scores", "setting__versions__test_set", "setting__versions__only"
    )
    submissions = Submission.objects.select_related("system").in_bulk(compared.values())
    found = evaluations.filter(pk__in=compared)
    scored = sorted(((submissions[compared[each.pk]], each) for each in found), key=lambda each: each[0].pk)
    return [(run, each) for (run, _), each in zip(scored, disclosed(scored, person), strict=True)]


def median_run(
    board: Board, runs: Sequence[tuple[Submission, Disclosed]]
) -> tuple[Submission, Disclosed] | None:
    """Return the median run by the ordering measure."""
    return median((each[1].values.get(board.order_by), each[0].pk, each) for each in runs)


def median(runs: Iterable[tuple[float | None, int, Run]]) -> Run | None:
    """Return the median of runs with figure and key, the lower middle one of an even number."""
    defined = sorted((value, pk, run) for value, pk, run in runs if value is not None)
    return defined[(len(defined) - 1) // 2][2] if defined else None
