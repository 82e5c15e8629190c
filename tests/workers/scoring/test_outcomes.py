"""Outcomes of items as the scoring job stores them: kinds, F1, WRF, confusion."""

from __future__ import annotations

import pytest

from evalsvc.evaluation import shown_scores
from evalsvc.evaluation.disclosure.outcomes import KINDS, Outcomes, outcomes_of
from evalsvc.evaluation.models import Submission
from tests.cast.benchmarks import BenchmarkCast, Line, freeze
from workers.runner import run_next

DOCUMENTS = [
    (
        "w01",
        "the scroll tip is melted and the scroll is loose",
        [[1, 3, "loc"], [4, 5, "type"]],
        [[1, 3, "loc"], [4, 5, "type"], [7, 8, "loc"]],
    ),
    ("w02", "oil leak at front left seal", [[0, 2, "type"], [3, 6, "loc"]], [[0, 2, "loc"], [3, 6, "loc"]]),
    (
        "w03",
        "door panel broken panel",
        [[0, 2, "loc"], [2, 3, "type"], [3, 4, "loc"]],
        [[0, 2, "loc"], [2, 3, "type"]],
    ),
    ("w04", "noise noise noise", [[0, 1, "type"], [1, 2, "type"], [2, 3, "type"]], [[0, 1, "type"]]),
    ("w05", "pump fails", [[0, 1, "loc"]], []),
    ("w06", "all fine today", [], []),
    ("w07", "warning lamp on in dash", [], [[0, 2, "type"]]),
    (
        "w08",
        "blower motor ; blower ; blower motor seized",
        [[0, 2, "loc"], [5, 7, "loc"], [7, 8, "type"]],
        [[0, 2, "loc"], [3, 4, "loc"], [5, 7, "loc"], [7, 8, "type"]],
    ),
    (
        "w09",
        "Scroll worn , scroll cracked",
        [[0, 1, "loc"], [1, 2, "type"], [3, 4, "loc"], [4, 5, "type"]],
        [[0, 1, "loc"], [1, 2, "type"], [4, 5, "type"]],
    ),
    ("w10", "hinge squeaks loud", [[0, 1, "loc"], [1, 3, "type"]], [[0, 1, "loc"], [0, 2, "type"]]),
]  # id, tokens, gold, predicted
DIRECTED = ["Cause(e1,e2)", "Cause(e2,e1)", "Whole(e1,e2)"]


def stored(submission: Submission) -> Outcomes:
    while run_next("score"):
        pass
    [disclosed] = shown_scores.newest(submission)
    outcomes = outcomes_of(disclosed, None)
    assert outcomes is not None
    return outcomes


def kinds(outcomes: Outcomes) -> dict[str, set[str]]:
    return {
        name: {kind for at, kind in enumerate(KINDS) if mask >> at & 1}
        for name, mask in zip(outcomes.ids, outcomes.masks, strict=True)
    }


@pytest.fixture
def spans(cast: BenchmarkCast) -> Outcomes:
    lines: list[Line] = [
        {"id": name, "tokens": words.split(), "spans": gold, "relations": []}
        for name, words, gold, _ in DOCUMENTS
    ]
    labels = ["loc", "type", "cause"]
    gold = freeze("spans", lines, by=cast.olga, labels=labels, kind="entities")
    setting = ("main", gold, "document", "conll_micro_f1")
    benchmark = cast.benchmark("ner", task="entities", labels=labels, negative="", settings=[setting])
    answers = [{"id": name, "spans": predicted} for name, _, _, predicted in DOCUMENTS]
    return stored(cast.submit(benchmark, answers))


def test_documents_have_f1_and_wrf_and_are_counted_above_equal_and_below(spans: Outcomes) -> None:
    assert spans.against_f1 == (6, 2, 1, 1)
    expected = [
        *(("w04", 1.0, 0.5), ("w10", 0.7666666667, 0.5), ("w01", 1.0, 0.8), ("w03", 1.0, 0.8)),
        *(("w08", 1.0, 0.8571428571), ("w02", 0.5833333333, 0.5), ("w09", 0.8412698413, 0.8571428571)),
    ]
    assert [spans.ids[at] for at, _, _ in spans.widest] == [name for name, _, _ in expected]
    found = [figure for _, *both in spans.widest for figure in both]
    assert found == pytest.approx([figure for _, *both in expected for figure in both])
    assert spans.f1_scores[0] == pytest.approx(0.8)
    assert str(spans.f1_scores[5]) == "nan"


def test_spans_are_missed_spurious_or_wrong_in_bounds_or_type(spans: Outcomes) -> None:
    found = kinds(spans)
    assert found["w01"] == {"right", "spurious"}
    assert found["w02"] == {"right", "type"}
    assert found["w05"] == {"missed"}
    assert found["w06"] == set()
    assert found["w10"] == {"right", "bounds"}
    assert [(label, KINDS[kind], start, end) for label, kind, start, end in spans.predicted.of(0)] == [
        (0, "right", 1, 3),
        (1, "right", 4, 5),
        (0, "spurious", 7, 8),
    ]
    sums: dict[int, float] = {}
    for gold, _, weight in [*spans.confusion, *spans.apart]:
        sums[gold] = sums.get(gold, 0) + weight
    spans_of_gold = [span for _, _, gold, _ in DOCUMENTS for span in gold]
    assert (sums[0], sums[1]) == tuple(sum(s[2] == name for s in spans_of_gold) for name in ("loc", "type"))


def test_labels_are_missed_spurious_another_or_turned(cast: BenchmarkCast) -> None:
    truth = ["Cause(e1,e2)", "Cause(e1,e2)", "Cause(e1,e2)", "N/A", "N/A", "Whole(e1,e2)"]
    answers = ["Cause(e1,e2)", "Cause(e2,e1)", "Whole(e1,e2)", "N/A", "Cause(e1,e2)", "N/A"]
    lines = [
        {"id": f"s{n}", "text": "a b", "relations": [] if label == "N/A" else [label]}
        for n, label in enumerate(truth)
    ]
    gold = freeze("directed", lines, by=cast.olga, labels=DIRECTED)
    benchmark = cast.benchmark(labels=DIRECTED, settings=[("main", gold, "sentence", "micro_f1")])
    outcomes = stored(
        cast.submit(benchmark, [{"id": f"s{n}", "label": label} for n, label in enumerate(answers)])
    )
    expected = ["right", "direction", "relation", "right", "spurious", "missed"]
    assert kinds(outcomes) == {f"s{n}": {kind} for n, kind in enumerate(expected)}
    assert outcomes.confusion == [
        *[(-1, -1, 1.0), (-1, 0, 1.0), (0, 0, 1.0), (0, 1, 1.0), (0, 2, 1.0), (2, -1, 1.0)]
    ]


def test_of_several_labels_rows_of_the_confusion_sum_to_gold_counts_and_columns_to_claims(
    cast: BenchmarkCast,
) -> None:
    labels = ["a", "b", "c", "d"]
    truth = [["a", "b"], ["a"], ["b", "c"], ["d"], []]
    answers = [["c"], ["b", "c", "d"], ["b", "c"], [], ["a"]]
    lines = [{"id": f"s{n}", "text": "a b", "relations": of} for n, of in enumerate(truth)]
    gold = freeze("several", lines, by=cast.olga, labels=labels)
    benchmark = cast.benchmark(labels=labels, settings=[("main", gold, "sentence", "micro_f1")])
    claims = [{"id": f"s{n}", "labels": of} for n, of in enumerate(answers)]
    confusion = stored(cast.submit(benchmark, claims)).confusion
    for at, name in enumerate(labels):
        row = sum(weight for gold_label, _, weight in confusion if gold_label == at)
        column = sum(weight for _, label, weight in confusion if label == at)
        assert row == pytest.approx(sum(name in of for of in truth))
        assert column == pytest.approx(sum(name in of for of in answers))


def test_relations_between_spans_have_kinds_of_their_own(cast: BenchmarkCast) -> None:
    claims: list[Line] = [
        {"id": "d1", "spans": [[2, 4, "LOC"], [0, 1, "PER"]], "relations": [[0, "left", 1]]},
        {"id": "d2", "spans": [], "relations": []},
        {"id": "d3", "spans": [[0, 1, "PER"], [2, 3, "PER"]], "relations": [[1, "met", 0]]},
    ]
    outcomes = stored(cast.submit(cast.joint(), claims))
    assert kinds(outcomes) == {
        "d1": {"right", "missed relation", "turned relation"},
        "d2": set(),
        "d3": {"right"},
    }
    assert outcomes.predicted_links is not None
    [(label, kind, head, tail)] = outcomes.predicted_links.of(0)
    assert (outcomes.relations[label], KINDS[kind]) == ("left", "turned relation")
    spans = outcomes.predicted.of(0)
    assert (spans[head][2:], spans[tail][2:]) == ((2, 4), (0, 1))


def test_a_hidden_gold_gives_no_outcome_to_its_teams(cast: BenchmarkCast) -> None:
    benchmark = cast.relations()
    submission = cast.submit(benchmark, [{"id": f"s{n}", "label": "born_in"} for n in range(1, 7)])
    stored(submission)
    benchmark.settings.update(disclosure="hidden")
    [for_team], [for_organiser] = (shown_scores.newest(submission, person=p) for p in (cast.kim, cast.olga))
    assert outcomes_of(for_team, cast.kim) is None
    assert outcomes_of(for_organiser, cast.olga) is not None
