"""Runs with the same answers: the oldest file stands for all."""

from __future__ import annotations

from collections import defaultdict

from django.db.models import QuerySet

from evalsvc.evaluation.models import Submission

SYSTEM, TEAM = "submission__system_id", "submission__system__team_id"
SCORING = ("evaluation__setting_id", "evaluation__gold_sha256", "evaluation__scorer")
ANSWERS = ("evaluation__answers_sha256", "evaluation__file_id")


def on_boards(runs: QuerySet[Submission]) -> QuerySet[Submission]:
    """Return the scored runs that are not withdrawn."""
    return runs.filter(scored_at__isnull=False, withdrawn_at=None)


def oldest_equals(runs: QuerySet[Submission], *, within: str = SYSTEM) -> dict[int, int]:
    """Return the oldest run with the same answers, by run.

    Runs with answers of their own are absent. Runs are compared within their system or team.
    """
    links = Submission.evaluations.through.objects.filter(submission__in=on_boards(runs))
    rows = links.order_by("submission_id").values_list(within, "submission_id", *SCORING, *ANSWERS)
    oldest: dict[tuple[object, ...], int] = {}
    firsts: dict[int, set[int]] = defaultdict(set)
    for group, pk, *scoring, answers, file in rows:
        firsts[pk].add(oldest.setdefault((group, *scoring, answers or file), pk))
    return {pk: min(of_run) for pk, of_run in firsts.items() if pk not in of_run}


def counts_by_system(runs: QuerySet[Submission]) -> dict[int, int]:
    """Return the number of runs with different answers by system."""
    equal, counts = oldest_equals(runs), defaultdict[int, int](int)
    for pk, system in on_boards(runs).values_list("pk", "system_id"):
        counts[system] += pk not in equal
    return counts
