"""People stand under the names they show wherever a curator reads; downloads keep the log-in."""

from __future__ import annotations

from datetime import UTC, datetime
from html import unescape

import pytest
from django.test import Client
from django.urls import reverse

from annotation import projects
from annotation.models import Project, Vote
from annotation.pages.agreement_heatmap import heatmap_of
from annotation.reports import agreement
from annotation.reports.display_names import display_names
from tests.cast.basics import person, run_job
from tests.cast.projects import annotators, answer_item, curator, import_lines, project_with_items

pytestmark = pytest.mark.django_db


def named(username: str, first: str, last: str = "") -> None:
    user = person(username)
    user.first_name, user.last_name = first, last
    user.save()


def judged() -> Project:
    """Two people and a pseudonym on every sentence; one of the people has a name to show."""
    of = project_with_items(12, k=3)
    named("ann0", "Mira", "Olsen")
    for user, label in zip(annotators(of, 2), ("A", "B"), strict=True):
        for item in of.items.all():
            answer_item(item, user, label)
    import_lines(
        of, [{"item": f"s{at}", "annotator": "w7", "labels": ["A"]} for at in range(12)], what="votes"
    )
    run_job("agreement", agreement.request_report(of, by=curator()).pk)
    return of


def seen(of: Project, name: str, *more: int, user: str = "curator") -> str:
    browser = Client()
    browser.force_login(person(user))
    response = browser.get(reverse(name, args=[of.slug, *more]))
    assert response.status_code == 200
    return unescape(b"".join(response).decode())


def row(of: Project, name: str) -> int:
    return of.annotators.get(name=name).pk


@pytest.mark.parametrize("page", ["progress", "project-quality", "agreement", "agreement-svg"])
def test_a_curator_reads_the_names_that_people_show(page: str) -> None:
    of = judged()
    told = seen(of, page)
    assert "Mira Olsen" in told
    assert "ann0" not in told
    assert "w7" in told


@pytest.mark.parametrize("file", ["progress-people-csv", "agreement-pairs", "judgments"])
def test_downloads_keep_the_name_that_is_an_id(file: str) -> None:
    told = seen(judged(), file)
    assert "ann0" in told
    assert "Mira" not in told


def test_the_page_of_one_person_says_how_downloads_call_them() -> None:
    of = judged()
    told = seen(of, "annotator", row(of, "ann0"))
    assert "<h1>Mira Olsen</h1>" in told
    assert 'Name in downloads: <span class="mono">ann0</span>' in told
    assert "Name in downloads" not in seen(of, "annotator", row(of, "w7"))


def test_two_who_show_the_same_name_are_told_apart_by_their_log_ins() -> None:
    of = judged()
    named("ann1", "Mira", "Olsen")
    assert display_names(of) == {"ann0": "Mira Olsen (ann0)", "ann1": "Mira Olsen (ann1)", "w7": "w7"}
    told = seen(of, "agreement")
    assert "Mira Olsen (ann0)" in told
    assert "Mira Olsen (ann1)" in told


def test_a_pseudonym_keeps_its_name_beside_a_person_who_shows_the_same() -> None:
    of = judged()
    named("ann1", "w7")
    assert display_names(of) == {"ann0": "Mira Olsen", "ann1": "w7 (ann1)", "w7": "w7"}


def test_who_is_idle_stands_under_the_name_they_show_even_before_they_begin() -> None:
    of = judged()
    Vote.objects.update(at=datetime(2020, 5, 4, 10, tzinfo=UTC))
    named("fresh", "Mira", "Olsen")
    projects.set_member(of, user=person("fresh"), role="annotator", by=curator())
    told = seen(of, "progress")
    assert "Idle: Mira Olsen (fresh) (not started)" in told
    assert "Mira Olsen (ann0) (since 4 May 2020" in told


def test_whoever_is_no_curator_reads_neither_name() -> None:
    of = judged()
    projects.set_member(of, user=person("vera"), role="viewer", by=curator())
    for page in ("progress", "agreement", "agreement-svg", "progress-people-csv", "agreement-pairs"):
        told = seen(of, page, user="vera")
        assert "Annotator 1" in told
        assert not [name for name in ("Mira", "ann0", "w7") if name in told]


def test_pairs_stand_in_the_order_of_names_the_second_before_the_tenth() -> None:
    names = ["bo", "Annotator 10", "Annotator 2", "Ada"]
    pairs = [
        {"first": a, "second": b, "common": 12, "measure": "kappa", "value": 0.5, "observed": 0.5}
        for a in range(4)
        for b in range(a + 1, 4)
    ]
    assert [one.name for one in heatmap_of(pairs, names).rows] == ["Ada", "Annotator 2", "Annotator 10", "bo"]
