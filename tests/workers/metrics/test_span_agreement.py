"""Agreement on spans: F1 by type, α of tokens, confused types; against counting by hand."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.metrics.agreement import answers_of_table, coefficient
from workers.metrics.span_agreement import TokenCounter, confused_labels, shared_spans
from workers.metrics.spans import spans_of_lists

LABELS = ["LOC", "PER"]
Answers = list[list[tuple[int, int, str]]]
SPAN = st.tuples(st.integers(0, 4), st.integers(1, 2), st.sampled_from(LABELS)).map(
    lambda drawn: (drawn[0], drawn[0] + drawn[1], drawn[2])
)
ITEMS = st.lists(
    st.lists(st.lists(SPAN, unique=True, max_size=3), min_size=1, max_size=4), min_size=1, max_size=4
)


def columns(items: list[Answers]) -> tuple[list[int], Any]:
    item = [at for at, answers in enumerate(items) for _ in answers]
    return item, spans_of_lists([own for answers in items for own in answers], labels=LABELS)


@given(items=ITEMS)
def test_f1_of_a_type_is_that_of_all_pairs_of_answers(items: list[Answers]) -> None:
    shared, total = Counter[str](), Counter[str]()
    for answers in items:
        for a, b in combinations(answers, 2):
            for label in LABELS:
                own, other = ({span for span in side if span[2] == label} for side in (a, b))
                shared[label] += len(own & other)
                total[label] += len(own) + len(other)
    item, spans = columns(items)
    f1 = shared_spans(item, spans, n_labels=2).f1()
    sums = [(shared[label], total[label]) for label in LABELS] + [(shared.total(), total.total())]
    assert f1 == pytest.approx([2 * a / n if n else np.nan for a, n in sums], nan_ok=True)


@given(items=ITEMS)
def test_weights_are_repeated_items(items: list[Answers]) -> None:
    item, spans = columns(items)
    once, twice = columns([*items, items[0]]), [2, *[1] * (len(items) - 1)]
    repeated = shared_spans(*once, n_labels=2).f1()
    assert shared_spans(item, spans, n_labels=2).f1(twice) == pytest.approx(repeated, nan_ok=True)


@given(items=ITEMS)
def test_types_are_confused_on_the_same_bounds_only(items: list[Answers]) -> None:
    expected = np.zeros((2, 2), dtype=int)
    for answers in items:
        for a, b in combinations(answers, 2):
            for x in a:
                for y in b:
                    if x[:2] == y[:2]:
                        cell = LABELS.index(x[2]), LABELS.index(y[2])
                        expected[cell] += 1
                        if cell[0] != cell[1]:
                            expected[cell[::-1]] += 1
    item, spans = columns(items)
    assert confused_labels(item, spans, n_labels=2).tolist() == expected.tolist()


@given(items=ITEMS)
def test_alpha_of_tokens_is_the_nominal_one_of_their_sets_of_types(items: list[Answers]) -> None:
    n_tokens = 7
    counter, rows = TokenCounter(), []
    categories: dict[frozenset[str], int] = {}
    for answers in items:
        marked = [
            {at: frozenset(s[2] for s in own if s[0] <= at < s[1]) for at in range(n_tokens)}
            for own in answers
        ]
        counter.add([{at: each for at, each in own.items() if each} for own in marked], n_tokens)
        for at in range(n_tokens):
            rows.append(Counter(categories.setdefault(own[at], len(categories)) for own in marked))
    table = [[row[category] for category in range(len(categories))] for row in rows]
    expected = coefficient(answers_of_table(table), "alpha")
    assert counter.table().alpha() == pytest.approx(expected, nan_ok=True)


def test_krippendorffs_alpha_of_two_people_is_computed_by_hand() -> None:
    """Ten tokens, two answers: one agreed LOC, one LOC against nothing."""
    counter = TokenCounter()
    loc = frozenset(["LOC"])
    counter.add([{0: loc, 1: loc}, {0: loc}], 10)
    assert counter.table().alpha() == pytest.approx(1 - (2 * 19) / (20**2 - 17**2 - 3**2))
