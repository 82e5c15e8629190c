"""Passwords are tried no oftener than is said, from wherever, and by however many at once."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.db import connection
from django.db.models import F
from django.test import Client, RequestFactory
from django.urls import reverse

from evalsvc.core.accounts import login_throttle
from evalsvc.core.accounts.models import PasswordTry, User
from evalsvc.core.errors.exceptions import QuotaExceeded

RIGHT = "harbour-lamp-7"


@pytest.fixture
def kim(db: None, settings: Any) -> User:
    settings.PASSWORD_TRIES = 3
    return User.objects.create_user("kim", password=RIGHT, email="kim@example.org")


def tried(client: Client, password: str, *, name: str = "kim", whence: str = "192.0.2.1") -> int:
    told = {"username": name, "password": password}
    return client.post(reverse("login"), told, REMOTE_ADDR=whence).status_code


def test_beyond_the_limit_not_even_the_right_password_is_looked_at(client: Client, kim: User) -> None:
    assert [tried(client, "wrong") for _ in range(3)] == [400, 400, 400]
    response = client.post(reverse("login"), {"username": "kim", "password": RIGHT}, REMOTE_ADDR="192.0.2.1")
    assert response.status_code == 429
    assert 0 < int(response["Retry-After"]) <= 901
    assert "Too many passwords were tried." in response.content.decode()
    assert "_auth_user_id" not in client.session


def test_others_elsewhere_are_not_locked_out_with_a_guesser(client: Client, kim: User) -> None:
    for _ in range(4):
        tried(client, "wrong")
    assert tried(client, RIGHT, whence="192.0.2.2") == 302


def test_spelling_a_name_otherwise_gains_no_tries(client: Client, kim: User) -> None:
    assert [tried(client, "wrong", name=name) for name in ("kim", "KIM", "Kim", "kIm")] == [
        400,
        400,
        400,
        429,
    ]


def test_the_right_password_begins_the_count_anew(client: Client, kim: User) -> None:
    assert [tried(client, word) for word in ("wrong", "wrong", RIGHT, "wrong", "wrong")] == [
        400,
        400,
        302,
        400,
        400,
    ]


def test_waiting_ends_and_asking_meanwhile_does_not_lengthen_it(client: Client, kim: User) -> None:
    assert [tried(client, "wrong") for _ in range(6)] == [400] * 3 + [429] * 3
    assert PasswordTry.objects.count() == 3
    PasswordTry.objects.update(at=F("at") - timedelta(minutes=15))
    assert tried(client, RIGHT) == 302


def test_one_name_is_guessed_from_many_networks_no_longer_than_five_times_the_limit(
    client: Client, kim: User
) -> None:
    answers = [tried(client, "wrong", whence=f"192.0.2.{n}") for n in range(1, 17)]
    assert answers == [400] * 15 + [429]


def test_one_network_guesses_many_names_no_longer_than_ten_times_the_limit(client: Client, kim: User) -> None:
    assert [tried(client, "wrong", name=f"n{n}") for n in range(31)] == [400] * 30 + [429]
    assert tried(client, RIGHT) == 429


def test_an_ipv6_customer_is_one_network(client: Client, kim: User) -> None:
    answers = [tried(client, "wrong", whence=f"2001:db8:0:1::{n}") for n in range(1, 5)]
    assert answers == [400, 400, 400, 429]


@pytest.mark.parametrize(
    ("proxies", "network"), [(0, "10.0.0.1"), (1, "198.51.100.7"), (2, "203.0.113.9"), (3, "10.0.0.1")]
)
def test_an_address_is_believed_as_far_as_the_proxies_are_ours(
    settings: Any, proxies: int, network: str
) -> None:
    settings.TRUSTED_PROXIES = proxies
    told = {"HTTP_X_FORWARDED_FOR": "203.0.113.9, 198.51.100.7", "REMOTE_ADDR": "10.0.0.1"}
    assert login_throttle.network_of(RequestFactory().get("/", **told)) == network


def test_neither_name_nor_address_is_kept(client: Client, kim: User) -> None:
    tried(client, "wrong", name="my-secret-typed-here")
    kept = str(list(PasswordTry.objects.values()))
    assert "my-secret" not in kept
    assert "192.0.2" not in kept


def test_old_tries_are_swept(client: Client, kim: User) -> None:
    tried(client, "wrong")
    PasswordTry.objects.update(at=F("at") - timedelta(hours=2))
    tried(client, "wrong")
    assert PasswordTry.objects.count() == 1


def test_many_at_once_try_no_more_than_one_by_one(either_database: str, settings: Any) -> None:
    settings.PASSWORD_TRIES = 5
    looked: list[bool] = []

    def come() -> None:
        request = RequestFactory().post("/", REMOTE_ADDR="192.0.2.1")
        try:
            login_throttle.note_try(request, "kim")
            looked.append(True)
        except QuotaExceeded:
            looked.append(False)
        finally:
            connection.close()

    threads = [threading.Thread(target=come) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(looked) == 16
    assert sum(looked) <= 5


# ---- mails that are asked for --------------------------------------------------------------------
def asked_for_mail(client: Client, email: str, *, whence: str = "192.0.2.1") -> int:
    return client.post(reverse("password-reset"), {"email": email}, REMOTE_ADDR=whence).status_code


@pytest.mark.parametrize("email", ["kim@example.org", "nobody@example.org"])
def test_no_address_gets_more_mails_than_are_said_whether_it_is_known_or_not(
    client: Client, kim: User, email: str
) -> None:
    spelt = [email, email.upper(), email.title()]
    assert [asked_for_mail(client, each) for each in spelt] == [302, 302, 302]
    response = client.post(reverse("password-reset"), {"email": email}, REMOTE_ADDR="192.0.2.9")
    assert response.status_code == 429
    assert 0 < int(response["Retry-After"]) <= 3_601
    assert "Too many mails were asked for." in response.content.decode()
    assert len(mail.outbox) == (3 if email.startswith("kim") else 0)
    assert asked_for_mail(client, "another@example.org") == 302


def test_an_hour_later_a_mail_can_be_asked_for_again(client: Client, kim: User) -> None:
    for _ in range(4):
        asked_for_mail(client, "kim@example.org")
    PasswordTry.objects.update(at=F("at") - timedelta(minutes=61))
    assert asked_for_mail(client, "kim@example.org") == 302


def test_one_network_asks_for_no_more_mails_than_are_said(
    client: Client, kim: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(login_throttle, "MAILS_FROM_ONE", 5)
    asked = [asked_for_mail(client, f"n{n}@example.org") for n in range(6)]
    assert asked == [302, 302, 302, 302, 302, 429]
    assert asked_for_mail(client, "n7@example.org", whence="192.0.2.2") == 302


def test_mails_and_passwords_are_counted_apart(client: Client, kim: User) -> None:
    for _ in range(3):
        tried(client, "wrong")
    assert asked_for_mail(client, "kim@example.org") == 302
    assert asked_for_mail(client, "kim") == 200  # no address: the form is shown again, nothing is counted
    assert tried(client, RIGHT, whence="192.0.2.2") == 302
