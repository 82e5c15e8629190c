"""A team's members as its owners change them in the browser."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from evalsvc.core.accounts import teams
from evalsvc.core.accounts.models import Team, User


@pytest.fixture
def kim(db: None) -> User:
    return User.objects.create_user("kim")


@pytest.fixture
def team(kim: User) -> Team:
    return teams.create_team(name="Kelpie", by=kim)


def test_an_address_that_only_takes_a_form_says_so_on_a_page(client: Client, kim: User, team: Team) -> None:
    client.force_login(kim)
    response = client.get(reverse("team-members", args=[team.slug]))
    assert (response.status_code, response["Allow"]) == (405, "POST")
    assert "This address has no page of its own" in response.content.decode()
    assert "Go back to the page with the button" in response.content.decode()


@pytest.mark.parametrize("way", ["out", "down"])
def test_the_last_owner_is_told_on_the_teams_page_why_they_stay(
    client: Client, kim: User, team: Team, way: str
) -> None:
    client.force_login(kim)
    if way == "out":
        address, told = reverse("team-member-remove", args=[team.slug, team.members.get().pk]), {}
    else:
        address, told = reverse("team-members", args=[team.slug]), {"username": "kim", "role": "member"}
    response = client.post(address, told, follow=True)
    assert response.redirect_chain == [(reverse("team", args=[team.slug]), 302)]
    assert "Kelpie would be without an owner. Make someone else an owner first." in response.content.decode()
    assert teams.role_in(team, kim) == "owner"
