"""What a token may do: read, submit, or everything its person may."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from evalsvc.core.accounts.models import ApiToken

if TYPE_CHECKING:  # rest_framework.views loads this class by the settings: a circle
    from rest_framework.views import APIView

Scope = ApiToken.Scope


class WithinScope(BasePermission):
    """Reading needs any token, writing a `full` one, or the one that the view's `needs_scope` names."""

    message = "This token's scope doesn't allow that. Make one with a wider scope on your team's page."

    def has_permission(self, request: Request, view: APIView) -> bool:
        token = request.auth
        if not isinstance(token, ApiToken) or request.method in SAFE_METHODS:
            return True
        return token.scope in (Scope.FULL, getattr(view, "needs_scope", Scope.FULL))
