"""API tokens: shown once, stored as a digest."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta

from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone

from evalsvc.core import database
from evalsvc.core.accounts import security_log, sessions
from evalsvc.core.accounts.models import ApiToken, Team, User
from evalsvc.core.errors.exceptions import NotAllowed

# Every request of the API reads these; as ORM queries they cost a sixth of labelling an item.
BY_DIGEST = "SELECT * FROM teams_apitoken WHERE digest = %(digest)s AND revoked_at IS NULL"
# asks for the token again: one that has just ended would else go with the account as it is afterwards
ACTIVE_USER = """SELECT * FROM teams_user WHERE id = %(user)s AND is_active
    AND EXISTS (SELECT 1 FROM teams_apitoken WHERE id = %(token)s AND revoked_at IS NULL)"""
PREFIX = "evs_"
Scope = ApiToken.Scope
OF_TEAM = "A token of a team acts for the team alone, without the roles of its owner."
WITHOUT_TEAM = "Create a token without a team, on your account page."


def digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def issue(
    user: User,
    *,
    name: str,
    team: Team | None = None,
    scope: str = Scope.SUBMIT,
    days: int | None = None,
) -> tuple[ApiToken, str]:
    """Create a token; its secret is returned here and stored nowhere."""
    secret = PREFIX + secrets.token_urlsafe(32)
    with transaction.atomic():
        if team is not None:
            lock_membership(team, user)
        sessions.lock_active(user)
        token = ApiToken.objects.create(
            user=user,
            team=team,
            name=name,
            scope=scope,
            prefix=secret[:12],
            digest=digest(secret),
            expires_at=Now() + timedelta(days=days) if days else None,
        )
    security_log.write("token_made", account=user, token_id=token.pk, scope=scope, team=team and team.slug)
    return token, secret


def lock_membership(team: Team, user: User) -> None:
    """Lock a team; reject a person who was removed from it since the request began."""
    Team.objects.select_for_update(no_key=True).get(pk=team.pk)
    if not team.members.filter(user=user).exists():
        raise NotAllowed("not_in_team", f"You are not a member of team {team}.")


def revoke(token: ApiToken, *, by: User) -> None:
    ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=Now())
    security_log.write("token_revoked", account=token.user, token_id=token.pk, by=by)


def find(secret: str) -> ApiToken | None:
    """Return a valid token of an active user."""
    token = database.first(ApiToken, BY_DIGEST, digest=digest(secret))
    if token is None or (token.expires_at is not None and token.expires_at <= timezone.now()):
        return None
    user = database.first(User, ACTIVE_USER, user=token.user_id, token=token.pk)
    if user is None:
        return None
    if token.team_id:  # without rights of its own; roles are looked up by `team_of_token`
        user.team_of_token = token.team_id
        user.is_superuser = user.is_staff = user.may_organise = False
    token.user = user
    return token
