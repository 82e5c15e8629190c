"""API tokens: shown once, stored as a digest."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta
from typing import TYPE_CHECKING

from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from evalsvc.core.accounts.models import ApiToken, Team, User

if TYPE_CHECKING:  # rest_framework.views loads these classes by the settings: a cycle
    from rest_framework.views import APIView

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


class TokenAuthentication(BaseAuthentication):
    """Authentication by `Authorization: Bearer evs_…`."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        scheme, _, secret = get_authorization_header(request).decode("latin-1").partition(" ")
        if scheme.lower() != "bearer":
            return None
        token = find(secret.strip())
        if token is None:
            raise AuthenticationFailed(
                "The token is unknown, expired or revoked. Create a new one on your team's page."
            )
        before = timezone.now() - timedelta(minutes=1)
        if token.used_at is None or token.used_at < before:  # at most one write a minute
            stale = Q(used_at=None) | Q(used_at__lt=before)
            ApiToken.objects.filter(stale, pk=token.pk).update(used_at=Now())
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class TokenScope(BasePermission):
    """Any token for reading; for writing `full` or the view's `needs_scope`."""

    message = "The token's scope does not allow this. Create one with a wider scope on your team's page."

    def has_permission(self, request: Request, view: APIView) -> bool:
        token = request.auth
        if not isinstance(token, ApiToken) or request.method in SAFE_METHODS:
            return True
        return token.scope in (Scope.FULL, getattr(view, "needs_scope", Scope.FULL))


class TokenScheme(OpenApiAuthenticationExtension):
    """Security scheme in the OpenAPI document."""

    target_class = "evalsvc.core.accounts.tokens.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": "A token from your team's page: `evs_…`."}
