"""A sentence with its head and tail, or with its spans, as HTML. Offsets are code points or tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from annotation.models import Item

COLOURS = ("person", "org", "place", "date", "vessel")
Span = tuple[int, int, str]


def pair(item: Item) -> SafeString:
    """The text with head and tail marked; where the two overlap, both marks are shown."""
    marks = [(role, mark) for role, mark in (("head", item.head), ("tail", item.tail)) if mark]
    cuts = sorted({0, len(item.text), *(mark[end] for _, mark in marks for end in ("start", "end"))})
    pieces = [_piece(item.text[a:b], a, b, marks) for a, b in pairwise(cuts)]
    return format_html_join("", "{}", ((piece,) for piece in pieces))


def _piece(text: str, start: int, end: int, marks: Sequence[tuple[str, dict[str, Any]]]) -> SafeString:
    html = format_html("{}", text)
    for role, mark in marks:
        if mark["start"] <= start and end <= mark["end"]:
            said = f"{role}, {mark['type']}" if mark.get("type") else role
            tag = (
                format_html('<span class="sr">, </span><span class="role">{}</span>', said)
                if end == mark["end"]
                else ""
            )
            html = format_html('<mark class="ent ent--{}">{}{}</mark>', role, html, tag)
    return html


def text_of(item: Item, span: Sequence[Any]) -> str:
    """The words of a span."""
    if item.tokens is not None:
        return " ".join(item.tokens[span[0] : span[1]])
    return item.text[span[0] : span[1]]


@dataclass(frozen=True, slots=True)
class Marked:
    """A text with spans under it; `crossing` are those that can't be drawn because they cross another."""

    html: SafeString
    crossing: list[tuple[str, str]]


def spans(item: Item, chosen: Sequence[Sequence[Any]], *, colours: Mapping[str, str]) -> Marked:
    """The text with its spans underlined, inner ones within outer ones."""
    units: Sequence[str] = item.tokens if item.tokens is not None else item.text
    glue = " " if item.tokens is not None else ""
    wanted = sorted(((s[0], s[1], s[2]) for s in chosen), key=lambda span: (span[0], -span[1], span[2]))
    crossing: list[Span] = []
    html = _drawn(_Text(units, glue, colours), 0, len(units), wanted, crossing)
    return Marked(html, [(glue.join(units[a:b]), label) for a, b, label in crossing])


@dataclass(frozen=True, slots=True)
class _Text:
    units: Sequence[str]
    glue: str
    colours: Mapping[str, str]

    def part(self, start: int, end: int) -> str:
        """What stands from start to end, with the space that follows a token."""
        return "".join(unit + self.glue for unit in self.units[start:end])


def _drawn(text: _Text, start: int, end: int, wanted: list[Span], crossing: list[Span]) -> SafeString:
    parts: list[SafeString] = []
    at = start
    while wanted:
        span, *rest = wanted
        inner = [other for other in rest if other[1] <= span[1]]
        crossing += [other for other in rest if other[0] < span[1] < other[1]]
        wanted = [other for other in rest if other[0] >= span[1]]
        parts += [format_html("{}", text.part(at, span[0])), _one(text, span, inner, crossing)]
        at = span[1]
    return format_html_join("", "{}", ((part,) for part in [*parts, format_html("{}", text.part(at, end))]))


def _one(text: _Text, span: Span, inner: list[Span], crossing: list[Span]) -> SafeString:
    start, end, label = span
    return format_html(
        '<span class="sp sp--{}{}" data-label="{}"><span class="tx">{}</span>'
        '<span class="sr"> ({}) </span></span>{}',
        text.colours.get(label, COLOURS[-1]),
        " sp--outer" if inner else "",
        label,
        _trimmed(text, start, end, inner, crossing),
        label,
        text.glue,
    )


def _trimmed(text: _Text, start: int, end: int, inner: list[Span], crossing: list[Span]) -> SafeString:
    if inner:
        return _drawn(text, start, end, inner, crossing)
    return format_html("{}", text.glue.join(text.units[start:end]))


def colours_of(labels: Sequence[str]) -> dict[str, str]:
    """A colour for each label, the same for the whole project."""
    return {label: COLOURS[at % len(COLOURS)] for at, label in enumerate(labels)}
