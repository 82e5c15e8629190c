"""Storage, validity and last use of API tokens."""

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


def status_with(secret: str) -> int:
    return Client().get("/api/v1/limits", headers={"Authorization": f"Bearer {secret}"}).status_code


def test_only_the_digest_of_a_token_is_stored(kim: User) -> None:
    token, secret = tokens.issue(kim, name="cluster")
    stored = model_to_dict(token)
    assert secret not in map(str, stored.values())
    assert stored["digest"] == tokens.digest(secret)
    assert secret.startswith(token.prefix)
    assert len(secret) - len(token.prefix) >= 32
    assert status_with(secret) == 200


def test_tokens_of_a_user_and_a_team_are_valid_and_revoked_independently(kim: User, team: Team) -> None:
    issued = [
        tokens.issue(kim, name="laptop", scope="read", days=30),
        tokens.issue(kim, name="cluster", scope="submit", team=team),
        tokens.issue(kim, name="nightly", scope="full", team=team, days=365),
    ]
    assert [status_with(secret) for _, secret in issued] == [200, 200, 200]
    assert {token.name for token in team.tokens.all()} == {"cluster", "nightly"}
    assert [token.expires_at is None for token in ApiToken.objects.order_by("pk")] == [False, True, False]
    tokens.revoke(issued[1][0], by=kim)
    assert [status_with(secret) for _, secret in issued] == [200, 401, 200]


def test_the_last_use_is_recorded_and_shown(client: Client, kim: User, team: Team) -> None:
    token, secret = tokens.issue(kim, name="cluster", team=team)
    assert token.used_at is None
    assert status_with(secret) == 200
    token.refresh_from_db()
    assert token.used_at is not None
    client.force_login(kim)
    page = client.get(reverse("account")).content.decode()
    assert token.used_at.isoformat() in page


def test_uses_within_a_minute_are_written_once(kim: User) -> None:
    token, secret = tokens.issue(kim, name="cluster")
    status_with(secret)
    ApiToken.objects.update(used_at=F("used_at") - timedelta(seconds=30))
    before = ApiToken.objects.get(pk=token.pk).used_at
    status_with(secret)
    assert ApiToken.objects.get(pk=token.pk).used_at == before
    ApiToken.objects.update(used_at=F("used_at") - timedelta(seconds=31))
    status_with(secret)
    after = ApiToken.objects.get(pk=token.pk).used_at
    assert before is not None
    assert after is not None
    assert after > before


def test_a_token_ends_with_its_account_and_with_its_membership(kim: User, team: Team) -> None:
    lars = User.objects.create_user("lars")
    teams.add_member(team, user=lars, by=kim)
    _, for_team = tokens.issue(lars, name="cluster", team=team)
    _, own = tokens.issue(lars, name="laptop")
    teams.remove_member(team, user=lars, by=kim)
    assert (status_with(for_team), status_with(own)) == (401, 200)
    User.objects.filter(pk=lars.pk).update(is_active=False)
    assert status_with(own) == 401
