"""Imports of other tools' files: brat as two files, and what a file does not say is asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from annotation.models import Batch, Item, SourceLabels, Vote
from annotation.testset import TestSet, export_lines
from tests.cast.basics import run_job
from tests.cast.projects import ProjectCast, error_codes

TEXT = "Ada lives\r\nin 𝔅onn.".encode()
ANN = "T1\tPER 0 3\tAda\nT2\tLOC 14 18\t𝔅onn\nR1\tlives_in Arg1:T1 Arg2:T2\t\n#1\tAnnotatorNotes T1\tsure\n"


@pytest.fixture
def cast(db: None, client: Client) -> ProjectCast:
    cast = ProjectCast.create(kind="joint", labels=())
    client.force_login(cast.curator)
    return cast


def files(**more: bytes) -> dict[str, Any]:
    return {
        name: SimpleUploadedFile(file, content)
        for name, (file, content) in {
            "upload": ("d1.txt", TEXT),
            "annotations": ("d1.ann", ANN.encode()),
            **{name: (name, content) for name, content in more.items()},
        }.items()
    }


def imported() -> Batch:
    batch = Batch.objects.get()
    run_job("import", batch.pk)
    batch.refresh_from_db()
    return batch


def check(batch: Batch) -> None:
    item = Item.objects.get()
    assert (batch.state, batch.format, batch.refused) == ("done", "brat", 0)
    assert (item.external_id, item.text) == ("d1", TEXT.decode())
    labels = SourceLabels.objects.get().labels
    assert labels["spans"] == [[0, 3, "PER"], [14, 18, "LOC"]]
    assert labels["relations"] == [[0, "lives_in", 1]]


def test_the_page_takes_both_files(client: Client, cast: ProjectCast) -> None:
    answer = client.post(reverse("project-import", args=["harbour"]), {"what": "items", **files()})
    assert answer.status_code == 302
    check(imported())


def test_the_api_takes_both_files(client: Client, cast: ProjectCast) -> None:
    sent = files()
    sent["file"] = sent.pop("upload")
    assert client.post("/api/v1/projects/harbour/imports", sent).status_code == 202
    check(imported())


@pytest.mark.parametrize("surface", ["page", "api"])
def test_an_empty_document_of_gold_is_a_document(client: Client, cast: ProjectCast, surface: str) -> None:
    file, address = (
        ("upload", reverse("test-set-import")) if surface == "page" else ("file", "/api/v1/test-sets")
    )
    about = {"name": "Tides", "version": "1.0", "kind": "joint"}

    def empty(*names: str) -> dict[str, Any]:
        return {
            name: SimpleUploadedFile(f"d9.{'ann' if name == 'annotations' else 'txt'}", b"") for name in names
        }

    alone = client.post(address, about | empty(file))
    assert ("has no content" if surface == "page" else "is empty") in alone.content.decode()
    assert not Batch.objects.exists()
    together = client.post(address, about | empty(file, "annotations"))
    assert together.status_code == (302 if surface == "page" else 202), together.content.decode()
    batch = imported()
    assert (batch.state, batch.problems) == ("done", [])
    (line,) = export_lines(TestSet.objects.get())
    assert json.loads(line) == {"id": "d9", "text": "", "spans": [], "relations": []}


def test_the_command_takes_both_files(cast: ProjectCast, tmp_path: Path) -> None:
    (tmp_path / "d1.txt").write_bytes(TEXT)
    (tmp_path / "d1.ann").write_text(ANN)
    beside = str(tmp_path / "d1.ann")
    call_command(
        "import_items", "harbour", str(tmp_path / "d1.txt"), annotations=beside, by=cast.curator.username
    )
    check(Batch.objects.get())


def test_another_format_has_no_second_file(client: Client, cast: ProjectCast) -> None:
    sent = {"what": "items", "format": "conll", "scheme": "IOB2", **files()}
    page = client.post(reverse("project-import", args=["harbour"]), sent).content.decode()
    assert "Only brat has a file of annotations" in page
    assert not Batch.objects.exists()


DOCCANO = '{"id":1,"text":"🚀 Ada met Bo","label":[[2,5,"PER"]],"Comments":[]}\n'
ROWS = '{"id":"d1","tokens":["Ada"],"ner_tags":[1]}\n'


@pytest.mark.parametrize(
    ("content", "field", "value"), [(DOCCANO, "unit", "code-points"), (ROWS, "names", "O, B-PER, I-PER")]
)
def test_the_form_asks_for_what_a_file_does_not_say(
    client: Client, cast: ProjectCast, content: str, field: str, value: str
) -> None:
    address = reverse("project-import", args=["harbour"])
    sent = {"what": "items", "upload": SimpleUploadedFile("d.jsonl", content.encode())}
    assert error_codes(client.post(address, sent), field) == [f"no_{field}"]
    sent["upload"] = SimpleUploadedFile("d.jsonl", content.encode())
    assert client.post(address, sent | {field: value}).status_code == 302
    assert imported().state == "done"
    assert len(SourceLabels.objects.get().labels["spans"]) == 1


TSV = """#FORMAT=WebAnno TSV 3.3
#T_SP=custom.Span|label
#T_RL=custom.Relation|label|BT_custom.Span


#Text=𝔅o met Ada.
1-1\t0-3\t𝔅o\tPER\t_\t_\t
1-2\t4-7\tmet\t_\t_\t_\t
1-3\t8-11\tAda\tPER\tknows\t1-1\t
1-4\t11-12\t.\t_\t_\t_\t
"""


@pytest.mark.parametrize(
    ("document", "spans"),
    [
        ({"text": "𝔅o met Ada."}, [[0, 2, "PER"], [7, 10, "PER"]]),
        ({"text": "𝔅o met Eva."}, None),
        ({"tokens": ["𝔅o", "met", "Ada."]}, None),
    ],
)
def test_a_persons_file_of_inception_is_an_answer(
    client: Client, cast: ProjectCast, document: dict[str, Any], spans: list[Any] | None
) -> None:
    cast.import_lines({"id": "d1", "spans": [], **document})
    sent = {"file": SimpleUploadedFile("ben.tsv", TSV.encode()), "what": "votes", "options": '{"item": "d1"}'}
    assert client.post("/api/v1/projects/harbour/imports", sent).status_code == 202
    batch = Batch.objects.get(what="votes")
    run_job("import", batch.pk)
    batch.refresh_from_db()
    if spans is None:
        assert [problem["code"] for problem in batch.problems] == ["wrong_words"]
    else:
        vote = Vote.objects.get()
        assert (vote.annotator.name, vote.item.external_id) == ("ben", "d1")
        assert vote.payload == {"spans": spans, "relations": [[0, "knows", 1]]}


def test_documents_on_one_line_are_told_apart(client: Client, cast: ProjectCast) -> None:
    spans = [{"id": "a", "type": "labels", "value": {"start": 0, "end": 3, "labels": ["PER"]}}]
    people = [{"completed_by": number, "result": spans} for number in (1, 2)]
    tasks = [
        {"data": {"text": f"Ada {name}.", "doc_id": name}, "annotations": people}
        for name in ("d1", "d2", "d2")
    ]
    for what in ("items", "votes"):
        file = SimpleUploadedFile("tasks.json", json.dumps(tasks).encode())
        client.post("/api/v1/projects/harbour/imports", {"file": file, "what": what})
        run_job("import", Batch.objects.get(what=what).pk)
    assert list(Item.objects.values_list("external_id", flat=True)) == ["d1", "d2"]
    assert sorted(Vote.objects.values_list("item__external_id", "annotator__name")) == [
        ("d1", "1"), ("d1", "2"), ("d2", "1"), ("d2", "2"),
    ]  # fmt: skip


def test_fields_of_few_formats_are_folded_until_one_of_them_is_needed(
    client: Client, cast: ProjectCast
) -> None:
    address = reverse("project-import", args=["harbour"])
    assert "<details>" in client.get(address).content.decode()
    columns = SimpleUploadedFile("d.conll", b"Ada\tB-PER\nmet\tO\n")
    page = client.post(address, {"what": "items", "upload": columns}).content.decode()
    assert "<details open>" in page
    assert "need a tag scheme" in page
