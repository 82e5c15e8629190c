"""Pages for one's own account, and for all accounts as an administrator."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST

from evalsvc.core.accounts import users
from evalsvc.core.accounts.forms import OwnTokenForm, PasswordForm, PersonForm
from evalsvc.core.accounts.models import Identity, User
from evalsvc.core.accounts.pages.invitations import invitation_panel
from evalsvc.core.accounts.pages.tokens import token_rows
from evalsvc.core.accounts.users import person
from evalsvc.core.web.views import page, page_of, row_id


@sensitive_post_parameters()
@page("GET", "POST")
@never_cache
def account(request: HttpRequest) -> HttpResponse:
    user, change = person(request), request.POST.get("change")
    profile = PersonForm(request.POST if change == "person" else None, user=user, request=request)
    password = PasswordForm(user, request.POST if change == "password" else None, request=request)
    if change == "person" and profile.is_valid():
        names = {name: profile.cleaned_data[name] for name in ("first_name", "last_name", "email")}
        User.objects.filter(pk=user.pk).update(**names)
        messages.info(request, "Name and e-mail address saved.")
        return redirect("account")
    if change == "password" and user.has_usable_password() and password.is_valid():
        update_session_auth_hash(request, password.save())
        messages.info(request, "Password changed. Your other sessions are logged out; tokens stay valid.")
        return redirect("account")
    context = {
        "profile": profile,
        "password": password,
        "memberships": user.memberships.select_related("team").order_by("team__name"),
        "tokens": token_rows(
            user.tokens.filter(revoked_at=None), revocable=lambda token: True, route="account-token-revoke"
        ),
        "token_form": OwnTokenForm(user=user),
        "new_token": reverse("account-token-new"),
        "identities": user.identities.order_by("pk"),
        "may_disconnect": users.may_disconnect(user),
        "provider": settings.OIDC_TITLE if settings.SINGLE_SIGN_ON else "",
    }
    status = 400 if profile.errors or password.errors else 200
    return render(request, "accounts/account.html", context, status=status)


@login_required
@require_POST
def disconnect(request: HttpRequest, pk: int) -> HttpResponse:
    users.disconnect(get_object_or_404(Identity, pk=pk, user=person(request)))
    messages.info(request, "Identity disconnected. You can no longer log in with it.")
    return redirect("account")


# ---- administration -----------------------------------------------------------------------------
@page("GET", "POST", names=(), **dict.fromkeys(("organiser", "no_organiser", "in", "out"), ("person",)))
def people(request: HttpRequest) -> HttpResponse:
    users.require_administrator(person(request))
    if request.method == "POST":
        _change(request)
        return redirect(request.get_full_path())
    search = request.GET.get("name", "").strip()
    listed = page_of(request, users.users_matching(search), size=50)
    context = {"people": listed, "search": search}
    context |= invitation_panel(users.INVITATION_TARGET, users.Installation())
    return render(request, "accounts/people.html", context)


def _change(request: HttpRequest) -> None:
    change, by = request.POST.get("change", ""), person(request)
    user = get_object_or_404(User, pk=row_id(request.POST.get("person", "")))
    if change in ("organiser", "no-organiser"):
        users.set_organiser(user, may=change == "organiser", by=by)
        result = "may" if change == "organiser" else "may no longer"
        messages.info(request, f"{user.shown_name} {result} create projects and benchmarks.")
    elif change in ("in", "out"):
        users.set_active(user, active=change == "in", by=by)
        result = "activated" if change == "in" else "deactivated, with its sessions and tokens"
        messages.info(request, f"Account of {user.shown_name} {result}.")
