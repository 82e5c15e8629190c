"""Page of a team: runs, systems, people and tokens."""

from __future__ import annotations

from typing import Any

from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse

from evalsvc.core.accounts import teams, users
from evalsvc.core.accounts.forms import ROLES, MemberForm, TokenForm
from evalsvc.core.accounts.models import Team, TeamMember, User
from evalsvc.core.accounts.pages.account import token_rows
from evalsvc.core.accounts.pages.invitations import invitation_panel
from evalsvc.core.web.formatting import counted
from evalsvc.core.web.views import page
from evalsvc.evaluation import roles
from evalsvc.evaluation.models import Benchmark, Entrant, Setting, Submission, System
from evalsvc.evaluation.pages import run_list
from evalsvc.evaluation.pages.run_list import counts_by_system
from evalsvc.evaluation.pages.submit import curl, quotas_of

SHOWS: dict[str, tuple[str, Q]] = {
    "all": ("All", Q()),
    "under-way": ("In progress", Q(state__in=run_list.IN_PROGRESS)),
    "needs-you": ("Needs action", Q(state__in=run_list.NEEDS_YOU)),
}


def _taken_part_in(team: Team, boards: list[Benchmark], chosen: str) -> list[Benchmark]:
    """Return the benchmarks of a team: with runs, entered or chosen, else all."""
    runs = Submission.objects.filter(system__team=team).order_by().values_list("benchmark")
    keys = {pk for (pk,) in runs.union(Entrant.objects.filter(team=team).order_by().values_list("benchmark"))}
    return [board for board in boards if board.pk in keys or board.slug == chosen] or boards


@page()
def team_page(request: HttpRequest, slug: str) -> HttpResponse:
    """Show a team: the viewer's role decides which runs are listed."""
    user, team = users.person(request), get_object_or_404(Team, slug=slug)
    inside = user.is_superuser or teams.role_in(team, user) is not None
    submissions = Submission.objects if inside else roles.visible_submissions(user)
    submissions = submissions.filter(system__team=team)
    # outsiders see the benchmarks they organise that the team submitted to
    own = Q(people__user=user, people__role=roles.ORGANISER, submissions__system__team=team)
    visible = roles.visible(user) if inside else Benchmark.objects.filter(own).distinct()
    boards = list(visible.order_by("title"))
    systems = _systems(team) if inside else _ranked_systems(team, user)
    if not (inside or boards or systems):
        raise Http404
    counted_runs = submissions
    if not inside:
        counted_runs = Submission.objects.filter(system__in=systems)
        listed_runs = Q(pk__in=_ranked(user).values("pk")) | Q(pk__in=submissions.values("pk"))
        counted_runs = counted_runs.filter(listed_runs)
    counts = counts_by_system(counted_runs)
    counted_systems = [(system, counts.get(system.pk, 0)) for system in systems]
    quotas = quotas_of(team, _taken_part_in(team, boards, request.GET.get("benchmark", "")))
    context = {"team": team, "inside": inside, "systems": counted_systems, "quotas": quotas}
    if inside or boards:
        show = request.GET.get("show", "all")
        in_progress = submissions.filter(state__in=run_list.IN_PROGRESS).count()
        scored = sum((counts if inside else counts_by_system(submissions)).values())
        parts = [f"{counted(scored, 'run')} scored"] if scored else []
        parts += [f"{in_progress:,} in progress"] if in_progress else []
        listed, older = run_list.page_of(
            submissions.filter(SHOWS.get(show, SHOWS["all"])[1]), request, size=30
        )
        context |= {
            "lead": f"{', '.join(parts)}." if parts else "No run is scored yet.",
            "filters": [(key, title, submissions.filter(q).count()) for key, (title, q) in SHOWS.items()],
            "show": show,
            "runs": listed,
            "older": older,
            "empty": "No runs. Submit a prediction file with the name of the system and the run.",
        }
    if inside:
        # without a choice: the benchmark of the last run, else the only one
        open_to = {board.slug: board for board in boards}
        last = Submission.objects.filter(system__team=team, benchmark__in=boards).order_by("-pk").first()
        only = boards[0] if len(boards) == 1 else None
        chosen = open_to.get(request.GET.get("benchmark", "")) or (last.benchmark if last else only)
        command = curl(request, chosen, team=team) if chosen else None
        context |= {"boards": boards, "chosen": chosen, "curl": command}
    return render(request, "evaluation/team.html", context | _people(request, team, inside=inside))


def _systems(team: Team) -> QuerySet[System]:
    systems = System.objects.filter(team=team).select_related("benchmark")
    return systems.order_by("benchmark__title", "name")


def _ranked_systems(team: Team, user: User) -> QuerySet[System]:
    return _systems(team).filter(pk__in=_ranked(user).values("system"))


def _ranked(user: User) -> QuerySet[Submission]:
    """Return the runs on boards that are visible and not sealed."""
    shown = Setting.objects.filter(Q(sealed=False) | Q(closes_at__lte=Now()))
    runs = Submission.objects.filter(benchmark__in=roles.visible(user), evaluations__setting__in=shown)
    return run_list.on_boards(runs)


def _people(request: HttpRequest, team: Team, *, inside: bool) -> dict[str, Any]:
    user = users.person(request)
    members = list(team.members.select_related("user").order_by("user__username"))
    for member in members:
        member.may = dict(ROLES)[TeamMember.Role(member.role)]  # type: ignore[attr-defined]
    owner = teams.is_owner(team, user)
    if not inside:
        return {"members": members, "owner": False}
    forms = {"token_form": TokenForm(user=user, request=request), "member_form": MemberForm()}
    tokens = token_rows(
        team.tokens.filter(revoked_at=None),
        revocable=lambda token: owner or token.user_id == user.pk,
        route="token-revoke",
        within=team.slug,
    )
    context = forms | {"members": members, "owner": owner, "tokens": tokens}
    context["new_token"] = reverse("token-new", args=[team.slug])
    return context | (invitation_panel(teams.INVITATION_TARGET, team) if owner else {})
