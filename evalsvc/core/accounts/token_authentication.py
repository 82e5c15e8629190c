"""Authentication and permission of API requests, by token or by the session of a page.

Apart from `tokens`, so that commands and workers start without the REST framework.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.contrib.auth import get_user
from django.db.models import Q
from django.db.models.functions import Now
from django.http import QueryDict
from django.utils import timezone
from rest_framework.authentication import (
    BaseAuthentication,
    SessionAuthentication,
    get_authorization_header,
)
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from evalsvc.core.accounts import tokens
from evalsvc.core.accounts.models import ApiToken, User
from evalsvc.core.accounts.tokens import OF_TEAM, WITHOUT_TEAM
from evalsvc.core.errors.exceptions import NotAllowed

if TYPE_CHECKING:  # rest_framework.views loads these classes by the settings: a cycle
    from rest_framework.views import APIView


class TokenAuthentication(BaseAuthentication):
    """Authentication by `Authorization: Bearer evs_…`."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        scheme, _, secret = get_authorization_header(request).decode("latin-1").partition(" ")
        if scheme.lower() != "bearer":
            return None
        token = tokens.find(secret.strip())
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


class PageSession(SessionAuthentication):
    """Authentication by the session of a page.

    The CSRF token is a header, or a field of a form with files; a file as the body is not read for one.
    """

    def enforce_csrf(self, request: Any) -> None:
        is_form = (request.content_type or "").startswith("multipart/form-data")
        is_form = is_form and any(parser.media_type == "multipart/form-data" for parser in request.parsers)
        if is_form:
            super().enforce_csrf(request)
            return
        request._request._post = QueryDict()  # else Django decodes a body that curl calls a form
        super().enforce_csrf(request._request)
        del request._request._post


def authenticated_again(view: APIView, request: Request) -> Request:
    """Return a request that has waited as of now; raise if its token, session or account has ended."""
    http = request._request
    http.session = type(http.session)(http.session.session_key)
    http.user = get_user(http)
    present = view.initialize_request(http)
    view.perform_authentication(present)
    view.check_permissions(present)
    return present


class TokenTeam(BasePermission):
    """A token of a team opens what members of teams use (`for_teams`), and nothing else."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        token = request.auth
        if isinstance(token, ApiToken) and token.team_id and not getattr(view, "for_teams", False):
            raise NotAllowed("needs_own_token", OF_TEAM, hint=WITHOUT_TEAM)
        return True


class TokenScope(BasePermission):
    """Any token for reading; for writing `full` or the view's `needs_scope`."""

    message = "The token's scope does not allow this. Create one with a wider scope on your team's page."

    def has_permission(self, request: Request, view: APIView) -> bool:
        token = request.auth
        if not isinstance(token, ApiToken) or request.method in SAFE_METHODS:
            return True
        return token.scope in (ApiToken.Scope.FULL, getattr(view, "needs_scope", ApiToken.Scope.FULL))
