"""One's own account: who one is, the password, tokens, teams, identities elsewhere."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from evalsvc.core.accounts import tokens, users
from evalsvc.core.accounts.forms import OwnTokenForm, PasswordForm, PersonForm
from evalsvc.core.accounts.models import ApiToken, Identity, User
from evalsvc.core.accounts.pages import one_time_secret
from evalsvc.core.accounts.pages.teams import told_tokens
from evalsvc.core.accounts.users import person
from evalsvc.core.web.request_validation import validated_form


@sensitive_post_parameters()
@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def account(request: HttpRequest) -> HttpResponse:
    user, asked = person(request), request.POST.get("change")
    about = PersonForm(request.POST if asked == "person" else None, user=user, request=request)
    password = PasswordForm(user, request.POST if asked == "password" else None, request=request)
    if asked == "person" and about.is_valid():
        return _renamed(request, user, about.cleaned_data)
    if asked == "password" and user.has_usable_password() and password.is_valid():
        return _password_set(request, password)
    told = {"about": about, "password": password} | _rest(user)
    return render(
        request, "accounts/account.html", told, status=400 if about.errors or password.errors else 200
    )


def _renamed(request: HttpRequest, user: User, told: dict[str, Any]) -> HttpResponse:
    users.rename(user, **{name: told[name] for name in ("first_name", "last_name", "email")})
    messages.info(request, "Your name and address are kept.")
    return redirect("account")


def _password_set(request: HttpRequest, form: PasswordForm) -> HttpResponse:
    update_session_auth_hash(request, form.save())
    messages.info(request, "The new password is set. Your other sessions are logged out; tokens stay.")
    return redirect("account")


def _rest(user: User) -> dict[str, Any]:
    return {
        "memberships": user.memberships.select_related("team").order_by("team__name"),
        "tokens": told_tokens(
            user.tokens.filter(revoked_at=None), revocable=lambda token: True, route="account-token-revoke"
        ),
        "token_form": OwnTokenForm(user=user),
        "new_token": reverse("account-token-new"),
        "identities": user.identities.order_by("pk"),
        "may_disconnect": users.may_disconnect(user),
        "provider": settings.OIDC_TITLE if settings.SINGLE_SIGN_ON else "",
    }


@login_required
@require_POST
def new_token(request: HttpRequest) -> HttpResponse:
    user = person(request)
    values = validated_form(OwnTokenForm(request.POST, user=user))
    made, secret = tokens.issue(
        user, name=values["name"], team=values["team"], scope=values["scope"], days=values["days"] or None
    )
    return one_time_secret.lead_to(reverse("token", args=[made.pk]), secret)


@login_required
@never_cache
@require_safe
def token(request: HttpRequest, pk: int) -> HttpResponse:
    """A new token with its secret, the first time it is looked at."""
    found = get_object_or_404(ApiToken.objects.select_related("team"), pk=pk, user=person(request))
    told = {"token": found, "team": found.team, "secret": one_time_secret.brought(request)}
    return one_time_secret.forget(request, render(request, "accounts/token.html", told))


@login_required
@require_POST
def revoke_token(request: HttpRequest, pk: int) -> HttpResponse:
    token = get_object_or_404(ApiToken, pk=pk, user=person(request))
    tokens.revoke(token)
    messages.info(request, f"The token “{token.name}” is revoked: requests with it are refused from now on.")
    return redirect("account")


@login_required
@require_POST
def disconnect(request: HttpRequest, pk: int) -> HttpResponse:
    users.disconnect(get_object_or_404(Identity, pk=pk, user=person(request)))
    messages.info(request, "Disconnected. Single sign-on no longer leads to this account.")
    return redirect("account")
