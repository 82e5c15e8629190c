"""Answers as columns: items, annotators, chosen labels, spans, and the tokens of texts."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from workers.metrics.spans import Spans, spans_of_columns

BLANK = ""  # stands for an answer submitted without a label: no relation has this name
# words, punctuation one by one, and each character of scripts without spaces
TOKEN = re.compile(r"[぀-ヿ㐀-鿿豈-﫿]|[^\W぀-ヿ㐀-鿿豈-﫿]+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class TokenBounds:
    """Starts and ends of the tokens of a text, in its unit of offsets."""

    starts: Sequence[int]
    ends: Sequence[int]

    @classmethod
    def of(cls, text: str, tokens: Sequence[str] | None) -> TokenBounds:
        """Take the tokens that came with the text, or split it into words and punctuation."""
        if tokens is not None:
            return cls(range(len(tokens)), range(1, len(tokens) + 1))
        found = [match.span() for match in TOKEN.finditer(text)]
        return cls([start for start, _ in found], [end for _, end in found])

    def covered(self, start: int, end: int) -> range:
        """Return the tokens that a span overlaps."""
        return range(bisect_right(self.ends, start), bisect_left(self.starts, end))


@dataclass
class AnswerColumns:
    """All answers as columns: item, annotator, chosen labels and spans."""

    item: list[int] = field(default_factory=list)
    annotator: list[int] = field(default_factory=list)
    chosen: list[frozenset[str]] = field(default_factory=list)
    spans: list[list[tuple[int, int, str]]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    items: dict[Hashable, int] = field(default_factory=dict)
    people: dict[Hashable, int] = field(default_factory=dict)
    bounds: dict[int, TokenBounds] = field(default_factory=dict)

    @property
    def n_items(self) -> int:
        return len(self.items)

    def add(
        self, item: Hashable, annotator: Hashable, name: str, payload: Mapping[str, Any], *, blank: bool
    ) -> None:
        """Add an answer; a `blank` one has no label, not even N/A."""
        if annotator not in self.people:
            self.people[annotator] = len(self.people)
            self.names.append(name)
        self.item.append(self.items.setdefault(item, len(self.items)))
        self.annotator.append(self.people[annotator])
        names = [link if isinstance(link, str) else link[1] for link in payload["relations"]]
        self.chosen.append(frozenset([BLANK] if blank else names))
        self.spans.append([(start, end, label) for start, end, label in payload["spans"]])

    def add_text(self, item: Hashable, text: str, tokens: Sequence[str] | None) -> None:
        """Add the text of an item that has an answer; agreement on tokens needs all of them."""
        self.bounds[self.items[item]] = TokenBounds.of(text, tokens)

    def span_columns(self) -> tuple[Spans, list[str]]:
        """Return the spans, with their answers as documents, and their labels."""
        rows = [(at, *span) for at, spans in enumerate(self.spans) for span in spans]
        labels = sorted({row[3] for row in rows})
        place = {label: at for at, label in enumerate(labels)}
        answer, start, end, name = zip(*rows, strict=True) if rows else ((), (), (), ())
        codes = [place[each] for each in name]
        return spans_of_columns(answer, start, end, codes, n_documents=len(self.item)), labels
