"""A team's own page: its runs, systems, people and tokens."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.db.models import Count, Q, QuerySet
from django.db.models.functions import Now
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from evalsvc.core.accounts import teams
from evalsvc.core.accounts.forms import ROLES, MemberForm, TokenForm
from evalsvc.core.accounts.models import Team, TeamMember, User
from evalsvc.core.accounts.pages.invitations import invitation_panel
from evalsvc.core.accounts.pages.tokens import token_rows
from evalsvc.core.web.formatting import counted
from evalsvc.evaluation import roles
from evalsvc.evaluation.models import Benchmark, Setting, Submission, System
from evalsvc.evaluation.pages import quota_view, run_list
from evalsvc.evaluation.pages.curl_command import Command, curl

SHOWS: dict[str, tuple[str, Q]] = {
    "all": ("All", Q()),
    "under-way": ("Under way", Q(state__in=run_list.UNDER_WAY)),
    "needs-you": ("Needs you", Q(state__in=run_list.NEEDS_YOU)),
}


@login_required
@require_safe
def team(request: HttpRequest, slug: str) -> HttpResponse:
    """Everything to its members; to organisers its runs on their boards; to others what stands on boards."""
    user, found = roles.person(request), get_object_or_404(Team, slug=slug)
    inside = user.is_superuser or teams.role_in(found, user) is not None
    submissions = Submission.objects if inside else roles.visible_submissions(user)
    submissions = submissions.filter(system__team=found)
    boards = list(roles.visible(user).order_by("title") if inside else _organised(user, found))
    systems = _systems(found) if inside else _standing(found, user)
    if not (inside or boards or systems):
        raise Http404
    told = {"team": found, "inside": inside, "systems": systems, "quotas": quota_view.of_team(found, boards)}
    if inside or boards:
        told |= _history(request, submissions)
    if inside:
        told |= {"boards": boards, "curl": _curl(request, found, boards)}
    return render(request, "evaluation/team.html", told | _people(request, found, inside=inside))


def _history(request: HttpRequest, submissions: QuerySet[Submission]) -> dict[str, Any]:
    show = request.GET.get("show", "all")
    listed, older = run_list.page_of(submissions.filter(SHOWS.get(show, SHOWS["all"])[1]), request, size=30)
    return {
        "lead": _lead(submissions),
        "filters": [(key, word, submissions.filter(q).count()) for key, (word, q) in SHOWS.items()],
        "show": show,
        "runs": listed,
        "older": older,
        "empty": "No run here. The first one is a file, the system’s name and the run’s number.",
    }


def _lead(submissions: QuerySet[Submission]) -> str:
    way = submissions.filter(state__in=run_list.UNDER_WAY).count()
    scored = submissions.filter(state=Submission.State.SCORED, withdrawn_at=None).count()
    if not way and not scored:
        return "No run is scored yet. A refused file or a lost worker costs nothing."
    told = [f"{counted(scored, 'run')} scored."] if scored else []
    if way:
        told.append(f"{counted(way, 'run')} {'is' if way == 1 else 'are'} on the way.")
    return " ".join(told)


def _organised(user: User, team: Team) -> QuerySet[Benchmark]:
    """The boards this person organises and the team submitted to."""
    mine = Benchmark.objects.filter(people__user=user, people__role=roles.ORGANISER)
    return mine.filter(submissions__system__team=team).distinct().order_by("title")


def _systems(team: Team) -> QuerySet[System]:
    standing = Q(runs__state=Submission.State.SCORED, runs__withdrawn_at=None)
    systems = System.objects.filter(team=team).select_related("benchmark")
    return systems.annotate(scored=Count("runs", filter=standing)).order_by("benchmark__title", "name")


def _standing(team: Team, user: User) -> QuerySet[System]:
    """Its systems that this person finds on a board: visible, and no longer sealed."""
    shown = Q(sealed=False) | Q(closes_at__lte=Now())
    standing = Submission.objects.filter(
        state=Submission.State.SCORED,
        withdrawn_at=None,
        benchmark__in=roles.visible(user),
        evaluations__setting__in=Setting.objects.filter(shown),
    )
    return _systems(team).filter(pk__in=standing.values("system"))


def _curl(request: HttpRequest, team: Team, boards: list[Benchmark]) -> Command | None:
    """For the board the team submitted to last, else the first one."""
    last = Submission.objects.filter(system__team=team, benchmark__in=boards).order_by("-pk").first()
    board = last.benchmark if last else next(iter(boards), None)
    return curl(request, board, team=team) if board else None


def _people(request: HttpRequest, team: Team, *, inside: bool) -> dict[str, Any]:
    user = roles.person(request)
    members = list(team.members.select_related("user").order_by("user__username"))
    for member in members:
        member.may = dict(ROLES)[TeamMember.Role(member.role)]  # type: ignore[attr-defined]
    owner = teams.is_owner(team, user)
    if not inside:
        return {"members": members, "owner": False}
    forms = {"token_form": TokenForm(), "member_form": MemberForm()}
    tokens = token_rows(
        team.tokens.filter(revoked_at=None),
        revocable=lambda token: owner or token.user_id == user.pk,
        route="token-revoke",
        within=team.slug,
    )
    told = forms | {"members": members, "owner": owner, "tokens": tokens}
    told["new_token"] = reverse("token-new", args=[team.slug])
    return told | (invitation_panel(teams.INVITATION_TARGET, team) if owner else {})
