"""Invitation links: used once, limited in time, limited to the rights of the inviter."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from django.db import connection
from django.http import Http404
from django.utils import timezone

from annotation import projects
from evalsvc.core.accounts import invitations, teams, users
from evalsvc.core.accounts.models import Invitation, Team, User
from evalsvc.core.accounts.teams import create_team, role_in
from evalsvc.core.errors.exceptions import Conflict, DomainError, NotAllowed
from evalsvc.evaluation import roles
from evalsvc.evaluation.benchmarks import creation
from evalsvc.evaluation.models import Organiser


def person(name: str, **more: bool) -> User:
    return User.objects.create_user(name, **more)


@pytest.fixture
def kim(db: None) -> User:
    return person("kim", may_organise=True)


@pytest.fixture
def team(kim: User) -> Team:
    return create_team(name="Kelpie", by=kim)


def link(team: Team, by: User, role: str = "member") -> str:
    return invitations.invite(teams.INVITATION_TARGET, team, role=role, by=by)[1]


def test_a_link_admits_one_person_once(team: Team, kim: User) -> None:
    secret = link(team, kim)
    lars = person("lars")
    invitations.accept(secret, user=lars)
    assert role_in(team, lars) == "member"
    with pytest.raises(Conflict) as rejected:
        invitations.accept(secret, user=person("mia"))
    assert rejected.value.code == "invitation_over"
    assert "kim" in rejected.value.hint
    assert Invitation.objects.get().used_by == lars


def test_only_the_digest_of_a_link_is_stored(team: Team, kim: User) -> None:
    secret = link(team, kim)
    assert secret not in str(list(Invitation.objects.values()))
    assert invitations.find_open(secret).subject == team


def test_a_link_expires(team: Team, kim: User) -> None:
    secret = link(team, kim)
    Invitation.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    with pytest.raises(Conflict) as rejected:
        invitations.find_open(secret)
    assert rejected.value.code == "invitation_over"
    with pytest.raises(Http404):
        invitations.find_open("made-up")


def test_a_revoked_link_admits_nobody(team: Team, kim: User) -> None:
    secret = link(team, kim)
    invitations.revoke(Invitation.objects.get(), by=kim)
    with pytest.raises(Conflict) as rejected:
        invitations.accept(secret, user=person("lars"))
    assert rejected.value.code == "invitation_over"


def test_members_who_are_no_owner_may_not_invite_and_strangers_get_404(team: Team, kim: User) -> None:
    lars = person("lars")
    teams.add_member(team, user=lars, by=kim)
    with pytest.raises(NotAllowed):
        link(team, lars)
    with pytest.raises(Http404):
        link(team, person("mia"))


def test_a_link_is_void_when_its_creator_may_no_longer_invite(team: Team, kim: User) -> None:
    secret = link(team, kim)
    teams.add_member(team, user=person("mia"), role="owner", by=kim)
    teams.add_member(team, user=kim, by=kim)
    for use in (invitations.find_open, lambda link: invitations.accept(link, user=person("lars"))):
        with pytest.raises(NotAllowed) as rejected:
            use(secret)
        assert rejected.value.code == "invitation_void"
    assert not Invitation.objects.filter(used_at__isnull=False).exists()


def test_a_member_keeps_their_role_and_leaves_the_link_unused(team: Team, kim: User) -> None:
    secret = link(team, kim)
    with pytest.raises(Conflict) as rejected:
        invitations.accept(secret, user=kim)
    assert rejected.value.code == "already_in"
    assert role_in(team, kim) == "owner"
    assert invitations.find_open(secret)


@pytest.mark.parametrize(("role", "days", "code"), [("king", 7, "unknown_role"), ("member", 91, "bad_days")])
def test_an_unknown_role_or_too_long_a_term_is_rejected(
    team: Team, kim: User, role: str, days: int, code: str
) -> None:
    with pytest.raises(DomainError) as rejected:
        invitations.invite(teams.INVITATION_TARGET, team, role=role, by=kim, days=days)
    assert rejected.value.code == code


def test_a_link_gives_a_role_in_a_project(kim: User) -> None:
    project = projects.create(title="Harbour", kind="relations", by=kim)
    _, secret = invitations.invite(projects.INVITATION_TARGET, project, role="annotator", by=kim)
    lars = person("lars")
    invitation = invitations.accept(secret, user=lars)
    assert project.members.get(user=lars).role == "annotator"
    assert invitation.url == "/projects/harbour/"


def test_a_link_gives_a_role_in_a_benchmark(kim: User) -> None:
    board = creation.create(title="Tides", slug="tides", task="relations", labels=["a"], by=kim)
    _, secret = invitations.invite(roles.INVITATION_TARGET, board, role="organiser", by=kim)
    lars = person("lars")
    invitations.accept(secret, user=lars)
    assert Organiser.objects.get(benchmark=board, user=lars).role == "organiser"


def test_only_administrators_invite_to_an_account(kim: User) -> None:
    with pytest.raises(Http404):  # as for an invitation that does not exist
        invitations.invite(users.INVITATION_TARGET, users.Installation(), role="person", by=kim)
    root = person("root", is_superuser=True)
    _, secret = invitations.invite(users.INVITATION_TARGET, users.Installation(), role="organiser", by=root)
    nora = users.sign_up(username="nora", email="n@example.org", password="seven-lamps", secret=secret)
    assert nora.may_organise


def test_of_many_simultaneous_uses_of_a_link_one_succeeds(either_database: str) -> None:
    kim = person("kim")
    team = create_team(name="Kelpie", by=kim)
    secret = link(team, kim)
    people = [person(f"p{n}") for n in range(8)]
    outcomes: list[str] = []

    def use(user: User) -> None:
        try:
            invitations.accept(secret, user=user)
            outcomes.append("admitted")
        except Conflict:
            outcomes.append("rejected")
        finally:
            connection.close()

    threads = [threading.Thread(target=use, args=[user]) for user in people]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["admitted"] + ["rejected"] * 7
    assert team.members.count() == 2
