"""The freeze: what is settled, nothing else, and from then on unchangeable."""

from __future__ import annotations

import hashlib
import json
from typing import Any
from uuid import uuid4

import pytest
from django.db import DatabaseError, transaction

from annotation import projects
from annotation.adjudication import decisions
from annotation.consensus import item_state
from annotation.freezing import builder
from annotation.models import Item, Project
from annotation.ontology import inventory
from annotation.testset import TestSet, TestSetRow, export_lines, read_rows
from evalsvc.core.errors.exceptions import Conflict, NotAllowed
from evalsvc.core.jobs.exceptions import RetryLater
from evalsvc.core.jobs.models import Job
from evalsvc.core.jobs.queue import request_cancel
from tests.cast.basics import run_job, sentence
from tests.cast.projects import (
    annotators,
    answered_item,
    create_project,
    curator,
    import_lines,
    project_with_items,
)
from tests.errors import code


def voting_project(*, sealed: bool = True) -> Project:
    """s0 settled as A, s1 settled as N/A, s2 disputed, s3 open."""
    of = create_project(k=2)
    labels: list[dict[str, Any]] = [{"relations": ["A"]}, {"relations": ["B", "C"]}, {}, {"relations": []}]
    import_lines(of, [sentence(f"s{at}", **(said if sealed else {})) for at, said in enumerate(labels)])
    projects.open_for_work(of, by=curator())
    answered_item(of, ["A"], ["A"], item="s0")
    answered_item(of, [], [], item="s1")
    answered_item(of, ["A"], ["B"], item="s2")
    return of


def frozen(of: Project, version: str = "1.0", **more: Any) -> TestSet:
    made = builder.freeze(of, name="Trial", version=version, by=curator(), **({"leave_out": True} | more))
    run_job("freeze", made.pk)
    made.refresh_from_db()
    return made


@pytest.mark.django_db
def test_open_and_disputed_items_stop_a_freeze() -> None:
    with pytest.raises(Conflict, check=code("not_settled")):
        frozen(voting_project(), leave_out=False)
    assert not TestSet.objects.exists()


@pytest.mark.django_db
def test_left_out_items_are_listed_in_the_manifest() -> None:
    made = frozen(voting_project())
    assert [row["id"] for row in read_rows(made)] == ["s0", "s1"]
    assert made.manifest["left_out"] == {"disputed": ["s2"], "open": ["s3"]}
    assert made.manifest["counts"]["settled"] == 2


@pytest.mark.django_db
def test_a_decided_item_is_frozen_as_decided() -> None:
    of = voting_project()
    item = of.items.get(external_id="s2")
    decisions.decide(
        item, by=curator(), payload={"relations": ["C"]}, client_id=uuid4(), votes_key=item.votes_key
    )
    assert {row["id"]: row["relations"] for row in read_rows(frozen(of))} == {
        "s0": ["A"],
        "s1": [],
        "s2": ["C"],
    }


@pytest.mark.django_db
def test_the_digest_is_of_the_exported_lines_and_two_freezes_agree() -> None:
    of = voting_project()
    first, second = frozen(of), frozen(of, "1.1")
    assert first.sha256 == hashlib.sha256(b"".join(export_lines(first))).hexdigest()
    assert (first.sha256, b"".join(export_lines(first))) == (second.sha256, b"".join(export_lines(second)))
    first.verify()


@pytest.mark.django_db
def test_a_line_has_its_keys_sorted_and_no_spaces() -> None:
    text = next(export_lines(frozen(voting_project()))).decode()
    assert (
        text == json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n"
    )
    assert text.startswith('{"h":{"id":"Q1","name":"Ada","pos":[0,3]},"id":"s0","relations":["A"],"t":')


@pytest.mark.django_db
def test_the_source_twin_holds_the_whole_corpus_through_the_mapping() -> None:
    of = voting_project()
    inventory.merge(of, ["B", "C"], target="BC", by=curator())
    made = frozen(of)
    twin = TestSet.objects.get(twin=made)
    assert (twin.origin, twin.state) == ("source", "frozen")
    assert {row["id"]: row["relations"] for row in read_rows(twin)} == {"s0": ["A"], "s1": ["BC"], "s3": []}
    assert twin.manifest["left_out"] == {"without source labels": ["s2"]}
    assert [label["name"] for label in twin.labels] == [label["name"] for label in made.labels]


@pytest.mark.django_db
def test_without_source_labels_there_is_no_twin() -> None:
    frozen(voting_project(sealed=False))
    assert TestSet.objects.count() == 1


@pytest.mark.django_db
def test_the_manifest_says_by_which_rules_and_by_whom() -> None:
    of = voting_project()
    inventory.rename(of, "C", target="C1", by=curator())
    manifest = frozen(of).manifest
    assert (manifest["policy"], manifest["k"], manifest["kind"]) == ("majority", 2, "relations")
    assert manifest["ontology"] == [{"number": 1, "operation": "rename", "sources": ["C"], "target": "C1"}]
    assert manifest["people"] == sorted(user.pk for user in annotators(of, 2))


@pytest.mark.django_db
def test_votes_after_the_freeze_change_nothing_in_it() -> None:
    of = voting_project()
    made = frozen(of)
    inventory.delete(of, ["A"], by=curator())
    made.verify()
    assert next(read_rows(made))["relations"] == ["A"]


def test_the_database_refuses_to_change_a_frozen_line(either_database: str) -> None:
    made = frozen(voting_project())
    for change in (
        lambda: made.lines.update(line="{}"),
        lambda: TestSetRow.objects.create(test_set=made, number=99, external_id="x", line="{}"),
        lambda: TestSet.objects.filter(pk=made.pk).update(sha256="0" * 64),
        lambda: TestSet.objects.filter(pk=made.pk).update(state="building"),
    ):
        with pytest.raises(DatabaseError, match="cannot be changed"), transaction.atomic():
            change()
    made.verify()


@pytest.mark.django_db
def test_a_set_whose_lines_were_changed_behind_the_databases_back_is_noticed() -> None:
    made = frozen(voting_project())
    made.lines.filter(number=2).delete()
    with pytest.raises(Conflict) as noticed:
        made.verify()
    assert noticed.value.code == "gold_changed"


@pytest.mark.django_db
def test_a_version_is_frozen_once() -> None:
    of = voting_project()
    frozen(of)
    with pytest.raises(Conflict, check=code("name_taken")):
        frozen(of)


@pytest.mark.django_db
def test_an_item_reopened_between_asking_and_building_stops_the_freeze() -> None:
    of = project_with_items(1, k=1)
    answered_item(of, ["A"])
    made = builder.freeze(of, name="Trial", version="1.0", by=curator())
    Item.objects.update(state="disputed", gold=None)
    job = run_job("freeze", made.pk)
    made.refresh_from_db()
    assert (job.state, made.state) == ("failed", "failed")
    assert job.error_code == "not_settled"
    Item.objects.update(state="settled", gold={"spans": [], "relations": []})
    assert frozen(of, leave_out=False).state == "frozen"


@pytest.mark.django_db
def test_a_failed_freeze_with_source_labels_makes_room_for_the_next_of_its_name() -> None:
    of = voting_project()
    made = builder.freeze(of, name="Trial", version="1.0", leave_out=True, by=curator())
    request_cancel(Job.objects.get(kind="freeze", subject=made.pk))
    assert TestSet.objects.count() == 2
    assert frozen(of).state == "frozen"
    assert set(TestSet.objects.values_list("state", flat=True)) == {"frozen"}


@pytest.mark.django_db
def test_labels_changed_while_the_lines_are_written_are_never_sealed_beside_the_old_ones() -> None:
    of = voting_project()
    made = builder.freeze(of, name="Trial", version="1.0", leave_out=True, by=curator())
    store = builder.build(made, lambda done, total, note: None)
    inventory.rename(of, "A", target="Z", by=curator())
    with pytest.raises(RetryLater, match="changed meanwhile"):
        store()
    run_job("freeze", made.pk)
    made.refresh_from_db()
    assert next(read_rows(made))["relations"] == ["Z"]
    assert "Z" in {label["name"] for label in made.labels}


@pytest.mark.django_db
def test_a_cancelled_freeze_leaves_no_set_behind_it() -> None:
    made = builder.freeze(voting_project(), name="Trial", version="1.0", leave_out=True, by=curator())
    request_cancel(Job.objects.get(kind="freeze", subject=made.pk))
    assert set(TestSet.objects.values_list("state", flat=True)) == {"failed"}


@pytest.mark.django_db
def test_nothing_is_frozen_while_a_recomputation_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    of = voting_project()
    monkeypatch.setattr(item_state, "RECOMPUTE_AT_ONCE", 0)
    item_state.recompute_after_change(of)
    with pytest.raises(Conflict, check=code("recomputing")):
        frozen(of)


@pytest.mark.django_db
def test_only_a_curator_freezes() -> None:
    of = voting_project()
    with pytest.raises(NotAllowed):
        builder.freeze(of, name="Trial", version="1.0", leave_out=True, by=annotators(of, 1)[0])


@pytest.mark.django_db
def test_token_sentences_are_frozen_in_tokens() -> None:
    of = create_project(k=1)
    tokens = ["Ada", "was", "born", "in", "Turin"]
    import_lines(
        of,
        [
            {
                "id": "s0",
                "tokens": tokens,
                "h": {"name": "Ada", "pos": [0, 1]},
                "t": {"name": "Turin", "pos": [4, 5]},
            }
        ],
    )
    projects.open_for_work(of, by=curator())
    answered_item(of, ["A"])
    row = next(read_rows(frozen(of)))
    assert (row["tokens"], row["h"]["pos"], row["t"]["pos"]) == (tokens, [0, 1], [4, 5])


@pytest.mark.django_db
def test_reasons_of_decisions_go_into_the_manifest_and_what_is_unusable_stops_nothing() -> None:
    of = create_project(k=2)
    import_lines(of, [sentence("s0"), sentence("s1")])
    projects.open_for_work(of, by=curator())
    for name in ("s0", "s1"):
        answered_item(of, ["A"], ["B"], item=name)
    first, second = of.items.order_by("external_id")
    told = {"by": curator(), "client_id": uuid4(), "votes_key": first.votes_key}
    decisions.decide(first, payload={"relations": ["A"]}, reason="It says so.", **told)
    told = {"by": curator(), "client_id": uuid4(), "votes_key": second.votes_key}
    decisions.decide(second, finding="broken", **told)
    made = frozen(of, leave_out=False)
    assert (made.state, made.rows) == ("frozen", 1)
    assert made.manifest["left_out"] == {"unusable": ["s1"]}
    assert made.manifest["decisions"] == [
        {"id": "s0", "finding": "", "reason": "It says so."},
        {"id": "s1", "finding": "broken", "reason": ""},
    ]
