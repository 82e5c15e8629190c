"""Handlers of `compare`, `compare parts` and `board tests`: tests between systems of a board."""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain, combinations
from operator import attrgetter

import msgspec

from evalsvc.core.jobs.lease import Progress, fenced
from evalsvc.core.jobs.models import Job
from evalsvc.core.jobs.transitions import Store
from evalsvc.core.web.formatting import counted
from evalsvc.evaluation.benchmarks import contributed, file_contract
from evalsvc.evaluation.comparison import board_tests, compared
from evalsvc.evaluation.comparison.run_figures import THIN, class_rows
from evalsvc.evaluation.disclosure import rules
from evalsvc.evaluation.disclosure.disclosed import claims_of, shown_values
from evalsvc.evaluation.disclosure.distinct_runs import COLUMNS, Digests, keys_of
from evalsvc.evaluation.disclosure.policy import Policy, ShownValue, is_hidden
from evalsvc.evaluation.disclosure.shown_tests import AS_SHOWN, StoredTest
from evalsvc.evaluation.measures.composition import Composition
from evalsvc.evaluation.measures.families import class_key, label_of
from evalsvc.evaluation.measures.menu import as_shown, menu_of
from evalsvc.evaluation.models import (
    ComparisonPart,
    Evaluation,
    Score,
    Setting,
    StoredComparison,
)
from workers.handlers import reported, score
from workers.metrics.systems import holm
from workers.scoring.case import ScoringCase
from workers.scoring.gold import Gold
from workers.scoring.prediction_files import uncollected
from workers.scoring.replicates import Replicates, joined, packed, unpacked
from workers.scoring.resampled_comparison import Draws
from workers.scoring.significance import (
    ComparedMeasure,
    Sides,
    Values,
    compare_items,
    compare_runs,
    means_of,
    median_runs,
    replicates_of,
    within_steps,
    without_turned,
)

WELCH = "Welch’s t over runs"
PAIRED = "paired randomisation over {}"
SAME_RUNS = "both have a run with the same answers"
NO_RUNS = "a side has no run with figures of its own"
EARLIER_GOLD = "a side has one run, and the setting has another gold by now"
ITEMS = {"sentence": "sentences", "bag": "bags", "document": "documents"}
Pair = tuple[int, int]
Part = dict[str, list[object]]  # stored tests of a pair, by measure
Tests = dict[str, list[list[object]]]


def compare(subject: int, progress: Progress) -> Store:
    """Test every pair by every measure; Holm over the pairs of a measure.

    Each pair is stored when it is tested: an attempt that was interrupted goes on from there, and jobs of
    the kind `compare parts` test other pairs meanwhile. The replicates of few pairs are divided among the
    jobs. The figures are the same whoever computes them.
    """
    row = _row(subject)
    with uncollected():
        comparison = _Comparison(row, progress)
        while missing := comparison.missing():
            comparison.store_part(missing.pop(0))
            if missing:
                progress.end_turn()

    def store() -> None:
        tests = comparison.merged(dict(row.parts.values_list("number", "tests")))
        StoredComparison.objects.filter(pk=row.pk).update(tests=tests)
        row.parts.all().delete()

    return store


def compare_parts(subject: int, progress: Progress) -> Store:
    """Test pairs of a comparison, or ranges of their replicates, beside the job `compare`."""
    row = _row(subject)
    with uncollected():
        comparison = _Comparison(row, progress)
        # what another job computes at this moment is computed twice, to the same figures
        while missing := comparison.missing()[1:]:
            if not comparison.store_part(random.choice(missing)):  # noqa: S311 - nothing secret
                break
            progress.end_turn()
    return lambda: None


def _row(subject: int) -> StoredComparison:
    related = ("version", "setting__benchmark", "setting__test_set", "setting__only")
    return StoredComparison.objects.select_related(*related).get(pk=subject)


def compare_board(subject: int, progress: Progress) -> Store:
    """Test the first systems of a board by Welch over their runs, those of one run over items."""
    setting = Setting.objects.select_related("benchmark", "test_set", "only").get(pk=subject)
    row, measures = board_tests.begin(setting)
    with uncollected():
        systems = _Comparison(row, progress, measures=measures)
        while missing := systems.missing():
            systems.store_part(missing.pop(0))
            if missing:
                progress.end_turn()
        found = systems.tests()
    # hidden gold lets out no exact test, and no rounded one against figures that somebody entered
    reported = {} if is_hidden(setting) else systems.tests_against_reported()
    return board_tests.stored_by_job(row, found, reported, systems.macro_flip)


class _Comparison:
    """Runs of a comparison; their files are read when an item test needs them."""

    def __init__(self, row: StoredComparison, progress: Progress, *, measures: Collection[str] = ()) -> None:
        self.row, self.progress = row, progress
        self.setting: Setting = row.setting
        self.menu = menu_of(self.setting)
        keys = [evaluation for runs in row.runs for _, evaluation in runs]
        self.evaluations = Evaluation.objects.in_bulk(keys)
        self.values: dict[int, dict[str, float]] = {key: {} for key in keys}
        rows = Score.objects.filter(evaluation__in=keys)
        scores = list(rows.values_list("evaluation_id", "measure", "value"))
        for evaluation, measure, value in scores:
            if measure in self.menu and self.menu[measure].ranks:
                self.values[evaluation][measure] = math.nan if value is None else value
        self.hidden = is_hidden(self.setting)
        self.shown = self._shown_values(scores) if self.hidden else {}
        self.of_board = bool(measures)
        classes = [] if self.of_board else self._add_classes()
        self.measures = [*(measures or self.menu), *classes]
        self.submissions = compared.submissions(row)
        self.cases: dict[int, ScoringCase] = {}

    @cached_property
    def _policy(self) -> Policy:
        return Policy(self.setting, hidden=True, version=self.row.version)

    def _shown_values(self, scores: Iterable[tuple[int, str, float | None]]) -> dict[int, Values]:
        """Return the figures of each run as teams see them."""
        exact: dict[int, list[ShownValue]] = {}
        for evaluation, measure, value in scores:
            exact.setdefault(evaluation, []).append(ShownValue(measure, value))
        return {
            key: {
                shown.measure: shown.value
                for shown in shown_values(self._policy, exact.get(key, ()), evaluation.classes)
                if shown.value is not None
            }
            for key, evaluation in self.evaluations.items()
        }

    def _add_classes(self) -> list[str]:
        """Add the F1 of each class to the figures; return their keys."""
        keys = set()
        for pk, evaluation in self.evaluations.items():
            for row in class_rows(self.setting, evaluation.classes):
                if row["gold"] >= THIN:
                    keys.add(key := class_key(row["family"], row["label"]))
                    self.values[pk][key] = row["f1"]
        return sorted(keys)

    @cached_property
    def pairs(self) -> list[Pair]:
        return list(combinations(range(len(self.row.systems)), 2))

    @cached_property
    def shards(self) -> dict[int, dict[int, range]]:
        """Ranges of replicates under their numbers among the parts, of each pair that has several."""
        ranges = compared.ranges_of_replicates(len(self.over_items))
        if len(ranges) == 1 or self.of_board:
            return {}
        many = len(self.pairs)
        return {
            number: {many * at + number: each for at, each in enumerate(ranges, start=1)}
            for number in self.over_items
        }

    @cached_property
    def over_items(self) -> list[int]:
        """Numbers of the pairs that are tested over items."""
        return [number for number, pair in enumerate(self.pairs) if self._is_over_items(*pair)]

    def tests(self) -> Tests:
        """Return the tests of all pairs by measure."""
        parts = dict(self.row.parts.values_list("number", "tests"))
        for number in range(len(self.pairs)):
            self._report(number, len(self.pairs), "pair")
            if number not in parts:
                parts[number] = self._part(number)
        return self.merged(parts)

    def missing(self) -> list[int]:
        """Return the numbers of the parts that are not stored: pairs, or ranges of their replicates.

        Of a board only pairs over items are stored, each as one part: others take no time.
        """
        stored = set(self.row.parts.values_list("number", flat=True))
        numbers = self.over_items if self.of_board else range(len(self.pairs))
        parts = {number: [*self.shards.get(number, [number])] for number in numbers}
        missing = [each for number in parts.keys() - stored for each in parts[number] if each not in stored]
        total = sum(map(len, parts.values()))
        self._report(total - len(missing), total, "part of the tests" if self.shards else "pair")
        return sorted(missing)

    def _report(self, done: int, total: int, unit: str) -> None:
        shown = counted(total, unit) if unit == "pair" else f"{total} parts"
        self.report = (done, total, f"{done} of {shown} tested")
        self.progress(*self.report)

    def store_part(self, number: int) -> bool:
        """Compute a part, and store it; return False if nobody waits for it any more."""
        tests = self._part(number) if number < len(self.pairs) else self._shard(number)
        with fenced():
            row = (
                StoredComparison.objects.select_for_update(of=("self",))
                .select_related("job")
                .get(pk=self.row.pk)
            )
            if row.tests is not None or (row.job is not None and row.job.state in Job.ENDED):
                return False
            ComparisonPart.objects.get_or_create(comparison=row, number=number, defaults={"tests": tests})
        return True

    def _shard(self, number: int) -> Part:
        """Return replicates of a pair by measure, from a range of them."""
        pair = number % len(self.pairs)
        replicates = self._replicates(*self.pairs[pair], self.shards[pair][number])
        return {name: packed(each) for name, each in replicates.items()}

    def _part(self, number: int, replicates: Mapping[str, Replicates] | None = None) -> Part:
        """Return the tests of a pair by measure, not adjusted yet."""
        a, b = self.pairs[number]
        name, rows = self._pair(a, b, replicates)
        exact = rows if name in ("", WELCH) else self._without_turned(a, b, rows)
        runs = self._resampled(a, b, exact)
        part = {row.measure: _stored(a, b, name, row, runs.get(row.measure)) for row in exact}
        return part | self._as_shown(a, b, name, rows) if self.hidden else part

    def _resampled(self, a: int, b: int, rows: Sequence[ComparedMeasure]) -> dict[str, tuple[int, int]]:
        """Return the submissions of both sides that are tested over items, by measure."""
        names = [row.measure for row in rows if row.differing is not None]
        left, right = self.row.runs[a], self.row.runs[b]
        medians = self._sides(a, b).medians(names)
        return {name: (left[one][0], right[two][0]) for name, (one, two) in medians.items()}

    def _without_turned(self, a: int, b: int, rows: Sequence[ComparedMeasure]) -> Sequence[ComparedMeasure]:
        names = [row.measure for row in rows]
        left, right = (means_of(names, self._values(place)) for place in (a, b))
        return without_turned(rows, left, right, self._last_digits(names))

    def _last_digits(self, names: Iterable[str]) -> Values:
        """Return a unit of the last digit shown by measure, of classes that of their F1."""
        shown = {name: name if name in self.menu else "micro_f1" for name in names}
        return {name: as_shown(self.setting, key).last_digit for name, key in shown.items()}

    def _as_shown(self, a: int, b: int, name: str, rows: Sequence[ComparedMeasure]) -> Part:
        """Return the tests for teams, of figures as shown; over items, those of the median runs.

        Those of exact ones multiply single labels, by up to 12.7 with two runs. By few runs against many, or
        by half a step, the best of several systems of a team would be ahead too often.
        """
        sides = [[self.shown[evaluation] for _, evaluation in self.row.runs[place]] for place in (a, b)]
        exact = {row.measure: row for row in rows}
        names = [key for key in exact if all(key in run for side in sides for run in side)]
        steps = {key: self._step(key, a, b) for key in names}
        tests: Sequence[ComparedMeasure] = [exact[key] for key in names]
        if name == WELCH:
            few = rules.few_against_many(*map(len, sides))
            tests = compare_runs(names, *sides, least_df=few, steps=steps)
        elif name:
            medians = median_runs(names, *sides)
            figures = {key: (sides[0][one][key], sides[1][two][key]) for key, (one, two) in medians.items()}
            tests = [within_steps(row, *figures[row.measure], steps[row.measure]) for row in tests]
            digits = self._last_digits(names)
            roundings = {key: max(digits[key], steps[key]) for key in names}
            left, right = (means_of(names, side) for side in sides)
            tests = without_turned(tests, left, right, roundings)
        return {AS_SHOWN + row.measure: _stored(a, b, name, row) for row in tests}

    def _step(self, key: str, *places: int) -> float:
        """Return the greatest step of a measure over the runs at these places."""
        runs = (self.evaluations[run] for place in places for _, run in self.row.runs[place])
        return max(self._policy.step(key, claims_of(run.classes, key)) or 0.0 for run in runs)

    def merged(self, parts: Mapping[int, Part]) -> Tests:
        """Put the tests of all pairs together, adjusted over the pairs of a measure.

        All classes are one family.
        """
        by_measure: dict[str, list[StoredTest]] = {}
        for number in range(len(self.pairs)):
            part = parts[number] if number in parts else self._joined(number, parts)
            for measure, test in part.items():
                by_measure.setdefault(measure, []).append(msgspec.convert(test, StoredTest))
        classes = {key: by_measure.pop(key) for key in list(by_measure) if label_of(key)}
        adjusted = iter(_adjusted([row for rows in classes.values() for row in rows]))
        return {measure: _adjusted(rows) for measure, rows in by_measure.items()} | {
            key: [next(adjusted) for _ in rows] for key, rows in classes.items()
        }

    def _joined(self, number: int, parts: Mapping[int, Part]) -> Part:
        """Test a pair by the replicates of all its ranges."""
        shards = [parts[each] for each in self.shards[number]]
        return self._part(
            number, joined([{key: unpacked(row) for key, row in each.items()} for each in shards])
        )

    @property
    def macro_flip(self) -> float | None:
        """How far one answer in the rarest class moves macro F1 of a run, at most."""
        counts = (each.detail.get("counts") or {} for each in self.evaluations.values())
        return max(filter(None, (each.get("macro_flip") for each in counts)), default=None)

    def tests_against_reported(self) -> dict[str, object]:
        """Test each system of several runs against those of papers."""
        runs = {system: self._values(place) for place, system in enumerate(self.row.systems)}
        values = {system: of_system for system, of_system in runs.items() if len(of_system) > 1}
        return reported.tests_of_systems(self.setting, values, self.menu)

    def _pair(
        self, a: int, b: int, replicates: Mapping[str, Replicates] | None
    ) -> tuple[str, Sequence[ComparedMeasure]]:
        """Return the name of the test, and a row per measure that both sides have."""
        names, sides = self._common(a, b), self._sides(a, b)
        if reason := self._refusal(a, b):
            return "", [ComparedMeasure(name, reason=reason) for name in names]
        if not self._is_over_items(a, b):
            return WELCH, compare_runs(names, sides.left, sides.right)
        if self.of_board and self.hidden:  # it was open when the systems were chosen
            return "", []
        if replicates is None:
            replicates = self._replicates(a, b, range(compared.replicates(len(self.pairs))))
        return PAIRED.format(ITEMS[self.setting.unit]), compare_items(names, sides, replicates)

    def _replicates(self, a: int, b: int, numbers: range) -> dict[str, Replicates]:
        """Resample the runs of a pair; nothing for a pair without a test."""
        if self._refusal(a, b):
            return {}
        draws = Draws(numbers, compared.SEED, lambda: self.progress(*self.report))
        case = lambda side, at: self._case((a, b)[side], at)  # noqa: E731
        return replicates_of(
            self._common(a, b), self._sides(a, b), case=case, draws=draws, own=self._compositions
        )

    @cached_property
    def _compositions(self) -> dict[str, Composition]:
        return contributed.admitted(self.setting.benchmark, self.setting.kind)

    def _common(self, a: int, b: int) -> list[str]:
        """Return the measures that every run of both has."""
        runs = [*self._values(a), *self._values(b)]
        return [key for key in self.measures if runs and all(key in run for run in runs)]

    def _sides(self, a: int, b: int) -> Sides:
        return Sides(self._values(a), self._values(b), (self._as_chosen(a), self._as_chosen(b)))

    def _is_over_items(self, a: int, b: int) -> bool:
        return min(len(self.row.runs[a]), len(self.row.runs[b])) == 1

    def _values(self, place: int) -> list[Values]:
        return [self.values[evaluation] for _, evaluation in self.row.runs[place]]

    def _as_chosen(self, place: int) -> list[Values]:
        """Return the figures that choose the median run of a system: as shown, where hidden gold rounds them.

        Of runs with equal figures shown, the test would tell which is exactly better.
        """
        runs = [evaluation for _, evaluation in self.row.runs[place]]
        return [{**self.values[each], **self.shown.get(each, {})} for each in runs]

    def _refusal(self, a: int, b: int) -> str:
        if not self.row.runs[a] or not self.row.runs[b]:
            return NO_RUNS
        of_one_team = self._team(a) == self._team(b)
        # equal answers of other teams are not told while figures are held back
        if self._answers(a) & self._answers(b) and (of_one_team or not self.hidden):
            return SAME_RUNS
        version, setting = self.row.version, self.setting
        present = (setting.test_set_id, setting.only_id) == (version.test_set_id, version.only_id)
        return EARLIER_GOLD if self._is_over_items(a, b) and not present else ""

    def _team(self, place: int) -> int:
        return self.submissions[self.row.runs[place][0][0]].system.team_id

    def _answers(self, place: int) -> set[str]:
        """Return what the runs of a system share with equal ones."""
        digests = (attrgetter(*COLUMNS)(self.evaluations[key]) for _, key in self.row.runs[place])
        keys = (keys_of(Digests(*each), self.setting, hidden=self.hidden) for each in digests)
        return set(chain.from_iterable(keys))

    @cached_property
    def gold(self) -> Gold:
        return score.load_gold(self.setting, tick=lambda done: self.progress(*self.report))

    def _case(self, place: int, at: int) -> ScoringCase:
        """Read a run as it was scored."""
        submission, evaluation = self.row.runs[place][at]
        if evaluation not in self.cases:
            run = self.submissions[submission]
            options = self.evaluations[evaluation].options
            contract = file_contract.of_submission(run).reading(options)
            predictions = score.stored_predictions(run, contract, lambda done: self.progress(*self.report))
            scoring = score.scoring_options(options)
            self.cases[evaluation] = ScoringCase.of(self.gold, predictions, scoring)
        return self.cases[evaluation]


def _stored(
    a: int, b: int, name: str, row: ComparedMeasure, runs: tuple[int, int] | None = None
) -> list[object]:
    test = StoredTest(
        a,
        b,
        name,
        difference=score.number(row.difference),
        low=score.number(row.low),
        high=score.number(row.high),
        p=score.number(row.p),
        d=score.number(row.d),
        word=row.word,
        detectable=score.number(row.detectable),
        reason=row.reason,
        differing=row.differing,
        runs=runs,
    )
    return _as_stored(test)


def _adjusted(rows: list[StoredTest]) -> list[list[object]]:
    """Return the stored rows of a measure, adjusted over its pairs."""
    adjusted = holm([math.nan if row.p is None else row.p for row in rows]).tolist()
    stored = [
        msgspec.structs.replace(row, p_holm=score.number(p)) for row, p in zip(rows, adjusted, strict=True)
    ]
    return [_as_stored(row) for row in stored]


def _as_stored(test: StoredTest) -> list[object]:
    """Return the values as the database returns them: lists in place of tuples."""
    values: list[object] = msgspec.to_builtins(test)
    return [list(value) if isinstance(value, tuple) else value for value in values]
