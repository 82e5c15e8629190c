"""Projects: creation, members, opening, k and policy."""

from __future__ import annotations

from typing import Any

import pytest
from django.http import Http404

from annotation import projects, roles
from annotation.ontology import inventory
from annotation.queue import leases
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
from tests.errors import code

pytestmark = pytest.mark.django_db


def test_the_creator_is_the_curator() -> None:
    project = create_project()
    assert roles.role_in(project, curator()) == "curator"
    assert list(roles.visible_projects(curator())) == [project]


def test_only_organisers_create_projects() -> None:
    with pytest.raises(NotAllowed):
        projects.create(title="T", kind="relations", by=person("nobody"))


@pytest.mark.parametrize(
    ("invalid", "expected", "field"),
    [
        ({"kind": "poems"}, "unknown_kind", "kind"),
        ({"policy": "loudest"}, "unknown_policy", "policy"),
        ({"k": 0}, "bad_k", "k"),
        ({"k": 51}, "bad_k", "k"),
        ({"title": " "}, "invalid_input", "title"),
        ({"title": "…"}, "invalid_input", "title"),
    ],
)
def test_invalid_values_of_a_new_project_are_rejected(
    invalid: dict[str, Any], expected: str, field: str
) -> None:
    with pytest.raises(DomainError, check=code(expected, field=field)):
        projects.create(by=curator(), **({"title": "T", "kind": "relations"} | invalid))


def test_a_slug_is_used_once() -> None:
    projects.create(title="Same", kind="relations", by=curator())
    with pytest.raises(Conflict, check=code("slug_taken", field="slug")):
        projects.create(title="Same", kind="relations", by=curator())


def test_each_kind_has_a_default_policy() -> None:
    assert [create_project(kind).policy for kind in ("relations", "entities", "joint")] == [
        "majority",
        "majority-na",
        "majority-na",
    ]


def test_a_project_without_sentences_or_labels_does_not_open() -> None:
    empty = create_project()
    with pytest.raises(Conflict, check=code("no_items")):
        projects.open_for_work(empty, by=curator())
    bare = create_project(labels=())
    import_lines(bare, [sentence("s0")])
    with pytest.raises(Conflict, check=code("no_labels")):
        projects.open_for_work(bare, by=curator())
    joint = create_project("joint", labels=())
    inventory.add_labels(joint, ["born_in"], by=curator(), part="relation")
    import_lines(joint, [{"id": "s0", "text": "Ada"}])
    with pytest.raises(Conflict, match="has no entity types"):
        projects.open_for_work(joint, by=curator())


def test_a_removed_member_has_no_role_but_keeps_their_answers() -> None:
    project = project_with_items(1, k=1)
    answered_item(project, ["A"])
    user = annotators(project, 1)[0]
    projects.set_member(project, user=user, role="viewer", by=curator())
    assert roles.role_in(project, user) == "viewer"
    projects.remove_member(project, user=user, by=curator())
    assert roles.role_in(project, user) is None
    assert project.items.get().answers.count() == 1


@pytest.mark.parametrize("leave", ["remove", "viewer"])
@pytest.mark.django_db(transaction=True)
def test_sentences_reserved_for_somebody_who_may_not_label_any_more_are_free_at_once(leave: str) -> None:
    project = project_with_items(1, k=1)
    user = annotators(project, 1)[0]
    leases.lease_next(project, user)
    assert project.items.get().free == 0
    if leave == "remove":
        projects.remove_member(project, user=user, by=curator())
    else:
        projects.set_member(project, user=user, role=leave, by=curator())
    assert project.items.get().free == 1


def test_the_last_curator_cannot_be_removed() -> None:
    project = create_project()
    with pytest.raises(Conflict, check=code("last_curator")):
        projects.remove_member(project, user=curator(), by=curator())
    with pytest.raises(Conflict, check=code("last_curator")):
        projects.set_member(project, user=curator(), role="viewer", by=curator())


def test_a_renamed_project_keeps_its_address() -> None:
    project = create_project()
    slug = project.slug
    projects.rename(project, title=" Harbour, wave 2 ", by=curator())
    project.refresh_from_db()
    assert (project.title, project.slug) == ("Harbour, wave 2", slug)
    with pytest.raises(DomainError, check=code("invalid_input")):
        projects.rename(project, title="…", by=curator())
    (user,) = annotators(project, 1)
    with pytest.raises(NotAllowed):
        projects.rename(project, title="Mine", by=user)


def test_a_project_does_not_exist_for_strangers() -> None:
    with pytest.raises(Http404):
        roles.require(create_project(), person("stranger"), "curator")


def test_a_superuser_is_curator_everywhere() -> None:
    assert roles.require(create_project(), person("root", is_superuser=True), "curator") == "curator"


def test_lowering_k_settles_open_items_and_raising_it_reopens_them() -> None:
    project = project_with_items(1, k=2)
    item = answered_item(project, ["A"])
    assert (item.state, item.free) == ("open", 1)
    projects.set_k(project, k=1, by=curator())
    item.refresh_from_db()
    assert (item.state, item.free) == ("settled", 0)
    projects.set_k(project, k=3, by=curator())
    item.refresh_from_db()
    assert (item.state, item.gold, item.free) == ("open", None, 2)


def test_changing_the_policy_recomputes_items() -> None:
    project = project_with_items(1, k=3)
    item = answered_item(project, ["A"], [], [])
    assert item.state == "disputed"
    projects.set_policy(project, policy="majority-na", by=curator())
    item.refresh_from_db()
    assert (item.state, item.gold["relations"]) == ("settled", [])
