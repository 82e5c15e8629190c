"""Estimates with intervals, as text and as charts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString

from evalsvc.core.web.formatting import DASH, number
from evalsvc.core.web.svg import Scale, drawing, element

NARROW = 96  # room on a phone beside a name and two figures


@dataclass(frozen=True, slots=True)
class Estimate:
    """Value with its 95 % interval, or why it is undefined."""

    value: float | None
    low: float | None = None
    high: float | None = None
    reason: str = ""

    @classmethod
    def of(cls, figure: dict[str, Any]) -> Estimate:
        return cls(figure.get("value"), figure.get("low"), figure.get("high"), figure.get("reason", ""))

    def ends(self) -> list[float]:
        return [end for end in (self.low, self.value, self.high) if end is not None]


def coefficient(value: float | None, *, digits: int = 2) -> str:
    """Format a coefficient without its leading zero: .71, −.05, 1.00."""
    if value is None:
        return DASH
    text = number(value, digits=digits)
    return text.replace("0.", ".", 1) if text.lstrip("−").startswith("0.") else text


def tick_label(value: float) -> str:
    """Format a round coefficient on an axis: 0, .25, 1."""
    return coefficient(value).rstrip("0").rstrip(".") or "0"


def share(value: float | None) -> str:
    """Format a share: 25.2 %, or a dash."""
    return DASH if value is None else f"{number(100 * value)} %"


def estimate_text(estimate: Estimate, write: Any = coefficient) -> str:
    """Format an estimate with its interval: .71 (.70 to .73)."""
    if estimate.low is None or estimate.high is None:
        return str(write(estimate.value))
    return f"{write(estimate.value)} ({write(estimate.low)} to {write(estimate.high)})"


def scale_of(estimates: Iterable[Estimate], *, width: int, unit: bool = False) -> Scale:
    """Return one scale for a column; `unit` includes 0 and 1."""
    ends = [end for estimate in estimates for end in estimate.ends()]
    if unit:  # an end just below 0 should not take up half of the axis
        ends = [0.0, 1.0, *(end for end in ends if end < -0.05)]
    return Scale(ends or [0.0, 1.0], start=4, stop=width - 4)


@dataclass(frozen=True, slots=True)
class IntervalColumn:
    """Scales of a column; the style sheet shows one of them."""

    wide: Scale
    narrow: Scale

    @classmethod
    def of(cls, estimates: Sequence[Estimate], *, width: int, unit: bool = False) -> IntervalColumn:
        return cls(*(scale_of(estimates, width=each, unit=unit) for each in (width, NARROW)))

    def axis(self, write: Any = tick_label) -> SafeString:
        return self._both(lambda scale, class_: axis(scale, write, class_=class_))

    def interval(self, estimate: Estimate, **more: Any) -> SafeString:
        return self._both(lambda scale, class_: interval(estimate, scale, class_=class_, **more))

    def _both(self, draw: Callable[[Scale, str], Any]) -> SafeString:
        return format_html("{}{}", draw(self.wide, "fix wide-only"), draw(self.narrow, "fix narrow-only"))


def axis(scale: Scale, write: Any = tick_label, *, class_: str = "fix") -> SafeString:
    """Draw the axis of a column's head."""
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
    estimate: Estimate,
    scale: Scale,
    *,
    low: bool = False,
    write: Any = coefficient,
    class_: str = "fix",
) -> Any:
    """Draw an estimate with its interval: a dot, or a low square."""
    if estimate.value is None:
        return ""
    ticks = "".join(f"M{scale(tick):.1f} 5v8" for tick in scale.ticks())
    parts = [element("path", class_="grid", d=f"M4 9H{scale.stop:.1f}{ticks}")]
    if estimate.low is not None and estimate.high is not None:
        left, right = scale(estimate.low), scale(estimate.high)
        line = f"M{left:.1f} 9H{right:.1f}M{left:.1f} 5v8M{right:.1f} 5v8"
        parts.append(element("path", class_="l2" if low else "l1", d=line))
    text, x = estimate_text(estimate, write), scale(estimate.value)
    title = element("title", text)
    if low:
        parts.append(element("rect", title, class_="f2 halo", x=x - 3.4, y=5.6, width=6.8, height=6.8))
    else:
        parts.append(element("circle", title, class_="f1 halo", cx=x, cy=9, r=3.8))
    return drawing(_width(scale), 18, text, *parts, class_=class_)
