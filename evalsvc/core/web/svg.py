"""SVG charts: geometry in attributes, colours by class or literal."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape
from math import floor, log10

from django.utils.safestring import SafeString

CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")  # no XML has them
# The light theme's colours, for downloads, which have no style sheet.
SERIES = (
    "#63686f",
    *("#0072b2", "#d55e00", "#00835f", "#a8497f", "#a96f00"),
    *("#060482", "#7a1d06", "#0b1240", "#7011e0", "#320b10"),
)
LITERAL = (
    {
        "ax": 'fill="#63686f" font-size="12" font-family="sans-serif"',
        "lab": 'fill="#484d54" font-size="12" font-family="sans-serif"',
        "lab-b": 'fill="#1b1d20" font-size="12" font-weight="600" font-family="sans-serif"',
        "grid": 'stroke="#e2dfd6" fill="none"',
        "axis": 'stroke="#b9b4a6" fill="none"',
        "zero": 'stroke="#484d54" fill="none"',
        "halo": 'stroke="#ffffff" stroke-width="1.5"',
        "track": 'fill="#f0eee8"',
        "tick": 'fill="#1b1d20"',
        "on-dark": 'fill="#ffffff" font-size="12" font-family="sans-serif"',
    }
    | {
        f"h{step}": f'fill="{colour}"'
        for step, colour in enumerate(
            ("#ebf4f9", "#d1e6f1", "#b8d8e9", "#9ecae1", "#85bcda", "#285d7f"), start=1
        )
    }
    | {
        key: text
        for i, colour in enumerate(SERIES)
        for key, text in (
            (f"f{i}", f'fill="{colour}"'),
            (f"l{i}", f'fill="none" stroke="{colour}" stroke-width="2" stroke-linejoin="round"'),
        )
    }
)


def _escaped(value: object) -> str:
    """Escape a text; Django's `conditional_escape` takes three times as long."""
    if type(value) is int:
        return str(value)
    return value if isinstance(value, SafeString) else escape(str(value))


def element(name: str, *inside: str, **attributes: object) -> SafeString:
    """SVG element; `class_` is class, other underscores are hyphens."""
    attrs = ""
    for key, value in attributes.items():
        if value is not None:
            text = f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else _escaped(value)
            attrs += f' {key.rstrip("_").replace("_", "-")}="{text}"'
    body = "".join(map(_escaped, inside))
    return SafeString(f"<{name}{attrs}>{body}</{name}>" if body else f"<{name}{attrs}/>")


def drawing(width: int, height: int, name: str, *inside: str, class_: str | None = None) -> SafeString:
    """SVG image with its name and size."""
    box = {"viewBox": f"0 0 {width} {height}", "width": width, "height": height}
    return element("svg", *inside, class_=class_, **box, role="img", aria_label=name)


def literal(svg: str) -> str:
    """Replace classes by literal colours, for a download."""

    def colours(match: re.Match[str]) -> str:
        return " ".join(LITERAL[key] for key in match[1].split() if key in LITERAL)

    plain = re.sub(r'class="([^"]*)"', colours, CONTROLS.sub("", svg))
    return plain.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1)


def swatch(number: int) -> SafeString:
    square = element("rect", class_=f"f{number}", width=12, height=12, rx=2)
    box = {"viewBox": "0 0 12 12", "width": 12, "height": 12}
    return element("svg", square, class_="fix", **box, aria_hidden="true")


class Scale:
    """Linear axis with round ends that include every value."""

    def __init__(self, values: Iterable[float], *, start: float, stop: float) -> None:
        known = list(values)
        low, high = min(known, default=0.0), max(known, default=1.0)
        rough = max(high - low, 0.01) / 3
        power = 10.0 ** floor(log10(rough))
        self.step = next(power * m for m in (1, 2, 5, 10) if power * m >= rough - 1e-12)
        self.low = floor(low / self.step + 1e-9) * self.step
        self.high = self.low + self.step
        while self.high < high - 1e-9:
            self.high += self.step
        self.start, self.stop = start, stop

    def __call__(self, value: float) -> float:
        return self.start + (self.stop - self.start) * (value - self.low) / (self.high - self.low)

    def ticks(self) -> list[float]:
        steps = round((self.high - self.low) / self.step)
        return [self.low + i * self.step for i in range(steps + 1)]
