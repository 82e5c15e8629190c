"""Pages of a project by role."""

import pytest
from django.test import Client
from django.urls import reverse

from annotation import projects
from annotation.queue import leases
from tests.cast.basics import person, sentence
from tests.cast.projects import ProjectCast
from tests.cast.replay import replayed

ROLES = ("ann", "judy", "vera", "curator", "stranger")
ALLOWED = {
    "project": {"ann": 200, "judy": 200, "vera": 200, "curator": 200},
    "label": {"ann": 200, "judy": 403, "vera": 403, "curator": 200},
    "disputes": {"ann": 403, "judy": 200, "vera": 403, "curator": 200},
    "project-import": {"ann": 403, "judy": 403, "vera": 403, "curator": 200},
    "ontology": {"ann": 403, "judy": 403, "vera": 403, "curator": 200},
    "project-members": {"ann": 403, "judy": 403, "vera": 403, "curator": 200},
    "freeze": {"ann": 403, "judy": 403, "vera": 403, "curator": 200},
}


@pytest.fixture
@replayed
def cast(db: None) -> ProjectCast:
    cast = ProjectCast.create()
    cast.import_lines(sentence(1), sentence(2))
    cast.people["stranger"] = person("sam")
    return cast.open()


@pytest.mark.parametrize("who", ["ann", "judy", "vera", "stranger"])
@pytest.mark.parametrize("act", ["pause", "resume", "set-aside", "put-back"])
def test_numbers_of_annotators_tell_nobody_but_curators_who_works_in_a_project(
    client: Client, cast: ProjectCast, act: str, who: str
) -> None:
    leases.lease_next(cast.project, cast.people["bob"])
    (annotator,) = cast.project.annotators.values_list("pk", flat=True)
    client.force_login(cast.people[who])
    addresses = [reverse(f"api-annotator-{act}", args=[pk]) for pk in (annotator, annotator + 1)]
    replies = [client.post(address, "{}", content_type="application/json") for address in addresses]
    assert [reply.status_code for reply in replies] == [404, 404]
    assert replies[0].json() == replies[1].json()


@pytest.mark.parametrize("who", ROLES)
@pytest.mark.parametrize("page", ALLOWED)
def test_a_page_is_visible_to_its_roles_only(client: Client, cast: ProjectCast, page: str, who: str) -> None:
    client.force_login(cast.people[who])
    assert client.get(reverse(page, args=["harbour"])).status_code == ALLOWED[page].get(who, 404)


@pytest.mark.parametrize("who", ["ann", "judy", "vera"])
def test_curators_alone_send_forms_of_a_project_even_with_the_values_in_force(
    client: Client, cast: ProjectCast, who: str
) -> None:
    client.force_login(cast.people[who])
    rule = {"k": cast.project.k, "policy": cast.project.policy}
    for form in (rule, {**rule, "do": "show"}, {"action": "rename", "title": cast.project.title}, {}):
        answer = client.post(reverse("project", args=["harbour"]), form)
        assert answer.status_code == 403
        assert "Reopens" not in answer.content.decode()


def form_of(client: Client, cast: ProjectCast, who: str) -> tuple[int, str]:
    client.force_login(cast.people[who])
    answer = client.get(reverse("label", args=["harbour"]))
    return answer.status_code, answer.content.decode()


def test_a_removed_member_who_labelled_sees_the_reason_on_the_form(client: Client, cast: ProjectCast) -> None:
    leases.lease_next(cast.project, cast.people["ann"])
    projects.remove_member(cast.project, user=cast.people["ann"], by=cast.curator)
    status, page = form_of(client, cast, "ann")
    assert status == 403
    assert 'id="unsent"' in page
    projects.set_member(cast.project, user=cast.people["ann"], role="annotator", by=cast.curator)
    assert form_of(client, cast, "ann")[0] == 200


@pytest.mark.parametrize("who", ["bob", "vera"])
def test_a_removed_member_who_never_labelled_gets_404(client: Client, cast: ProjectCast, who: str) -> None:
    cast.answer("ann", 1, "born_in")
    projects.remove_member(cast.project, user=cast.people[who], by=cast.curator)
    status, page = form_of(client, cast, who)
    assert status == 404
    assert "Harbour" not in page


@pytest.mark.parametrize("who", ROLES)
def test_a_dispute_is_visible_to_adjudicators_only(client: Client, cast: ProjectCast, who: str) -> None:
    item = cast.dispute(1)
    client.force_login(cast.people[who])
    status = client.get(reverse("dispute", args=["harbour", item.key])).status_code
    assert status == {"judy": 200, "curator": 200, "stranger": 404}.get(who, 403)


@pytest.mark.parametrize("who", ROLES)
def test_an_import_is_visible_to_curators_only(client: Client, cast: ProjectCast, who: str) -> None:
    client.force_login(cast.people[who])
    status = client.get(reverse("import", args=[cast.project.batches.get().pk])).status_code
    assert status == {"curator": 200}.get(who, 404)


@pytest.mark.parametrize("page", ["label-index", "projects", "test-sets"])
def test_a_visitor_is_redirected_to_log_in_and_back(client: Client, db: None, page: str) -> None:
    address = reverse(page)
    assert client.get(address).headers["Location"] == f"/login/?next={address}"


@pytest.mark.parametrize("page", ["project-new", "test-set-import"])
def test_only_organisers_create_projects_and_import_gold(
    client: Client, cast: ProjectCast, page: str
) -> None:
    client.force_login(cast.people["ann"])
    assert client.get(reverse(page)).status_code == 403
    client.force_login(cast.curator)
    assert client.get(reverse(page)).status_code == 200


def test_the_project_page_shows_annotators_their_own_answers_only(client: Client, cast: ProjectCast) -> None:
    cast.answer("ann", 1, "lived_in")
    cast.answer("bob", 1, "born_in")
    client.force_login(cast.people["ann"])
    page = client.get(reverse("project", args=["harbour"])).content.decode()
    assert "place lived" in page
    assert "place of birth" not in page
    assert "disputed" not in page
    assert reverse("project-members", args=["harbour"]) not in page


def test_a_user_without_a_project_sees_the_user_name_to_give_a_curator(
    client: Client, cast: ProjectCast
) -> None:
    client.force_login(cast.people["stranger"])
    page = client.get(reverse("label-index")).content.decode()
    assert "<b>sam</b>" in page


def test_the_list_shows_the_open_work_of_each_role(client: Client, cast: ProjectCast) -> None:
    cast.dispute(1)
    client.force_login(cast.people["ann"])
    assert "1 sentence to label" in client.get(reverse("label-index")).content.decode()
    client.force_login(cast.people["judy"])
    assert "1 dispute to decide" in client.get(reverse("label-index")).content.decode()


def test_a_member_cannot_tell_an_import_from_a_made_up_one(client: Client, cast: ProjectCast) -> None:
    number = cast.project.batches.latest("pk").pk
    client.force_login(cast.people["ann"])
    for address in ("/api/v1/imports/{}", "/imports/{}/"):
        statuses = {client.get(address.format(pk)).status_code for pk in (number, number + 1000)}
        assert statuses == {404}, address
