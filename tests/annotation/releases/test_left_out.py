"""A release states on which answers its agreement rests, and what it leaves out."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from annotation import projects
from annotation.consensus.alpha import nominal_alpha
from annotation.models import Project
from annotation.pages.release_figures import pattern_figure
from annotation.queue import votes
from annotation.releases import folder, publishing
from annotation.releases.composition import Composition
from annotation.splits import making
from annotation.splits.making import Plan
from annotation.testset import TestSet
from tests.annotation.releases.test_check import edited
from tests.annotation.releases.test_folder import frozen, unpacked
from tests.cast.basics import person, run_job
from tests.cast.projects import (
    annotators,
    answered_item,
    create_project,
    curator,
    import_lines,
    project_with_items,
)
from tests.cast.replay import replayed

pytestmark = pytest.mark.django_db
PAGE, API = "/releases/trial-1-0/", "/api/v1/test-sets/trial-1-0"
ANSWERS = {"s0": ("A", "A"), "s1": ("B", "B"), "s2": ("A", "B"), "s3": ("B", "A")}


@replayed
def disputing() -> Project:
    """Two settled, two disputed, one without an answer."""
    project = project_with_items(5, k=2)
    for item, labels in ANSWERS.items():
        answered_item(project, *([label] for label in labels), item=item)
    return project


@replayed
def released_disputing() -> TestSet:
    return frozen(disputing())


def closed(test_set: TestSet) -> TestSet:
    assert test_set.project is not None
    projects.close(test_set.project, by=curator())
    return TestSet.objects.get(pk=test_set.pk)


def stats(content: Composition) -> dict[str, tuple[str, str]]:
    return {stat.name: (stat.figure, stat.detail) for stat in content.stats}


def spelled(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}".replace("0.", ".", 1).replace("-", "−")


def test_agreement_is_that_of_all_answers_beside_that_of_the_lines_kept() -> None:
    """The lines that two people agree upon have full agreement, whatever else they answer."""
    test_set = closed(released_disputing())
    found = stats(Composition(test_set))
    alpha, detail = found["α"]
    assert alpha == spelled(nominal_alpha(ANSWERS.values()))
    assert detail.endswith("over all 4 sentences with two or more answers")
    assert found["α of the lines kept"][0] == "1.00"
    card = unpacked(test_set)["README.md"].decode()
    assert "over all 4 sentences with two or more answers" in card
    assert "| α of the lines kept | 1.00 |" in card
    written = json.loads(unpacked(test_set)["statistics.json"])
    assert written["left_out"] == {"disputed": 2, "open": 1}
    assert written["provenance"]["agreement_of_all"]["sentences"] == 4


def test_agreement_on_spans_is_that_of_all_texts_with_two_answers() -> None:
    """Of three spans of each person two are equal."""
    project = create_project("entities", labels=["P", "L"], k=2)
    import_lines(project, [{"id": "d0", "text": "Ada saw Turin."}, {"id": "d1", "text": "Bo left."}])
    projects.open_for_work(project, by=curator())
    answers = {
        "d0": ([[0, 3, "P"], [8, 13, "L"]], [[0, 3, "P"], [8, 13, "L"]]),
        "d1": ([[0, 2, "P"]], [[0, 2, "L"]]),
    }
    for name, each in answers.items():
        item = project.items.get(external_id=name)
        for user, spans in zip(annotators(project, 2), each, strict=True):
            votes.answer(item, user, client_id=uuid4(), payload={"spans": spans, "relations": []})
    found = stats(Composition(closed(frozen(project))))
    figure, detail = found["F1 of pairs"]
    assert (figure, detail.endswith("over all 2 texts with two or more answers")) == (".67", True)
    assert found["F1 of pairs of the lines kept"][0] == "1.00"


def test_what_the_rule_settled_is_counted_among_disputes_that_were_left_out() -> None:
    figure = pattern_figure(Composition(released_disputing()))
    assert figure is not None
    assert figure.title == "The rule settled 2 of 4 sentences (50.0 %)"
    assert figure.caption == "Sentences by how the answers split. Not drawn: 2 disputed sentences left out."


def test_figures_of_sets_of_earlier_versions_stay_and_are_named_of_the_lines_kept() -> None:
    test_set = closed(released_disputing())
    del test_set.manifest["agreement"]
    found = stats(Composition(test_set))
    assert "α" not in found
    figure, detail = found["α of the lines kept"]
    assert (figure, detail.rpartition("; ")[2]) == ("1.00", "without 2 disputed and 1 open sentences")


def part_of(whole: TestSet) -> TestSet:
    """Split a set, and return the first part."""
    plan = Plan.of(parts="left=0.5,right=0.5", seed="g", keep_together="sentence")
    part = making.make(whole, plan, by=curator())[0]
    run_job("split", part.pk)
    run_job("describe", part.pk)
    return TestSet.objects.get(pk=part.pk)


def test_a_part_names_its_agreement_as_that_of_its_lines() -> None:
    content = Composition(part_of(closed(released_disputing())))
    assert "agreement" not in content.manifest
    assert "α" not in stats(content)
    assert content.left_out.startswith("Left out by the curator of the whole: ")
    assert content.statistics is not None
    assert content.statistics.keys() & {"left_out", "left_out_of_whole"} == {"left_out_of_whole"}
    figure = pattern_figure(content)
    assert figure is not None
    assert figure.title == "The rule settled 1 of 1 kept line (100.0 %)"


def test_what_a_part_says_was_left_out_is_checked_as_that_of_the_whole(tmp_path: Path) -> None:
    folder.write_folder(part_of(closed(released_disputing())), tmp_path / "copy")
    result = edited(tmp_path / "copy", "statistics.json", '"left_out_of_whole"', '"left_out"', sums=True)
    counts = '{"disputed": 2, "open": 1}'
    assert result.differences["statistics.json"] == [
        f"left_out: none in manifest.json, {counts} in statistics.json.",
        f"left_out_of_whole: {counts} in manifest.json, none in statistics.json.",
    ]


def test_a_set_that_leaves_out_no_answers_has_one_agreement() -> None:
    project = project_with_items(3, k=2)
    answered_item(project, ["A"], ["A"], item="s0")
    answered_item(project, ["B"], ["B"], item="s1")
    test_set = frozen(project)
    assert test_set.manifest["agreement"] == {"left_out": 0}
    assert {name for name in stats(Composition(test_set)) if "α" in name} == {"α"}


def statistics_of(client: Client) -> dict[str, Any]:
    figures: dict[str, Any] = client.get(API).json()["statistics"]
    return figures


def test_until_a_project_is_closed_only_its_curators_read_the_agreement_of_undecided_answers(
    client: Client,
) -> None:
    """Beside the answers of the lines, which a published release has, it gave away those to one sentence."""
    test_set = released_disputing()
    publishing.publish(test_set, access="anybody", with_gold=True, by=curator())
    client.force_login(curator())
    assert "agreement_of_all" in statistics_of(client)["provenance"]
    assert "over all 4 sentences" in client.get("/test-sets/trial-1-0/").content.decode()
    assert b"agreement_of_all" not in unpacked(test_set)["statistics.json"]
    digest = test_set.manifest["left_out_answers_sha256"].encode()  # it would check guesses of them
    assert digest not in b"".join(unpacked(test_set).values())
    client.logout()
    page = client.get(PAGE).content.decode()
    assert "over all 4 sentences" not in page
    assert "α of the lines kept" in page
    closed(test_set)
    assert "over all 4 sentences" in client.get(PAGE).content.decode()
    assert b"agreement_of_all" in unpacked(TestSet.objects.get(pk=test_set.pk))["statistics.json"]


def test_the_public_page_counts_what_was_left_out_for_those_whose_card_counts_it(client: Client) -> None:
    test_set = released_disputing()
    publishing.publish(test_set, access="terms", terms="Cite us.", with_gold=True, by=curator())
    counts = "Left out by the curator: 2 disputed and 1 open sentences."
    unknown = client.get(PAGE).content.decode()
    assert "Some sentences were left out." in unknown
    assert not re.search(r"disputed|2 of 4", unknown)
    client.force_login(person("sam"))
    client.post(PAGE, {"terms": publishing.terms_sha256(test_set.publication)})
    known = client.get(PAGE).content.decode()
    assert counts in known
    assert "2 of 4 sentences" in known
    client.logout()
    closed(test_set)
    assert counts in client.get(PAGE).content.decode()


def test_answers_that_were_set_aside_are_counted_beside_the_agreement() -> None:
    test_set = closed(released_disputing())
    test_set.statistics["provenance"]["agreement"]["set_aside"] = 3
    detail = stats(Composition(test_set))["α of the lines kept"][1]
    assert detail.endswith("; without 3 answers set aside")


def test_lines_with_one_answer_each_are_not_said_to_have_a_majority() -> None:
    project = project_with_items(2, k=1)
    answered_item(project, ["A"], item="s0")
    answered_item(project, ["B"], item="s1")
    test_set = frozen(project)
    content = Composition(test_set)
    assert dict(content.provenance)["Outcomes"] == "2 by one answer, 0 by an adjudicator"
    figure = pattern_figure(content)
    assert figure is not None
    assert figure.caption == "Sentences by how the answers split. Each had one answer that counted."


@pytest.mark.parametrize(("ratio", "shown"), [(1.5, "1.5 : 1"), (2, "2.0 : 1"), (1234.4, "1,234 : 1")])
def test_a_small_imbalance_has_a_digit(ratio: float, shown: str) -> None:
    test_set = TestSet(kind="relations", origin="annotated", state="frozen", statistics={"ratio": ratio})
    assert stats(Composition(test_set))["Imbalance"][0] == shown
