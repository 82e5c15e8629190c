"""Pages for creating a team and changing its members."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from evalsvc.core.accounts import teams
from evalsvc.core.accounts.forms import MemberForm, TeamForm
from evalsvc.core.accounts.models import Team, TeamMember, User
from evalsvc.core.accounts.users import person
from evalsvc.core.errors.exceptions import Conflict
from evalsvc.core.web.request_validation import validated_form
from evalsvc.core.web.views import attempt, page, takes


def own_team(user: User, slug: str) -> Team:
    """Return the team for members and administrators, else answer 404."""
    visible = Team.objects.all() if user.is_superuser else Team.objects.filter(members__user=user)
    return get_object_or_404(visible, slug=slug)


@page("GET", "POST")
def new_team(request: HttpRequest) -> HttpResponse:
    form = TeamForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        name, user = form.cleaned_data["name"], person(request)
        team = attempt(form, lambda: teams.create_team(name=name, by=user), "name")
        if team:
            return redirect(reverse("team", args=[team.slug], query=request.GET))
    return render(request, "accounts/new.html", {"form": form}, status=400 if form.errors else 200)


@takes()
@login_required
@require_POST
def members(request: HttpRequest, slug: str) -> HttpResponse:
    """Change the role of a member; others become one by accepting an invitation."""
    team = own_team(person(request), slug)
    teams.require_owner(team, person(request))
    values = validated_form(MemberForm(request.POST))
    try:
        teams.change_role(team, username=values["username"], role=values["role"], by=person(request))
    except Conflict as error:
        messages.warning(request, f"{error.detail} {error.hint}")
    return redirect("team", team.slug)


@login_required
@require_POST
def remove_member(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Remove a member, or leave the team."""
    user = person(request)
    team = own_team(user, slug)
    member = get_object_or_404(TeamMember, pk=pk, team=team)
    try:
        teams.remove_member(team, user=member.user, by=user)
    except Conflict as error:
        messages.warning(request, f"{error.detail} {error.hint}")
        return redirect("team", team.slug)
    if member.user == user:
        messages.info(request, f"You left {team}. Its runs remain; your tokens for it are deleted.")
        return redirect("account")
    messages.info(request, f"{member.user.shown_name} removed from {team}, with their tokens for it.")
    return redirect("team", team.slug)
