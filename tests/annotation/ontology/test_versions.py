"""Versions of the ontology: listed, compared, restored as a new one."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from annotation.adjudication import decisions
from annotation.models import OntologyStep, Project
from annotation.ontology import inventory, plans, versions
from annotation.ontology.plans import planned
from evalsvc.core.errors.exceptions import Conflict
from tests.cast.projects import answered_item, curator, label_names, project_with_items, response_of

MERGE = {"operation": "merge", "sources": ["A", "B"], "target": "AB"}
RENAME = {"operation": "rename", "sources": ["AB"], "target": "D"}
DELETE = {"operation": "delete", "sources": ["C"]}


@pytest.fixture
def project(db: None) -> Project:
    """Version 2: a merge and a renaming; 3: a deletion too; 4: without the first two."""
    project = project_with_items(3, k=2)
    plans.apply_plan(project, planned([MERGE, RENAME]), by=curator())
    plans.apply_plan(project, planned([DELETE]), by=curator())
    plans.undo_plan(project, 1, by=curator())
    return project


def in_use(project: Project) -> list[list[int]]:
    return [[step.number for step in row.steps] for row in versions.versions(project, by=curator())]


def outcomes(project: Project) -> list[tuple[str, Any]]:
    return list(project.items.order_by("rank").values_list("state", "gold"))


def test_each_change_of_the_steps_is_one_version(project: Project) -> None:
    assert in_use(project) == [[], [1, 2], [1, 2, 3], [3]]
    made, undone = (
        [[step.number for step in getattr(row, name)] for row in versions.versions(project, by=curator())]
        for name in ("made", "undone")
    )
    assert made == [[], [1, 2], [3], []]
    assert undone == [[], [], [], [1, 2]]


def test_two_versions_are_compared_by_what_became_of_each_label(project: Project) -> None:
    second, last = (versions.version_of(project, number, by=curator()) for number in (2, 4))
    result = versions.compare(project, second, last)
    assert (result.before, result.after, result.same) == (["D", "C"], ["A", "B"], 0)
    changes = [([*row.before], [*row.after], row.n) for row in result.changes]
    assert changes == [(["D"], ["A"], 1), (["D"], ["B"], 1), (["C"], [], 1)]


def test_an_earlier_version_is_restored_with_its_outcomes_and_decisions(db: None) -> None:
    project = project_with_items(3, k=2)
    answered_item(project, ["A"], ["B"])
    item = answered_item(project, ["B"], ["C"], item="s1")
    plans.apply_plan(project, planned([MERGE, RENAME]), by=curator())
    item.refresh_from_db()
    values = {"client_id": uuid4(), "votes_key": item.votes_key, "by": curator()}
    decisions.decide(item, payload={"relations": ["D"]}, **values)
    before = outcomes(project)
    answered_item(project, ["D"], ["D"], item="s2")  # D cannot simply be undone from now on
    with_answers = outcomes(project)
    plans.apply_plan(project, planned([DELETE]), by=curator())
    inventory.rename(project, "D", target="E", by=curator())
    assert before != outcomes(project)
    restored = versions.restore(project, 2, by=curator())
    assert (sorted(label_names(project)), restored) == (["C", "D"], [])  # its steps were still in use
    assert outcomes(project) == with_answers
    versions.restore(project, 4, by=curator())
    assert sorted(label_names(project)) == ["E"]
    with pytest.raises(Conflict, match="answers use D"):
        versions.restore(project, 1, by=curator())
    with pytest.raises(Conflict, match="are in use"):
        versions.restore(project, 4, by=curator())
    with pytest.raises(Conflict, match="no version 99"):
        versions.restore(project, 99, by=curator())


def test_steps_undone_before_others_are_made_again_in_their_order(project: Project) -> None:
    made = versions.restore(project, 3, by=curator())
    assert [(step.operation, step.plan) for step in made] == [("merge", 4), ("rename", 4), ("delete", 4)]
    assert sorted(label_names(project)) == ["D"]
    assert in_use(project)[-1] == [4, 5, 6]
    plans.undo_plan(project, 4, by=curator())
    assert in_use(project)[-1] == []


def test_page_api_and_command_list_and_restore(
    project: Project, client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    client.force_login(curator())
    page = reverse("ontology-versions", args=[project.slug])
    shown = client.get(page, {"before": 2, "after": 4})
    assert [version.number for version, _ in shown.context["versions"]] == [4, 3, 2, 1]
    assert "Restore version 2" in shown.content.decode()
    pair = {"before": 2, "after": 4}
    effect = client.post(page, pair | {"action": "show"}).content.decode()
    assert "get another gold" in effect
    assert sorted(label_names(project)) == ["A", "B"]
    assert client.post(page, pair | {"action": "restore"}).status_code == 302
    assert sorted(label_names(project)) == ["C", "D"]
    assert "Nothing" not in response_of(project, "ontology-versions").content.decode()
    api = f"/api/v1/projects/{project.slug}/ontology-versions"
    assert [row["number"] for row in client.get(api).json()["results"]] == [1, 2, 3, 4, 5]
    sent = {"content_type": "application/json"}
    seen = client.post(
        f"/api/v1/projects/{project.slug}/effects", {"change": "restore", "version": 1}, **sent
    )
    assert (seen.status_code, sorted(label_names(project))) == (200, ["C", "D"])
    assert client.post(api, {"version": 1}, **sent).json()["steps"] == []
    assert client.post(api, {"version": 1}, **sent).json()["code"] == "version_in_use"
    call_command("change_ontology", project.slug, "--by", curator().username, "--restore", "3")
    assert "version 3 restored" in capsys.readouterr().out
    assert sorted(label_names(project)) == ["D"]


def test_the_api_pages_versions_and_lists_the_steps_in_use_of_one(project: Project, client: Client) -> None:
    client.force_login(curator())
    api = f"/api/v1/projects/{project.slug}/ontology-versions"
    address, seen = f"{api}?page_size=3", []
    first = client.get(address).json()
    assert first["previous"] is None
    while address:
        page = client.get(address).json()
        seen += [(row["number"], row["n_steps"], "steps" in row) for row in page["results"]]
        address = page["next"]
    assert seen == [(1, 0, False), (2, 2, False), (3, 3, False), (4, 1, False)]
    assert client.get(page["previous"]).json() == first
    assert client.get(f"{api}/3").json()["steps"] == [1, 2, 3]
    assert [client.get(f"{api}/{number}").status_code for number in (0, 5)] == [404, 404]
    assert client.get(api, {"cursor": "nowhere"}).status_code == 404


def test_the_page_lists_fifty_versions_and_the_rest_on_further_pages(db: None, client: Client) -> None:
    project = project_with_items(1)
    OntologyStep.objects.bulk_create(
        OntologyStep(project=project, number=n, operation="add", sources=[], target=f"L{n}", by=curator())
        for n in range(1, 61)
    )
    for step in project.steps.all():
        OntologyStep.objects.filter(pk=step.pk).update(at=step.at + timedelta(seconds=step.number))
    client.force_login(curator())
    page = reverse("ontology-versions", args=[project.slug])
    numbers = [
        [version.number for version, _ in client.get(page, {"page": n}).context["versions"]] for n in (1, 2)
    ]
    assert numbers == [[*range(61, 11, -1)], [*range(11, 0, -1)]]
    compared = client.get(page, {"before": 2, "after": 61})  # not only those of this page
    assert (compared.status_code, compared.context["comparison"][0].number) == (200, 2)
    assert "?before=2&amp;after=61&amp;page=2" in compared.content.decode()  # stays open on other pages
