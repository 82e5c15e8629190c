"""Disputes about spans by the API: what is open, and a decision nobody voted for."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from rest_framework.test import APIClient

from annotation.models import Project
from tests.cast.projects import ProjectCast

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> ProjectCast:
    cast = ProjectCast.create(kind="entities", k=3, labels=["person", "location"])
    Project.objects.update(policy="majority")
    cast.import_lines({"id": "s1", "text": "Sonmarg , in Kashmir", "spans": []})
    votes: dict[str, list[Any]] = {
        "a": [[0, 7, "person"], [13, 20, "location"]],
        "b": [[0, 9, "location"], [13, 20, "location"]],
        "c": [],
    }
    cast.import_lines(
        *({"item": "s1", "annotator": who, "spans": own} for who, own in votes.items()), what="votes"
    )
    return cast


def client_of(cast: ProjectCast) -> APIClient:
    client = APIClient()
    client.force_login(cast.people["judy"])
    return client


def test_a_dispute_tells_what_stands_and_what_is_open(cast: ProjectCast) -> None:
    body = client_of(cast).get(f"/api/v1/items/{cast.item(1).key}/dispute").json()
    assert body["open_parts"]["spans"] == [[13, 20, "location"]]
    (part,) = body["open_parts"]["parts"]
    assert (part["start"], part["end"], part["pair"]) == (0, 9, None)
    ways = {str(way["choices"]): way["columns"] for way in part["alternatives"]}
    assert ways.keys() == {"[[0, 7, 'person']]", "[[0, 9, 'location']]", "[]"}
    for at, column in enumerate(body["columns"]):
        own = [span for span in column["payload"]["spans"] if span[0] == 0]
        assert at in ways[str(own)]
    assert (body["precedents"], body["may_ask_one_more"]) == ([], False)


def test_any_valid_answer_can_be_decided(cast: ProjectCast) -> None:
    item = cast.item(1)
    body = {
        "client_id": str(uuid4()),
        "votes_key": item.votes_key,
        "payload": {"spans": [[0, 7, "location"]]},
    }
    answer = client_of(cast).post(f"/api/v1/items/{item.key}/decision", body, format="json")
    assert answer.json()["state"] == "adjudicated"
    assert cast.item(1).gold == {"spans": [[0, 7, "location"]], "relations": []}
