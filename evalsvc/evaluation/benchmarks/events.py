"""Public events of a benchmark, for its feed: no figures, and nothing of sealed settings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from typing import NamedTuple
from urllib.parse import urlencode

from django.db.models import Count, Max, Min
from django.urls import reverse
from django.utils import timezone
from django.utils.html import escape
from django.utils.safestring import SafeString

from evalsvc.core.accounts.teams import name_with_team
from evalsvc.core.web.formatting import counted
from evalsvc.core.web.markdown import to_html
from evalsvc.evaluation.benchmarks.announcements import PAGE
from evalsvc.evaluation.models import (
    Announcement,
    Benchmark,
    ReportedSystem,
    Setting,
    SettingVersion,
    Submission,
    System,
)
from evalsvc.evaluation.roles import is_sealed

MOST = 50
SHOWN = 1_000  # characters of a text


class Event(NamedTuple):
    """What happened; `key` is the same whenever the feed is read."""

    at: datetime
    key: str
    title: str
    text: str
    path: str
    benchmark: Benchmark
    is_markdown: bool = False

    @property
    def html(self) -> SafeString:
        """The text up to a bound; the link of the event leads to the whole."""
        shown = self.text if len(self.text) <= SHOWN else f"{self.text[:SHOWN]}…"
        return to_html(shown) if self.is_markdown else escape(shown)


def events(benchmark: Benchmark, now: datetime | None = None) -> list[Event]:
    """Return the newest events of a benchmark, the newest first."""
    return events_of([benchmark], now)


def events_of(benchmarks: Iterable[Benchmark], now: datetime | None = None) -> list[Event]:
    """Return the newest events of benchmarks, in as many queries for many as for one."""
    now, of = now or timezone.now(), {each.pk: each for each in benchmarks}
    settings = list(Setting.objects.filter(benchmark__in=of).select_related("benchmark"))
    unsealed = [setting for setting in settings if not is_sealed(setting, now)]
    found = [
        *_dates(settings, now),
        *_versions(settings),
        *_systems(of, unsealed),
        *_reported(settings),
        *_announcements(of),
    ]
    return sorted(found, key=lambda each: each[:4], reverse=True)[:MOST]


def _board(benchmark: Benchmark, setting: Setting | None = None) -> str:
    query = f"?{urlencode({'setting': setting.key})}" if setting else ""
    return reverse("board", args=[benchmark.slug]) + query


def _dates(settings: Collection[Setting], now: datetime) -> Iterator[Event]:
    for setting in settings:
        for name, at in (("opened", setting.opens_at), ("closed", setting.closes_at)):
            if at is not None and at <= now:
                text = "It accepts submissions." if name == "opened" else "It accepts no more submissions."
                title = f"“{setting.title}” {name}"
                yield Event(
                    at,
                    f"{name}/{setting.key}",
                    title,
                    text,
                    _board(setting.benchmark, setting),
                    setting.benchmark,
                )


def _versions(settings: Collection[Setting]) -> Iterator[Event]:
    by_key = {setting.pk: setting for setting in settings}
    rows = SettingVersion.objects.filter(setting__in=by_key, number__gt=1).order_by("-created_at", "-pk")
    for version in rows[:MOST]:
        setting = by_key[version.setting_id]
        yield Event(
            version.created_at,
            f"version/{setting.key}/{version.number}",
            f"Version {version.number} of “{setting.title}”",
            version.note or "Runs are scored under a new version.",
            reverse("version-moves", args=[setting.benchmark.slug, setting.key, version.number]),
            setting.benchmark,
        )


def _systems(of: Mapping[int, Benchmark], settings: Collection[Setting]) -> Iterator[Event]:
    """Yield the first scored run of the newest systems on these settings, without withdrawn ones."""
    newest = System.objects.filter(benchmark__in=of).order_by("-pk").values("pk")[:MOST]
    runs = Submission.objects.filter(
        system__in=newest, withdrawn_at=None, scored_at__isnull=False, evaluations__setting__in=settings
    )
    names = ("system__name", "system__team__slug")
    first = runs.values("system_id", "benchmark_id", *names).annotate(at=Min("scored_at"))
    for row in first.order_by("-at", "-system_id")[:MOST]:
        title = name_with_team(*(row[name] for name in names))
        text = "Its first run was scored."
        benchmark = of[row["benchmark_id"]]
        path = reverse("system", args=[benchmark.slug, row["system_id"]])
        yield Event(row["at"], f"system/{row['system_id']}", title, text, path, benchmark)


def _reported(settings: Collection[Setting]) -> Iterator[Event]:
    by_key = {setting.pk: setting for setting in settings}
    rows = ReportedSystem.objects.filter(setting__in=by_key).values("setting_id", "paper", "table")
    tables = rows.annotate(at=Max("created_at"), n=Count("pk"), first=Min("pk")).order_by("-at", "-first")
    for row in tables[:MOST]:
        setting = by_key[row["setting_id"]]
        shown = f"{counted(row['n'], 'system')} shown beside those scored here"
        text = f"{shown}, unranked, under “{setting.title}”."
        title = f"Figures from {row['paper']}, {row['table']}"
        key = f"reported/{setting.key}/{row['first']}"
        yield Event(row["at"], key, title, text, _board(setting.benchmark, setting), setting.benchmark)


def _announcements(of: Mapping[int, Benchmark]) -> Iterator[Event]:
    newer: Counter[int] = Counter()  # of the benchmark
    for each in Announcement.objects.filter(benchmark__in=of)[:MOST]:
        benchmark = of[each.benchmark_id]
        page = newer[benchmark.pk] // PAGE + 1
        newer[benchmark.pk] += 1
        query = f"?page={page}" if page > 1 else ""
        path = f"{reverse('board-announcements', args=[benchmark.slug])}{query}#announcement-{each.pk}"
        yield Event(each.created_at, f"announcement/{each.pk}", each.title, each.text, path, benchmark, True)
