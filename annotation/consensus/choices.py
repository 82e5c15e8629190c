"""Choices of an answer (relations, spans, triples), and overlaps of spans."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from itertools import accumulate, pairwise
from typing import Any

from evalsvc.core.formats.label_mapping import Payload

Span = tuple[int, int, str]
Link = tuple[Span, str, Span]


def payload_of(spans: Iterable[Span], links: Iterable[Link] = ()) -> Payload:
    """Return the answer with these spans, and relations between them."""
    ordered = sorted(spans)
    at = {span: number for number, span in enumerate(ordered)}
    relations = sorted([at[head], name, at[tail]] for head, name, tail in links)
    return {"spans": [list(span) for span in ordered], "relations": relations}


def links_of(payload: Payload) -> frozenset[Link]:
    """Return the relations with their spans instead of the spans' numbers."""
    spans = [tuple(span) for span in payload["spans"]]
    return frozenset((spans[head], name, spans[tail]) for head, name, tail in payload["relations"])


def choices_of(payload: Payload) -> frozenset[Any]:
    """Return what an answer contains: relations, spans, and triples of spans."""
    relations = payload["relations"]
    if relations and isinstance(relations[0], str):
        return frozenset(relations)
    return frozenset(tuple(span) for span in payload["spans"]) | links_of(payload)


class Covered:
    """Spans in order, to be asked which others they overlap."""

    def __init__(self, spans: Iterable[Span]) -> None:
        ordered = sorted(spans)
        self._starts = [span[0] for span in ordered]
        self._ends = list(accumulate((span[1] for span in ordered), max))  # the furthest so far

    def touch(self, span: Span) -> bool:
        """True if the span overlaps one of these."""
        before = bisect_left(self._starts, span[1])
        return before > 0 and self._ends[before - 1] > span[0]


def first_overlap(spans: Iterable[Span]) -> tuple[Span, Span] | None:
    """Return the first two spans that overlap, in the order of the text."""
    pairs = pairwise(sorted(spans))
    return next(((before, after) for before, after in pairs if after[0] < before[1]), None)


def clashing(spans: Iterable[Span]) -> set[Span]:
    """Return the spans that overlap another one of these."""
    clashing: set[Span] = set()
    furthest: Span | None = None
    for span in sorted(spans):
        if furthest and span[0] < furthest[1]:
            clashing |= {furthest, span}
        if furthest is None or span[1] > furthest[1]:
            furthest = span
    return clashing
