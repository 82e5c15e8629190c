"""API tokens: made once and shown once, stored as a digest, read from the Authorization header."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta

from django.db.models import BooleanField, CharField, ExpressionWrapper, Q
from django.db.models.functions import Now
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from evalsvc.core.accounts.models import ApiToken, Team, User
from evalsvc.core.db.prepared_queries import Given, Prepared

PREFIX = "evs_"


def digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def issue(
    user: User,
    *,
    name: str,
    team: Team | None = None,
    scope: str = ApiToken.Scope.SUBMIT,
    days: int | None = None,
) -> tuple[ApiToken, str]:
    """Make a token; the secret is returned here and nowhere else."""
    secret = PREFIX + secrets.token_urlsafe(32)
    expires = Now() + timedelta(days=days) if days else None
    token = ApiToken.objects.create(
        user=user,
        team=team,
        name=name,
        scope=scope,
        prefix=secret[:12],
        digest=digest(secret),
        expires_at=expires,
    )
    return token, secret


def revoke(token: ApiToken) -> None:
    ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=Now())


_ALIVE = Q(revoked_at=None) & (Q(expires_at=None) | Q(expires_at__gt=Now()))
_STALE = Q(used_at=None) | Q(used_at__lt=Now() - timedelta(minutes=1))
_OF_DIGEST = Prepared(
    lambda: (
        ApiToken.objects.select_related("user", "team")
        .annotate(stale=ExpressionWrapper(_STALE, output_field=BooleanField()))
        .filter(_ALIVE, digest=Given("digest", CharField()))[:1]
    )
)


def find(secret: str) -> ApiToken | None:
    """The token of this secret, or None when it is unknown, expired or revoked."""
    token = _OF_DIGEST.first(digest=digest(secret))
    return token if token and token.user.is_active else None


class TokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer evs_…`."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        scheme, _, secret = get_authorization_header(request).decode("latin-1").partition(" ")
        if scheme.lower() != "bearer":
            return None
        token = find(secret.strip())
        if token is None:
            raise AuthenticationFailed(
                "This token is unknown, expired or revoked. Make a new one on your team's page."
            )
        self._note_use(token)
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"

    @staticmethod
    def _note_use(token: ApiToken) -> None:
        """Once a minute is enough, and spares a write per request."""
        if token.stale:  # type: ignore[attr-defined]
            ApiToken.objects.filter(_STALE, pk=token.pk).update(used_at=Now())


class TokenScheme(OpenApiAuthenticationExtension):
    """How the OpenAPI document names it."""

    target_class = "evalsvc.core.accounts.tokens.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": "A token from your team's page: `evs_…`."}
