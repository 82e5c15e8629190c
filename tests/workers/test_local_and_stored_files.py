"""A file that a benchmark accepts is a file that `score` and `compare` accept, with equal figures."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annotation.testset import TestSet, export_lines
from evalsvc.core.formats.npy import ColumnNames
from evalsvc.evaluation.measures.menu import MENU
from evalsvc.evaluation.models import Benchmark
from tests.cast.basics import jsonl
from tests.cast.benchmarks import RELATION_GOLD, BenchmarkCast, Line, freeze, gold_sentence
from workers.cli.command import main
from workers.runner import run_next

LABEL = [
    {"id": gold["id"], "label": (gold["relations"] or ["N/A"])[0] if at % 3 else "works_for"}
    for at, gold in enumerate(RELATION_GOLD)
]
SETS = [{"id": "s1", "labels": ["born_in", "part_of"]}, {"id": "s6", "labels": ["part_of"]}]
SCORES = [
    {"id": "s6", "scores": {"part_of": 0.2, "works_for": 0.9, "N/A": 0.5}},
    {"id": "s1", "scores": {"born_in": 0.9}},
    {"id": "s5", "scores": {}},
    {"id": "s2", "scores": {"born_in": 0.6, "part_of": 0.6}},
]
PAIRS = [
    {"h": "Q3", "t": "Q4", "relation": "works_for", "score": 0.5},
    {"h": "Q1", "t": "Q2", "relation": "N/A", "score": 0.7},
    {"h": "Q1", "t": "Q2", "relation": "part_of", "score": 0.75},
]
RESULTS = [{"entpair": [it["h"], it["t"]], "relation": it["relation"], "score": it["score"]} for it in PAIRS]
ANSWERS = b"s1 born_in\n"
SPANS = [
    {"id": "d3", "spans": [[0, 1, "PER"], [1, 3, "PER"]]},
    {"id": "d1", "spans": [[0, 1, "PER"], [2, 4, "PER"]]},
    {"id": "d2", "spans": [[0, 1, "LOC"]]},
]
TAGS = [
    {"id": "d1", "tags": ["B-PER", "O", "B-LOC", "I-LOC"]},
    {"id": "d2", "tags": ["O", "I-PER"]},
    {"id": "d3", "tags": ["B-PER", "O", "O"]},
]
COLUMNS = b"Ada B-PER\nleft O\nNew I-LOC\nTurin O\n\nIt O\nrained O\n\nBo B-PER\nmet O\nCy B-LOC\n"
NEGATIVE = ("--negative", "N/A")
RELATIONS = (*NEGATIVE, "--profile", "both")
ENTITIES = ("--task", "entities", "--scheme", "IOB2")
JOINT = [
    {"id": "d1", "spans": [[0, 1, "PER"], [2, 4, "PER"]], "relations": [[0, "left", 1]]},
    {"id": "d2", "spans": [[0, 1, "LOC"]]},
    {"id": "d3", "spans": [[2, 3, "PER"], [0, 1, "PER"]], "relations": [[0, "met", 1], [1, "left", 0]]},
]
TEXTS = [
    {"id": "d1", "entities": [["Ada", "PER"], ["New  Turin", "PER"], ["Oslo", "LOC"]]},
    {"id": "d2", "abstain": True},
    {"id": "d3", "entities": [["Bo", "PER"], ["Bo", "PER"], ["Cy", "NAME"]]},
]
TRIPLES = [
    {"id": "d1", "triples": [["Ada", "left", "New Turin"], ["Ada", "saw", "Turin"]]},
    {"id": "d2", "abstain": True},
    {"id": "d3", "triples": [["Cy", "met", "Bo"]]},
]
OUTSIDE = [gold_sentence(f"x{at}", f"X{at}", "Q2", "part_of") for at in range(4)]


def matrix(rows: int, columns: int) -> bytes:
    """Scores of a dense file, none of them equal."""
    file = io.BytesIO()
    np.save(file, np.linspace(-1, 1, rows * columns).reshape(rows, columns)[::-1].astype("<f4"))
    return file.getvalue()


CASES: list[tuple[str, list[Line] | bytes, tuple[str, ...]]] = [
    ("sentence", LABEL, ("--task", "classification", *NEGATIVE)),
    ("sentence", LABEL[::-1], ("--task", "classification", *NEGATIVE)),
    ("sentence", LABEL[:2], ("--task", "classification", *NEGATIVE, "--missing", "wrong")),
    ("sentence", SETS, ("--task", "sentences", *NEGATIVE)),
    ("sentence", SCORES, ("--task", "sentences", *RELATIONS)),
    ("sentence", matrix(6, 3), ("--task", "sentences", *RELATIONS)),
    ("sentence", matrix(6, 4), ("--task", "sentences", *RELATIONS, "--na", "last")),
    ("bag", LABEL, ("--task", "bags", *NEGATIVE)),
    ("bag", SETS, ("--task", "bags", *NEGATIVE)),
    ("bag", SCORES, ("--task", "bags", *RELATIONS)),
    ("bag", PAIRS, ("--task", "bags", *RELATIONS)),
    ("bag", RESULTS, ("--task", "bags", *RELATIONS)),
    ("bag", matrix(5, 3), ("--task", "bags", *RELATIONS)),
    ("document", SPANS, ENTITIES),
    ("document", TAGS, ENTITIES),
    ("document", COLUMNS, ENTITIES),
    ("document", TEXTS, ("--task", "entities")),
    ("joint", JOINT, ("--task", "joint", "--symmetric", "met")),
    ("joint", TRIPLES, ("--task", "joint", "--symmetric", "met")),
]


def benchmark_of(cast: BenchmarkCast, unit: str, words: tuple[str, ...]) -> tuple[Benchmark, TestSet]:
    missing = "wrong" if "wrong" in words else "refuse"
    if unit in ("document", "joint"):
        benchmark = cast.joint() if unit == "joint" else cast.entities(missing=missing)
    else:
        main = "ap" if unit == "bag" else "micro_f1"
        benchmark = cast.relations(unit, main, missing=missing)
    return benchmark, benchmark.settings.get().test_set


def stored_figures(
    cast: BenchmarkCast, benchmark: Benchmark, content: list[Line] | bytes, **more: Any
) -> Any:
    submission = cast.submit(benchmark, content, **more)
    while submission.state not in ("scored", "failed"):
        assert run_next("ingest") or run_next("score")
        submission.refresh_from_db()
    assert submission.state == "scored", submission.reason
    evaluation = submission.evaluations.get(setting__key="main")
    return {score.measure: score.value for score in evaluation.scores.all()}, evaluation.detail["counts"]


def local_figures(capsys: pytest.CaptureFixture[str], *words: object) -> dict[str, Any]:
    code = main([*map(str, words), "--json"])
    output = json.loads(capsys.readouterr().out)
    assert code == 0, output
    return dict(output)


def written(folder: Path, test_set: TestSet, content: list[Line] | bytes) -> tuple[Path, Path, Path]:
    gold, predictions, labels = folder / "gold.jsonl", folder / "predictions", folder / "labels.txt"
    gold.write_bytes(b"".join(export_lines(test_set)))
    predictions.write_bytes(content if isinstance(content, bytes) else jsonl(content))
    names = [label["name"] for label in test_set.labels if label.get("part") != "relation"]
    labels.write_text("".join(f"{name}\n" for name in names))
    return gold, predictions, labels


@pytest.mark.parametrize(("unit", "content", "words"), CASES)
def test_local_and_stored_files_give_equal_figures(
    cast: BenchmarkCast,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    unit: str,
    content: list[Line] | bytes,
    words: tuple[str, ...],
) -> None:
    benchmark, test_set = benchmark_of(cast, unit, words)
    names = ColumnNames(na="last") if "--na" in words else ColumnNames()
    stored, _ = stored_figures(cast, benchmark, content, names=names)
    gold, predictions, labels = written(tmp_path, test_set, content)
    local = local_figures(capsys, gold, predictions, *words, "--labels", labels)["measures"]
    assert len(local) > 3
    assert {key: stored[key] for key in local if key in MENU} == local
    same = ("--against", predictions, "--gold", gold, *words, "--labels", labels, "--replicates", 2)
    rows = local_figures(capsys, "compare", predictions, *same)["measures"]
    assert [row["measure"] for row in rows]
    for row in rows:
        value = stored[row["measure"]]
        assert row["a"] is value is None or row["a"] == row["b"] == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize(
    ("task", "own", "other"),
    [
        ("classification", LABEL, [{"id": line["id"], "label": "part_of"} for line in OUTSIDE]),
        ("sentences", SCORES, [{"id": line["id"], "scores": {"part_of": 0.3}} for line in OUTSIDE]),
    ],
)
def test_a_file_for_a_larger_setting_is_scored_on_the_smaller_one(
    cast: BenchmarkCast,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    task: str,
    own: list[Line],
    other: list[Line],
) -> None:
    small = freeze("small", RELATION_GOLD, by=cast.olga)
    large = freeze("large", [*OUTSIDE, *RELATION_GOLD], by=cast.olga, origin="source")
    settings = [("main", small, "sentence", "micro_f1"), ("large", large, "sentence", "micro_f1")]
    content = [*other, *own]
    stored, counts = stored_figures(cast, cast.benchmark(settings=settings), content)
    gold, predictions, labels = written(tmp_path, small, content)
    ranked = RELATIONS if task == "sentences" else NEGATIVE
    words = (gold, predictions, "--task", task, *ranked, "--labels", labels)
    local = local_figures(capsys, *words)
    assert counts["left_out"] == len(other)
    assert len(local["notes"]) == 1
    assert f" {len(other)} " in local["notes"][0]
    assert {key: stored[key] for key in local["measures"]} == local["measures"]


def test_every_listed_measure_is_a_figure_of_some_case_and_no_other(cast: BenchmarkCast) -> None:
    keys: set[str] = set()
    directed = ["Cause(e1,e2)", "Cause(e2,e1)"]
    gold = freeze("directed", [{"id": "1", "relations": directed[:1]}], by=cast.olga, labels=directed)
    settings = [("main", gold, "sentence", "semeval2010_f1")]
    benchmark = cast.benchmark("directed", labels=directed, negative="Other", settings=settings)
    keys |= stored_figures(cast, benchmark, [{"id": "1", "label": directed[0]}])[0].keys()
    for unit, files in (("sentence", [SCORES]), ("document", [TEXTS]), ("joint", [JOINT, TRIPLES])):
        benchmark, _ = benchmark_of(cast, unit, ())
        for run, content in enumerate(files):
            keys |= stored_figures(cast, benchmark, content, run=f"{run}")[0].keys()
    assert keys == set(MENU)
