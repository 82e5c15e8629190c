"""Pages for login, sign-up, invitations, tokens and accounts."""

from __future__ import annotations

import re
import threading
from concurrent.futures import Future
from functools import partial
from smtplib import SMTPRecipientsRefused
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.password_validation import validate_password
from django.contrib.sessions.backends.db import SessionStore
from django.core import mail
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from evalsvc.core.accounts import invitations, login_throttle, outgoing_mail, teams, tokens, users
from evalsvc.core.accounts.forms import NewPasswordForm, PasswordForm, SignUpForm
from evalsvc.core.accounts.models import ApiToken, Identity, PasswordTry, Team, User
from evalsvc.core.accounts.passwords import SERVICE_WORDS
from tests.places.workers import ROOT

OLD, NEW = "harbour-lamp-7", "seven-lamps-at-sea"
OLD_ADDRESS = "before@example.org"
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
    _, secret = invitations.invite(teams.INVITATION_TARGET, team, role="member", by=kim)
    return reverse("join", args=[secret])


def shown(client: Client, name: str) -> str:
    response = client.get(reverse(name))
    assert response.status_code == 200
    return response.content.decode()


# ---- sign-up and invitations ---------------------------------------------------------------------
@pytest.mark.parametrize(
    ("mode", "status", "created"), [("open", 302, 1), ("invitation", 403, 0), ("closed", 403, 0)]
)
def test_the_sign_up_setting_decides_who_may_create_an_account(
    client: Client, db: None, settings: Any, mode: str, status: int, created: int
) -> None:
    settings.SIGN_UP = mode
    assert client.post(reverse("sign-up"), NORA).status_code == status
    assert User.objects.count() == created
    assert (reverse("sign-up") in shown(client, "login")) is (mode == "open")


def test_a_visitor_signs_up_by_a_link_and_joins_the_team(client: Client, team: Team, link: str) -> None:
    assert "Kelpie" in client.get(link).content.decode()
    response = client.post(link, NORA)
    assert response["Location"] == reverse("team", args=["kelpie"])
    assert client.get(response["Location"]).status_code == 200
    for late in (client, Client()):
        again = late.get(link)
        assert again.status_code == 409
        assert "invitation_over" in again.content.decode()


def test_a_name_that_is_taken_leaves_the_link_unused(client: Client, link: str) -> None:
    assert client.post(link, NORA | {"username": "KIM"}).status_code == 400
    assert client.get(link).status_code == 200
    assert User.objects.count() == 1


@pytest.mark.parametrize("name", ["k\u0456m", "kim\u1160"])  # Cyrillic і; a letter without ink
def test_a_user_name_that_looks_like_another_makes_no_account(
    client: Client, link: str, settings: Any, name: str
) -> None:
    """A role is given by user name, and nobody is asked."""
    settings.SIGN_UP = "open"
    for page in (link, reverse("sign-up")):
        response = client.post(page, NORA | {"username": name})
        assert (response.status_code, list(response.context["form"].errors)) == (400, ["username"])
    with pytest.raises(CommandError, match="U\\+"):
        call_command("createsuperuser", username=name, email="kim@example.org", interactive=False)
    assert User.objects.count() == 1


def test_accounts_keep_user_names_from_before(client: Client, db: None) -> None:
    user = User.objects.create_user("k\u0456m", password=OLD)
    assert client.post(reverse("login"), {"username": user.username, "password": OLD}).status_code == 302


def test_a_weak_password_makes_no_account(client: Client, link: str) -> None:
    assert client.post(link, NORA | {"password1": "password", "password2": "password"}).status_code == 400
    assert User.objects.count() == 1


def test_where_sign_up_is_closed_a_link_admits_only_people_with_an_account(
    client: Client, link: str, team: Team, settings: Any
) -> None:
    settings.SIGN_UP = "closed"
    assert client.post(link, NORA).status_code == 403
    lars = User.objects.create_user("lars")
    client.force_login(lars)
    assert f'action="{link}accept/"' in client.get(link).content.decode()
    assert client.post(link + "accept/").status_code == 302
    assert teams.role_in(team, lars) == "member"


def test_an_owner_creates_a_working_link_and_revokes_it(client: Client, team: Team, kim: User) -> None:
    client.force_login(kim)
    form = {"place": "team", "subject": team.pk, "role": "owner", "days": "7", "people": "Lars"}
    response = client.post(reverse("invitation-new"), form, follow=True)
    (address,) = set(re.findall(r"http://testserver(/join/[\w-]+/)", response.content.decode()))
    assert "no-store" in response["Cache-Control"]
    assert Client().get(address).status_code == 200
    again = client.get(reverse("invitation", args=[invitations.usable().get().pk])).content.decode()
    assert address not in again
    page = client.get(reverse("team", args=["kelpie"])).content.decode()
    assert "Lars" in page
    assert address not in page
    client.post(reverse("invitation-revoke", args=[invitations.usable().get().pk]))
    revoked = Client().get(address)
    assert revoked.status_code == 409
    assert "invitation_over" in revoked.content.decode()


def invite_by_mail(client: Client, team: Team, to: str) -> str:
    form = {"place": "team", "subject": team.pk, "role": "member", "days": "7", "people": to}
    return client.post(reverse("invitation-new"), form, follow=True).content.decode()


def test_an_invitation_is_mailed_and_the_link_in_the_mail_works(
    client: Client, team: Team, kim: User
) -> None:
    client.force_login(kim)
    page = invite_by_mail(client, team, "nora@example.org")
    (message,) = mail.outbox
    assert message.to == ["nora@example.org"]
    assert message.subject == "Invitation to testserver"
    assert all(word in str(message.body) for word in ("kim", "team", "testserver"))
    (address,) = re.findall(r"http://testserver(/join/[\w-]+/)", str(message.body))
    assert "nora@example.org" in page
    assert address in page
    assert Client().get(address).status_code == 200
    assert "nora@example.org" in client.get(reverse("team", args=["kelpie"])).content.decode()


@pytest.mark.parametrize(("error", "tried"), [(TimeoutError, 1), (partial(SMTPRecipientsRefused, {}), 2)])
def test_a_mail_server_that_does_not_answer_is_asked_once(
    client: Client, team: Team, kim: User, monkeypatch: pytest.MonkeyPatch, error: Any, tried: int
) -> None:
    """Each mail of a list held a thread for 10 s."""
    asked = []

    def send(*message: Any) -> None:
        asked.append(message)
        raise error()

    monkeypatch.setattr(invitations, "send_mail", send)
    client.force_login(kim)
    page = invite_by_mail(client, team, "nora@example.org\nola@example.org")
    assert len(asked) == tried
    assert len(set(re.findall(r"/join/[\w-]+/", page))) == 2


def test_one_form_invites_many_with_a_link_each(client: Client, team: Team, kim: User) -> None:
    client.force_login(kim)
    page = invite_by_mail(client, team, "Lars\nnora@example.org; Mia, Lars")
    addresses = re.findall(r"<code>http://testserver(/join/[\w-]+/)</code>", page)
    assert len(set(addresses)) == len(addresses) == invitations.usable().count() == 3
    assert all(name in page for name in ("Lars", "nora@example.org", "Mia"))
    assert [message.to for message in mail.outbox] == [["nora@example.org"]]
    for address, name in zip(addresses, ("Lars", "nora", "Mia"), strict=True):
        invited = User.objects.create_user(name)
        invitations.accept(address.split("/")[2], user=invited)
        assert teams.role_in(team, invited) == "member"


@pytest.mark.parametrize("people", ["\n".join(map(str, range(51))), "x" * 121])
def test_too_many_or_endless_names_create_no_link(client: Client, team: Team, kim: User, people: str) -> None:
    client.force_login(kim)
    form = {"place": "team", "subject": team.pk, "role": "member", "days": "7", "people": people}
    assert client.post(reverse("invitation-new"), form).status_code == 400
    assert not invitations.usable().exists()


def test_the_links_of_fifty_people_are_all_shown(client: Client, team: Team, kim: User) -> None:
    client.force_login(kim)
    page = invite_by_mail(client, team, "\n".join(f"person {at}" for at in range(50)))
    assert len(set(re.findall(r"/join/[\w-]+/", page))) == 50


@pytest.mark.parametrize("username", ["kim", "evil.example.com", "log+in@evil.example"])
def test_an_invitation_mails_no_text_that_its_sender_can_choose(
    client: Client, team: Team, kim: User, username: str
) -> None:
    lure = "Your account is locked, see https://evil.example/unlock"
    User.objects.filter(pk=kim.pk).update(username=username, first_name=lure, last_name=lure)
    Team.objects.filter(pk=team.pk).update(name=lure)
    client.force_login(kim)
    invite_by_mail(client, team, "nora@example.org")
    (message,) = mail.outbox
    sent = f"{message.subject}\n{message.body}"
    assert "locked" not in sent
    assert "evil" not in sent
    assert ("kim invites" in sent) == (username == "kim")


@pytest.mark.parametrize("name", ["Eve\nBcc: victim@example.org", "Eve\u202e"])
def test_a_name_is_one_line_of_visible_characters(client: Client, kim: User, name: str) -> None:
    client.force_login(kim)
    form = {"change": "person", "first_name": name, "last_name": "x", "email": kim.email}
    assert client.post(reverse("account"), form).status_code == 400
    form = {"username": "eve", "email": "e@example.org", "password1": NEW, "password2": NEW}
    assert "first_name" in SignUpForm(form | {"first_name": name}).errors


def test_without_a_mail_server_the_link_is_shown_and_no_address_asked_for(
    client: Client, team: Team, kim: User, settings: Any
) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
    client.force_login(kim)
    assert 'name="email"' not in client.get(reverse("team", args=["kelpie"])).content.decode()
    assert "/join/" in invite_by_mail(client, team, "nora@example.org")
    assert mail.outbox == []


def test_the_link_is_shown_when_the_mail_cannot_be_sent(
    client: Client, team: Team, kim: User, settings: Any
) -> None:
    settings.EMAIL_BACKEND, settings.EMAIL_HOST = "django.core.mail.backends.smtp.EmailBackend", "127.0.0.1"
    settings.EMAIL_PORT = 1
    client.force_login(kim)
    page = invite_by_mail(client, team, "nora@example.org")
    assert "note--warning" in page
    assert "/join/" in page


def test_an_address_gets_a_limited_number_of_invitations(client: Client, team: Team, kim: User) -> None:
    client.force_login(kim)
    pages = [invite_by_mail(client, team, "nora@example.org") for _ in range(4)]
    assert len(mail.outbox) == 3
    assert ["note--warning" in page for page in pages] == [False, False, False, True]
    assert "/join/" in pages[-1]


# ---- a new password ------------------------------------------------------------------------------
def reset_link(client: Client, email: str = "KIM@example.org") -> str:
    """Path of the link in the reset mail."""
    assert client.post(reverse("password-reset"), {"email": email}).status_code == 302
    (message,) = mail.outbox
    return re.findall(r"http://testserver(/password/\S+)", str(message.body))[0]


def test_a_reset_link_sets_a_new_password_once(client: Client, kim: User) -> None:
    tokens.issue(kim, name="cluster")
    other_session = Client()
    other_session.force_login(kim)
    address = reset_link(client)
    form = client.get(address, follow=True)
    response = client.post(form.redirect_chain[0][0], {"new_password1": NEW, "new_password2": NEW})
    assert response["Location"] == reverse("login")
    kim.refresh_from_db()
    assert kim.check_password(NEW)
    assert other_session.get(reverse("account")).status_code == 302
    assert reverse("password-reset") in Client().get(address).content.decode()
    assert ApiToken.objects.filter(revoked_at=None).count() == 1


def test_of_several_who_set_a_password_by_one_link_at_once_the_first_alone_sets_it(
    client: Client, kim: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever opened the link before the first password was stored set another, and the last one stayed."""
    address = reset_link(client)
    opened = [Client() for _ in range(3)]
    forms = [each.get(address, follow=True).redirect_chain[0][0] for each in opened]
    hashing, set_password = [*opened[1:]], User.set_password
    pages = []

    def hashed(user: User, password: str) -> None:
        set_password(user, password)
        if hashing:  # another sends the form meanwhile
            pages.append(send(hashing.pop()))

    def send(person: Client) -> Any:
        password = f"{NEW}-{opened.index(person)}"
        return person.post(forms[0], {"new_password1": password, "new_password2": password})

    monkeypatch.setattr(User, "set_password", hashed)
    pages.append(send(opened[0]))
    assert [page.status_code for page in pages] == [302, 200, 200]
    unknown = client.get(reverse("password-reset-confirm", args=["MQ", "a-b"])).content.decode()
    assert main_of(pages[1].content.decode()) == main_of(unknown)
    kim.refresh_from_db()
    assert kim.check_password(f"{NEW}-1")


@pytest.mark.parametrize("opened", [True, False])
def test_deactivating_an_account_ends_its_reset_links_for_good(
    client: Client, kim: User, opened: bool
) -> None:
    """A link that was mailed before set a new password meanwhile, and afterwards."""
    root, address = User.objects.create_superuser("root"), reset_link(client)
    form = client.get(address, follow=True).redirect_chain[0][0] if opened else address
    unknown = client.get(reverse("password-reset-confirm", args=["MQ", "a-b"])).content.decode()
    for active in (False, True):
        users.set_active(kim, active=active, by=root)
        page = client.get(form)
        assert (page.status_code, "new_password1" in page.content.decode()) == (200, False)
        text = client.post(form, {"new_password1": NEW, "new_password2": NEW}).content.decode()
        assert main_of(text) == main_of(unknown)
        kim.refresh_from_db()
        assert kim.check_password(OLD)
    mail.outbox.clear()
    form = client.get(reset_link(client), follow=True).redirect_chain[0][0]
    assert client.post(form, {"new_password1": NEW, "new_password2": NEW})["Location"] == reverse("login")


def main_of(page: str) -> str:
    return page[page.index("<main") : page.index("</main>")]


@pytest.mark.parametrize("by_mail", [True, False])
def test_a_password_that_is_being_set_gives_back_no_right_taken_meanwhile(kim: User, by_mail: bool) -> None:
    """The whole account was stored as it was read before its password was hashed."""
    root, values = User.objects.create_superuser("root"), {"new_password1": NEW, "new_password2": NEW}
    users.set_organiser(kim, may=True, by=root)
    kim.refresh_from_db()
    form: NewPasswordForm | PasswordForm = NewPasswordForm(kim, values)
    if not by_mail:
        request = RequestFactory().post("/")
        request.session = SessionStore()
        form = PasswordForm(kim, values | {"old_password": OLD}, request=request)
    assert form.is_valid()
    if isinstance(form, NewPasswordForm):
        form.hash()
    users.set_active(kim, active=False, by=root)
    users.set_organiser(kim, may=False, by=root)
    form.save()
    stored = User.objects.get(pk=kim.pk)
    assert (stored.is_active, stored.may_organise, stored.check_password(NEW)) == (False, False, True)


def reset_response(client: Client, email: str) -> str:
    return client.post(reverse("password-reset"), {"email": email}, follow=True).content.decode()


def test_an_unknown_address_gets_the_same_response_and_no_mail(client: Client, kim: User) -> None:
    responses = [
        re.sub(r'"X-CSRFToken": "\w+"', "", reset_response(client, email))
        for email in ("kim@example.org", "nobody@example.org")
    ]
    assert responses[0] == responses[1]
    assert len(mail.outbox) == 1


def test_a_reset_does_the_same_before_its_answer_for_known_and_unknown_addresses(
    client: Client, kim: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    later: list[Any] = []
    monkeypatch.setattr(outgoing_mail.PacedMails, "put", lambda queue, network, send: later.append(send))
    counts = []
    known, unknown = "kim@example.org", "nobody@example.org"
    for email, name in ((known, ""), (unknown, ""), (known, "kim"), (known, "nobody"), (unknown, "kim")):
        with CaptureQueriesContext(connection) as queries:
            form = {"email": email, "username": name}
            assert client.post(reverse("password-reset"), form).status_code == 302
        counts.append(len(queries))
        assert mail.outbox == []
    assert len(set(counts)) == 1
    for send in later:
        send()
    assert [message.to for message in mail.outbox] == [[known]] * 2


@pytest.mark.parametrize("taken", [0.0, 0.4])
@pytest.mark.parametrize("fails", [False, True])
def test_after_a_reset_the_next_one_waits_as_long_whether_there_was_a_mail_or_not(
    settings: Any, monkeypatch: pytest.MonkeyPatch, taken: float, *, fails: bool
) -> None:
    """Who requested a mail for somebody else, then an own one, knew by its time whether both were sent."""
    settings.MAIL_IN_REQUEST = False
    clock, ended = SimpleNamespace(now=0.0), threading.Event()

    def sleep(seconds: float) -> None:
        clock.now += seconds

    def send() -> None:
        clock.now += taken
        if fails:
            raise OSError("the mail server is away")

    monkeypatch.setattr(outgoing_mail, "time", SimpleNamespace(monotonic=lambda: clock.now, sleep=sleep))
    drawn = iter((1.5, 0.25))
    monkeypatch.setattr(outgoing_mail, "random", SimpleNamespace(uniform=lambda least, most: next(drawn)))
    monkeypatch.setattr(outgoing_mail, "PACED_AT_ONCE", 1)
    queue = outgoing_mail.PacedMails()
    begun: list[float] = []
    queue.put("192.0.2.1", send)
    queue.put("192.0.2.1", lambda: (begun.append(clock.now), ended.set()))
    assert ended.wait(120)
    assert begun == [pytest.approx(1.5 + 2.0 + 0.25)]


def test_networks_take_turns_so_that_a_flood_of_one_delays_no_reset_of_another(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person's mail waited behind hundreds of requests for nobody, over a minute."""
    settings.MAIL_IN_REQUEST = False
    monkeypatch.setattr(outgoing_mail, "PACED_AT_ONCE", 1)
    monkeypatch.setattr(outgoing_mail, "PACED_SECONDS", 0)
    queue, begins, ended = outgoing_mail.PacedMails(), threading.Event(), threading.Event()
    sent: list[str] = []
    queue.put("192.0.2.9", partial(begins.wait, 120))
    for n in range(20):
        queue.put(f"2001:db8:7:{n:x}::/64", partial(sent.append, "flood"))
    queue.put("192.0.2.1", partial(sent.append, "kim"))
    queue.put("2001:db8:8::/64", partial(sent.append, "lou"))
    queue.put("192.0.2.1", partial(sent.append, "kim again"))
    queue.put("2001:db8:7::/64", ended.set)
    begins.set()
    assert ended.wait(60)
    assert sent[:5] == ["flood", "kim", "lou", "flood", "kim again"]
    assert sent[5:] == ["flood"] * 18


@pytest.mark.parametrize("email", ["kim@example.org", "nobody@example.org"])
def test_a_network_fills_no_queue_of_mails_and_whom_it_mails_makes_no_difference(
    client: Client, kim: User, settings: Any, monkeypatch: pytest.MonkeyPatch, email: str
) -> None:
    settings.MAIL_IN_REQUEST = False
    monkeypatch.setattr(outgoing_mail, "MOST_WAITING", 40)
    queue = outgoing_mail.PacedMails()
    monkeypatch.setattr(queue.threads, "submit", lambda act: Future())
    monkeypatch.setattr(outgoing_mail, "paced", lambda: queue)

    def request(name: str, address: str) -> int:
        form = {"email": email, "username": name}
        return client.post(reverse("password-reset"), form, REMOTE_ADDR=address).status_code

    statuses = [request(f"n{n}", f"2001:db8:7:{n}::1") for n in range(5)]
    assert statuses == [302, 302, 302, 429, 429]
    assert [request(f"m{n}", "192.0.2.1") for n in range(5)] == [302, 302, 302, 429, 429]
    statuses = [request(f"k{n}", f"198.51.100.{n}") for n in range(30)]
    assert statuses == [302] * 30  # a network with none waiting, however full the queue is
    assert request("p", "198.51.100.1") == 429
    assert PasswordTry.objects.count() == 30 + 10 + 1


def test_rejected_requests_of_a_full_queue_count_for_their_network_alone(
    client: Client, kim: User, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who was rejected tried again at once, and took each place that became free."""
    settings.MAIL_IN_REQUEST = False
    queue = outgoing_mail.PacedMails()
    monkeypatch.setattr(queue.threads, "submit", lambda act: Future())
    monkeypatch.setattr(outgoing_mail, "paced", lambda: queue)
    monkeypatch.setattr(outgoing_mail, "MOST_WAITING", 0)

    def request(address: str) -> int:
        form = {"email": kim.email}
        return client.post(reverse("password-reset"), form, REMOTE_ADDR=address).status_code

    statuses = [request("192.0.2.1") for _ in range(40)]
    assert statuses == [302] + [429] * 39
    queue.waiting.clear()
    assert request("192.0.2.1") == 429
    assert request("192.0.2.2") == 302
    assert PasswordTry.objects.count() == login_throttle.MAILS_PER_NETWORK + 1


def test_requests_for_resets_delay_no_other_mail(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.MAIL_IN_REQUEST = False
    monkeypatch.setattr(outgoing_mail, "PACED_SECONDS", 0.01)
    answered, sent = threading.Event(), threading.Event()
    queue = outgoing_mail.PacedMails()
    for _ in range(2 * outgoing_mail.PACED_AT_ONCE):
        queue.put("192.0.2.1", partial(answered.wait, 120))
    outgoing_mail.send_later(sent.set)
    assert sent.wait(60)
    answered.set()


def test_mails_are_sent_beside_the_request(settings: Any) -> None:
    settings.MAIL_IN_REQUEST = False
    threads: list[str] = []
    sent = threading.Event()
    outgoing_mail.send_later(lambda: (threads.append(threading.current_thread().name), sent.set()))
    assert sent.wait(120)
    assert threads[0].startswith("mail")


def test_without_a_mail_server_no_reset_link_is_written_to_the_log(
    client: Client, kim: User, settings: Any, capfd: Any
) -> None:
    settings.EMAIL_BACKEND = outgoing_mail.CONSOLE_BACKEND
    answer = client.post(reverse("password-reset"), {"email": "kim@example.org"})
    assert answer.status_code == 409
    assert "changepassword" in answer.content.decode()
    assert client.get(reverse("password-reset")).status_code == 409
    assert reverse("password-reset") not in client.get(reverse("login")).content.decode()
    assert "/password/" not in "".join(capfd.readouterr())


def test_the_reset_mail_names_the_account_and_the_server(client: Client, kim: User) -> None:
    reset_link(client)
    (message,) = mail.outbox
    assert "kim" in message.subject
    assert "testserver" in message.subject
    assert message.to == ["kim@example.org"]


@pytest.mark.parametrize("name", ["kim", "pay-now.at.evil.example", "a@evil.example", "x" * 41])
def test_a_reset_mails_no_name_that_could_be_a_message(client: Client, kim: User, name: str) -> None:
    """Who signs up chooses the name, and an address of anybody."""
    User.objects.filter(pk=kim.pk).update(username=name)
    page = client.get(reset_link(client), follow=True).content.decode()
    assert f"For {name}." in page
    (message,) = mail.outbox
    named = name == "kim"
    assert message.subject == (
        "New password for kim at testserver" if named else "New password at testserver"
    )
    assert ("the account kim at" in str(message.body), "your account at" in str(message.body)) == (
        named, not named,
    )  # fmt: skip
    assert (name in f"{message.subject}{message.body}") == named


ORIGINS = ["https://*.test:7000", "https://own.test:8443", "http://evs.test:8000"]
HOSTS = [
    *(
        (host, True, ORIGINS, "https://own.test:8443")
        for host in ("own.test", "own.test:1", "evs.test", "web")
    ),
    ("evs.test", False, ORIGINS, "https://own.test:8443"),
    ("evs.test", True, ["http://[::1]:8000"], "http://[::1]:8000"),
    ("evs.test:9999", True, [], "https://evs.test"),
    ("EVS.test.:443", True, ORIGINS[:1], "https://evs.test"),
    ("evs.test:9999", False, [], "http://evs.test:9999"),
]


@pytest.mark.parametrize(("host", "secure", "origins", "origin"), HOSTS)
def test_links_in_mails_are_for_the_first_trusted_origin(
    client: Client, kim: User, team: Team, settings: Any, host: str, secure: bool, origins: Any, origin: str
) -> None:
    """Whoever asked for a mail to somebody else chose the host of its link among the allowed ones."""
    settings.ALLOWED_HOSTS = ["evs.test", "own.test", "web"]
    settings.CSRF_TRUSTED_ORIGINS = origins
    linked = origin.partition("//")[2]
    client.post(reverse("password-reset"), {"email": kim.email}, headers={"host": host}, secure=secure)
    client.force_login(kim)
    form = {"place": "team", "subject": team.pk, "role": "member", "days": "7", "people": "nora@example.org"}
    client.post(reverse("invitation-new"), form, headers={"host": host}, secure=secure)
    assert len(mail.outbox) == 2
    for message in mail.outbox:
        assert f"{origin}/" in message.body
        assert message.subject.endswith(f" {linked}")
        assert re.search(rf"\b[Aa]t {re.escape(linked)}[.,]", str(message.body))


# ---- one's own account ---------------------------------------------------------------------------
def test_changing_the_address_needs_the_password_and_changing_the_name_does_not(
    client: Client, kim: User
) -> None:
    client.force_login(kim)
    form = {"change": "person", "first_name": "Kim", "last_name": "Lo", "email": "kim@example.org"}
    assert client.post(reverse("account"), form).status_code == 302
    assert client.post(reverse("account"), form | {"email": "new@example.org"}).status_code == 400
    kim.refresh_from_db()
    assert (kim.shown_name, kim.email) == ("Kim Lo", "kim@example.org")
    assert (
        client.post(reverse("account"), form | {"email": "new@example.org", "password": OLD}).status_code
        == 302
    )
    kim.refresh_from_db()
    assert kim.email == "new@example.org"


@pytest.mark.parametrize(
    ("change", "subject", "link"),
    [
        (
            {"change": "person", "email": "new@example.org", "password": OLD},
            "New e-mail address",
            "/account/",
        ),
        (
            {"change": "password", "old_password": OLD, "new_password1": NEW, "new_password2": NEW},
            "New password",
            "/password/",
        ),
        (
            {"name": "laptop", "scope": "submit", "days": "30", "password": OLD},
            "New token",
            "/account/#tokens",
        ),
    ],
    ids=["address", "password", "token"],
)
def test_the_owner_is_mailed_at_the_address_so_far_about_what_opens_the_account(
    client: Client,
    kim: User,
    django_capture_on_commit_callbacks: Any,
    change: dict[str, str],
    subject: str,
    link: str,
) -> None:
    client.force_login(kim)
    address = reverse("account") if "change" in change else reverse("account-token-new")
    with django_capture_on_commit_callbacks(execute=True):
        assert (
            client.post(address, change | {"password": "wrong", "old_password": "wrong"}).status_code == 400
        )
    assert mail.outbox == []
    with django_capture_on_commit_callbacks(execute=True):
        assert client.post(address, change).status_code == 302
    [message] = mail.outbox
    assert (message.to, message.subject) == (["kim@example.org"], f"{subject} at testserver")
    text = str(message.body)
    assert "the account kim at testserver" in text
    assert re.findall(r"^http://testserver(/\S+)$", text, re.MULTILINE) == [link]
    assert NEW not in text
    assert "new@example.org" not in text


def test_an_owner_is_told_however_many_others_were_from_the_same_network(
    kim: User, django_capture_on_commit_callbacks: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Changes of own accounts used up the mails of a network, then one of somebody else was silent."""
    monkeypatch.setattr(login_throttle, "MAILS_PER_NETWORK", 2)
    own = [User.objects.create_user(f"n{n}", email=f"n{n}@example.org") for n in range(3)]
    request = RequestFactory().post("/")
    with django_capture_on_commit_callbacks(execute=True):
        for user in (*own, *[kim] * 4):
            outgoing_mail.tell_owner(request, user, "identity")
        outgoing_mail.tell_owner(request, kim, "token")
    addresses = [user.email for user in own] + [kim.email] * (login_throttle.MAILS_PER_ADDRESS + 1)
    assert [address for message in mail.outbox for address in message.to] == addresses


def test_one_address_receives_few_mails_of_however_many_accounts(
    client: Client, db: None, django_capture_on_commit_callbacks: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Resets by user names had no limit of the address: each account meant three more mails."""
    monkeypatch.setattr(login_throttle, "MAILS_TO_LATER", 4)
    request, addresses = RequestFactory().post("/"), ["Stranger@example.org", "stranger@example.org"]
    later = [User.objects.create_user(f"n{n}", addresses[n % 2], OLD) for n in range(12)]
    later = later[login_throttle.FIRST_WITH_ADDRESS :]
    with django_capture_on_commit_callbacks(execute=True):
        for user in later[::2]:
            outgoing_mail.tell_owner(request, user, "password")
    assert len(mail.outbox) == 4
    PasswordTry.objects.all().delete()
    mail.outbox.clear()
    for user in later:
        form = {"email": user.email, "username": user.username}
        assert client.post(reverse("password-reset"), form).status_code == 302
    assert len(mail.outbox) == 4


@pytest.mark.parametrize("older", [True, False])
def test_accounts_that_take_the_address_of_an_owner_silence_no_mail_to_the_owner(
    client: Client,
    db: None,
    django_capture_on_commit_callbacks: Any,
    monkeypatch: pytest.MonkeyPatch,
    older: bool,
) -> None:
    """Few accounts with the address used up its notices, then a new address of the owner was silent."""
    monkeypatch.setattr(login_throttle, "MAILS_TO_LATER", 4)
    if older:
        others = [User.objects.create_user(f"n{n}", OLD_ADDRESS, OLD) for n in range(6)]
    kim = User.objects.create_user("kim", "kim@example.org", OLD)
    if not older:
        others = [User.objects.create_user(f"n{n}", OLD_ADDRESS, OLD) for n in range(6)]
    for other in others:
        session = Client()
        session.force_login(other)
        form = {"change": "person", "email": kim.email, "password": OLD}
        assert session.post(reverse("account"), form).status_code == 302
        other.refresh_from_db()
    with django_capture_on_commit_callbacks(execute=True):
        for other in others:
            outgoing_mail.tell_owner(RequestFactory().post("/"), other, "token")
    mail.outbox.clear()
    client.force_login(kim)
    with django_capture_on_commit_callbacks(execute=True):
        outgoing_mail.tell_owner(RequestFactory().post("/"), kim, "token")
        form = {"change": "person", "email": "evil@example.org", "password": OLD}
        assert client.post(reverse("account"), form).status_code == 302
    assert [message.to for message in mail.outbox] == [["kim@example.org"]] * 2


def test_a_reset_without_a_user_name_is_for_those_who_gave_the_address_first(
    client: Client, db: None
) -> None:
    """Older accounts that took it later kept its owner from the mail."""
    older = [User.objects.create_user(f"n{n}", OLD_ADDRESS, OLD) for n in range(3)]
    kim = User.objects.create_user("kim", "kim@example.org", OLD)
    User.objects.filter(pk__in=[user.pk for user in older]).update(
        email=kim.email, email_set_at=timezone.now()
    )
    client.post(reverse("password-reset"), {"email": kim.email})
    assert len(mail.outbox) == login_throttle.FIRST_WITH_ADDRESS
    assert "kim" in mail.outbox[0].subject


def test_deactivated_accounts_keep_nobody_from_the_mails_to_those_who_gave_an_address_first(
    kim: User, db: None
) -> None:
    squatters = [User.objects.create_user(f"n{n}", kim.email.upper(), OLD) for n in range(3)]
    User.objects.filter(pk=kim.pk).update(email_set_at=timezone.now())
    kim.refresh_from_db()
    assert not login_throttle._is_first_with_address(kim)
    User.objects.filter(pk=squatters[0].pk).update(is_active=False)
    assert login_throttle._is_first_with_address(kim)


def test_a_changed_name_alone_is_no_mail(
    client: Client, kim: User, django_capture_on_commit_callbacks: Any
) -> None:
    client.force_login(kim)
    form = {"change": "person", "first_name": "Kim", "email": kim.email}
    with django_capture_on_commit_callbacks(execute=True):
        assert client.post(reverse("account"), form).status_code == 302
    assert mail.outbox == []


def test_a_password_set_by_a_mailed_link_is_told_too(
    client: Client, kim: User, django_capture_on_commit_callbacks: Any
) -> None:
    client.post(reverse("password-reset"), {"email": kim.email})
    [link] = re.findall(r"http://testserver(/password/\S+)", str(mail.outbox[0].body))
    form = client.get(link, follow=True).redirect_chain[0][0]
    with django_capture_on_commit_callbacks(execute=True):
        assert client.post(form, {"new_password1": NEW, "new_password2": NEW}).status_code == 302
    assert [message.subject for message in mail.outbox[1:]] == ["New password at testserver"]


def test_a_new_password_needs_the_current_one_and_ends_other_sessions(client: Client, kim: User) -> None:
    client.force_login(kim)
    other_session = Client()
    other_session.force_login(kim)
    form = {"change": "password", "old_password": "wrong", "new_password1": NEW, "new_password2": NEW}
    assert client.post(reverse("account"), form).status_code == 400
    assert client.post(reverse("account"), form | {"old_password": OLD}).status_code == 302
    assert client.get(reverse("account")).status_code == 200
    assert other_session.get(reverse("account")).status_code == 302


def test_logging_in_begins_a_session_with_a_new_key_and_logging_out_ends_it(
    client: Client, kim: User
) -> None:
    form = {"username": "kim", "password": OLD}
    keys = []
    for _ in range(2):
        client.post(reverse("login"), form)
        keys.append(client.cookies["sessionid"].value)
        assert client.get(reverse("account")).status_code == 200
        assert reverse("logout") in client.get(reverse("home")).content.decode()
        client.post(reverse("logout"))
        thief = Client()
        thief.cookies["sessionid"] = keys[-1]
        assert thief.get(reverse("account")).status_code == 302
    assert len(set(keys)) == 2
    assert min(map(len, keys)) >= 32


@pytest.mark.parametrize(("password", "status"), [("short-7", 400), ("password1", 400), ("ä" * 100, 302)])
def test_a_password_is_long_and_uncommon_of_any_characters(
    client: Client, kim: User, password: str, status: int
) -> None:
    client.force_login(kim)
    form = {"change": "password", "old_password": OLD}
    changed = client.post(reverse("account"), form | {"new_password1": password, "new_password2": password})
    assert changed.status_code == status
    kim.refresh_from_db()
    assert kim.check_password(password) == (status == 302)


@pytest.mark.parametrize("password", ["evalsvc-2026", "Leaderboard!!", "AdminAdmin12", "annotator-abc-1"])
def test_the_listed_words_of_the_service_are_no_passwords(password: str) -> None:
    with pytest.raises(ValidationError, match="less than 4 other letters"):
        validate_password(password)
    validate_password(f"{password}-harbour")
    listed = (ROOT / "docs" / "people.md").read_text()
    assert all(f"`{word}`" in listed for word in SERVICE_WORDS)


def test_a_password_is_checked_exactly_as_it_was_set(client: Client, kim: User) -> None:
    password = " Ein Häfen-Licht "
    client.force_login(kim)
    form = {"change": "password", "old_password": OLD, "new_password1": password, "new_password2": password}
    assert client.post(reverse("account"), form).status_code == 302
    for tried, status in ((password.strip(), 400), (password.lower(), 400), (password, 302)):
        sent = {"username": "kim", "password": tried}
        assert Client().post(reverse("login"), sent).status_code == status, tried


def test_password_fields_are_masked_and_open_to_password_managers(
    client: Client, kim: User, settings: Any
) -> None:
    settings.SIGN_UP = "open"
    pages = shown(client, "login") + shown(client, "sign-up")
    client.force_login(kim)
    fields = re.findall(r'<input[^>]*name="[^"]*password[^"]*"[^>]*>', pages + shown(client, "account"))
    assert len(fields) >= 7
    for field in fields:
        assert 'type="password"' in field
        assert re.search('autocomplete="(current|new)-password"', field)
        assert "onpaste" not in field


def test_attempts_at_the_current_password_are_limited_as_at_login(
    client: Client, kim: User, settings: Any
) -> None:
    settings.PASSWORD_TRIES = 2
    client.force_login(kim)
    form = {"change": "password", "old_password": "wrong", "new_password1": NEW, "new_password2": NEW}
    assert [client.post(reverse("account"), form).status_code for _ in range(3)] == [400, 400, 429]


def test_a_user_creates_tokens_for_their_own_teams_or_for_none(client: Client, kim: User, team: Team) -> None:
    teams.create_team(name="Lugworm", by=User.objects.create_user("lars"))
    client.force_login(kim)
    form = {"name": "laptop", "scope": "read", "days": "30", "password": OLD}
    address = reverse("account-token-new")
    assert [client.post(address, form | {"team": slug}).status_code for slug in ("", "kelpie")] == [302, 302]
    assert client.post(address, form | {"team": "lugworm"}).status_code == 400
    assert set(ApiToken.objects.values_list("user", "team")) == {(kim.pk, None), (kim.pk, team.pk)}
    page = shown(client, "account")
    assert all(token.prefix in page for token in ApiToken.objects.all())
    token = ApiToken.objects.get(team=None)
    client.post(reverse("account-token-revoke", args=[token.pk]))
    assert token.prefix not in shown(client, "account")


@pytest.mark.parametrize("name", ["account-token-new", "token-new"])
def test_a_token_needs_the_password_of_an_account_that_has_one(
    client: Client, kim: User, team: Team, settings: Any, name: str
) -> None:
    """A session that somebody else has would outlive itself, and a new password, by a token."""
    settings.PASSWORD_TRIES = 2
    client.force_login(kim)
    of_team = name == "token-new"
    address = reverse(name, args=["kelpie"] if of_team else [])
    page = client.get(reverse("team", args=["kelpie"]) if of_team else reverse("account")).content.decode()
    asking = re.findall(rf'<form[^>]*action="{address}".*?</form>', page, re.DOTALL)[0]
    assert 'name="password"' in asking
    form = {"name": "laptop", "scope": "read", "days": "30"}
    for sent in (form, form | {"password": "wrong"}):
        response = client.post(address, sent)
        assert (response.status_code, list(response.context["form"].errors)) == (400, ["password"])
        assert 'value="laptop"' in response.content.decode()
    assert not ApiToken.objects.exists()
    assert client.post(address, form | {"password": OLD}).status_code == 302
    assert [client.post(address, form | {"password": "wrong"}).status_code for _ in range(3)] == [
        400,
        400,
        429,
    ]
    kim.set_unusable_password()
    kim.save()
    client.force_login(kim)
    assert client.post(address, form).status_code == 302
    assert ApiToken.objects.count() == 2


def test_a_new_password_comes_with_what_still_opens_the_account(client: Client, kim: User) -> None:
    form = {"new_password1": OLD, "new_password2": OLD, "old_password": OLD, "change": "password"}

    def change() -> str:
        client.force_login(User.objects.get())
        page = client.post(reverse("account"), form, follow=True).content.decode()
        return re.sub("<[^>]*>", "", re.findall(r'<p class="note[^>]*>(.*?)</p>', page)[0])

    assert change() == "Password changed. Your other sessions are logged out."
    tokens.issue(kim, name="cluster")
    tokens.revoke(tokens.issue(kim, name="ended")[0], by=kim)
    Identity.objects.create(user=kim, issuer="https://id.example.org", subject="u1")
    remains = "1 token and 1 identity stay valid: end what is not yours."
    assert change() == f"Password changed. Your other sessions are logged out. {remains}"
    visitor = Client()
    link = visitor.get(reset_link(visitor), follow=True).redirect_chain[0][0]
    page = visitor.post(link, {"new_password1": NEW, "new_password2": NEW}, follow=True).content.decode()
    assert f'<a href="{reverse("account")}#tokens">end what is not yours</a>' in page
    ApiToken.objects.all().delete()
    client.force_login(User.objects.get())
    page = client.post(reverse("account"), form | {"old_password": NEW}, follow=True).content.decode()
    assert f'1 identity stays valid: <a href="{reverse("account")}#sso">' in page


def test_an_owner_revokes_the_tokens_of_others_in_the_team(client: Client, kim: User, team: Team) -> None:
    lars = User.objects.create_user("lars")
    teams.add_member(team, user=lars, by=kim)
    token, secret = tokens.issue(lars, name="cluster", team=team)
    client.force_login(kim)
    client.post(reverse("token-revoke", args=["kelpie", token.pk]))
    assert tokens.find(secret) is None


def test_a_member_may_leave_but_not_remove_others(client: Client, kim: User, team: Team) -> None:
    lars = User.objects.create_user("lars")
    own = teams.add_member(team, user=lars, by=kim)
    owner = team.members.get(user=kim)
    client.force_login(lars)
    assert client.post(reverse("team-member-remove", args=["kelpie", owner.pk])).status_code == 403
    assert client.post(reverse("team-member-remove", args=["kelpie", own.pk])).status_code == 302
    assert teams.role_in(team, lars) is None


# ---- everyone ------------------------------------------------------------------------------------
def test_an_administrator_allows_organising_and_deactivates_accounts(client: Client, kim: User) -> None:
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
    assert 'value="in"' in shown(client, "people")
