"""Splitting a label: votes with it reopen, and are asked again of those who gave them."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import pytest

from annotation import projects
from annotation.adjudication import decisions
from annotation.freezing import builder
from annotation.models import Adjudication, Annotator, Item, OntologyStep, Project
from annotation.ontology import inventory, plans
from annotation.queue import leases, votes
from annotation.releases.outcome import Step
from annotation.reports.agreement import included_answers
from annotation.reports.progress import available_items
from annotation.testset import provenance_lines
from evalsvc.core.errors.exceptions import Conflict, DomainError
from evalsvc.core.formats.label_mapping import LabelMapping
from tests.cast.basics import person, run_job
from tests.cast.projects import answered_item, curator, label_names, project_with_items


@pytest.fixture
def project(db: None) -> Project:
    return project_with_items(3, k=2)


def split(project: Project, source: str = "A", targets: tuple[str, ...] = ("A1", "A2")) -> OntologyStep:
    return inventory.split(project, source, targets=targets, by=curator())


def read(item: Item) -> tuple[str, Any, int]:
    item.refresh_from_db()
    return item.state, item.gold and item.gold["relations"], item.free


def step(operation: str, *sources: str, target: str = "", targets: tuple[str, ...] = ()) -> Step:
    return Step(operation, list(sources), target, list(targets))


def test_a_split_label_is_clear_again_once_later_steps_leave_one_of_its_parts() -> None:
    first = step("split", "A", targets=("A1", "A2"))
    answer = {"spans": [], "relations": ["A", "B"]}
    mapping = LabelMapping.from_steps([first])
    assert (mapping.label("A"), mapping.inventory(["A", "B"])) == (None, ["A1", "A2", "B"])
    assert mapping.payload(answer).unclear
    merged = LabelMapping.from_steps([first, step("merge", "A1", "A2", target="place")])
    assert merged.payload(answer).payload["relations"] == ["place", "B"]
    assert not merged.payload(answer).unclear
    deleted = LabelMapping.from_steps([first, step("delete", "A1")])
    assert deleted.payload(answer).unclear  # it may have meant A1, or A2
    assert LabelMapping.from_steps([first, step("delete", "A1", "A2")]).label("A") is None
    spans = {"spans": [[0, 1, "A"], [2, 3, "B"]], "relations": [[0, "near", 1]]}
    assert mapping.payload(spans).unclear


def test_votes_of_a_split_label_reopen_and_count_again_when_the_split_is_undone(project: Project) -> None:
    with_a = answered_item(project, ["A"], ["A", "B"])
    without = answered_item(project, ["B"], ["B"], item="s1")
    made = split(project)
    assert sorted(label_names(project)) == ["A1", "A2", "B", "C"]
    assert (read(with_a), read(without)) == (("open", None, 2), ("settled", ["B"], 0))
    assert len([*included_answers(project)]) == 2  # those of the other sentence
    inventory.undo(made, by=curator())
    assert (sorted(label_names(project)), read(with_a)) == (["A", "B", "C"], ("settled", ["A"], 0))
    assert len([*included_answers(project)]) == 4


@pytest.mark.django_db
def test_people_are_asked_again_for_their_own_answers_with_a_split_label() -> None:
    project = project_with_items(1, k=2)
    item = answered_item(project, ["A"], ["B"])
    first = Annotator.objects.get(project=project, answers__item=item, answers__position=1).user
    second = Annotator.objects.get(project=project, answers__item=item, answers__position=2).user
    assert first is not None
    assert second is not None
    assert leases.lease_next(project, first) is None
    split(project)
    assert read(item) == ("open", None, 1)
    assert available_items(project, first, role="annotator") == 1
    assert leases.lease_next(project, second) is None  # whose answer still counts
    lease = leases.lease_next(project, first)
    assert lease is not None
    values = {"client_id": uuid4(), "base": lease.base, "require_lease": True}
    votes.answer(lease.item, first, payload={"relations": ["A2"]}, **values)
    assert read(item) == ("disputed", None, 0)
    assert not item.answers.filter(again=True).exists()


def test_a_split_with_answers_to_its_parts_is_not_undone_but_merged(project: Project) -> None:
    item = answered_item(project, ["A"], ["A"])
    made = split(project)
    user = person("ann")
    projects.set_member(project, user=user, role="annotator", by=curator())
    votes.answer(item, user, payload={"relations": ["A1"]}, client_id=uuid4())
    with pytest.raises(Conflict, match="1 answer uses A1"):
        inventory.undo(made, by=curator())
    inventory.merge(project, ["A1", "A2"], target="A", by=curator())
    assert sorted(label_names(project)) == ["A", "B", "C"]
    assert read(item) == ("settled", ["A"], 0)


def test_decisions_of_a_split_label_lapse_and_return(project: Project) -> None:
    item = answered_item(project, ["A"], ["B"])
    item.refresh_from_db()
    values = {"client_id": uuid4(), "votes_key": item.votes_key, "by": curator()}
    decisions.decide(item, payload={"spans": [], "relations": ["A"]}, **values)
    plan = plans.planned([{"operation": "split", "sources": ["A"], "targets": ["A1", "A2"]}])
    (made,) = plans.apply_plan(project, plan, by=curator())
    assert read(item)[0] == "open"
    assert Adjudication.objects.get(item=item).lapsed
    plans.undo_plan(project, made.number, by=curator())
    assert read(item)[:2] == ("adjudicated", ["A"])


@pytest.mark.parametrize("targets", [("A1",), ("A", "A1"), ("A1", "A1"), ("A1", ""), ("A1", "x" * 201)])
def test_a_split_needs_several_other_names(project: Project, targets: tuple[str, ...]) -> None:
    with pytest.raises(DomainError):
        split(project, targets=targets)
    assert sorted(label_names(project)) == ["A", "B", "C"]


def test_a_label_may_be_split_among_labels_that_exist(project: Project) -> None:
    split(project, targets=("B", "A1"))
    assert sorted(label_names(project)) == ["A1", "B", "C"]


def test_a_frozen_set_states_the_split_and_the_answers_that_it_asked_again(project: Project) -> None:
    item = answered_item(project, ["A"], ["B"], ["B"])
    split(project)
    assert read(item) == ("settled", ["B"], 0)
    test_set = builder.freeze(project, name="Split", version="1.0", leave_out=True, by=curator())
    run_job("freeze", test_set.pk)
    test_set.refresh_from_db()
    assert test_set.manifest["ontology"][0]["targets"] == ["A1", "A2"]
    answers = json.loads(next(provenance_lines(test_set)))["answers"]
    assert [row.get("not_counted") for row in answers] == ["asked again", None, None]
