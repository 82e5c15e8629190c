"""Single sign-on: identities by issuer and subject, token checks, invitations."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from django.conf import settings as project
from django.contrib.sessions.backends.base import UpdateError
from django.contrib.sessions.backends.db import SessionStore
from django.core import mail
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpResponse
from django.test import Client
from django.urls import NoReverseMatch, reverse

import evalsvc.urls  # noqa: F401 - read once, as it is where single sign-on is off, before a test switches it on
from evalsvc.core.accounts import (
    invitations,
    login_throttle,
    outgoing_mail,
    sessions,
    single_sign_on,
    teams,
    users,
)
from evalsvc.core.accounts.models import Identity, User
from evalsvc.core.web import places
from tests.evalsvc.core.accounts.provider import CLIENT, ISSUER, FakeProvider, running
from tests.places.configuration import settings_with

PASSWORD = "harbour-lamp-7"


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


def sign_on(client: Client, provider: FakeProvider, *, to: str = "") -> HttpResponse:
    """Follow the link to the provider and return with its code."""
    redirect = client.get(reverse("single-sign-on"), {"next": to} if to else {})
    query = parse_qs(urlsplit(redirect["Location"]).query)
    provider.nonce = query["nonce"][0]
    assert query["code_challenge_method"] == ["S256"]
    return client.get(reverse("single-sign-on-back"), {"code": "c", "state": query["state"][0]})


def logged_in_as(client: Client) -> str:
    pk = client.session.get("_auth_user_id")
    return User.objects.get(pk=pk).username if pk else ""


def test_a_new_identity_gets_an_account_and_logs_in_to_it_again(
    client: Client, provider: FakeProvider
) -> None:
    provider.claims |= {"preferred_username": "nora", "given_name": "Nora"}
    assert sign_on(client, provider, to="/boards/")["Location"] == "/boards/"
    assert logged_in_as(client) == "nora"
    assert "code_verifier" in provider.requests[0]
    assert not {"oidc_access_token", "oidc_id_token"} & {*client.session.keys(), *client.cookies}
    again = Client()
    provider.claims |= {"preferred_username": "renamed", "email": "other@example.org"}
    sign_on(again, provider)
    assert logged_in_as(again) == "nora"
    assert not User.objects.get().has_usable_password()


def test_an_equal_e_mail_address_does_not_match_an_account(client: Client, provider: FakeProvider) -> None:
    User.objects.create_user("nora", email="nora@example.org", password="x")
    sign_on(client, provider)
    assert logged_in_as(client) == "nora2"


TAMPERED = {
    "another issuer": {"iss": "https://evil.example.org"},
    "another client": {"aud": "other-client"},
    "another nonce": {"nonce": "made-up"},
    "another person": {"sub": "u2"},
    "expired": {"exp": 1_000_000_000},
    "no expiry": {"exp": ...},
    "an expiry without end": {"exp": math.inf},
    "an expiry that is none": {"exp": None},
    "made for another client": {"aud": [CLIENT, "other-client"], "azp": "other-client"},
    "of another client": {"azp": "other-client"},
    "several clients": {"aud": [CLIENT, "other-client"]},
    "no client": {"aud": None},
    "a number of a client": {"aud": 5},
}


@pytest.mark.parametrize("claim", TAMPERED)
def test_a_token_with_a_wrong_claim_is_rejected(client: Client, provider: FakeProvider, claim: str) -> None:
    provider.tampered = TAMPERED[claim]
    response = sign_on(client, provider)
    assert response["Location"] == "/login/?refused=single-sign-on"
    assert (logged_in_as(client), User.objects.count()) == ("", 0)
    assert 'role="alert"' in client.get(response["Location"]).content.decode()


def test_a_token_for_several_clients_that_this_one_asked_for_logs_in(
    client: Client, provider: FakeProvider
) -> None:
    provider.tampered = {"aud": ["other-client", CLIENT], "azp": CLIENT}
    sign_on(client, provider)
    assert logged_in_as(client) == "nora"


@pytest.mark.parametrize(
    "changed",
    [
        {"algorithm": "none"},
        {"algorithm": "none", "header": {}},
        {"header": {}},
        {"answers": {"/token": []}},
        {"answers": {"/token": {"access_token": "a"}}},
        {"answers": {"/jwks": {}}},
        {"answers": {"/jwks": [1]}},
        {"answers": {"/who": ["u1"]}},
        *({"answers": {path: b"[" * 200_000}} for path in ("/token", "/jwks", "/who")),
        *({"answers": {path: b"not JSON"}} for path in ("/token", "/jwks", "/who")),
    ],
)
def test_a_malformed_response_of_the_provider_is_rejected(
    client: Client, provider: FakeProvider, changed: dict[str, Any]
) -> None:
    """An unsigned token without the number of a key got 500."""
    for name, value in changed.items():
        setattr(provider, name, value)
    assert sign_on(client, provider)["Location"] == "/login/?refused=single-sign-on"
    assert (logged_in_as(client), User.objects.count()) == ("", 0)


@pytest.mark.parametrize("path", ["/token", "/jwks", "/who"])
def test_of_a_response_of_the_provider_a_megabyte_is_read_at_most(
    client: Client, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """A response of 200 MB took 600 MB of memory."""
    answer = provider.answer
    for size, name in ((single_sign_on.MAX_BYTES + 1, ""), (single_sign_on.MAX_BYTES, "nora")):

        def padded(requested: str, size: int = size) -> Any:
            body = json.dumps(answer(requested)).encode()
            return body.ljust(size) if requested == path else body

        monkeypatch.setattr(provider, "answer", padded)
        response = sign_on(client, provider)
        assert (logged_in_as(client), response["Location"] == "/") == (name, bool(name))


def test_a_token_signed_by_another_key_is_rejected(client: Client, provider: FakeProvider) -> None:
    provider.signs_with = rsa.generate_private_key(65537, 2048)
    sign_on(client, provider)
    assert (logged_in_as(client), User.objects.count()) == ("", 0)


def test_an_unrequested_callback_leads_to_the_login_page(client: Client, provider: FakeProvider) -> None:
    for query in ({"code": "c", "state": "made-up"}, {"error": "access_denied"}, {}):
        response = client.get(reverse("single-sign-on-back"), query)
        assert response["Location"] == "/login/?refused=single-sign-on"
    client.get(reverse("single-sign-on"))
    response = client.get(reverse("single-sign-on-back"), {"code": "c", "state": "made-up"})
    assert response["Location"] == "/login/?refused=single-sign-on"


def test_the_session_of_a_visitor_who_only_begins_ends_soon(
    client: Client, provider: FakeProvider, settings: Any
) -> None:
    """Sessions of strangers were kept for days."""
    client.get(reverse("single-sign-on"))
    assert client.session.get_expiry_age() == single_sign_on.BEGUN_SECONDS
    sign_on(client, provider)
    assert logged_in_as(client) == "nora"
    assert client.session.get_expiry_age() == settings.SESSION_COOKIE_AGE


def test_starts_of_sign_ons_are_limited_by_network(
    client: Client, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each stores a session for ten minutes."""
    monkeypatch.setattr(login_throttle, "SIGN_ONS_PER_NETWORK", 2)
    starts = [client.get(reverse("single-sign-on")) for _ in range(3)]
    assert [start.status_code for start in starts] == [302, 302, 429]
    assert 0 < int(starts[-1]["Retry-After"]) <= 901
    assert client.get(reverse("single-sign-on"), REMOTE_ADDR="192.0.2.9").status_code == 302


def test_of_one_network_one_person_waits_for_a_slow_provider(
    client: Client, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the provider hung, callbacks held all threads of the web server."""
    with monkeypatch.context() as one_waits:
        one_waits.setattr(places.provider, "holders", ["127.0.0.1"])
        one_waits.setattr(places.provider, "wait", 0.01)
        response = sign_on(client, provider)
        assert (response.status_code, response["Retry-After"]) == (429, "5")
        assert provider.requests == []
    again = client.get(response.wsgi_request.get_full_path())  # the page, loaded again
    assert (again.status_code, logged_in_as(client)) == (302, "nora")


def test_a_new_identity_is_rejected_where_it_needs_an_invitation(
    client: Client, provider: FakeProvider, settings: Any
) -> None:
    settings.OIDC_OPENS_ACCOUNTS = False
    assert sign_on(client, provider).status_code == 403
    assert User.objects.count() == 0


def test_a_new_identity_is_admitted_by_its_invitation(
    client: Client, provider: FakeProvider, settings: Any
) -> None:
    settings.OIDC_OPENS_ACCOUNTS = False
    kim = User.objects.create_user("kim")
    team = teams.create_team(name="Kelpie", by=kim)
    _, secret = invitations.invite(teams.INVITATION_TARGET, team, role="member", by=kim)
    address, join = reverse("join", args=[secret]), reverse("join-by-provider", args=[secret])
    assert join in client.get(address).content.decode()
    assert client.get(join).status_code == 405
    assert reverse("single-sign-on") in client.post(join).content.decode()
    assert sign_on(client, provider, to=address)["Location"] == reverse("team", args=["kelpie"])
    assert teams.role_in(team, User.objects.get(username="nora")) == "member"


@pytest.mark.parametrize("begun", ["opened", "left", "cancelled", "before an upgrade"])
def test_a_link_that_was_opened_or_left_makes_nobody_a_member(
    client: Client, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch, begun: str
) -> None:
    kim = User.objects.create_user("kim")
    team = teams.create_team(name="Kelpie", by=kim)
    _, secret = invitations.invite(teams.INVITATION_TARGET, team, role="member", by=kim)
    if begun == "opened":
        client.get(reverse("join", args=[secret]))
    elif begun == "before an upgrade":
        session = client.session
        session.update({"invitation": secret, "connecting": kim.pk})
        session.save()
    else:
        client.post(reverse("join-by-provider", args=[secret]))
    if begun == "left":
        monkeypatch.setattr(single_sign_on, "BEGUN_SECONDS", 0)
    if begun == "cancelled":
        client.get(reverse("join", args=[secret]))
    sign_on(client, provider, to=reverse("join", args=[secret]))
    assert logged_in_as(client) == "nora"
    assert team.members.count() == 1


@pytest.mark.parametrize(
    ("claims", "stored"),
    [
        ({"preferred_username": "ｋｉｍ"}, ("kim2", "nora@example.org", "")),
        ({"preferred_username": "k\u0456m"}, ("km", "nora@example.org", "")),
        ({"preferred_username": "\u0456.ki\u1160m"}, ("\u0456.kim", "nora@example.org", "")),
        ({"preferred_username": "\u3164"}, ("person", "nora@example.org", "")),
        ({"given_name": None, "email": ["x"]}, ("nora", "", "")),
        ({"given_name": "a\0b", "email": "<b>hey</b>"}, ("nora", "", "")),
        ({"given_name": 7, "preferred_username": "ﷺ" * 140}, (None, "nora@example.org", "")),
    ],
)
def test_claims_of_the_provider_are_taken_as_the_sign_up_form_would(
    client: Client, provider: FakeProvider, claims: dict[str, Any], stored: tuple[str | None, str, str]
) -> None:
    User.objects.create_user("kim")
    provider.claims |= {"preferred_username": "nora", "email": "nora@example.org", "given_name": ""} | claims
    sign_on(client, provider)
    user = User.objects.get(username=logged_in_as(client))
    assert len(user.username) <= 150
    assert (user.username if stored[0] else None, user.email, user.first_name) == stored


def test_two_who_sign_on_at_once_get_accounts_of_their_own(
    client: Client, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both looked for the name, and the second one got 500."""
    User.objects.create_user("nora")
    names = iter(["nora", "nora2"])
    monkeypatch.setattr(single_sign_on, "free_name", lambda claims: next(names))
    sign_on(client, provider)
    assert logged_in_as(client) == "nora2"


def test_a_tab_whose_session_another_has_renewed_is_sent_on(
    client: Client, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    def renewed(*_: Any, must_create: bool = False) -> None:
        raise UpdateError

    redirect = client.get(reverse("single-sign-on"))
    state = parse_qs(urlsplit(redirect["Location"]).query)["state"][0]
    monkeypatch.setattr(SessionStore, "save", renewed)
    response = client.get(reverse("single-sign-on-back"), {"code": "c", "state": state})
    assert (response.status_code, response["Location"]) == (302, "/")
    assert not response.cookies  # of the session that the other tab began


@pytest.mark.parametrize("subject", ["s" * 256, "a\0b", 5])
def test_a_subject_that_cannot_be_stored_is_rejected(
    client: Client, provider: FakeProvider, subject: Any
) -> None:
    provider.claims["sub"] = subject
    assert sign_on(client, provider)["Location"] == "/login/?refused=single-sign-on"
    assert not User.objects.exists()


def test_an_account_is_connected_only_at_the_users_request(client: Client, provider: FakeProvider) -> None:
    kim = User.objects.create_user("kim", password=PASSWORD)
    client.force_login(kim)
    assert client.get(reverse("account-connect")).status_code == 405
    client.post(reverse("account-connect"), {"password": PASSWORD})
    sign_on(client, provider)
    assert Identity.objects.get().user == kim
    fresh = Client()
    sign_on(fresh, provider)
    assert logged_in_as(fresh) == "kim"


@pytest.mark.parametrize("sent", [{}, {"password": "wrong"}])
def test_an_identity_is_connected_with_the_password_alone(
    client: Client, provider: FakeProvider, sent: dict[str, str]
) -> None:
    """A session that somebody else has would outlive itself, and a new password, by an identity."""
    kim = User.objects.create_user("kim", password=PASSWORD)
    client.force_login(kim)
    page = client.get(reverse("account")).content.decode()
    asking = re.findall(rf'<form[^>]*action="{reverse("account-connect")}".*?</form>', page, re.DOTALL)[0]
    assert 'name="password"' in asking
    response = client.post(reverse("account-connect"), sent)
    assert (response.status_code, list(response.context["form"].errors)) == (400, ["password"])
    assert reverse("single-sign-on") not in response.content.decode()
    sign_on(client, provider)
    assert Identity.objects.get().user != kim


def test_no_identity_is_connected_by_a_request_from_before_all_access_ended(
    client: Client, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.force_login(User.objects.create_user("kim", password=PASSWORD))
    client.post(reverse("account-connect"), {"password": PASSWORD})
    lock = sessions.lock_active

    def late(user: User) -> None:
        users.end_all_access()
        lock(user)

    monkeypatch.setattr(sessions, "lock_active", late)
    assert sign_on(client, provider).status_code == 403
    assert not Identity.objects.exists()


def test_an_account_without_a_password_connects_a_second_identity(
    client: Client, provider: FakeProvider
) -> None:
    sign_on(client, provider)
    provider.claims = {"sub": "u2"}
    assert reverse("single-sign-on") in client.post(reverse("account-connect")).content.decode()
    sign_on(client, provider)
    assert User.objects.get().identities.count() == 2


@pytest.mark.parametrize("name", ["kim", "pay-now.at.evil.example"])
def test_the_owner_is_mailed_about_a_new_identity(
    client: Client,
    provider: FakeProvider,
    django_capture_on_commit_callbacks: Any,
    settings: Any,
    name: str,
) -> None:
    settings.CSRF_TRUSTED_ORIGINS = ["https://evs.test"]
    kim = User.objects.create_user(name, password=PASSWORD, email="kim@example.org")
    client.force_login(kim)
    for n in range(5):
        provider.claims["sub"] = f"u{n}"
        client.post(reverse("account-connect"), {"password": PASSWORD})
        with django_capture_on_commit_callbacks(execute=True):
            sign_on(client, provider)
    assert kim.identities.count() == 5
    assert len(mail.outbox) == login_throttle.MAILS_PER_ADDRESS
    message = mail.outbox[0]
    assert (message.to, message.subject) == (["kim@example.org"], "New way to log in to evs.test")
    text = str(message.body)
    assert "https://evs.test/account/#sso" in text
    assert ("the account kim" in text, "your account" in text) == (name == "kim", name != "kim")
    settings.EMAIL_BACKEND = outgoing_mail.CONSOLE_BACKEND
    Identity.objects.all().delete()
    login_throttle.PasswordTry.objects.all().delete()
    client.post(reverse("account-connect"), {"password": PASSWORD})
    with django_capture_on_commit_callbacks(execute=True):
        sign_on(client, provider)
    assert len(mail.outbox) == login_throttle.MAILS_PER_ADDRESS


def test_a_connection_that_was_left_takes_no_later_identity(
    client: Client, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    kim = User.objects.create_user("kim", password=PASSWORD)
    client.force_login(kim)
    client.post(reverse("account-connect"), {"password": PASSWORD})
    monkeypatch.setattr(single_sign_on, "BEGUN_SECONDS", 0)
    sign_on(client, provider)
    assert Identity.objects.get().user != kim


def test_an_identity_of_another_account_cannot_be_connected(client: Client, provider: FakeProvider) -> None:
    Identity.objects.create(user=User.objects.create_user("nora"), issuer=ISSUER, subject="u1")
    client.force_login(User.objects.create_user("kim", password=PASSWORD))
    client.post(reverse("account-connect"), {"password": PASSWORD})
    assert sign_on(client, provider).status_code == 409
    assert logged_in_as(client) == "kim"


def test_the_first_identity_of_an_account_without_a_password_cannot_be_disconnected(
    client: Client, provider: FakeProvider
) -> None:
    sign_on(client, provider)
    address = reverse("account-disconnect", args=[Identity.objects.get().pk])
    assert address not in client.get(reverse("account")).content.decode()
    assert client.post(address).status_code == 409
    nora = User.objects.get()
    later = Identity.objects.create(user=nora, issuer=ISSUER, subject="of somebody else")
    assert client.post(address).status_code == 409  # their session could take the account
    assert client.post(reverse("account-disconnect", args=[later.pk])).status_code == 302
    nora.set_password("seven-lamps-at-sea")
    nora.save()
    client.force_login(nora)
    assert address in client.get(reverse("account")).content.decode()
    assert client.post(address).status_code == 302
    assert not Identity.objects.exists()


def test_a_deactivated_account_cannot_sign_on(client: Client, provider: FakeProvider) -> None:
    sign_on(client, provider)
    User.objects.update(is_active=False)
    fresh = Client()
    sign_on(fresh, provider)
    assert logged_in_as(fresh) == ""


def test_passwords_still_work(client: Client, provider: FakeProvider) -> None:
    User.objects.create_user("kim", password="harbour-lamp-7")
    client.post(reverse("login"), {"username": "kim", "password": "harbour-lamp-7"})
    assert logged_in_as(client) == "kim"
    assert reverse("single-sign-on") in Client().get(reverse("login")).content.decode()


# ---- switched on and off ---------------------------------------------------------------------------
def test_without_configuration_it_has_no_url_and_no_link(client: Client, db: None) -> None:
    with pytest.raises(NoReverseMatch):
        reverse("single-sign-on")
    assert client.get("/single-sign-on/").status_code == 404
    assert "single-sign-on" not in client.get(reverse("login")).content.decode()


ENDPOINTS = {
    f"OIDC_{name}": f"{ISSUER}/{name.lower()}"
    for name in ("AUTHORIZATION_URL", "TOKEN_URL", "USERINFO_URL", "JWKS_URL")
}
COMPLETE = ENDPOINTS | {"OIDC_CLIENT_ID": CLIENT, "OIDC_CLIENT_SECRET": "secret", "OIDC_ISSUER": ISSUER}
SCRIPT = (
    "import evalsvc.wsgi; from evalsvc.serving import gunicorn_settings; gunicorn_settings.when_ready(None); "
    "from django.urls import reverse; print(reverse('single-sign-on'))"
)  # as the web server loads the views


def test_environment_variables_enable_it(tmp_path: Path) -> None:
    env = {"PATH": os.environ["PATH"], "EVALSVC_DATA": str(tmp_path)} | COMPLETE
    command = [sys.executable, "-c", SCRIPT]
    run = subprocess.run(command, env=env, cwd=project.BASE_DIR, capture_output=True, text=True, check=False)
    assert run.stdout.strip() == "/single-sign-on/", run.stderr[-2000:]


@pytest.mark.parametrize("missing", ["OIDC_CLIENT_SECRET", "OIDC_ISSUER", "OIDC_JWKS_URL"])
def test_a_missing_variable_stops_the_start_and_is_named(tmp_path: Path, missing: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=f"{missing} is not"):
        settings_with(tmp_path, **{name: value for name, value in COMPLETE.items() if name != missing})
