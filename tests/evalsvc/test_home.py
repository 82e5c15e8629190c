"""The start page: tasks per person, first steps of an empty service."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Item
from evalsvc.core.accounts.models import User
from tests.cast.basics import sentence
from tests.cast.benchmarks import BenchmarkCast
from tests.cast.projects import ProjectCast
from tests.workers.handlers.test_score import LABEL_LINES


def home(client: Client, person: User | None = None) -> str:
    if person:
        client.force_login(person)
    response = client.get("/")
    assert response.status_code == 200
    return response.content.decode()


def test_a_visitor_of_an_empty_service_is_sent_to_log_in(client: Client, db: None) -> None:
    page = home(client)
    assert "Nothing here yet" in page
    assert "manage.py createsuperuser" in page
    assert "Waiting for you" not in page


def test_an_organiser_of_an_empty_service_gets_first_steps(client: Client, db: None) -> None:
    page = home(client, User.objects.create_user("olga", may_organise=True))
    for name in ("project-new", "test-set-import", "board-new"):
        assert reverse(name) in page


def test_first_steps_offer_nothing_that_is_not_allowed(client: Client, db: None) -> None:
    page = home(client, User.objects.create_user("kim"))
    assert reverse("project-new") not in page


@pytest.fixture
def project_cast(db: None) -> ProjectCast:
    project_cast = ProjectCast.create()
    project_cast.import_lines(sentence(1), sentence(2))
    return project_cast.open()


def test_sentences_to_label_wait_for_annotators(client: Client, project_cast: ProjectCast) -> None:
    page = home(client, project_cast.people["ann"])
    assert "2 sentences to label" in page
    assert "Label the next sentence" in page
    assert "to label" not in home(client, project_cast.people["vera"])


def test_disputes_wait_for_adjudicators(client: Client, project_cast: ProjectCast) -> None:
    project_cast.dispute(1)
    assert Item.objects.filter(state="disputed").count() == 1
    assert "1 dispute to decide" in home(client, project_cast.people["judy"])
    assert "to decide" not in home(client, project_cast.people["ann"]).split("Waiting for you")[1]


def test_running_submissions_are_listed_for_their_team_only(client: Client, cast: BenchmarkCast) -> None:
    submission = cast.submit(cast.relations(), LABEL_LINES)
    address = reverse("submission", args=[submission.pk])
    assert address in home(client, cast.kim)
    assert address not in home(client, cast.lars)


def test_a_visitor_sees_public_benchmarks_and_no_tasks(client: Client, cast: BenchmarkCast) -> None:
    cast.relations(title="Open board")
    cast.benchmark("secret", title="Closed board", public=False)
    page = home(client)
    assert "Open board" in page
    assert "Closed board" not in page
    assert "Waiting for you" not in page
