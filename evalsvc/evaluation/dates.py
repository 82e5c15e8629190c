"""Dates of a benchmark in its time zone, with UTC beside them."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

from evalsvc.evaluation.models import Benchmark

ANYWHERE = "Etc/GMT+12"  # UTC−12, where a day ends last
ANYWHERE_TITLE = "Anywhere on Earth (AoE, UTC−12)"


def zone_of(benchmark: Benchmark) -> ZoneInfo:
    return ZoneInfo(benchmark.time_zone)


def zone_title(benchmark: Benchmark) -> str:
    """Return the short name of the zone: UTC, AoE, Europe/Vienna."""
    return "AoE" if benchmark.time_zone == ANYWHERE else benchmark.time_zone.replace("_", " ")


def stated(at: datetime, benchmark: Benchmark) -> str:
    """Write a moment in the zone of the benchmark, and in UTC if that is another."""
    in_utc = f"{at.astimezone(ZoneInfo('UTC')):%Y-%m-%d %H:%M} UTC"
    if benchmark.time_zone == "UTC":
        return in_utc
    return f"{at.astimezone(zone_of(benchmark)):%Y-%m-%d %H:%M} {zone_title(benchmark)} ({in_utc})"
