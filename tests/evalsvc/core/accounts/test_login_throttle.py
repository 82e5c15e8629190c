"""Limits on password attempts and reset mails, also under parallel requests."""

from __future__ import annotations

import re
import threading
import time
from datetime import timedelta
from threading import Thread
from typing import Any

import pytest
from django.core import mail
from django.db import connection
from django.db.models import F
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from evalsvc.core.accounts import invitations, login_throttle, passwords, teams
from evalsvc.core.accounts.models import PasswordTry, User
from evalsvc.core.errors.exceptions import QuotaExceeded
from evalsvc.core.web import places

RIGHT = "harbour-lamp-7"


@pytest.fixture
def kim(db: None, settings: Any) -> User:
    settings.PASSWORD_TRIES = 3
    return User.objects.create_user("kim", password=RIGHT, email="kim@example.org")


def attempt(client: Client, password: str, *, name: str = "kim", address: str = "192.0.2.1") -> int:
    form = {"username": name, "password": password}
    return client.post(reverse("login"), form, REMOTE_ADDR=address).status_code


def test_beyond_the_limit_the_password_is_not_checked(client: Client, kim: User) -> None:
    assert [attempt(client, "wrong") for _ in range(3)] == [400, 400, 400]
    response = client.post(reverse("login"), {"username": "kim", "password": RIGHT}, REMOTE_ADDR="192.0.2.1")
    assert response.status_code == 429
    assert 0 < int(response["Retry-After"]) <= 901
    assert "too_many_tries" in response.content.decode()
    assert "_auth_user_id" not in client.session


def test_a_guesser_does_not_lock_out_the_user_on_another_network(client: Client, kim: User) -> None:
    for _ in range(4):
        attempt(client, "wrong")
    assert attempt(client, RIGHT, address="192.0.2.2") == 302


def locked_out(client: Client) -> None:
    """Use up the attempts of all networks on the name."""
    for n in range(16):
        attempt(client, "wrong", address=f"192.0.2.{n}")
    assert attempt(client, RIGHT, address="198.51.100.1") == 429


@pytest.mark.parametrize("name", ["kim", "{pk} logged in", "question {pk}", "question {session}"])
def test_a_guesser_keeps_nobody_who_is_logged_in_from_confirming(
    client: Client, kim: User, name: str
) -> None:
    client.force_login(kim)
    name = name.format(pk=kim.pk, session=client.session.session_key)
    statuses = [attempt(Client(), "wrong", name=name, address=f"192.0.2.{n}") for n in range(16)]
    assert statuses == [400] * 15 + [429]
    assert confirm(client, RIGHT) == 302
    assert [confirm(client, "wrong") for _ in range(4)] == [400, 400, 400, 429]


def confirm(client: Client, password: str, *, address: str = "127.0.0.1") -> int:
    """Answer a question for the password of somebody who is logged in."""
    form = {"name": "laptop", "scope": "read", "days": "30", "team": "", "password": password}
    return client.post(reverse("account-token-new"), form, REMOTE_ADDR=address).status_code


def test_whoever_uses_a_session_of_somebody_else_tries_few_passwords_and_locks_no_other_session(
    client: Client, kim: User
) -> None:
    """The questions of all sessions counted together: a thief kept the owner from ending theirs."""
    thief, owner = Client(), client
    for browser in (thief, owner):
        browser.force_login(kim)
    statuses = [confirm(thief, "wrong", address=f"192.0.2.{n}") for n in range(8)]
    assert statuses == [400] * 3 + [429] * 5
    assert owner.post(reverse("account"), {"change": "sessions", "password": RIGHT}).status_code == 302
    assert confirm(thief, RIGHT) == 302
    assert thief.get(reverse("account")).status_code == 302


def test_a_new_log_in_and_a_new_password_end_the_wait_of_a_session(client: Client, kim: User) -> None:
    client.force_login(kim)
    assert [confirm(client, "wrong") for _ in range(4)] == [400, 400, 400, 429]
    client.logout()
    assert attempt(client, RIGHT) == 302
    assert confirm(client, RIGHT) == 302
    new = "seven-lamps-at-sea"
    form = {"change": "password", "old_password": RIGHT, "new_password1": new, "new_password2": new}
    assert [confirm(client, "wrong") for _ in range(2)] == [400, 400]
    assert client.post(reverse("account"), form).status_code == 302
    assert [confirm(client, "wrong") for _ in range(2)] == [400, 400]


def test_wrong_answers_of_others_in_a_network_lock_no_questions_there(client: Client, kim: User) -> None:
    other, lu = Client(), User.objects.create_user("lu", password=RIGHT)
    for _ in range(11):
        other.force_login(lu)
        assert [confirm(other, "wrong") for _ in range(3)] == [400] * 3
        other.logout()
    client.force_login(kim)
    assert confirm(client, RIGHT) == 302


def test_a_reset_ends_the_wait_of_a_name_that_others_tried(client: Client, kim: User) -> None:
    locked_out(client)
    client.post(reverse("password-reset"), {"email": kim.email})
    [link] = re.findall(r"http://testserver(/password/\S+)", str(mail.outbox[0].body))
    form = client.get(link, follow=True).redirect_chain[0][0]
    new = "seven-lamps-at-sea"
    assert client.post(form, {"new_password1": new, "new_password2": new}).status_code == 302
    assert attempt(client, new, address="198.51.100.1") == 302


def test_a_reset_is_mailed_to_the_oldest_accounts_with_the_address(client: Client, kim: User) -> None:
    """Anybody can make accounts with the address of somebody else."""
    for n in range(5):
        User.objects.create_user(f"later{n}", password=RIGHT, email=kim.email)
    client.post(reverse("password-reset"), {"email": kim.email})
    assert len(mail.outbox) == login_throttle.MAILS_PER_ADDRESS
    assert "kim" in mail.outbox[0].subject


def test_a_reset_with_a_user_name_is_mailed_to_this_account_alone_whatever_others_request(
    client: Client, kim: User
) -> None:
    """Three older accounts that took an address kept its owner from a reset for good."""
    later = User.objects.create_user("later", password=RIGHT, email="mia@example.org")
    User.objects.create_user("latest", password=RIGHT, email=later.email)
    older = [kim, *(User.objects.create_user(f"n{n}", password=RIGHT) for n in range(2))]
    User.objects.filter(pk__in=[user.pk for user in older]).update(email=later.email)
    statuses = [request_mail(Client(), later.email, address=f"192.0.2.{n}") for n in range(4)]
    assert statuses == [302, 302, 302, 429]
    statuses = [request_mail(Client(), later.email, name="Later") for _ in range(4)]
    assert statuses == [302, 302, 302, 429]
    mail.outbox.clear()
    assert request_mail(client, "MIA@example.org", name="\uff4cater ") == 302
    [message] = mail.outbox
    assert "for later " in message.subject
    assert message.to == [later.email]


def test_other_cases_of_a_name_log_nobody_in_and_take_no_attempts_from_it(
    either_database: str, settings: Any
) -> None:
    settings.PASSWORD_TRIES = 3
    User.objects.create_user("kim", password=RIGHT)
    assert [attempt(Client(), RIGHT, name=name) for name in ("KIM", "Kim", "kIm")] == [400] * 3
    wide = "\uff4b\uff49\uff4d"
    names = ["kim", f" {wide} ", wide, "kim", "KIM"]
    assert [attempt(Client(), "wrong", name=name) for name in names] == [400, 400, 400, 429, 400]


def test_a_right_log_in_clears_no_attempts_on_a_name_that_differs_in_case_alone(
    client: Client, kim: User
) -> None:
    """Such names are left from before: the owner of one guessed the password of the other without end."""
    other = User.objects.create_user("Other", password=RIGHT)
    User.objects.filter(pk=other.pk).update(username="Kim", folded_username=None)
    statuses = []
    for _ in range(2):
        statuses += [attempt(client, "wrong") for _ in range(2)]
        assert attempt(Client(), RIGHT, name="Kim") == 302
    assert statuses == [400, 400, 400, 429]


def test_known_and_unknown_names_are_counted_alike(kim: User) -> None:
    def statements_and_statuses(name: str) -> list[tuple[int, int]]:
        seen = []
        for _ in range(4):
            with CaptureQueriesContext(connection) as queries:
                status = attempt(Client(), "wrong", name=name, address=f"192.0.2.{len(name)}")
            seen.append((len(queries), status))
        return seen

    known, unknown = map(statements_and_statuses, ("kim", "nobody"))
    assert known == unknown
    assert [status for _, status in known] == [400, 400, 400, 429]


def test_the_right_password_resets_the_count(client: Client, kim: User) -> None:
    assert [attempt(client, password) for password in ("wrong", "wrong", RIGHT, "wrong", "wrong")] == [
        400,
        400,
        302,
        400,
        400,
    ]


def test_attempts_during_the_wait_do_not_lengthen_it(client: Client, kim: User) -> None:
    assert [attempt(client, "wrong") for _ in range(6)] == [400] * 3 + [429] * 3
    assert PasswordTry.objects.count() == 3
    PasswordTry.objects.update(at=F("at") - timedelta(minutes=15))
    assert attempt(client, RIGHT) == 302


def test_one_name_from_many_networks_is_limited_to_five_times_the_limit(client: Client, kim: User) -> None:
    answers = [attempt(client, "wrong", address=f"192.0.2.{n}") for n in range(1, 17)]
    assert answers == [400] * 15 + [429]


def test_one_network_is_limited_to_ten_times_the_limit(client: Client, kim: User) -> None:
    assert [attempt(client, "wrong", name=f"n{n}") for n in range(31)] == [400] * 30 + [429]
    assert attempt(client, RIGHT) == 429


def test_addresses_of_one_ipv6_prefix_are_one_network(client: Client, kim: User) -> None:
    answers = [attempt(client, "wrong", address=f"2001:db8:0:1::{n}") for n in range(1, 5)]
    assert answers == [400, 400, 400, 429]


def test_ipv4_addresses_written_as_ipv6_ones_are_networks_of_their_own(client: Client, kim: User) -> None:
    answers = [attempt(client, "wrong", address=f"::ffff:192.0.2.{n}") for n in (1, 1, 1, 1, 2)]
    assert answers == [400, 400, 400, 429, 400]
    assert attempt(client, "wrong", address="192.0.2.1") == 429


@pytest.mark.parametrize(
    ("proxies", "network"), [(0, "10.0.0.1"), (1, "198.51.100.7"), (2, "203.0.113.9"), (3, "10.0.0.1")]
)
def test_forwarded_addresses_count_only_behind_trusted_proxies(
    settings: Any, proxies: int, network: str
) -> None:
    settings.TRUSTED_PROXIES = proxies
    headers = {"HTTP_X_FORWARDED_FOR": "203.0.113.9, 198.51.100.7", "REMOTE_ADDR": "10.0.0.1"}
    assert login_throttle.network_of(RequestFactory().get("/", **headers)) == network


def test_neither_name_nor_address_is_stored(client: Client, kim: User) -> None:
    attempt(client, "wrong", name="my-secret-typed-here")
    stored = str(list(PasswordTry.objects.values()))
    assert "my-secret" not in stored
    assert "192.0.2" not in stored


def test_old_attempts_are_deleted(client: Client, kim: User) -> None:
    attempt(client, "wrong")
    PasswordTry.objects.update(at=F("at") - timedelta(hours=2))
    attempt(client, "wrong")
    assert PasswordTry.objects.count() == 1


def test_few_passwords_are_hashed_at_once_and_others_are_told_to_wait_without_counting(
    client: Client, kim: User, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hash takes most of a second: attempts within all limits occupied every thread."""
    settings.PASSWORD_HASHERS = ["evalsvc.core.accounts.passwords.Hasher"]
    monkeypatch.setattr(passwords.Hasher, "iterations", 1)
    with monkeypatch.context() as all_places_taken:
        all_places_taken.setattr(places.passwords, "holders", ["192.0.2.9"])
        all_places_taken.setattr(places.passwords, "wait", 0.01)
        response = client.post(reverse("login"), {"username": "kim", "password": RIGHT})
        assert (response.status_code, response["Retry-After"]) == (429, "5")
        assert not PasswordTry.objects.exists()
        assert client.get(reverse("login")).status_code == 200
    assert attempt(client, "wrong") == 400
    assert PasswordTry.objects.count() == 1


def test_of_one_network_one_password_is_checked_at_a_time_so_that_others_find_a_place(
    client: Client, kim: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places.passwords, "most", 2)
    with monkeypatch.context() as one_is_being_checked:
        one_is_being_checked.setattr(places.passwords, "holders", ["192.0.2.1"])
        one_is_being_checked.setattr(places.passwords, "wait", 0.01)
        assert attempt(client, "wrong", address="192.0.2.1") == 429
        assert attempt(client, "wrong", address="192.0.2.2") == 400
        team = teams.create_team(name="Kelpie", by=kim)
        _, secret = invitations.invite(teams.INVITATION_TARGET, team, role="member", by=kim)
        form = {"username": "ada", "email": "ada@example.org", "password1": RIGHT, "password2": RIGHT}
        joined = client.post(reverse("join", args=[secret]), form, REMOTE_ADDR="192.0.2.1")
        assert joined.status_code == 429
    assert [attempt(client, "wrong") for _ in range(2)] == [400, 400]


def test_a_second_password_of_a_network_waits_for_the_first_and_a_third_is_turned_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """People of a course, behind one address, log in within the same second."""
    monkeypatch.setattr(places.passwords, "wait", 60)
    hashed: list[str] = []

    def log_in(name: str) -> None:
        try:
            with places.passwords.taken("192.0.2.1"):
                hashed.append(name)
        except QuotaExceeded:
            hashed.append(f"not {name}")

    second = Thread(target=log_in, args=["second"])
    with places.passwords.taken("192.0.2.1"):
        second.start()
        while not places.passwords.waiting:
            time.sleep(0.01)
        third = Thread(target=log_in, args=["third"])
        third.start()
        third.join(60)
    second.join(60)
    assert hashed == ["not third", "second"]
    assert not places.passwords.holders
    assert not places.passwords.waiting


def test_nobody_overtakes_those_who_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """One network that asked again and again kept the only place."""
    monkeypatch.setattr(places.passwords, "wait", 60)
    hashed: list[str] = []

    def log_in(network: str) -> None:
        with places.passwords.taken(network):
            hashed.append(network)

    another = Thread(target=log_in, args=["192.0.2.2"])
    with places.passwords.taken("192.0.2.1"):
        another.start()
        while not places.passwords.waiting:
            time.sleep(0.01)
    log_in("192.0.2.1")
    another.join(60)
    assert hashed == ["192.0.2.2", "192.0.2.1"]


def test_whatever_takes_long_leaves_a_thread_to_pages_and_to_a_password(
    client: Client, kim: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Passwords, providers, files and their queues had places for more than all threads."""
    monkeypatch.setattr(places.files, "holders", [1, 2])
    assert attempt(client, RIGHT) == 302
    with monkeypatch.context() as another_is_checked:
        another_is_checked.setattr(places.passwords, "holders", ["192.0.2.9"])
        assert attempt(client, RIGHT) == 429
    for kind in set(places.Places.kinds) - {places.passwords, places.answers}:
        with pytest.raises(QuotaExceeded), kind.taken("192.0.2.1"):
            pass
    assert client.get(reverse("login")).status_code == 200


@pytest.mark.parametrize("threads", [3, 4, 5, 8, 16, 40])
def test_however_many_threads_there_are_one_is_left_to_pages(threads: int) -> None:
    """Those of passwords came on top of all but two: with eight threads no page was served."""
    assert places.shared(threads) + places.quarter(threads) == threads - 1


def test_parallel_attempts_are_limited_like_successive_ones(
    either_database: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.PASSWORD_TRIES = 5
    monkeypatch.setattr(places.passwords, "most", 16)  # as many as there are processes and threads
    monkeypatch.setattr(login_throttle, "network_of", lambda request: "")  # of which each checks one
    allowed: list[bool] = []

    def run() -> None:
        request = RequestFactory().post("/", REMOTE_ADDR="192.0.2.1")
        try:
            with login_throttle.attempt(request, login_throttle.of_name(request, "kim")):
                allowed.append(True)
        except QuotaExceeded:
            allowed.append(False)
        finally:
            connection.close()

    threads = [threading.Thread(target=run) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(allowed) == 16
    assert sum(allowed) <= 5


@pytest.mark.django_db
def test_new_accounts_are_limited_per_network_and_hash_before_they_write(
    client: Client, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hash within the transaction kept SQLite's write lock for most of a second."""
    settings.SIGN_UP, transactions, set_password = "open", [], User.set_password

    def hashed(user: User, password: str) -> None:
        transactions.append(len(connection.savepoint_ids))
        set_password(user, password)

    monkeypatch.setattr(login_throttle, "SIGN_UPS_PER_NETWORK", 2)
    monkeypatch.setattr(User, "set_password", hashed)
    outside = len(connection.savepoint_ids)
    replies = []
    for name in ("ada", "bo", "cy"):
        form = {"username": name, "email": f"{name}@example.org", "password1": RIGHT, "password2": RIGHT}
        replies.append(client.post(reverse("sign-up"), form, REMOTE_ADDR="192.0.2.1"))
        client.logout()
    assert [reply.status_code for reply in replies] == [302, 302, 429]
    assert 0 < int(replies[-1]["Retry-After"]) <= 3_601
    assert transactions == [outside] * 2
    assert User.objects.count() == 2


# ---- mails that are asked for --------------------------------------------------------------------
def request_mail(client: Client, email: str, *, name: str = "", address: str = "192.0.2.1") -> int:
    form = {"email": email, "username": name}
    return client.post(reverse("password-reset"), form, REMOTE_ADDR=address).status_code


@pytest.mark.parametrize("email", ["kim@example.org", "nobody@example.org"])
def test_mails_per_address_are_limited_for_known_and_unknown_addresses(
    client: Client, kim: User, email: str
) -> None:
    spellings = [email, email.upper(), email.title()]
    assert [request_mail(client, spelling) for spelling in spellings] == [302, 302, 302]
    response = client.post(reverse("password-reset"), {"email": email}, REMOTE_ADDR="192.0.2.9")
    assert response.status_code == 429
    assert 0 < int(response["Retry-After"]) <= 3_601
    assert "too_many_mails" in response.content.decode()
    assert len(mail.outbox) == (3 if email.startswith("kim") else 0)
    assert request_mail(client, "another@example.org") == 302


def test_the_mail_limit_ends_after_an_hour(client: Client, kim: User) -> None:
    for _ in range(4):
        request_mail(client, "kim@example.org")
    PasswordTry.objects.update(at=F("at") - timedelta(minutes=61))
    assert request_mail(client, "kim@example.org") == 302


def test_mails_per_network_are_limited(client: Client, kim: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(login_throttle, "MAILS_PER_NETWORK", 5)
    statuses = [request_mail(client, f"n{n}@example.org") for n in range(6)]
    assert statuses == [302, 302, 302, 302, 302, 429]
    assert request_mail(client, "n7@example.org", address="192.0.2.2") == 302


def test_mails_of_invitations_keep_nobody_from_a_reset(client: Client, kim: User) -> None:
    request = RequestFactory().post("/", REMOTE_ADDR="192.0.2.1")
    for _ in range(login_throttle.MAILS_PER_ADDRESS):
        login_throttle.record_mail(request, kim.email, kind="invitation mail")
    with pytest.raises(QuotaExceeded):
        login_throttle.record_mail(request, kim.email, kind="invitation mail")
    assert request_mail(client, kim.email) == 302


def test_mails_and_password_attempts_are_counted_separately(client: Client, kim: User) -> None:
    for _ in range(3):
        attempt(client, "wrong")
    assert request_mail(client, "kim@example.org") == 302
    assert request_mail(client, "kim") == 200  # no address: the form is shown again, nothing is counted
    assert attempt(client, RIGHT, address="192.0.2.2") == 302
