"""The files of a release: complete, blind where they must be, and most never changed."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import call_command
from django.test import Client

from annotation import projects
from annotation.adjudication import decisions
from annotation.freezing import builder
from annotation.models import Answer, Batch, Card, Project, Vote
from annotation.ontology import inventory
from annotation.queue import exclusions
from annotation.releases import card, card_text, folder, licences
from annotation.releases.listing import listing
from annotation.reports import vote_log
from annotation.splits import companions
from annotation.testset import TestSet
from evalsvc.core.errors.exceptions import Conflict
from tests.cast.basics import run_job, sentence
from tests.cast.projects import (
    annotators,
    answer_item,
    answered_item,
    create_project,
    curator,
    import_lines,
)
from tests.cast.replay import replayed
from tests.errors import code

pytestmark = pytest.mark.django_db
GUIDELINE = "# Who founded what\n\nOnly what the sentence says."


def decide(project: Project, name: str, *relations: str) -> None:
    item = project.items.get(external_id=name)
    values = {"client_id": uuid4(), "votes_key": item.votes_key, "reason": "It says so."}
    decisions.decide(item, by=curator(), payload={"relations": list(relations)}, **values)


@replayed
def released() -> TestSet:
    """s0 settled as A by 2 to 1, s1 settled as N/A, s2 decided as C, s3 left out, with a surplus answer."""
    project = create_project(k=3)
    projects.set_guideline(project, by=curator(), guideline=GUIDELINE)
    import_lines(project, [sentence(f"s{at}", relations=["A"]) for at in range(4)])
    projects.open_for_work(project, by=curator())
    answered_item(project, ["A"], ["A", "B"], [], item="s0")
    answered_item(project, [], [], [], item="s1")
    answered_item(project, ["A"], ["B"], ["C"], item="s2")
    decide(project, "s2", "C")
    return frozen(project)


def frozen(project: Project, version: str = "1.0") -> TestSet:
    """Freeze what is decided, with its statistics."""
    made = builder.freeze(project, name="Trial", version=version, leave_out=True, by=curator())
    run_job("freeze", made.pk)
    run_job("describe", made.pk)
    made.refresh_from_db()
    return made


def unpacked(test_set: TestSet, **more: Any) -> dict[str, bytes]:
    data = b"".join(folder.zip_of(test_set, **more))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        prefix = f"{test_set.slug}/"
        return {name.removeprefix(prefix): archive.read(name) for name in archive.namelist()}


def lines(data: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in data.splitlines()]


def test_the_folder_has_every_file_and_its_checksum() -> None:
    found = unpacked(released())
    assert set(found) == {
        *("README.md", "CITATION.cff", "citation.bib", "gold.jsonl", "blind.jsonl", "provenance.jsonl"),
        *("manifest.json", "statistics.json", "ontology.json", "guideline.md", "SHA256SUMS"),
    }
    stated = dict(line.split("  ")[::-1] for line in found.pop("SHA256SUMS").decode().splitlines())
    assert stated == {name: hashlib.sha256(data).hexdigest() for name, data in found.items()}
    assert stated["gold.jsonl"] == json.loads(found["manifest.json"])["sha256"]


def test_each_file_is_listed_with_size_and_checksum_and_downloaded_alone(client: Client) -> None:
    test_set = released()
    found = unpacked(test_set)
    assert {each.name: (each.size, each.sha256) for each in listing(test_set)} == {
        name: (len(data), hashlib.sha256(data).hexdigest())
        for name, data in found.items()
        if name != "SHA256SUMS"
    }
    client.force_login(curator())
    page = client.get(f"/test-sets/{test_set.slug}/").content.decode()
    for name, data in found.items():
        address = f"/test-sets/{test_set.slug}/files/{name}"
        assert address in page
        assert b"".join(client.get(address).streaming_content) == data
    assert client.get(f"/test-sets/{test_set.slug}/files/votes.csv").status_code == 404


def test_checksums_are_sent_without_reading_the_lines_again(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two million lines they took 13 s."""
    made = released()
    written = unpacked(made)["SHA256SUMS"]
    monkeypatch.setattr(folder, "verified_lines", None)
    client.force_login(curator())
    sent = client.get(f"/test-sets/{made.slug}/files/SHA256SUMS")
    assert b"".join(sent.streaming_content) == written


def test_a_set_described_by_an_earlier_version_lists_large_files_without_size() -> None:
    test_set = released()
    TestSet.objects.filter(pk=test_set.pk).update(file_digests=None)
    test_set.refresh_from_db()
    sizes = {each.name: each.size for each in listing(test_set)}
    assert sizes["gold.jsonl"] is None
    assert sizes["manifest.json"]


def test_zip_and_folder_have_the_same_bytes_each_time(tmp_path: Path) -> None:
    test_set = released()
    assert b"".join(folder.zip_of(test_set)) == b"".join(folder.zip_of(test_set))
    call_command("export", test_set.slug, "--folder", str(tmp_path / "out"), verbosity=0)
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == unpacked(test_set)


def test_votes_after_the_freeze_change_no_byte_of_the_release() -> None:
    test_set = released()
    before = b"".join(folder.zip_of(test_set))
    exclusions.exclude_answer(Answer.objects.filter(item__external_id="s0").earliest("pk"), by=curator())
    decisions.reopen(test_set.project.items.get(external_id="s2"), by=curator())
    projects.set_guideline(test_set.project, by=curator(), guideline="Another one.")
    assert b"".join(folder.zip_of(test_set)) == before


def change_all_around(test_set: TestSet) -> None:
    """Change the project, the card and the sets beside a frozen set, and close the project."""
    project = test_set.project
    assert project
    exclusions.exclude_answer(Answer.objects.filter(item__external_id="s0").earliest("pk"), by=curator())
    decisions.reopen(project.items.get(external_id="s2"), by=curator())
    projects.set_guideline(project, guideline="Another one.", by=curator())
    inventory.rename(project, "A", target="Z", by=curator())
    card.change(test_set, words="Ours.", authors=["Doe, Ann"], licence="cc-by-4.0", by=curator())
    gold = [sentence("t0", relations=["A"])]
    import_lines(None, gold, what="gold", name="Training", version="1", kind="relations")
    companions.put_beside(test_set, TestSet.objects.latest("pk"), "training", by=curator())
    projects.close(project, by=curator())


def test_card_citations_statistics_and_checksums_alone_change_after_the_freeze(client: Client) -> None:
    project = create_project(k=2)
    import_lines(project, [sentence(f"s{at}", relations=["A"]) for at in range(3)])
    projects.open_for_work(project, by=curator())
    answered_item(project, ["A"], ["A"], item="s0")
    answered_item(project, ["A"], ["B"], item="s1")
    answered_item(project, ["A"], ["B"], item="s2")
    decide(project, "s2", "C")
    test_set = frozen(project)
    before = unpacked(test_set)
    change_all_around(test_set)
    test_set = TestSet.objects.get(pk=test_set.pk)
    after = unpacked(test_set)
    changed = {name for name in before | after if before.get(name) != after.get(name)}
    assert changed == {"README.md", "CITATION.cff", "citation.bib", "statistics.json", "SHA256SUMS"}
    client.force_login(curator())
    page = client.get(f"/test-sets/{test_set.slug}/").content.decode()
    assert "Card, citations, statistics and checksums may change; the other files never do." in page


def test_the_file_for_predicting_has_no_label() -> None:
    found = unpacked(released())
    blind = lines(found["blind.jsonl"])
    assert [line["id"] for line in blind] == ["s0", "s1", "s2"]
    assert all(set(line) == {"id", "text", "h", "t"} for line in blind)


def test_each_line_has_answers_for_and_against_rule_and_decision() -> None:
    first, second, third = lines(unpacked(released())["provenance.jsonl"])
    assert first["labels"] == [
        {"label": "A", "for": 2, "against": 1, "gold": True},
        {"label": "B", "for": 1, "against": 2, "gold": False},
    ]
    assert (first["state"], first["k"], first["pattern"]) == ("settled", 3, "2–1 against 1 N/A")
    assert [answer["relations"] for answer in first["answers"]] == [["A"], ["A", "B"], []]
    assert [answer["by"] for answer in first["answers"]] == ["a1", "a2", "a3"]
    assert second["labels"] == []
    assert third["decision"].pop("at")
    assert third["decision"] == {"by": "d1", "relations": ["C"], "reason": "It says so."}


def test_a_label_states_what_was_suggested_and_imported_and_an_answer_why_it_does_not_count() -> None:
    project = create_project(k=2)
    import_lines(project, [sentence("s0")])
    projects.open_for_work(project, by=curator())
    item = answered_item(project, ["A"], ["A"])
    batch = Batch.objects.latest("pk")
    Vote.objects.filter(annotator__user__username="ann0").update(shown=batch)
    Vote.objects.filter(annotator__user__username="ann1").update(batch=batch)
    exclusions.exclude_answer(item.answers.get(annotator__user__username="ann0"), by=curator())
    answer_item(item, annotators(project, 3)[2], "A")
    (line,) = lines(unpacked(frozen(project))["provenance.jsonl"])
    assert line["labels"] == [{"label": "A", "for": 2, "against": 0, "gold": True, "imported": 1}]
    assert line["answers"][0] | {"milliseconds": 0} == {
        "by": "a1", "relations": ["A"], "suggested": True, "not_counted": "excluded", "milliseconds": 0,
        "guideline": 1,
    }  # fmt: skip


def test_without_gold_nothing_tells_a_label_of_a_sentence() -> None:
    found = unpacked(released(), with_gold=False)
    assert not {"gold.jsonl", "provenance.jsonl", "statistics.json"} & set(found)
    text = b"".join(found.values()).decode()
    assert "It says so." not in text
    assert "Perplexity" not in text
    assert "The manifest lists them." not in text


def test_without_gold_no_digest_checks_guesses_of_the_labels() -> None:
    """Neither that of the gold, nor of what it was made of or decided by."""
    test_set = released()
    source = TestSet.objects.get(twin=test_set)
    whole = b"".join(unpacked(test_set).values()).decode()
    blind = b"".join(unpacked(test_set, with_gold=False).values()).decode()
    digests = {test_set.sha256[:12], test_set.manifest["provenance_sha256"][:12], source.sha256[:12]}
    assert {digest for digest in digests if digest in whole} == digests - {source.sha256[:12]}
    assert {digest for digest in digests if digest in blind} == set()


def test_without_gold_labels_and_texts_are_sorted_by_name() -> None:
    test_set = released()
    test_set.labels = [{"name": name} for name in "BCA"]  # as of an old import, by frequency
    test_set.manifest["inventory"] = {"relation": test_set.labels}
    ontology = json.loads(unpacked(test_set, with_gold=False)["ontology.json"])
    for labels in (ontology["labels"], ontology["texts"]["relation"]):
        assert [label["name"] for label in labels] == ["A", "B", "C"]


def test_the_manifest_counts_people_and_names_none() -> None:
    test_set = released()
    manifest = json.loads(unpacked(test_set)["manifest.json"])
    assert manifest["people"] == 4
    assert (manifest["answers"], manifest["k_of_items"]) == (
        {"blind": 9, "prediction_shown": 0, "imported": 0},
        [3, 3],
    )
    assert manifest["left_out"] == {"open": ["s3"]}
    assert hashlib.sha256(unpacked(test_set)["manifest.json"]).hexdigest() == folder.manifest_sha256(test_set)
    assert "ann0" not in b"".join(unpacked(test_set).values()).decode()


def test_guideline_and_ontology_are_those_of_the_freeze() -> None:
    found = unpacked(released())
    assert found["guideline.md"].decode() == f"{GUIDELINE}\n"
    assert [text["name"] for text in json.loads(found["ontology.json"])["texts"]["relation"]] == [
        "A",
        "B",
        "C",
    ]


def test_the_card_keeps_the_curators_words_apart_from_what_is_computed() -> None:
    test_set = released()
    Card.objects.create(
        test_set=test_set,
        words="From *three* papers.",
        authors=["Doe, Ann", "Harbour Lab"],
        licence="cc-by-4.0",
        languages=["en"],
        by=curator(),
    )
    found = unpacked(test_set)
    head, words, computed = found["README.md"].decode().split("\n## ", 2)
    assert 'license: "cc-by-4.0"\n' in head
    assert "From *three* papers." in words
    assert computed.startswith("Computed from the test set")
    assert "Ann" not in computed.split("## Citation")[0]
    assert (
        'authors: [{"family-names": "Doe", "given-names": "Ann"}, {"name": "Harbour Lab"}]'
        in found["CITATION.cff"].decode()
    )
    assert "author = {Doe, Ann and {Harbour Lab}}" in found["citation.bib"].decode()


@pytest.mark.parametrize(
    ("licence", "hub", "citation"),
    [
        ("CC-BY-SA-3.0", {"license": "cc-by-sa-3.0"}, "CC-BY-SA-3.0"),
        ("apache-2.0", {"license": "apache-2.0"}, "Apache-2.0"),
        ("odc-by", {"license": "odc-by"}, "ODC-By-1.0"),
        ("cc-by-9.0", {"license": "other", "license_name": "cc-by-9.0"}, ""),
        ("LDC-User", {"license": "other", "license_name": "ldc-user"}, ""),
        ("other", {"license": "other"}, ""),
        ("", {}, ""),
    ],
)
def test_a_licence_is_spelled_as_hubs_and_as_citations_do(
    licence: str, hub: dict[str, str], citation: str
) -> None:
    assert (licences.hub_fields(licence), licences.spdx(licence)) == (hub, citation)


def test_a_licence_unknown_to_citations_stays_out_of_them() -> None:
    test_set = released()
    Card.objects.create(test_set=test_set, licence="ldc-user", by=curator())
    found = unpacked(test_set)
    assert "license" not in found["CITATION.cff"].decode()
    assert 'license: "other"\nlicense_name: "ldc-user"\n' in found["README.md"].decode()


def test_the_source_labels_of_a_freeze_are_cited_by_a_name_of_their_own() -> None:
    released()
    source = TestSet.objects.get(origin="source")
    assert 'title: "Trial, source labels"\n' in card_text.citation_cff(source, with_gold=True)
    assert "{Trial, source labels, version 1.0}" in card_text.bibtex(source, with_gold=True)


def test_a_set_without_statistics_has_no_release_yet() -> None:
    test_set = released()
    test_set.statistics = None
    with pytest.raises(Conflict, check=code("not_described")):
        folder.files(test_set)


def test_a_folder_with_files_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("x")
    with pytest.raises(Conflict, check=code("folder_not_empty")):
        folder.write_folder(released(), tmp_path)


def test_gold_imported_again_has_the_same_digest() -> None:
    test_set = released()
    rows = unpacked(test_set)["gold.jsonl"].decode().splitlines()
    import_lines(None, rows, what="gold", name="Copy", version="1.0", kind="relations")
    assert TestSet.objects.get(name="Copy").sha256 == test_set.sha256


def test_sentences_answers_and_decisions_imported_again_freeze_to_the_same_digest() -> None:
    test_set = released()
    assert test_set.project
    blind = unpacked(test_set)["blind.jsonl"].decode().splitlines()
    votes = [line.decode() for line in vote_log.lines(test_set.project, by=curator())]
    project = create_project(k=3)
    import_lines(project, blind)
    assert import_lines(project, votes, what="votes").refused == 0
    decide(project, "s2", "C")
    made = builder.freeze(project, name="Again", version="1.0", by=curator())
    run_job("freeze", made.pk)
    made.refresh_from_db()
    assert made.sha256 == test_set.sha256


def test_source_labels_imported_beside_gold_leave_its_manifest_as_it_was() -> None:
    rows = [sentence("s0", relations=["A"])]
    import_lines(None, rows, what="gold", name="Gold", version="1.0", kind="relations")
    gold = TestSet.objects.get(name="Gold")
    before = folder.manifest_sha256(gold)
    import_lines(None, rows, what="gold", name="Source", version="1.0", kind="relations", source_of=gold.slug)
    assert TestSet.objects.get(twin=gold).state == "frozen"
    assert folder.manifest_sha256(gold) == before
