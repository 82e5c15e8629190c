"""A team's own page: its runs, systems, people and tokens."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from evalsvc.evaluation import roles, runs
from evalsvc.evaluation.models import Benchmark, Submission, System
from evalsvc.evaluation.pages.terminal import curl
from evalsvc.evaluation.quotas import Allowance, allowances
from evalsvc.figures import counted
from evalsvc.teams import membership
from evalsvc.teams.forms import ROLES, MemberForm, TokenForm
from evalsvc.teams.models import Team, TeamMember
from evalsvc.teams.pages.inviting import panel
from evalsvc.teams.pages.teams import own_team, owns, told_tokens

SHOWS: dict[str, tuple[str, Q]] = {
    "all": ("All", Q()),
    "under-way": ("Under way", Q(state__in=runs.UNDER_WAY)),
    "needs-you": ("Needs you", Q(state__in=runs.NEEDS_YOU)),
}


@login_required
@require_safe
def team(request: HttpRequest, slug: str) -> HttpResponse:
    found = own_team(roles.person(request), slug)
    submissions = Submission.objects.filter(system__team=found)
    show = request.GET.get("show", "all")
    chosen = SHOWS.get(show, SHOWS["all"])[1]
    listed, older = runs.page_of(submissions.filter(chosen), request, size=30)
    boards = list(roles.visible(request.user).order_by("title"))
    told = {
        "team": found,
        "lead": _lead(submissions),
        "filters": [(key, word, submissions.filter(q).count()) for key, (word, q) in SHOWS.items()],
        "show": show,
        "runs": listed,
        "older": older,
        "empty": "No run here. The first one is a file, the system’s name and the run’s number.",
        "boards": boards,
        "systems": _systems(found),
        "quotas": _quotas(found, boards),
        "curl": curl(request, boards[0]) if boards else None,
    }
    return render(request, "evaluation/team.html", told | _people(request, found))


def _lead(submissions: QuerySet[Submission]) -> str:
    way = submissions.filter(state__in=runs.UNDER_WAY).count()
    scored = submissions.filter(state=Submission.State.SCORED, withdrawn_at=None).count()
    if not way and not scored:
        return "No run is scored yet. A refused file or a lost worker costs nothing."
    told = [f"{counted(scored, 'run')} scored."] if scored else []
    if way:
        told.append(f"{counted(way, 'run')} {'is' if way == 1 else 'are'} on the way.")
    return " ".join(told)


def _systems(team: Team) -> QuerySet[System]:
    standing = Q(runs__state=Submission.State.SCORED, runs__withdrawn_at=None)
    systems = System.objects.filter(team=team).select_related("benchmark")
    return systems.annotate(scored=Count("runs", filter=standing)).order_by("benchmark__title", "name")


def _people(request: HttpRequest, team: Team) -> dict[str, Any]:
    user = roles.person(request)
    members = list(team.members.select_related("user").order_by("user__username"))
    for member in members:
        member.may = dict(ROLES)[TeamMember.Role(member.role)]  # type: ignore[attr-defined]
    owner = owns(user, team)
    forms = {"token_form": TokenForm(), "member_form": MemberForm()}
    tokens = told_tokens(
        team.tokens.filter(revoked_at=None),
        revocable=lambda token: owner or token.user_id == user.pk,
        route="token-revoke",
        within=team.slug,
    )
    told = forms | {"members": members, "owner": owner, "tokens": tokens}
    told["new_token"] = reverse("token-new", args=[team.slug])
    return told | (panel(membership.PLACE, team) if owner else {})


def _quotas(team: Team, boards: list[Benchmark]) -> list[tuple[Benchmark, list[Allowance]]]:
    """What the team has left where something is limited."""
    told = [(board, allowances(board, team)) for board in boards]
    return [(board, quotas) for board, quotas in told if any(quota.most is not None for quota in quotas)]
