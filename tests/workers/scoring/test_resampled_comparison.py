"""Ranges of replicates of two runs give, put together, the figures of all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

from evalsvc.evaluation.measures.families import class_key
from tests.cast.basics import jsonl
from workers.cli.local_files import Options, read_local_gold
from workers.scoring.case import ScoringCase
from workers.scoring.composed import composed
from workers.scoring.replicates import ResampledMeasure, joined, packed, unpacked
from workers.scoring.resampled_comparison import Draws, resampled
from workers.scoring.scorer import report_of

Cases = tuple[ScoringCase, ScoringCase]
LABELS = [{"id": f"s{at}", "label": "a" if at % 3 else "b"} for at in range(30)]
CLASS_A = class_key("classification", "a")
PAIRS = [{"h": f"h{at}", "t": f"t{at}", "relation": "a"} for at in range(20)]


def single_labels(folder: Path) -> Cases:
    other = [line | {"label": "a"} for line in LABELS]
    return cases(folder, "classification", LABELS, [LABELS[:27] + other[27:], other[:20] + LABELS[20:]])


def ranked(folder: Path) -> Cases:
    scored = [line | {"score": at / 20} for at, line in enumerate(PAIRS)]
    wrong = [line | {"t": "t0", "h": f"h{at}", "score": at / 9} for at, line in enumerate(PAIRS[1:8], 1)]
    return cases(folder, "bags", PAIRS, [scored, scored[5:] + wrong])


def cases(folder: Path, task: str, gold: Sequence[object], runs: Sequence[Sequence[object]]) -> Cases:
    for name, lines in (("gold", gold), ("a", runs[0]), ("b", runs[1])):
        (folder / f"{name}.jsonl").write_bytes(jsonl(lines))
    local = read_local_gold(folder / "gold.jsonl", Options(task=task), column=-1)
    return local.case(folder / "a.jsonl"), local.case(folder / "b.jsonl")


def part(two: Cases, measures: Sequence[str], numbers: range) -> Mapping[str, list[object]]:
    """Resample a range of replicates, as a process of its own stores it."""
    found = resampled(*two, measures=measures, draws=Draws(numbers, seed=7))
    return {name: packed(each) for name, each in found.items()}


@pytest.mark.parametrize("processes", [1, 2, 4])
@pytest.mark.parametrize(
    ("make", "measures"), [(single_labels, ["micro_f1", "accuracy"]), (ranked, ["ap", CLASS_A])]
)
def test_any_number_of_processes_gives_the_same_tests(
    tmp_path: Path, processes: int, make: object, measures: list[str]
) -> None:
    two = make(tmp_path)  # type: ignore[operator]
    step = 40 // processes
    ranges = [range(at, at + step) for at in range(0, 40, step)]
    with ProcessPoolExecutor(processes, mp_context=get_context("fork")) as pool:
        parts = list(pool.map(partial(part, two, measures), ranges))
    rows = joined([{name: unpacked(row) for name, row in each.items()} for each in parts])
    whole = resampled(*two, measures=measures, draws=Draws(range(40), seed=7))
    assert verdicts(rows) == verdicts(whole)
    assert {name: 0 < test.p < 1 for name, test in verdicts(whole).items()} == dict.fromkeys(measures, True)


def label_sets(folder: Path) -> Cases:
    gold = [{"id": f"s{at}", "labels": ["a", "b"][: at % 3]} for at in range(30)]
    wrong = [line | {"labels": ["b"]} for line in gold]
    return cases(folder, "classification", gold, [gold[:20] + wrong[20:], wrong[:9] + gold[9:]])


@pytest.mark.parametrize("make", [ranked, label_sets])
def test_what_is_resampled_is_the_score_that_pages_show(tmp_path: Path, make: object) -> None:
    """Of claims with scores those from the operating point of each run on."""
    two = make(tmp_path)  # type: ignore[operator]
    reports = [report_of(case) for case in two]
    names = [name for name, value in reports[0].values.items() if value.defined]
    found = resampled(*two, measures=[*names, CLASS_A], draws=Draws(range(10)))
    assert {"micro_f1", "entropy_f1", "macro_recall", "accuracy", CLASS_A} <= found.keys()
    for name in found.keys() - {CLASS_A}:
        pair = (found[name].a, found[name].b)
        assert pair == pytest.approx([each.values[name].value for each in reports]), name
    f1 = [next(row.f1 for row in each.classes["classification"] if row.label == "a") for each in reports]
    assert (found[CLASS_A].a, found[CLASS_A].b) == pytest.approx(f1)


def entities(folder: Path) -> Cases:
    gold = [
        {"id": f"d{at}", "text": "Ada left New Turin", "spans": [[0, 3, "PER"], [9, 18, "LOC"]]}
        for at in range(12)
    ]
    right = [{"id": line["id"], "spans": line["spans"]} for line in gold]
    wrong = [line | {"spans": [[0, 3, "LOC"], [13, 18, "LOC"]]} for line in right]
    return cases(folder, "entities", gold, [right[:9] + wrong[9:], wrong[:4] + right[4:]])


def entity_texts(folder: Path) -> Cases:
    gold = [
        {"id": f"d{at}", "text": "Ada left Turin", "spans": [[0, 3, "PER"], [9, 14, "LOC"]]}
        for at in range(12)
    ]
    right = [{"id": line["id"], "entities": [["Ada", "PER"], ["Turin", "LOC"]]} for line in gold]
    wrong = [line | {"entities": [["Ada", "LOC"], ["Turin", "city"]]} for line in right]
    return cases(folder, "entities", gold, [right[:9] + wrong[9:], wrong[:4] + right[4:]])


F2 = {"figure": "f1", "beta": 2.0, "scheme": "micro"}
OF_CLASSES = [F2, {"figure": "precision", "scheme": "entropy"}, {"figure": "recall", "scheme": "dodrans"}]
OF_WORDS = [
    {"figure": "precision", "over": "mean", "gamma": "lenient", "scheme": "dodrans"},
    {"figure": "f1", "over": "pooled", "gamma": "custom"}
    | {"gammas": {"classes": {"PER": 3.0, "LOC": 0.0}, "combined": 1.0}},
]


@pytest.mark.parametrize(
    ("make", "base", "labels"),
    [
        (single_labels, "classification", "ab"),
        (label_sets, "classification", "ab"),
        (ranked, "classification", "a"),
        (entities, "conll", ["PER", "LOC"]),
        (entity_texts, "conll", ["PER", "LOC"]),
        (entity_texts, "entity_texts", ["PER", "LOC"]),
    ],
)
def test_composed_measures_are_resampled_like_those_they_are_composed_of(
    tmp_path: Path, make: object, base: str, labels: Sequence[str]
) -> None:
    two = make(tmp_path)  # type: ignore[operator]
    weights = {"scheme": "custom", "weights": dict.fromkeys(labels, 1.0) | {labels[0]: 0.5}}
    parts = [
        {"base": base} | each for each in (*OF_CLASSES, {"figure": "f1", "labels": [labels[0]]} | weights)
    ]
    if "PER" in labels:
        parts += [{"base": "wrf"} | each for each in OF_WORDS]
    own = {f"own_{number}_v1": each for number, each in enumerate(parts)}
    found = resampled(*two, measures=[*own], draws=Draws(range(40)), own=own)
    assert found.keys() == own.keys()
    for key, each in found.items():
        expected = [composed(own[key], report_of(case), case).value for case in two]
        assert (each.a, each.b) == pytest.approx(expected), own[key]
        assert np.isfinite([*each.drawn, *each.swapped]).all()
    [narrow] = [each for key, each in found.items() if own[key].get("labels")]
    assert narrow.differing <= found["own_0_v1"].differing > 0


def verdicts(replicates: Mapping[str, object]) -> dict[str, ResampledMeasure]:
    return {name: each.tested() for name, each in replicates.items()}  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("key", "right", "wrong"),
    [
        (class_key("conll", "PER"), {"entities": [["Ada", "PER"]]}, {"entities": [["Ada", "LOC"]]}),
        (
            class_key("triple_texts", "left"),
            {"triples": [["Ada", "left", "Turin"]]},
            {"triples": [["Turin", "left", "Ada"]]},
        ),
    ],
)
def test_classes_of_answers_without_offsets_are_tested(
    tmp_path: Path, key: str, right: dict[str, object], wrong: dict[str, object]
) -> None:
    task = "entities" if "entities" in right else "joint"
    relations = {} if task == "entities" else {"relations": [[0, "left", 1]]}
    gold = [
        {"id": f"d{at}", "text": "Ada left Turin", "spans": [[0, 3, "PER"], [9, 14, "LOC"]]} | relations
        for at in range(20)
    ]
    names = [{"id": line["id"]} for line in gold]
    runs = [
        [name | right for name in names],
        [name | (right if at < 12 else wrong) for at, name in enumerate(names)],
    ]
    two = cases(tmp_path, task, gold, runs)
    found = resampled(*two, measures=[key], draws=Draws(range(100), seed=7))[key]
    missed = 8 if task == "entities" else 16  # a wrong triple is a false claim as well
    assert (found.a, found.b) == (1.0, pytest.approx(24 / (24 + missed)))
    assert found.tested().p < 0.05
