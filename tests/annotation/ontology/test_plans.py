"""Plans: several steps of the ontology at once, all or none, and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from annotation import projects
from annotation.adjudication import decisions
from annotation.consensus.effects import preview
from annotation.models import Adjudication, Item, Project
from annotation.ontology import inventory, plans
from annotation.ontology.plans import apply_plan, planned, read_plan, undo_plan
from evalsvc.core.errors.exceptions import Conflict, DomainError
from tests.cast.projects import answered_item, curator, project_with_items, response_of

STEPS = [
    {"operation": "add", "target": "D"},
    {"operation": "merge", "sources": ["A", "B"], "target": "AB"},
    {"operation": "rename", "sources": ["AB"], "target": "D2"},
    {"operation": "delete", "sources": ["C"]},
]


@pytest.fixture
def project(db: None) -> Project:
    return project_with_items(3, k=2)


def names(project: Project) -> list[str]:
    return sorted(choice.name for choice in inventory.inventory(project, "relation"))


def decide(item: Item, label: str) -> None:
    item.refresh_from_db()
    values = {"client_id": uuid4(), "votes_key": item.votes_key, "reason": "clear"}
    decisions.decide(item, by=curator(), payload={"spans": [], "relations": [label]}, **values)


def states(project: Project) -> list[tuple[str, Any]]:
    return list(project.items.order_by("rank").values_list("state", "gold"))


def test_a_plan_is_made_as_its_steps_and_undone_at_once(project: Project) -> None:
    answered_item(project, ["A"], ["B"])
    before = states(project)
    assert before[0][0] == Item.State.DISPUTED
    made = apply_plan(project, planned(STEPS), by=curator())
    assert names(project) == ["D", "D2"]
    assert [(step.number, step.plan) for step in made] == [(1, 1), (2, 1), (3, 1)]
    assert states(project)[0] == (Item.State.SETTLED, {"spans": [], "relations": ["D2"]})
    assert undo_plan(project, 1, by=curator()) == 3
    assert names(project) == ["A", "B", "C", "D"]  # what was added stays
    assert states(project) == before


def test_a_plan_with_an_impossible_step_changes_nothing(project: Project) -> None:
    steps = planned([*STEPS, {"operation": "delete", "sources": ["nobody"]}])
    with pytest.raises(DomainError, match=r"Step 5: .*nobody"):
        apply_plan(project, steps, by=curator())
    assert names(project) == ["A", "B", "C"]
    assert project.steps.count() == 0


def test_the_effect_of_a_plan_is_counted_without_making_it(project: Project) -> None:
    answered_item(project, ["A"], ["B"])
    effect = preview(project, lambda copy: apply_plan(copy, planned(STEPS), by=curator()))
    assert effect.ended == 1
    assert (names(project), project.steps.count()) == (["A", "B", "C"], 0)


def test_decisions_stand_again_when_a_plan_is_undone(project: Project) -> None:
    item = answered_item(project, ["A"], ["B"])
    decide(item, "A")
    before = states(project)
    apply_plan(project, planned(STEPS), by=curator())
    undo_plan(project, 1, by=curator())
    assert states(project) == before
    assert Adjudication.objects.filter(item=item).active().count() == 1


def test_steps_of_a_plan_are_undone_from_the_last_one_on(project: Project) -> None:
    apply_plan(project, planned(STEPS[1:]), by=curator())
    inventory.undo(project.steps.get(number=3), by=curator())
    assert names(project) == ["C", "D2"]
    inventory.merge(project, ["C", "D2"], target="all", by=curator())
    with pytest.raises(Conflict, match="Only the last"):
        undo_plan(project, 1, by=curator())
    inventory.undo(project.steps.get(number=4), by=curator())
    assert undo_plan(project, 1, by=curator()) == 2
    with pytest.raises(Conflict, match="no plan"):
        undo_plan(project, 1, by=curator())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[", "no JSON"),
        ("{}", "a list"),
        ("[]", "a list"),
        ('[{"operation": "split", "sources": ["A"]}]', "Step 1: unknown operation 'split'"),
        ('[{"operation": "add", "sources": ["A"]}]', "add takes a target"),
        ('[{"operation": "delete", "sources": ["A"], "target": "B"}]', "delete takes sources"),
        ('[{"operation": "merge", "sources": "A", "target": "B"}]', "list of names"),
        ('[{"operation": "rename", "sources": ["A", "B"], "target": "C"}]', "one label"),
        ('[{"operation": "merge", "from": []}]', "nothing else"),
    ],
)
def test_an_invalid_plan_names_its_step(text: str, message: str) -> None:
    with pytest.raises(DomainError, match=message):
        read_plan(text)


def test_a_curator_shows_makes_and_undoes_a_plan_on_the_page(project: Project) -> None:
    answered_item(project, ["A"], ["B"])
    values = {"action": "plan", "plan": json.dumps(STEPS)}
    client = Client()
    client.force_login(curator())
    url = reverse("ontology", args=[project.slug])
    assert "ends 1 sentences" in client.post(url, values | {"do": "show"}).content.decode()
    assert project.steps.count() == 0
    assert client.post(url, values).status_code == 302
    assert "Undo all from 1" in response_of(project, "ontology").content.decode()
    assert client.post(url, {"action": "undo_plan", "number": 1}).status_code == 302
    assert names(project) == ["A", "B", "C", "D"]


def test_api_and_command_make_and_undo_a_plan(
    project: Project, client: Client, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    client.force_login(curator())
    url = f"/api/v1/projects/{project.slug}"
    asked = {"change": "plan", "steps": STEPS}
    effect = client.post(f"{url}/effects", asked, content_type="application/json")
    assert (effect.status_code, project.steps.count()) == (200, 0)
    made = client.post(f"{url}/steps", {"steps": STEPS}, content_type="application/json")
    assert [step["plan"] for step in made.json()] == [1, 1, 1]
    undone = client.post(f"{url}/steps/1/undo").json()
    assert all(step["undone_at"] for step in undone)
    assert len(client.get(f"{url}/steps").json()) == 3
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(STEPS))
    words = (project.slug, "--by", curator().username)
    call_command("change_ontology", *words, "--plan", str(file), "--preview")
    assert "get another gold" in capsys.readouterr().out
    call_command("change_ontology", *words, "--plan", str(file))
    assert "3 steps made, from number 4" in capsys.readouterr().out
    call_command("change_ontology", *words, "--undo", "4")
    assert "3 steps undone" in capsys.readouterr().out
    assert plans.EXAMPLE


def test_the_53_relations_of_nyt10_become_25_and_come_back_with_every_decision(db: None) -> None:
    project = project_with_items(2, k=2, labels=(), opened=False)
    inventory.apply_preset(project, "nyt10", by=curator())
    steps = project.steps.filter(undone_at=None)
    assert (len(names(project)), {step.plan for step in steps}) == (24, {1})  # and N/A
    undo_plan(project, 1, by=curator())
    assert len(names(project)) == 52
    projects.open_for_work(project, by=curator())
    first, second = "/location/country/capital", "/location/us_state/capital"
    item = answered_item(project, [first], [second])
    decide(item, first)
    before = states(project)
    inventory.apply_preset(project, "nyt10", by=curator())
    assert len(names(project)) == 24
    undo_plan(project, project.steps.filter(undone_at=None).earliest("number").number, by=curator())
    assert states(project) == before
    assert Adjudication.objects.filter(item=item).active().count() == 1
