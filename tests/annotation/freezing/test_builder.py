"""Frozen test sets: decided items only, and never changed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.db import DatabaseError, connection, transaction

from annotation import projects
from annotation.adjudication import decisions
from annotation.consensus import recomputation
from annotation.freezing import builder
from annotation.models import Answer, Item, Project
from annotation.ontology import inventory
from annotation.queue import exclusions, quality_settings
from annotation.testset import TestSet, TestSetRow, export_lines, read_rows
from evalsvc.core.activity.models import entries
from evalsvc.core.errors.exceptions import Conflict, DomainError, NotAllowed
from evalsvc.core.jobs.exceptions import RetryLater
from evalsvc.core.jobs.models import Job
from evalsvc.core.jobs.queue import request_cancel
from tests.cast.basics import person, run_job, sentence
from tests.cast.projects import (
    annotators,
    answer_item,
    answered_item,
    create_project,
    curator,
    import_lines,
    project_with_items,
)
from tests.cast.replay import replayed
from tests.errors import code
from workers.scoring.provenance import agreement_with


@replayed
def voting_project(*, sealed: bool = True) -> Project:
    """s0 settled as A, s1 settled as N/A, s2 disputed, s3 open."""
    project = create_project(k=2)
    labels: list[dict[str, Any]] = [{"relations": ["A"]}, {"relations": ["B", "C"]}, {}, {"relations": []}]
    import_lines(
        project, [sentence(f"s{at}", **(source if sealed else {})) for at, source in enumerate(labels)]
    )
    projects.open_for_work(project, by=curator())
    answered_item(project, ["A"], ["A"], item="s0")
    answered_item(project, [], [], item="s1")
    answered_item(project, ["A"], ["B"], item="s2")
    return project


def frozen(project: Project, version: str = "1.0", **more: Any) -> TestSet:
    made = builder.freeze(
        project, name="Trial", version=version, by=curator(), **({"leave_out": True} | more)
    )
    run_job("freeze", made.pk)
    made.refresh_from_db()
    return made


@pytest.mark.django_db
def test_open_and_disputed_items_stop_a_freeze() -> None:
    with pytest.raises(Conflict, check=code("not_settled")):
        frozen(voting_project(), leave_out=False)
    assert not TestSet.objects.exists()


@pytest.mark.django_db
def test_excluded_items_are_listed_in_the_manifest() -> None:
    made = frozen(voting_project())
    assert [row["id"] for row in read_rows(made)] == ["s0", "s1"]
    assert made.manifest["left_out"] == {"disputed": ["s2"], "open": ["s3"]}
    assert made.manifest["counts"]["settled"] == 2


@pytest.mark.django_db
def test_an_adjudicated_item_is_frozen_as_decided() -> None:
    project = voting_project()
    item = project.items.get(external_id="s2")
    decisions.decide(
        item, by=curator(), payload={"relations": ["C"]}, client_id=uuid4(), votes_key=item.votes_key
    )
    assert {row["id"]: row["relations"] for row in read_rows(frozen(project))} == {
        "s0": ["A"],
        "s1": [],
        "s2": ["C"],
    }


@pytest.mark.django_db
def test_the_digest_is_that_of_the_exported_lines_and_reproducible() -> None:
    project = voting_project()
    first = frozen(project)
    projects.set_guideline(project, guideline="As before, in other words.", by=curator())
    second = frozen(project, "1.1")
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
def test_the_source_set_of_a_closed_project_has_all_source_labels_mapped_to_current_labels() -> None:
    project = projects.close(voting_project(), by=curator())
    inventory.merge(project, ["B", "C"], target="BC", by=curator())
    made = frozen(project)
    twin = TestSet.objects.get(twin=made)
    assert (twin.origin, twin.state) == ("source", "frozen")
    assert {row["id"]: row["relations"] for row in read_rows(twin)} == {"s0": ["A"], "s1": ["BC"], "s3": []}
    assert twin.manifest["left_out"] == {"without source labels": ["s2"]}
    assert [label["name"] for label in twin.labels] == [label["name"] for label in made.labels]


@pytest.mark.django_db
@pytest.mark.parametrize("checked", [False, True])
def test_the_source_set_lists_no_undecided_sentence_while_people_label_or_beside_checks(
    *, checked: bool
) -> None:
    """With one, it would tell annotators which sentences are checks that are added later."""
    project = voting_project()
    if checked:
        import_lines(project, [sentence("c0", relations=["A"])])
        check = project.items.get(external_id="c0")
        quality_settings.make_gold_question(check, payload={"relations": ["A"]}, use="check", by=curator())
        projects.close(project, by=curator())
    twin = TestSet.objects.get(twin=frozen(project))
    assert [row["id"] for row in read_rows(twin)] == ["s0", "s1"]


@pytest.mark.django_db
def test_without_source_labels_there_is_no_source_set() -> None:
    frozen(voting_project(sealed=False))
    assert TestSet.objects.count() == 1


@pytest.mark.django_db
def test_the_manifest_lists_the_rules_and_the_people() -> None:
    project = voting_project()
    inventory.rename(project, "C", target="C1", by=curator())
    manifest = frozen(project).manifest
    assert (manifest["policy"], manifest["k"], manifest["kind"]) == ("majority", 2, "relations")
    assert manifest["ontology"] == [{"number": 1, "operation": "rename", "sources": ["C"], "target": "C1"}]
    assert manifest["people"] == sorted(user.pk for user in annotators(project, 2))


@pytest.mark.django_db
def test_a_label_deleted_after_the_freeze_stays_in_the_set() -> None:
    project = voting_project()
    made = frozen(project)
    inventory.delete(project, ["A"], by=curator())
    made.verify()
    assert next(read_rows(made))["relations"] == ["A"]


def test_the_database_rejects_changes_of_a_frozen_set(either_database: str) -> None:
    made = frozen(voting_project())
    for change in (
        lambda: made.lines.update(line="{}"),
        lambda: TestSetRow.objects.create(test_set=made, number=99, external_id="x", line="{}"),
        lambda: TestSet.objects.filter(pk=made.pk).update(sha256="0" * 64),
        lambda: TestSet.objects.filter(pk=made.pk).update(state="building"),
        lambda: made.lines.filter(number=2).delete(),
        lambda: TestSet.objects.filter(pk=made.pk)._raw_delete("default"),
    ):
        with pytest.raises(DatabaseError, match="cannot be changed"), transaction.atomic():
            change()
    made.verify()


@pytest.mark.postgres
@pytest.mark.parametrize("tables", ["annotation_testsetrow", "annotation_testset CASCADE"])
def test_postgresql_does_not_empty_the_table_of_frozen_lines(postgres: Any, tables: str) -> None:
    made = frozen(voting_project())
    with (
        pytest.raises(DatabaseError, match="cannot be changed"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(f"TRUNCATE {tables}")
    made.verify()


@pytest.mark.django_db
def test_a_deleted_line_of_a_frozen_set_fails_verification() -> None:
    made = frozen(voting_project())
    with connection.cursor() as cursor:
        cursor.execute("DROP TRIGGER frozen_lines_are_not_deleted")
    made.lines.filter(number=2).delete()
    with pytest.raises(Conflict, check=code("gold_changed")):
        made.verify()


@pytest.mark.django_db
def test_a_freeze_without_any_change_is_rejected_with_the_name_of_the_earlier_set() -> None:
    project = voting_project()
    frozen(project)
    again = frozen(project, "1.1")
    assert (again.state, again.reason) == ("failed", "Nothing has changed since Trial 1.0: use that one.")
    logged = entries(project).values_list("action", "about", "after")
    assert logged[0] == ("freeze failed", str(again), again.reason)
    answered_item(project, ["A"], ["A"], item="s3")
    assert frozen(project, "1.1").state == "frozen"


def change_answer(project: Project) -> None:
    item, user = project.items.get(external_id="s2"), person("ann1")
    answer_item(item, user, "C", base=1)


def exclude_surplus_answer(project: Project) -> None:
    answer = Answer.objects.get(item__external_id="s2", annotator__user__username="ann2")
    exclusions.exclude_answer(answer, by=curator())


def label_source_anew(project: Project) -> None:
    import_lines(project, [sentence("s1", relations=["A"])])


def close(project: Project) -> None:
    projects.close(project, by=curator())


@pytest.mark.django_db
@pytest.mark.parametrize("change", [change_answer, exclude_surplus_answer, label_source_anew, close])
def test_a_freeze_of_the_same_lines_with_other_answers_left_out_or_other_source_labels_is_a_new_set(
    change: Callable[[Project], object],
) -> None:
    """The release states the agreement over all answers, and source labels are a set beside it."""
    project = voting_project()
    answer_item(project.items.get(external_id="s2"), annotators(project, 3)[2], "C")
    first = frozen(project)
    assert frozen(project, "1.1").state == "failed"
    change(project)
    second = frozen(project, "1.1")
    assert (second.state, second.sha256) == ("frozen", first.sha256)
    assert second.manifest["left_out"] == first.manifest["left_out"]
    assert frozen(project, "1.2").reason == "Nothing has changed since Trial 1.1: use that one."


@pytest.mark.django_db
@pytest.mark.parametrize("version", ["1", "final", "1.0.0.0", "1.0 beta", "v1.0"])
def test_a_version_is_two_or_three_numbers(version: str) -> None:
    with pytest.raises(DomainError, check=code("bad_version")):
        frozen(voting_project(), version)


@pytest.mark.django_db
def test_a_version_can_be_frozen_once() -> None:
    project = voting_project()
    frozen(project)
    with pytest.raises(Conflict, check=code("name_taken")):
        frozen(project)


@pytest.mark.django_db
def test_an_item_reopened_before_the_build_fails_the_freeze() -> None:
    project = project_with_items(1, k=1)
    answered_item(project, ["A"])
    made = builder.freeze(project, name="Trial", version="1.0", by=curator())
    Item.objects.update(state="disputed", gold=None)
    job = run_job("freeze", made.pk)
    made.refresh_from_db()
    assert (job.state, made.state) == ("failed", "failed")
    assert job.error_code == "not_settled"
    Item.objects.update(state="settled", gold={"spans": [], "relations": []})
    assert frozen(project, leave_out=False).state == "frozen"


@pytest.mark.django_db
def test_a_cancelled_freeze_with_source_labels_can_be_repeated_under_its_name() -> None:
    project = voting_project()
    made = builder.freeze(project, name="Trial", version="1.0", leave_out=True, by=curator())
    request_cancel(Job.objects.get(kind="freeze", subject=made.pk))
    assert TestSet.objects.count() == 2
    assert frozen(project).state == "frozen"
    assert set(TestSet.objects.values_list("state", flat=True)) == {"frozen"}


@pytest.mark.django_db
def test_labels_changed_while_lines_are_written_make_the_freeze_start_again() -> None:
    project = voting_project()
    made = builder.freeze(project, name="Trial", version="1.0", leave_out=True, by=curator())
    store = builder.build(made, lambda done, total, note: None, agreement_with)
    inventory.rename(project, "A", target="Z", by=curator())
    with pytest.raises(RetryLater):
        store()
    run_job("freeze", made.pk)
    made.refresh_from_db()
    assert next(read_rows(made))["relations"] == ["Z"]
    assert "Z" in {label["name"] for label in made.labels}


@pytest.mark.django_db
def test_a_cancelled_freeze_marks_its_sets_as_failed() -> None:
    made = builder.freeze(voting_project(), name="Trial", version="1.0", leave_out=True, by=curator())
    request_cancel(Job.objects.get(kind="freeze", subject=made.pk))
    assert set(TestSet.objects.values_list("state", flat=True)) == {"failed"}


@pytest.mark.django_db
def test_a_project_being_recomputed_cannot_be_frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    project = voting_project()
    monkeypatch.setattr(recomputation, "RECOMPUTE_AT_ONCE", 0)
    recomputation.recompute_after_change(project)
    with pytest.raises(Conflict, check=code("recomputing")):
        frozen(project)


@pytest.mark.django_db
def test_only_a_curator_can_freeze() -> None:
    project = voting_project()
    with pytest.raises(NotAllowed):
        builder.freeze(project, name="Trial", version="1.0", leave_out=True, by=annotators(project, 1)[0])


@pytest.mark.django_db
def test_token_sentences_are_frozen_in_tokens() -> None:
    project = create_project(k=1)
    tokens = ["Ada", "was", "born", "in", "Turin"]
    import_lines(
        project,
        [
            {
                "id": "s0",
                "tokens": tokens,
                "h": {"name": "Ada", "pos": [0, 1]},
                "t": {"name": "Turin", "pos": [4, 5]},
            }
        ],
    )
    projects.open_for_work(project, by=curator())
    answered_item(project, ["A"])
    row = next(read_rows(frozen(project)))
    assert (row["tokens"], row["h"]["pos"], row["t"]["pos"]) == (tokens, [0, 1], [4, 5])


@pytest.mark.django_db
def test_the_manifest_lists_reasons_and_unusable_items_do_not_stop_a_freeze() -> None:
    project = create_project(k=2)
    import_lines(project, [sentence("s0"), sentence("s1")])
    projects.open_for_work(project, by=curator())
    for name in ("s0", "s1"):
        answered_item(project, ["A"], ["B"], item=name)
    first, second = project.items.order_by("external_id")
    write = {"by": curator(), "client_id": uuid4(), "votes_key": first.votes_key}
    decisions.decide(first, payload={"relations": ["A"]}, reason="Clear from the sentence.", **write)
    write = {"by": curator(), "client_id": uuid4(), "votes_key": second.votes_key}
    decisions.decide(second, finding="broken", **write)
    made = frozen(project, leave_out=False)
    assert (made.state, made.rows) == ("frozen", 1)
    assert made.manifest["left_out"] == {"unusable": ["s1"]}
    assert made.manifest["decisions"] == [
        {"id": "s0", "finding": "", "reason": "Clear from the sentence."},
        {"id": "s1", "finding": "broken", "reason": ""},
    ]


@pytest.mark.django_db
def test_a_guideline_that_changes_during_a_freeze_is_not_older_than_the_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    project = voting_project()
    written = builder.writer.write_rows

    def changed_meanwhile(*args: Any, **kwargs: Any) -> int:
        projects.set_guideline(Project.objects.get(), guideline="New text.", by=curator())
        return written(*args, **kwargs)

    made = builder.freeze(project, name="Trial", version="1.0", leave_out=True, by=curator())
    monkeypatch.setattr(builder.writer, "write_rows", changed_meanwhile)
    run_job("freeze", made.pk)
    made.refresh_from_db()
    assert made.manifest["guideline"] == "New text."
    assert made.manifest["guideline_version"] == Project.objects.get().guideline_version
