"""The start page: tasks per person, first steps of an empty service."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from annotation.adjudication import decisions
from annotation.models import Item
from annotation.projects import set_member
from evalsvc.core.accounts.models import User
from evalsvc.evaluation.benchmarks import entrants
from evalsvc.evaluation.benchmarks.announcements import announce
from evalsvc.home import LISTED
from tests.cast.basics import person, sentence
from tests.cast.benchmarks import BenchmarkCast
from tests.cast.projects import ProjectCast, annotators, answer_item, curator, project_with_items
from tests.workers.handlers.test_score import LABEL_LINES


def home(client: Client, person: User | None = None) -> str:
    if person:
        client.force_login(person)
    response = client.get("/")
    assert response.status_code == 200
    return response.content.decode()


def tasks(client: Client, person: User | None = None) -> dict[str, str]:
    """The first word of each listed task by its link; all links are on the page."""
    page = home(client, person)
    listed = {task.address: task.title.split()[0] for task in client.get("/").context["todo"]}
    assert [address for address in listed if f'href="{address}"' not in page] == []
    return listed


def test_a_visitor_of_an_empty_service_is_sent_to_log_in(client: Client, db: None) -> None:
    page = home(client)
    assert f'<a href="{reverse("login")}">' in page
    assert "manage.py createsuperuser" in page
    assert tasks(client) == {}


def test_an_organiser_of_an_empty_service_gets_first_steps(client: Client, db: None) -> None:
    page = home(client, User.objects.create_user("olga", may_organise=True))
    for name in ("project-new", "test-set-import", "board-new"):
        assert reverse(name) in page


def test_an_organiser_without_tasks_can_create_a_benchmark(client: Client, cast: BenchmarkCast) -> None:
    cast.relations()
    assert reverse("board-new") in home(client, User.objects.create_user("new", may_organise=True))
    assert reverse("board-new") not in home(client, User.objects.create_user("reader"))


def test_first_steps_offer_nothing_that_is_not_allowed(client: Client, db: None) -> None:
    page = home(client, User.objects.create_user("kim"))
    assert reverse("project-new") not in page


@pytest.fixture
def project_cast(db: None) -> ProjectCast:
    project_cast = ProjectCast.create()
    project_cast.import_lines(sentence(1), sentence(2))
    return project_cast.open()


def test_sentences_to_label_wait_for_annotators(client: Client, project_cast: ProjectCast) -> None:
    address = reverse("label", args=["harbour"])
    assert tasks(client, project_cast.people["ann"]) == {address: "2"}
    assert f'<a class="btn btn--main" href="{address}">' in home(client)
    assert tasks(client, project_cast.people["vera"]) == {}
    assert address not in home(client)


def test_disputes_wait_for_adjudicators(client: Client, project_cast: ProjectCast) -> None:
    project_cast.dispute(1)
    assert Item.objects.filter(state="disputed").count() == 1
    address = reverse("disputes", args=["harbour"])
    assert tasks(client, project_cast.people["judy"]) == {address: "1"}
    assert address not in tasks(client, project_cast.people["ann"])


def test_running_submissions_are_listed_for_their_team_only(client: Client, cast: BenchmarkCast) -> None:
    submission = cast.submit(cast.relations(), LABEL_LINES)
    address = reverse("submission", args=[submission.pk])
    assert address in home(client, cast.kim)
    assert address not in home(client, cast.lars)


def test_teams_that_ask_to_take_part_wait_for_the_organisers(client: Client, cast: BenchmarkCast) -> None:
    benchmark = cast.relations(title="Open board")
    address = reverse("board-entrants", args=["rel"])
    entrants.enter(benchmark, cast.kelpie, by=cast.kim)
    assert address not in home(client, cast.olga)  # needs no approval
    entrants.set_approval(benchmark, needed=True, by=cast.olga)
    assert tasks(client, cast.olga) == {address: "1"}
    assert tasks(client, cast.kim) == {}


def test_a_visitor_sees_public_benchmarks_and_no_tasks(client: Client, cast: BenchmarkCast) -> None:
    cast.relations(title="Open board")
    cast.benchmark("secret", title="Closed board", public=False)
    page = home(client)
    assert "Open board" in page
    assert "Closed board" not in page
    assert tasks(client) == {}


def test_what_is_new_covers_all_benchmarks_that_a_person_may_see(client: Client, cast: BenchmarkCast) -> None:
    for at in range(LISTED):
        cast.benchmark(f"board-{at}", title=f"A board {at}")
    last = cast.benchmark("last", title="Zeta, not listed")
    closed = cast.benchmark("secret", title="Closed board", public=False)
    for benchmark in (last, closed):
        announce(benchmark, by=cast.olga, title=f"News of {benchmark}", text="")
    page = home(client)
    assert "News of Zeta, not listed" in page
    assert "News of Closed board" not in page
    assert "News of Closed board" in home(client, cast.olga)


def test_work_is_found_behind_projects_in_which_others_have_work(
    client: Client, either_database: str
) -> None:
    ann, last = person("ann0"), None
    for at in range(6):
        last = project_with_items(1)
        annotators(last, 2)
        if at < 5:
            answer_item(last.items.get(), ann, "A")
    assert last
    assert tasks(client, ann) == {reverse("label", args=[last.slug]): "1"}


def decide(item: Item, adjudicator: User) -> None:
    payload = {"spans": [], "relations": ["A"]}
    key = {"client_id": uuid4(), "votes_key": item.votes_key}
    decisions.decide(item, by=adjudicator, payload=payload, **key)


def test_disputes_are_found_behind_projects_whose_disputes_are_settled(
    client: Client, either_database: str
) -> None:
    adjudicator = person("ada")
    for at in range(6):
        project = project_with_items(1)
        set_member(project, user=adjudicator, role="adjudicator", by=curator())
        ann, bob = annotators(project, 2)
        answer_item(project.items.get(), ann, "A")
        answer_item(project.items.get(), bob, "B")
        if at < 5:
            decide(project.items.get(), adjudicator)
    assert tasks(client, adjudicator) == {reverse("disputes", args=[project.slug]): "1"}
