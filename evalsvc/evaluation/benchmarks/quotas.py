"""Quotas of a team: per day, in total, at once.

Hidden phases also limit rejected uploads per day.

Scoring that began counts, cancelled or not, and what met a limit of the service. Other failed submissions
cost nothing, an invalid model costs one.
Hidden phases have quotas by default, since every score gives away some bits of the gold.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.db.models import Count, Q
from django.db.models.functions import Now
from django.utils import timezone

from evalsvc.core.accounts.models import Team, User
from evalsvc.core.errors.exceptions import Conflict, DomainError, QuotaExceeded
from evalsvc.evaluation.benchmarks import file_contract
from evalsvc.evaluation.benchmarks.inputs import count_items
from evalsvc.evaluation.dates import ANYWHERE, ZONES, stated
from evalsvc.evaluation.disclosure.policy import hidden_among
from evalsvc.evaluation.disclosure.rules import PER_DAY, REFUSALS_PER_DAY, in_total
from evalsvc.evaluation.models import Benchmark, Refusal, Setting, Submission
from evalsvc.evaluation.submission_states import LIMITS

S = Submission.State
WAITING = (S.RECEIVED, S.QUEUED, S.RUNNING)
# A run that began costs one, even if it is cancelled; a fault of the service costs nothing.
COUNTED = (
    Q(state__in=(*WAITING, S.SCORED))
    | Q(state=S.INVALID, model__isnull=False)
    | Q(state=S.FAILED, reason_code__in=LIMITS)
    | Q(state=S.CANCELLED, started_at__isnull=False)
)
PHASE_QUOTAS = ("per_day", "in_total")
QUOTAS = (*PHASE_QUOTAS, "at_once")
RETRY_SECONDS, DAY_SECONDS = 5, 86_400
RETRY_LATER = "Submit the file again then."


@dataclass(frozen=True, slots=True)
class Allowance:
    """Quota of a team, of one phase or of all.

    Without one `most` is None. `next_at` is its renewal.
    """

    name: str
    most: int | None
    used: int
    next_at: datetime | None = None
    phase: str = ""

    @property
    def left(self) -> int | None:
        return None if self.most is None else max(self.most - self.used, 0)


def day_of(benchmark: Benchmark, now: datetime) -> tuple[datetime, datetime]:
    """Return the start of the benchmark's current day and the next."""
    zone = ZoneInfo(benchmark.time_zone)
    today = now.astimezone(zone).date()
    begun, next_one = (datetime.combine(day, time.min, zone) for day in (today, today + timedelta(days=1)))
    return begun, next_one


def hidden_settings(settings: Iterable[Setting], now: datetime, phase: str | None = None) -> list[Setting]:
    """Return the open hidden settings of a phase, or of any."""
    accepting = [
        each for each in settings if file_contract.accepts(each, each.phase if phase is None else phase, now)
    ]
    hidden = hidden_among(accepting, now)
    return [each for each in accepting if each.pk in hidden]


def _phases_of(settings: Iterable[Setting]) -> set[str] | None:
    """Return the phases that a quota of the settings counts; None: all."""
    phases = {setting.phase for setting in settings}
    return None if "" in phases else phases


def default_in_total(setting: Setting) -> int:
    """Return the default quota in total of a hidden setting."""
    return in_total(count_items(setting))


def most_in_total(setting: Setting) -> int | None:
    """Return the quota in total of a hidden setting, None without one."""
    benchmark = setting.benchmark
    usual = default_in_total(setting) if benchmark.default_quotas else None
    own = [benchmark.in_total, _of_phase(benchmark, setting.phase).get("in_total")]
    return min((most for most in own if most is not None), default=usual)


def _of_phase(benchmark: Benchmark, phase: str) -> dict[str, int]:
    quotas: dict[str, int] = benchmark.phase_quotas.get(phase, {})
    return quotas


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
    chosen = None if hidden is None else {benchmark.pk: hidden}
    return allowances_of([benchmark], team, now=now, hidden=chosen)[benchmark.pk]


def allowances_of(
    benchmarks: Collection[Benchmark],
    team: Team,
    *,
    now: datetime | None = None,
    hidden: Mapping[int, Collection[Setting]] | None = None,
) -> dict[int, list[Allowance]]:
    """Return the use of quotas on many benchmarks in few queries."""
    at = now or timezone.now()
    if hidden is None:
        settings = Setting.objects.filter(benchmark__in=benchmarks, disclosure=Setting.Disclosure.HIDDEN)
        related = settings.select_related("test_set", "only", "benchmark")
        found: dict[int, list[Setting]] = defaultdict(list)
        for setting in hidden_settings(related, at):
            found[setting.benchmark_id].append(setting)
        hidden = found
    used = _used(benchmarks, team, at)
    return {each.pk: _allowances_on(each, hidden.get(each.pk, ()), used[each.pk], at) for each in benchmarks}


def _allowances_on(
    benchmark: Benchmark, hidden: Collection[Setting], used: Mapping[str, Counter[str]], at: datetime
) -> list[Allowance]:
    most = {name: getattr(benchmark, name) for name in QUOTAS}
    phases: dict[str, set[str] | None] = dict.fromkeys(QUOTAS)
    for name in PHASE_QUOTAS if benchmark.default_quotas else ():
        without = [each for each in hidden if name not in _of_phase(benchmark, each.phase)]
        if most[name] is None and without:
            most[name] = PER_DAY if name == "per_day" else min(map(default_in_total, without))
            phases[name] = _phases_of(without)
    next_at = {"per_day": day_of(benchmark, at)[1]}

    def counted(name: str, within: Collection[str] | None) -> int:
        phases_of = None if within is None else (*within, file_contract.BOTH)
        return sum(n for phase, n in used[name].items() if phases_of is None or phase in phases_of)

    return [
        *(Allowance(name, most[name], counted(name, phases[name]), next_at.get(name)) for name in QUOTAS),
        *(
            Allowance(name, own[name], counted(name, [phase]), next_at.get(name), phase)
            for phase, own in sorted(benchmark.phase_quotas.items())
            for name in PHASE_QUOTAS
            if name in own
        ),
    ]


def _used(benchmarks: Iterable[Benchmark], team: Team, at: datetime) -> dict[int, dict[str, Counter[str]]]:
    """Count a team's submissions by benchmark, quota and phase."""
    began = {benchmark.pk: day_of(benchmark, at)[0] for benchmark in benchmarks}
    days = {begun: f"since_{number}" for number, begun in enumerate(sorted(set(began.values())))}
    since = {name: Count("pk", filter=Q(created_at__gte=begun)) for begun, name in days.items()}
    counted = Submission.objects.filter(COUNTED, benchmark__in=began, system__team=team)
    waiting = Count("pk", filter=Q(state__in=WAITING, scored_at=None))
    used: dict[int, dict[str, Counter[str]]] = {pk: {name: Counter() for name in QUOTAS} for pk in began}
    rows: Any = counted.values("benchmark", "phase")
    for row in rows.annotate(in_total=Count("pk"), at_once=waiting, **since):
        pk = row["benchmark"]
        for name, n in (*row.items(), ("per_day", row[days[began[pk]]])):
            if name in QUOTAS:
                used[pk][name][row["phase"]] += n
    return used


def lock(team: Team) -> datetime:
    """Lock the team against parallel submissions; return the database's time."""
    Team.objects.select_for_update(no_key=True).values_list("pk").get(pk=team.pk)
    return Team.objects.filter(pk=team.pk).values_list(Now(), flat=True).get()


def require_quota(
    benchmark: Benchmark, team: Team, *, now: datetime, hidden: Collection[Setting], phase: str = ""
) -> None:
    """Reject a submission when a quota of its phase, or of all phases, is used up."""
    own = [
        each
        for each in allowances(benchmark, team, now=now, hidden=hidden)
        if phase in ("", file_contract.BOTH, each.phase) or not each.phase
    ]
    for allowance in sorted(own, key=lambda allowance: allowance.name != "in_total"):
        if allowance.left == 0:
            raise exceeded(benchmark, team, allowance, now=now)


def lock_sender(user: int) -> None:
    """Wait for files that a person is sending for other teams just now."""
    User.objects.select_for_update(no_key=True).values_list("pk").get(pk=user)


def first_run(user: int, hidden: Collection[Setting]) -> Submission | None:
    """Return the first run that a person sent where these settings, or others on their gold, hide figures."""
    golds = [setting.test_set.sha256 for setting in hidden]
    alike = Setting.objects.filter(disclosure=Setting.Disclosure.HIDDEN, versions__gold_sha256__in=golds)
    within = Q()
    for setting in {*hidden, *alike}:
        of_phase = Q(phase__in=file_contract.sent_to(setting.phase)) if setting.phase else Q()
        within |= Q(benchmark=setting.benchmark_id) & of_phase
    runs = Submission.objects.filter(COUNTED, within, by=user)
    return runs.select_related("system", "benchmark").order_by("pk").first()


def require_one_team(benchmark: Benchmark, team: Team, *, by: User, hidden: Collection[Setting]) -> None:
    """Reject another team than that of a person's first run where figures on one gold are held back.

    Files are compared within a team, also those sent to other hidden settings on the gold. Other members are
    bound by their own runs alone: one of them could lock the team out.
    """
    earlier = first_run(by.pk, hidden) if hidden else None
    if earlier is not None and earlier.system.team_id != team.pk:
        where = str(benchmark) if earlier.benchmark_id == benchmark.pk else "a benchmark on the same gold"
        detail = f"{by.shown_name} already submits to {where} for another team."
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
    within = f" in the {allowance.phase} phase" if allowance.phase else ""
    if allowance.name == "per_day" and at is not None:
        used = f"{team} has used all {most:,} submissions for today{within}."
        detail = f"{used} The next is allowed at {stated(at, benchmark)}."
        wait = int((at - now).total_seconds()) + 1
        return QuotaExceeded("quota_per_day", detail, retry_after=wait, hint=RETRY_LATER, next_at=at)
    if allowance.name == "in_total":
        detail = f"{team} has used all {most:,} submissions to {benchmark}{within}."
        hint = "Ask the organisers to raise the quota."
        return QuotaExceeded("quota_in_total", detail, retry_after=DAY_SECONDS, hint=hint)
    detail = f"{team} has {allowance.used:,} of at most {most:,} submissions waiting or running."
    hint = "Wait for one to end, or cancel one."
    at = now + timedelta(seconds=RETRY_SECONDS)
    return QuotaExceeded("quota_at_once", detail, retry_after=RETRY_SECONDS, hint=hint, next_at=at)


def checked_zone(name: str) -> str:
    """Return the name of a time zone, AoE resolved, or reject it."""
    if name.casefold() == "aoe":
        return ANYWHERE
    if name not in ZONES:
        raise DomainError(
            "bad_time_zone",
            f"{name} is not a time zone.",
            hint="Use a name such as UTC, Europe/Vienna or AoE.",
            field="time_zone",
        )
    return name
