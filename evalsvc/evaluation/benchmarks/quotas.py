"""Quotas of a team: per day, in total, at once.

Hidden phases also limit rejected uploads per day.

Scoring that began counts, cancelled or not. Failed submissions cost nothing, an invalid model costs one.
Hidden phases have quotas by default, since every score gives away some bits of the gold.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo, available_timezones

from django.db.models import Count, Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from evalsvc.core.accounts.models import Team
from evalsvc.core.errors.exceptions import Conflict, DomainError, QuotaExceeded
from evalsvc.evaluation.benchmarks import file_contract
from evalsvc.evaluation.benchmarks.file_contract import count_items
from evalsvc.evaluation.disclosure.policy import is_hidden
from evalsvc.evaluation.disclosure.rules import PER_DAY, REFUSALS_PER_DAY, in_total
from evalsvc.evaluation.models import Benchmark, Refusal, Setting, Submission

S = Submission.State
WAITING = (S.RECEIVED, S.QUEUED, S.RUNNING)
# A run that began costs one, even if it is cancelled; a fault of the service costs nothing.
COUNTED = (
    Q(state__in=(*WAITING, S.SCORED))
    | Q(state=S.INVALID, model__isnull=False)
    | Q(state=S.CANCELLED, started_at__isnull=False)
)
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


def hidden_settings(settings: Iterable[Setting], now: datetime, phase: str | None = None) -> list[Setting]:
    """Return the open hidden settings of a phase, or of any."""
    return [
        setting
        for setting in settings
        if file_contract.accepts(setting, setting.phase if phase is None else phase, now)
        and is_hidden(setting, now)
    ]


def _in_phase_of(settings: Iterable[Setting]) -> Q:
    """Filter the submissions to the phases of settings."""
    phases = {setting.phase for setting in settings}
    return Q() if "" in phases else Q(phase__in=phases)


def default_in_total(setting: Setting) -> int:
    """Return the default quota in total of a hidden setting."""
    return in_total(count_items(setting))


def most_in_total(setting: Setting) -> int | None:
    """Return the quota in total of a hidden setting, None without one."""
    benchmark = setting.benchmark
    usual = default_in_total(setting) if benchmark.default_quotas else None
    return usual if benchmark.in_total is None else benchmark.in_total


def allowances(
    benchmark: Benchmark,
    team: Team,
    *,
    now: datetime | None = None,
    hidden: Collection[Setting] | None = None,
) -> list[Allowance]:
    """Return the use of each quota of a team.

    Default quotas are those of the hidden settings, by default of all that are open.
    """
    at = now or timezone.now()
    begun, tomorrow = day_of(benchmark, at)
    most = {name: getattr(benchmark, name) for name in ("per_day", "in_total", "at_once")}
    scope = {name: Q() for name in most}
    if hidden is None:
        hidden = hidden_settings(file_contract.settings_of(benchmark), at)
    if hidden and benchmark.default_quotas:
        usual = {"per_day": PER_DAY, "in_total": min(map(default_in_total, hidden))}
        unset = {name: value for name, value in usual.items() if most[name] is None}
        most |= unset
        scope |= dict.fromkeys(unset, _in_phase_of(hidden))
    used = counted(benchmark, team).aggregate(
        per_day=Count("pk", filter=Q(created_at__gte=begun) & scope["per_day"]),
        in_total=Count("pk", filter=Q(pk__isnull=False) & scope["in_total"]),
        at_once=Count("pk", filter=Q(state__in=WAITING, scored_at=None)),
    )
    next_at = {"per_day": tomorrow}
    return [Allowance(name, most[name], used[name], next_at.get(name)) for name in most]


def lock(team: Team) -> datetime:
    """Lock the team against parallel submissions; return the database's time."""
    Team.objects.select_for_update(no_key=True).get(pk=team.pk)
    return Team.objects.filter(pk=team.pk).values_list(Now(), flat=True).get()


def require_quota(benchmark: Benchmark, team: Team, *, now: datetime, hidden: Collection[Setting]) -> None:
    """Reject a submission when a quota is used up."""
    own = allowances(benchmark, team, now=now, hidden=hidden)
    for allowance in sorted(own, key=lambda allowance: allowance.name != "in_total"):
        if allowance.left == 0:
            raise exceeded(benchmark, team, allowance, now=now)


def require_one_team(benchmark: Benchmark, team: Team, *, now: datetime, hidden: Collection[Setting]) -> None:
    """Reject a second team of one person in a hidden phase."""
    if not hidden:
        return
    others = Submission.objects.filter(COUNTED, _in_phase_of(hidden), benchmark=benchmark)
    by_members = others.filter(by__in=team.members.values("user")).exclude(system__team=team)
    earlier = by_members.select_related("by").first()
    if earlier is not None:
        detail = f"{earlier.by.shown_name} already submits to {benchmark} for another team."
        hint = "While figures are held back, a person submits for one team."
        raise Conflict("one_team", detail, hint=hint, field="team")


def require_few_refusals(
    benchmark: Benchmark, team: Team, *, now: datetime, hidden: Collection[Setting]
) -> None:
    """Reject uploads to a hidden phase after too many rejections a day."""
    if not hidden:
        return
    begun, tomorrow = day_of(benchmark, now)
    if Refusal.objects.filter(benchmark=benchmark, team=team, at__gte=begun).count() >= REFUSALS_PER_DAY:
        detail = f"{REFUSALS_PER_DAY} files of {team} were rejected today."
        hint = f"Check files with POST /api/v1/benchmarks/{benchmark.slug}/check first."
        wait = int((tomorrow - now).total_seconds()) + 1
        raise QuotaExceeded("quota_refusals", detail, retry_after=wait, hint=hint, next_at=tomorrow)


def record_refusal(benchmark: Benchmark, team: Team) -> None:
    """Count a rejected upload to a hidden phase.

    Those of earlier days are deleted.
    """
    Refusal.objects.filter(team=team, at__lt=timezone.now() - timedelta(days=2)).delete()
    Refusal.objects.create(benchmark=benchmark, team=team)


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
