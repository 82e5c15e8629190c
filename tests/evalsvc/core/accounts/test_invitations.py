"""Invitations: one link, one person, one place, and never more than the inviter may give."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from django.db import connection
from django.http import Http404
from django.utils import timezone

from annotation import project_invitations, projects
from evalsvc.core.accounts import invitations, teams, users
from evalsvc.core.accounts.models import Invitation, Team, User
from evalsvc.core.accounts.teams import create_team, role_in
from evalsvc.core.errors.exceptions import Conflict, DomainError, NotAllowed
from evalsvc.evaluation.benchmarks import creation, organisers
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
    return invitations.invite(teams.PLACE, team, role=role, by=by)[1]


def test_a_link_lets_one_person_in_once(team: Team, kim: User) -> None:
    secret = link(team, kim)
    lars = person("lars")
    invitations.accept(secret, user=lars)
    assert role_in(team, lars) == "member"
    with pytest.raises(Conflict, match="was used already") as late:
        invitations.accept(secret, user=person("mia"))
    assert "ask kim for a new one" in late.value.hint
    assert Invitation.objects.get().used_by == lars


def test_only_the_digest_of_a_link_is_kept(team: Team, kim: User) -> None:
    secret = link(team, kim)
    assert secret not in str(list(Invitation.objects.values()))
    assert invitations.opened(secret).subject == team


def test_a_link_ends_with_its_days(team: Team, kim: User) -> None:
    secret = link(team, kim)
    Invitation.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    with pytest.raises(Conflict, match="is over"):
        invitations.opened(secret)
    with pytest.raises(Http404):
        invitations.opened("made-up")


def test_a_link_that_was_taken_back_leads_nowhere(team: Team, kim: User) -> None:
    secret = link(team, kim)
    invitations.revoke(Invitation.objects.get(), by=kim)
    with pytest.raises(Conflict, match="was taken back"):
        invitations.accept(secret, user=person("lars"))


def test_members_who_own_nothing_invite_nobody_and_strangers_find_no_team(team: Team, kim: User) -> None:
    lars = person("lars")
    teams.add_member(team, user=lars, by=kim)
    with pytest.raises(NotAllowed):
        link(team, lars)
    with pytest.raises(Http404):
        link(team, person("mia"))


def test_a_link_is_worth_what_its_maker_may_give_when_it_is_used(team: Team, kim: User) -> None:
    secret = link(team, kim)
    teams.add_member(team, user=person("mia"), role="owner", by=kim)
    teams.add_member(team, user=kim, by=kim)
    with pytest.raises(NotAllowed, match="may no longer invite"):
        invitations.accept(secret, user=person("lars"))
    assert not Invitation.objects.filter(used_at__isnull=False).exists()


def test_whoever_is_in_keeps_their_role_and_the_link(team: Team, kim: User) -> None:
    secret = link(team, kim)
    with pytest.raises(Conflict, match="already"):
        invitations.accept(secret, user=kim)
    assert role_in(team, kim) == "owner"
    assert invitations.opened(secret)


@pytest.mark.parametrize(("role", "days", "code"), [("king", 7, "unknown_role"), ("member", 91, "bad_days")])
def test_an_odd_role_or_term_is_refused(team: Team, kim: User, role: str, days: int, code: str) -> None:
    with pytest.raises(DomainError) as refused:
        invitations.invite(teams.PLACE, team, role=role, by=kim, days=days)
    assert refused.value.code == code


def test_a_link_gives_a_role_in_a_project(kim: User) -> None:
    project = projects.create(title="Harbour", kind="relations", by=kim)
    _, secret = invitations.invite(project_invitations.PLACE, project, role="annotator", by=kim)
    lars = person("lars")
    found = invitations.accept(secret, user=lars)
    assert project.members.get(user=lars).role == "annotator"
    assert found.address == "/projects/harbour/"


def test_a_link_gives_a_role_in_a_benchmark(kim: User) -> None:
    board = creation.create(title="Tides", slug="tides", task="relations", labels=["a"], by=kim)
    _, secret = invitations.invite(organisers.PLACE, board, role="organiser", by=kim)
    lars = person("lars")
    invitations.accept(secret, user=lars)
    assert Organiser.objects.get(benchmark=board, user=lars).role == "organiser"


def test_only_administrators_invite_to_a_mere_account(kim: User) -> None:
    with pytest.raises(NotAllowed):
        invitations.invite(users.PLACE, users.Here(), role="person", by=kim)
    root = person("root", is_superuser=True)
    _, secret = invitations.invite(users.PLACE, users.Here(), role="organiser", by=root)
    made = users.sign_up(username="nora", email="n@example.org", password="seven-lamps", secret=secret)
    assert made.may_organise


def test_of_many_who_open_a_link_at_once_one_gets_in(either_database: str) -> None:
    kim = person("kim")
    team = create_team(name="Kelpie", by=kim)
    secret = link(team, kim)
    people = [person(f"p{n}") for n in range(8)]
    outcomes: list[str] = []

    def come(user: User) -> None:
        try:
            invitations.accept(secret, user=user)
            outcomes.append("in")
        except Conflict:
            outcomes.append("late")
        finally:
            connection.close()

    threads = [threading.Thread(target=come, args=[user]) for user in people]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["in"] + ["late"] * 7
    assert team.members.count() == 2
