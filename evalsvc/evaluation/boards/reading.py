"""Runs and values of boards, read from the rows for many boards at once."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from math import fsum, inf, sqrt
from typing import Any, NamedTuple

from django.db.models import Q
from msgspec.structs import replace

from evalsvc.evaluation.benchmarks import versions
from evalsvc.evaluation.benchmarks.row_rules import MEAN
from evalsvc.evaluation.benchmarks.versions import Run
from evalsvc.evaluation.boards.figures import EqualRuns, Figures, FiguresByMeasure, RunStatistics, SystemRuns
from evalsvc.evaluation.boards.withdrawals import count_withdrawn
from evalsvc.evaluation.disclosure.disclosed import OF_OTHER, needs_claims, shown_values, withheld_values
from evalsvc.evaluation.disclosure.distinct_runs import Firsts, keys_of
from evalsvc.evaluation.disclosure.history import histories
from evalsvc.evaluation.disclosure.policy import Policy, ShownValue
from evalsvc.evaluation.disclosure.rules import TINY
from evalsvc.evaluation.disclosure.sensitivity import TAU
from evalsvc.evaluation.final_runs import ended_for
from evalsvc.evaluation.measures.menu import shown_measures
from evalsvc.evaluation.models import Evaluation, Score

NOT_COMPUTED = "not computed for this form of predictions"
NO_VALUE = "the measure has no value for these predictions"
DIGITS = 15  # of means of runs; a float of a share has no more


@dataclass(eq=False)
class Reading:
    """Board while its distinct runs, and their values by run, are read."""

    policy: Policy
    shown: versions.Shown
    order_by: str
    measures: Collection[str] | None = None
    runs: dict[int, list[Run]] = field(default_factory=dict)
    equal: dict[int, list[tuple[Run, Run]]] = field(default_factory=dict)
    same: dict[int, list[Run]] = field(default_factory=dict)  # runs with the figures of each, itself first
    sent: dict[int, int] = field(default_factory=dict)  # first run with the answers of each, withdrawn or not
    withheld: set[int] = field(default_factory=set)  # runs that show no figures
    of_other: set[int] = field(default_factory=set)  # those as another system shows theirs
    similar: set[int] = field(default_factory=set)  # those for another run, not for a quota or a Ladder
    # values that choose a run, the higher the better, with their times: its own, and of files of its name
    elsewhere: dict[int | tuple[int, str], tuple[float, datetime]] = field(default_factory=dict)
    values: dict[int, dict[str, ShownValue]] = field(default_factory=dict)
    finals: Mapping[int, datetime] = field(default_factory=dict)  # when runs were chosen as final
    teams: Mapping[int, int] = field(default_factory=dict)  # by system, of teams with one entry
    withdrawn: Mapping[int, int] = field(default_factory=dict)  # numbers of runs, by system
    # names of files withdrawn under the setting that chooses, when figures of their runs here were known
    dropped: Collection[tuple[int, str]] = ()

    def __post_init__(self) -> None:
        """Tell distinct runs from those that equal an earlier one, the oldest of which stands for all."""
        scored = {each.run.pk: each for each in self.shown.runs}
        firsts, ever, own = Firsts(), Firsts(), []
        for pk, (run, _, digests, _) in sorted(scored.items()):
            keys = keys_of(digests, self.policy.setting, hidden=self.policy.hidden)
            self.sent[pk] = ever.of(pk, run.system_id, keys)
            if not run.active:
                continue
            first = scored[firsts.of(pk, run.system_id, keys)].run
            self.same.setdefault(first.pk, []).append(run)
            if first is run:
                own.append(run)
            else:
                self.equal.setdefault(run.system_id, []).append((run, first))
        for run in sorted(own, key=lambda run: (run.system_id, run.run, run.pk)):
            self.runs.setdefault(run.system_id, []).append(run)

    def count(self, earlier: Mapping[int, int | None]) -> Iterator[tuple[int, int | None]]:
        """Yield each run that counts, and the one whose figures it shows; tell those that show none.

        A near-duplicate shows the figures of an earlier run; beside that run, or another of its system that
        shows it, it counts for nothing. Of another system it shows none, as these are not its own.
        """
        firsts: dict[tuple[int, int], Run] = {}
        scored = {each.run.pk: each.run for each in self.shown.runs}
        for run in sorted(chain.from_iterable(self.runs.values())):
            shown = earlier.get(run.pk, run.pk)
            source = scored.get(shown) if shown else None
            if source and source.system_id != run.system_id:
                self.of_other.add(run.pk)
                source = None
            if source is None or shown is None:
                self.withheld.add(run.pk)
                self.similar |= {run.pk} if shown else set()
                yield run.pk, None
            elif (first := firsts.setdefault((run.system_id, shown), run)) is run:
                yield run.pk, shown
            else:
                self.same[first.pk] += self.same[run.pk]

    def chosen(self, runs: Sequence[Run]) -> Sequence[Run]:
        """Return those of the counted runs of a system that its row shows.

        One without figures only where the team chose it as final, or no other has any.
        """
        figured = self._figured(runs)
        rule = self.policy.setting.row_rule
        if rule == MEAN or not runs:
            return figured
        finals, same = self.finals, {run.pk: self.same.get(run.pk, [run]) for run in runs}
        final = [(finals[each.pk], run) for run in runs for each in same[run.pk] if each.pk in finals]
        if final:
            return [max(final)[1]]
        best = [(value, run.pk, run) for run in figured if (value := self._choosing_value(run)) is not None]
        # not by answers sent again: of runs whose figures it knows, a team would choose
        latest = max(figured, key=lambda run: self.sent.get(run.pk, run.pk))
        return [max(best)[2] if best else latest]

    def _choosing_value(self, run: Run) -> float | None:
        """Return the value by which a run is chosen; a team could choose by files sent after the end."""
        ended, names = ended_for(self.policy.setting, run.created_at), (run.pk, (run.system_id, run.run))
        found = (self.elsewhere[name] for name in names if name in self.elsewhere)
        return next((value for value, sent in found if ended is None or sent < ended), None)

    def _figured(self, runs: Sequence[Run]) -> Sequence[Run]:
        """Return the runs with figures, or one that says why there are none."""
        return [run for run in runs if run.pk not in self.withheld] or runs[:1]

    def counted_runs(self, system: int) -> list[Run]:
        return [run for run in self.runs[system] if run.pk in self.values]

    def shown_runs(self, system: int) -> Sequence[Run]:
        """Return the counted runs of a system with figures, or one that says why there are none."""
        return self._figured(self.counted_runs(system))

    def systems(self) -> list[SystemRuns]:
        """Sum up the runs of each system, and its distinct files."""
        aggregate_of = {each.run.pk: each.aggregate for each in self.shown.runs}
        every = {
            system: (*runs, *(run for run, _ in self.equal.get(system, ())))
            for system, runs in self.runs.items()
        }
        same = {each.run.pk: self._answers(each) for each in self.shown.runs}
        answers = {system: {same[run.pk] for run in runs} for system, runs in every.items()}
        holders: dict[str, list[int]] = defaultdict(list)
        for system, digests in answers.items():
            for digest in digests:
                holders[digest].append(system)
        entries, elsewhere, known = self._entries(), self._dropped_elsewhere(), self._known_systems()
        return [
            SystemRuns(
                system=system,
                n=sum(run.pk not in self.withheld for run in self.counted_runs(system)),
                newest=runs[-1].pk,
                last=max(run.created_at for run in runs),
                files=len({run.file_id for run in every[system]}),
                saw_gold=any(run.saw_gold for run in runs),
                equal=[EqualRuns(run.run, first.run) for run, first in self.equal.get(system, ())],
                sharing=sorted({other for each in answers[system] for other in holders[each]} - {system}),
                aggregates=sorted({name for run in runs if (name := aggregate_of[run.pk])}),
                names=[run.run for run in self.shown_runs(system)],
                chosen=self._chosen_name(system),
                entered=entries.get(self.teams.get(system), system) == system,
                withheld=sum(run.pk in self.withheld for run in runs),
                withdrawn=self.withdrawn.get(system, 0),
                withdrawn_elsewhere=elsewhere[system],
                similar=sum(run.pk in self.similar for run in runs),
                systems_of_team=max(len(known[runs[0].team_id]), 1),
            )
            for system, runs in self.runs.items()
        ]

    def _known_systems(self) -> dict[int, set[int]]:
        """Return the systems of which each team knows figures here, those withdrawn as a whole, too."""
        known = defaultdict[int, set[int]](set)
        figured = (run for run in chain.from_iterable(self.runs.values()) if run.pk not in self.withheld)
        for run in chain(figured, (each.run for each in self.shown.withdrawn)):
            known[run.team_id].add(run.system_id)
        return known

    def _dropped_elsewhere(self) -> Counter[int]:
        """Count runs whose file that could choose them was withdrawn when figures of theirs were known."""
        runs = chain.from_iterable(self.runs.values())
        return Counter(run.system_id for run in runs if (run.system_id, run.run) in self.dropped)

    def _answers(self, scored: versions.ScoredRun) -> str:
        """Identify the answers of a run; one file makes other rankings of bags as ONE than as AVG."""
        if not scored.aggregate:
            return scored.run.file_id
        order = "" if self.policy.hidden else scored.digests.order
        return order or f"{scored.run.file_id} {scored.aggregate}"

    def _entries(self) -> dict[int | None, int]:
        """Return the system of the final run of each team, else of its latest with figures."""
        last: dict[int | None, tuple[bool, bool, datetime, int, int]] = {}
        for system, runs in self.runs.items() if self.teams else ():
            for first, run in ((own, run) for own in runs for run in self.same[own.pk]):
                at = self.finals.get(run.pk)
                figured = at is None and first.pk not in self.withheld
                entry = (at is not None, figured, at or run.created_at, run.pk, system)
                if (team := self.teams.get(system)) is not None:
                    last[team] = max(last.get(team, entry), entry)
        return {team: system for team, (*_, system) in last.items()}

    def _chosen_name(self, system: int) -> str:
        runs = self.chosen(self.counted_runs(system))
        return runs[0].run if runs and self.policy.setting.row_rule != MEAN else ""


def read_values(readings: Collection[Reading]) -> None:
    """Read the newest values shown, by run and measure."""
    scores = _scores_of(readings)
    rows = _class_rows(readings)
    runs = [{each.pk for runs in reading.runs.values() for each in runs} for reading in readings]
    pasts = histories([(reading.policy, of) for reading, of in zip(readings, runs, strict=True)])
    for reading, past in zip(readings, pasts, strict=True):
        reading.withdrawn = count_withdrawn(reading.policy, reading.shown)
        evaluation_of = {each.run.pk: each.evaluation for each in reading.shown.runs}
        for pk, run in reading.count(past.earlier):
            at, ladder = evaluation_of.get(run or 0), past.ladder.get(pk)
            values = withheld_values(reading.policy, OF_OTHER if pk in reading.of_other else past.why(pk))
            if at is not None:
                values = shown_values(reading.policy, scores.get(at, ()), rows.get(at, []), ladder=ladder)
            reading.values[pk] = {value.measure: value for value in values}


def _scores_of(readings: Collection[Reading]) -> dict[int, list[_Stored]]:
    """Return the scores of evaluations; those of whole boards and of limited ones are read apart."""
    scores: dict[int, list[_Stored]] = defaultdict(list)
    for limited in (False, True):
        group = [each for each in readings if (each.measures is not None) == limited]
        stored = Score.objects.filter(_evaluations(group, prefix="evaluation__"))
        if limited:
            keys = (key for each in group for key in (each.order_by, *(each.measures or ())))
            stored = stored.filter(measure__in={*keys, TAU})
        for evaluation, *columns in stored.values_list("evaluation_id", *_Stored._fields) if group else ():
            scores[evaluation].append(_Stored(*columns))
    return scores


class _Stored(NamedTuple):
    """Columns of a score."""

    measure: str
    value: float | None
    reason: str


def _evaluations(readings: Iterable[Reading], *, prefix: str = "") -> Q:
    """Filter evaluations to the settings, and nearly to the versions, of boards."""
    shown = [reading.shown.version for reading in readings]
    columns: dict[str, set[object]] = {
        "setting__in": {each.setting_id for each in shown},
        "gold_sha256__in": {each.gold_sha256 for each in shown},
        "scorer__in": {each.scorer for each in shown},
    }
    return Q(**{prefix + name: values for name, values in columns.items()})


def _class_rows(readings: Collection[Reading]) -> dict[int, list[dict[str, Any]]]:
    """Return class rows where a precision's step depends on the claims."""
    counting = [each for each in readings if needs_claims(each.policy)]
    if not counting:
        return {}
    return dict(Evaluation.objects.filter(_evaluations(counting)).values_list("pk", "classes"))


def figures_of(reading: Reading) -> Figures:
    """Return statistics by measure and system, of the figures of runs as shown.

    Means of rounded figures are not rounded again, which would turn the order of systems.
    """
    values = reading.values
    columns: dict[str, dict[int, RunStatistics]] = defaultdict(dict)
    run_values: dict[str, dict[int, list[float | None]]] = defaultdict(dict)
    for system in reading.runs:
        runs = reading.shown_runs(system)
        chosen = [values[each.pk] for each in reading.chosen(reading.counted_runs(system))]
        of_runs = [values[each.pk] for each in runs]
        for key in dict.fromkeys(key for of_run in of_runs for key in of_run):
            scores = [of_run.get(key) for of_run in of_runs]
            columns[key][system] = run_statistics(
                [of_run.get(key) for of_run in chosen], rounded=reading.policy.hidden
            )
            run_values[key][system] = [score.value if score else None for score in scores]
    for column in columns.values():
        make_equal(column)
    shown = {each.key: columns[each.key] for each in shown_measures(reading.policy.setting, columns)}
    shown_runs = reading.shown
    return Figures(
        shown_runs.version, shown_runs.rescoring, reading.systems(), FiguresByMeasure(shown, run_values)
    )


def run_statistics(scores: Sequence[ShownValue | None], *, rounded: bool = False) -> RunStatistics:
    """Return mean, sample deviation, count and range of the defined values.

    Equal ones that are `rounded` have no deviation: that of the exact ones may be up to a step.
    """
    values = [score.value for score in scores if score and score.value is not None]
    undefined = [score for score in scores if not score or score.value is None]
    reason = ""
    if undefined:
        reason = (undefined[0].reason or NO_VALUE) if undefined[0] else NOT_COMPUTED
    n, of = len(values), len(scores)
    if not values:
        return RunStatistics(None, None, 0, of, None, None, reason)
    least, most = min(values), max(values)
    varies = most - least >= TINY  # else in the last digits of a float at most, as in tests of the runs
    mean = round(fsum(values) / n, DIGITS) if varies else least
    # statistics.stdev computes with fractions: seconds on a board of 10,000 runs
    squares = fsum((value - mean) ** 2 for value in values) if varies else 0.0
    sd = sqrt(squares / (n - 1)) if n > 1 and (varies or not rounded) else None
    return RunStatistics(mean, sd, n, of, least, most, reason)


def make_equal(column: dict[int, RunStatistics]) -> None:
    """Set means equal that differ in the last digits of a float alone, in which a mean of runs is inexact.

    So whoever compares means finds the ties that ranks show.
    """
    means = ((each.mean, system) for system, each in column.items())
    least = -inf
    for mean, system in sorted((mean, system) for mean, system in means if mean is not None):
        if mean > least + TINY:
            least = mean
        elif mean != least:
            column[system] = replace(column[system], mean=least)
