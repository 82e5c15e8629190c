"""Teams whose members labelled or adjudicated the gold."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from annotation.testset import TestSet
from evalsvc.core.accounts.models import Departure, Team, TeamMember
from evalsvc.evaluation.models import Setting, Submission


def teams_that_saw(test_sets: Iterable[TestSet | None]) -> set[int]:
    """Return the teams, past ones included, of people behind this gold."""
    return teams_by_gold([test_sets])[0]


def teams_by_gold(golds: Iterable[Iterable[TestSet | None]]) -> list[set[int]]:
    """Return the teams that saw each of several golds."""
    people = [_people_behind(gold) for gold in golds]
    everybody = set[int]().union(*people)
    if not everybody:
        return [set() for _ in people]
    members = list(TeamMember.objects.filter(user__in=everybody).values_list("user_id", "team_id"))
    left = list(Departure.objects.filter(user__in=everybody).values_list("user_id", "team_id", "at"))
    return [
        {team for person, team in members if person in since}
        | {team for person, team, at in left if person in since and at >= since[person]}
        for since in people
    ]


def _people_behind(test_sets: Iterable[TestSet | None]) -> dict[int, datetime]:
    """Return the people who labelled or adjudicated gold, with its earliest date."""
    since: dict[int, datetime] = {}
    for test_set in {each for each in test_sets if each}:
        for person in test_set.manifest.get("people", ()):
            since[person] = min(test_set.created_at, since.get(person, test_set.created_at))
    return since


def saw_gold(settings: Iterable[Setting], team: Team) -> bool:
    """True when a team member labelled or adjudicated these settings' gold."""
    return team.pk in teams_that_saw(gold for each in settings for gold in (each.test_set, each.only))


def mark(submission: Submission, settings: Iterable[Setting]) -> None:
    """Mark a submission whose team saw the gold; marks are never removed."""
    if not submission.saw_gold and saw_gold(settings, submission.system.team):
        Submission.objects.filter(pk=submission.pk).update(saw_gold=True)
