"""Competing spans under the text that they cover, on lanes: with votes, or of gold and predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from evalsvc.core.formats.records import Span
from evalsvc.core.web.text_highlighting import COLOURS, shortened

MAX_COLUMNS = 12  # the style sheet has so many
MAX_LENGTH = 80  # code points: longer clusters do not fit on lines of a phone


class SpanText(Protocol):
    """Text whose spans count its tokens, if it has any, else code points."""

    @property
    def tokens(self) -> Sequence[str] | None: ...
    @property
    def length(self) -> int: ...
    def surface(self, span: Sequence[Any], /) -> str: ...


@dataclass(frozen=True, slots=True)
class PlainText:
    """Text of a gold line."""

    text: str
    tokens: Sequence[str] | None = None

    @property
    def length(self) -> int:
        return len(self.text if self.tokens is None else self.tokens)

    def surface(self, span: Sequence[Any], /) -> str:
        if self.tokens is None:
            return self.text[span[0] : span[1]]
        return " ".join(self.tokens[span[0] : span[1]])


@dataclass(frozen=True, slots=True)
class Lane:
    """A span: its title, a note such as `2 of 4`, and a mark if it stands or is right.

    `side` are the style classes of gold or a prediction; of equal bounds, lower `order` stands above.
    """

    span: Span
    title: str
    note: str
    standing: bool
    side: str = ""
    order: int = 0


def text_with_lanes(item: SpanText, lanes: Sequence[Lane], *, colours: Mapping[str, str]) -> SafeString:
    """Return the text; overlapping spans are a grid of words above lanes."""
    parts: list[SafeString] = []
    at = 0
    for cluster in _clusters(lanes):
        start, end = cluster[0].span[0], max(lane.span[1] for lane in cluster)
        parts += [format_html("{}", _words(item, at, start)), _cluster_html(item, cluster, colours)]
        parts += [format_html("{}", " ")] if item.tokens is not None else []
        at = end
    parts.append(format_html("{}", _words(item, at, item.length)))
    return format_html_join("", "{}", ((part,) for part in parts))


def _clusters(lanes: Sequence[Lane]) -> list[list[Lane]]:
    """Group lanes of spans that overlap, in order of the text."""
    clusters: list[list[Lane]] = []
    end = 0
    for lane in sorted(lanes, key=lambda lane: (lane.span[0], -lane.span[1], lane.order, lane.span[2])):
        if not clusters or lane.span[0] >= end:
            clusters.append([])
        clusters[-1].append(lane)
        end = max(end, lane.span[1])
    return clusters


def _words(item: SpanText, start: int, end: int) -> str:
    """Return a part of the text, with the space after its last token."""
    words = item.surface((start, end))
    return f"{words} " if item.tokens is not None and words else words


def _cluster_html(item: SpanText, cluster: list[Lane], colours: Mapping[str, str]) -> SafeString:
    cuts = sorted({cut for lane in cluster for cut in lane.span[:2]})
    plain = len(cuts) - 1 > MAX_COLUMNS or len(item.surface((cuts[0], cuts[-1]))) > MAX_LENGTH
    if plain:
        cuts = [cuts[0], cuts[-1]]
    column = {cut: number for number, cut in enumerate(cuts, 1)}
    words = format_html_join(
        "",
        '<span class="w k{}">{}</span>',
        (
            (column[a], _words(item, a, b) if b != cuts[-1] else item.surface((a, b)))
            for a, b in pairwise(cuts)
        ),
    )
    rows = format_html_join(
        "",
        '<span class="lane sp--{}{}{}"><span>'
        '<span class="sr"> ({}: </span>{}{} <i>{}</i><span class="sr">)</span></span></span>',
        (
            (
                colours.get(lane.span[2], COLOURS[-1]),
                "" if plain else f" k{column[lane.span[0]]} n{column[lane.span[1]] - column[lane.span[0]]}",
                f" {lane.side}" if lane.side else "" if lane.standing else " lane--open",
                shortened(item.surface(lane.span)),
                f"“{shortened(item.surface(lane.span))}” " if plain else "",
                lane.title,
                f"{lane.note} ✓".lstrip() if lane.standing else lane.note,
            )
            for lane in cluster
        ),
    )
    return format_html(
        '<span class="lay {}">{}{}</span>', "lay--plain" if plain else f"c{len(cuts) - 1}", words, rows
    )
