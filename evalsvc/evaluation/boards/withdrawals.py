"""Runs that teams withdrew once they knew the figures."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from evalsvc.evaluation.benchmarks.versions import ScoredRun, Shown
from evalsvc.evaluation.disclosure.distinct_runs import keys_of
from evalsvc.evaluation.disclosure.policy import Policy
from evalsvc.evaluation.models import Setting

Answers = set[tuple[int, str]]  # of runs, by team


def count_withdrawn(policy: Policy, shown: Shown) -> dict[int, int]:
    """Count the different runs that systems withdrew when their figures were known, by system.

    Runs whose answers a system still shows do not count. A system that shares answers with another one of
    its team, as if under another name, has withdrawn the runs of that one, too. Runs of other settings are
    compared by their files.
    """
    withdrawn = [*shown.withdrawn, *shown.withdrawn_beside]
    if not withdrawn:
        return {}
    beside = {each.run.pk for each in shown.withdrawn_beside}

    def answers(scored: ScoredRun) -> Answers:
        keys = keys_of(scored.digests, policy.setting, hidden=policy.hidden)
        if beside and (scored.run.active or scored.run.pk in beside):
            keys |= {scored.digests.file}
        return {(scored.run.team_id, key) for key in keys}

    teams = {each.run.team_id for each in withdrawn}
    own: dict[int, Answers] = defaultdict(set)
    senders: dict[tuple[int, str], set[int]] = defaultdict(set)
    dropped: dict[int, list[Answers]] = defaultdict(list)
    for each in (*shown.runs, *withdrawn):
        run = each.run
        if run.team_id not in teams or not (run.active or run.dropped):
            continue
        for key in (keys := answers(each)):
            senders[key].add(run.system_id)
        if run.active:
            own[run.system_id] |= keys
    for each in withdrawn:
        dropped[each.run.system_id].append(answers(each))
    return {
        system: n
        for system, keys in own.items()
        if (n := _count(keys, [dropped[each] for each in sorted(_related(keys, senders))]))
    }


def dropped_names(policy: Policy, shown: Shown, chosen: Setting) -> set[tuple[int, str]]:
    """Return system and name of runs that were withdrawn when figures here and under `chosen` were known.

    Not those that were sent again with the same answers.
    """
    present: dict[tuple[int, str], set[str]] = defaultdict(set)
    for each in shown.runs if shown.withdrawn else ():
        if each.run.active:
            keys = keys_of(each.digests, policy.setting, hidden=policy.hidden)
            present[each.run.system_id, each.run.run] |= keys
    dropped = set()
    for each in shown.withdrawn:
        name = each.run.system_id, each.run.run
        keys = keys_of(each.digests, policy.setting, hidden=policy.hidden)
        if chosen.pk in each.run.known_under and keys.isdisjoint(present[name]):
            dropped.add(name)
    return dropped


def _related(answers: Answers, senders: Mapping[tuple[int, str], set[int]]) -> set[int]:
    return set().union(*(senders[key] for key in answers))


def _count(own: Answers, dropped: list[list[Answers]]) -> int:
    seen, n = set(own), 0
    for of_system in dropped:
        for answers in of_system:
            n += seen.isdisjoint(answers)
            seen |= answers
    return n
