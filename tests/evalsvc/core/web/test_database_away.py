"""Requests during an outage of the database: 503, on pages, in the API and of health; after a race: 409."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import OperationalError
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import QuerySet
from django.test import Client
from django.urls import reverse

from evalsvc.core.accounts import teams
from tests.cast.basics import person


@pytest.fixture
def outage(db: None) -> Iterator[Client]:
    """A logged-in client of a service whose database just went away."""
    client = Client(raise_request_exception=False)
    client.force_login(person("kim"))

    def away(*_: Any) -> None:
        raise OperationalError("server closed the connection unexpectedly")

    with pytest.MonkeyPatch.context() as patch:  # ends before the transaction of the test does
        patch.setattr(BaseDatabaseWrapper, "_cursor", away)
        yield client


@pytest.mark.parametrize("name", ["home", "boards", "login"])
def test_a_page_asks_to_come_back(outage: Client, name: str) -> None:
    response = outage.get(reverse(name))
    assert (response.status_code, response["Retry-After"]) == (503, "5")
    assert "The database does not respond" in response.content.decode()


def test_the_api_says_when_to_try_again(outage: Client) -> None:
    response = outage.get("/api/v1/projects")
    assert (response.status_code, response["Retry-After"]) == (503, "5")
    assert response.json()["code"] == "database_away"


def test_readiness_and_metrics_name_the_database(outage: Client, settings: Any) -> None:
    settings.METRICS = True
    outage.cookies.clear()
    ready = outage.get("/readyz")
    assert (ready.status_code, "database" in ready.json()["problems"]) == (503, True)
    assert outage.get("/metrics").status_code == 503


def test_what_another_request_stores_at_the_same_moment_is_a_conflict(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The later of two was answered as a fault of the service."""
    teams.create_team(name="Kelpie", by=person("olga"))
    client = Client(raise_request_exception=False)
    client.force_login(person("kim"))
    with monkeypatch.context() as before:  # the other request has stored its team
        before.setattr(QuerySet, "exists", lambda _: False)
        response = client.post(reverse("team-new"), {"name": "Kelpie"})
    assert response.status_code == 409
    assert "at the same moment" in response.content.decode()
