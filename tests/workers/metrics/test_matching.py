"""Pairing of spans: published cases, brute force, nervaluate, input order."""

import itertools
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nervaluate import Evaluator

from workers.metrics import matching
from workers.metrics.assignment import heaviest_assignment, heaviest_tree_matching
from workers.metrics.encoding import Vocabulary
from workers.metrics.matching import SCHEMAS, PairingCounts, document_pairings, pair_spans
from workers.metrics.spans import Spans, exact_counts, spans_of_columns
from workers.metrics.tags import spans_of_tags
from workers.metrics.weights import micro_averages

# name, gold, predicted; COR INC PAR MIS SPU of strict, exact, partial, type; exact F1, default and strict
CASES = [
    (
        "equal",
        "B-PER I-PER O B-LOC",
        "B-PER I-PER O B-LOC",
        [[2, 0, 0, 0, 0], [2, 0, 0, 0, 0], [2, 0, 0, 0, 0], [2, 0, 0, 0, 0]],
        1.0,
        1.0,
    ),
    (
        "boundary",
        "B-PER I-PER O B-LOC",
        "B-PER O O B-LOC",
        [[1, 1, 0, 0, 0], [1, 1, 0, 0, 0], [1, 0, 1, 0, 0], [2, 0, 0, 0, 0]],
        0.5,
        0.5,
    ),
    (
        "label",
        "B-PER I-PER O B-LOC",
        "B-ORG I-ORG O B-LOC",
        [[1, 1, 0, 0, 0], [2, 0, 0, 0, 0], [2, 0, 0, 0, 0], [1, 1, 0, 0, 0]],
        0.5,
        0.5,
    ),
    (
        "boundary and label",
        "B-PER I-PER O O",
        "B-ORG O O O",
        [[0, 1, 0, 0, 0], [0, 1, 0, 0, 0], [0, 0, 1, 0, 0], [0, 1, 0, 0, 0]],
        0.0,
        0.0,
    ),
    (
        "missed and spurious",
        "B-PER O O O",
        "O O O B-PER",
        [[0, 0, 0, 1, 1], [0, 0, 0, 1, 1], [0, 0, 0, 1, 1], [0, 0, 0, 1, 1]],
        0.0,
        0.0,
    ),
    (
        "split",
        "B-PER I-PER I-PER O",
        "B-PER B-PER I-PER O",
        [[0, 1, 0, 0, 1], [0, 1, 0, 0, 1], [0, 0, 1, 0, 1], [1, 0, 0, 0, 1]],
        0.0,
        0.0,
    ),
    (
        "merged",
        "B-PER I-PER B-PER I-PER",
        "B-PER I-PER I-PER I-PER",
        [[0, 1, 0, 1, 0], [0, 1, 0, 1, 0], [0, 0, 1, 1, 0], [1, 0, 0, 1, 0]],
        0.0,
        0.0,
    ),
    (
        "orphan",
        "B-PER I-PER O O",
        "I-PER I-PER O O",
        [[1, 0, 0, 0, 0], [1, 0, 0, 0, 0], [1, 0, 0, 0, 0], [1, 0, 0, 0, 0]],
        1.0,
        0.0,
    ),
    (
        "label switch",
        "B-PER I-PER O O",
        "B-PER I-ORG O O",
        [[0, 1, 0, 0, 1], [0, 1, 0, 0, 1], [0, 0, 1, 0, 1], [1, 0, 0, 0, 1]],
        0.0,
        0.0,
    ),
    ("nothing", "O O", "O O", [[0, 0, 0, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 0, 0]], 0.0, 0.0),
    (
        "only predicted",
        "O O",
        "B-PER O",
        [[0, 0, 0, 0, 1], [0, 0, 0, 0, 1], [0, 0, 0, 0, 1], [0, 0, 0, 0, 1]],
        0.0,
        0.0,
    ),
    (
        "over two",
        "B-PER I-PER B-LOC I-LOC O",
        "O B-LOC I-LOC O O",
        [[0, 1, 0, 1, 0], [0, 1, 0, 1, 0], [0, 0, 1, 1, 0], [1, 0, 0, 1, 0]],
        0.0,
        0.0,
    ),
]
Row = tuple[int, int, int]
span = st.tuples(st.integers(0, 7), st.integers(1, 4), st.integers(0, 1)).map(
    lambda s: (s[0], s[0] + s[1], s[2])
)
document = st.sets(span, max_size=5).map(sorted)


def spans_of(rows: list[Row]) -> Spans:
    start, end, label = zip(*rows, strict=True) if rows else ((), (), ())
    return spans_of_columns([0] * len(rows), start, end, label, n_documents=1)


def outcomes(gold: Spans, answer: Spans) -> list[list[int]]:
    total = PairingCounts(*document_pairings(gold, answer).sum(axis=0).tolist())
    return [list(total.outcome(schema)) for schema in SCHEMAS]


@pytest.mark.parametrize(("name", "gold", "answer", "expected", "default", "strict"), CASES)
def test_published_cases(name, gold, answer, expected, default, strict) -> None:
    labels = Vocabulary()
    sides = [spans_of_tags([tags.split()], labels=labels) for tags in (gold, answer)]
    assert outcomes(*sides) == expected, name
    for orphans, f1 in (("conlleval", default), ("strict-iob2", strict)):
        sides = [spans_of_tags([tags.split()], labels=labels, orphans=orphans) for tags in (gold, answer)]
        found = micro_averages(exact_counts(*sides, n_labels=len(labels)))["micro_f1"].value
        assert np.nan_to_num(found) == f1


def merit(gold: list[Row], answer: list[Row], pairs: list[tuple[int, int]]) -> tuple:
    bounds = [gold[i][:2] == answer[j][:2] for i, j in pairs]
    labels = [gold[i][2] == answer[j][2] for i, j in pairs]
    overlap = sum(min(gold[i][1], answer[j][1]) - max(gold[i][0], answer[j][0]) for i, j in pairs)
    both = sum(b and same for b, same in zip(bounds, labels, strict=True))
    first = tuple(-i for i, _ in pairs), tuple(-j for _, j in pairs)
    return (both, sum(bounds), len(pairs), sum(labels), overlap, *first)


def best_by_trying(gold: list[Row], answer: list[Row]) -> list[tuple[int, int]]:
    touching = [
        [j for j in range(len(answer)) if min(g[1], answer[j][1]) > max(g[0], answer[j][0])] + [None]
        for g in gold
    ]
    tried = []
    for choice in itertools.product(*touching):
        taken = [j for j in choice if j is not None]
        if len(taken) == len(set(taken)):
            tried.append([(i, j) for i, j in enumerate(choice) if j is not None])
    return max(tried, key=lambda pairs: merit(gold, answer, pairs))


@given(document, document)
def test_the_pairing_is_the_greatest_of_all_pairings(gold, answer) -> None:
    found = pair_spans(spans_of(gold), spans_of(answer))
    assert list(zip(found.gold.tolist(), found.predicted.tolist(), strict=True)) == best_by_trying(
        gold, answer
    )


@given(document, document, st.randoms(use_true_random=False))
def test_totals_do_not_depend_on_input_order(gold, answer, rng) -> None:
    before = outcomes(spans_of(gold), spans_of(answer))
    rng.shuffle(gold)
    rng.shuffle(answer)
    assert outcomes(spans_of(gold), spans_of(answer)) == before


def test_nervaluate_agrees_on_spans_without_competition() -> None:
    rng = random.Random(5)
    gold, answer = [], []
    for _ in range(40):
        starts = range(0, 40, 8)
        gold.append([{"label": rng.choice("AB"), "start": s, "end": s + 2} for s in starts])
        moved = [(s + rng.choice([0, 0, 1, 3]), rng.choice([1, 2])) for s in starts]
        answer.append([{"label": rng.choice("AB"), "start": s, "end": s + w} for s, w in moved])
    theirs = Evaluator(gold, answer, tags=["A", "B"]).evaluate()["overall"]
    sides = []
    for side in (gold, answer):
        rows = [
            (d, one["start"], one["end"] + 1, "AB".index(one["label"]))
            for d, doc in enumerate(side)
            for one in doc
        ]
        sides.append(spans_of_columns(*zip(*rows, strict=True), n_documents=40))
    for schema, name in zip(SCHEMAS, ("strict", "exact", "partial", "ent_type"), strict=True):
        ours = PairingCounts(*document_pairings(*sides).sum(axis=0).tolist()).outcome(schema)
        seen = theirs[name]
        assert list(ours) == [seen.correct, seen.incorrect, seen.partial, seen.missed, seen.spurious]


def test_a_long_tangle_maximises_pairs_before_labels() -> None:
    gold = [(i, i + 2, 0) for i in range(0, 400, 2)]
    answer = [(i + 1, i + 3, i // 2 % 2) for i in range(0, 400, 2)]
    assert document_pairings(spans_of(gold), spans_of(answer)).sum(axis=0).tolist() == [
        200,
        200,
        200,
        0,
        100,
        0,
    ]


@pytest.mark.parametrize("bits", [50, 24], ids=["exact", "overlap in larger units"])
def test_large_tangles_are_paired_as_well_as_by_integers(monkeypatch, bits) -> None:
    rng = random.Random(3)
    for labels, reach in ((1, 9), (3, 9), (3, 90)):
        sides = [
            sorted(
                {
                    (s := rng.randrange(120), s + rng.randint(1, reach), rng.randrange(labels))
                    for _ in "n" * 90
                }
            )
            for _ in "gp"
        ]
        gold, answer = map(spans_of, sides)
        merits = []
        for work in (10**9, 0):
            monkeypatch.setattr(matching, "_INTEGER_WORK", work)
            monkeypatch.setattr(matching, "_BITS", bits)
            matching.pair_spans.cache_clear()
            pairs = pair_spans(gold, answer)
            rows = list(zip(pairs.gold.tolist(), pairs.predicted.tolist(), strict=True))
            assert len({row for row, _ in rows}) == len({column for _, column in rows}) == len(rows)
            counts = document_pairings(gold, answer).sum(axis=0).tolist()
            overlap = int(matching._merits(gold, answer, pairs).overlap.sum())
            merits.append((counts, overlap if bits == 50 else 0))
        assert merits[0] == merits[1]


def test_a_tangle_of_thousands_of_spans_takes_no_steps_of_python_per_pair(monkeypatch) -> None:
    """Shifted spans, one less than gold: each assignment row by row looked through all before it."""
    monkeypatch.setattr(matching, "heaviest_assignment", None)
    gold = [(at, at + 20, 0) for at in range(2_500)]
    answer = [(at + 1, at + 19, 1) for at in range(2_499)]
    counts = document_pairings(spans_of(gold), spans_of(answer)).sum(axis=0).tolist()
    assert counts == [2_500, 2_499, 2_499, 0, 0, 0]
    long = [(at * 2_000, at * 2_000 + 39_000, 0) for at in range(2_500)]  # sums beyond exact floats
    counts = document_pairings(spans_of(long), spans_of([(a, b, 1) for a, b, _ in long])).sum(axis=0)
    assert counts.tolist() == [2_500, 2_500, 2_500, 2_500, 0, 0]


@given(st.lists(st.lists(st.integers(1, 9), min_size=4, max_size=4), min_size=1, max_size=4))
def test_the_assignment_is_the_heaviest(table) -> None:
    rows = [list(enumerate(weights)) for weights in table]
    found = heaviest_assignment(rows)
    total = sum(table[row][column] for row, column in enumerate(found) if column is not None)
    tried = max(
        sum(w[c] for w, c in zip(table, order, strict=False)) for order in itertools.permutations(range(4))
    )
    assert total == tried


@given(st.lists(st.tuples(st.integers(0, 99), st.integers(1, 9)), min_size=1, max_size=8))
def test_the_matching_in_a_tree_is_the_heaviest(grown) -> None:
    edges = [(above % (node + 1), node + 1, weight) for node, (above, weight) in enumerate(grown)]
    weight = {(one, other): w for one, other, w in edges}
    tried = 0
    for size in range(1, len(edges) + 1):
        for some in itertools.combinations(edges, size):
            ends = [end for edge in some for end in edge[:2]]
            tried = max(tried, sum(w for *_, w in some) if len(ends) == len(set(ends)) else 0)
    found = heaviest_tree_matching(len(edges) + 1, edges)
    assert len({end for pair in found for end in pair}) == 2 * len(found)
    assert sum(weight[min(pair), max(pair)] for pair in found) == tried


def test_no_gold_and_no_predictions_are_undefined() -> None:
    assert np.isnan(PairingCounts().outcome("strict").f1)


def test_pairing_counts_add() -> None:
    assert PairingCounts(1, 2, 1, 1, 0, 0) + PairingCounts(1, 0, 0, 0, 0, 0) == PairingCounts(
        2, 2, 1, 1, 0, 0
    )


def test_an_unknown_schema_is_rejected() -> None:
    with pytest.raises(ValueError, match="strict, exact, partial, type"):
        PairingCounts().outcome("loose")
