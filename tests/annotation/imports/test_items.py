"""Sentences in: bad lines by number, repeats merged, source labels sealed, nothing half done."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client
from django.urls import reverse

from annotation import projects
from annotation.adjudication.decisions import exclude_item
from annotation.imports import batches, items, undoing
from annotation.models import Batch, Item, ItemCount, SourceLabels
from evalsvc.core.activity.models import entries
from evalsvc.core.errors.exceptions import Conflict, DomainError, NotAllowed, TooLarge
from evalsvc.core.jobs.models import Job
from evalsvc.core.jobs.queue import request_cancel
from tests.cast.basics import run_job, sentence
from tests.cast.projects import (
    annotators,
    answered_item,
    create_project,
    curator,
    import_lines,
    jsonl_file,
    project_with_items,
)
from tests.errors import code

pytestmark = pytest.mark.django_db


def nyt(head: str, tail: str, relation: str, sentence: str) -> str:
    return f"m.{head}\tm.{tail}\t{head}\t{tail}\t{relation}\t{sentence}\t###END###"


def test_valid_lines_are_imported_and_invalid_ones_listed_by_number() -> None:
    project = create_project()
    batch = import_lines(project, [sentence("s0"), "{", sentence("s2"), {"id": "s3", "txt": ""}])
    assert (batch.state, batch.counts["items"], batch.refused) == ("done", 2, 2)
    assert [problem["line"] for problem in batch.problems] == [2, 4]
    assert [item.external_id for item in project.items.live()] == ["s0", "s2"]


def test_entity_types_are_imported() -> None:
    project = create_project()
    import_lines(project, [sentence("s0", h={"name": "Ada", "pos": [0, 3], "type": "person"})])
    item = project.items.get()
    assert item.head == {"id": "Ada", "name": "Ada", "start": 0, "end": 3, "type": "person"}
    assert "type" not in item.tail


def test_one_invalid_line_rejects_the_file_on_request() -> None:
    project = create_project()
    batch = import_lines(project, [sentence("s0"), "{"], on_error="refuse-file")
    assert (batch.state, project.items.live().count()) == ("refused", 0)
    assert "Line 2" in batch.reason
    batches.sweep()
    assert not Item.objects.filter(batch=batch).exists()


def test_an_import_deletes_what_others_left_in_its_own_project_alone() -> None:
    """An undone import of millions of sentences would keep everybody's next import waiting."""
    own, other = create_project(), create_project()
    left = [import_lines(each, [sentence("s0"), "{"], on_error="refuse-file") for each in (own, other)]
    assert Item.objects.filter(batch__in=left).count() == 2
    import_lines(own, [sentence("s1")])
    assert [item.batch for item in Item.objects.filter(batch__in=left)] == left[1:]
    batches.sweep()
    assert [item.external_id for item in Item.objects.all()] == ["s1"]


def test_a_rejected_import_that_is_started_again_shows_nothing_of_the_attempt_before() -> None:
    batch = import_lines(create_project(), [sentence("s0"), "{"], on_error="refuse-file")
    batches.retry(batch, by=batch.by)
    batch.refresh_from_db()
    assert (batch.state, batch.reason, batch.ended_at) == ("received", "", None)
    assert (batch.counts, batch.problems, batch.refused) == ({}, [], 0)


def test_a_file_without_a_valid_line_is_rejected() -> None:
    assert import_lines(create_project(), ['{"id": 1, "text": ""}', "{"]).state == "refused"


def test_lines_with_the_same_text_and_mentions_are_one_item_with_all_labels() -> None:
    project = create_project(labels=())
    text = "ada moved from turin to ada 's town"
    batch = import_lines(
        project,
        [
            nyt("ada", "turin", "/lived", text),
            nyt("ada", "turin", "/born", text),
            nyt("ada", "turin", "/born", text),
            nyt("ada", "paris", "/born", text),
            nyt("turin", "ada", "NA", text),
        ],
    )
    wanted = {"lines": 5, "items": 2, "repeated_lines": 2, "exact_repeats": 1, "several_labels": 1}
    assert {name: batch.counts[name] for name in wanted} == wanted
    assert (batch.format, batch.problems[0]["line"], batch.problems[0]["code"]) == (
        "nyt10",
        4,
        "entity_not_in_text",
    )
    first, second = project.items.order_by("rank")
    assert first.sealed.labels["relations"] == ["/lived", "/born"]
    assert second.sealed.labels["relations"] == []
    assert [repeat["line"] for repeat in first.repeats] == [2, 3]
    assert (first.head["start"], first.head["end"], first.tail["start"]) == (0, 3, 15)


def test_an_empty_ontology_gets_the_labels_of_the_file_by_name() -> None:
    project = create_project(labels=())
    import_lines(
        project,
        [
            sentence("s0", relations=["X"]),
            sentence("s1", relations=["Y"]),
            sentence("s2", relations=["Y", "NA"]),
        ],
    )
    assert [label.name for label in project.labels.all()] == ["X", "Y"]


def test_labels_are_added_to_an_ontology_only_on_request() -> None:
    project = create_project()
    import_lines(project, [sentence("s0", relations=["X"])])
    assert [label.name for label in project.labels.all()] == ["A", "B", "C"]
    import_lines(project, [sentence("s1", relations=["X"])], labels="add")
    assert [label.name for label in project.labels.all()] == ["A", "B", "C", "X"]


def test_the_same_file_twice_adds_nothing() -> None:
    project = create_project()
    lines = [sentence("s0"), sentence("s1")]
    import_lines(project, lines)
    again = import_lines(project, lines)
    assert (again.counts["items"], again.counts["repeated_items"]) == (0, 2)
    assert project.items.live().count() == 2


def test_a_repeated_item_adds_its_source_labels() -> None:
    project = create_project()
    import_lines(project, [sentence("s0", relations=["A"])])
    import_lines(project, [sentence("s0", relations=["B"])])
    assert SourceLabels.objects.get().labels["relations"] == ["A", "B"]


def test_of_lines_that_repeat_an_item_the_first_are_stored_and_one_of_each_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """60,000 lines with the text of a check took the lock of the database for half a minute."""
    monkeypatch.setattr(items, "MOST_REPEATS", 3)
    project = create_project("entities", labels=["P"])
    import_lines(project, [{"id": "c0", "text": "Ada.", "spans": [[0, 3, "P"]]}], known="check")
    for file in ("a", "b"):
        import_lines(project, [{"id": f"{file}{n}", "text": "Ada."} for n in range(5)])
    assert [repeat["id"] for repeat in project.items.get().repeats] == ["a0", "a1", "a2", "b0"]


@pytest.mark.parametrize("first", ["", "check"])
def test_a_sentence_with_spans_is_no_check_and_work_at_once(first: str) -> None:
    """Whoever gets a text twice would know that one of them is a check."""
    project = create_project("entities", labels=["P"])
    checks = [{"id": f"c{at}", "text": f"Ada {at}.", "spans": [[0, 3, "P"]]} for at in range(2)]
    lines = [{"id": f"s{at}", "text": f"Ada {at}."} for at in (1, 2, 2)]
    lines[-1]["id"] = "s3"
    files = {"check": checks, "": lines}
    for known in (first, "check" if first == "" else ""):
        batch = import_lines(project, files[known], **({"known": known} if known else {}))
        assert not batch.problems
    assert batch.counts["repeated_items"] == 1
    one = "c1" if first else "s1"
    assert set(project.items.values_list("external_id", flat=True)) == {"c0", one, "s2", "s3"}


def test_an_id_of_another_item_is_rejected() -> None:
    project = create_project()
    import_lines(project, [sentence("s0")])
    batch = import_lines(
        project, [sentence("s0", text="Ada was born in Turin, others agreed."), sentence("s1")]
    )
    assert [(p["line"], p["code"]) for p in batch.problems] == [(1, "duplicate_id")]
    assert project.items.live().count() == 2


def test_emoji_and_combining_marks_keep_their_offsets() -> None:
    text = "👩‍🔬 Zoë née Ⱥ́da of Τορίνο"
    start = text.index("Τορίνο")
    mentions = {"h": {"name": "Zoë", "pos": [4, 7]}, "t": {"name": "Τορίνο", "pos": [start, start + 6]}}
    project = create_project()
    import_lines(project, [{"id": "s0", "text": text, **mentions}])
    item = project.items.get()
    assert item.text[item.head["start"] : item.head["end"]] == "Zoë"
    assert item.text[item.tail["start"] : item.tail["end"]] == "Τορίνο"


def test_columns_are_imported_into_an_entity_project() -> None:
    project = create_project("entities", labels=())
    batch = import_lines(project, ["Ada\tB-person", "saw\tO", "Turin\tB-place", "", "Rain\tO"], scheme="IOB2")
    assert (batch.format, batch.counts["items"]) == ("conll", 2)
    assert project.items.first().sealed.labels["spans"] == [[0, 1, "person"], [2, 3, "place"]]
    assert {label.name for label in project.labels.all()} == {"person", "place"}


def test_lines_of_another_kind_of_project_are_rejected() -> None:
    assert import_lines(create_project("entities"), [sentence("s0")]).problems[0]["code"] == "mixed_forms"
    assert (
        import_lines(create_project(), [{"id": "s0", "text": "No pair."}]).problems[0]["code"]
        == "missing_key"
    )


def test_a_file_over_the_line_limit_is_rejected_before_a_job_is_queued(settings: Any) -> None:
    settings.IMPORT_MAX_LINES = 2
    with pytest.raises(TooLarge, check=code("too_many_lines")) as refused:
        import_lines(create_project(), [sentence(f"s{at}") for at in range(4)])
    assert refused.value.extra == {"limit": 2}
    assert not Batch.objects.exists()


def test_a_packed_file_over_the_line_limit_stores_no_items(settings: Any) -> None:
    settings.IMPORT_MAX_LINES = 2
    packed = io.BytesIO(gzip.compress(jsonl_file([sentence(f"s{at}") for at in range(4)]).read()))
    batch = batches.receive(
        content="items", upload=packed, filename="f", by=curator(), project=create_project()
    )
    run_job("import", batch.pk)
    batch.refresh_from_db()
    assert (batch.state, batch.problems[0]["code"]) == ("refused", "too_many_lines")
    assert not Item.objects.exists()


def test_a_packed_file_is_imported() -> None:
    packed = io.BytesIO(gzip.compress(jsonl_file([sentence("s0", relations=["A"]), sentence("s1")]).read()))
    project = create_project()
    batch = batches.receive(content="items", upload=packed, filename="f", by=curator(), project=project)
    run_job("import", batch.pk)
    assert [item.external_id for item in project.items.live()] == ["s0", "s1"]


def test_items_are_not_live_before_the_import_is_done() -> None:
    project = create_project()
    batch = batches.receive(
        content="items", upload=jsonl_file([sentence("s0")]), filename="f", by=curator(), project=project
    )
    store = batches.load(batch, lambda *progress: None)
    assert (Item.objects.count(), project.items.live().count()) == (1, 0)
    batch.refresh_from_db()
    store()
    assert project.items.live().get().free == project.k


def test_an_attempt_after_a_crash_starts_over() -> None:
    project = create_project()
    batch = batches.receive(
        content="items", upload=jsonl_file([sentence("s0")]), filename="f", by=curator(), project=project
    )
    batches.load(batch, lambda *progress: None)
    run_job("import", batch.pk)
    assert project.items.count() == 1


def test_one_import_runs_at_a_time_until_it_is_cancelled() -> None:
    project = create_project()
    first = batches.receive(
        content="items", upload=jsonl_file([sentence("s0")]), filename="f", by=curator(), project=project
    )
    with pytest.raises(Conflict, check=code("import_running")):
        import_lines(project, [sentence("s1")])
    request_cancel(Job.objects.get(subject=first.pk, kind="import"))
    first.refresh_from_db()
    assert first.state == Batch.State.CANCELLED
    assert import_lines(project, [sentence("s1")]).state == "done"


def test_only_curators_can_import() -> None:
    project = create_project()
    with pytest.raises(NotAllowed):
        batches.receive(
            content="items",
            upload=jsonl_file([]),
            filename="f",
            by=annotators(project, 1)[0],
            project=project,
        )


@pytest.mark.parametrize(
    "options",
    [
        {"empty": "no-vote"},
        {"on_error": "guess"},
        {"scheme": "IOB9"},
        {"column": "x"},
        {"column": True},
        {"column": "²"},
        {"column": "--1"},
        {"column": 1.5},
        {"negative": 5},
        {"negative": []},
        {"labels": 5},
        {"labels": [1]},
    ],
)
def test_invalid_options_are_rejected(options: dict[str, str]) -> None:
    with pytest.raises(DomainError):
        import_lines(create_project(), [sentence("s0")], **options)


def test_a_file_over_the_size_limit_is_rejected_before_it_is_stored(settings: Any) -> None:
    settings.UPLOAD_MAX_BYTES = 10
    with pytest.raises(TooLarge):
        import_lines(create_project(), [sentence("s0")])
    assert not Batch.objects.exists()


COLUMNS = ["Ada\tB-PER", "Rome", "", "Turin\tB-LOC", "is\tO", "big\tX-LOC", "", "Oslo\tS-LOC", "", "So\tO"]


def test_a_tag_scheme_marks_the_file_as_columns() -> None:
    project = create_project("entities", labels=())
    batch = import_lines(project, COLUMNS, scheme="IOB2")
    assert (batch.state, batch.format) == ("done", "conll")


THREE = ["Ada\tB-PER\tO", "sang\tO\tB-PER"]


@pytest.mark.parametrize(("column", "start"), [(-1, 1), (-2, 0), (1, 0), ("-1", 1), ("2", 1)])
def test_the_tag_column_is_counted_from_either_end(column: object, start: int) -> None:
    project = create_project("entities", labels=())
    assert import_lines(project, THREE, scheme="IOB2", column=column).counts["items"] == 1
    (sealed,) = SourceLabels.objects.filter(item__project=project)
    assert [span[:2] for span in sealed.labels["spans"]] == [[start, start + 1]]


@pytest.mark.parametrize("column", [3, -4])
def test_a_missing_column_is_reported_with_its_line(column: int) -> None:
    batch = import_lines(create_project("entities", labels=()), THREE, scheme="IOB2", column=column)
    assert batch.state == "refused"
    assert batch.problems[0]["code"] == "wrong_columns"
    assert "4 columns" in batch.problems[0]["expected"]


def test_invalid_lines_of_columns_keep_their_line_numbers() -> None:
    batch = import_lines(create_project("entities", labels=()), COLUMNS, scheme="IOB2")
    assert (batch.counts["lines"], batch.counts["items"]) == (10, 2)
    assert [problem["line"] for problem in batch.problems] == [2, 6, 8]


def test_columns_without_a_scheme_are_rejected() -> None:
    project = create_project("entities", labels=())
    batch = import_lines(project, ["Ada\tB-PER", "saw\tO", "Turin\tB-LOC"])
    assert (batch.state, [problem["code"] for problem in batch.problems]) == ("refused", ["no_scheme"])
    assert all(scheme in batch.reason for scheme in ("IOB1", "IOB2", "BIOES", "BILOU"))


def test_relations_in_a_project_for_entities_are_rejected_by_line() -> None:
    spans = [[0, 3, "person"], [4, 7, "verb"]]
    lines = [
        {"id": "s0", "text": "Ada was born.", "spans": spans, "relations": [[0, "did", 1]]},
        {"id": "s1", "text": "Ada was born.", "spans": spans, "relations": []},
    ]
    batch = import_lines(create_project(kind="entities"), lines)
    assert [(problem["line"], problem["code"]) for problem in batch.problems] == [(1, "mixed_forms")]
    assert (batch.state, batch.counts["items"]) == ("done", 1)


def test_a_file_damaged_in_the_storage_is_not_imported(tmp_path: Path, settings: Any) -> None:
    settings.MEDIA_ROOT = tmp_path
    upload = jsonl_file([sentence(at) for at in range(3)])
    project = create_project()
    batch = batches.receive(
        content="items", upload=upload, filename="lines.jsonl", by=curator(), project=project
    )
    path = tmp_path / batch.file.name
    path.write_bytes(path.read_bytes().replace(b"Turin", b"Turim", 1))
    job = run_job("import", batch.pk)
    assert (job.state, job.error_code) == ("failed", "file_changed")
    assert not project.items.exists()


# ---- undo -------------------------------------------------------------------------------------------
def test_an_import_that_nobody_answered_is_undone_and_its_file_can_be_imported_again() -> None:
    project = create_project()
    import_lines(project, [sentence("s0")])
    batch = import_lines(project, [sentence("s1"), sentence("s2")])
    undoing.undo(batch, by=curator())
    batch.refresh_from_db()
    assert (batch.state, batch.reason) == ("cancelled", "Undone by curator.")
    assert [item.external_id for item in project.items.live()] == ["s0"]
    assert ItemCount.objects.live(project).total() == 1
    batches.sweep()
    assert project.items.count() == 1
    assert import_lines(project, [sentence("s1"), sentence("s2")]).counts["items"] == 2


def test_the_effect_of_undoing_an_import_is_counted_first_and_logged(client: Client) -> None:
    project = create_project()
    batch = import_lines(project, [sentence(f"s{at}") for at in range(4)])
    exclude_item(project.items.get(external_id="s1"), by=curator(), finding="broken", reason="Cut off.")
    project.items.filter(external_id="s2").update(use=Item.Use.CHECK)
    effect = {"sentences": 4, "decisions": 1, "gold_questions": 1, "shared": 0}
    client.force_login(curator())
    address = reverse("api-import-undo", args=[batch.pk])
    for preview in (True, False):
        body = client.post(address, {"preview": preview}, content_type="application/json").json()
        assert body.pop("effect") == (
            "Takes out 4 sentences, which nobody answered, with 1 decision and 1 gold question."
        )
        assert body == effect
        assert project.items.present().exists() is preview
    entry = entries(project)[0]
    assert entry.before == {"sentences": 4, "decisions": 1, "gold questions": 1}
    assert set(entry.after.values()) == {0}


def test_an_import_into_an_open_project_or_with_answers_is_not_undone() -> None:
    project = project_with_items(1, k=1)
    batch = project.batches.get()
    with pytest.raises(Conflict, match="open"):
        undoing.undo(batch, by=curator())
    answered_item(project, ["A"])
    projects.close(project, by=curator())
    with pytest.raises(Conflict, match="answered"):
        undoing.undo(batch, by=curator())
    assert project.items.live().count() == 1


@pytest.mark.parametrize("name", ["lines.jsonl", "later.jsonl"])
def test_an_import_whose_sentences_came_again_is_undone_after_the_later_one(name: str) -> None:
    project = create_project()
    batch = import_lines(project, [sentence("s0"), sentence("s1")])
    again = import_lines(project, [sentence("s0"), sentence("s2")])
    assert (again.counts["items"], again.counts["repeated_items"]) == (1, 1)
    Batch.objects.filter(pk=again.pk).update(filename=name)
    Item.objects.exclude(repeats=[]).update(repeats=[{"file": name, "line": 1, "id": "s0"}])
    with pytest.raises(Conflict, match=name):
        undoing.undo(batch, by=curator())
    undoing.undo(again, by=curator())
    assert [item.external_id for item in project.items.live()] == ["s0", "s1"]
    undoing.undo(batch, by=curator())
    assert not project.items.live().exists()
    assert import_lines(project, [sentence("s0")]).counts["items"] == 1


@pytest.mark.postgres
def test_undoing_an_import_leaves_no_cursor_open_on_postgresql(postgres: object) -> None:
    with transaction.atomic(), connection.cursor() as cursor:  # the end of a transaction closes cursors
        test_an_import_whose_sentences_came_again_is_undone_after_the_later_one("later.jsonl")
        cursor.execute("SELECT name FROM pg_cursors WHERE name LIKE '%django%'")
        assert cursor.fetchall() == []


def test_only_curators_undo_imports() -> None:
    project = create_project()
    batch = import_lines(project, [sentence("s0")])
    (user,) = annotators(project, 1)
    with pytest.raises(NotAllowed):
        undoing.undo(batch, by=user)


@pytest.mark.postgres
def test_postgresql_knows_the_size_of_a_large_import_at_once(
    postgres: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(items, "MANY", 5)
    project_with_items(5)
    with connection.cursor() as cursor:
        cursor.execute("SELECT reltuples FROM pg_class WHERE relname = 'annotation_item'")
        assert cursor.fetchone() == (5,)
