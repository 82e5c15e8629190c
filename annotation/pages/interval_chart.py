"""A figure with its interval, drawn on one scale per column, and how coefficients and shares are written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString

from evalsvc.core.web.formatting import DASH, number
from evalsvc.core.web.svg import Scale, drawing, element

NARROW = 96  # what a phone has beside a name and two figures


@dataclass(frozen=True, slots=True)
class Figure:
    """A value with its 95 % interval, or the reason why there is none."""

    value: float | None
    low: float | None = None
    high: float | None = None
    reason: str = ""

    @classmethod
    def of(cls, told: dict[str, Any]) -> Figure:
        return cls(told.get("value"), told.get("low"), told.get("high"), told.get("reason", ""))

    def ends(self) -> list[float]:
        return [end for end in (self.low, self.value, self.high) if end is not None]


def coefficient(value: float | None, *, digits: int = 2) -> str:
    """What cannot pass 1 loses its leading zero: .71, −.05, 1.00."""
    if value is None:
        return DASH
    text = number(value, digits=digits)
    return text.replace("0.", ".", 1) if text.lstrip("−").startswith("0.") else text


def tick_word(value: float) -> str:
    """A round coefficient on an axis: 0, .25, 1."""
    return coefficient(value).rstrip("0").rstrip(".") or "0"


def share(value: float | None) -> str:
    """25.2 %, or a dash."""
    return DASH if value is None else f"{number(100 * value)} %"


def spelled(figure: Figure, write: Any = coefficient) -> str:
    """.71 (.70 to .73)."""
    if figure.low is None or figure.high is None:
        return str(write(figure.value))
    return f"{write(figure.value)} ({write(figure.low)} to {write(figure.high)})"


def scale_of(figures: Iterable[Figure], *, width: int, whole: bool = False) -> Scale:
    """One scale for a column; `whole` when the axis has to hold 0 and 1."""
    ends = [end for figure in figures for end in figure.ends()]
    if whole:  # an end that only just passes 0 is no reason for half an axis of nothing
        ends = [0.0, 1.0, *(end for end in ends if end < -0.05)]
    return Scale(ends or [0.0, 1.0], start=4, stop=width - 4)


@dataclass(frozen=True, slots=True)
class Column:
    """Figures on one scale, drawn wide and for a phone; the style sheet shows one of the two."""

    wide: Scale
    narrow: Scale

    @classmethod
    def of(cls, figures: Sequence[Figure], *, width: int, whole: bool = False) -> Column:
        return cls(*(scale_of(figures, width=each, whole=whole) for each in (width, NARROW)))

    def axis(self, write: Any = tick_word) -> SafeString:
        return self._both(lambda scale, class_: axis(scale, write, class_=class_))

    def interval(self, figure: Figure, **more: Any) -> SafeString:
        return self._both(lambda scale, class_: interval(figure, scale, class_=class_, **more))

    def _both(self, draw: Callable[[Scale, str], Any]) -> SafeString:
        return format_html("{}{}", draw(self.wide, "fix wide-only"), draw(self.narrow, "fix narrow-only"))


def axis(scale: Scale, write: Any = tick_word, *, class_: str = "fix") -> SafeString:
    """The column head: round figures over their places."""
    ticks = scale.ticks()
    last = len(ticks) - 1
    step = max(last, 1) if _width(scale) == NARROW else 2 if last >= 5 else 1
    texts = [
        element(
            "text",
            write(tick),
            class_="ax",
            x=scale(tick),
            y=11,
            text_anchor="start" if at == 0 else "end" if at == last else "middle",
        )
        for at, tick in enumerate(ticks)
        if at % step == 0
    ]
    box = {"viewBox": f"0 0 {_width(scale)} 14", "width": _width(scale), "height": 14}
    return element("svg", *texts, class_=class_, **box, aria_hidden="true")


def _width(scale: Scale) -> int:
    return round(scale.stop + 4)


def interval(
    figure: Figure,
    scale: Scale,
    *,
    below: float | None = None,
    write: Any = coefficient,
    class_: str = "fix",
) -> Any:
    """A dot and its interval; a square in the second colour below a stated bound."""
    if figure.value is None:
        return ""
    low = below is not None and figure.value < below
    ticks = "".join(f"M{scale(tick):.1f} 5v8" for tick in scale.ticks())
    parts = [element("path", class_="grid", d=f"M4 9H{scale.stop:.1f}{ticks}")]
    if figure.low is not None and figure.high is not None:
        left, right = scale(figure.low), scale(figure.high)
        line = f"M{left:.1f} 9H{right:.1f}M{left:.1f} 5v8M{right:.1f} 5v8"
        parts.append(element("path", class_="l2" if low else "l1", d=line))
    told, x = spelled(figure, write), scale(figure.value)
    title = element("title", told)
    if low:
        parts.append(element("rect", title, class_="f2 halo", x=x - 3.4, y=5.6, width=6.8, height=6.8))
    else:
        parts.append(element("circle", title, class_="f1 halo", cx=x, cy=9, r=3.8))
    return drawing(_width(scale), 18, told, *parts, class_=class_)
