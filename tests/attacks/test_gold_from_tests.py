"""Reconstructions of hidden gold by two teams from the tests between their systems.

As in `test_gold_reconstruction`, each attack first succeeds without the rule that stops it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
import pytest

from evalsvc.evaluation.benchmarks.row_rules import BEST
from evalsvc.evaluation.benchmarks.versions import Run, Shown
from evalsvc.evaluation.boards.reading import Reading
from evalsvc.evaluation.disclosure import rules, shown_tests
from evalsvc.evaluation.disclosure.policy import Policy
from evalsvc.evaluation.disclosure.shown_tests import StoredTest, adjusted_if_let_out, shown_test
from evalsvc.evaluation.models import Setting, SettingVersion
from tests.attacks.oracle import NEGATIVE, RELATIONS, Labels, Oracle, simulated_gold
from workers.metrics.resampling import (
    differing_items,
    randomisation_p,
    randomise,
    table_tallies,
)
from workers.scoring.significance import ComparedMeasure, compare_runs, median_runs, within_steps

GUESSES, REPLICATES = 5, 999
KEY = "accuracy"


def seen(oracle: Oracle, stored: StoredTest, difference: float) -> tuple[object, ...]:
    """Return all that a test shows, but the difference of the figures, which the board shows."""
    [adjusted] = adjusted_if_let_out([stored], lambda test: "", lambda test: 1)
    test = shown_test(oracle.policy, KEY, adjusted, difference=difference, higher_is_better=True, withheld="")
    width = None if test.low is None or test.high is None else round(test.high - test.low, 9)
    return test.reason, test.p_text, test.p_holm_text, width, test.detectable, test.winner


def over_items(oracle: Oracle, a: Labels, b: Labels) -> tuple[object, ...]:
    """Return what a test over items shows of two files."""
    one, other = (table_tallies((file == oracle.labels)[:, None].astype(int)) for file in (a, b))
    difference = float(np.mean(a == oracle.labels) - np.mean(b == oracle.labels))
    differing = differing_items(one, other, [0])
    replicates = range(
        REPLICATES if differing >= shown_tests.FEW else 0
    )  # else p is withheld, whatever it is
    swapped = randomise(one, other, lambda sums: float(sums[0]) / len(a), replicates=replicates)
    p, step = randomisation_p(difference, swapped), oracle.policy.step(KEY)
    assert step
    figures = (rules.rounded(float(np.mean(file == oracle.labels)), step) for file in (a, b))
    exact = ComparedMeasure(
        KEY, difference=difference, low=-1, high=1, p=p, detectable=1, differing=differing
    )
    row = within_steps(exact, *figures, step)
    stored = StoredTest(
        *(0, 1, "over items", row.difference, row.low, row.high, row.p, row.p),
        detectable=row.detectable,
        differing=row.differing,
    )
    return seen(oracle, stored, row.difference)


def guess_beside_known(oracle: Oracle, known: int) -> int:
    """One team answers a guess a file, the other something wrong there and in as many known items.

    Returns the guesses that the test between both files decides.
    """
    random, gold = np.random.Generator(np.random.PCG64(11)), oracle.labels
    base = np.where(random.random(len(gold)) < 0.6, gold, (gold + 1) % RELATIONS)
    right = random.permutation(np.flatnonzero((base == gold) & (gold < NEGATIVE)))
    decided = 0
    for item in right[:GUESSES]:
        spoilt = base.copy()
        for at in (item, *right[GUESSES : GUESSES + known]):
            spoilt[at] = (gold[at] + 2) % RELATIONS
        wrong = base.copy()
        wrong[item] = (gold[item] + 1) % RELATIONS
        decided += over_items(oracle, base, spoilt) != over_items(oracle, wrong, spoilt)
    return decided


@pytest.mark.parametrize("items", [286, 5_000])
def test_a_test_over_items_decides_no_guess_beside_five_known_answers(
    items: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Six outcomes of one side alone pass p < .05, and five do not."""
    oracle = Oracle(simulated_gold(items))
    assert guess_beside_known(oracle, 5) == 0
    monkeypatch.setattr(shown_tests, "FEW", 0)
    assert guess_beside_known(oracle, 5) == GUESSES


def test_beside_nineteen_known_answers_it_decides_one_a_file_so_the_quota_is_the_bound() -> None:
    """Nineteen are withheld, and twenty are tested."""
    assert guess_beside_known(Oracle(simulated_gold(286)), 19) == GUESSES


def over_runs(oracle: Oracle, left: Sequence[float], right: Sequence[float], *, exact: bool) -> object:
    """Return what a test over runs shows of exact figures, or of those that the board shows."""
    step = oracle.policy.step(KEY)
    assert step
    sides = [[{KEY: each if exact else rules.rounded(each, step)} for each in side] for side in (left, right)]
    [row] = compare_runs([KEY], sides[0], sides[1])
    stored = StoredTest(
        0, 1, "over runs", row.difference, row.low, row.high, row.p, row.p, detectable=row.detectable
    )
    return seen(oracle, stored, row.difference)


@pytest.mark.parametrize(("items", "exact", "tried"), [(286, 33, 33), (5_000, 79, 83)])
def test_a_test_over_runs_tells_nothing_that_the_figures_shown_do_not(
    items: int, exact: int, tried: int
) -> None:
    """With two runs on each side an interval multiplies one label by up to 12.7."""
    oracle = Oracle(simulated_gold(items))
    step, random = oracle.policy.step(KEY) or 1.0, np.random.Generator(np.random.PCG64(12))
    decided, n = {True: 0, False: 0}, 0
    for _ in range(100):
        one, two, three, four = random.integers(items // 3, items - 1, 4) / items
        figures, guessed = [[one, two], [three, four]], [[one + 1 / items, two], [three, four]]
        if rules.rounded(one, step) != rules.rounded(guessed[0][0], step):
            continue  # the board shows it
        n += 1
        for form in decided:
            shown = [over_runs(oracle, *sides, exact=form) for sides in (figures, guessed)]
            decided[form] += shown[0] != shown[1]
    assert (decided[False], decided[True], n) == (0, exact, tried)


def equal_on_the_board(oracle: Oracle) -> list[tuple[float, tuple[float, float]]]:
    """Return the figure of a run beside those of another if a guess in it is wrong, or right.

    The other has one known answer less, and its guess where the first is known to be wrong. The board shows
    the same figure of all.
    """
    items, step = len(oracle.labels), oracle.policy.step(KEY)
    assert step
    figures = [(right / items, ((right - 1) / items, right / items)) for right in range(items // 3, items)]
    return [(a, b) for a, b in figures if len({rules.rounded(each, step) for each in (a, *b)}) == 1]


@pytest.mark.parametrize("other", [0.0, 1.0])
@pytest.mark.parametrize(("items", "tried"), [(286, 58), (5_000, 2_667)])
def test_which_of_two_runs_is_tested_as_the_median_tells_nothing_that_the_figures_shown_do_not(
    items: int, tried: int, other: float
) -> None:
    """The side with one run shows which of both is tested, whether it is behind both or ahead."""
    oracle = Oracle(simulated_gold(items))
    step, decided, pairs = oracle.policy.step(KEY) or 1.0, {True: 0, False: 0}, equal_on_the_board(oracle)
    for first, second in pairs:
        for exact in decided:
            tested = []
            for guess in second:
                sides = [{KEY: each if exact else rules.rounded(each, step)} for each in (first, guess)]
                tested.append(median_runs([KEY], sides, [{KEY: other}])[KEY][0])
            decided[exact] += tested[0] != tested[1]
    distinguished = tried if other == 0.0 else 0  # ahead of it, the first run is always one of the best
    assert (decided[False], decided[True], len(pairs)) == (0, distinguished, tried)


@pytest.mark.parametrize(("items", "tried"), [(286, 58), (5_000, 2_667)])
def test_which_run_a_hidden_setting_chooses_tells_nothing_that_the_figures_shown_do_not(
    items: int, tried: int
) -> None:
    """The row of another leaderboard names the run that is the best under the hidden one."""
    oracle = Oracle(simulated_gold(items))
    step, decided, pairs = oracle.policy.step(KEY) or 1.0, {True: 0, False: 0}, equal_on_the_board(oracle)
    setting = Setting(row_rule=f"{BEST}test", main=KEY, benchmark=oracle.policy.setting.benchmark)
    reading = Reading(Policy(setting, hidden=False), Shown(SettingVersion(), None, []), KEY)
    runs = [Run(pk, 1, str(pk), "", datetime.now(UTC), False, True, False) for pk in (1, 2)]
    for first, second in pairs:
        for exact in decided:
            chosen = []
            for guess in second:
                shown = [each if exact else rules.rounded(each, step) for each in (first, guess)]
                reading.elsewhere = {
                    (run.system_id, run.run): (each, run.created_at)
                    for run, each in zip(runs, shown, strict=True)
                }
                chosen += [run.pk for run in reading.chosen(runs)]
            decided[exact] += chosen[0] != chosen[1]
    assert (decided[False], decided[True], len(pairs)) == (0, tried, tried)
