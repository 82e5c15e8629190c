"""How numbers and times are written on the pages: one place, so that a figure looks alike everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from django.utils import timezone

DASH = "–"
MINUS = "−"


def number(value: float, *, digits: int = 1) -> str:
    """A figure with a true minus and thousands set off by a comma; never a minus before nothing."""
    text = f"{value:,.{digits}f}"
    if not text.strip("-0.,"):
        text = text.lstrip("-")
    return text.replace("-", MINUS)


def percent(value: float, *, digits: int = 1) -> str:
    """A share as the field writes scores: 0.694 is 69.4."""
    return number(100 * value, digits=digits)


def signed(value: float, *, digits: int = 1) -> str:
    """A difference, its sign always shown unless it rounds to nothing."""
    text = number(value, digits=digits)
    return text if text.startswith(MINUS) or not text.strip("0.,") else f"+{text}"


def count(value: int) -> str:
    return f"{value:,}"


def counted(value: int, one: str, many: str = "") -> str:
    """`1 run`, `1,204 runs`."""
    return f"{value:,} {one if value == 1 else many or one + 's'}"


def share(part: float, whole: float) -> str:
    """`35 %`, or a dash when there is nothing to be a part of."""
    return f"{number(100 * part / whole, digits=0)} %" if whole else DASH


def byte_size(size: int) -> str:
    """`13.8 MB`; bytes below a kilobyte are whole."""
    if size < 1_000:
        return counted(size, "byte")
    for unit, scale in (("kB", 1_000), ("MB", 1_000_000)):
        if size < 999.95 * scale:
            return f"{size / scale:.1f}".removesuffix(".0") + f" {unit}"
    return f"{size / 1e9:,.1f}".removesuffix(".0") + " GB"


def day(at: datetime) -> str:
    """`4 Nov`, with the year when it is not this one."""
    here = timezone.localtime(at)
    year = "" if here.year == timezone.localtime().year else f" {here.year}"
    return f"{here.day} {here:%b}{year}"


def moment(at: datetime) -> str:
    return f"{day(at)}, {timezone.localtime(at):%H:%M}"


def clock(at: datetime) -> str:
    return f"{timezone.localtime(at):%H:%M:%S}"


def listed(names: Sequence[str]) -> str:
    """`A`, `A and B`, `A, B and C`."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def short_hash(digest: str) -> str:
    """The two ends of a digest, enough to compare by eye."""
    return f"{digest[:8]} … {digest[-4:]}" if len(digest) > 16 else digest


class Told(Protocol):
    """What of a measure decides how its figures are written."""

    @property
    def digits(self) -> int: ...

    @property
    def unit(self) -> str: ...


def measured(value: float, measure: Told) -> str:
    """A value as its measure is written: shares as points of a hundred, all else as it is."""
    return (
        percent(value, digits=measure.digits) if measure.unit == "%" else number(value, digits=measure.digits)
    )
