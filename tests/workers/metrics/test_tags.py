"""Spans from tags, and exact counts, against seqeval and worked cases."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.metrics.counts import Counts
from workers.metrics.encoding import Vocabulary
from workers.metrics.resampling import span_tallies
from workers.metrics.spans import Spans, exact_counts, spans_of_columns, spans_of_lists
from workers.metrics.tags import spans_of_tags
from workers.metrics.weights import micro_averages

TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-A-B", "I-A-B"]
sentence = st.lists(st.sampled_from(TAGS), max_size=9)
pairs = st.lists(
    sentence.flatmap(
        lambda tags: st.tuples(
            st.just(tags), st.lists(st.sampled_from(TAGS), min_size=len(tags), max_size=len(tags))
        )
    ),
    min_size=1,
    max_size=6,
)


def rows(spans: Spans) -> list[tuple[int, ...]]:
    return list(zip(*(column.tolist() for column in spans.columns), strict=True))


def counted(gold: list[list[str]], answer: list[list[str]], **options: str) -> Counts:
    labels = Vocabulary()
    spans = [spans_of_tags(side, labels=labels, **options) for side in (gold, answer)]
    return exact_counts(*spans, n_labels=len(labels))


def figures(counts: Counts) -> list[float]:
    values = micro_averages(counts)
    found = [values[f"micro_{kind}"].value for kind in ("precision", "recall", "f1")]
    return [0.0 if figure != figure else figure for figure in found]


@given(pairs)
@pytest.mark.parametrize("orphans", ["conlleval", "strict-iob2"])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_micro_figures_equal_seqeval(orphans, data) -> None:
    from seqeval.metrics import sequence_labeling, v1
    from seqeval.scheme import IOB2

    gold, answer = ([list(side) for side in column] for column in zip(*data, strict=True))
    if not any(tag != "O" for tags in gold + answer for tag in tags):
        return
    options = {"average": "micro", "zero_division": 0}
    if orphans == "conlleval":
        theirs = sequence_labeling.precision_recall_fscore_support(gold, answer, **options)
    else:
        theirs = v1.precision_recall_fscore_support(gold, answer, scheme=IOB2, **options)
    assert figures(counted(gold, answer, orphans=orphans)) == pytest.approx(list(theirs[:3]), abs=1e-12)


@given(pairs)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_bioes_equals_seqeval(data) -> None:
    from seqeval.metrics import sequence_labeling

    swap = {"B": "B", "I": "I", "P": "E", "L": "S"}
    rng = random.Random(1)
    gold, answer = (
        [[t if t == "O" else swap[rng.choice("BIPL")] + t[1:] for t in tags] for tags in column]
        for column in zip(*data, strict=True)
    )
    if not any(tag != "O" for tags in gold + answer for tag in tags):
        return
    theirs = sequence_labeling.precision_recall_fscore_support(
        gold, answer, average="micro", zero_division=0
    )[:3]
    assert figures(counted(gold, answer, scheme="bioes")) == pytest.approx(list(theirs), abs=1e-12)


@pytest.mark.parametrize(
    ("tags", "scheme", "orphans", "expected"),
    [
        ("B-X I-X O I-X", "iob2", "conlleval", [(0, 2), (3, 4)]),
        ("B-X I-X O I-X", "iob2", "strict-iob2", [(0, 2)]),
        ("I-X I-X B-X", "iob1", "conlleval", [(0, 2), (2, 3)]),
        ("B-X E-X S-X I-X", "bioes", "conlleval", [(0, 2), (2, 3), (3, 4)]),
        ("B-X L-X U-X", "bilou", "conlleval", [(0, 2), (2, 3)]),
        ("B-X I-Y", "iob2", "conlleval", [(0, 1), (1, 2)]),
        ("B-X I-Y", "iob2", "strict-iob2", [(0, 1)]),
        ("B I O", "iob2", "conlleval", [(0, 2)]),
    ],
)
def test_runs_of_tags(tags, scheme, orphans, expected) -> None:
    found = spans_of_tags([tags.split()], labels=Vocabulary(), scheme=scheme, orphans=orphans)
    assert [(start, end) for _, start, end, _ in rows(found)] == expected


def test_an_entity_never_crosses_a_sentence_boundary() -> None:
    found = spans_of_tags([["B-X"], [], ["I-X", "I-X"]], labels=Vocabulary())
    assert rows(found) == [(0, 0, 1, 0), (2, 0, 2, 0)]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: spans_of_tags([["S-X"]], labels=Vocabulary()), "'S-X' is .* iob2"),
        (lambda: spans_of_tags(["O"], labels=Vocabulary()), "flat list"),
        (lambda: spans_of_tags([], labels=Vocabulary(), scheme="bio"), "iob1, iob2, bioes, bilou"),
        (
            lambda: spans_of_tags([], labels=Vocabulary(), scheme="iob1", orphans="strict-iob2"),
            "reads iob2 only",
        ),
        (lambda: spans_of_columns([0], [2], [2], [0], n_documents=1), "start < end"),
        (lambda: spans_of_columns([0], [-1], [2], [0], n_documents=1), "0 or more"),
        (lambda: spans_of_columns([1], [0], [2], [0], n_documents=1), "document 1 of 1"),
        (lambda: spans_of_columns([0], [0], [2], [0, 1], n_documents=1), "one length"),
        (
            lambda: exact_counts(spans_of_lists([], labels=[]), spans_of_lists([[]], labels=[]), n_labels=1),
            "0 documents, predicted 1",
        ),
    ],
)
def test_invalid_spans_are_rejected(call, message) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_a_repeated_span_is_merged_and_counted() -> None:
    spans = spans_of_lists([[(0, 2, "A"), (0, 2, "A"), (0, 2, "B")]], labels=["A", "B"])
    assert (len(spans), spans.duplicates) == (2, 1)


def test_huge_positions_do_not_collide() -> None:
    far = 2**40
    gold = spans_of_columns([0, 3], [far, 0], [far + 9, far], [0, 1], n_documents=2**22)
    answer = spans_of_columns([3, 0], [0, far], [far, far + 8], [1, 0], n_documents=2**22)
    assert exact_counts(gold, answer, n_labels=2) == Counts.of([0, 1], [1, 0], [1, 0], items=2)


@given(pairs)
def test_documents_sum_to_the_total(data) -> None:
    gold, answer = ([list(side) for side in column] for column in zip(*data, strict=True))
    labels = Vocabulary()
    spans = [spans_of_tags(side, labels=labels) for side in (gold, answer)]
    whole = exact_counts(*spans, n_labels=len(labels))
    summed = span_tallies(*spans, n_labels=len(labels)).sums().reshape(3, -1)
    assert summed.tolist() == [whole.tp.tolist(), whole.predicted.tolist(), whole.gold.tolist()]
