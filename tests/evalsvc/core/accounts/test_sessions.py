"""Sessions end after a time without requests, and a time after the log-in."""

from __future__ import annotations

import time
from datetime import timedelta
from threading import Barrier
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from evalsvc.core import database
from evalsvc.core.accounts import invitations, teams, tokens, users
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import NotAllowed
from tests.places.postgres import in_threads

HOUR = 3_600


@pytest.fixture
def browser(client: Client, db: None) -> Client:
    client.force_login(User.objects.create_user("kim"))
    return client


def shift(browser: Client, *, hours: int, names: tuple[str, ...] = ("began", "seen")) -> None:
    """Move the session into the past."""
    session = browser.session
    for name in names:
        session[name] -= hours * HOUR
    session.save()


def is_logged_in(browser: Client) -> bool:
    return browser.get(reverse("account")).status_code == 200


@pytest.mark.parametrize(("hours", "left"), [(335, True), (336, False)])
def test_a_session_ends_a_set_time_after_the_log_in_however_it_is_used(
    browser: Client, hours: int, left: bool
) -> None:
    shift(browser, hours=hours, names=("began",))
    key = browser.session.session_key
    assert is_logged_in(browser) is left
    assert Session.objects.filter(session_key=key).exists() is left


def test_a_session_in_use_is_stored_again_at_times_and_an_idle_one_ends(
    browser: Client, settings: Any
) -> None:
    def ends() -> Any:
        return Session.objects.get(session_key=browser.session.session_key).expire_date

    before = ends()
    assert before - timezone.now() <= timedelta(hours=72)
    assert is_logged_in(browser)
    assert ends() == before  # no write for each request
    shift(browser, hours=7)
    before = ends()
    assert is_logged_in(browser)
    assert ends() > before
    Session.objects.update(expire_date=timezone.now())
    assert not is_logged_in(browser)


@pytest.mark.parametrize(("password", "left"), [("harbour-lamp-7", False), ("wrong", True)])
def test_a_person_ends_all_other_sessions_with_the_password(
    browser: Client, password: str, left: bool
) -> None:
    kim = User.objects.get(username="kim")
    kim.set_password("harbour-lamp-7")
    kim.save()
    other, mine, of_others = Client(), browser, Client()
    for client in (other, mine):
        client.force_login(kim)
    of_others.force_login(User.objects.create_user("lars"))
    answer = mine.post(reverse("account"), {"change": "sessions", "password": password})
    assert answer.status_code == (400 if left else 302)
    assert (is_logged_in(other), is_logged_in(mine), is_logged_in(of_others)) == (left, True, True)


def test_without_a_password_a_person_ends_other_sessions_by_the_button_alone(browser: Client) -> None:
    kim, other = User.objects.get(username="kim"), Client()
    other.force_login(kim)
    assert browser.post(reverse("account"), {"change": "sessions"}).status_code == 302
    assert (is_logged_in(other), is_logged_in(browser)) == (False, True)


def test_ending_other_sessions_ends_copies_of_the_own_one(browser: Client) -> None:
    """A cookie that somebody had copied from this browser went on opening the account."""
    copy = Client()
    copy.cookies.load(browser.cookies.output(header=""))
    assert is_logged_in(copy)
    began = browser.session["began"]
    assert browser.post(reverse("account"), {"change": "sessions"}).status_code == 302
    assert (is_logged_in(copy), is_logged_in(browser)) == (False, True)
    assert browser.session["began"] == began


def test_the_ways_in_of_a_deactivated_account_do_not_come_back_with_it(browser: Client) -> None:
    kim, root = User.objects.get(username="kim"), User.objects.create_superuser("root")
    _, token = tokens.issue(kim, name="laptop")
    team = teams.create_team(name="Kelpie", by=kim)
    invitations.invite(teams.INVITATION_TARGET, team, role="member", by=kim)
    for active in (False, True):
        users.set_active(kim, active=active, by=root)
    assert not is_logged_in(browser)
    assert tokens.find(token) is None
    assert not invitations.usable().exists()


def test_no_way_in_is_made_while_an_account_is_being_deactivated(browser: Client) -> None:
    """A log-in, or the form of a token, may have read the account before."""
    kim, root = User.objects.get(username="kim"), User.objects.create_superuser("root")
    team = teams.create_team(name="Kelpie", by=kim)
    users.set_active(kim, active=False, by=root)
    browser.force_login(kim)  # with what was read before
    with pytest.raises(NotAllowed):
        tokens.issue(kim, name="laptop")
    with pytest.raises(NotAllowed):
        invitations.invite(teams.INVITATION_TARGET, team, role="member", by=kim)
    users.set_active(kim, active=True, by=root)
    assert not is_logged_in(browser)
    browser.force_login(User.objects.get(pk=kim.pk))
    users.set_active(kim, active=True, by=root)  # changes nothing
    assert is_logged_in(browser)


def test_no_way_in_is_made_by_a_request_from_before_all_access_ended(browser: Client) -> None:
    """It may have found its session or token valid just before."""
    kim = User.objects.get(username="kim")
    team = teams.create_team(name="Kelpie", by=kim)
    users.end_all_access()
    browser.force_login(kim)  # with what was read before
    assert not is_logged_in(browser)
    with pytest.raises(NotAllowed):
        tokens.issue(kim, name="laptop")
    with pytest.raises(NotAllowed):
        invitations.invite(teams.INVITATION_TARGET, team, role="member", by=kim)
    with pytest.raises(NotAllowed):
        users.set_person(kim, email="kim@elsewhere.example")
    kim.refresh_from_db()
    assert kim.email == ""
    assert tokens.issue(kim, name="laptop")


def test_a_token_that_ends_while_it_is_looked_up_opens_nothing(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its owner was read after it, as the account is now: the token would act for a request of today."""
    _, secret = tokens.issue(User.objects.create_user("kim"), name="laptop")
    first, ending = database.first, iter([users.end_all_access])

    def slowly(*words: Any, **values: Any) -> Any:
        row = first(*words, **values)
        next(ending, lambda: None)()
        return row

    monkeypatch.setattr(database, "first", slowly)
    assert tokens.find(secret) is None


@pytest.mark.postgres
def test_of_the_tokens_that_are_made_while_all_access_ends_none_is_left(
    postgres: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One request has locked its account and is waited for; the other comes after the end."""
    kim = User.objects.create_user("kim")
    made, both = tokens.ApiToken.objects.create, Barrier(2)

    def late(**values: Any) -> Any:
        both.wait(60)
        time.sleep(0.3)  # the other waits for the account meanwhile
        return made(**values)

    def act(at: int) -> bool:
        if at == 0:
            return bool(tokens.issue(kim, name="laptop"))
        both.wait(60)
        users.end_all_access()
        with pytest.raises(NotAllowed):
            tokens.issue(kim, name="laptop")
        return True

    monkeypatch.setattr(tokens.ApiToken.objects, "create", late)
    assert in_threads(2, act) == [True, True]
    assert tokens.ApiToken.objects.count() == 1
    assert not tokens.ApiToken.objects.filter(revoked_at=None).exists()


def test_a_session_from_before_there_were_lifetimes_gets_one(browser: Client) -> None:
    session = browser.session
    del session["began"], session["seen"]
    session.save()
    assert is_logged_in(browser)
    assert browser.session["began"]
