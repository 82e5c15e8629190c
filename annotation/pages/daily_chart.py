"""Progress by day, drawn: a bar of answers, the skips outlined on top of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from math import ceil, floor, log10

from django.utils.html import format_html
from django.utils.safestring import SafeString

from annotation.reports.project_stats import Day
from evalsvc.core.web.formatting import count, counted
from evalsvc.core.web.svg import drawing, element

MOST = 90
WIDTH, NARROW, HEIGHT = 1080, 290, 220
WIDEST = 48
LAST = 14  # days a phone has room for
LEFT, TOP, BOTTOM = 48, 14, 188


def calendar(days: Sequence[Day], *, until: date) -> list[Day]:
    """Every day from the first to the last, those with nothing done too; the last ninety at most."""
    if not days:
        return []
    done = {day.day: day for day in days}
    last = max(days[-1].day, until)
    if (last - days[-1].day).days >= MOST:
        last = days[-1].day
    n = min((last - days[0].day).days + 1, MOST)
    every = [last - timedelta(days=back) for back in reversed(range(n))]
    return [done.get(day, Day(day, 0, 0, 0)) for day in every]


def words(day: date) -> str:
    return f"{day.day} {day:%b}"


def told(day: Day) -> str:
    """12 Nov: 240 answers and 3 skips by 5 people."""
    done = counted(day.answers, "answer") + (f" and {counted(day.skips, 'skip')}" if day.skips else "")
    return f"{words(day.day)}: {done}" + (
        f" by {counted(day.annotators, 'person', 'people')}" if day.annotators else ""
    )


def both(days: Sequence[Day]) -> SafeString:
    """A wide drawing, and one of the last days for a phone; the style sheet shows one of them."""
    if not days:
        return SafeString("")
    wide = days_svg(days, class_="wide-only")
    return format_html("{}{}", wide, days_svg(days[-LAST:], width=NARROW, class_="narrow-only"))


def days_svg(days: Sequence[Day], *, width: int = WIDTH, class_: str | None = None) -> SafeString:
    """One bar a day over a week at least; the axis starts at nothing."""
    days = a_week(days)
    top = max((day.answers + day.skips for day in days), default=0) or 1
    step = _step(top)
    ticks = range(0, top + step, step)
    scale = (BOTTOM - TOP) / max(ticks)
    parts = [piece for tick in ticks for piece in _tick(tick, BOTTOM - tick * scale, width)]
    slot = (width - LEFT - 8) / len(days)
    for at, day in enumerate(days):
        parts.append(_bar(day, LEFT + slot * at, slot, scale))
    parts += _dates(days, slot)
    parts.append(element("path", class_="zero", d=f"M{LEFT} {BOTTOM}H{width}"))
    return drawing(width, HEIGHT, "Answers by day", *parts, class_=class_)


def a_week(days: Sequence[Day]) -> list[Day]:
    """With the days before the first, in which nothing was done: one bar alone in a page says little."""
    before = [days[0].day - timedelta(days=back) for back in reversed(range(1, 8 - len(days)))]
    return [*(Day(day, 0, 0, 0) for day in before), *days]


def _step(top: int) -> int:
    """A round whole number that cuts the axis into three to five."""
    rough = max(top / 4, 1)
    power = 10 ** floor(log10(rough))
    return int(next(power * m for m in (1, 2, 5, 10) if power * m >= rough))


def _tick(tick: int, y: float, width: int) -> list[SafeString]:
    return [
        element("path", class_="grid", d=f"M{LEFT} {y:.1f}H{width}"),
        element("text", count(tick), class_="ax", x=LEFT - 8, y=y + 4, text_anchor="end"),
    ]


def _bar(day: Day, x: float, slot: float, scale: float) -> SafeString:
    wide = min(max(slot * 0.72, 2.0), WIDEST)
    left, answers, skips = x + (slot - wide) / 2, day.answers * scale, day.skips * scale
    parts = [element("title", told(day))]
    parts.append(element("rect", class_="f1", x=left, y=BOTTOM - answers, width=wide, height=answers))
    if day.skips:
        y = BOTTOM - answers - skips
        parts.append(element("rect", class_="l2", x=left + 1, y=y, width=wide - 2, height=skips))
    return element("g", *parts, class_="mark-g")


def _dates(days: Sequence[Day], slot: float) -> list[SafeString]:
    """As many dates under the axis as stand apart."""
    every = max(1, ceil(60 / slot))
    return [
        element("text", words(day.day), class_="ax", x=LEFT + slot * (at + 0.5), y=206, text_anchor="middle")
        for at, day in enumerate(days)
        if at % every == 0
    ]
