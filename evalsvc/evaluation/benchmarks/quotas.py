"""Quotas of a team: per day, in total, at once.

Failed submissions cost nothing, nor do those cancelled before they began. An invalid model costs one, since
running it took time.
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
# A run that began costs one, even if it is cancelled; a fault of the service costs nothing.
BEGAN = Q(state=S.CANCELLED, job__started_at__isnull=False) | Q(state=S.INVALID, model__isnull=False)
COUNTED = Q(state__in=(*WAITING, S.SCORED)) | BEGAN
RETRY_SECONDS, DAY_SECONDS = 5, 86_400
RETRY_LATER = "Submit the file again then."


@dataclass(frozen=True, slots=True)
class Allowance:
    """Quota of a team.

    Without one `most` is None. `next_at` is its renewal.
    """

    name: str
    most: int | None
    used: int
    next_at: datetime | None = None

    @property
    def left(self) -> int | None:
        return None if self.most is None else max(self.most - self.used, 0)


def counted(benchmark: Benchmark, team: Team) -> QuerySet[Submission]:
    """Return the submissions that count against quotas."""
    return Submission.objects.filter(COUNTED, benchmark=benchmark, system__team=team)


def day_of(benchmark: Benchmark, now: datetime) -> tuple[datetime, datetime]:
    """Return the start of the benchmark's current day and the next."""
    zone = ZoneInfo(benchmark.time_zone)
    today = now.astimezone(zone).date()
    begun, next_one = (datetime.combine(day, time.min, zone) for day in (today, today + timedelta(days=1)))
    return begun, next_one


def allowances(benchmark: Benchmark, team: Team, *, now: datetime | None = None) -> list[Allowance]:
    """Return the use of each quota of a team."""
    begun, tomorrow = day_of(benchmark, now or timezone.now())
    used = counted(benchmark, team).aggregate(
        per_day=Count("pk", filter=Q(created_at__gte=begun)),
        in_total=Count("pk"),
        at_once=Count("pk", filter=Q(state__in=WAITING, scored_at=None)),
    )
    next_at = {"per_day": tomorrow}
    return [Allowance(name, getattr(benchmark, name), used[name], next_at.get(name)) for name in used]


def lock(team: Team) -> datetime:
    """Lock the team against parallel submissions; return the database's time."""
    Team.objects.select_for_update(no_key=True).get(pk=team.pk)
    return Team.objects.filter(pk=team.pk).values_list(Now(), flat=True).get()


def require_quota(benchmark: Benchmark, team: Team, *, now: datetime) -> None:
    """Reject a submission when a quota is used up."""
    for allowance in sorted(
        allowances(benchmark, team, now=now), key=lambda allowance: allowance.name != "in_total"
    ):
        if allowance.left == 0:
            raise exceeded(benchmark, team, allowance, now=now)


def exceeded(benchmark: Benchmark, team: Team, allowance: Allowance, *, now: datetime) -> QuotaExceeded:
    most, at = allowance.most or 0, allowance.next_at
    if allowance.name == "per_day" and at is not None:
        used = f"{team} has used all {most:,} submissions for today."
        detail = f"{used} The next is allowed at {at:%Y-%m-%d %H:%M} {at.tzname()}."
        wait = int((at - now).total_seconds()) + 1
        return QuotaExceeded("quota_per_day", detail, retry_after=wait, hint=RETRY_LATER, next_at=at)
    if allowance.name == "in_total":
        detail = f"{team} has used all {most:,} submissions to {benchmark}."
        hint = "Ask the organisers to raise the quota."
        return QuotaExceeded("quota_in_total", detail, retry_after=DAY_SECONDS, hint=hint)
    detail = f"{team} has {allowance.used:,} of at most {most:,} submissions waiting or running."
    hint = "Wait for one to end, or cancel one."
    at = now + timedelta(seconds=RETRY_SECONDS)
    return QuotaExceeded("quota_at_once", detail, retry_after=RETRY_SECONDS, hint=hint, next_at=at)


def checked_zone(name: str) -> str:
    """Reject a name that is not a time zone."""
    if name not in available_timezones():
        raise DomainError(
            "bad_time_zone",
            f"{name} is not a time zone.",
            hint="Use a name such as UTC or Europe/Vienna.",
            field="time_zone",
        )
    return name
