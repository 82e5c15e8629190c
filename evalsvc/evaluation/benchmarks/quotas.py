"""How many submissions a team may make: a day, in all, at once; what failed or was cancelled costs none.

A model that was run and fell short costs one: its run took a worker's time, perhaps all it may take.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo, available_timezones

from django.db.models import Count, Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from evalsvc.core.accounts.models import Team
from evalsvc.core.errors.exceptions import DomainError, QuotaExceeded
from evalsvc.evaluation.models import Benchmark, Submission

S = Submission.State
WAITING = (S.RECEIVED, S.QUEUED, S.RUNNING)
# Only these cost: what was invalid, failed or was cancelled is given back by its state alone.
COUNTED = Q(state__in=(*WAITING, S.SCORED)) | Q(state=S.INVALID, model__isnull=False)
LOOK_AGAIN_SECONDS, A_DAY_SECONDS = 5, 86_400
AS_IT_IS = "Send it again then."


@dataclass(frozen=True, slots=True)
class Allowance:
    """One quota of a team: `most` is None where there is none; `next_at` says when one more is allowed."""

    name: str
    most: int | None
    used: int
    next_at: datetime | None = None

    @property
    def left(self) -> int | None:
        return None if self.most is None else max(self.most - self.used, 0)


def counted(benchmark: Benchmark, team: Team) -> QuerySet[Submission]:
    return Submission.objects.filter(COUNTED, benchmark=benchmark, system__team=team)


def day_of(benchmark: Benchmark, now: datetime) -> tuple[datetime, datetime]:
    """When the benchmark's present day began, and when the next begins."""
    zone = ZoneInfo(benchmark.time_zone)
    today = now.astimezone(zone).date()
    begun, next_one = (datetime.combine(day, time.min, zone) for day in (today, today + timedelta(days=1)))
    return begun, next_one


def allowances(benchmark: Benchmark, team: Team, *, now: datetime | None = None) -> list[Allowance]:
    """What the team has used of each quota, and what is left."""
    begun, tomorrow = day_of(benchmark, now or timezone.now())
    used = counted(benchmark, team).aggregate(
        per_day=Count("pk", filter=Q(created_at__gte=begun)),
        in_total=Count("pk"),
        at_once=Count("pk", filter=Q(state__in=WAITING, scored_at=None)),
    )
    next_at = {"per_day": tomorrow}
    return [Allowance(name, getattr(benchmark, name), used[name], next_at.get(name)) for name in used]


def lock(team: Team) -> datetime:
    """Let one submission of a team be entered at a time; the database's time, read under the lock."""
    Team.objects.select_for_update(no_key=True).get(pk=team.pk)
    return Team.objects.filter(pk=team.pk).values_list(Now(), flat=True).get()


def require_room(benchmark: Benchmark, team: Team, *, now: datetime) -> None:
    """Refuse one more when a quota is spent; the team is locked, so nobody counts at the same time."""
    for allowance in sorted(allowances(benchmark, team, now=now), key=lambda one: one.name != "in_total"):
        if allowance.left == 0:
            raise spent(benchmark, team, allowance, now=now)


def spent(benchmark: Benchmark, team: Team, allowance: Allowance, *, now: datetime) -> QuotaExceeded:
    most, at = allowance.most or 0, allowance.next_at
    if allowance.name == "per_day" and at is not None:
        detail = f"{team} has made its {most:,} submissions of today; the next is allowed at {_told(at)}."
        wait = int((at - now).total_seconds()) + 1
        return QuotaExceeded("quota_per_day", detail, retry_after=wait, hint=AS_IT_IS, next_at=at)
    if allowance.name == "in_total":
        detail = f"{team} has made all of its {most:,} submissions to {benchmark}."
        hint = "Only the organisers can allow more."
        return QuotaExceeded("quota_in_total", detail, retry_after=A_DAY_SECONDS, hint=hint)
    detail = f"{team} has {allowance.used:,} of at most {most:,} submissions waiting or running."
    hint = "The next is allowed as soon as one of them has ended or was cancelled."
    at = now + timedelta(seconds=LOOK_AGAIN_SECONDS)
    return QuotaExceeded("quota_at_once", detail, retry_after=LOOK_AGAIN_SECONDS, hint=hint, next_at=at)


def _told(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} {at.tzname()}"


def checked_zone(name: str) -> str:
    """The name of a time zone, or a refusal."""
    if name not in available_timezones():
        expected = "a name such as UTC or Europe/Vienna"
        raise DomainError(
            "bad_time_zone", f"{name} is no time zone.", hint=f"Use {expected}.", field="time_zone"
        )
    return name
