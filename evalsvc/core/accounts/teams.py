"""Teams and their members."""

from __future__ import annotations

import hashlib
import re

from django.conf import settings
from django.db import transaction
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.text import slugify

from evalsvc.core.accounts import security_log
from evalsvc.core.accounts.invitations import InvitationTarget
from evalsvc.core.accounts.models import Departure, Team, TeamMember, User
from evalsvc.core.errors.exceptions import Conflict, DomainError, NotAllowed
from evalsvc.core.web.formatting import counted, quoted
from evalsvc.core.web.text_validation import (
    folded,
    require_clear,
    require_team_name,
    require_unreserved,
    without_emoji_marks,
)

OWNER, MEMBER = TeamMember.Role.OWNER, TeamMember.Role.MEMBER


def name_with_team(name: str, team_slug: str) -> str:
    """Return a name for a place without its board, such as a feed.

    The team stands outside the quotation marks, or “Net of Tern” might be a system of that name.
    """
    return f"{quoted(name)} (team {team_slug})"


def create_team(*, name: str, by: User, slug: str = "") -> Team:
    """Create a team with its creator as owner."""
    name = without_emoji_marks(name).strip()
    slug = slug or _slug(name)
    if not name or not slug:
        raise DomainError("bad_name", "A team name needs at least one letter or digit.", field="name")
    require_clear(name, field="name")
    require_team_name(name, field="name")
    require_unreserved(slug, field="name")
    with transaction.atomic():
        _require_below_limit(by, by=by)
        if Team.objects.filter(name=name).exists() or Team.objects.filter(slug=slug).exists():
            detail = f"The name {name} is taken, or differs from another in case, accents or signs alone."
            raise Conflict("name_taken", detail, hint="Choose another name.")
        team = Team.objects.create(name=name, slug=slug)
        TeamMember.objects.create(team=team, user=by, role=OWNER)
        security_log.write("role_set", account=by, role=OWNER, team=slug, by=by)
    return team


def _slug(name: str) -> str:
    """Make a slug from the name, with a digest if it lacks letters of the name."""
    plain = folded(name).replace("_", " ")
    slug = slugify(plain)[:60]
    if any(char.isalpha() and not char.isascii() for char in plain):
        words = slug[:50].rstrip("-") if re.search("[a-z]", slug) else "team"
        return f"{words}-{hashlib.sha256(plain.encode()).hexdigest()[:8]}"
    return slug


def _require_below_limit(user: User, *, by: User) -> None:
    """Limit the teams of an owner: quotas and places among tests count per team."""
    if user.is_superuser or by.is_superuser:
        return
    User.objects.select_for_update(no_key=True).get(pk=user.pk)
    limit = settings.TEAMS_PER_PERSON
    if user.memberships.filter(role=OWNER).count() >= limit:
        raise Conflict(
            "too_many_teams",
            f"{'You own' if user == by else f'{user} owns'} {counted(limit, 'team')}, which is the limit.",
            hint="Make another member the owner of one of them, or ask an administrator.",
        )


def role_in(team: Team, user: User) -> str | None:
    return TeamMember.objects.filter(team=team, user=user).values_list("role", flat=True).first()


def require_owner(team: Team, user: User) -> None:
    if not is_owner(team, user):
        raise NotAllowed("not_owner", f"Only owners of {team} can change its members.")


def is_owner(team: Team, user: User) -> bool:
    """Treat administrators as owners of every team."""
    return user.is_superuser or role_in(team, user) == OWNER


def add_member(team: Team, *, user: User, by: User, role: str = MEMBER) -> TeamMember:
    """Add a member, or change the role of one."""
    with transaction.atomic():
        Team.objects.select_for_update().get(pk=team.pk)
        require_owner(team, by)
        if role != OWNER:
            _require_other_owner(team, user)
        elif role_in(team, user) != OWNER:
            _require_below_limit(user, by=by)
        member, _ = TeamMember.objects.update_or_create(team=team, user=user, defaults={"role": role})
        security_log.write("role_set", account=user, role=role, team=team.slug, by=by)
    return member


def change_role(team: Team, *, username: str, by: User, role: str) -> None:
    """Change the role of a member; others become one by an invitation."""
    with transaction.atomic():
        Team.objects.select_for_update().get(pk=team.pk)
        require_owner(team, by)
        member = team.members.select_related("user").filter(user__username=username).first()
        if member is None:
            raise Conflict("no_member", f"{team} has no member {username}.", hint="Invite others by a link.")
        add_member(team, user=member.user, by=by, role=role)


def remove_member(team: Team, *, user: User, by: User) -> None:
    """Remove a member and their tokens: oneself, or anyone as an owner."""
    with transaction.atomic():
        Team.objects.select_for_update().get(pk=team.pk)
        if user != by:
            require_owner(team, by)
        _require_other_owner(team, user)
        if TeamMember.objects.filter(team=team, user=user).delete()[0]:
            Departure.objects.create(team=team, user=user)
            security_log.write("role_removed", account=user, team=team.slug, by=by)
        team.tokens.filter(user=user).delete()


def _require_other_owner(team: Team, user: User) -> None:
    owners = set(TeamMember.objects.filter(team=team, role=OWNER).values_list("user_id", flat=True))
    if owners == {user.pk}:
        raise Conflict(
            "last_owner", f"{user} is the only owner of {team}.", hint="Make another member an owner first."
        )


def _require_inviter(team: Team, user: User) -> None:
    if not user.is_superuser and role_in(team, user) is None:
        raise Http404
    require_owner(team, user)


INVITATION_TARGET = InvitationTarget(
    name="team",
    noun="team",
    roles=((MEMBER, "member"), (OWNER, "owner")),
    find=lambda pk: get_object_or_404(Team, pk=pk),
    require_inviter=_require_inviter,
    role_of=role_in,
    admit=lambda team, user, role, by: add_member(team, user=user, role=role, by=by),
    url=lambda team: reverse("team", args=[team.slug]),
    members_url=lambda team: reverse("team", args=[team.slug]),
)
