"""Projects: made by organisers, staffed by curators, never left without one."""

from __future__ import annotations

from typing import Any

import pytest
from django.http import Http404

from annotation import projects, roles
from evalsvc.core.errors.exceptions import Conflict, DomainError, NotAllowed
from tests.cast.basics import person, sentence
from tests.cast.projects import (
    annotators,
    answered_item,
    create_project,
    curator,
    import_lines,
    project_with_items,
)

pytestmark = pytest.mark.django_db


def test_the_maker_is_the_curator() -> None:
    of = create_project()
    assert roles.role_in(of, curator()) == "curator"
    assert list(roles.visible_projects(curator())) == [of]


def test_only_organisers_open_projects() -> None:
    with pytest.raises(NotAllowed):
        projects.create(title="T", kind="relations", by=person("nobody"))


@pytest.mark.parametrize(
    "wrong", [{"kind": "poems"}, {"policy": "loudest"}, {"k": 0}, {"title": " "}, {"title": "…"}]
)
def test_a_project_that_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(DomainError):
        projects.create(by=curator(), **({"title": "T", "kind": "relations"} | wrong))


def test_an_address_is_used_once() -> None:
    projects.create(title="Same", kind="relations", by=curator())
    with pytest.raises(Conflict, match="already exists"):
        projects.create(title="Same", kind="relations", by=curator())


def test_the_policy_of_a_kind_is_the_usual_one_unless_said() -> None:
    assert [create_project(kind).policy for kind in ("relations", "entities", "joint")] == [
        "majority",
        "majority-na",
        "majority-na",
    ]


def test_a_project_without_sentences_or_labels_does_not_open() -> None:
    empty = create_project()
    with pytest.raises(Conflict, match="no sentences"):
        projects.open_for_work(empty, by=curator())
    bare = create_project(labels=())
    import_lines(bare, [sentence("s0")])
    with pytest.raises(Conflict, match="no labels"):
        projects.open_for_work(bare, by=curator())


def test_a_person_has_one_role_and_loses_it_without_losing_answers() -> None:
    of = project_with_items(1, k=1)
    answered_item(of, ["A"])
    user = annotators(of, 1)[0]
    projects.set_member(of, user=user, role="viewer", by=curator())
    assert roles.role_in(of, user) == "viewer"
    projects.remove_member(of, user=user, by=curator())
    assert roles.role_in(of, user) is None
    assert of.items.get().answers.count() == 1


def test_the_last_curator_stays() -> None:
    of = create_project()
    with pytest.raises(Conflict, match="only curator"):
        projects.remove_member(of, user=curator(), by=curator())
    with pytest.raises(Conflict, match="only curator"):
        projects.set_member(of, user=curator(), role="viewer", by=curator())


def test_strangers_do_not_learn_that_a_project_exists() -> None:
    with pytest.raises(Http404):
        roles.require(create_project(), person("stranger"), "curator")


def test_a_superuser_is_curator_everywhere() -> None:
    assert roles.require(create_project(), person("root", is_superuser=True), "curator") == "curator"


def test_a_lowered_k_settles_what_was_open_and_a_raised_one_reopens() -> None:
    of = project_with_items(1, k=2)
    item = answered_item(of, ["A"])
    assert (item.state, item.free) == ("open", 1)
    projects.set_k(of, k=1, by=curator())
    item.refresh_from_db()
    assert (item.state, item.free) == ("settled", 0)
    projects.set_k(of, k=3, by=curator())
    item.refresh_from_db()
    assert (item.state, item.gold, item.free) == ("open", None, 2)


def test_another_policy_decides_anew() -> None:
    of = project_with_items(1, k=3)
    item = answered_item(of, ["A"], [], [])
    assert item.state == "disputed"
    projects.set_policy(of, policy="majority-na", by=curator())
    item.refresh_from_db()
    assert (item.state, item.gold["relations"]) == ("settled", [])
