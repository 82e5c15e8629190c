"""Formatting of numbers, sizes and times on pages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import NamedTuple, Protocol

from django.utils import timezone

DASH = "–"
MINUS = "−"
FLOAT_DIGITS = 11  # of a figure in points; further ones are those of binary numbers
HALF_UP = Context(prec=400, rounding=ROUND_HALF_UP)  # the greatest float has 309 digits
INNER_QUOTES = str.maketrans('“”"', "‘’'")  # of what stands in quotation marks itself


def number(value: float, *, digits: int = 1) -> str:
    """Number, rounded half up, with a true minus and thousands separators; never minus zero.

    As most tables print it: Python's own format turns 73.25 into 73.2, and 73.35 into 73.3 or 73.4.
    """
    exact = Decimal(f"{value:.{FLOAT_DIGITS}f}")
    rounded = exact.quantize(Decimal(1).scaleb(-digits), context=HALF_UP) if exact.is_finite() else exact
    text = f"{rounded:,f}"
    if not text.strip("-0.,"):
        text = text.lstrip("-")
    return text.replace("-", MINUS)


def percent(value: float, *, digits: int = 1) -> str:
    """Share in points of a hundred: 0.694 is 69.4."""
    return number(100 * value, digits=digits)


def signed(value: float, *, digits: int = 1) -> str:
    """Difference with its sign, unless it rounds to zero."""
    text = number(value, digits=digits)
    return text if text.startswith(MINUS) or not text.strip("0.,") else f"+{text}"


def count(value: int) -> str:
    return f"{value:,}"


def counted(value: int, singular: str, plural: str = "") -> str:
    """`1 run`, `1,204 runs`."""
    return f"{value:,} {singular if value == 1 else plural or singular + 's'}"


def are(n: int) -> str:
    """`is` after one thing, `are` after several."""
    return "is" if n == 1 else "are"


def seconds(value: float | None) -> str:
    """`12.4 s`, or a dash."""
    return DASH if value is None else f"{number(value)} s"


def share(part: float, whole: float) -> str:
    """`35 %`, or a dash for a part of nothing."""
    return f"{number(100 * part / whole, digits=0)} %" if whole else DASH


def byte_size(size: int) -> str:
    """`13.8 MB`, or `999 bytes`."""
    if size < 1_000:
        return counted(size, "byte")
    for unit, scale in (("kB", 1_000), ("MB", 1_000_000)):
        if size < 999.95 * scale:
            return f"{size / scale:.1f}".removesuffix(".0") + f" {unit}"
    return f"{size / 1e9:,.1f}".removesuffix(".0") + " GB"


def day(at: datetime) -> str:
    """`4 Nov`, with the year unless it is the current one."""
    local = timezone.localtime(at)
    year = "" if local.year == timezone.localtime().year else f" {local.year}"
    return f"{local.day} {local:%b}{year}"


def moment(at: datetime) -> str:
    return f"{day(at)}, {timezone.localtime(at):%H:%M}"


def clock(at: datetime) -> str:
    return f"{timezone.localtime(at):%H:%M:%S}"


def listed(names: Sequence[str]) -> str:
    """`A`, `A and B`, `A, B and C`."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def quoted(name: str) -> str:
    """Put a name in quotation marks where it may read like a part of the sentence."""
    return f"“{name.translate(INNER_QUOTES)}”"


def run_named(run: str) -> str:
    """`run 3`; a name of several words in quotation marks."""
    is_word = re.fullmatch(r"[\w.-]+", run)
    return f"run {run if is_word else quoted(run)}"


def short_hash(digest: str) -> str:
    """Both ends of a digest, to compare by eye."""
    return f"{digest[:8]} … {digest[-4:]}" if len(digest) > 16 else digest


def p_text(p: float) -> str:
    """Format p without its leading zero: .0025, .108, < .001."""
    if p < 0.001:
        return "< .001"
    text = f"{p:.4f}" if p < 0.01 else f"{p:.3f}"
    return text.removeprefix("0")


class MeasureFormat(Protocol):
    """Digits and unit of a measure."""

    @property
    def digits(self) -> int: ...

    @property
    def unit(self) -> str: ...


def measured(value: float, measure: MeasureFormat) -> str:
    """Value of a measure; percentages as points of a hundred."""
    return (
        percent(value, digits=measure.digits) if measure.unit == "%" else number(value, digits=measure.digits)
    )


def points(difference: float, measure: MeasureFormat) -> str:
    """Difference with its sign, in the unit of its measure."""
    return signed(100 * difference if measure.unit == "%" else difference, digits=measure.digits)


class Format(NamedTuple):
    """Digits and unit of a figure that may have more digits than its measure."""

    digits: int
    unit: str


def finer(measure: MeasureFormat, a: float, b: float = 0.0) -> MeasureFormat:
    """Return the format of a measure, with as many more digits as two values need to read differently."""
    formats = (Format(digits, measure.unit) for digits in range(measure.digits, FLOAT_DIGITS))
    return next((each for each in formats if measured(a, each) != measured(b, each)), measure)


def apart(difference: float, measure: MeasureFormat) -> str:
    """Difference without its sign, by digits in which it does not read as zero."""
    return measured(abs(difference), finer(measure, difference))
