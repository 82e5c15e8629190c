"""Freezing in the browser, and the page of the set it makes."""

import hashlib
import io
import json
import re
import zipfile
from uuid import uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from annotation.adjudication import decisions
from annotation.models import Batch, Vote
from annotation.pages import testsets
from annotation.testset import TestSet, export_lines, label_titles
from evalsvc.core.formats.problem_kinds import KINDS
from tests.cast.basics import run_job, sentence
from tests.cast.projects import ProjectCast, error_codes

WANTED = {"name": "Harbour", "version": "1.0"}


@pytest.fixture
def cast(db: None, client: Client) -> ProjectCast:
    cast = ProjectCast.create()
    cast.import_lines(
        sentence(1, relations=["born_in"]), sentence(2, relations=["lived_in"]), sentence(3, relations=[])
    )
    cast.open()
    for who in ("ann", "bob"):
        cast.answer(who, 1, "lived_in")
        cast.answer(who, 3)
    client.force_login(cast.curator)
    return cast


def frozen(client: Client, cast: ProjectCast) -> TestSet:
    client.post(reverse("freeze", args=["harbour"]), WANTED | {"leave_out": "on"})
    run_job("freeze", TestSet.objects.get(origin="annotated").pk)
    return TestSet.objects.get(origin="annotated")


def test_items_that_prevent_a_freeze_are_counted(client: Client, cast: ProjectCast) -> None:
    cast.dispute(2)
    counts = client.get(reverse("freeze", args=["harbour"])).context["counts"]
    assert (counts["settled"], counts["disputed"], counts["open"]) == (2, 1, 0)


def test_undecided_sentences_prevent_a_freeze_unless_excluded(client: Client, cast: ProjectCast) -> None:
    response = client.post(reverse("freeze", args=["harbour"]), WANTED)
    assert error_codes(response, None) == ["not_settled"]
    assert not TestSet.objects.exists()


def test_a_freeze_is_polled_until_it_is_done(client: Client, cast: ProjectCast) -> None:
    answer = client.post(reverse("freeze", args=["harbour"]), WANTED | {"leave_out": "on"})
    waiting = client.get(answer.headers["Location"])
    assert 'hx-trigger="every 1s"' in waiting.content.decode()
    assert not re.search(r"\d", waiting.context["content"].lead.replace("SHA-256", ""))
    run_job("freeze", TestSet.objects.get(origin="annotated").pk)
    page = client.get(answer.headers["Location"], headers={"HX-Request": "true"})
    assert page.headers["HX-Refresh"] == "true"


def test_the_page_shows_digest_origin_and_restrictions(client: Client, cast: ProjectCast) -> None:
    made = frozen(client, cast)
    response = client.get(reverse("test-set", args=[made.slug]))
    content, page = response.context["content"], response.content.decode()
    assert made.sha256 in page
    # sentences, people each, answers given blind, labels
    assert re.findall(r"\d+", content.lead) == ["2", "2", "4", "3"]
    assert re.findall(r"\d+", dict(content.provenance)["Outcomes"]) == ["2", "0"]
    assert content.left_out == "Left out by the curator: 1 open sentence. The manifest lists them."
    assert 'id="not-for"' in page


def test_the_page_claims_of_answers_only_what_was_recorded(client: Client, cast: ProjectCast) -> None:
    cast.dispute(2)  # left out, with its answers
    batch = Batch.objects.first()
    imported, prefilled = Vote.objects.order_by("pk")[:2]
    Vote.objects.filter(pk=imported.pk).update(batch=batch)
    Vote.objects.filter(pk=prefilled.pk).update(shown=batch)
    made = frozen(client, cast)
    assert made.manifest["answers"] == {"blind": 2, "prediction_shown": 1, "imported": 1}
    content = client.get(reverse("test-set", args=[made.slug])).context["content"]
    assert re.findall(r"\d+", content.answer_origins) == ["2", "1", "1"]


def test_the_page_counts_what_the_import_merged_and_repaired(client: Client, cast: ProjectCast) -> None:
    made = frozen(client, cast)
    made.batch = Batch(
        options={"scheme": "IOB1"}, counts={"repeated_lines": 3, "warnings": {"repaired_tag": 5}}
    )
    reading = dict(testsets.Composition(made).provenance)["Reading"]
    expected = f"Tags: IOB1, repair conlleval. 3 repeated lines merged. 5 × {KINDS['repaired_tag'].message}"
    assert reading == expected


def test_sets_of_entities_speak_of_texts() -> None:
    made = TestSet(kind="joint", origin="annotated", state="frozen", rows=2)
    made.statistics = {"na_share": 0.5}
    made.manifest = {"policy": "majority", "k": 2, "left_out": {"open": ["d1"], "disputed": ["d2"]}}
    content = testsets.Composition(made)
    shown = [content.lead, content.left_out, *content.not_for, *(stat.detail for stat in content.stats)]
    shown += [text for _, text in content.provenance]
    assert "sentence" not in " ".join(shown)
    one = TestSet(kind="relations", origin="imported", state="frozen", rows=1, labels=[{"name": "born_in"}])
    assert testsets.Composition(one).lead == "1 sentence. 1 relation and N/A."
    assert content.left_out.startswith("Left out by the curator: 1 open and 1 disputed texts.")


def test_labels_of_equal_titles_are_told_apart_by_name() -> None:
    labels = [{"name": name, "title": "capital"} for name in ("/country/capital", "/region/capital")]
    titles = label_titles([*labels, {"name": "founders", "title": "founded by"}, {"name": "born_in"}])
    assert titles["/country/capital"] == "/country/capital"
    assert (titles["founders"], titles["born_in"]) == ("founded by", "born_in")


def test_the_page_of_an_older_set_claims_nothing_of_its_answers(client: Client, cast: ProjectCast) -> None:
    made = frozen(client, cast)
    made.manifest = {name: value for name, value in made.manifest.items() if name != "answers"}
    assert testsets.Composition(made).answer_origins == ""


def test_the_download_has_the_digest_of_the_page(client: Client, cast: ProjectCast) -> None:
    made = frozen(client, cast)
    answer = client.get(reverse("test-set-lines", args=[made.slug]))
    body = b"".join(answer.streaming_content)  # type: ignore[attr-defined]
    assert hashlib.sha256(body).hexdigest() == made.sha256
    assert body.count(b"\n") == 2


def test_curators_write_on_the_card_and_faults_are_named_at_their_field(
    client: Client, cast: ProjectCast
) -> None:
    made = frozen(client, cast)
    card = reverse("test-set-card", args=[made.slug])
    bad = client.post(card, {"licence": "my own!", "languages": "en"})
    assert error_codes(bad, "licence") == ["invalid_input"]
    sent = {"words": "From *three* papers.", "authors": "Doe, Ann\n\nLab", "languages": "en de"}
    assert client.post(card, sent).status_code == 302
    page = client.get(reverse("test-set", args=[made.slug])).content.decode()
    assert "From <em>three</em> papers." in page
    assert "Doe, Ann; Lab (" in page
    kept = client.get(f"/api/v1/test-sets/{made.slug}/card").json()
    assert (kept["authors"], kept["languages"]) == (["Doe, Ann", "Lab"], ["en", "de"])


def test_another_format_is_downloaded_after_its_losses_are_shown(client: Client, cast: ProjectCast) -> None:
    made = frozen(client, cast)
    address = reverse("test-set-export", args=[made.slug])
    page = client.get(address).content.decode()
    assert ("TACRED (JSON)" in page, "SpERT (JSON)" in page) == (True, False)  # the set is of pairs
    page = client.get(address, {"format": "tacred"}).content.decode()
    assert "One relation a pair, no ids" in page
    answer = client.get(reverse("test-set-export-file", args=[made.slug]), {"format": "tacred"})
    rows = json.loads(b"".join(answer.streaming_content))  # type: ignore[attr-defined]
    golds = [json.loads(line) for line in export_lines(made)]
    assert [row["id"] for row in rows] == [gold["id"] for gold in golds]
    assert "private, no-store" in answer["Cache-Control"]


def test_several_files_are_a_zip_of_the_same_bytes_each_time(client: Client, cast: ProjectCast) -> None:
    made = frozen(client, cast)
    address = reverse("api-test-set-export", args=[made.slug, "opennre-gold"])
    one, other = (b"".join(client.get(address).streaming_content) for _ in range(2))  # type: ignore[attr-defined]
    assert one == other
    assert zipfile.ZipFile(io.BytesIO(one)).namelist() == [f"{made.slug}.txt", "rel2id.json"]


@pytest.mark.parametrize(
    ("key", "query", "words"),
    [
        ("spert", {}, "can’t hold relations"),
        ("nothing", {}, "Unknown format"),
        ("doccano", {}, "needs a unit of offsets"),
        ("doccano", {"unit": "bytes"}, "Invalid unit"),
    ],
)
def test_a_format_that_does_not_fit_is_refused(
    client: Client, cast: ProjectCast, key: str, query: dict[str, str], words: str
) -> None:
    made = frozen(client, cast)
    answer = client.get(reverse("api-test-set-losses", args=[made.slug, key]), query)
    assert (answer.status_code, words in answer.json()["detail"]) == (400, True)


def test_a_set_being_imported_shows_its_own_job(client: Client, cast: ProjectCast) -> None:
    file = SimpleUploadedFile("key.txt", b"1\tA(e1,e2)\n")
    client.post(
        reverse("test-set-import"), {"upload": file, "name": "Key", "version": "1", "kind": "relations"}
    )
    made = TestSet.objects.get(origin="imported")
    assert made.batch_id not in (None, made.pk)
    job = testsets._job(made)["job"]
    assert job is not None
    assert (job.kind, job.subject) == ("import", made.batch_id)


def test_a_viewer_sees_the_set_but_not_its_lines(client: Client, cast: ProjectCast) -> None:
    made = frozen(client, cast)
    client.force_login(cast.people["vera"])
    page = client.get(reverse("test-set", args=[made.slug])).content.decode()
    assert reverse("test-set-lines", args=[made.slug]) not in page
    assert client.get(reverse("test-set-lines", args=[made.slug])).status_code == 403


def test_the_next_version_is_proposed(client: Client, cast: ProjectCast) -> None:
    frozen(client, cast)
    assert 'value="1.1"' in client.get(reverse("freeze", args=["harbour"])).content.decode()


def test_statistics_appear_when_they_are_computed(client: Client, cast: ProjectCast) -> None:
    made = frozen(client, cast)
    address = reverse("test-set", args=[made.slug])
    assert 'hx-select="#figures"' in client.get(address).content.decode()
    run_job("describe", made.pk)
    response = client.get(address, {"of": "figures"}, headers={"HX-Request": "true"})
    assert "HX-Refresh" not in response
    page = response.content.decode()
    assert "hx-get" not in page
    assert "50.0 %" in [stat.figure for stat in response.context["content"].stats]
    assert 'id="source-quality"' in page


def test_labels_without_a_line_are_named_instead_of_drawn(client: Client, cast: ProjectCast) -> None:
    made = frozen(client, cast)
    run_job("describe", made.pk)
    response = client.get(reverse("test-set", args=[made.slug]))
    (chart,) = response.context["content"].charts
    assert {bar.title for bar in chart.bars} == {"place lived", "N/A"}
    assert chart.unsupported == ["place of birth", "place of death"]
    assert chart.nothing in response.content.decode()


def test_patterns_agreement_and_source_quality_have_figures_with_intervals(
    client: Client, cast: ProjectCast
) -> None:
    item = cast.dispute(2)
    arguments = {"by": cast.people["judy"], "client_id": uuid4(), "votes_key": item.votes_key}
    decisions.decide(item, payload={"relations": ["lived_in"]}, **arguments)
    made = frozen(client, cast)
    run_job("describe", made.pk)
    response = client.get(reverse("test-set", args=[made.slug]))
    figure = response.context["patterns"]
    assert figure.title == "The rule settled 2 of 3 sentences (66.7 %)"
    assert ("1–1", "1", "an adjudicator") in figure.table.rows
    assert "α" in [stat.name for stat in response.context["content"].stats]
    (row,) = [row for row in response.context["quality"]["rows"] if row["title"] == "place lived"]
    assert re.fullmatch(r"[\d.]+ % \(\d+ to \d+\)", row["recall"]["text"])
    assert response.context["quality"]["absent"] == ["place of death"]


def test_published_gold_is_imported_under_its_name(client: Client, cast: ProjectCast) -> None:
    file = SimpleUploadedFile("key.txt", b"1\tA(e1,e2)\n2\tOther\n")
    sent = {"upload": file, "name": "Key", "version": "2010", "kind": "relations", "negative": "Other"}
    answer = client.post(reverse("test-set-import"), sent)
    batch = Batch.objects.get(what="gold")
    assert answer.headers["Location"] == reverse("import", args=[batch.pk])
    run_job("import", batch.pk)
    page = client.get(answer.headers["Location"]).content.decode()
    made = TestSet.objects.get(origin="imported")
    assert f'href="{reverse("test-set", args=[made.slug])}"' in page
    assert (made.name, made.version, made.rows, made.negative) == ("Key", "2010", 2, "Other")
    assert len(client.get(reverse("test-set", args=[made.slug])).context["content"].not_for) == 1


def test_reasons_of_decisions_are_shown_to_readers_of_the_lines_only(
    client: Client, cast: ProjectCast
) -> None:
    item = cast.dispute(2)
    arguments = {"by": cast.people["judy"], "client_id": uuid4(), "votes_key": item.votes_key}
    decisions.decide(item, payload={"relations": ["lived_in"]}, reason="It says for years.", **arguments)
    address = reverse("test-set", args=[frozen(client, cast).slug])
    assert "It says for years." in client.get(address).content.decode()
    client.force_login(cast.people["vera"])
    assert "It says for years." not in client.get(address).content.decode()
