"""Text with head and tail or with spans, as HTML.

Offsets are code points or tokens.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from annotation.models import Item

BRACKETS = {"lrb": "(", "rrb": ")", "lsb": "[", "rsb": "]", "lcb": "{", "rcb": "}"}
COLOURS = ("person", "org", "place", "date", "vessel")
Span = tuple[int, int, str]


def readable(text: str, *, name: bool = False) -> str:
    """Show brackets as signs, and in a name underscores as spaces, as `sentence.js` does."""
    text = re.sub(r"-([lr][rsc]b)-", lambda found: BRACKETS[found[1].lower()], text, flags=re.IGNORECASE)
    if not name:
        return text
    return re.sub(r"(?<=[^\W_])_+(?=[^\W_])|(?<=[.,])_+(?=[^\W_])", lambda run: " " * len(run[0]), text)


def mark_pair(item: Item) -> SafeString:
    """Mark head and tail in the text; they may overlap."""
    marks = [(role, mark) for role, mark in (("head", item.head), ("tail", item.tail)) if mark]
    cuts = sorted({0, len(item.text), *(mark[end] for _, mark in marks for end in ("start", "end"))})
    pieces = [_piece(item.text[a:b], a, b, marks) for a, b in pairwise(cuts)]
    return format_html_join("", "{}", ((piece,) for piece in pieces))


def _piece(text: str, start: int, end: int, marks: Sequence[tuple[str, dict[str, Any]]]) -> SafeString:
    around = [(role, mark) for role, mark in marks if mark["start"] <= start and end <= mark["end"]]
    html = format_html("{}", readable(text, name=bool(around)))
    for role, mark in around:
        name = f"{role}, {mark['type']}" if mark.get("type") else role
        tag = (
            format_html('<span class="sr">, </span><span class="role">{}</span>', name)
            if end == mark["end"]
            else ""
        )
        html = format_html('<mark class="ent ent--{}">{}{}</mark>', role, html, tag)
    return html


@dataclass(frozen=True, slots=True)
class HighlightedText:
    """Text with spans; `crossing` ones could not be drawn."""

    html: SafeString
    crossing: list[tuple[str, str]]


def mark_spans(item: Item, spans: Sequence[Sequence[Any]], *, colours: Mapping[str, str]) -> HighlightedText:
    """Underline the spans of a text, inner ones within outer ones."""
    units: Sequence[str] = item.tokens if item.tokens is not None else item.text
    glue = " " if item.tokens is not None else ""
    ordered = sorted(((s[0], s[1], s[2]) for s in spans), key=lambda span: (span[0], -span[1], span[2]))
    crossing: list[Span] = []
    html = _with_spans(_Text(units, glue, colours), 0, len(units), ordered, crossing)
    return HighlightedText(html, [(glue.join(units[a:b]), label) for a, b, label in crossing])


@dataclass(frozen=True, slots=True)
class _Text:
    units: Sequence[str]
    glue: str
    colours: Mapping[str, str]

    def part(self, start: int, end: int) -> str:
        """Return a part with the space after its last token."""
        return "".join(unit + self.glue for unit in self.units[start:end])


def _with_spans(text: _Text, start: int, end: int, spans: list[Span], crossing: list[Span]) -> SafeString:
    parts: list[SafeString] = []
    at = start
    while spans:
        span, *rest = spans
        inner = [other for other in rest if other[1] <= span[1]]
        crossing += [other for other in rest if other[0] < span[1] < other[1]]
        spans = [other for other in rest if other[0] >= span[1]]
        parts += [format_html("{}", text.part(at, span[0])), _span_html(text, span, inner, crossing)]
        at = span[1]
    return format_html_join("", "{}", ((part,) for part in [*parts, format_html("{}", text.part(at, end))]))


def _span_html(text: _Text, span: Span, inner: list[Span], crossing: list[Span]) -> SafeString:
    start, end, label = span
    plain = format_html("{}", text.glue.join(text.units[start:end]))
    return format_html(
        '<span class="sp sp--{}{}" data-label="{}"><span class="tx">{}</span>'
        '<span class="sr"> ({}) </span></span>{}',
        text.colours.get(label, COLOURS[-1]),
        " sp--outer" if inner else "",
        label,
        _with_spans(text, start, end, inner, crossing) if inner else plain,
        label,
        text.glue,
    )


def colours_of(labels: Sequence[str]) -> dict[str, str]:
    """Assign each label of a project a colour."""
    return {label: COLOURS[at % len(COLOURS)] for at, label in enumerate(labels)}
