"""Dates of a benchmark in its time zone, with UTC beside them."""

from __future__ import annotations

from datetime import MAXYEAR, MINYEAR, date, datetime, time, timedelta
from zoneinfo import ZoneInfo, available_timezones

from django.utils import timezone

from evalsvc.evaluation.models import Benchmark

ANYWHERE = "Etc/GMT+12"  # UTC−12, where a day ends last
ANYWHERE_TITLE = "Anywhere on Earth (AoE, UTC−12)"
ZONES = available_timezones() - {"Factory", "localtime"}  # these are no place, or that of the server
FIRST, LAST = date(1970, 1, 1), date(9998, 12, 30)  # with a day beside them in every zone


def zone_of(benchmark: Benchmark) -> ZoneInfo:
    return ZoneInfo(benchmark.time_zone)


def zone_title(benchmark: Benchmark) -> str:
    """Return the short name of the zone: UTC, AoE, Europe/Vienna."""
    return "AoE" if benchmark.time_zone == ANYWHERE else benchmark.time_zone.replace("_", " ")


def zone_key(benchmark: Benchmark) -> str:
    """Return the zone as people name it; the sign of Etc/GMT+12 reads as UTC+12."""
    return "AoE" if benchmark.time_zone == ANYWHERE else benchmark.time_zone


def stated(at: datetime, benchmark: Benchmark) -> str:
    """Write a moment in the zone of the benchmark, and in UTC if that is another."""
    in_utc = f"{at.astimezone(ZoneInfo('UTC')):%Y-%m-%d %H:%M} UTC"
    local = local_time(at, benchmark)
    return f"{local} ({in_utc})" if local else in_utc


def local_time(at: datetime, benchmark: Benchmark) -> str:
    """Write a moment in the zone of the benchmark, nothing if that is UTC."""
    if benchmark.time_zone == "UTC":
        return ""
    return f"{at.astimezone(zone_of(benchmark)):%Y-%m-%d %H:%M} {zone_title(benchmark)}"


def moment(at: datetime | None, benchmark: Benchmark) -> datetime | None:
    """Read a moment without a zone in that of the benchmark."""
    return at.replace(tzinfo=zone_of(benchmark)) if at and at.tzinfo is None else at


def is_in_calendar(at: datetime) -> bool:
    """True for a moment that has a date in every zone."""
    return MINYEAR < at.year < MAXYEAR


def is_doubtful(closes_at: datetime | None, before: datetime | None) -> bool:
    """True for a new closing date that has passed: it ends the phase, and shows its figures, at once."""
    return closes_at is not None and closes_at != before and closes_at <= timezone.now()


def submitted_on(benchmark: Benchmark, *, since: date | None, until: date | None) -> dict[str, datetime]:
    """Return filters of submissions by days in the zone of the benchmark, both included.

    Computed here, as databases read the name Etc/GMT+12 as UTC+12.
    """

    def begin(day: date) -> datetime:
        return datetime.combine(min(max(day, FIRST), LAST), time.min, zone_of(benchmark))

    bounds = {"created_at__gte": begin(since)} if since else {}
    return bounds | ({"created_at__lt": begin(until) + timedelta(days=1)} if until else {})
