"""Published gold in: a frozen set of its own, or no set at all."""

from __future__ import annotations

import json
from typing import Any

import pytest

from annotation.imports import batches
from annotation.models import Batch
from annotation.testset import TestSet, read_rows
from evalsvc.core.errors.exceptions import Conflict, DomainError, NotAllowed
from tests.cast.basics import person, sentence
from tests.cast.projects import curator, import_lines, jsonl_file
from tests.errors import code

pytestmark = pytest.mark.django_db


def gold(lines: list[Any], **options: Any) -> Batch:
    return import_lines(None, lines, what="gold", **({"name": "Published", "version": "1"} | options))


def test_gold_lines_become_a_frozen_hashed_set() -> None:
    batch = gold(
        [
            sentence("s0", relations=["A"]),
            sentence("s1", relations=["B", "A"]),
            sentence("s2", relations=["NA"]),
        ]
    )
    test_set = batch.test_set
    assert (test_set.state, test_set.origin, test_set.rows, test_set.negative) == (
        "frozen",
        "imported",
        3,
        "NA",
    )
    assert [label["name"] for label in test_set.labels] == ["A", "B"]
    assert [row["relations"] for row in read_rows(test_set)] == [["A"], ["B", "A"], []]
    test_set.verify()


def test_ids_and_labels_alone_are_enough() -> None:
    test_set = gold(["1\tCause-Effect(e1,e2)", "2\tOther"]).test_set
    assert list(read_rows(test_set)) == [
        {"id": "1", "relations": ["Cause-Effect(e1,e2)"]},
        {"id": "2", "relations": []},
    ]
    assert (test_set.negative, test_set.manifest["negative"]["from"]) == ("Other", "data")


def test_a_label_list_is_gold_numbered_by_line() -> None:
    test_set = gold(["pos_a", "pos_b", "pos_a"], format="labels", negative="pos_b").test_set
    assert [(row["id"], row["relations"]) for row in read_rows(test_set)] == [
        ("1", ["pos_a"]),
        ("2", []),
        ("3", ["pos_a"]),
    ]


def test_columns_become_spans_over_tokens() -> None:
    test_set = gold(
        ["Ada\tB-person", "saw\tO", "", "Turin\tB-place"], kind="entities", scheme="IOB2"
    ).test_set
    assert next(read_rows(test_set)) == {
        "id": "1",
        "tokens": ["Ada", "saw"],
        "spans": [[0, 1, "person"]],
        "relations": [],
    }


def test_one_invalid_line_rejects_the_whole_file() -> None:
    batch = gold([sentence("s0", relations=["A"]), sentence("s1")])
    assert (batch.state, batch.problems[0]["line"]) == ("refused", 2)
    test_set = TestSet.objects.get()
    assert (test_set.state, test_set.lines.count()) == ("failed", 0)


def test_a_label_outside_a_stated_inventory_is_rejected_with_a_suggestion() -> None:
    batch = gold([sentence("s0", relations=["born_inn"])], labels=["born_in", "lived_in"])
    assert "born_in" in batch.problems[0]["hint"]


def test_a_stated_inventory_keeps_its_order_and_its_unused_labels() -> None:
    test_set = gold([sentence("s0", relations=["B"])], labels=["A", "B"]).test_set
    assert [label["name"] for label in test_set.labels] == ["A", "B"]


def test_a_failed_import_frees_its_name_and_a_frozen_set_keeps_it() -> None:
    gold(["{"])
    assert gold([sentence("s0", relations=["A"])]).test_set.state == "frozen"
    with pytest.raises(Conflict, check=code("name_taken")):
        gold([sentence("s0", relations=["A"])])


def test_a_repeated_id_is_rejected() -> None:
    batch = gold(["1\tA", "1\tB"])
    assert (batch.state, batch.problems[0]["code"]) == ("refused", "duplicate_id")


def test_only_organisers_import_gold_and_need_a_name() -> None:
    upload = {"content": "gold", "upload": jsonl_file(["x"]), "filename": "f"}
    with pytest.raises(NotAllowed):
        batches.receive(**upload, by=person("nobody"), options={"name": "N", "version": "1"})
    with pytest.raises(DomainError, check=code("invalid_input")):
        batches.receive(**upload, by=curator())


def test_the_manifest_records_the_origin_of_the_set() -> None:
    test_set = gold([sentence("s0", relations=["A"])]).test_set
    assert test_set.manifest["file"]["name"] == "lines.jsonl"
    assert json.loads(json.dumps(test_set.manifest))["labels_from"] == "data"
