"""Roles in benchmarks, sealed scores, and the team of a request."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING

from django.contrib.auth.models import AnonymousUser
from django.db import transaction
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone

from evalsvc.core.accounts.invitations import InvitationTarget
from evalsvc.core.accounts.models import ApiToken, Team, User
from evalsvc.core.accounts.tokens import OF_TEAM, WITHOUT_TEAM
from evalsvc.core.activity.models import record
from evalsvc.core.errors.exceptions import Conflict, DomainError, NotAllowed, Unknown
from evalsvc.evaluation.dates import stated
from evalsvc.evaluation.models import Benchmark, Organiser, Setting, Submission

if TYPE_CHECKING:
    from rest_framework.request import Request

VIEWER, ORGANISER = Organiser.Role.VIEWER, Organiser.Role.ORGANISER
Person = User | AnonymousUser
RELATED = ("benchmark", "system__team", "file", "job", "by")


def visible(user: Person) -> QuerySet[Benchmark]:
    """Return the public benchmarks and those the user has a role in."""
    if user.is_superuser:
        return Benchmark.objects.all()
    if not isinstance(user, User):
        return Benchmark.objects.filter(public=True)
    mine = Organiser.objects.filter(user=user).values("benchmark")
    return Benchmark.objects.filter(Q(public=True) | Q(pk__in=mine))


def benchmark_for(user: Person, slug: str) -> Benchmark:
    """Return the benchmark; answer 404 if it is absent or hidden."""
    benchmark = Benchmark.objects.filter(slug=slug, public=True).first()
    benchmark = benchmark or visible(user).filter(slug=slug).first()  # absent or hidden: the same work
    if benchmark is None:
        hint = "The list of benchmarks has those that you see."
        raise Unknown("not_found", "benchmark", slug, where="This service", hint=hint)
    return benchmark


def role_in(benchmark: Benchmark, user: Person) -> str | None:
    """Return organiser, viewer, or None for a benchmark hidden from the user."""
    if user.is_superuser:
        return ORGANISER
    if isinstance(user, User):
        role = benchmark.people.filter(user=user).values_list("role", flat=True).first()
        if role:
            return VIEWER if user.team_of_token else role
    return VIEWER if benchmark.public else None


def organised(benchmarks: Iterable[int], user: Person | None) -> set[int]:
    """Return the benchmarks that a user (None: the public) organises."""
    keys = set(benchmarks)
    if not isinstance(user, User) or user.team_of_token:
        return set()
    if user.is_superuser:
        return keys
    mine = Organiser.objects.filter(user=user, role=ORGANISER, benchmark__in=keys)
    return set(mine.values_list("benchmark", flat=True))


def require(benchmark: Benchmark, user: Person, role: str) -> None:
    """Answer 404 for a hidden benchmark, 403 for an insufficient role."""
    if role == VIEWER and benchmark.public:
        return
    actual = role_in(benchmark, user)
    if actual is None:
        raise Http404
    if role == ORGANISER and actual != ORGANISER:
        hint = f"{OF_TEAM} {WITHOUT_TEAM}" if isinstance(user, User) and user.team_of_token else ""
        raise NotAllowed("not_organiser", f"Only organisers of {benchmark} can do this.", hint=hint)


# ---- sealed scores and coming settings -----------------------------------------------------------
def is_sealed(setting: Setting, now: datetime | None = None) -> bool:
    """True while only organisers see the scores."""
    return setting.sealed and (setting.closes_at is None or (now or timezone.now()) < setting.closes_at)


def shown_to_teams(setting: Setting) -> Q:
    """Filter evaluations of runs under a setting to those whose figures teams see, or saw before a seal."""
    if not is_sealed(setting):
        return Q()
    since = setting.sealed_since  # without one, nothing is before it
    return Q(submission__scored_at__lt=since, evaluation__created_at__lt=since) if since else Q(pk=None)


def sealed_from(settings: Iterable[Setting], user: Person | None) -> set[int]:
    """Return settings with scores sealed from a user (None: the public)."""
    now = timezone.now()
    sealed = [setting for setting in settings if is_sealed(setting, now)]
    mine = organised((each.benchmark_id for each in sealed), user) if sealed else set()
    return {each.pk for each in sealed if each.benchmark_id not in mine}


def hidden_from(setting: Setting, user: Person | None) -> bool:
    """True while scores are hidden from a user (None: the public)."""
    return bool(sealed_from([setting], user))


def sealed_until(setting: Setting) -> str:
    closes = stated(setting.closes_at, setting.benchmark) if setting.closes_at else "it closes"
    return f"Scores of “{setting.title}” are sealed until {closes}."


def require_begun(setting: Setting, user: Person) -> None:
    """Reject a download before the setting opens, except by organisers."""
    opens_at = setting.opens_at
    if opens_at and timezone.now() < opens_at and role_in(setting.benchmark, user) != ORGANISER:
        opens = f"“{setting.title}” opens on {stated(opens_at, setting.benchmark)}"
        raise Conflict("not_open_yet", f"{opens}. Its inputs are available from then on.")


# ---- teams and their submissions -----------------------------------------------------------------
def teams_of(user: Person) -> QuerySet[Team]:
    """Return the teams of a person; under a token of a team that team alone."""
    teams = Team.objects.filter(members__user_id=user.pk or 0).order_by("name")
    if isinstance(user, User) and user.team_of_token:
        return teams.filter(pk=user.team_of_token)
    return teams


def require_member(benchmark: Benchmark, user: User, team: Team) -> None:
    """Reject users outside the team, or without access to the benchmark."""
    require(benchmark, user, VIEWER)
    if not user.is_superuser and not team.members.filter(user=user).exists():
        raise DomainError("not_in_team", f"You are not a member of team {team}.", field="team")


def team_of(request: HttpRequest | Request, *, named: str = "") -> Team:
    """Return the token's team, else the named or only one."""
    mine = teams_of(request.user)
    token = getattr(request, "auth", None)
    if isinstance(token, ApiToken) and token.team_id:
        return _team_of_token(token, mine, named=named)
    if named:
        team = mine.filter(slug=named).first()
        if team is None:
            raise NotAllowed("not_in_team", f"You are not a member of team {named}.", hint=_name_a_team(mine))
        return team
    teams = list(mine[:2])
    if len(teams) == 1:
        return teams[0]
    raise DomainError("team_needed", "Specify a team.", hint=_name_a_team(mine), field="team")


def _team_of_token(token: ApiToken, mine: QuerySet[Team], *, named: str) -> Team:
    team = mine.filter(pk=token.team_id or 0).first()
    if team is None:
        raise NotAllowed("not_in_team", "The owner of this token is no longer a member of its team.")
    if named and named != team.slug:
        raise NotAllowed("other_team", f"This token belongs to team {team.slug}, not to {named}.")
    return team


def _name_a_team(mine: QuerySet[Team]) -> str:
    slugs = ", ".join(mine.values_list("slug", flat=True))
    return f"Your teams: {slugs}." if slugs else "Create a team, or ask the owner of one to add you."


def visible_submissions(user: Person) -> QuerySet[Submission]:
    """Return the submissions of the user's teams and of benchmarks they organise."""
    if user.is_superuser:
        return Submission.objects.all()
    mine = Q(system__team__in=teams_of(user).values("pk"))
    if isinstance(user, User) and user.team_of_token:
        return Submission.objects.filter(mine)
    organised = Organiser.objects.filter(user_id=user.pk or 0, role=ORGANISER).values("benchmark")
    return Submission.objects.filter(mine | Q(benchmark__in=organised))


def submission_for(user: Person, pk: int) -> Submission:
    """Return a submission the user may see, or 404."""
    return _submission_among(visible_submissions(user).select_related(*RELATED), pk)


def _submission_among(visible: QuerySet[Submission], pk: int) -> Submission:
    if (submission := visible.filter(pk=pk).first()) is None:
        raise Http404(f"You cannot see submission {pk}: only its team and the organisers can.")
    return submission


def requested_submissions(request: Request) -> QuerySet[Submission]:
    """Return the submissions that an API request may see."""
    return visible_submissions(request.user).select_related(*RELATED)


def requested_submission(request: Request, pk: int, *, to_change: bool = False) -> Submission:
    """Return a submission, or 404.

    Changing another team's needs a token of full scope.
    """
    submission = _submission_among(requested_submissions(request), pk)
    token = request.auth
    limited = isinstance(token, ApiToken) and token.scope != ApiToken.Scope.FULL
    if to_change and limited and not teams_of(request.user).filter(pk=submission.system.team_id).exists():
        raise NotAllowed("needs_full", "Organiser requests need a token with scope `full`.")
    return submission


def require_own(user: Person, submission: Submission) -> None:
    """Answer 404 to users outside the team who are not organisers."""
    if not visible_submissions(user).filter(pk=submission.pk).exists():
        raise Http404


@transaction.atomic
def set_person(benchmark: Benchmark, *, user: User, role: str, by: User) -> Organiser:
    """Set the role of a user."""
    _lock(benchmark)  # whoever is losing the role of organiser gives it to nobody
    require(benchmark, by, ORGANISER)
    if role not in Organiser.Role.values:
        known = ", ".join(Organiser.Role.values)
        raise DomainError("unknown_role", f"{role!r} is not a role. Use {known}.", field="role")
    if role != ORGANISER:
        _keep_an_organiser(benchmark, user)
    before = benchmark.people.filter(user=user).values_list("role", flat=True).first() or ""
    record(benchmark, "role", by=by, about=user.username, before=before, after=role)
    return Organiser.objects.update_or_create(benchmark=benchmark, user=user, defaults={"role": role})[0]


@transaction.atomic
def remove_person(benchmark: Benchmark, *, user: User, by: User) -> None:
    """Remove the role of a user; their runs stay."""
    _lock(benchmark)
    require(benchmark, by, ORGANISER)
    _keep_an_organiser(benchmark, user)
    person = benchmark.people.filter(user=user).first()
    if person is not None:
        record(benchmark, "person removed", by=by, about=user.username, before=person.role, after="")
        person.delete()


def _lock(benchmark: Benchmark) -> None:
    Benchmark.objects.select_for_update(no_key=True).get(pk=benchmark.pk)


def _keep_an_organiser(benchmark: Benchmark, leaving: User) -> None:
    left = set(benchmark.people.filter(role=ORGANISER).values_list("user_id", flat=True))
    if left == {leaving.pk}:
        raise Conflict(
            "last_organiser",
            f"{leaving} is the only organiser of {benchmark}.",
            hint="Add another organiser first.",
        )


INVITATION_TARGET = InvitationTarget(
    name="benchmark",
    noun="benchmark",
    roles=((VIEWER, "viewer"), (ORGANISER, "organiser")),
    find=lambda pk: get_object_or_404(Benchmark, pk=pk),
    require_inviter=lambda benchmark, user: require(benchmark, user, ORGANISER),
    # the assigned role: seeing a public benchmark is none
    role_of=lambda benchmark, user: benchmark.people.filter(user=user).values_list("role", flat=True).first(),
    admit=lambda benchmark, user, role, by: set_person(benchmark, user=user, role=role, by=by),
    url=lambda benchmark: reverse("board", args=[benchmark.slug]),
    members_url=lambda benchmark: reverse("board-people", args=[benchmark.slug]),
)
