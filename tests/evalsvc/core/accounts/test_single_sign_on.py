"""Single sign-on: who somebody is, is the provider's word on its own key, and never an e-mail address."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from django.conf import settings as project
from django.http import HttpResponse
from django.test import Client
from django.urls import NoReverseMatch, reverse

import evalsvc.urls  # noqa: F401 - read once, as it is where single sign-on is off, before a test switches it on
from evalsvc.core.accounts import invitations, teams
from evalsvc.core.accounts.models import Identity, User
from tests.evalsvc.core.accounts.provider import CLIENT, ISSUER, FakeProvider, running


@pytest.fixture
def provider(db: None, settings: Any) -> Iterator[FakeProvider]:
    with running() as started:
        settings.SINGLE_SIGN_ON, settings.OIDC_TITLE = True, "Example ID"
        settings.OIDC_RP_CLIENT_ID, settings.OIDC_RP_CLIENT_SECRET = CLIENT, "secret"
        settings.OIDC_ISSUER, settings.OIDC_OPENS_ACCOUNTS = ISSUER, True
        settings.OIDC_OP_AUTHORIZATION_ENDPOINT = f"{started.url}/authorize"
        settings.OIDC_OP_TOKEN_ENDPOINT = f"{started.url}/token"
        settings.OIDC_OP_USER_ENDPOINT = f"{started.url}/who"
        settings.OIDC_OP_JWKS_ENDPOINT = f"{started.url}/jwks"
        settings.OIDC_RP_SIGN_ALGO, settings.OIDC_RP_SCOPES = "RS256", "openid email profile"
        settings.OIDC_USE_PKCE, settings.OIDC_TIMEOUT = True, 10
        settings.OIDC_AUTHENTICATION_CALLBACK_URL = "single-sign-on-back"
        settings.LOGIN_REDIRECT_URL_FAILURE = "/login/?refused=single-sign-on"
        settings.AUTHENTICATION_BACKENDS = [
            *project.AUTHENTICATION_BACKENDS,
            "evalsvc.core.accounts.single_sign_on.Provider",
        ]
        settings.ROOT_URLCONF = "tests.evalsvc.core.accounts.urls_with_single_sign_on"
        yield started


def came_back(client: Client, provider: FakeProvider, *, to: str = "") -> HttpResponse:
    """Follow the link to the provider and come back with its code."""
    sent = client.get(reverse("single-sign-on"), {"next": to} if to else {})
    asked = parse_qs(urlsplit(sent["Location"]).query)
    provider.nonce = asked["nonce"][0]
    assert asked["code_challenge_method"] == ["S256"]
    return client.get(reverse("single-sign-on-back"), {"code": "c", "state": asked["state"][0]})


def who(client: Client) -> str:
    pk = client.session.get("_auth_user_id")
    return User.objects.get(pk=pk).username if pk else ""


def test_somebody_new_gets_an_account_and_finds_it_again(client: Client, provider: FakeProvider) -> None:
    provider.claims |= {"preferred_username": "nora", "given_name": "Nora"}
    assert came_back(client, provider, to="/boards/")["Location"] == "/boards/"
    assert who(client) == "nora"
    assert "code_verifier" in provider.asked[0]
    again = Client()
    provider.claims |= {"preferred_username": "renamed", "email": "other@example.org"}
    came_back(again, provider)
    assert who(again) == "nora"
    assert not User.objects.get().has_usable_password()


def test_the_same_address_for_mail_makes_nobody_the_same_person(
    client: Client, provider: FakeProvider
) -> None:
    User.objects.create_user("nora", email="nora@example.org", password="x")
    came_back(client, provider)
    assert who(client) == "nora2"


TWISTS = {
    "another issuer": {"iss": "https://evil.example.org"},
    "another client": {"aud": "other-client"},
    "another nonce": {"nonce": "made-up"},
    "another person": {"sub": "u2"},
    "run out": {"exp": 1_000_000_000},
}


@pytest.mark.parametrize("twist", TWISTS)
def test_a_token_that_is_not_meant_for_here_lets_nobody_in(
    client: Client, provider: FakeProvider, twist: str
) -> None:
    provider.twisted = TWISTS[twist]
    response = came_back(client, provider)
    assert response["Location"] == "/login/?refused=single-sign-on"
    assert (who(client), User.objects.count()) == ("", 0)
    assert "let nobody in" in client.get(response["Location"]).content.decode()


def test_a_token_signed_by_another_key_lets_nobody_in(client: Client, provider: FakeProvider) -> None:
    provider.signs_with = rsa.generate_private_key(65537, 2048)
    came_back(client, provider)
    assert (who(client), User.objects.count()) == ("", 0)


def test_a_way_back_that_nobody_asked_for_leads_to_the_login(client: Client, provider: FakeProvider) -> None:
    for told in ({"code": "c", "state": "made-up"}, {"error": "access_denied"}, {}):
        response = client.get(reverse("single-sign-on-back"), told)
        assert response["Location"] == "/login/?refused=single-sign-on"
    client.get(reverse("single-sign-on"))
    response = client.get(reverse("single-sign-on-back"), {"code": "c", "state": "made-up"})
    assert response["Location"] == "/login/?refused=single-sign-on"


def test_without_an_invitation_nobody_new_comes_in_where_it_is_needed(
    client: Client, provider: FakeProvider, settings: Any
) -> None:
    settings.OIDC_OPENS_ACCOUNTS = False
    assert came_back(client, provider).status_code == 403
    assert User.objects.count() == 0


def test_an_invitation_is_used_by_whoever_comes_back_with_it(
    client: Client, provider: FakeProvider, settings: Any
) -> None:
    settings.OIDC_OPENS_ACCOUNTS = False
    kim = User.objects.create_user("kim")
    team = teams.create_team(name="Kelpie", by=kim)
    _, secret = invitations.invite(teams.PLACE, team, role="member", by=kim)
    address = reverse("join", args=[secret])
    assert "Use Example ID" in client.get(address).content.decode()
    assert came_back(client, provider, to=address)["Location"] == reverse("team", args=["kelpie"])
    assert teams.role_in(team, User.objects.get(username="nora")) == "member"


def test_an_account_is_connected_only_on_its_persons_wish(client: Client, provider: FakeProvider) -> None:
    kim = User.objects.create_user("kim", password="x")
    client.force_login(kim)
    assert client.get(reverse("account-connect")).status_code == 405
    client.post(reverse("account-connect"))
    came_back(client, provider)
    assert Identity.objects.get().user == kim
    fresh = Client()
    came_back(fresh, provider)
    assert who(fresh) == "kim"


def test_an_identity_of_another_account_is_not_taken_over(client: Client, provider: FakeProvider) -> None:
    Identity.objects.create(user=User.objects.create_user("nora"), issuer=ISSUER, subject="u1")
    client.force_login(User.objects.create_user("kim", password="x"))
    client.post(reverse("account-connect"))
    assert came_back(client, provider).status_code == 409
    assert who(client) == "kim"


def test_the_last_way_in_is_not_disconnected(client: Client, provider: FakeProvider) -> None:
    came_back(client, provider)
    address = reverse("account-disconnect", args=[Identity.objects.get().pk])
    assert "Disconnect" not in client.get(reverse("account")).content.decode()
    assert client.post(address).status_code == 409
    nora = User.objects.get()
    nora.set_password("seven-lamps-at-sea")
    nora.save()
    client.force_login(nora)
    assert "Disconnect" in client.get(reverse("account")).content.decode()
    assert client.post(address).status_code == 302
    assert not Identity.objects.exists()


def test_somebody_shut_out_is_shut_out_here_too(client: Client, provider: FakeProvider) -> None:
    came_back(client, provider)
    User.objects.update(is_active=False)
    fresh = Client()
    came_back(fresh, provider)
    assert who(fresh) == ""


def test_passwords_work_beside_it(client: Client, provider: FakeProvider) -> None:
    User.objects.create_user("kim", password="harbour-lamp-7")
    client.post(reverse("login"), {"username": "kim", "password": "harbour-lamp-7"})
    assert who(client) == "kim"
    assert "Log in with Example ID" in Client().get(reverse("login")).content.decode()


# ---- switched on and off ---------------------------------------------------------------------------
def test_switched_off_it_has_no_address_and_no_link(client: Client, db: None) -> None:
    with pytest.raises(NoReverseMatch):
        reverse("single-sign-on")
    assert client.get("/single-sign-on/").status_code == 404
    assert "single-sign-on" not in client.get(reverse("login")).content.decode()


ENDPOINTS = {
    f"OIDC_{name}": f"{ISSUER}/{name.lower()}"
    for name in ("AUTHORIZATION_URL", "TOKEN_URL", "USERINFO_URL", "JWKS_URL")
}
WHOLE = ENDPOINTS | {"OIDC_CLIENT_ID": CLIENT, "OIDC_CLIENT_SECRET": "secret", "OIDC_ISSUER": ISSUER}
ASKS = "import evalsvc.wsgi; from django.urls import reverse; print(reverse('single-sign-on'))"


def started(tmp_path: Any, **told: str) -> subprocess.CompletedProcess[str]:
    env = {"PATH": os.environ["PATH"], "EVALSVC_DATA": str(tmp_path)} | told
    command = [sys.executable, "-c", ASKS]
    return subprocess.run(command, env=env, cwd=project.BASE_DIR, capture_output=True, text=True, check=False)


def test_the_environment_switches_it_on(tmp_path: Any) -> None:
    run = started(tmp_path, **WHOLE)
    assert run.stdout.strip() == "/single-sign-on/", run.stderr[-2000:]


@pytest.mark.parametrize("missing", ["OIDC_CLIENT_SECRET", "OIDC_ISSUER", "OIDC_JWKS_URL"])
def test_half_a_setup_stops_the_start_by_name(tmp_path: Any, missing: str) -> None:
    run = started(tmp_path, **{name: value for name, value in WHOLE.items() if name != missing})
    assert f"{missing} is not" in run.stderr
