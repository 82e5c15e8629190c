"""User names differ in more than case and width, however and whenever they are chosen."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from threading import Barrier
from typing import Any

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.urls import reverse

from evalsvc.core.accounts import invitations, teams, users
from evalsvc.core.accounts.models import NAME_TAKEN, User, UserName
from evalsvc.core.upkeep import registry

PASSWORD = "seven-lamps-at-sea"
FORM = {"first_name": "Nora", "email": "nora@example.org", "password1": PASSWORD, "password2": PASSWORD}
ALIKE = ["ÅSA", "Åsa", "\uff41\u030asa", "A\u030aSA", "å\uff33\uff41"]  # full-width letters, accents apart


@pytest.mark.parametrize("name", ["åsa", *ALIKE])
def test_a_name_that_differs_in_case_or_width_alone_makes_no_account(
    client: Client, db: None, settings: Any, name: str
) -> None:
    """Full-width letters passed the check, and were stored as the plain ones."""
    settings.SIGN_UP = "open"
    kim, åsa = User.objects.create_user("kim"), User.objects.create_user("åsa")
    team = teams.create_team(name="Kelpie", by=kim)
    _, secret = invitations.invite(teams.INVITATION_TARGET, team, role="member", by=kim)
    for page in (reverse("sign-up"), reverse("join", args=[secret])):
        response = client.post(page, FORM | {"username": name})
        assert response.status_code == 400
        assert response.context["form"].errors == {"username": [NAME_TAKEN]}
    with pytest.raises(CommandError, match="taken"):
        call_command("createsuperuser", username=name, email="a@example.org", interactive=False)
    with pytest.raises(IntegrityError), transaction.atomic():
        User.objects.create_user(name)
    assert set(User.objects.all()) == {kim, åsa}
    assert User._meta.get_field("username").clean("Åsa", åsa) == "Åsa"  # as nobody else has it


def test_a_name_is_checked_as_it_is_stored(client: Client, db: None, settings: Any) -> None:
    settings.SIGN_UP = "open"
    too_long = "\ufdfa" * 9  # 162 letters
    assert client.post(reverse("sign-up"), FORM | {"username": too_long}).status_code == 400
    assert client.post(reverse("sign-up"), FORM | {"username": "\uff2eora"}).status_code == 302
    assert client.post(reverse("login"), {"username": "Nora", "password": PASSWORD}).status_code == 302
    assert client.post(reverse("login"), {"username": "nora", "password": PASSWORD}).status_code == 400


def test_people_are_found_by_their_exact_names(either_database: str) -> None:
    """Roles, releases and publications go to those whom the sender means."""
    User.objects.create_user("åsa")
    assert not User.objects.filter(username__in=[*ALIKE, "åsa "]).exists()


# ---- at the same moment -------------------------------------------------------------------------
def test_of_names_that_differ_in_case_alone_one_makes_an_account(
    either_database: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two or three did: the others were not stored yet when each was checked."""
    settings.SIGN_UP = "open"
    together, set_password = Barrier(len(ALIKE), timeout=60), User.set_password

    def waiting(user: User, password: str | None) -> None:
        set_password(user, password)
        together.wait()

    def sign_up(name: str) -> str:
        try:
            return users.sign_up(username=name, email="", password=PASSWORD).username
        except users.NameTaken:
            return ""
        finally:
            connection.close()

    monkeypatch.setattr(User, "set_password", waiting)
    with ThreadPoolExecutor(len(ALIKE)) as pool:
        made = list(filter(None, pool.map(sign_up, ALIKE)))
    assert made == list(User.objects.values_list("username", flat=True))
    assert len(made) == 1


def test_a_name_that_another_took_since_the_check_is_an_error_of_the_form(
    client: Client, db: None, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SIGN_UP = "open"
    User.objects.create_user("nora")
    monkeypatch.setattr(UserName, "clean", lambda field, value, model_instance: value)
    monkeypatch.setattr(User, "validate_unique", lambda *_, **__: None)
    for name in ("nora", "NORA"):
        response = client.post(reverse("sign-up"), FORM | {"username": name})
        assert (response.status_code, response.context["form"].errors) == (400, {"username": [NAME_TAKEN]})
    assert User.objects.count() == 1


# ---- accounts from before -----------------------------------------------------------------------
def accounts_from_before() -> list[User]:
    """Store names as an earlier build did, and migrate."""
    rows = [User.objects.create_user(f"user{n}", password=PASSWORD) for n in range(4)]
    for user, name in zip(rows, ("fred", "Fred", "ida", "FRED"), strict=True):
        User.objects.filter(pk=user.pk).update(username=name, folded_username=None)
    import_module("evalsvc.core.accounts.migrations.0005_folded_user_names").fold(apps, None)
    return list(User.objects.order_by("pk"))


def test_accounts_whose_names_differ_in_case_alone_keep_them(either_database: str, settings: Any) -> None:
    settings.SIGN_UP = "open"
    rows = accounts_from_before()
    assert [user.username for user in rows] == ["fred", "Fred", "ida", "FRED"]
    assert [user.folded_username for user in rows] == ["fred", None, "ida", None]
    for user in rows:
        login = Client().post(reverse("login"), {"username": user.username, "password": PASSWORD})
        assert login.status_code == 302
        user.refresh_from_db()
        user.first_name = "Fred"
        user.save()
    assert Client().post(reverse("sign-up"), FORM | {"username": "FreD"}).status_code == 400


def test_names_that_an_earlier_build_stores_after_the_migration_are_folded_by_the_upkeep(
    either_database: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may serve until the new one starts, and SQLite compares only plain letters without their case."""
    settings.SIGN_UP = "open"
    monkeypatch.setattr(users, "NAMES_PER_QUERY", 2)
    rows = accounts_from_before()
    for n, name in enumerate(("Åse", "Ida", "žofie", "Žofie", "Hank")):
        rows.append(User.objects.create_user(f"late{n}", password=PASSWORD))
        User.objects.filter(pk=rows[-1].pk).update(username=name, folded_username=None)
    assert [registry.sweep()["missing folded user names"] for _ in range(2)] == [3, 0]
    names = list(User.objects.order_by("pk").values_list("folded_username", flat=True))
    assert names == ["fred", None, "ida", None, "åse", None, "žofie", None, "hank"]
    for name in ("åse", "ŽOFIE", "hank", "FReD", "IDa"):
        assert Client().post(reverse("sign-up"), FORM | {"username": name}).status_code == 400


def test_a_name_stays_taken_as_long_as_somebody_has_it(db: None) -> None:
    first, second, _, third = accounts_from_before()
    for user in (first, second):
        user.username = f"removed-{user.pk}"
        user.save()
        with pytest.raises(CommandError, match="taken"):
            call_command("createsuperuser", username="FreD", email="a@example.org", interactive=False)
    third.save()
    third.refresh_from_db()
    second.refresh_from_db()
    assert (third.folded_username, second.folded_username) == ("fred", f"removed-{second.pk}")
