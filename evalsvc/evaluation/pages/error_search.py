"""Search of the error browser: items whose text has some words."""

from __future__ import annotations

import re
from dataclasses import dataclass

import msgspec

from annotation.testset import TestSet, TestSetRow
from evalsvc.evaluation.disclosure.outcomes import Outcomes

MOST_CHARACTERS = 100
LINES = 100_000  # of the gold that one request searches


@dataclass(frozen=True)
class Searched:
    """Items with a text among the searched lines of the gold, which are numbered from 1."""

    items: frozenset[int]
    first: int
    last: int
    of: int

    @property
    def is_part(self) -> bool:
        return self.last - self.first + 1 < self.of

    @property
    def next(self) -> int | None:
        return self.last + 1 if self.last < self.of else None

    def __str__(self) -> str:
        lines = f"lines {self.first:,} to {self.last:,} of the gold’s {self.of:,}"
        return f"Only {lines} were searched for the text."


def searched(text: str, outcomes: Outcomes, test_set: TestSet, *, first: int = 1) -> Searched:
    """Search the sentences from a line on, in any case, and return the items that have one with the text."""
    first = min(max(first, 1), max(test_set.rows, 1))
    last = min(first - 1 + LINES, test_set.rows)
    rows = TestSetRow.objects.filter(test_set=test_set, number__range=(first, last))
    wanted = text.casefold().split()
    # databases fold ASCII alone alike, and lines have tokens and escapes
    for word in re.findall(r"[a-z0-9]+", text, re.IGNORECASE | re.ASCII):
        rows = rows.filter(line__icontains=word)
    words = [word for part in wanted for word in re.findall(r"\w+", part)]
    lines = rows.order_by().values_list("external_id", "line").iterator(chunk_size=2000)
    found = {
        name
        for name, line in lines
        if all(map(line.casefold().__contains__, words)) and " ".join(wanted) in _text(line)
    }
    if outcomes.sentences is None:
        items = frozenset(at for at, name in enumerate(outcomes.ids) if name in found)
    else:
        items = frozenset(at for at, names in enumerate(outcomes.sentences) if not found.isdisjoint(names))
    return Searched(items, first, last, test_set.rows)


class _Line(msgspec.Struct):
    text: str | None = None
    tokens: list[str] | None = None


def _text(line: str) -> str:
    read = msgspec.json.decode(line, type=_Line)
    return " ".join((read.text or " ".join(read.tokens or ())).casefold().split())
