"""A label's words by the API: as the page gives them, and refused in the same sentences."""

from __future__ import annotations

from typing import Any

import pytest
from rest_framework.test import APIClient

from annotation.ontology import inventory
from tests.cast.projects import ProjectCast

ADDRESS = "/api/v1/projects/harbour/ontology"


@pytest.fixture
def cast(db: None) -> ProjectCast:
    return ProjectCast.create()


@pytest.fixture
def client(cast: ProjectCast) -> APIClient:
    made = APIClient()
    made.force_login(cast.curator)
    return made


def one(client: APIClient, name: str) -> dict[str, Any]:
    return next(label for label in client.get(ADDRESS).json() if label["name"] == name)


def test_labels_are_listed_in_order_with_their_texts(client: APIClient) -> None:
    labels = client.get(ADDRESS).json()
    assert [label["name"] for label in labels] == ["lived_in", "born_in", "died_in"]
    assert (labels[0]["part"], labels[0]["definition"]) == ("relation", "The head lived there.")
    assert client.get(f"{ADDRESS}/{labels[1]['id']}").json() == labels[1]


def test_a_patch_changes_only_the_fields_sent(client: APIClient, cast: ProjectCast) -> None:
    before = one(client, "born_in")
    words = {"definition": "**Where** the head was born.", "choose": ["Ada was born in Turin."]}
    words |= {"group": "Life", "head_type": "person", "tail_type": "place"}
    answer = client.patch(f"{ADDRESS}/{before['id']}", words, format="json")
    assert (answer.status_code, answer.json()) == (200, before | words)
    shown = {choice.name: choice for choice in inventory.inventory(cast.project)}["born_in"]
    assert (shown.definition, shown.phrase) == (words["definition"], "was born in")
    assert client.patch(f"{ADDRESS}/{before['id']}", {}, format="json").json() == before | words


@pytest.mark.parametrize(
    ("words", "field"),
    [
        ({"title": " "}, "title"),
        ({"phrase": "x" * 201}, "phrase"),
        ({"choose": ["x"] * 51}, "choose"),
        ({"avoid": "not a list"}, "avoid"),
    ],
)
def test_an_invalid_field_is_rejected_by_name(client: APIClient, words: dict[str, Any], field: str) -> None:
    before = one(client, "born_in")
    answer = client.patch(f"{ADDRESS}/{before['id']}", words, format="json")
    assert answer.status_code == 400
    assert field in answer.content.decode()
    assert one(client, "born_in") == before


def test_a_label_of_another_project_is_404(client: APIClient, cast: ProjectCast) -> None:
    from tests.cast.projects import create_project

    foreign = create_project().labels.earliest("rank")
    assert client.get(f"{ADDRESS}/{foreign.pk}").status_code == 404
    client.force_login(cast.people["ann"])
    assert client.get(ADDRESS).status_code == 403
