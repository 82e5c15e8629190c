"""Pages for one's own account, API tokens, and all accounts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST, require_safe

from evalsvc.core.accounts import login_throttle, outgoing_mail, sessions, teams, tokens, users
from evalsvc.core.accounts.forms import (
    SCOPES,
    ConfirmedForm,
    OwnTokenForm,
    PasswordForm,
    PersonForm,
    TokenForm,
)
from evalsvc.core.accounts.models import ApiToken, Identity, Team, User
from evalsvc.core.accounts.pages.invitations import invitation_panel
from evalsvc.core.accounts.pages.teams import own_team
from evalsvc.core.accounts.users import person
from evalsvc.core.web.formatting import counted
from evalsvc.core.web.views import (
    forget_secret,
    page,
    page_of,
    redirect_with_secret,
    row_id,
    secret_of,
    takes,
)


@sensitive_post_parameters()
@page("GET", "POST")
@never_cache
def account(request: HttpRequest) -> HttpResponse:
    user, change = person(request), request.POST.get("change")
    request.session.pop(sessions.CONNECTING, None)  # whoever comes back has cancelled
    profile = PersonForm(request.POST if change == "person" else None, user=user, request=request)
    password = PasswordForm(user, request.POST if change == "password" else None, request=request)
    whose: Any = {"user": user, "request": request}
    posted = request.POST if change == "sessions" else None
    elsewhere = ConfirmedForm(posted, auto_id="id_sessions_%s", **whose)
    if change == "sessions" and elsewhere.is_valid():
        request.session.cycle_key()  # ends copies of this session
        n = sessions.end_all(user, by=user, keep=request.session.session_key)
        messages.info(request, f"{counted(n, 'other session')} ended. Tokens stay valid.")
        return redirect("account")
    if change == "person" and profile.is_valid():
        values = {name: profile.cleaned_data[name] for name in ("first_name", "last_name", "email")}
        if users.set_person(user, **values):
            outgoing_mail.tell_owner(request, user, "address")
        messages.info(request, "Name and e-mail address saved.")
        return redirect("account")
    if change == "password" and user.has_usable_password() and password.is_valid():
        with login_throttle.place(request):
            update_session_auth_hash(request, password.save())
        outgoing_mail.tell_owner(request, user, "password")
        messages.info(request, users.password_changed("Your other sessions are logged out.", user))
        return redirect("account")
    context = {
        "profile": profile,
        "password": password,
        "elsewhere": elsewhere,
        "memberships": user.memberships.select_related("team").order_by("team__name"),
        "tokens": token_rows(
            user.tokens.filter(revoked_at=None), revocable=lambda token: True, route="account-token-revoke"
        ),
        "token_form": OwnTokenForm(**whose),
        "connecting": ConfirmedForm(auto_id="id_connect_%s", **whose),
        "new_token": reverse("account-token-new"),
        "identities": [
            (identity, users.may_disconnect(user, identity)) for identity in user.identities.order_by("pk")
        ],
        "provider": settings.OIDC_TITLE,
    }
    status = 400 if profile.errors or password.errors or elsewhere.errors else 200
    return render(request, "accounts/account.html", context, status=status)


@login_required
@require_POST
def disconnect(request: HttpRequest, pk: int) -> HttpResponse:
    users.disconnect(get_object_or_404(Identity, pk=pk, user=person(request)))
    messages.info(request, "Identity disconnected. You can no longer log in with it.")
    return redirect("account")


# ---- administration -----------------------------------------------------------------------------
@page(
    "GET",
    "POST",
    names=(),
    **dict.fromkeys(("organiser", "no_organiser", "support", "no_support", "in", "out"), ("person",)),
)
def people(request: HttpRequest) -> HttpResponse:
    users.require_administrator(person(request))
    if request.method == "POST":
        change, by = request.POST.get("change", ""), person(request)
        user = get_object_or_404(User, pk=row_id(request.POST.get("person", "")))
        if change in ("organiser", "no-organiser"):
            users.set_organiser(user, may=change == "organiser", by=by)
            result = "may" if change == "organiser" else "may no longer"
            messages.info(request, f"{user.shown_name} {result} create projects and benchmarks.")
        elif change in ("support", "no-support"):
            users.set_support(user, may=change == "support", by=by)
            result = "may" if change == "support" else "may no longer"
            messages.info(request, f"{user.shown_name} {result} read records.")
        elif change in ("in", "out"):
            users.set_active(user, active=change == "in", by=by)
            result = (
                "activated"
                if change == "in"
                else "deactivated; its sessions, reset links, tokens and invitations have ended"
            )
            messages.info(request, f"Account of {user.shown_name} {result}.")
        return redirect(request.get_full_path())
    search = request.GET.get("name", "").strip()
    listed = page_of(request, users.users_matching(search), size=50)
    context = {"people": listed, "search": search}
    context |= invitation_panel(users.INVITATION_TARGET, users.Installation())
    return render(request, "accounts/people.html", context)


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
@sensitive_post_parameters("password")
@login_required
@require_POST
def new_own_token(request: HttpRequest) -> HttpResponse:
    return _issue(request, OwnTokenForm(request.POST, user=person(request), request=request))


@takes()
@sensitive_post_parameters("password")
@login_required
@require_POST
def new_team_token(request: HttpRequest, slug: str) -> HttpResponse:
    team = own_team(person(request), slug)
    return _issue(request, TokenForm(request.POST, user=person(request), request=request), team)


def _issue(request: HttpRequest, form: TokenForm, team: Team | None = None) -> HttpResponse:
    """Create the token, or show the form with its errors."""
    if not form.is_valid():
        return render(request, "accounts/new_token.html", {"form": form, "team": team}, status=400)
    values = {"team": team, **form.cleaned_data}
    token, secret = tokens.issue(person(request), **values | {"days": values["days"] or None})
    outgoing_mail.tell_owner(request, token.user, "token")
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
    tokens.revoke(token, by=person(request))
    messages.info(request, f"Token “{token.name}” revoked. Requests with it are now rejected.")
