"""Relations between predicted spans: three modes, ceilings and kinds of errors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workers.metrics.relations import (
    MODES,
    Links,
    argument_ceiling,
    claim_kinds,
    link_counts,
    links_of_columns,
)
from workers.metrics.spans import exact_counts, spans_of_columns
from workers.metrics.suites import relations_suite

RELATIONS = ["works_for", "lives_in", "based_in", "sibling"]
PER, ORG, LOC = range(3)
WORKS, LIVES, BASED, SIBLING = range(4)
# Each document: gold spans and relations, predicted ones, and (tp, fp, fn) by mode. Spans count tokens.
DOCUMENTS = [
    # right throughout
    (
        ([(0, 1, PER), (3, 4, ORG), (5, 6, LOC)], [(0, WORKS, 1), (1, BASED, 2)]),
        ([(0, 1, PER), (3, 4, ORG), (5, 6, LOC)], [(0, WORKS, 1), (1, BASED, 2)]),
        [(2, 0, 0), (2, 0, 0), (2, 0, 0)],
    ),
    # a label of an end differs
    (
        ([(0, 1, PER), (2, 4, ORG)], [(0, WORKS, 1)]),
        ([(0, 1, PER), (2, 4, LOC)], [(0, WORKS, 1)]),
        [(0, 1, 1), (1, 0, 0), (0, 1, 1)],
    ),
    # direction turned
    (
        ([(0, 1, PER), (2, 3, ORG)], [(0, WORKS, 1)]),
        ([(0, 1, PER), (2, 3, ORG)], [(1, WORKS, 0)]),
        [(0, 1, 1), (0, 1, 1), (0, 1, 1)],
    ),
    # a second claim on an overlapping span
    (
        ([(0, 4, ORG), (3, 4, LOC)], [(0, BASED, 1)]),
        ([(0, 4, ORG), (3, 4, LOC), (2, 4, LOC)], [(0, BASED, 1), (0, BASED, 2)]),
        [(1, 1, 0), (1, 1, 0), (1, 1, 0)],
    ),
    # a repeated claim
    (
        ([(0, 1, PER), (2, 3, ORG)], [(0, WORKS, 1)]),
        ([(0, 1, PER), (2, 3, ORG)], [(0, WORKS, 1), (0, WORKS, 1), (0, WORKS, 1)]),
        [(1, 0, 0), (1, 0, 0), (1, 0, 0)],
    ),
    # a relation without direction, reversed
    (
        ([(0, 1, PER), (2, 3, PER), (6, 7, PER)], [(0, SIBLING, 1), (1, SIBLING, 2)]),
        (
            [(0, 1, PER), (2, 3, PER), (6, 7, PER)],
            [(1, SIBLING, 0), (0, SIBLING, 1), (2, SIBLING, 1), (0, SIBLING, 2)],
        ),
        [(2, 1, 0), (2, 1, 0), (2, 1, 0)],
    ),
    # another mention of the same name
    (
        ([(0, 1, PER), (3, 4, PER), (6, 7, ORG)], [(1, WORKS, 2)]),
        ([(0, 1, PER), (3, 4, PER), (6, 7, ORG)], [(0, WORKS, 2)]),
        [(0, 1, 1), (0, 1, 1), (0, 1, 1)],
    ),
    # another relation between the same ends
    (
        ([(0, 1, PER), (3, 5, LOC)], [(0, LIVES, 1)]),
        ([(0, 1, PER), (3, 5, LOC)], [(0, WORKS, 1)]),
        [(0, 1, 1), (0, 1, 1), (0, 1, 1)],
    ),
    # bounds of an end differ
    (
        ([(0, 3, ORG), (4, 6, LOC)], [(0, BASED, 1)]),
        ([(0, 2, ORG), (4, 6, LOC)], [(0, BASED, 1)]),
        [(0, 1, 1), (0, 1, 1), (1, 0, 0)],
    ),
    # one predicted span over two gold spans
    (
        ([(0, 1, PER), (1, 2, ORG), (2, 3, ORG)], [(0, WORKS, 1), (0, WORKS, 2)]),
        ([(0, 1, PER), (1, 3, ORG)], [(0, WORKS, 1)]),
        [(0, 1, 2), (0, 1, 2), (1, 0, 1)],
    ),
    # no gold
    (([(0, 1, PER)], []), ([(0, 1, PER), (1, 2, LOC)], [(0, LIVES, 1)]), [(0, 1, 0), (0, 1, 0), (0, 1, 0)]),
    # no prediction
    (([(0, 1, PER), (2, 3, ORG)], [(0, WORKS, 1)]), ([], []), [(0, 0, 1), (0, 0, 1), (0, 0, 1)]),
    # two gold spans with the same bounds
    (
        ([(0, 2, ORG), (0, 2, LOC), (3, 4, PER)], [(2, WORKS, 0), (2, WORKS, 1)]),
        ([(0, 2, ORG), (3, 4, PER)], [(1, WORKS, 0)]),
        [(1, 0, 1), (1, 0, 0), (1, 0, 1)],
    ),
    # empty on both sides
    (([], []), ([], []), [(0, 0, 0), (0, 0, 0), (0, 0, 0)]),
]


def side(number: int, documents: list, *, symmetric: tuple[int, ...] = (SIBLING,)) -> Links:
    """Return gold (0) or predictions (1) of documents as columns."""
    spans, links = [], []
    for at, document in enumerate(documents):
        first = len(spans)
        spans += [(at, *span) for span in document[number][0]]
        links += [(first + head, name, first + tail) for head, name, tail in document[number][1]]
    columns = np.array(spans, dtype=np.int64).reshape(-1, 4).T
    rows = np.array(links, dtype=np.int64).reshape(-1, 3).T
    return links_of_columns(
        spans_of_columns(*columns, n_documents=len(documents)), *rows, symmetric=symmetric
    )


def totals(gold: Links, predicted: Links, mode: str) -> tuple[int, ...]:
    counts = link_counts(gold, predicted, mode=mode, n_relations=len(RELATIONS)).total()
    return tuple(int(column[0]) for column in (counts.tp, counts.fp, counts.fn))


@pytest.mark.parametrize("document", DOCUMENTS)
def test_each_kind_of_error_counts_as_its_mode_says(document) -> None:
    gold, predicted = side(0, [document]), side(1, [document])
    assert [totals(gold, predicted, mode) for mode in MODES] == document[2]


@pytest.mark.parametrize(
    ("symmetric", "expected"),
    [
        ((SIBLING,), [(7, 9, 9), (8, 8, 7), (9, 7, 7)]),
        ((), [(6, 11, 10), (7, 10, 8), (8, 9, 8)]),
    ],
)
def test_symmetric_relations_have_no_direction(symmetric, expected) -> None:
    sides = [side(number, DOCUMENTS, symmetric=symmetric) for number in (0, 1)]
    assert [totals(*sides, mode) for mode in MODES] == expected


def test_averages_equal_those_of_the_reference() -> None:
    values = relations_suite(side(0, DOCUMENTS), side(1, DOCUMENTS), relations=RELATIONS).values
    expected = {
        "relation_strict_micro_f1": 0.4375,
        "relation_strict_macro_f1": 0.4261904761904762,
        "relation_strict_weighted_f1": 0.41547619047619044,
        "relation_strict_dodrans_f1": 0.42726531649414207,
        "relation_strict_entropy_f1": 0.46617757830197887,
        "relation_bounds_micro_precision": 0.5,
        "relation_bounds_micro_recall": 0.5333333333333333,
        "relation_bounds_micro_f1": 0.5161290322580645,
        "relation_bounds_macro_f1": 0.46050420168067224,
        "relation_bounds_entropy_f1": 0.5039952556732732,
        "relation_relaxed_micro_f1": 0.5625,
        "relation_relaxed_dodrans_f1": 0.5478270557129835,
        "relation_relaxed_macro_all_f1": 0.5253968253968253,
        "relation_bounds_entity_f1": 0.8421052631578947,
        "relation_strict_ceiling": 10 / 16,
        "relation_bounds_ceiling": 11 / 15,
    }
    assert {key: values[key].value for key in expected} == pytest.approx(expected, abs=1e-12)


def test_entities_count_beside_relations_exactly() -> None:
    gold, predicted = side(0, DOCUMENTS).spans, side(1, DOCUMENTS).spans
    counts = exact_counts(gold, predicted, n_labels=3).total()
    assert (counts.tp[0], counts.fp[0], counts.fn[0]) == (23, 5, 7)


def test_wrong_claims_are_of_the_first_kind_that_fits() -> None:
    assert claim_kinds(side(0, DOCUMENTS), side(1, DOCUMENTS)) == {
        "right": 7, "direction": 1, "relation": 1, "label": 1, "bounds": 3, "argument": 1, "spurious": 2,
    }  # fmt: skip


def test_the_ceiling_of_no_relations_is_undefined() -> None:
    spans = side(0, DOCUMENTS[:1]).spans
    assert np.isnan(argument_ceiling(links_of_columns(spans, [], [], []), spans, labels=True))


ends = st.tuples(st.integers(0, 6), st.integers(1, 3), st.integers(0, 1))
documents = st.lists(ends, min_size=1, max_size=5, unique=True)


@st.composite
def answers(draw) -> tuple[list, list]:
    spans = [(start, start + length, label) for start, length, label in draw(documents)]
    row = st.integers(0, len(spans) - 1)
    return spans, draw(st.lists(st.tuples(row, st.integers(0, 1), row), max_size=6))


def greatest_pairing(gold, predicted) -> int:
    """Pair by trying everything."""
    if not gold:
        return 0
    first, rest = gold[0], gold[1:]
    best = greatest_pairing(rest, predicted)
    for at, other in enumerate(predicted):
        if first[0] == other[0] and all(
            a[2] == b[2] and a[0] < b[1] and b[0] < a[1] for a, b in zip(first[1:], other[1:], strict=True)
        ):
            best = max(best, 1 + greatest_pairing(rest, predicted[:at] + predicted[at + 1 :]))
    return best


@settings(max_examples=60)
@given(answers(), answers())
def test_the_relaxed_pairing_is_the_greatest_one(gold, predicted) -> None:
    document = (gold, predicted)
    tp, _, _ = totals(side(0, [document], symmetric=()), side(1, [document], symmetric=()), "relaxed")
    claims = [
        list({(name, spans[head], spans[tail]) for head, name, tail in links}) for spans, links in document
    ]
    assert tp == greatest_pairing(*claims)
