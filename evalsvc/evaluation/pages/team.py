"""Page of a team: runs, systems, people and tokens."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.db.models import Count, Q, QuerySet
from django.db.models.functions import Now
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from evalsvc.core.accounts import teams, users
from evalsvc.core.accounts.forms import ROLES, MemberForm, TokenForm
from evalsvc.core.accounts.models import Team, TeamMember, User
from evalsvc.core.accounts.pages.invitations import invitation_panel
from evalsvc.core.accounts.pages.tokens import token_rows
from evalsvc.core.web.formatting import counted
from evalsvc.evaluation import roles
from evalsvc.evaluation.models import Benchmark, Setting, Submission, System
from evalsvc.evaluation.pages import run_list
from evalsvc.evaluation.pages.submit import Command, curl, quotas_of

SHOWS: dict[str, tuple[str, Q]] = {
    "all": ("All", Q()),
    "under-way": ("In progress", Q(state__in=run_list.IN_PROGRESS)),
    "needs-you": ("Needs action", Q(state__in=run_list.NEEDS_YOU)),
}


@login_required
@require_safe
def team_page(request: HttpRequest, slug: str) -> HttpResponse:
    """Show a team: the viewer's role decides which runs are listed."""
    user, team = users.person(request), get_object_or_404(Team, slug=slug)
    inside = user.is_superuser or teams.role_in(team, user) is not None
    submissions = Submission.objects if inside else roles.visible_submissions(user)
    submissions = submissions.filter(system__team=team)
    boards = list(roles.visible(user).order_by("title") if inside else _organised(user, team))
    systems = _systems(team) if inside else _ranked_systems(team, user)
    if not (inside or boards or systems):
        raise Http404
    context = {"team": team, "inside": inside, "systems": systems, "quotas": quotas_of(team, boards)}
    if inside or boards:
        context |= _history(request, submissions)
    if inside:
        context |= {"boards": boards, "curl": _curl(request, team, boards)}
    return render(request, "evaluation/team.html", context | _people(request, team, inside=inside))


def _history(request: HttpRequest, submissions: QuerySet[Submission]) -> dict[str, Any]:
    show = request.GET.get("show", "all")
    listed, older = run_list.page_of(submissions.filter(SHOWS.get(show, SHOWS["all"])[1]), request, size=30)
    return {
        "lead": _lead(submissions),
        "filters": [(key, title, submissions.filter(q).count()) for key, (title, q) in SHOWS.items()],
        "show": show,
        "runs": listed,
        "older": older,
        "empty": "No runs. Submit a prediction file with the name of the system and the run.",
    }


def _lead(submissions: QuerySet[Submission]) -> str:
    in_progress = submissions.filter(state__in=run_list.IN_PROGRESS).count()
    scored = submissions.filter(state=Submission.State.SCORED, withdrawn_at=None).count()
    parts = [f"{counted(scored, 'run')} scored"] if scored else []
    parts += [f"{in_progress:,} in progress"] if in_progress else []
    return f"{', '.join(parts)}." if parts else "No run is scored yet."


def _organised(user: User, team: Team) -> QuerySet[Benchmark]:
    """Return the benchmarks the user organises and the team submitted to."""
    mine = Benchmark.objects.filter(people__user=user, people__role=roles.ORGANISER)
    return mine.filter(submissions__system__team=team).distinct().order_by("title")


def _systems(team: Team) -> QuerySet[System]:
    active = Q(runs__state=Submission.State.SCORED, runs__withdrawn_at=None)
    systems = System.objects.filter(team=team).select_related("benchmark")
    return systems.annotate(scored=Count("runs", filter=active)).order_by("benchmark__title", "name")


def _ranked_systems(team: Team, user: User) -> QuerySet[System]:
    """Return its systems on boards that are visible and not sealed."""
    shown = Q(sealed=False) | Q(closes_at__lte=Now())
    active = Submission.objects.filter(
        state=Submission.State.SCORED,
        withdrawn_at=None,
        benchmark__in=roles.visible(user),
        evaluations__setting__in=Setting.objects.filter(shown),
    )
    return _systems(team).filter(pk__in=active.values("system"))


def _curl(request: HttpRequest, team: Team, boards: list[Benchmark]) -> Command | None:
    """Return the command for the team's last benchmark, else the first."""
    last = Submission.objects.filter(system__team=team, benchmark__in=boards).order_by("-pk").first()
    board = last.benchmark if last else next(iter(boards), None)
    return curl(request, board, team=team) if board else None


def _people(request: HttpRequest, team: Team, *, inside: bool) -> dict[str, Any]:
    user = users.person(request)
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
    context = forms | {"members": members, "owner": owner, "tokens": tokens}
    context["new_token"] = reverse("token-new", args=[team.slug])
    return context | (invitation_panel(teams.INVITATION_TARGET, team) if owner else {})
