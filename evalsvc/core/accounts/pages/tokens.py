"""Pages for API tokens of a user and of a team."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from evalsvc.core.accounts import teams, tokens
from evalsvc.core.accounts.forms import SCOPES, OwnTokenForm, TokenForm
from evalsvc.core.accounts.models import ApiToken
from evalsvc.core.accounts.pages.teams import own_team
from evalsvc.core.accounts.users import person
from evalsvc.core.web.request_validation import validated_form
from evalsvc.core.web.views import forget_secret, redirect_with_secret, secret_of, takes


def token_rows(
    valid: QuerySet[ApiToken], *, revocable: Callable[[ApiToken], bool], route: str, within: str = ""
) -> list[ApiToken]:
    """Tokens with scope, expiry and revoke URL, as `accounts/tokens.html` shows them."""
    rows, now = list(valid.select_related("user", "team").order_by("-created_at")), timezone.now()
    for token in rows:
        token.__dict__ |= {
            "may": dict(SCOPES)[ApiToken.Scope(token.scope)],
            "ended": token.expires_at is not None and token.expires_at < now,
            "revoke": reverse(route, args=[*filter(None, [within]), token.pk]) if revocable(token) else "",
        }
    return rows


@takes()
@login_required
@require_POST
def new_own_token(request: HttpRequest) -> HttpResponse:
    user = person(request)
    return _issue(request, **validated_form(OwnTokenForm(request.POST, user=user)))


@takes()
@login_required
@require_POST
def new_team_token(request: HttpRequest, slug: str) -> HttpResponse:
    team = own_team(person(request), slug)
    return _issue(request, team=team, **validated_form(TokenForm(request.POST)))


def _issue(request: HttpRequest, *, days: int, **values: Any) -> HttpResponse:
    token, secret = tokens.issue(person(request), days=days or None, **values)
    return redirect_with_secret(reverse("token", args=[token.pk]), secret)


@login_required
@never_cache
@require_safe
def token(request: HttpRequest, pk: int) -> HttpResponse:
    """Show a token, with its secret the first time."""
    token = get_object_or_404(ApiToken.objects.select_related("team"), pk=pk, user=person(request))
    context = {"token": token, "team": token.team, "secret": secret_of(request)}
    return forget_secret(request, render(request, "accounts/token.html", context))


@login_required
@require_POST
def revoke_own_token(request: HttpRequest, pk: int) -> HttpResponse:
    _revoke(request, get_object_or_404(ApiToken, pk=pk, user=person(request)))
    return redirect("account")


@login_required
@require_POST
def revoke_team_token(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    user = person(request)
    team = own_team(user, slug)
    revocable = team.tokens.all() if teams.is_owner(team, user) else team.tokens.filter(user=user)
    _revoke(request, get_object_or_404(revocable, pk=pk))
    return redirect("team", team.slug)


def _revoke(request: HttpRequest, token: ApiToken) -> None:
    tokens.revoke(token)
    messages.info(request, f"Token “{token.name}” revoked. Requests with it are now rejected.")
