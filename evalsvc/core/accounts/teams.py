"""Teams and who is in them."""

from __future__ import annotations

import hashlib
import re

from django.conf import settings
from django.db import transaction
from django.http import Http404
from django.urls import reverse
from django.utils.text import slugify

from evalsvc.core.accounts.invitation_targets import Place
from evalsvc.core.accounts.models import Departure, Team, TeamMember, User
from evalsvc.core.errors.exceptions import Conflict, DomainError, NotAllowed
from evalsvc.core.web.formatting import counted
from evalsvc.core.web.text_validation import require_single_script, require_visible

OWNER, MEMBER = TeamMember.Role.OWNER, TeamMember.Role.MEMBER


def create_team(*, name: str, by: User, slug: str = "") -> Team:
    """Make a team; its maker owns it."""
    name = name.strip()
    slug = slug or _address(name)
    if not name or not slug:
        raise DomainError("bad_name", "A team needs a name with at least one letter or digit.", field="name")
    require_visible(name, field="name")
    require_single_script(name, field="name")
    with transaction.atomic():
        _require_room(by)
        if Team.objects.filter(name=name).exists() or Team.objects.filter(slug=slug).exists():
            raise Conflict("name_taken", f"There is a team named {name} already.", hint="Choose another.")
        team = Team.objects.create(name=name, slug=slug)
        TeamMember.objects.create(team=team, user=by, role=OWNER)
    return team


def _address(name: str) -> str:
    """What stands in addresses: the name's own letters, or a digest where it has none for them."""
    made = slugify(name)[:60]
    if not re.search("[a-z]", made) and any(each.isalpha() for each in name):
        return f"team-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    return made


def _require_room(user: User) -> None:
    """Refuse one team more than a person may own: what a board allows, it allows each team."""
    if user.is_superuser:
        return
    User.objects.select_for_update(no_key=True).get(pk=user.pk)
    most = settings.TEAMS_PER_PERSON
    if user.memberships.filter(role=OWNER).count() >= most:
        hint = "Make someone else the owner of one of them, or ask whoever runs this place."
        raise Conflict("too_many_teams", f"You own {counted(most, 'team')}, as many as one may.", hint=hint)


def role_in(team: Team, user: User) -> str | None:
    """The person's role in the team; None when they are not in it."""
    return TeamMember.objects.filter(team=team, user=user).values_list("role", flat=True).first()


def require_owner(team: Team, user: User) -> None:
    if not user.is_superuser and role_in(team, user) != OWNER:
        raise NotAllowed("not_owner", f"Only an owner of {team} may change who is in it.")


def add_member(team: Team, *, user: User, by: User, role: str = MEMBER) -> TeamMember:
    """Put a person into the team, or change their role."""
    with transaction.atomic():
        Team.objects.select_for_update().get(pk=team.pk)
        require_owner(team, by)
        if role != OWNER:
            _keep_an_owner(team, without=user)
        member, _ = TeamMember.objects.update_or_create(team=team, user=user, defaults={"role": role})
    return member


def remove_member(team: Team, *, user: User, by: User) -> None:
    """Take a person out of the team; anyone may leave, an owner may take out others."""
    with transaction.atomic():
        Team.objects.select_for_update().get(pk=team.pk)
        if user != by:
            require_owner(team, by)
        _keep_an_owner(team, without=user)
        if TeamMember.objects.filter(team=team, user=user).delete()[0]:
            Departure.objects.create(team=team, user=user)
        team.tokens.filter(user=user).delete()


def _keep_an_owner(team: Team, *, without: User) -> None:
    owners = TeamMember.objects.filter(team=team, role=OWNER)
    if owners.filter(user=without).exists() and not owners.exclude(user=without).exists():
        raise Conflict(
            "last_owner", f"{team} would be without an owner.", hint="Make someone else an owner first."
        )


def _require_inviter(team: Team, user: User) -> None:
    if not user.is_superuser and role_in(team, user) is None:
        raise Http404
    require_owner(team, user)


def _found(pk: int) -> Team:
    team = Team.objects.filter(pk=pk).first()
    if team is None:
        raise Http404
    return team


def _admit(team: Team, user: User, role: str, by: User) -> None:
    add_member(team, user=user, role=role, by=by)


PLACE = Place(
    name="team",
    noun="team",
    roles=((MEMBER, "member"), (OWNER, "owner")),
    find=_found,
    require=_require_inviter,
    role_of=role_in,
    admit=_admit,
    address=lambda team: reverse("team", args=[team.slug]),
    staffed_at=lambda team: reverse("team", args=[team.slug]),
)
