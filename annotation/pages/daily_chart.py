"""Bar chart of answers by day, with skips outlined on top."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from math import ceil, floor, log10

from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from annotation.models import Project
from annotation.reports.progress import WorkDay
from evalsvc.core.web.formatting import count, counted
from evalsvc.core.web.svg import drawing, element

MAX_DAYS = 90
WIDTH, NARROW, HEIGHT = 1080, 290, 220
WIDEST_BAR = 48
PHONE_DAYS = 14
LEFT, TOP, BOTTOM = 48, 14, 188


def calendar_of(project: Project, days: Sequence[WorkDay]) -> list[WorkDay]:
    """Return every day; an open project's up to today."""
    open_ = project.state == Project.State.OPEN
    return calendar(days, until=timezone.now().date() if open_ else date.min)


def calendar(days: Sequence[WorkDay], *, until: date) -> list[WorkDay]:
    """Return every day to the last, at most ninety."""
    if not days:
        return []
    by_date = {day.day: day for day in days}
    last = max(days[-1].day, until)
    if (last - days[-1].day).days >= MAX_DAYS:
        last = days[-1].day
    n = min((last - days[0].day).days + 1, MAX_DAYS)
    dates = [last - timedelta(days=back) for back in reversed(range(n))]
    return [by_date.get(day, WorkDay(day, 0, 0, 0)) for day in dates]


def date_text(day: date) -> str:
    return f"{day.day} {day:%b}"


def day_text(day: WorkDay) -> str:
    """`12 Nov: 240 answers and 3 skips by 5 people`."""
    work = counted(day.answers, "answer") + (f" and {counted(day.skips, 'skip')}" if day.skips else "")
    people = f" by {counted(day.annotators, 'person', 'people')}" if day.annotators else ""
    return f"{date_text(day.day)}: {work}{people}"


def responsive_chart(days: Sequence[WorkDay]) -> SafeString:
    """Draw a wide chart and a phone's; CSS shows one."""
    if not days:
        return SafeString("")
    wide = days_svg(days, class_="wide-only")
    return format_html("{}{}", wide, days_svg(days[-PHONE_DAYS:], width=NARROW, class_="narrow-only"))


def days_svg(days: Sequence[WorkDay], *, width: int = WIDTH, class_: str | None = None) -> SafeString:
    """Draw one bar a day over at least a week."""
    days = at_least_a_week(days)
    top = max((day.answers + day.skips for day in days), default=0) or 1
    rough = max(top / 4, 1)  # a round step for three to five parts of the axis
    power = 10 ** floor(log10(rough))
    step = int(next(power * m for m in (1, 2, 5, 10) if power * m >= rough))
    ticks = range(0, top + step, step)
    scale = (BOTTOM - TOP) / max(ticks)
    slot = (width - LEFT - 8) / len(days)
    parts = []
    for tick in ticks:
        y = BOTTOM - tick * scale
        parts.append(element("path", class_="grid", d=f"M{LEFT} {y:.1f}H{width}"))
        parts.append(element("text", count(tick), class_="ax", x=LEFT - 8, y=y + 4, text_anchor="end"))
    parts += [_bar(day, LEFT + slot * at, slot, scale) for at, day in enumerate(days)]
    for at in range(0, len(days), max(1, ceil(60 / slot))):  # as many dates as fit
        place = {"x": LEFT + slot * (at + 0.5), "y": 206, "text_anchor": "middle"}
        parts.append(element("text", date_text(days[at].day), class_="ax", **place))
    parts.append(element("path", class_="zero", d=f"M{LEFT} {BOTTOM}H{width}"))
    return drawing(width, HEIGHT, "Answers by day", *parts, class_=class_)


def at_least_a_week(days: Sequence[WorkDay]) -> list[WorkDay]:
    """Prepend empty days, because a single bar gives no sense of scale."""
    before = [days[0].day - timedelta(days=back) for back in reversed(range(1, 8 - len(days)))]
    return [*(WorkDay(day, 0, 0, 0) for day in before), *days]


def _bar(day: WorkDay, x: float, slot: float, scale: float) -> SafeString:
    wide = min(max(slot * 0.72, 2.0), WIDEST_BAR)
    left, answers, skips = x + (slot - wide) / 2, day.answers * scale, day.skips * scale
    parts = [element("title", day_text(day))]
    parts.append(element("rect", class_="f1", x=left, y=BOTTOM - answers, width=wide, height=answers))
    if day.skips:
        y = BOTTOM - answers - skips
        parts.append(element("rect", class_="l2", x=left + 1, y=y, width=wide - 2, height=skips))
    return element("g", *parts, class_="mark-g")
