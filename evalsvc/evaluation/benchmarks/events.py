"""Public events of a benchmark, for its feed: no figures, and nothing of sealed settings."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime
from typing import NamedTuple
from urllib.parse import urlencode

from django.db.models import Count, Max, Min
from django.urls import reverse
from django.utils import timezone

from evalsvc.core.web.formatting import counted
from evalsvc.evaluation.models import (
    Benchmark,
    ReportedSystem,
    Setting,
    SettingVersion,
    Submission,
)
from evalsvc.evaluation.roles import is_sealed

MOST = 50


class Event(NamedTuple):
    """What happened; `key` is the same whenever the feed is read."""

    at: datetime
    key: str
    title: str
    text: str
    path: str


def events(benchmark: Benchmark, now: datetime | None = None) -> list[Event]:
    """Return the newest events of a benchmark, the newest first."""
    now = now or timezone.now()
    settings = list(benchmark.settings.all())
    unsealed = [setting for setting in settings if not is_sealed(setting, now)]
    found = [
        *_dates(benchmark, settings, now),
        *_versions(benchmark, settings),
        *_systems(benchmark, unsealed),
        *_reported(benchmark, settings),
        *_announcements(benchmark),
    ]
    return sorted(found, reverse=True)[:MOST]


def _board(benchmark: Benchmark, setting: Setting | None = None) -> str:
    query = f"?{urlencode({'setting': setting.key})}" if setting else ""
    return reverse("board", args=[benchmark.slug]) + query


def _dates(benchmark: Benchmark, settings: Collection[Setting], now: datetime) -> Iterator[Event]:
    for setting in settings:
        for name, at in (("opened", setting.opens_at), ("closed", setting.closes_at)):
            if at is not None and at <= now:
                text = "It accepts submissions." if name == "opened" else "It accepts no more submissions."
                title = f"“{setting.title}” {name}"
                yield Event(at, f"{name}/{setting.key}", title, text, _board(benchmark, setting))


def _versions(benchmark: Benchmark, settings: Collection[Setting]) -> Iterator[Event]:
    by_key = {setting.pk: setting for setting in settings}
    rows = SettingVersion.objects.filter(setting__in=by_key, number__gt=1).order_by("-created_at", "-pk")
    for version in rows[:MOST]:
        setting = by_key[version.setting_id]
        yield Event(
            version.created_at,
            f"version/{setting.key}/{version.number}",
            f"Version {version.number} of “{setting.title}”",
            version.note or "Runs are scored under a new version.",
            reverse("version-moves", args=[benchmark.slug, setting.key, version.number]),
        )


def _systems(benchmark: Benchmark, settings: Collection[Setting]) -> Iterator[Event]:
    """Yield the first scored run of each system on these settings, without withdrawn ones."""
    runs = Submission.objects.filter(
        benchmark=benchmark, withdrawn_at=None, scored_at__isnull=False, evaluations__setting__in=settings
    )
    first = runs.values("system_id", "system__name", "system__team__name").annotate(at=Min("scored_at"))
    for row in first.order_by("-at", "-system_id")[:MOST]:
        title = f"{row['system__name']} of {row['system__team__name']}"
        text = "Its first run was scored."
        yield Event(row["at"], f"system/{row['system_id']}", title, text, _board(benchmark))


def _reported(benchmark: Benchmark, settings: Collection[Setting]) -> Iterator[Event]:
    by_key = {setting.pk: setting for setting in settings}
    rows = ReportedSystem.objects.filter(setting__in=by_key).values("setting_id", "paper", "table")
    tables = rows.annotate(at=Max("created_at"), n=Count("pk"), first=Min("pk")).order_by("-at", "-first")
    for row in tables[:MOST]:
        setting = by_key[row["setting_id"]]
        shown = f"{counted(row['n'], 'system')} shown beside those scored here"
        text = f"{shown}, unranked, under “{setting.title}”."
        title = f"Figures from {row['paper']}, {row['table']}"
        key = f"reported/{setting.key}/{row['first']}"
        yield Event(row["at"], key, title, text, _board(benchmark, setting))


def _announcements(benchmark: Benchmark) -> Iterator[Event]:
    for each in benchmark.announcements.all()[:MOST]:
        path = f"{reverse('board-announcements', args=[benchmark.slug])}#announcement-{each.pk}"
        yield Event(each.created_at, f"announcement/{each.pk}", each.title, each.text, path)
