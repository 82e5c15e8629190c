"""What people do with their teams: start one, add members, make and revoke tokens."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from evalsvc.core.accounts import teams as membership
from evalsvc.core.accounts import tokens
from evalsvc.core.accounts.forms import SCOPES, MemberForm, TeamForm, TokenForm
from evalsvc.core.accounts.models import ApiToken, Team, TeamMember, User
from evalsvc.core.accounts.pages import one_time_secret
from evalsvc.core.accounts.users import person
from evalsvc.core.errors.exceptions import Conflict
from evalsvc.core.web.request_validation import validated_form
from evalsvc.core.web.views import attempt


def own_team(user: User, slug: str) -> Team:
    """The team, for its members and superusers; for all others there is none."""
    teams = Team.objects.all() if user.is_superuser else Team.objects.filter(members__user=user)
    return get_object_or_404(teams, slug=slug)


def told_tokens(
    standing: QuerySet[ApiToken], *, revocable: Callable[[ApiToken], bool], route: str, within: str = ""
) -> list[ApiToken]:
    """Tokens as `teams/tokens.html` shows them."""
    found, now = list(standing.select_related("user", "team").order_by("-created_at")), timezone.now()
    for token in found:
        token.__dict__ |= {
            "may": dict(SCOPES)[ApiToken.Scope(token.scope)],
            "ended": token.expires_at is not None and token.expires_at < now,
            "revoke": reverse(route, args=[*filter(None, [within]), token.pk]) if revocable(token) else "",
        }
    return found


def owns(user: User, team: Team) -> bool:
    return user.is_superuser or membership.role_in(team, user) == membership.OWNER


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def new_team(request: HttpRequest) -> HttpResponse:
    form = TeamForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        name, user = form.cleaned_data["name"], person(request)
        team = attempt(form, lambda: membership.create_team(name=name, by=user), "name")
        if team:
            return redirect("team", team.slug)
    return render(request, "accounts/new.html", {"form": form}, status=400 if form.errors else 200)


@login_required
@require_POST
def members(request: HttpRequest, slug: str) -> HttpResponse:
    team = own_team(person(request), slug)
    values = validated_form(MemberForm(request.POST))
    name = values["username"]
    found = User.objects.filter(username=name).first()
    if found is None:
        messages.warning(request, f"Nobody here has the user name {name}. Names are case-sensitive.")
    else:
        try:
            membership.add_member(team, user=found, role=values["role"], by=person(request))
        except Conflict as refusal:
            messages.warning(request, f"{refusal.detail} {refusal.hint}")
    return redirect("team", team.slug)


@login_required
@require_POST
def remove_member(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """An owner takes somebody out, or somebody leaves."""
    user = person(request)
    team = own_team(user, slug)
    member = get_object_or_404(TeamMember, pk=pk, team=team)
    try:
        membership.remove_member(team, user=member.user, by=user)
    except Conflict as refusal:
        messages.warning(request, f"{refusal.detail} {refusal.hint}")
        return redirect("team", team.slug)
    if member.user == user:
        messages.info(request, f"You left {team}. Its runs stay; your tokens for it are gone.")
        return redirect("account")
    messages.info(request, f"{member.user.shown_name} is no longer in {team}; nor are their tokens for it.")
    return redirect("team", team.slug)


@login_required
@require_POST
def new_token(request: HttpRequest, slug: str) -> HttpResponse:
    team = own_team(person(request), slug)
    values = validated_form(TokenForm(request.POST))
    made, secret = tokens.issue(
        person(request), name=values["name"], team=team, scope=values["scope"], days=values["days"] or None
    )
    return one_time_secret.lead_to(reverse("token", args=[made.pk]), secret)


@login_required
@require_POST
def revoke_token(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    team = own_team(person(request), slug)
    theirs = team.tokens.all() if owns(person(request), team) else team.tokens.filter(user=person(request))
    token = get_object_or_404(theirs, pk=pk)
    tokens.revoke(token)
    messages.info(request, f"The token “{token.name}” is revoked: requests with it are refused from now on.")
    return redirect("team", team.slug)
