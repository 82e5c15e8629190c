"""A release states how many answers its lines needed and had, extra ones included."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from annotation.adjudication import decisions
from annotation.freezing import builder, writer
from annotation.models import Project
from annotation.queue import quality_settings, votes
from annotation.releases import check, checksums, folder
from annotation.releases.composition import Composition
from annotation.splits import making
from annotation.splits.making import Plan
from annotation.testset import TestSet
from tests.annotation.releases.test_check import edited
from tests.annotation.releases.test_folder import frozen, released, unpacked
from tests.cast.basics import run_job
from tests.cast.projects import annotators, answer_item, curator, project_with_items
from tests.cast.replay import replayed

pytestmark = pytest.mark.django_db


@replayed
def called() -> Project:
    """s0 settled by two, s1 by two and a third who was called; s2 is open."""
    project = project_with_items(3, k=2)
    quality_settings.set_quality_options(project, by=curator(), calls_extra=True)
    s0, s1 = project.items.filter(external_id__in=["s0", "s1"]).order_by("external_id")
    first, second, third = annotators(project, 3)
    for item, user, label in ((s0, first, "A"), (s0, second, "A"), (s1, first, "A"), (s1, second, "B")):
        answer_item(item, user, label)
    answer_item(s1, third, "B")
    return project


def stated(test_set: TestSet) -> list[Any]:
    return [test_set.manifest.get(name) for name in ("k_of_items", "answers_of_items")]


def verified(test_set: TestSet, path: Path) -> Path:
    """Write the release, and find it as released."""
    folder.write_folder(test_set, path)
    assert check.check(checksums.open_folder(path)).differences == {}
    return path


def test_a_release_counts_the_answers_of_people_who_were_called(tmp_path: Path) -> None:
    test_set = frozen(called())
    assert stated(test_set) == [[2, 3], [2, 3]]
    card = unpacked(test_set)["README.md"].decode()
    assert "2 sentences, each labelled by 2 to 3 people." in card
    assert "2 to 3 answers per sentence" in card
    verified(test_set, tmp_path / "copy")


def test_a_release_states_how_many_answers_a_decided_line_had(tmp_path: Path) -> None:
    """Nobody could label s2, so that the decision rests on no answer."""
    project = called()
    item = project.items.get(external_id="s2")
    for user in annotators(project, 3):
        votes.skip(item, user, client_id=uuid4(), reason="undecided")
    item.refresh_from_db()
    values = {"client_id": uuid4(), "votes_key": item.votes_key}
    decisions.decide(item, by=curator(), payload={"relations": ["A"]}, **values)
    test_set = frozen(project)
    assert stated(test_set) == [[2, 3], [0, 3]]
    assert "each labelled by 0 to 3 people" in Composition(test_set).lead
    verified(test_set, tmp_path / "copy")


def test_a_part_states_answers_and_outcomes_of_its_own_lines(tmp_path: Path) -> None:
    whole = frozen(called())
    plan = Plan.of(parts="left=0.5,right=0.5", seed="g", keep_together="sentence")
    parts = making.make(whole, plan, by=curator())
    for part in parts:
        run_job("split", part.pk)
        run_job("describe", part.pk)
        part.refresh_from_db()
        verified(part, tmp_path / part.slug)
    assert whole.manifest["counts"]["answers"] == 5
    assert [part.manifest["counts"] for part in parts] == [{"settled": 1, "adjudicated": 0}] * 2
    assert sorted(map(stated, parts)) == [[[2, 2], [2, 2]], [[3, 3], [3, 3]]]
    origins = [{"blind": n, "prediction_shown": 0, "imported": 0} for n in (2, 3)]
    assert sorted((part.manifest["answers"] for part in parts), key=str) == origins
    outcomes = {dict(Composition(part).provenance)["Outcomes"] for part in parts}
    assert outcomes == {"1 by majority, 0 by an adjudicator"}


def test_the_card_of_source_labels_states_no_answers() -> None:
    source = TestSet.objects.get(twin=released())
    assert stated(source) == [None, None]
    assert "answers per" not in str(Composition(source).provenance)


@pytest.mark.parametrize("name", ["k_of_items", "answers_of_items"])
def test_other_numbers_in_the_manifest_are_named(tmp_path: Path, name: str) -> None:
    folder.write_folder(frozen(called()), tmp_path / "copy")
    text = json.dumps({name: [2, 3]}, indent=2)[2:-2]
    result = edited(tmp_path / "copy", "manifest.json", text, text.replace("3", "2"), sums=True)
    assert result.differences == {
        "manifest.json": [f"{name} is [2, 2] in manifest.json; the lines of provenance.jsonl give [2, 3]."]
    }


def earlier(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return a manifest as earlier versions wrote it: k without people who were called, and no agreement."""
    origins = {"blind": 5, "prediction_shown": 0, "imported": 0}
    manifest = manifest | {"k_of_items": [2, 2], "answers": origins}
    later = ("answers_of_items", "agreement")
    return {name: value for name, value in manifest.items() if name not in later}


def test_an_earlier_release_verifies_and_reads_as_it_did(tmp_path: Path) -> None:
    test_set = frozen(called())
    test_set.manifest = earlier(test_set.manifest)
    verified(test_set, tmp_path / "copy")
    assert "each labelled by 2 people" in Composition(test_set).lead


def test_a_freeze_like_one_of_an_earlier_version_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    project = called()
    with monkeypatch.context() as patch:
        patch.setattr(writer.StatedOfLines, "in_manifest", lambda self, manifest: earlier(manifest))
        first = frozen(project)
    assert stated(first) == [[2, 2], None]
    again = builder.freeze(project, name="Trial", version="1.1", leave_out=True, by=curator())
    run_job("freeze", again.pk)
    again.refresh_from_db()
    assert again.reason == "Nothing has changed since Trial 1.0: use that one."


@pytest.mark.parametrize(
    ("limits", "people", "answers"),
    [
        ([1, 1], "by 1 person.", "1 answer per sentence"),
        ([0, 1], "by 0 to 1 people.", "0 to 1 answers per sentence"),
        ([2, 2], "by 2 people.", "2 answers per sentence"),
        ([1, 3], "by 1 to 3 people.", "1 to 3 answers per sentence"),
    ],
)
def test_one_person_and_one_answer_are_singular(limits: list[int], people: str, answers: str) -> None:
    test_set = TestSet(kind="relations", origin="annotated", state="frozen", rows=2)
    test_set.manifest = {"k": 2, "answers_of_items": limits, "policy": "majority"}
    content = Composition(test_set)
    assert people in content.lead
    assert answers in str(content.provenance)
