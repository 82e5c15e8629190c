"""Small charts of boards and submissions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import islice

from django.utils.safestring import SafeString, mark_safe

from evalsvc.core.web.formatting import counted, percent, quoted
from evalsvc.core.web.svg import Scale, drawing, element
from evalsvc.evaluation.boards.ranking import Column

Point = tuple[float, float]


def rug(values: Sequence[float], *, unit: str = "", best: Collection[float] = ()) -> SafeString:
    """Systems on a line from 0 to 100.

    The best means, by default the highest, are tall.
    """
    top = max(values, default=0.0)
    best = best or {top}
    ticks = [element("path", class_="axis", d=d) for d in ("M1 15H209", "M1 15v4", "M105 15v4", "M209 15v4")]
    marks = []
    drawn = {round(208 * value): value for value in sorted(values)} | {
        round(208 * value): value for value in best
    }
    for value in sorted(set(drawn.values())):
        width, height = (2.5, 14) if value in best else (1.5, 8)
        x = 1 + 208 * min(max(value, 0.0), 1.0) - width / 2
        shape = {"x": x, "y": 15 - height, "width": width, "height": height}
        class_ = "rug rug--top" if value in best else "rug"
        marks.append(element("rect", element("title", percent(value)), class_=class_, **shape))
    low, high = percent(min(values, default=0.0)), percent(top)
    name = f"{len(values)} systems between {low} and {high}" if len(values) > 1 else f"One system at {high}"
    return drawing(210, 20, name + (f", {unit}" if unit else ""), *ticks, *marks, class_="fix")


def run_scale(runs: Iterable[float]) -> Scale:
    return Scale(runs, start=5, stop=113)  # rings stand at the ends, too


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
    spread = ""
    if sd:
        left, right = max(scale(mean - sd), 2.0), min(scale(mean + sd), 116.0)
        spread = f'<path class="l1" d="M{left:.1f} 9H{right:.1f}"/>'
    texts = [(run, percent(run, digits=digits)) for run in sorted(runs)]
    ring = '<circle class="hollow l1 thin" cx="{:.1f}" cy="9" r="3"><title>{}</title></circle>'
    rings = "".join([ring.format(scale(run), text) for run, text in texts])
    parts = f'{_LINE}{spread}{rings}<path class="zero" d="M{scale(mean):.1f} 3v12"/>'
    return _strip("Runs: " + ", ".join([text for _, text in texts]), parts)


_LINE = '<path class="grid" d="M2 9H116"/>'


def _strip(name: str, parts: str) -> SafeString:
    """Small drawing in a row; written out, since a board has a hundred of them."""
    head = '<svg class="fix" viewBox="0 0 118 18" width="118" height="18" role="img"'
    return SafeString(f'{head} aria-label="{name}">{parts}</svg>')


def reported_strip(value: float, *, sd: float, scale: Scale, text: str) -> SafeString:
    """Draw a reported mean as a hollow diamond, with its deviation."""
    x = scale(value)
    left, right = max(scale(value - sd), 2.0), min(scale(value + sd), 116.0)
    spread = f'<path class="l0 thin" d="M{left:.1f} 9H{right:.1f}"/>' if sd else ""
    text = escape(text)
    diamond = f'<path class="hollow l0 thin" d="M{x:.1f} 4l5 5l-5 5l-5 -5z"><title>{text}</title></path>'
    return _strip(f"Reported: {text}", f"{_LINE}{spread}{diamond}")


def bar(value: float | None, *, best: float | None = None, width: int = 160) -> SafeString:
    """Bar of a share, below one half in the second colour, with a tick at the best of the board."""
    if value is None:
        return mark_safe("")
    track = element("rect", class_="track", width=width, height=12, rx=2)
    fill = element("rect", class_="f2" if value < 0.5 else "f1", width=width * value, height=12, rx=2)
    if best is None:
        return drawing(width, 12, percent(value), track, fill, class_="fix")
    tick = element("rect", class_="tick", x=min(width * best, width - 2), width=2, height=12)
    return drawing(width, 12, f"{percent(value)}, best {percent(best)}", track, fill, tick, class_="fix")


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


# ---- precision against recall --------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Frame:
    """Position of the unit square in the chart."""

    right: int
    bottom: int
    left: int = 44
    top: int = 30

    def at(self, recall: float, precision: float) -> Point:
        x = self.left + (self.right - self.left) * recall
        return x, self.bottom - (self.bottom - self.top) * precision


WIDE, NARROW = Frame(448, 316), Frame(248, 234)


def unit_grid(frame: Frame) -> list[SafeString]:
    parts = []
    for tenth in range(0, 11, 2):
        x, y = frame.at(tenth / 10, tenth / 10)
        lines = f"M{frame.left} {y:.1f}H{frame.right}M{x:.1f} {frame.bottom}V{frame.top}"
        label = f"{tenth / 10:.1f}"
        parts += [
            element("path", class_="grid", d=lines),
            element("text", label, class_="ax", x=frame.left - 8, y=y + 4, text_anchor="end"),
            element("text", label, class_="ax", x=x, y=frame.bottom + 18, text_anchor="middle"),
        ]
    middle, under = (frame.left + frame.right) / 2, frame.bottom + 38
    parts.append(element("text", "recall", class_="lab", x=middle, y=under, text_anchor="middle"))
    parts.append(element("text", "precision", class_="lab", x=8, y=14))
    return parts


def contour(f1: float, frame: Frame) -> list[SafeString]:
    """Contour of equal F1."""
    start = f1 / (2 - f1)
    recalls = [start + (1 - start) * i / 40 for i in range(41)]
    points = [frame.at(recall, f1 * recall / (2 * recall - f1)) for recall in recalls]
    x, y = points[-1]
    return [
        element("path", class_="axis", stroke_dasharray="1 4", d=path_of(points)),
        element("text", f"F1 {f1:.1f}", class_="ax", x=x + 6, y=y + 4),
    ]


def path_of(points: Sequence[Point]) -> str:
    """Path without points too close to distinguish."""
    kept = [points[0]]
    for point in points[1:-1]:
        if abs(point[0] - kept[-1][0]) + abs(point[1] - kept[-1][1]) >= 0.4:
            kept.append(point)
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in [*kept, points[-1]])


DOTTED = "2 3"  # labels of a source


def curve(
    points: Sequence[Point],
    *,
    name: str,
    best: Point | None,
    tau: str,
    held_out: Sequence[Point] = (),
    narrow: bool = False,
    **more: str,
) -> SafeString:
    """Precision against recall, with the point of the best F1 marked; on the labels of a source dotted."""
    frame = NARROW if narrow else WIDE
    parts = unit_grid(frame) + [piece for f1 in (0.4, 0.6, 0.8) for piece in contour(f1, frame)]
    if held_out:
        path = path_of([frame.at(r, p) for r, p in held_out])
        tip = element("title", "held-out")
        parts.append(element("path", tip, class_="l1", stroke_dasharray=DOTTED, d=path))
    if points:
        parts.append(element("path", class_="l1", d=path_of([frame.at(r, p) for r, p in points])))
    if best is not None:
        (recall, precision), (x, y) = best, frame.at(*best)
        title = element("title", f"best F1 at recall {recall:.2f}, precision {precision:.2f}")
        left = recall > (0.7 if frame is WIDE else 0.6)
        # on the empty side of the curve
        place = {"x": x - 10, "y": y + 18, "text_anchor": "end"} if left else {"x": x + 10, "y": y - 9}
        lines = f"M{x:.1f} {y:.1f}V{frame.bottom}M{x:.1f} {y:.1f}H{frame.left}"
        parts += [
            element("path", class_="axis", stroke_dasharray="3 3", d=lines),
            element("rect", title, class_="f1 halo", x=x - 5, y=y - 5, width=10, height=10),
            element("text", f"τ* = {tau}", class_="lab-b", **place),
        ]
    beside = 44 if narrow else 52  # room for the labels of the contours
    return drawing(frame.right + beside, frame.bottom + 44, name, *parts, **more)


# ---- ranks ---------------------------------------------------------------------------------------
ROW, HEAD, SHOWN = 32, 48, 12
# Ten series in one drawing: each has a dash, a mark and a colour of its own.
DASHES = (None, "7 4", "2 4", "8 3 2 3", "4 3", "14 4", "10 3 2 3 2 3", "1 6", "6 2 1 2", "14 3 5 3")
MARKS = (
    "m-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0z",
    "m-4.5 -4.5h9v9h-9z",
    "m0 -6l5.8 10h-11.6z",
    "m0 -6.4l6.4 6.4l-6.4 6.4l-6.4 -6.4z",
    "m0 6l5.8 -10h-11.6z",
    "m-2 -5.8h4v3.8h3.8v4h-3.8v3.8h-4v-3.8h-3.8v-4h3.8z",
    "m0 -3l3 -3l3 3l-3 3l3 3l-3 3l-3 -3l-3 3l-3 -3l3 -3l-3 -3l3 -3z",
    "m0 -6.8l1.6 4.5l4.9 0.2l-3.8 3l1.3 4.6l-4 -2.7l-4 2.7l1.3 -4.6l-3.8 -3l4.9 -0.2z",
    "m-6 0l10 -5.8v11.6z",
    "m-5.2 -5.2h10.4l-10.4 10.4h10.4z",
)


def clip(name: str, *, letters: int) -> str:
    return name if len(name) <= letters else name[: letters - 1].rstrip() + "…"


def clip_middle(name: str, *, letters: int) -> str:
    """Shorten a name whose end may tell it from others; of a path the end alone."""
    end = letters - 1 if name.startswith("/") else 2 * letters // 5
    return name if len(name) <= letters else f"{name[: letters - 1 - end].rstrip()}…{name[-end:]}"


def ranks(
    columns: Sequence[Column], names: Mapping[int, str], *, title: str = "Ranks", narrow: bool = False
) -> SafeString:
    """Ranks under each measure, first at the top; `title` says of which figures.

    Systems that change rank are coloured.
    """
    xs = [(88 if narrow else 176) + 44 * i for i in range(len(columns))]
    complete = (system for system in columns[0].order if all(system in column.ranks for column in columns))
    shown = list(islice(complete, SHOWN))
    rows = [sorted(shown, key=lambda system: (column.ranks[system], system)) for column in columns]
    height = HEAD + ROW * len(shown)
    moving = [system for system in shown if len({column.ranks[system] for column in columns}) > 1][:5]
    series = {system: moving.index(system) + 1 if system in moving else 0 for system in shown}
    parts = []
    for number, (column, x) in enumerate(zip(columns, xs, strict=True)):
        y = 12 + 16 * (number % 2)
        parts.append(element("text", column.title, class_="lab-b", x=x, y=y, text_anchor="middle"))
        parts.append(element("path", class_="grid", d=f"M{x} 34V{height - 16}"))
    for system in sorted(shown, key=lambda system: series[system]):
        points = [(float(x), float(HEAD + ROW * row.index(system))) for x, row in zip(xs, rows, strict=True)]
        parts.append(_system(system, names[system], columns, points, series[system], narrow))
    ranked = f"{title} of {len(shown)} systems under {len(columns)} weightings"
    name = f"{ranked}, by means over {runs_of(columns)}"
    class_ = "narrow-only" if narrow else "wide-only"
    return drawing(292 if narrow else 528, height, name, *parts, class_=class_)  # the width of their cards


def runs_of(columns: Sequence[Column]) -> str:
    """Return the runs behind the means, such as `1 to 5 runs`."""
    counts = {n for column in columns for n in column.kept.counts}
    least, most = min(counts, default=0), max(counts, default=0)
    return counted(most, "run") if least == most else f"{least:,} to {counted(most, 'run')}"


def _system(
    system: int, name: str, columns: Sequence[Column], points: Sequence[Point], series: int, narrow: bool
) -> SafeString:
    """Draw the line of a system, its marks and its name."""
    style = max(series - 1, 0)
    parts = [element("path", class_=f"l{series}", stroke_dasharray=DASHES[style], d=path_of(points))]
    scores = [percent(column.figures[system].mean or 0) for column in columns]
    for column, score, (x, y) in zip(columns, scores, points, strict=True):
        rank = f"{quoted(name)}: rank {column.ranks[system]} by {column.title}, {score}"
        title = element("title", f"{rank} (n = {column.figures[system].n})")
        parts.append(element("path", title, class_=f"f{series} halo", d=f"M{x:.0f} {y:.0f}{MARKS[style]}"))
    (x, y), (x2, y2) = points[0], points[-1]
    text = {"class_": "lab-b" if series else "lab"}
    first = clip_middle(name, letters=10) if narrow else f"{clip_middle(name, letters=16)}  {scores[0]}"
    parts.append(element("text", first, x=x - 12, y=y + 4, text_anchor="end", **text))
    if not narrow:
        parts.append(
            element("text", f"{scores[-1]}  {clip_middle(name, letters=16)}", x=x2 + 12, y=y2 + 4, **text)
        )
    return element("g", *parts, class_="mark-g")


# ---- differences ---------------------------------------------------------------------------------
INTERVAL_WIDTH = 200


def interval_scale(ends: Iterable[float]) -> Scale:
    return Scale([0.0, *ends], start=8, stop=INTERVAL_WIDTH - 8)


def interval_axis(scale: Scale) -> SafeString:
    """Axis over intervals: its ends and zero, in points."""
    digits = 0 if scale.step >= 0.01 else 1
    texts = []
    for value in sorted({scale.low, 0.0, scale.high}):
        anchor = "start" if value == scale.low else "end" if value == scale.high else "middle"
        label = percent(value, digits=digits)
        texts.append(element("text", label, class_="ax", x=scale(value), y=11, text_anchor=anchor))
    return drawing(INTERVAL_WIDTH, 14, "Difference in points", *texts, class_="fix")


def interval(difference: float, ends: Point | None, *, scale: Scale, series: int, name: str) -> SafeString:
    """Difference with its interval; grey unless a test confirms it."""
    zero, at = scale(0.0), scale(difference)
    parts = [element("path", class_="zero", d=f"M{zero:.1f} 0V18")]
    if ends:
        left, right = scale(ends[0]), scale(ends[1])
        line = f"M{left:.1f} 9H{right:.1f}M{left:.1f} 5v8M{right:.1f} 5v8"
        parts.append(element("path", class_=f"l{series}", d=line))
    parts.append(element("path", class_=f"f{series} halo", d=f"M{at:.1f} 9{MARKS[max(series - 1, 0)]}"))
    return drawing(INTERVAL_WIDTH, 18, name, *parts, class_="fix")
