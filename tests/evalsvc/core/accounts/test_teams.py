"""Teams, their members and their tokens."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest

from evalsvc.core.accounts import tokens
from evalsvc.core.accounts.invitations import accept, invite
from evalsvc.core.accounts.models import ApiToken, Team, User
from evalsvc.core.accounts.teams import (
    INVITATION_TARGET,
    add_member,
    change_role,
    create_team,
    remove_member,
    role_in,
)
from evalsvc.core.errors.exceptions import Conflict, DomainError, NotAllowed

pytestmark = pytest.mark.django_db


def person(name: str) -> User:
    return User.objects.create_user(name)


@pytest.fixture
def team() -> Team:
    return create_team(name="Kelpie", by=person("kim"))


def owner(team: Team) -> User:
    return team.members.get(role="owner").user


def test_the_creator_of_a_team_is_its_owner(team: Team) -> None:
    assert (team.slug, role_in(team, owner(team))) == ("kelpie", "owner")


def test_the_number_of_teams_a_user_owns_is_limited(settings: Any) -> None:
    settings.TEAMS_PER_PERSON = 2
    kim = person("kim")
    first = create_team(name="One", by=kim)
    create_team(name="Two", by=kim)
    with pytest.raises(Conflict, match="2 teams") as caught:
        create_team(name="Three", by=kim)
    assert caught.value.code == "too_many_teams"
    add_member(first, user=person("lars"), by=kim, role="owner")
    remove_member(first, user=kim, by=kim)
    assert create_team(name="Three", by=kim).name == "Three"


def test_who_is_made_an_owner_by_others_has_the_same_limit(settings: Any) -> None:
    settings.TEAMS_PER_PERSON = 1
    kim, lars = person("kim"), person("lars")
    team = create_team(name="One", by=kim)
    create_team(name="Two", by=lars)
    add_member(team, user=lars, by=kim)
    with pytest.raises(Conflict, match="lars owns 1 team") as caught:
        change_role(team, username="lars", by=kim, role="owner")
    assert caught.value.code == "too_many_teams"
    remove_member(team, user=lars, by=kim)
    _, secret = invite(INVITATION_TARGET, team, role="owner", by=kim)
    with pytest.raises(Conflict, match="lars owns 1 team"):
        accept(secret, user=lars)
    assert role_in(team, lars) is None
    add_member(team, user=kim, by=kim, role="owner")  # who is one already
    add_member(team, user=lars, by=User.objects.create_superuser("ruth"), role="owner")
    assert role_in(team, lars) == "owner"


def test_administrators_may_own_any_number_of_teams(settings: Any) -> None:
    settings.TEAMS_PER_PERSON = 1
    ruth = User.objects.create_superuser("ruth")
    assert [create_team(name=name, by=ruth).name for name in ("One", "Two")] == ["One", "Two"]


def test_two_teams_cannot_share_a_name(team: Team) -> None:
    with pytest.raises(Conflict) as rejected:
        create_team(name="Kelpie", by=owner(team))
    assert rejected.value.code == "name_taken"


def test_a_team_name_with_an_invisible_character_is_rejected(team: Team) -> None:
    with pytest.raises(DomainError, match="U\\+200B ZERO WIDTH SPACE") as caught:
        create_team(name="Kel\u200bpie", by=owner(team))
    assert (caught.value.code, caught.value.field) == ("unseen_character", "name")


def test_teams_whose_names_share_latin_letters_alone_are_told_apart() -> None:
    ruth = User.objects.create_superuser("ruth")
    plain = ["NLP", "ODZ NLP", "A Nang", "Lab"]
    names = [*plain, "北京大学 NLP", "清华大学 NLP", "ΔNLP", "Łódź NLP", "Đà Nẵng", "Ø Lab"]
    slugs = [create_team(name=name, by=ruth).slug for name in names]
    assert len({*slugs}) == len(names)
    assert slugs[: len(plain)] == ["nlp", "odz-nlp", "a-nang", "lab"]
    assert all(re.search("-[0-9a-f]{8}$", slug) for slug in slugs[len(plain) :])
    assert create_team(name="Universität Gießen", by=ruth).slug == "universitat-giessen"


@pytest.mark.parametrize("other", ["NA", "n/a", "Ñ/A", "ＮＡ？", "_NA_"])
def test_names_that_differ_in_case_accents_or_signs_alone_are_one(other: str) -> None:
    ruth = User.objects.create_superuser("ruth")
    for name in ("N/A", "МГУ NLP"):
        create_team(name=name, by=ruth)
    for name in (other, "мгу nlp"):
        with pytest.raises(Conflict, match=f"The name {re.escape(name)} is taken, or differs from another"):
            create_team(name=name, by=ruth)


def test_a_team_may_have_an_official_name_with_quotation_marks_and_any_words(team: Team) -> None:
    ruth = User.objects.create_superuser("ruth")
    for name in ("Sofia University “St. Kliment Ohridski”", "Institute for IS, Karlsruhe", "ahead.ai"):
        assert create_team(name=name, by=ruth).name == name


def test_a_team_name_that_ends_like_a_mark_of_tables_is_rejected(team: Team) -> None:
    with pytest.raises(DomainError, match="cannot end in \\(reported, Gao 2021") as caught:
        create_team(name="Kelpie (reported, Gao 2021)", by=owner(team))
    assert (caught.value.code, caught.value.field) == ("bad_name", "name")


@pytest.mark.parametrize(
    "name",
    [
        "Baseline",
        "-ＢＡＳＥＬＩＮＥＳ-",
        "Organisers of Trial",
        "Team of the organisers",
        "The evalsvc team",
        "the organizers",
        "evalsvc",
        "Administrator",
        "Net（final entry",
    ],
)
def test_a_name_that_the_service_uses_itself_names_no_team(team: Team, name: str) -> None:
    with pytest.raises(DomainError) as caught:
        create_team(name=name, by=owner(team))
    assert (caught.value.code, caught.value.field) == ("bad_name", "name")


@pytest.mark.parametrize("name", ["Beyond Baselines", "Finalists", "Self-organisers", "Kelpie (Bergen)"])
def test_a_name_that_only_has_such_a_word_names_a_team(name: str) -> None:
    assert create_team(name=name, by=person("kim")).name == name


def test_a_team_name_with_and_without_the_mark_of_an_emoji_is_one(team: Team) -> None:
    assert create_team(name="Heart ❤\ufe0f", by=owner(team)).name == "Heart ❤"
    with pytest.raises(Conflict):
        create_team(name="Heart ❤", by=owner(team))


def test_a_team_name_with_a_look_alike_letter_is_rejected(team: Team) -> None:
    with pytest.raises(DomainError, match="U\\+0435 CYRILLIC SMALL LETTER IE") as caught:
        create_team(name="K\u0435lpie", by=owner(team))
    assert (caught.value.code, caught.value.field) == ("mixed_alphabets", "name")


def test_a_team_name_in_any_script_gets_a_slug_of_its_own() -> None:
    kim = person("kim")
    created = [create_team(name=name, by=kim) for name in ("Яндекс 2", "Вектор 2", "模型")]
    assert [team.name for team in created] == ["Яндекс 2", "Вектор 2", "模型"]
    assert len({team.slug for team in created}) == 3
    assert all(re.fullmatch(r"team-[0-9a-f]{8}", team.slug) for team in created)
    with pytest.raises(Conflict) as rejected:
        create_team(name="模型", by=person("lars"))
    assert rejected.value.code == "name_taken"


def test_a_team_name_without_letters_is_rejected() -> None:
    with pytest.raises(DomainError) as rejected:
        create_team(name="…", by=person("kim"))
    assert (rejected.value.code, rejected.value.field) == ("bad_name", "name")


def test_an_owner_adds_members_and_changes_their_role(team: Team) -> None:
    lars = person("lars")
    add_member(team, user=lars, by=owner(team))
    assert role_in(team, lars) == "member"
    add_member(team, user=lars, by=owner(team), role="owner")
    assert role_in(team, lars) == "owner"


def test_a_member_may_not_add_members(team: Team) -> None:
    lars = person("lars")
    add_member(team, user=lars, by=owner(team))
    with pytest.raises(NotAllowed):
        add_member(team, user=person("mia"), by=lars)


def test_leaving_a_team_deletes_the_tokens_for_it(team: Team) -> None:
    lars = person("lars")
    add_member(team, user=lars, by=owner(team))
    _, secret = tokens.issue(lars, name="cluster", team=team)
    remove_member(team, user=lars, by=lars)
    assert role_in(team, lars) is None
    assert tokens.find(secret) is None
    assert not ApiToken.objects.exists()


def test_no_token_of_a_team_is_made_while_its_maker_is_being_removed(team: Team) -> None:
    """The form of a token may have read the membership before, and a password takes its time."""
    lars = person("lars")
    add_member(team, user=lars, by=owner(team))
    remove_member(team, user=lars, by=owner(team))
    with pytest.raises(NotAllowed) as rejected:
        tokens.issue(lars, name="cluster", team=team)
    assert rejected.value.code == "not_in_team"
    assert not ApiToken.objects.exists()


def test_a_team_keeps_an_owner(team: Team) -> None:
    kim = owner(team)
    for change in (lambda: remove_member(team, user=kim, by=kim), lambda: add_member(team, user=kim, by=kim)):
        with pytest.raises(Conflict) as rejected:
            change()
        assert rejected.value.code == "last_owner"
    assert role_in(team, kim) == "owner"


def test_a_token_is_found_by_its_secret_until_it_is_revoked(team: Team) -> None:
    token, secret = tokens.issue(owner(team), name="cluster", team=team)
    assert tokens.find(secret) == token
    assert len(secret) >= 43  # 256 random bits in base 64
    assert secret not in str(ApiToken.objects.values_list("digest", "prefix", "name").get())
    tokens.revoke(token, by=token.user)
    assert tokens.find(secret) is None


def test_a_token_expires(team: Team) -> None:
    token, secret = tokens.issue(owner(team), name="short", days=1)
    ApiToken.objects.filter(pk=token.pk).update(expires_at=token.created_at - timedelta(seconds=1))
    assert tokens.find(secret) is None
