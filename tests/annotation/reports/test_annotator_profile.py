"""One annotator against outcomes and others: equal answers, N/A, labels, pairs and remarks."""

from __future__ import annotations

import pytest

from annotation.models import Annotator, Project
from annotation.ontology import inventory
from annotation.reports import agreement, annotator_profile
from annotation.reports.annotator_profile import AnnotatorProfile, LabelUse
from tests.cast.basics import run_job
from tests.cast.projects import ProjectCast, annotators, answer_item, curator, project_with_items, seen

pytestmark = pytest.mark.django_db
N = 8


@pytest.fixture
def project() -> Project:
    """Two say A of s0 to s7, the third says B of each and nothing of s8, where the others say N/A, too."""
    project = project_with_items(N + 1, k=3)
    one, two, odd = annotators(project, 3)
    for at in range(N):
        item = project.items.get(external_id=f"s{at}")
        for user, label in ((one, "A"), (two, "A"), (odd, "B")):
            answer_item(item, user, label, comment="why A?" if (at, user) == (0, odd) else "")
    for user in (one, two, odd):
        answer_item(project.items.get(external_id=f"s{N}"), user)
    return project


def annotator(project: Project, at: int) -> Annotator:
    return project.annotators.get(name=f"ann{at}")


def profile(project: Project, at: int) -> AnnotatorProfile:
    return annotator_profile.profile(annotator(project, at), for_user=curator())


def test_answers_are_compared_with_the_outcomes_of_their_items(project: Project) -> None:
    odd, usual = profile(project, 2), profile(project, 0)
    assert (odd.answers, odd.na, odd.decided, odd.equal) == (N + 1, 1, N + 1, 1)
    assert (usual.answers, usual.na, usual.decided, usual.equal) == (N + 1, 1, N + 1, N + 1)
    assert [(use.name, use.chosen, use.expected) for use in odd.overused] == [("B", N, 0)]
    assert [(use.name, use.chosen, use.expected) for use in odd.underused] == [("A", 0, N)]
    assert usual.overused == usual.underused == []


def test_spans_and_relations_are_compared_with_the_outcomes_of_their_texts() -> None:
    cast = ProjectCast.create(kind="joint", k=3, labels=["person", "place"])
    inventory.add_labels(cast.project, ["saw"], by=cast.curator, part="relation")
    cast.import_lines({"id": "s1", "text": "Ada saw Turin"}, {"id": "s2", "text": "Bob, s2"})
    usual = {"spans": [[0, 3, "person"], [8, 13, "place"]], "relations": [[0, "saw", 1]]}
    odd = {"spans": [[0, 3, "person"], [8, 13, "person"]], "relations": [[0, "saw", 1]]}
    answers = [
        {"item": "s1", "annotator": who} | payload
        for who, payload in zip("abc", (usual, usual, odd), strict=True)
    ]
    cast.import_lines(
        *answers, {"item": "s2", "annotator": "c", "spans": [[0, 3, "person"]]}, what="votes", k=3
    )
    rows = {each.name: each for each in cast.project.annotators.all()}
    figures = {name: annotator_profile.profile(row, for_user=cast.curator) for name, row in rows.items()}
    assert {name: (row.marked, row.expected, row.right) for name, row in figures.items()} == {
        "a": (3, 3, 3),
        "b": (3, 3, 3),
        "c": (3, 3, 1),
    }
    assert (figures["c"].answers, figures["c"].decided) == (2, 1)
    text = seen(cast.project, "annotator", rows["c"].pk, user="cleo")
    assert "33 % of the spans and relations marked are in the outcome" in text


@pytest.mark.parametrize(
    ("chosen", "expected", "both", "differs"),
    [
        (5, 0, 0, False),
        (6, 0, 0, True),
        (0, 6, 0, True),
        (100, 90, 90, True),
        (100, 100, 0, False),
        (0, 0, 0, False),
    ],
)
def test_a_label_is_named_only_where_a_sign_test_confirms_it(
    chosen: int, expected: int, both: int, differs: bool
) -> None:
    assert LabelUse("A", chosen, expected, both).differs is differs


def test_pairs_come_from_the_latest_report(project: Project) -> None:
    assert profile(project, 2).pairs == []
    report = agreement.request_report(project, by=curator())
    assert run_job("agreement", report.pk).state == "done"
    pairs = {pair.name: (pair.common, round(pair.observed, 3)) for pair in profile(project, 2).pairs}
    assert pairs == dict.fromkeys(("ann0", "ann1"), (N + 1, round(1 / (N + 1), 3)))


def test_the_page_of_a_person_shows_figures_and_remarks_on_settled_sentences(project: Project) -> None:
    assert project.items.get(external_id="s0").state == "settled"
    page = seen(project, "annotator", annotator(project, 2).pk)
    for text in ("11 % of the answers equal the outcome", "why A?", "sign test", "Sentences of"):
        assert text in page
    assert "why A?" not in seen(project, "annotator", annotator(project, 0).pk)
    listed = seen(project, "sentences", annotator="ann2", remark="comment")
    assert "s0" in listed
    assert "No sentence matches" in seen(project, "sentences", annotator="ann0", remark="comment")
