"""Teams whose members labelled or adjudicated the gold."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from annotation.testset import TestSet
from evalsvc.core.accounts.models import Departure, Team, TeamMember
from evalsvc.evaluation.models import Setting, Submission


def teams_that_saw(test_sets: Iterable[TestSet | None]) -> set[int]:
    """Return the teams, past ones included, of people behind this gold."""
    since: dict[int, datetime] = {}
    for test_set in {each for each in test_sets if each}:
        for person in test_set.manifest.get("people", ()):
            since[person] = min(test_set.created_at, since.get(person, test_set.created_at))
    if not since:
        return set()
    present = set(TeamMember.objects.filter(user__in=since).values_list("team_id", flat=True))
    left = Departure.objects.filter(user__in=since).values_list("user_id", "team_id", "at")
    return present | {team for person, team, at in left if at >= since[person]}


def saw_gold(settings: Iterable[Setting], team: Team) -> bool:
    """True when a team member labelled or adjudicated these settings' gold."""
    return team.pk in teams_that_saw(gold for each in settings for gold in (each.test_set, each.only))


def mark(submission: Submission, settings: Iterable[Setting]) -> None:
    """Mark a submission whose team saw the gold; marks are never removed."""
    if not submission.saw_gold and saw_gold(settings, submission.system.team):
        Submission.objects.filter(pk=submission.pk).update(saw_gold=True)
