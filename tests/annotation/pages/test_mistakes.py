"""Mistakes that people make when they set up a project: each is explained where it is made."""

from __future__ import annotations

import gzip
import html
import re
from io import BytesIO
from typing import Any

import msgspec
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from annotation import projects
from annotation.imports import batches
from annotation.models import Batch, Project
from tests.cast.basics import run_job, sentence
from tests.cast.projects import ProjectCast, error_codes

HOME = "/projects/harbour/"
COLUMNS = b"Ada\tB-PER\nsaw\tO\nTurin\tB-LOC\n\nShe\tO\nleft\tO\n"


def lines(*entries: Any) -> bytes:
    return b"".join(msgspec.json.encode(entry) + b"\n" for entry in entries)


def sent(client: Client, content: bytes, name: str = "lines.jsonl", **more: str) -> Any:
    """The response to a file; a redirect when it was taken."""
    form = {"what": "items", "format": "", "scheme": "", "empty": "no-vote"} | more
    return client.post(f"{HOME}import/", form | {"upload": SimpleUploadedFile(name, content)})


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "empty_file"),
        (b"\n  \n", "empty_file"),
        ('{"id": "s1", "text": "Malmö"}\n'.encode("latin-1"), "not_utf8"),
        ('{"id": "s1"}\n'.encode("utf-16"), "not_utf8"),
        (b"PK\x03\x04rest of it", "not_utf8"),
        (gzip.compress(b'{"id": "s1"}\n', mtime=0)[:-9], "bad_gzip"),
        (b"id,sentence,head,tail\n1,Ada left,Ada,Turin\n", "unknown_format"),
        (b'[{"id": "s1"},\n {"id": "s2"}]\n', "unknown_format"),
        (lines({"id": "s1", "label": "born_in"}), "unknown_format"),
        (b"8001\tOther\n", "unknown_format"),
        (lines({"item": "s1", "annotator": "a", "na": True}), "unknown_format"),
        (b"unit\tterm1\tterm2\tsentence\n", "empty_file"),
        (b"unit\tterm1\tterm2\tsentence\n" + b"\n" * 60, "empty_file"),
    ],
)
def test_an_unreadable_file_is_rejected_at_its_field(
    client: Client, cast: ProjectCast, content: bytes, code: str
) -> None:
    assert error_codes(sent(client, content), "upload") == [code]
    assert not Batch.objects.exists()


def test_a_table_with_only_a_header_is_rejected_at_its_field(client: Client, cast: ProjectCast) -> None:
    response = sent(client, b"unit\tworker\trelations\n", what="votes")
    assert error_codes(response, "upload") == ["empty_file"]


def test_blank_lines_after_a_header_are_ignored(client: Client, cast: ProjectCast) -> None:
    row = b"u1\tAda\tTurin\tAda left Turin .\n"
    response = sent(client, b"unit\tterm1\tterm2\tsentence\n" + b"\n" * 6_000 + row)
    assert response.status_code == 302


def test_a_missing_file_is_reported_at_its_field(client: Client, cast: ProjectCast) -> None:
    response = client.post(f"{HOME}import/", {"what": "items"})
    assert error_codes(response, "upload") == ["required"]
    assert 'id="id_upload_error"' in response.content.decode()


def test_columns_are_rejected_in_a_relation_project(client: Client, cast: ProjectCast) -> None:
    assert error_codes(sent(client, COLUMNS), "upload") == ["mixed_forms"]


def test_columns_without_a_tag_scheme_are_rejected_at_the_scheme(client: Client, db: None) -> None:
    client.force_login(ProjectCast.create(kind="entities", labels=["PER"]).curator)
    assert error_codes(sent(client, COLUMNS), "scheme") == ["no_scheme"]
    assert sent(client, COLUMNS, scheme="IOB2").status_code == 302


def test_a_wrong_format_is_reported_at_its_field(client: Client, cast: ProjectCast) -> None:
    response = sent(client, lines(sentence(1)), format="nyt10")
    assert error_codes(response, "format") == ["unknown_format"]


def test_a_file_with_invalid_text_far_down_is_rejected_with_the_line(
    client: Client, cast: ProjectCast
) -> None:
    many = lines(*(sentence(at) for at in range(1, 5_200))) + "Malmö\n".encode("latin-1")
    assert sent(client, many).status_code == 302
    batch = Batch.objects.get()
    run_job("import", batch.pk)
    page = client.get(f"/imports/{batch.pk}/").content.decode()
    assert "state--bad" in page
    assert "Line 5,200" in html.unescape(page)


def test_a_label_missing_from_the_ontology_is_listed_with_its_count(
    client: Client, cast: ProjectCast
) -> None:
    batch = cast.import_lines(
        *(sentence(at, relations=["born_in"]) for at in range(1, 4)), sentence(4, relations=["bron_in"])
    )
    page = client.get(f"/imports/{batch.pk}/").content.decode()
    assert re.search(r"1 label\s+missing from the ontology", page)
    row = next(row for row in page.split("<tr>") if "bron_in</th>" in row)
    assert re.search(r'class="fig">1</td>.*state--warn.*similar to born_in', row, re.DOTALL)
    client.post(f"/imports/{batch.pk}/", {"action": "add", "part": "relation"})
    assert cast.project.labels.filter(name="bron_in").exists()


def test_a_misspelt_label_can_be_merged_into_the_intended_one(client: Client, db: None) -> None:
    cast = ProjectCast.create(labels=())
    client.force_login(cast.curator)
    many = (sentence(at, relations=["born_in"]) for at in range(1, 8))
    batch = cast.import_lines(*many, sentence(8, relations=["bornin"]), sentence(9, relations=["died_in"]))
    context = client.get(f"/imports/{batch.pk}/").context
    assert len(context["added"]) == 3
    assert [(each.name, each.lines, each.like) for each in context["misspellings"]] == [
        ("bornin", 1, "born_in")
    ]
    client.post(f"/imports/{batch.pk}/", {"action": "merge", "name": "bornin", "like": "born_in"})
    ontology = client.get(f"{HOME}ontology/").content.decode()
    assert "2 labels and N/A" in ontology
    assert "misspelling" not in client.get(f"/imports/{batch.pk}/").content.decode()


def test_labels_added_by_a_file_can_be_removed(client: Client, db: None) -> None:
    cast = ProjectCast.create(labels=())
    client.force_login(cast.curator)
    batch = cast.import_lines(sentence(1, relations=["born_in"]), sentence(2, relations=["died_in"]))
    client.post(f"/imports/{batch.pk}/", {"action": "out", "part": "relation"})
    assert not cast.project.labels.exists()


def test_a_label_in_use_cannot_be_removed(client: Client, db: None) -> None:
    cast = ProjectCast.create(labels=())
    client.force_login(cast.curator)
    batch = cast.import_lines(sentence(1, relations=["born_in"]))
    cast.open().answer("ann", 1, "born_in")
    answer = client.post(f"/imports/{batch.pk}/", {"action": "out", "part": "relation"})
    assert answer.status_code == 409
    assert cast.project.labels.filter(name="born_in").exists()


@pytest.mark.parametrize(
    ("typed", "code"),
    [
        ("works_for\nborn_at\nworks_for", "repeated"),
        ("works_for\nWorks_For", "repeated"),
        ("Born_In", "differs_in_case"),
        ("works_for\n\ttitle only", "no_name"),
        ("x" * 201, "too_long"),
        ("", "required"),
    ],
)
def test_an_invalid_typed_label_is_reported_at_its_field(
    client: Client, cast: ProjectCast, typed: str, code: str
) -> None:
    response = client.post(f"{HOME}ontology/", {"action": "labels", "labels": typed})
    assert error_codes(response, "labels") == [code]
    assert cast.project.labels.count() == 3


@pytest.mark.parametrize(
    ("names", "code"), [("nils", "unknown_user"), ("ann, Judy", "unknown_user"), (" , ", "no_name")]
)
def test_an_unknown_user_name_is_reported_at_its_field(
    client: Client, cast: ProjectCast, names: str, code: str
) -> None:
    response = client.post(f"{HOME}members/", {"user": names, "role": "annotator"})
    assert error_codes(response, "user") == [code]
    assert cast.project.members.count() == 5


def test_the_only_curator_cannot_change_their_own_role(client: Client, cast: ProjectCast) -> None:
    response = client.post(f"{HOME}members/", {"user": "ann cleo", "role": "viewer"})
    assert error_codes(response, "user") == ["last_curator"]
    assert cast.project.members.get(user__username="ann").role == "annotator"


def test_more_answers_per_sentence_than_annotators_gives_a_warning(client: Client, cast: ProjectCast) -> None:
    client.post(HOME, {"k": "9", "policy": "majority"})
    assert 'id="too-few"' in client.get(HOME).content.decode()
    assert client.get(f"{HOME}members/").context["missing"] == 6
    projects.set_k(cast.project, k=3, by=cast.curator)
    assert 'id="too-few"' not in client.get(HOME).content.decode()


@pytest.mark.parametrize("k", ["0", "51", "many"])
def test_an_invalid_number_of_answers_is_reported_at_its_field(
    client: Client, cast: ProjectCast, k: str
) -> None:
    fields = {"title": "New one", "kind": "relations", "k": k, "policy": "majority"}
    (code,) = error_codes(client.post("/projects/new/", fields), "k")
    assert code in ("min_value", "max_value", "invalid")
    assert Project.objects.count() == 1


def test_a_project_without_sentences_cannot_be_opened_on_its_page(client: Client, cast: ProjectCast) -> None:
    answer = client.post(HOME, {"action": "open"})
    assert answer.status_code == 409
    assert 'data-code="no_items"' in answer.content.decode()
    assert Project.objects.get().state == "setup"


def test_a_project_without_labels_cannot_be_opened_on_its_page(client: Client, db: None) -> None:
    cast = ProjectCast.create(labels=())
    cast.import_lines(sentence(1))
    client.force_login(cast.curator)
    page = client.post(HOME, {"action": "open"}).content.decode()
    assert 'data-code="no_labels"' in page


def test_a_guideline_preview_has_no_html(client: Client, cast: ProjectCast) -> None:
    text = {"guideline": "# Read\n<script>x()</script> [here](javascript:x) **all**", "na_means": "none"}
    response = client.post(f"{HOME}guideline/", text | {"action": "show"})
    assert response.context["unsaved"]
    shown = response.content.decode()
    assert "<h3>Read</h3>" in shown
    assert "<script>x" not in shown
    assert 'href="javascript' not in shown
    assert not Project.objects.get().guideline
    client.post(f"{HOME}guideline/", text | {"action": "keep"})
    assert Project.objects.get().guideline.startswith("# Read")


UNITS = b"unit\tterm1\tterm2\tsentence\n"


def imported_page(client: Client, content: bytes, name: str) -> str:
    """The page of an import of this file, read to its end."""
    assert sent(client, content, name).status_code == 302
    batch = Batch.objects.latest("pk")
    run_job("import", batch.pk)
    return client.get(f"/imports/{batch.pk}/").content.decode()


def test_a_line_with_two_problems_counts_as_one_rejected_line(client: Client, cast: ProjectCast) -> None:
    good = b"u1\tAda\tTurin\tAda was seen in Turin .\n"
    page = imported_page(client, UNITS + good + b"u2\tBob\tRome\tNobody was there.\nu3\tAda\n", "units.tsv")
    assert Batch.objects.latest("pk").refused == 2
    rows = re.findall(r"<tr><td[^>]*>([0-9,]+)</td><td[^>]*>(.*?)</td>", page)
    assert [line for line, _ in rows] == ["3", "3", "4"]
    assert not any(words.startswith("Line ") for _, words in rows)


def test_tabs_of_a_rejected_line_are_visible(client: Client, cast: ProjectCast) -> None:
    good = b"u1\tAda\tTurin\tAda was seen in Turin .\n"
    page = imported_page(client, UNITS + good + b"u2 Ada Turin Ada left Turin.\nu3\tAda\n", "units.tsv")
    assert "u3 ⇥ Ada" in page
    right = re.findall(r"<code>(.*?)</code>", page)
    assert any(example.count(" ⇥ ") == 3 for example in right)
    assert ">wrong_columns<" not in page


def test_a_file_with_only_a_header_is_an_empty_file(client: Client, cast: ProjectCast) -> None:
    """By the API, where nobody looks at the file first."""
    arguments = {"content": "items", "filename": "units.tsv", "by": cast.curator, "project": cast.project}
    batch = batches.receive(upload=BytesIO(UNITS + b"\n"), **arguments)
    run_job("import", batch.pk)
    page = client.get(f"/imports/{batch.pk}/").content.decode()
    batch.refresh_from_db()
    assert batch.counts["by_code"] == {"empty_file": 1}
    assert "Line" not in batch.reason
    assert html.escape(batch.reason) in page


def figures(page: str) -> dict[str, str]:
    return dict(re.findall(r"<dt>([^<]+)</dt>\s*<dd>([^<]+)</dd>", page))


def test_a_repeated_line_is_counted_once(client: Client, cast: ProjectCast) -> None:
    batch = cast.import_lines(sentence(1), sentence(1), sentence(2))
    shown = figures(client.get(f"/imports/{batch.pk}/").content.decode())
    assert (shown["Lines"], shown["Sentences"], shown["Repeated lines"]) == ("3", "2", "1")
    assert [name for name in shown if "epeat" in name] == ["Repeated lines"]


def test_exact_repeats_are_counted_among_repeated_lines(client: Client, cast: ProjectCast) -> None:
    labels = (["born_in"], ["died_in"], ["died_in"])
    batch = cast.import_lines(*(sentence(1, relations=relations) for relations in labels))
    batch.counts = dict(sorted(batch.counts.items()))  # as a database may give them back
    batch.save(update_fields=["counts"])
    shown = list(figures(client.get(f"/imports/{batch.pk}/").content.decode()).items())
    at = shown.index(("Repeated lines", "2"))
    assert shown[at + 1] == ("Exact repeats among them", "1")


def test_a_gold_question_with_an_unknown_label_is_rejected_until_corrected(
    cast: ProjectCast,
) -> None:
    good, bad = sentence(1, relations=["born_in"]), sentence(2, relations=["born_on"])
    batch = cast.import_lines(good, bad, known="qualify")
    assert cast.project.items.get(batch=batch).external_id == "s1"
    (problem,) = batch.problems
    assert (problem["code"], problem["line"], problem["found"]) == ("unknown_label", 2, "born_on")
    assert "Did you mean born_in?" in problem["message"]
    cast.import_lines(good, bad | {"relations": ["born_in"]}, known="qualify")
    assert cast.item(2).known.payload["relations"] == ["born_in"]
