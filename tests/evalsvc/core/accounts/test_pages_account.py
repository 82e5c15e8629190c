"""Getting in, and what people do about their accounts."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.core import mail
from django.test import Client
from django.urls import reverse

from evalsvc.core.accounts import invitations, teams, tokens
from evalsvc.core.accounts.models import ApiToken, Team, User

OLD, NEW = "harbour-lamp-7", "seven-lamps-at-sea"
NORA = {
    "username": "nora",
    "first_name": "Nora",
    "email": "nora@example.org",
    "password1": NEW,
    "password2": NEW,
}


@pytest.fixture
def kim(db: None) -> User:
    return User.objects.create_user("kim", password=OLD, email="kim@example.org")


@pytest.fixture
def team(kim: User) -> Team:
    return teams.create_team(name="Kelpie", by=kim)


@pytest.fixture
def link(team: Team, kim: User) -> str:
    _, secret = invitations.invite(teams.PLACE, team, role="member", by=kim)
    return reverse("join", args=[secret])


def shown(client: Client, name: str) -> str:
    response = client.get(reverse(name))
    assert response.status_code == 200
    return response.content.decode()


# ---- sign-up and invitations ---------------------------------------------------------------------
@pytest.mark.parametrize(
    ("mode", "status", "made"), [("open", 302, 1), ("invitation", 403, 0), ("closed", 403, 0)]
)
def test_who_may_make_an_account_is_a_setting(
    client: Client, db: None, settings: Any, mode: str, status: int, made: int
) -> None:
    settings.SIGN_UP = mode
    assert client.post(reverse("sign-up"), NORA).status_code == status
    assert User.objects.count() == made
    assert (reverse("sign-up") in shown(client, "login")) is (mode == "open")


def test_a_visitor_signs_up_by_a_link_and_is_in_the_team(client: Client, team: Team, link: str) -> None:
    assert "kim invites you to this team" in client.get(link).content.decode()
    response = client.post(link, NORA)
    assert response["Location"] == reverse("team", args=["kelpie"])
    assert client.get(response["Location"]).status_code == 200
    for late in (client, Client()):
        again = late.get(link)
        assert again.status_code == 409
        assert "This invitation was used already" in again.content.decode()
        assert "you are in. Else ask kim for a new one." in again.content.decode()


def test_a_name_that_is_taken_leaves_the_link_unused(client: Client, link: str) -> None:
    assert client.post(link, NORA | {"username": "KIM"}).status_code == 400
    assert client.get(link).status_code == 200
    assert User.objects.count() == 1


def test_a_weak_password_makes_no_account(client: Client, link: str) -> None:
    assert client.post(link, NORA | {"password1": "password", "password2": "password"}).status_code == 400
    assert User.objects.count() == 1


def test_a_link_is_for_people_with_an_account_where_sign_up_is_closed(
    client: Client, link: str, team: Team, settings: Any
) -> None:
    settings.SIGN_UP = "closed"
    assert client.post(link, NORA).status_code == 403
    lars = User.objects.create_user("lars")
    client.force_login(lars)
    assert "You are logged in as" in client.get(link).content.decode()
    assert client.post(link + "accept/").status_code == 302
    assert teams.role_in(team, lars) == "member"


def test_an_owner_makes_a_link_that_works_and_takes_it_back(client: Client, team: Team, kim: User) -> None:
    client.force_login(kim)
    told = {"place": "team", "subject": team.pk, "role": "owner", "days": "7", "note": "Lars"}
    response = client.post(reverse("invitation-new"), told, follow=True)
    (address,) = set(re.findall(r"http://testserver(/join/[\w-]+/)", response.content.decode()))
    assert "no-store" in response["Cache-Control"]
    assert Client().get(address).status_code == 200
    again = client.get(reverse("invitation", args=[invitations.standing().get().pk])).content.decode()
    assert "It was shown once, when it was made" in again
    assert address not in again
    page = client.get(reverse("team", args=["kelpie"])).content.decode()
    assert "Lars" in page
    assert address not in page
    client.post(reverse("invitation-revoke", args=[invitations.standing().get().pk]))
    taken_back = Client().get(address)
    assert taken_back.status_code == 409
    assert "was taken back" in taken_back.content.decode()


def invite_by_mail(client: Client, team: Team, to: str) -> str:
    told = {"place": "team", "subject": team.pk, "role": "member", "days": "7", "email": to}
    return client.post(reverse("invitation-new"), told, follow=True).content.decode()


def test_an_invitation_is_mailed_and_the_link_in_the_mail_works(
    client: Client, team: Team, kim: User
) -> None:
    client.force_login(kim)
    page = invite_by_mail(client, team, "nora@example.org")
    (letter,) = mail.outbox
    assert (letter.to, letter.subject) == (["nora@example.org"], "kim invites you to Kelpie at testserver")
    (address,) = re.findall(r"http://testserver(/join/[\w-]+/)", str(letter.body))
    assert "is on its way to nora@example.org" in page
    assert address in page
    assert Client().get(address).status_code == 200
    assert "nora@example.org" in client.get(reverse("team", args=["kelpie"])).content.decode()


def test_without_a_mail_server_the_link_is_shown_and_nothing_is_asked(
    client: Client, team: Team, kim: User, settings: Any
) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
    client.force_login(kim)
    assert "Mail it to" not in client.get(reverse("team", args=["kelpie"])).content.decode()
    assert "/join/" in invite_by_mail(client, team, "nora@example.org")
    assert mail.outbox == []


def test_a_mail_that_cannot_be_sent_leaves_the_link_to_send(
    client: Client, team: Team, kim: User, settings: Any
) -> None:
    settings.EMAIL_BACKEND, settings.EMAIL_HOST = "django.core.mail.backends.smtp.EmailBackend", "127.0.0.1"
    settings.EMAIL_PORT = 1
    client.force_login(kim)
    page = invite_by_mail(client, team, "nora@example.org")
    assert "could not be sent. Send the link yourself." in page
    assert "/join/" in page


def test_nobody_floods_an_address_with_invitations(client: Client, team: Team, kim: User) -> None:
    client.force_login(kim)
    pages = [invite_by_mail(client, team, "nora@example.org") for _ in range(4)]
    assert len(mail.outbox) == 3
    assert "Too many mails were asked for." in pages[-1]
    assert "/join/" in pages[-1]


# ---- a new password ------------------------------------------------------------------------------
def asked_for_link(client: Client, email: str = "KIM@example.org") -> str:
    """The address in the mail."""
    assert client.post(reverse("password-reset"), {"email": email}).status_code == 302
    (letter,) = mail.outbox
    return re.findall(r"http://testserver(/password/\S+)", str(letter.body))[0]


def test_a_link_by_mail_sets_a_new_password_once(client: Client, kim: User) -> None:
    tokens.issue(kim, name="cluster")
    elsewhere = Client()
    elsewhere.force_login(kim)
    address = asked_for_link(client)
    form = client.get(address, follow=True)
    response = client.post(form.redirect_chain[0][0], {"new_password1": NEW, "new_password2": NEW})
    assert response["Location"] == reverse("login")
    kim.refresh_from_db()
    assert kim.check_password(NEW)
    assert elsewhere.get(reverse("account")).status_code == 302
    assert "This link leads nowhere" in Client().get(address).content.decode()
    assert ApiToken.objects.filter(revoked_at=None).count() == 1


def told(client: Client, email: str) -> str:
    return client.post(reverse("password-reset"), {"email": email}, follow=True).content.decode()


def test_an_address_that_nobody_has_gets_the_same_answer_and_no_mail(client: Client, kim: User) -> None:
    answers = [
        re.sub(r'"X-CSRFToken": "\w+"', "", told(client, email))
        for email in ("kim@example.org", "nobody@example.org")
    ]
    assert answers[0] == answers[1]
    assert len(mail.outbox) == 1


def test_the_mail_names_account_and_place_in_plain_words(client: Client, kim: User) -> None:
    asked_for_link(client)
    (letter,) = mail.outbox
    assert letter.subject == "A new password for kim at testserver"
    assert letter.to == ["kim@example.org"]


# ---- one's own account ---------------------------------------------------------------------------
def test_a_name_is_changed_without_the_password_and_an_address_with_it(client: Client, kim: User) -> None:
    client.force_login(kim)
    told = {"change": "person", "first_name": "Kim", "last_name": "Lo", "email": "kim@example.org"}
    assert client.post(reverse("account"), told).status_code == 302
    assert client.post(reverse("account"), told | {"email": "new@example.org"}).status_code == 400
    kim.refresh_from_db()
    assert (kim.shown_name, kim.email) == ("Kim Lo", "kim@example.org")
    assert (
        client.post(reverse("account"), told | {"email": "new@example.org", "password": OLD}).status_code
        == 302
    )
    kim.refresh_from_db()
    assert kim.email == "new@example.org"


def test_a_new_password_needs_the_present_one_and_ends_other_sessions(client: Client, kim: User) -> None:
    client.force_login(kim)
    elsewhere = Client()
    elsewhere.force_login(kim)
    told = {"change": "password", "old_password": "wrong", "new_password1": NEW, "new_password2": NEW}
    assert client.post(reverse("account"), told).status_code == 400
    assert client.post(reverse("account"), told | {"old_password": OLD}).status_code == 302
    assert client.get(reverse("account")).status_code == 200
    assert elsewhere.get(reverse("account")).status_code == 302


def test_the_present_password_is_guessed_no_oftener_than_at_the_door(
    client: Client, kim: User, settings: Any
) -> None:
    settings.PASSWORD_TRIES = 2
    client.force_login(kim)
    told = {"change": "password", "old_password": "wrong", "new_password1": NEW, "new_password2": NEW}
    assert [client.post(reverse("account"), told).status_code for _ in range(3)] == [400, 400, 429]


def test_a_token_of_ones_own_is_for_a_team_of_ones_own_or_for_none(
    client: Client, kim: User, team: Team
) -> None:
    teams.create_team(name="Lugworm", by=User.objects.create_user("lars"))
    client.force_login(kim)
    told = {"name": "laptop", "scope": "read", "days": "30"}
    address = reverse("account-token-new")
    assert [client.post(address, told | {"team": slug}).status_code for slug in ("", "kelpie")] == [302, 302]
    assert client.post(address, told | {"team": "lugworm"}).status_code == 400
    assert set(ApiToken.objects.values_list("user", "team")) == {(kim.pk, None), (kim.pk, team.pk)}
    page = shown(client, "account")
    assert all(token.prefix in page for token in ApiToken.objects.all())
    token = ApiToken.objects.get(team=None)
    client.post(reverse("account-token-revoke", args=[token.pk]))
    assert token.prefix not in shown(client, "account")


def test_an_owner_revokes_the_tokens_of_others_in_the_team(client: Client, kim: User, team: Team) -> None:
    lars = User.objects.create_user("lars")
    teams.add_member(team, user=lars, by=kim)
    token, secret = tokens.issue(lars, name="cluster", team=team)
    client.force_login(kim)
    client.post(reverse("token-revoke", args=["kelpie", token.pk]))
    assert tokens.find(secret) is None


def test_a_member_leaves_and_cannot_take_out_others(client: Client, kim: User, team: Team) -> None:
    lars = User.objects.create_user("lars")
    own = teams.add_member(team, user=lars, by=kim)
    owner = team.members.get(user=kim)
    client.force_login(lars)
    assert client.post(reverse("team-member-remove", args=["kelpie", owner.pk])).status_code == 403
    assert client.post(reverse("team-member-remove", args=["kelpie", own.pk])).status_code == 302
    assert teams.role_in(team, lars) is None


# ---- everyone ------------------------------------------------------------------------------------
def test_an_administrator_lets_organise_and_shuts_out(client: Client, kim: User) -> None:
    root = User.objects.create_superuser("root")
    _, secret = tokens.issue(kim, name="cluster")
    client.force_login(root)
    change = reverse("people")
    client.post(change, {"change": "organiser", "person": kim.pk})
    client.post(change, {"change": "out", "person": kim.pk})
    kim.refresh_from_db()
    assert (kim.may_organise, kim.is_active) == (True, False)
    assert tokens.find(secret) is None
    assert client.post(change, {"change": "out", "person": root.pk}).status_code == 409
    assert "shut out" in shown(client, "people")
