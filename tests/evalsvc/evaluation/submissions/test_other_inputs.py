"""Files about other inputs: named, if the submitter may read those."""

from __future__ import annotations

import io
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from django.utils import timezone

from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.formats.problems import FileRejected
from evalsvc.evaluation.benchmarks import creation
from evalsvc.evaluation.models import Benchmark, Setting
from evalsvc.evaluation.submissions import intake
from evalsvc.evaluation.submissions.other_inputs import Submitter
from tests.cast.basics import jsonl
from tests.cast.benchmarks import ENTITY_GOLD, RELATION_GOLD, BenchmarkCast, freeze

DEV, TEST = RELATION_GOLD[:3], RELATION_GOLD[3:]
COLUMNS = b"Ada\tB-PER\nleft\tO\nNew\tB-LOC\nTurin\tI-LOC\n\nIt\tO\nrained\tO\n"


def labels(items: list[Any]) -> bytes:
    return jsonl({"id": item["id"], "label": "born_in"} for item in items)


def phases(cast: BenchmarkCast, dev: Any, test: Any, unit: str = "sentence", **fields: Any) -> Benchmark:
    """A benchmark with a dev and a test phase over two sets."""
    benchmark = cast.benchmark(**fields)
    for phase, gold in (("dev", dev), ("test", test)):
        unit, main = ("document", "conll_micro_f1") if fields else (unit, "micro_f1")
        creation.add_setting(
            benchmark, key=phase, title=f"The {phase} set", test_set=gold, unit=unit, main=main,
            phase=phase, by=cast.olga, disclosure="open",
        )  # fmt: skip
    return benchmark


def hints(benchmark: Benchmark, content: bytes, by: User, *, by_token: bool = False) -> str:
    checked = intake.check(benchmark, [content], phase="test", by=Submitter(by, by_token))
    assert checked.problems.total
    return " ".join(problem.hint or "" for problem in checked.problems.first)


@pytest.fixture
def benchmark(cast: BenchmarkCast) -> Benchmark:
    return phases(cast, freeze("dev", DEV, by=cast.olga), freeze("test", TEST, by=cast.olga))


@pytest.fixture
def bags(cast: BenchmarkCast) -> Benchmark:
    """Two pairs in the dev phase, three in the test phase."""
    return phases(
        cast,
        *(
            freeze(name, [pair(f"{name}{at}", f"{name[0].upper()}{at}") for at in range(1, n)], by=cast.olga)
            for name, n in (("dev", 3), ("test", 4))
        ),
        unit="bag",
    )


def pair(id: str, tail: str) -> dict[str, Any]:
    mentions = {
        "h": {"id": "Q1", "name": "Ada", "pos": [0, 3]},
        "t": {"id": tail, "name": "x", "pos": [4, 5]},
    }
    return {"id": id, "text": f"Ada x {id}", "relations": ["born_in"]} | mentions


def matrix(rows: int, *, columns: int = 3, packed: bool = False) -> bytes:
    file, scores = io.BytesIO(), np.full((rows, columns), 0.5, dtype="f4")
    np.savez(file, scores=scores) if packed else np.save(file, scores)
    return file.getvalue()


@pytest.mark.parametrize("by_token", [False, True])
def test_a_dev_file_sent_to_the_test_phase_is_recognised(
    cast: BenchmarkCast, benchmark: Benchmark, by_token: bool
) -> None:
    hint = hints(benchmark, labels(DEV), cast.kim, by_token=by_token)
    assert hint.count("The dev set") == 1
    assert (
        "3 of the first 3 answers that do not fit belong to the inputs of “The dev set” of the dev phase. "
        "Choose the phase dev." in hint
    )
    with pytest.raises(FileRejected, match="The dev set"):
        cast.submit(benchmark, labels(DEV), phase="test")


def test_a_program_gets_the_address_of_the_inputs(cast: BenchmarkCast, benchmark: Benchmark) -> None:
    hint = hints(benchmark, labels(TEST[:1]), cast.kim, by_token=True)
    assert hint.count("Inputs: /api/v1/benchmarks/rel/inputs?phase=test.") == 1


def test_a_few_foreign_ids_are_no_other_file(cast: BenchmarkCast, benchmark: Benchmark) -> None:
    content = labels([DEV[0], *({"id": f"x{at}"} for at in range(5)), *TEST])
    assert "dev" not in hints(benchmark, content, cast.kim)


def test_inputs_that_are_not_out_yet_are_not_named(cast: BenchmarkCast, benchmark: Benchmark) -> None:
    opens = timezone.now() + timedelta(days=1)
    Setting.objects.filter(key="dev").update(opens_at=opens, closes_at=None)
    assert "dev" not in hints(benchmark, labels(DEV), cast.kim)
    assert "The dev set" in hints(benchmark, labels(DEV), cast.olga)


def test_a_closed_phase_is_named_but_not_offered(cast: BenchmarkCast, benchmark: Benchmark) -> None:
    Setting.objects.filter(key="dev").update(closes_at=timezone.now() - timedelta(days=1))
    hint = hints(benchmark, labels(DEV), cast.kim)
    assert "The dev set" in hint
    assert "Choose the phase" not in hint


def test_test_sets_are_named_only_to_their_readers(cast: BenchmarkCast, benchmark: Benchmark) -> None:
    freeze("secret", [RELATION_GOLD[0] | {"id": "hidden1"}], by=cast.olga)
    content = jsonl([{"id": "hidden1", "label": "born_in"}])
    assert "test set secret" in hints(benchmark, content, cast.olga)
    assert "secret" not in hints(benchmark, content, cast.olga, by_token=True)
    assert "belong" not in hints(benchmark, content, cast.kim)


def test_items_left_out_of_a_setting_are_none_of_its_inputs(cast: BenchmarkCast) -> None:
    whole, part = freeze("whole", DEV, by=cast.olga), freeze("part", DEV[:1], by=cast.olga)
    benchmark = cast.benchmark(settings=[("part", whole, "sentence", "micro_f1", part)])
    gold = freeze("test", TEST, by=cast.olga)
    creation.add_setting(
        benchmark, key="test", title="Test", test_set=gold, unit="sentence", main="micro_f1", phase="test",
        by=cast.olga, disclosure="open",
    )  # fmt: skip
    Setting.objects.filter(key="part").update(phase="dev")
    assert "belong" not in hints(benchmark, labels(DEV[1:]), cast.kim)
    assert "1 of the first 1" in hints(benchmark, labels(DEV[:1]), cast.kim)


def test_columns_of_the_dev_file_are_recognised_by_their_tokens(cast: BenchmarkCast) -> None:
    sets = [
        freeze(name, gold, by=cast.olga, labels=["PER", "LOC"], kind="entities")
        for name, gold in (
            ("dev", ENTITY_GOLD[:2]),
            ("test", [ENTITY_GOLD[2], ENTITY_GOLD[2] | {"id": "d4"}]),
        )
    ]
    benchmark = phases(cast, *sets, task="entities", labels=["PER", "LOC"], negative="")
    assert "2 of the first 2 answers" in hints(benchmark, COLUMNS, cast.kim)
    assert "The dev set" not in hints(
        benchmark, COLUMNS.replace(b"Ada", b"Eva").replace(b"It", b"We"), cast.kim
    )


# ---- forms without ids of their own ----------------------------------------------------------------
def test_scored_pairs_of_the_dev_phase_are_recognised(cast: BenchmarkCast, bags: Benchmark) -> None:
    dev = [{"h": "Q1", "t": f"D{at}", "relation": "born_in", "score": at / 9} for at in (1, 2, 2)]
    dev[2]["relation"] = "works_for"
    assert (
        "2 of the first 2 answers that do not fit belong to the inputs of “The dev set” of the dev phase. "
        "Choose the phase dev." in hints(bags, jsonl(dev), cast.kim)
    )
    strange = [{"h": "Q1", "t": "D9", "relation": "born_in", "score": 0.5}]
    assert "dev" not in hints(bags, jsonl(strange), cast.kim)


@pytest.mark.parametrize("packed", [False, True])
def test_a_matrix_with_the_rows_of_the_dev_phase_is_recognised(
    cast: BenchmarkCast, bags: Benchmark, packed: bool
) -> None:
    hint = hints(bags, matrix(2, packed=packed), cast.kim)
    assert "The 2 answers are as many as the inputs of “The dev set” of the dev phase." in hint
    assert "dev" not in hints(bags, matrix(7, packed=packed), cast.kim)


def test_a_matrix_with_wrong_columns_is_not_about_other_inputs(cast: BenchmarkCast, bags: Benchmark) -> None:
    assert "dev" not in hints(bags, matrix(3, columns=9), cast.kim)


def test_as_many_labels_as_the_dev_phase_has_are_recognised(cast: BenchmarkCast) -> None:
    dev = freeze("dev", DEV + TEST, by=cast.olga)
    benchmark = phases(cast, dev, freeze("test", TEST[:2], by=cast.olga))
    content = b"born_in\n" * 6
    found = hints(benchmark, content, cast.kim)
    assert "The 6 answers are as many as the inputs of “The dev set” of the dev phase." in found
    assert "dev" not in hints(benchmark, content + b"born_in\n", cast.kim)


@pytest.mark.parametrize("form", [{"spans": [[0, 3, "PER"]]}, {"tags": ["B-PER", "O", "O", "O"]}])
def test_the_same_numbers_as_ids_of_the_dev_phase_are_recognised(
    cast: BenchmarkCast, form: dict[str, Any]
) -> None:
    """Files of columns have numbers for ids, so that each phase has a sentence 1."""
    line = {"tokens": ["Ada", "left", "New", "Turin"], "spans": [[0, 1, "PER"]]}
    dev, test = ([line | {"id": str(at)} for at in range(1, n)] for n in (3, 5))
    sets = [
        freeze(name, gold, by=cast.olga, labels=["PER", "LOC"], kind="entities")
        for name, gold in (("dev", dev), ("test", test))
    ]
    benchmark = phases(cast, *sets, task="entities", labels=["PER", "LOC"], negative="")
    answered = jsonl({"id": item["id"]} | form for item in dev)
    assert "The 2 ids are exactly the inputs of “The dev set” of the dev phase." in hints(
        benchmark, answered, cast.kim
    )
    assert "dev" not in hints(benchmark, jsonl([{"id": "2"} | form, {"id": "3"} | form]), cast.kim)


def test_inputs_of_a_phase_in_several_sets_are_recognised_together(cast: BenchmarkCast) -> None:
    gold = [freeze(f"d{at}", DEV[at : at + 1], by=cast.olga) for at in (0, 1)]
    benchmark = phases(cast, gold[0], freeze("test", TEST, by=cast.olga))
    creation.add_setting(
        benchmark, key="more", title="More", test_set=gold[1], unit="sentence", main="micro_f1", phase="dev",
        by=cast.olga, disclosure="open",
    )  # fmt: skip
    assert "The 2 answers are as many as the inputs of “The dev set”" in hints(
        benchmark, b"born_in\nborn_in\n", cast.kim
    )


def test_a_file_of_the_right_phase_has_no_such_hint(cast: BenchmarkCast, benchmark: Benchmark) -> None:
    assert "belong" not in hints(benchmark, labels(TEST[:1]), cast.kim)
    with pytest.raises(DomainError):
        cast.submit(benchmark, labels(TEST), phase="")
