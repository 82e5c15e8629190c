"""Runs that teams withdrew once they knew the figures."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from evalsvc.evaluation.benchmarks.versions import Run, ScoredRun, Shown
from evalsvc.evaluation.disclosure.distinct_runs import keys_of
from evalsvc.evaluation.disclosure.policy import Policy
from evalsvc.evaluation.models import Setting

Answers = set[tuple[int, str]]  # of runs, by team


def count_withdrawn(policy: Policy, shown: Shown, earlier: Mapping[int, int | None]) -> dict[int, int]:
    """Count the different runs that systems withdrew when their figures were known, by system.

    Runs that showed figures of another one of the system do not count, nor those whose answers it still
    shows. A system that shares answers with another one of its team, as if under another name, has withdrawn
    the runs of that one, too. `earlier` are the runs whose figures others show. Runs of other settings are
    compared by their files.
    """
    systems = {each.run.pk: each.run.system_id for each in shown.runs}

    def counts(run: Run) -> bool:
        """True also of a run that showed none, as it resembled one of another system."""
        source = earlier.get(run.pk, run.pk)
        return source is not None and (source == run.pk or systems.get(source) != run.system_id)

    withdrawn = [*(each for each in shown.withdrawn if counts(each.run)), *shown.withdrawn_beside]
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
    sources: dict[int, set[int]] = defaultdict(set)
    senders: dict[tuple[int, str], set[int]] = defaultdict(set)
    dropped: dict[int, list[tuple[int, Answers]]] = defaultdict(list)
    for each in (*shown.runs, *withdrawn):
        run = each.run
        if run.team_id not in teams or not (run.active or run.dropped):
            continue
        for key in (keys := answers(each)):
            senders[key].add(run.system_id)
        if run.active:
            own[run.system_id] |= keys
            sources[run.system_id].add(earlier.get(run.pk) or run.pk)
    for each in withdrawn:
        dropped[each.run.system_id].append((each.run.pk, answers(each)))
    return {
        system: n
        for system, keys in own.items()
        if (n := _count(keys, sources[system], [dropped[each] for each in sorted(_related(keys, senders))]))
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


def _count(own: Answers, sources: set[int], dropped: list[list[tuple[int, Answers]]]) -> int:
    seen, n = set(own), 0
    for of_system in dropped:
        for pk, answers in of_system:
            n += pk not in sources and seen.isdisjoint(answers)
            seen |= answers
    return n
