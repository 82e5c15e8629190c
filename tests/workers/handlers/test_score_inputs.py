"""Stored predictions read by columns and by lines: equal claims, equal rejections."""

from __future__ import annotations

import io
from typing import Any

import pytest

from evalsvc.core.formats.problems import Problems
from evalsvc.core.jobs.exceptions import InputFault
from evalsvc.evaluation.benchmarks import file_contract
from evalsvc.evaluation.models import Benchmark
from tests.cast.basics import jsonl
from tests.cast.benchmarks import BenchmarkCast, Line
from workers.handlers import score
from workers.scoring import prediction_files
from workers.scoring.predictions import Predictions

FORMAT = "jsonl-predictions"
LABELS: list[Line] = [{"id": f"s{n}", "label": "N/A" if n % 2 else "part_of"} for n in range(6, 0, -1)]
SCORES: list[Line] = [
    {"id": "s3", "scores": {"works_for": 0.5, "N/A": 0.9, "born_in": -1.5}},
    {"id": "s1", "scores": {}},
    {"id": "s2", "scores": {"N/A": 0.1}},
]
BAGS: list[Line] = [
    {"h": "Q3", "t": "Q4", "relation": "born_in", "score": 0.25},
    {"h": "Q1", "t": "Q2", "relation": "N/A", "score": 0.5},
    {"h": "Q1", "t": "Q2", "relation": "part_of", "score": 0.75},
]
RESULTS: list[Line] = [
    {"entpair": [bag["h"], bag["t"]], "relation": bag["relation"], "score": bag["score"]} for bag in BAGS
]
SPANS: list[Line] = [
    {"id": "d3", "spans": [[0, 1, "PER"], [2, 3, "LOC"]]},
    {"id": "d1", "spans": [[0, 1, "PER"], [0, 4, "LOC"]]},
    {"id": "d2", "spans": []},
]


def board(cast: BenchmarkCast, lines: list[Line], **fields: Any) -> Benchmark:
    if "spans" in lines[0]:
        return cast.entities(**fields)
    return cast.relations("sentence" if "id" in lines[0] else "bag", "ap", **fields)


def both(
    monkeypatch: pytest.MonkeyPatch, benchmark: Benchmark, lines: list[Line]
) -> tuple[Predictions, Predictions]:
    """Read lines by columns, which must be regular, then one by one."""
    contract, content = file_contract.for_new_file(benchmark), jsonl(lines)
    assert prediction_files.read_columns(io.BytesIO(content), contract.check(Problems())) is not None
    quick = score.load_predictions(contract, io.BytesIO(content), format=FORMAT)
    monkeypatch.setattr(prediction_files, "read_columns", lambda *args, **options: None)
    return quick, score.load_predictions(contract, io.BytesIO(content), format=FORMAT)


def claims(read: Predictions) -> list[tuple[Any, ...]]:
    columns = [read.score, read.start, read.end]
    more = [column.tolist() if len(column) else [None] * len(read.owner) for column in columns]
    named = ((read.keys[owner], label) for owner, label in zip(read.owner, read.label, strict=True))
    return sorted((*name, *rest) for name, *rest in zip(named, *more, strict=True))


def answered(read: Predictions) -> list[Any]:
    return [read.keys[line] for line in read.lines]


@pytest.mark.parametrize("lines", [LABELS, SCORES, BAGS, RESULTS, SPANS])
def test_both_readers_give_equal_claims(
    monkeypatch: pytest.MonkeyPatch, cast: BenchmarkCast, lines: list[Line]
) -> None:
    quick, careful = both(monkeypatch, board(cast, lines), lines)
    assert quick.form == careful.form
    assert claims(quick) == claims(careful)
    assert answered(quick) == answered(careful)


WRONG: list[tuple[list[Line], Line | None, str]] = [
    (LABELS, {"id": "s7", "label": "part_of"}, "unknown_id"),
    (LABELS, {"id": "s1", "label": "part_of"}, "duplicate_id"),
    (LABELS, {"id": "s1", "scores": {}}, "mixed_forms"),
    (LABELS[1:], {"id": "s6", "label": "partof"}, "near_label"),
    (LABELS[1:], None, "missing_id"),
    (SCORES, {"id": "s4", "scores": {"nothing": 1}}, "unknown_label"),
    (SCORES, {"id": "s1", "scores": {"born_in": 1}}, "duplicate_id"),
    (BAGS, {"h": "Q4", "t": "Q3", "relation": "born_in", "score": 0.25}, "unknown_id"),
    (BAGS, BAGS[0], "duplicate_claim"),
    (BAGS, BAGS[1], "duplicate_claim"),
    (SPANS[:2], {"id": "d2", "spans": [[0, 3, "PER"]]}, "bad_span"),
    (SPANS[:2], {"id": "d2", "spans": [[0, 1, "ORG"]]}, "unknown_label"),
    (SPANS[:2], None, "missing_id"),
]


@pytest.mark.parametrize(("right", "more", "code"), WRONG)
def test_a_file_that_no_longer_fits_is_rejected_with_a_code(
    cast: BenchmarkCast, right: list[Line], more: Line | None, code: str
) -> None:
    held, content = file_contract.for_new_file(board(cast, right)), jsonl([*right, *([more] if more else [])])
    with pytest.raises(InputFault) as fault:
        score.load_predictions(held, io.BytesIO(content), format=FORMAT)
    assert fault.value.code == code


def test_a_form_that_no_setting_accepts_is_rejected(cast: BenchmarkCast) -> None:
    with pytest.raises(InputFault) as fault:
        score.load_predictions(
            file_contract.for_new_file(cast.relations()), io.BytesIO(jsonl(BAGS)), format=FORMAT
        )
    assert fault.value.code == "mixed_forms"


def test_missing_predictions_are_accepted_where_they_count_as_wrong(
    monkeypatch: pytest.MonkeyPatch, cast: BenchmarkCast
) -> None:
    quick, careful = both(monkeypatch, board(cast, LABELS, missing="wrong"), LABELS[2:])
    assert claims(quick) == claims(careful)
    assert len(answered(quick)) == len(answered(careful)) == 4
