"""Small charts of boards and submissions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django.utils.safestring import SafeString, mark_safe

from evalsvc.core.web.formatting import percent
from evalsvc.core.web.svg import Scale, drawing, element


def rug(values: Sequence[float], *, unit: str = "", best: float | None = None) -> SafeString:
    """Systems on a line from 0 to 100.

    The best mean, by default the highest, is tall.
    """
    top = max(values, default=0.0)
    best = top if best is None else best
    ticks = [element("path", class_="axis", d=d) for d in ("M1 15H209", "M1 15v4", "M105 15v4", "M209 15v4")]
    marks = []
    drawn = {round(208 * value): value for value in sorted(values)} | {round(208 * best): best}
    for value in sorted(set(drawn.values())):
        width, height = (2.5, 14) if value == best else (1.5, 8)
        x = 1 + 208 * min(max(value, 0.0), 1.0) - width / 2
        shape = {"x": x, "y": 15 - height, "width": width, "height": height}
        class_ = "rug rug--top" if value == best else "rug"
        marks.append(element("rect", element("title", percent(value)), class_=class_, **shape))
    low, high = percent(min(values, default=0.0)), percent(top)
    name = f"{len(values)} systems between {low} and {high}" if len(values) > 1 else f"One system at {high}"
    return drawing(210, 20, name + (f", {unit}" if unit else ""), *ticks, *marks, class_="fix")


def run_scale(runs: Iterable[float]) -> Scale:
    return Scale(runs, start=2, stop=116)


def strip_axis(scale: Scale) -> SafeString:
    """Axis over run strips: the ends of their common scale."""
    digits = 0 if scale.step >= 0.01 else 1
    low, high = percent(scale.low, digits=digits), percent(scale.high, digits=digits)
    texts = [
        element("text", text, class_="ax", x=x, y=11, text_anchor=anchor)
        for text, x, anchor in ((low, scale.start, "start"), (high, scale.stop, "end"))
    ]
    return drawing(118, 14, f"Runs, from {low} to {high}", *texts, class_="fix")


def run_strip(
    runs: Sequence[float], *, mean: float, sd: float | None, scale: Scale, digits: int = 1
) -> SafeString:
    """Draw runs as rings, the mean, and one standard deviation."""
    parts = [element("path", class_="grid", d="M2 9H116")]
    if sd:
        left, right = max(scale(mean - sd), 2.0), min(scale(mean + sd), 116.0)
        parts.append(element("path", class_="l1", d=f"M{left:.1f} 9H{right:.1f}"))
    texts = {run: percent(run, digits=digits) for run in sorted(runs)}
    for run in sorted(runs):
        ring = {"cx": scale(run), "cy": 9, "r": 3}
        parts.append(element("circle", element("title", texts[run]), class_="hollow l1 thin", **ring))
    parts.append(element("path", class_="zero", d=f"M{scale(mean):.1f} 3v12"))
    name = "Runs: " + ", ".join(texts[run] for run in sorted(runs))
    return drawing(118, 18, name, *parts, class_="fix")


def bar(value: float | None, *, width: int = 160) -> SafeString:
    """Bar of a share; below one half in the second colour."""
    if value is None:
        return mark_safe("")
    track = element("rect", class_="track", width=width, height=12, rx=2)
    fill = element("rect", class_="f2" if value < 0.5 else "f1", width=width * value, height=12, rx=2)
    return drawing(width, 12, percent(value), track, fill, class_="fix")


def progress(done: int, total: int) -> SafeString:
    """Progress bar, empty while progress is unknown."""
    part = min(done / total, 1.0) if total else 0.0
    track = element("rect", class_="track", width=320, height=8, rx=4)
    fill = element("rect", class_="fill", width=320 * part, height=8, rx=4)
    name = f"{done:,} of {total:,} steps" if total else "Not started"
    box = {"viewBox": "0 0 320 8", "preserveAspectRatio": "none", "role": "img"}
    return element("svg", track, fill, **box, aria_label=name)


def quota(left: int, most: int) -> SafeString:
    """Remaining quota: a piece per submission up to twelve, else one bar."""
    box = {"viewBox": "0 0 300 10", "preserveAspectRatio": "none", "role": "img"}
    pieces = most if most <= 12 else 1
    step = 300 / pieces
    filled = [n < left for n in range(most)] if pieces == most else [True]
    drawn = [element("rect", class_="track", x=0, width=300, height=10)] if pieces == 1 else []
    for n, full in enumerate(filled):
        width = step - 3 if pieces > 1 else 300 * left / most
        drawn.append(
            element(
                "rect", class_="f1" if full else "track", x=n * step, width=max(width, 0), height=10, rx=2
            )
        )
    return element("svg", *drawn, **box, aria_label=f"{left:,} of {most:,} left")


def parts_bar(parts: Sequence[tuple[str, int]]) -> SafeString:
    """Stacked bar of parts, in the order of the table below it."""
    total, x, drawn = sum(n for _, n in parts) or 1, 0.0, []
    for number, (title, n) in enumerate(parts, start=1):
        width = 500 * n / total
        shape = {"x": x, "y": 0, "width": width, "height": 26}
        drawn.append(element("rect", element("title", f"{title}: {n:,}"), class_=f"f{number} halo", **shape))
        x += width
    box = {"viewBox": "0 0 500 26", "preserveAspectRatio": "none", "role": "img"}
    return element("svg", *drawn, class_="dense-svg", aria_label="Errors by kind", **box)
