"""Pages that change the members of a team."""

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


def test_a_get_of_a_form_only_url_is_answered_405_with_a_page(client: Client, kim: User, team: Team) -> None:
    client.force_login(kim)
    response = client.get(reverse("team-members", args=[team.slug]))
    assert (response.status_code, response["Allow"]) == (405, "POST")
    assert "method_not_allowed" in response.content.decode()


@pytest.mark.parametrize("change", ["remove", "demote"])
def test_the_last_owner_stays_and_the_team_page_explains_it(
    client: Client, kim: User, team: Team, change: str
) -> None:
    client.force_login(kim)
    if change == "remove":
        address, form = reverse("team-member-remove", args=[team.slug, team.members.get().pk]), {}
    else:
        address, form = reverse("team-members", args=[team.slug]), {"username": "kim", "role": "member"}
    response = client.post(address, form, follow=True)
    assert response.redirect_chain == [(reverse("team", args=[team.slug]), 302)]
    assert "note--warning" in response.content.decode()
    assert teams.role_in(team, kim) == "owner"
