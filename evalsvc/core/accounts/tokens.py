"""API tokens: shown once, stored as a digest."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta

from django.db.models.functions import Now
from django.utils import timezone

from evalsvc.core.accounts.models import ApiToken, Team, User

PREFIX = "evs_"
Scope = ApiToken.Scope


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
    token = ApiToken.objects.create(
        user=user,
        team=team,
        name=name,
        scope=scope,
        prefix=secret[:12],
        digest=digest(secret),
        expires_at=Now() + timedelta(days=days) if days else None,
    )
    return token, secret


def revoke(token: ApiToken) -> None:
    ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=Now())


def find(secret: str) -> ApiToken | None:
    """Return a valid token of an active user."""
    token = ApiToken.objects.select_related("user").filter(digest=digest(secret), revoked_at=None).first()
    if token is None or not token.user.is_active:
        return None
    return token if token.expires_at is None or token.expires_at > timezone.now() else None
