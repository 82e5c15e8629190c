"""What is kept of a token, what it may do, and what its page says of it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db.models import F
from django.forms.models import model_to_dict
from django.test import Client
from django.urls import reverse

from evalsvc.core.accounts import teams, tokens
from evalsvc.core.accounts.models import ApiToken, Team, User


@pytest.fixture
def kim(db: None) -> User:
    return User.objects.create_user("kim", password="harbour-lamp-7")


@pytest.fixture
def team(kim: User) -> Team:
    return teams.create_team(name="Kelpie", by=kim)


def asked(secret: str) -> int:
    return Client().get("/api/v1/limits", headers={"Authorization": f"Bearer {secret}"}).status_code


def test_only_the_digest_of_a_token_is_kept(kim: User) -> None:
    token, secret = tokens.issue(kim, name="cluster")
    kept = model_to_dict(token)
    assert secret not in map(str, kept.values())
    assert kept["digest"] == tokens.digest(secret)
    assert secret.startswith(token.prefix)
    assert len(secret) - len(token.prefix) >= 32
    assert asked(secret) == 200


def test_a_person_and_a_team_have_several_tokens_of_their_own_names_scopes_and_ends(
    kim: User, team: Team
) -> None:
    made = [
        tokens.issue(kim, name="laptop", scope="read", days=30),
        tokens.issue(kim, name="cluster", scope="submit", team=team),
        tokens.issue(kim, name="nightly", scope="full", team=team, days=365),
    ]
    assert [asked(secret) for _, secret in made] == [200, 200, 200]
    assert {token.name for token in team.tokens.all()} == {"cluster", "nightly"}
    assert [token.expires_at is None for token in ApiToken.objects.order_by("pk")] == [False, True, False]
    tokens.revoke(made[1][0])
    assert [asked(secret) for _, secret in made] == [200, 401, 200]


def test_the_last_use_is_noted_and_shown(client: Client, kim: User, team: Team) -> None:
    token, secret = tokens.issue(kim, name="cluster", team=team)
    assert token.used_at is None
    assert asked(secret) == 200
    token.refresh_from_db()
    assert token.used_at is not None
    client.force_login(kim)
    page = client.get(reverse("account")).content.decode()
    assert "cluster" in page
    assert "never used" not in page


def test_within_a_minute_a_use_is_written_once(kim: User) -> None:
    token, secret = tokens.issue(kim, name="cluster")
    asked(secret)
    ApiToken.objects.update(used_at=F("used_at") - timedelta(seconds=30))
    before = ApiToken.objects.get(pk=token.pk).used_at
    asked(secret)
    assert ApiToken.objects.get(pk=token.pk).used_at == before
    ApiToken.objects.update(used_at=F("used_at") - timedelta(seconds=31))
    asked(secret)
    after = ApiToken.objects.get(pk=token.pk).used_at
    assert before is not None
    assert after is not None
    assert after > before


def test_a_token_dies_with_its_account_and_with_its_membership(kim: User, team: Team) -> None:
    lars = User.objects.create_user("lars")
    teams.add_member(team, user=lars, by=kim)
    _, for_team = tokens.issue(lars, name="cluster", team=team)
    _, own = tokens.issue(lars, name="laptop")
    teams.remove_member(team, user=lars, by=kim)
    assert (asked(for_team), asked(own)) == (401, 200)
    User.objects.filter(pk=lars.pk).update(is_active=False)
    assert asked(own) == 401
