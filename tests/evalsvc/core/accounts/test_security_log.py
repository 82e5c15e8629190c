"""Log-ins, tokens, passwords and rights are lines of the log, without secrets."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory
from django.urls import reverse

from annotation.models import Project
from annotation.projects import set_member
from evalsvc.core.accounts import invitations, security_log, teams, tokens, users
from evalsvc.core.accounts.models import User
from evalsvc.core.accounts.sessions import RejectionLogMiddleware
from evalsvc.logs import logging_config, without_secrets

PASSWORD, NEW = "harbour-lamp-7", "seven-lamps-at-sea"
Lines = Callable[[Callable[[], Any]], list[str]]


@pytest.fixture
def kim(db: None) -> User:
    return User.objects.create_user("kim", password=PASSWORD)


@pytest.fixture
def root(db: None) -> User:
    return User.objects.create_superuser("root")


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture, django_capture_on_commit_callbacks: Any) -> Lines:
    """Run a function; return the security lines that it logs."""
    caplog.set_level(logging.INFO, "evalsvc.security")

    def run(action: Callable[[], Any]) -> list[str]:
        with django_capture_on_commit_callbacks(execute=True):
            action()
        logged = [record.getMessage() for record in caplog.records if record.name == "evalsvc.security"]
        caplog.clear()
        return logged

    return run


def test_logging_in_and_out_is_logged_with_the_account_and_network(
    client: Client, kim: User, lines: Lines
) -> None:
    def log_in(name: str, password: str) -> list[str]:
        return lines(lambda: client.post(reverse("login"), {"username": name, "password": password}))

    who = f"account={kim.pk}:kim"
    assert log_in("kim", PASSWORD) == [f"logged_in {who} by=password network=127.0.0.1"]
    assert lines(lambda: client.post(reverse("logout"))) == [f"logged_out {who} network=127.0.0.1"]
    assert log_in("kim", "sesame") == [f"login_failed {who} network=127.0.0.1"]
    assert log_in(PASSWORD, "kim") == ["login_failed account=unknown network=127.0.0.1"]


def test_a_session_at_the_end_of_its_lifetime_is_logged(client: Client, kim: User, lines: Lines) -> None:
    client.force_login(kim)
    session = client.session
    session["began"] -= 2_000 * 3_600
    session.save()
    assert lines(lambda: client.get("/"))[0] == f"session_ended account={kim.pk}:kim network=127.0.0.1"


def test_a_new_password_is_logged_without_it(client: Client, kim: User, lines: Lines) -> None:
    client.force_login(kim)
    form = {"change": "password", "old_password": PASSWORD, "new_password1": NEW, "new_password2": NEW}
    assert lines(lambda: client.post(reverse("account"), form)) == [f"password_set account={kim.pk}:kim"]


def test_another_address_of_an_account_is_logged_without_it(client: Client, kim: User, lines: Lines) -> None:
    client.force_login(kim)
    form = {"change": "person", "first_name": "Kim", "last_name": "", "email": "kim@example.org"}
    who = f"{kim.pk}:kim"
    changed = lines(lambda: client.post(reverse("account"), form | {"password": PASSWORD}))
    assert changed == [f"email_changed account={who} by={who}"]
    assert lines(lambda: client.post(reverse("account"), form | {"first_name": "Kit"})) == []


def test_tokens_are_logged_by_their_number(kim: User, lines: Lines) -> None:
    made: list[Any] = []
    (line,) = lines(lambda: made.extend(tokens.issue(kim, name="cluster\n2")))
    token, secret = made
    assert line == f"token_made account={kim.pk}:kim token_id={token.pk} scope=submit"
    (line,) = lines(lambda: tokens.revoke(token, by=kim))
    assert line == f"token_revoked account={kim.pk}:kim token_id={token.pk} by={kim.pk}:kim"
    assert secret[4:12] not in line


@pytest.mark.parametrize(
    ("change", "event"),
    [
        (lambda kim, root: users.set_organiser(kim, may=True, by=root), "organising_allowed"),
        (lambda kim, root: users.set_active(kim, active=False, by=root), "account_deactivated"),
        (lambda kim, root: teams.create_team(name="Kelpie", by=kim), "role_set"),
        (
            lambda kim, root: teams.add_member(
                teams.create_team(name="Kelpie", by=root), user=kim, by=root, role="member"
            ),
            "role_set",
        ),
        (
            lambda kim, root: set_member(
                Project.objects.create(slug="tides", title="Tides", created_by=root),
                user=kim,
                role="curator",
                by=root,
            ),
            "role_set",
        ),
    ],
)
def test_a_change_of_rights_is_logged(
    kim: User, root: User, lines: Lines, change: Callable[[User, User], Any], event: str
) -> None:
    logged = lines(lambda: change(kim, root))[-1]
    assert logged.startswith(f"{event} ")
    assert "kim" in logged
    assert f"by={root.pk}:root" in logged or f"by={kim.pk}:kim" in logged


def test_invitations_are_logged_without_their_secret(kim: User, root: User, lines: Lines) -> None:
    made: list[Any] = []

    def invite() -> None:
        made.extend(
            invitations.invite(users.INVITATION_TARGET, users.Installation(), role="organiser", by=root)
        )

    logged = lines(invite) + lines(lambda: invitations.accept(made[1], user=kim))
    assert [line.partition(" ")[0] for line in logged] == [
        "invitation_made", "organising_allowed", "invitation_accepted",
    ]  # fmt: skip
    assert made[1] not in "".join(logged)


def test_the_end_of_all_access_is_logged_with_counts_that_are_not_masked(kim: User, lines: Lines) -> None:
    tokens.issue(kim, name="laptop")
    (line,) = lines(users.end_all_access)
    assert without_secrets(line) == "access_ended revoked=1 invitations=0 sessions=0"


def test_too_many_requests_are_logged(client: Client, kim: User, lines: Lines) -> None:
    def rejected(request: HttpRequest) -> HttpResponse:
        request.user = kim
        return HttpResponse(status=429)

    middleware = RejectionLogMiddleware(rejected)
    (line,) = lines(lambda: middleware(RequestFactory().get("/login/")))
    assert line.startswith(f"request_rejected account={kim.pk}:kim status=429 method=GET path=/login/")


@pytest.mark.parametrize(
    ("address", "headers", "line"),
    [
        ("/people/", {}, "request_rejected account={kim} status=403 method=GET path=/people/"),
        (
            "/api/v1/projects",
            {"Authorization": "Bearer evs_sesame"},
            "request_rejected account=none status=401 method=GET path=/api/v1/projects",
        ),
    ],
)
def test_what_an_account_may_not_do_is_logged(
    client: Client, kim: User, lines: Lines, address: str, headers: dict[str, str], line: str
) -> None:
    client.force_login(kim)
    logged = lines(lambda: client.get(address, headers=headers))
    assert logged == [line.format(kim=f"{kim.pk}:kim") + " network=127.0.0.1"]


def test_a_request_of_the_api_over_plain_http_is_logged(
    client: Client, db: None, lines: Lines, settings: Any
) -> None:
    settings.SECURE_SSL_REDIRECT = True
    (line,) = lines(lambda: client.get("/api/v1/projects"))
    assert line.startswith("request_rejected account=none status=403 method=GET path=/api/v1/projects")


def test_a_text_of_others_stays_within_its_field(lines: Lines, db: None) -> None:
    (line,) = lines(
        lambda: security_log.write("request_rejected", path="/x\nlogged_in account=1:root", by=None)
    )
    assert re.fullmatch(r'request_rejected path="[^"]*"', line)
    assert "\n" not in line


def test_security_events_are_logged_at_every_level() -> None:
    assert logging_config("ERROR")["loggers"]["evalsvc.security"]["level"] == "INFO"
