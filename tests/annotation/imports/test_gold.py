"""Published gold in: a frozen set of its own, or no set at all."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.imports import batches
from annotation.imports.upload_precheck import precheck
from annotation.models import Batch
from annotation.splits.making import items_of
from annotation.testset import TestSet, read_rows, verified_lines
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import Conflict, DomainError, NotAllowed
from evalsvc.core.formats.problem_kinds import KINDS
from evalsvc.core.jobs import queue, transitions
from tests.cast.basics import person, sentence
from tests.cast.projects import curator, import_lines, jsonl_file
from tests.errors import code
from workers.runner import run_next

pytestmark = pytest.mark.django_db
TAGS = {"kind": "entities", "scheme": "IOB2"}


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


@pytest.mark.parametrize("options", [{}, {"format": "jsonl-predictions"}])
def test_lines_with_labels_are_gold_without_text(options: dict[str, str]) -> None:
    lines = [{"id": "s1", "label": "born_in"}, {"id": 2, "label": "NA"}, {"id": "s3", "label": "works_for"}]
    batch = gold(lines, **options)
    assert [(row["id"], row["relations"]) for row in read_rows(batch.test_set)] == [
        ("s1", ["born_in"]),
        ("2", []),
        ("s3", ["works_for"]),
    ]
    assert batch.counts["without_text"] == 3


def test_triples_without_text_are_bags() -> None:
    names: Any = [{"id": "Q1", "name": "Ada"}, {"id": "Q2", "name": "Turin"}]
    lines = [
        {"h": names[0], "t": names[1], "relation": "born_in"},
        {"h": "Q2", "t": "Q1", "relation": "NA"},
        {"h": names[0], "t": names[1], "relation": "lived_in"},
    ]
    batch = gold(lines)
    rows = [(row["h"], row["t"], row["relations"]) for row in read_rows(batch.test_set)]
    assert rows == [
        (*names, ["born_in", "lived_in"]),
        ({"name": "Q2"}, {"name": "Q1"}, []),
    ]
    assert (batch.counts["items"], batch.counts["repeated_lines"]) == (2, 1)


@pytest.mark.parametrize(
    ("line", "options"),
    [
        ({"id": "d1", "spans": [[0, 1, "PER"]]}, {}),
        ({"id": "d1", "tags": ["S-PER", "O"]}, {"format": "jsonl-predictions", "scheme": "BIOES"}),
        ({"id": "d1", "tags": ["S-PER", "O"]}, {"scheme": "BIOES"}),
        ({"id": "d1", "tokens": ["Ada", "ran"], "tags": ["B-PER", "O"]}, {"scheme": "IOB2"}),
    ],
)
def test_spans_and_tags_are_gold_with_or_without_text(line: dict[str, Any], options: dict[str, str]) -> None:
    test_set = gold([line], kind="entities", **options).test_set
    assert next(read_rows(test_set))["spans"] == [[0, 1, "PER"]]


@pytest.mark.parametrize(
    ("repair", "code", "spans"),
    [
        ("conlleval", "repaired_tag", [[0, 1, "PER"], [2, 3, "LOC"]]),
        ("strict", "dropped_tag", [[2, 3, "LOC"]]),
    ],
)
def test_the_import_counts_each_kind_of_repair_of_tags(
    client: Client, repair: str, code: str, spans: list[Any]
) -> None:
    client.force_login(curator())
    line = {"id": "d1", "tokens": ["Ada", "saw", "Rome"], "tags": ["I-PER", "O", "B-LOC"]}
    batch = gold([line], kind="entities", scheme="IOB2", repair=repair)
    assert batch.counts["warnings"] == {code: 1}
    assert next(read_rows(batch.test_set))["spans"] == spans
    shown = client.get(reverse("import", args=[batch.pk])).context["warning_counts"]
    assert shown == f"1 × an entity{KINDS[code].message.removeprefix('An entity').rstrip('.')}"


@pytest.mark.parametrize(
    ("lines", "options", "problem"),
    [
        ([{"id": "s1", "label": "born_in"}], {"kind": "entities"}, ("mixed_forms", 1, "relations")),
        ([{"id": "d1", "spans": [[0, 1, "PER"]]}], {}, ("mixed_forms", 1, "spans")),
        ([{"id": "d1", "tags": ["B-PER"]}], {"kind": "entities"}, ("no_scheme", None, "scheme")),
        ([{"id": "d1", "tokens": ["a"], "tags": ["O", "O"]}], TAGS, ("token_mismatch", 1, "tags")),
        ([{"id": "d1", "text": "a", "tags": ["O"]}], TAGS, ("missing_key", 1, "tokens")),
        ([{"id": "d1", "tokens": ["a"], "tags": ["O"], "spans": []}], TAGS, ("mixed_forms", 1, "tags")),
        ([{"id": "d1", "tokens": ["a"], "tags": ["S-PER"]}], TAGS, ("bad_tag", 1, "tags[0]")),
        ([{"id": "s1", "scores": {"born_in": 0.5}}], {}, ("mixed_forms", 1, None)),
        (["pos", "neg", "", "pos"], {"format": "labels"}, ("wrong_columns", 3, None)),
        ([{"h": "", "t": "Q1", "relation": "r"}], {}, ("wrong_type", 1, "h")),
    ],
)
def test_gold_of_another_kind_is_rejected_with_its_line(
    lines: list[Any], options: dict[str, str], problem: tuple[Any, ...]
) -> None:
    batch = gold(lines, **options)
    assert batch.state == "refused"
    first = batch.problems[0]
    assert (first["code"], first.get("line"), first.get("field")) == problem


@pytest.mark.parametrize("kind", ["entities", "joint"])
def test_gold_with_lines_in_tokens_and_lines_in_text_is_rejected(kind: str) -> None:
    """It has no words that WRF compares, so every file of spans failed."""
    spans = {"spans": [[0, 1, "PER"]], "relations": []}
    tokens, text = {"tokens": ["A", "b"]} | spans, {"text": "A b"} | spans
    lines = [{"id": f"d{at}"} | line for at, line in enumerate((tokens, spans, tokens, text, text))]
    [problem] = gold(lines, kind=kind).problems
    assert (problem["code"], problem["line"], problem["field"]) == ("mixed_forms", 4, "text")
    assert problem["expected"] == "tokens, as in line 1"
    assert gold(lines[:3], kind=kind).test_set.rows == 3


def test_an_unknown_label_is_reported_on_its_own_line() -> None:
    columns = ["Ada\tB-person", "saw\tO", "New\tB-pplace", "York\tI-pplace"]
    blocks = ['1\t"The <e1>a</e1> of <e2>b</e2>."', "Born-In(e1,e2)", "Comment: x"]
    for lines, options, line in (
        (columns, {"kind": "entities", "scheme": "IOB2", "labels": ["person", "place"]}, 3),
        (blocks, {"labels": ["Message-Topic(e1,e2)"]}, 2),
    ):
        batch = gold(lines, **options)
        assert [(each["code"], each["line"]) for each in batch.problems] == [("unknown_label", line)]


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


def test_labels_that_are_not_stated_are_sorted_by_name() -> None:
    test_set = gold([sentence("s0", relations=["B"]), sentence("s1", relations=["B", "A", "NA"])]).test_set
    assert [label["name"] for label in test_set.labels] == ["A", "B"]


def test_a_failed_import_frees_its_name_and_a_frozen_set_keeps_it() -> None:
    gold(["{"])
    assert gold([sentence("s0", relations=["A"])]).test_set.state == "frozen"
    with pytest.raises(Conflict, check=code("name_taken")):
        gold([sentence("s0", relations=["A"])])


def test_a_failed_import_of_somebody_else_keeps_its_set() -> None:
    kept = gold(["{"]).test_set
    other = User.objects.create_superuser("ruth")
    with pytest.raises(Conflict, check=code("name_taken")):
        gold([sentence("s0", relations=["A"])], by=other)
    assert TestSet.objects.get() == kept


def test_a_failed_import_can_be_retried_from_its_page(client: Client) -> None:
    upload = {"content": "gold", "upload": jsonl_file([sentence("s0", relations=["A"])]), "filename": "f"}
    batch = batches.receive(**upload, by=curator(), options={"name": "N", "version": "1"})
    job = queue.claim("ingest")
    assert job
    transitions.fail(job, code="worker_lost", reason="The worker process ended.")
    assert TestSet.objects.get().state == "failed"
    client.force_login(batch.by)
    assert "Retry import" in client.get(f"/imports/{batch.pk}/").content.decode()
    client.post(f"/imports/{batch.pk}/", {"action": "retry"})
    assert TestSet.objects.get().state == "building"
    run_next("ingest")
    assert TestSet.objects.get().state == "frozen"


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


def text_of(n: int) -> str:
    return "Ada in Turin" + "\t" * n


def exported(batch: Batch) -> list[str]:
    assert batch.test_set
    return [line.decode() for line in verified_lines(batch.test_set)]


@pytest.mark.parametrize("most", [3_000, 6_000_000])
def test_a_line_may_have_the_bytes_of_the_setting_and_is_exported_imported_again_and_split(
    settings: Any, most: int
) -> None:
    settings.UPLOAD_MAX_LINE_BYTES = most
    batch = gold([sentence("s0", text=text_of(most // 2 - 200), relations=["A"])])
    assert (batch.state, batch.counts["items"]) == ("done", 1)
    assert most - 400 < len(exported(batch)[0]) <= most
    precheck(jsonl_file(exported(batch)), content="gold")
    assert gold(exported(batch), version="2").state == "done"
    assert [item.id for item in items_of(batch.test_set)] == ["s0"]
    line = [sentence("s0", text=text_of(most), relations=["A"])]
    with pytest.raises(DomainError, match=f"at most {most:,} bytes"):
        precheck(jsonl_file(line), content="gold")
    longer = gold(line, version="3")
    assert [problem["code"] for problem in longer.problems] == ["line_too_long"]


def test_a_text_that_no_line_of_a_release_could_hold_is_rejected(settings: Any) -> None:
    settings.UPLOAD_MAX_LINE_BYTES = 3_000
    table = ["id,text,spans,relations"] + [f'{n},{text_of(n)},"[]",[]' for n in (1_000, 2_000)]
    batch = gold(table, kind="entities", format="csv-documents")
    assert (batch.state, batch.problems[0]["code"], batch.problems[0]["line"]) == (
        "refused", "line_too_long", 3,
    )  # fmt: skip
    assert gold(table[:2], kind="entities", version="2", format="csv-documents").state == "done"
