"""A team's page and its tokens: for its members, and a secret is shown once."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse

from evalsvc.teams.models import ApiToken, Team, User
from evalsvc.teams.tokens import digest, issue
from tests.evalsvc.evaluation.cast import Cast
from tests.workers.test_scoring import LABEL_LINES

TOKEN = {"name": "cluster", "scope": "submit", "days": "30"}


def test_a_team_is_seen_by_its_members_alone(client: Client, cast: Cast) -> None:
    address = reverse("team", args=["kelpie"])
    assert client.get(address).headers["Location"] == f"/login/?next={address}"
    client.force_login(cast.lars)
    assert client.get(address).status_code == 404
    client.force_login(cast.kim)
    assert client.get(address).status_code == 200


def test_runs_can_be_narrowed_to_those_under_way(client: Client, cast: Cast) -> None:
    cast.submit(cast.relations(), LABEL_LINES, system="Waiting net")
    client.force_login(cast.kim)
    address = reverse("team", args=["kelpie"])
    assert "1 run is on the way." in client.get(address).content.decode()
    assert "Waiting net</a>" in client.get(address, {"show": "under-way"}).content.decode()
    assert "No run here." in client.get(address, {"show": "needs-you"}).content.decode()


def test_a_new_token_is_shown_once_and_kept_as_a_digest(client: Client, cast: Cast) -> None:
    client.force_login(cast.kim)
    response = client.post(reverse("token-new", args=["kelpie"]), TOKEN)
    (secret,) = set(re.findall(r"evs_[\w-]{20,}", response.content.decode()))
    token = ApiToken.objects.get()
    assert token.digest == digest(secret)
    assert (token.team, token.user, token.scope) == (cast.kelpie, cast.kim, "submit")
    assert "no-store" in response["Cache-Control"]
    page = client.get(reverse("team", args=["kelpie"])).content.decode()
    assert secret not in page
    assert token.prefix in page


def test_a_token_of_another_team_cannot_be_made(client: Client, cast: Cast) -> None:
    client.force_login(cast.lars)
    assert client.post(reverse("token-new", args=["kelpie"]), TOKEN).status_code == 404
    assert not ApiToken.objects.exists()


def test_a_token_is_revoked_by_its_owner(client: Client, cast: Cast) -> None:
    token, _ = issue(cast.kim, name="cluster", team=cast.kelpie)
    address = reverse("token-revoke", args=["kelpie", token.pk])
    client.force_login(cast.lars)
    assert client.post(address).status_code == 404
    client.force_login(cast.kim)
    assert client.get(address).status_code == 405
    client.post(address)
    token.refresh_from_db()
    assert token.revoked_at is not None


def test_a_team_is_started_and_owned_by_its_maker(client: Client, cast: Cast) -> None:
    client.force_login(cast.olga)
    response = client.post(reverse("team-new"), {"name": "Sea Mouse"})
    assert response.headers["Location"] == reverse("team", args=["sea-mouse"])
    assert Team.objects.get(slug="sea-mouse").members.get().user == cast.olga


def test_a_name_that_is_taken_is_said_beside_the_field(client: Client, cast: Cast) -> None:
    client.force_login(cast.olga)
    response = client.post(reverse("team-new"), {"name": "Kelpie"})
    assert response.status_code == 400
    assert "There is a team named Kelpie already." in response.content.decode()


@pytest.mark.parametrize(("name", "there"), [("nora", True), ("nobody", False)])
def test_an_owner_adds_people_by_user_name(client: Client, cast: Cast, name: str, there: bool) -> None:
    User.objects.create_user("nora")
    client.force_login(cast.kim)
    told = {"username": name, "role": "member"}
    page = client.post(reverse("team-members", args=["kelpie"]), told, follow=True).content.decode()
    assert cast.kelpie.members.filter(user__username=name).exists() is there
    assert ("Nobody here has the user name" in page) is not there


def test_members_who_own_nothing_add_nobody(client: Client, cast: Cast) -> None:
    nora = User.objects.create_user("nora")
    cast.kelpie.members.create(user=nora)
    client.force_login(nora)
    told = {"username": "lars", "role": "member"}
    assert client.post(reverse("team-members", args=["kelpie"]), told).status_code == 403
