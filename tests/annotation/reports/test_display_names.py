"""Curators see display names on pages; downloads keep user names."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest

from annotation import projects
from annotation.models import Project, Vote
from annotation.pages.agreement_heatmap import heatmap_of
from annotation.roles import display_names
from tests.cast.basics import compute_agreement, person, sentence
from tests.cast.projects import annotators, answer_item, curator, import_lines, project_with_items, seen
from tests.cast.replay import replayed

pytestmark = pytest.mark.django_db


def named(username: str, first: str, last: str = "") -> None:
    user = person(username)
    user.first_name, user.last_name = first, last
    user.save()


@replayed
def judged() -> Project:
    """Two people and a pseudonym on every sentence; one of the people has a name to show."""
    project = project_with_items(12, k=3)
    named("ann0", "Mira", "Olsen")
    for user, label in zip(annotators(project, 2), ("A", "B"), strict=True):
        for item in project.items.all():
            answer_item(item, user, label)
    import_lines(
        project, [{"item": f"s{at}", "annotator": "w7", "labels": ["A"]} for at in range(12)], what="votes"
    )
    compute_agreement(project, by=curator())
    return project


def row(project: Project, name: str) -> int:
    return project.annotators.get(name=name).pk


@pytest.mark.parametrize("page", ["progress", "project-quality", "agreement", "agreement-svg"])
def test_a_curator_sees_display_names(page: str) -> None:
    project = judged()
    page_text = seen(project, page)
    assert "Mira Olsen" in page_text
    assert "ann0" not in page_text
    assert "w7" in page_text


@pytest.mark.parametrize("file", ["progress-people-csv", "agreement-pairs", "judgments"])
def test_downloads_keep_user_names(file: str) -> None:
    page_text = seen(judged(), file)
    assert "ann0" in page_text
    assert "Mira" not in page_text


def test_the_page_of_an_annotator_shows_their_name_in_downloads() -> None:
    project = judged()
    page_text = seen(project, "annotator", row(project, "ann0"))
    assert "<h1>Mira Olsen</h1>" in page_text
    assert 'Name in downloads: <span class="mono">ann0</span>' in page_text
    assert "<h1>w7 (imported)</h1>" in seen(project, "annotator", row(project, "w7"))


def test_equal_display_names_get_the_user_name_in_brackets() -> None:
    project = judged()
    named("ann1", "Mira", "Olsen")
    assert display_names(project) == {
        "ann0": "Mira Olsen (ann0)",
        "ann1": "Mira Olsen (ann1)",
        "w7": "w7 (imported)",
    }
    page_text = seen(project, "agreement")
    assert "Mira Olsen (ann0)" in page_text
    assert "Mira Olsen (ann1)" in page_text


def test_an_imported_name_is_told_from_an_account_of_the_same_name() -> None:
    project = judged()
    named("ann1", "w7")
    user = person("w7")
    assert display_names(project, user) == {"ann0": "Mira Olsen", "ann1": "w7 (ann1)", "w7": "w7"}
    projects.set_member(project, user=user, role="annotator", by=curator())
    import_lines(project, [sentence("more")])
    answer_item(project.items.get(external_id="more"), user, "A")
    named("ann1", "Bo")
    names = {"ann0": "Mira Olsen", "ann1": "Bo", "w7": "w7 (imported)", f"w7 ({user.pk})": "w7"}
    assert display_names(project) == names


def test_idle_annotators_are_listed_by_display_name() -> None:
    project = judged()
    Vote.objects.update(at=datetime(2020, 5, 4, 10, tzinfo=UTC))
    named("fresh", "Mira", "Olsen")
    projects.set_member(project, user=person("fresh"), role="annotator", by=curator())
    page_text = seen(project, "progress")
    assert "Idle: Mira Olsen (fresh) (not started)" in page_text
    assert "Mira Olsen (ann0) (since 4 May 2020" in page_text


def test_viewers_see_numbers_instead_of_names() -> None:
    project = judged()
    projects.set_member(project, user=person("vera"), role="viewer", by=curator())
    Project.objects.filter(pk=project.pk).update(state="closed")
    for page in ("progress", "agreement", "agreement-svg", "progress-people-csv", "agreement-pairs"):
        page_text = seen(project, page, user="vera")
        assert "Annotator 1" in page_text
        assert not re.findall(r"\b(?:Mira|ann0|w7)\b", page_text)  # words: a CSRF token may contain w7


def test_heat_map_rows_are_sorted_by_name_in_natural_order() -> None:
    names = ["bo", "Annotator 10", "Annotator 2", "Ada"]
    pairs = [
        {"first": a, "second": b, "common": 12, "measure": "kappa", "value": 0.5, "observed": 0.5}
        for a in range(4)
        for b in range(a + 1, 4)
    ]
    assert [one.name for one in heatmap_of(pairs, names).rows] == ["Ada", "Annotator 2", "Annotator 10", "bo"]
