"""Whether counts exist that give printed figures; the values are from an exact search over all counts."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsvc.evaluation.reported.feasibility import Counts, Interval, count_solutions, right_answers


def solve(gold: int, items: int | None, **printed: str) -> Counts:
    intervals = (Interval.of(printed[name]) if name in printed else None for name in "PRF")
    return count_solutions(gold, items, *intervals)


@pytest.mark.parametrize(
    ("gold", "items", "printed", "expected"),
    [
        (3325, 15509, {"P": "70.8", "R": "68.3", "F": "69.5"}, (12, (2270, 3204), (2272, 3211))),
        (3325, 15509, {"P": "70.8", "R": "68.3", "F": "69.8"}, (0, None, None)),
        (3325, 15509, {"P": "70.8", "R": "68.3", "F": "69.6"}, (2, (2272, 3207), (2272, 3208))),
        (3325, 15509, {"F": "72.5"}, (14240, (1889, 1889), (3325, 5853))),
        (3325, 15509, {"P": "70.80", "R": "68.30", "F": "69.53"}, (0, None, None)),
        (286, None, {"R": "50.01"}, (0, None, None)),
        (286, None, {"P": "62.5", "R": "50.0", "F": "55.6"}, (0, None, None)),
        (286, None, {"R": "49.8"}, (0, None, None)),
        (2263, 2717, {"P": "89.0", "R": "89.2", "F": "89.1"}, (4, (2018, 2267), (2019, 2269))),
        (2263, 2717, {"P": "89.2", "R": "89.0", "F": "89.1"}, (8, (2013, 2256), (2015, 2260))),
        (2263, 2717, {"P": "80.0", "R": "82.0", "F": "82.5"}, (0, None, None)),
        (40, 120, {"P": "0.0", "R": "0.0", "F": "0.0"}, (120, (0, 1), (0, 120))),
        (40, None, {"P": "100.0", "R": "100.0", "F": "100.0"}, (1, (40, 40), (40, 40))),
        (100, 120, {"P": "50.0", "R": "80.0", "F": "61.5"}, (0, None, None)),
        (100, None, {"P": "50.0", "R": "80.0", "F": "61.5"}, (1, (80, 160), (80, 160))),
        (200, None, {"P": "70", "R": "70", "F": "70"}, (9, (139, 198), (141, 202))),
        (200, None, {"P": "70.0", "R": "70.0", "F": "70.0"}, (1, (140, 200), (140, 200))),
    ],
)
def test_counts_that_give_printed_figures_are_those_of_an_exact_search(
    gold: int, items: int | None, printed: dict[str, str], expected: Counts
) -> None:
    assert solve(gold, items, **printed) == expected


@pytest.mark.parametrize(
    ("items", "printed", "solutions", "first"),
    [
        (2717, "89.1", 3, 2420),
        (286, "71.2", 0, None),
        (286, "71.3", 1, 204),
        (286, "71.33", 1, 204),
        (12, "66.6", 0, None),
        (12, "66.7", 1, 8),
        (7, "50.0", 0, None),
    ],
)
def test_an_accuracy_needs_a_whole_number_of_right_answers(
    items: int, printed: str, solutions: int, first: int | None
) -> None:
    found = right_answers(items, Interval.of(printed))
    assert (found.solutions, found.first and found.first[0]) == (solutions, first)


@given(st.integers(1, 60), st.data())
def test_figures_of_real_counts_are_always_possible(gold: int, data: st.DataObject) -> None:
    tp = data.draw(st.integers(0, gold))
    predicted = data.draw(st.integers(max(tp, 1), 90))
    ratios = Fraction(tp, predicted), Fraction(tp, gold), Fraction(2 * tp, predicted + gold)
    printed = dict(zip("PRF", (f"{float(100 * ratio):.1f}" for ratio in ratios), strict=True))
    assert solve(gold, 90, **printed).solutions >= 1
