"""Who may see a benchmark, change it, and for which team a request speaks."""

from __future__ import annotations

from django.contrib.auth.models import AnonymousUser
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404
from rest_framework.request import Request

from evalsvc.core.accounts.models import ApiToken, Team, User
from evalsvc.core.errors.exceptions import DomainError, NotAllowed
from evalsvc.evaluation.models import Benchmark, Organiser, Submission

VIEWER, ORGANISER = Organiser.Role.VIEWER, Organiser.Role.ORGANISER
Person = User | AnonymousUser


def visible(user: Person) -> QuerySet[Benchmark]:
    """The benchmarks a person sees: public ones, and those they have a role in."""
    if user.is_superuser:
        return Benchmark.objects.all()
    if not isinstance(user, User):
        return Benchmark.objects.filter(public=True)
    mine = Organiser.objects.filter(user=user).values("benchmark")
    return Benchmark.objects.filter(Q(public=True) | Q(pk__in=mine))


def benchmark_for(user: Person, slug: str) -> Benchmark:
    """Return the benchmark, or 404 when it does not exist or is hidden."""
    return get_object_or_404(visible(user), slug=slug)


def person(request: HttpRequest | Request) -> User:
    """Who asks; a door that needs to know has made sure that they are known."""
    if not isinstance(request.user, User):
        raise NotAllowed("not_known", "Log in first.")
    return request.user


def role_in(benchmark: Benchmark, user: Person) -> str | None:
    """Organiser, viewer, or None for a benchmark they do not see."""
    if user.is_superuser:
        return ORGANISER
    if isinstance(user, User):
        role = benchmark.people.filter(user=user).values_list("role", flat=True).first()
        if role:
            return role
    return VIEWER if benchmark.public else None


def require(benchmark: Benchmark, user: Person, role: str) -> None:
    """Raise 404 when the person does not see the benchmark, a refusal when their role is not enough."""
    found = role_in(benchmark, user)
    if found is None:
        raise Http404
    if role == ORGANISER and found != ORGANISER:
        raise NotAllowed("not_organiser", f"Only an organiser of {benchmark} may do this.")


def teams_of(user: Person) -> QuerySet[Team]:
    return Team.objects.filter(members__user_id=user.pk or 0).order_by("name")


def team_of(request: HttpRequest | Request, *, named: str = "") -> Team:
    """The team a request speaks for: its token's, else the one named, else the person's only one."""
    mine = teams_of(request.user)
    token = getattr(request, "auth", None)
    if isinstance(token, ApiToken) and token.team_id:
        return _team_of_token(token, mine, named=named)
    if named:
        team = mine.filter(slug=named).first()
        if team is None:
            raise NotAllowed("not_in_team", f"You are not in a team {named}.", hint=_which(mine))
        return team
    teams = list(mine[:2])
    if len(teams) == 1:
        return teams[0]
    raise DomainError("team_needed", "Which team this is for is not said.", hint=_which(mine), field="team")


def _team_of_token(token: ApiToken, mine: QuerySet[Team], *, named: str) -> Team:
    team = mine.filter(pk=token.team_id or 0).first()
    if team is None:
        raise NotAllowed("not_in_team", "This token's owner is no longer in its team.")
    if named and named != team.slug:
        raise NotAllowed("other_team", f"This token speaks for {team.slug}, not for {named}.")
    return team


def _which(mine: QuerySet[Team]) -> str:
    slugs = ", ".join(mine.values_list("slug", flat=True))
    return f"Name one of your teams: {slugs}." if slugs else "Ask a team's owner to add you, or make a team."


def seen_submissions(user: Person) -> QuerySet[Submission]:
    """Submissions of the person's teams, and all of those in benchmarks they organise."""
    if user.is_superuser:
        return Submission.objects.all()
    organised = Organiser.objects.filter(user_id=user.pk or 0, role=ORGANISER).values("benchmark")
    mine = teams_of(user).values("pk")
    return Submission.objects.filter(Q(system__team__in=mine) | Q(benchmark__in=organised))


def sees(user: Person, submission: Submission) -> bool:
    """Whether the person may look into a submission: its team and the organisers may."""
    return seen_submissions(user).filter(pk=submission.pk).exists()


def submission_for(user: Person, pk: int) -> Submission:
    """The submission, or 404 when there is none or it is another team's."""
    found = (
        seen_submissions(user).select_related("benchmark", "system__team", "file", "job", "by").filter(pk=pk)
    )
    submission = found.first()
    if submission is None:
        raise Http404
    return submission


def asked_for(request: Request) -> QuerySet[Submission]:
    """What a request by the API may see: by the token of a team, the submissions of that team."""
    seen, token = seen_submissions(request.user), request.auth
    if isinstance(token, ApiToken) and token.team_id:
        seen = seen.filter(system__team=token.team_id)
    return seen.select_related("benchmark", "system__team", "file", "job", "by")


def submission_asked_for(request: Request, pk: int, *, to_change: bool = False) -> Submission:
    """The submission, or 404; to change another team's, as an organiser may, takes a token that may all."""
    submission = asked_for(request).filter(pk=pk).first()
    if submission is None:
        raise Http404
    token = request.auth
    limited = isinstance(token, ApiToken) and token.scope != ApiToken.Scope.FULL
    if to_change and limited and not teams_of(request.user).filter(pk=submission.system.team_id).exists():
        raise NotAllowed("needs_full", "Organising takes a token of scope full.")
    return submission


def require_own(user: Person, submission: Submission) -> None:
    """Only the team itself or an organiser may withdraw or cancel."""
    if not sees(user, submission):
        raise Http404
