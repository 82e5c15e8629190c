"""Charts of several systems: curves laid over each other, classes, weights and settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.safestring import SafeString

from evalsvc.core.web.formatting import percent, quoted
from evalsvc.core.web.svg import Scale, drawing, element
from evalsvc.evaluation.pages.charts import (
    DASHES,
    DOTTED,
    MARKS,
    NARROW,
    WIDE,
    Frame,
    Point,
    clip,
    clip_middle,
    contour,
    path_of,
    unit_grid,
)

LETTER = 7.2  # width of a letter of a label
CARD_WIDTH = 508  # right end of the widest drawing that a card shows whole
NARROW_LETTERS, LETTERS = 17, 40  # of the name of a class beside its marks, on phones and elsewhere
LINE_LETTERS = 37  # of a name above its marks, as on phones where one is longer


def series_style(place: int) -> tuple[int, str, str | None]:
    """Return colour, mark and dashes of the system at a place; ten have nothing in common."""
    return place + 1, MARKS[place], DASHES[place]


def legend(names: Sequence[str], *, top: float, left: float, narrow: bool = False) -> list[SafeString]:
    """Mark and name of each system, in two columns where there are many."""
    parts = []
    for place, name in enumerate(names):
        colour, mark, _ = series_style(place)
        x, y = left + 250 * (place % _columns(names, narrow)), top + 18 * (place // _columns(names, narrow))
        parts.append(element("path", class_=f"f{colour} halo", d=f"M{x:.0f} {y:.0f}{mark}"))
        parts.append(element("text", clip(name, letters=28), class_="lab", x=x + 12, y=y + 4))
    return parts


def _columns(names: Sequence[str], narrow: bool) -> int:
    return 1 if narrow or len(names) < 4 else 2


def legend_height(names: Sequence[str], *, narrow: bool = False) -> int:
    return 18 * -(-len(names) // _columns(names, narrow))


@dataclass(frozen=True, slots=True)
class Series:
    """Curve of a system and its best F1, on labels by people and on those of a source."""

    name: str
    points: Sequence[Point]
    best: Point | None
    held_out: Sequence[Point] = ()
    held_out_best: Point | None = None


def curves(series: Sequence[Series], *, narrow: bool = False, class_: str | None) -> SafeString:
    """Precision against recall of several systems; marks are at the best F1.

    With labels of a source beside those by people the first are dotted, the others solid.
    """
    frame = NARROW if narrow else WIDE
    parts = unit_grid(frame) + [piece for f1 in (0.4, 0.6, 0.8) for piece in contour(f1, frame)]
    two = any(each.held_out for each in series)
    for place, each in enumerate(series):
        colour, mark, dashes = series_style(place)
        style = (f"f{colour} halo", f"l{colour}", None if two else dashes)
        beside = (f"hollow l{colour} thin", f"l{colour}", DOTTED)
        parts += _curve(frame, f"{each.name}, held-out", each.held_out, each.held_out_best, mark, beside)
        parts += _curve(frame, each.name, each.points, each.best, mark, style)
    names = [each.name for each in series]
    top = frame.bottom + 62
    parts += legend(names, top=top, left=frame.left, narrow=narrow)
    height = top + legend_height(names, narrow=narrow)
    if two:
        parts += _golds(top=height, left=frame.left)
        height += 18
    title = f"Precision against recall: {', '.join(map(quoted, names))}"
    return drawing(frame.right + (44 if narrow else 52), height, title, *parts, class_=class_)


def _curve(
    frame: Frame,
    name: str,
    points: Sequence[Point],
    best: Point | None,
    mark: str,
    style: tuple[str, str, str | None],
) -> list[SafeString]:
    """Draw a curve, and its best F1; the style is that of the mark, of the line, and its dashes."""
    parts = []
    if points:
        path = path_of([frame.at(r, p) for r, p in points])
        title = element("title", name)
        parts.append(element("path", title, class_=style[1], stroke_dasharray=style[2], d=path))
    if best:
        x, y = frame.at(*best)
        tip = element("title", "{}: best F1 at recall {:.2f}, precision {:.2f}".format(name, *best))
        parts.append(element("path", tip, class_=style[0], d=f"M{x:.0f} {y:.0f}{mark}"))
    return parts


def _golds(*, top: float, left: float) -> list[SafeString]:
    """Legend of solid and dotted curves."""
    parts = []
    for x, dash, text in ((left - 6, None, "by people"), (left + 104, DOTTED, "held-out")):
        parts.append(element("path", class_="l0", stroke_dasharray=dash, d=f"M{x:.0f} {top:.0f}h24"))
        parts.append(element("text", text, class_="lab", x=x + 30, y=top + 4))
    return parts


def _row_label(
    label: str, remark: str, *, letters: int, x: float, y: float, anchor: str = "end"
) -> SafeString:
    """Name of a row with its remark, whole in the tip; classes may differ at their ends alone."""
    text = clip_middle(label, letters=letters - len(remark)) + remark
    tip = [] if text == label + remark else [element("title", label + remark)]
    return element("text", text, *tip, class_="lab halo", paint_order="stroke", x=x, y=y, text_anchor=anchor)


def dots(
    lines: Sequence[tuple[str, str, Sequence[float | None]]],
    *,
    names: Sequence[str],
    title: str,
    axis: str,
    most: float | None = None,
    items: float = 0,
    narrow: bool = False,
    class_: str | None,
) -> SafeString:
    """A line per class, with its remark and a mark for each system or scheme, in percent.

    On phones long names stand above their marks.

    The axis spans the values, or from 0 to `most`. With a number of `items` the marks of a series are joined,
    and an upper axis counts the items of which each share is one.
    """
    longest = max(len(label + remark) for label, remark, _ in lines)
    above = narrow and longest > NARROW_LETTERS
    letters = LINE_LETTERS if above else NARROW_LETTERS if narrow else min(longest, LETTERS)
    left = 14 + round(LETTER * (len(axis) if above else max(letters, len(axis))))
    row = 36 if above else 22
    right = 272 if narrow else min(left + 328, CARD_WIDTH)
    head = legend_height(names, narrow=narrow)
    top = 30 + head + (14 if items else 0)
    bottom = top + row * len(lines)
    parts = legend(names, top=10, left=10, narrow=narrow)
    defined = [value for _, _, values in lines for value in values if value is not None]
    scale = Scale(defined if most is None else [0.0, most], start=left, stop=right)
    y = bottom + 16 if items else top - 6
    for tick in scale.ticks():
        x = scale(tick)
        parts.append(element("path", class_="grid", d=f"M{x:.1f} {top}V{bottom}"))
        parts.append(element("text", f"{100 * tick:.4g}", class_="ax", x=x, y=y, text_anchor="middle"))
    parts.append(element("text", axis, class_="ax", x=left - 12, y=y, text_anchor="end"))
    if items:
        parts += _axis_of_items(items * scale.high, top=top, left=left, right=right)
    rows = [top + row * at + (25 if above else row / 2) for at in range(len(lines))]
    for place in range(len(names)) if items else ():
        colour, _, dashes = series_style(place)
        shares = zip((values[place] for _, _, values in lines), rows, strict=True)
        points = [(scale(share), y) for share, y in shares if share is not None]
        parts.append(element("path", class_=f"l{colour}", stroke_dasharray=dashes, d=path_of(points)))
    for at, (label, remark, values) in zip(rows, lines, strict=True):
        if above:
            parts.append(_row_label(label, remark, letters=letters, x=10, y=at - 11, anchor="start"))
        else:
            parts.append(_row_label(label, remark, letters=letters, x=left - 12, y=at + 4))
        for place, value in enumerate(values):
            if value is not None:
                colour, mark, _ = series_style(place)
                tip = element("title", f"{label}, {quoted(names[place])}: {percent(value)}")
                x = scale(value)
                parts.append(element("path", tip, class_=f"f{colour} halo", d=f"M{x:.1f} {at:.1f}{mark}"))
    height = bottom + (24 if items else 8)
    return drawing(right + 20, height, f"{title}: {', '.join(map(quoted, names))}", *parts, class_=class_)


def _axis_of_items(most: float, *, top: int, left: int, right: int) -> list[SafeString]:
    """Upper axis with round numbers of items, and its name."""
    scale = Scale([0.0, most], start=left, stop=right)
    parts = []
    for tick in scale.ticks():
        x = left + (right - left) * tick / most
        if x <= right + 0.5:
            parts.append(element("path", class_="axis", d=f"M{x:.1f} {top - 4}V{top}"))
            parts.append(element("text", f"{tick:,g}", class_="ax", x=x, y=top - 8, text_anchor="middle"))
    parts.append(element("text", "items", class_="ax", x=left - 12, y=top - 8, text_anchor="end"))
    return parts


def dumbbell(
    lines: Sequence[tuple[str, float, float]],
    *,
    names: tuple[str, str],
    title: str,
    narrow: bool = False,
    class_: str | None = None,
) -> SafeString:
    """A line per system between its figures in two settings, in percent."""
    left, right, row = (110, 272, 26) if narrow else (160, CARD_WIDTH, 26)
    top = 30 + legend_height(names, narrow=narrow)
    bottom = top + row * len(lines)
    scale = Scale([value for _, *both in lines for value in both], start=left, stop=right)
    parts = legend(names, top=10, left=10, narrow=narrow)
    for tick in scale.ticks():
        x = scale(tick)
        parts.append(element("path", class_="grid", d=f"M{x:.1f} {top}V{bottom}"))
        text = f"{100 * tick:.4g}"
        parts.append(element("text", text, class_="ax", x=x, y=top - 6, text_anchor="middle"))
    for at, (label, *values) in enumerate(lines):
        y = top + row * at + row / 2
        parts.append(_row_label(label, "", letters=12 if narrow else 21, x=left - 12, y=y + 4))
        one, two = (scale(value) for value in values)
        parts.append(element("path", class_="axis", d=f"M{one:.1f} {y:.1f}H{two:.1f}"))
        for place, (value, x) in enumerate(zip(values, (one, two), strict=True)):
            colour, mark, _ = series_style(place)
            tip = element("title", f"{label}, {quoted(names[place])}: {percent(value)}")
            parts.append(element("path", tip, class_=f"f{colour} halo", d=f"M{x:.1f} {y:.1f}{mark}"))
    return drawing(right + 20, bottom + 8, f"{title}: {' and '.join(names)}", *parts, class_=class_)
