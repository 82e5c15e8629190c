"""Earlier decisions on the same words, or on the same two entities, within a project."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, islice
from typing import Any
from uuid import UUID

from annotation.consensus.choices import Span
from annotation.consensus.majority import OpenParts
from annotation.models import Item, SecondReading
from annotation.testset import Kind
from evalsvc.core.accounts.models import User
from evalsvc.core.formats.label_mapping import empty_answer

READ = 1_000
MAX_WORDS, MAX_ITEMS = 12, 5
PER_TEXT, MATCHES, CHARACTERS, SPANS = 50, 2_000, 2_000_000, 50_000  # at most: a request searches


@dataclass(frozen=True, slots=True)
class Outcome:
    """Labels given before, none for N/A; `words` are what was marked if these are others."""

    labels: tuple[str, ...]
    words: str = ""


@dataclass(slots=True)
class Precedent:
    """Outcomes for some words with their numbers, and a few of the items."""

    words: str
    counts: Counter[Outcome] = field(default_factory=Counter)
    items: list[UUID] = field(default_factory=list)

    @property
    def outcomes(self) -> list[dict[str, object]]:
        """Return the outcomes, the most frequent first."""
        return [
            {"labels": [*outcome.labels], "words": outcome.words, "times": n}
            for outcome, n in self.counts.most_common()
        ]

    def add(self, outcome: Outcome, item: Item) -> None:
        self.counts[outcome] += 1
        if item.key not in self.items and len(self.items) < MAX_ITEMS:
            self.items.append(item.key)


Wanted = tuple[str, re.Pattern[str], Precedent]


def precedents(item: Item, parts: OpenParts | None, *, for_user: User) -> list[Precedent]:
    """Return what was decided for the same words in the last `READ` decided items.

    Decisions that wait for the person's second reading are none.
    """
    decided = Item.objects.filter(project=item.project_id, state=Item.State.ADJUDICATED).live()
    unread = SecondReading.objects.waiting_for(for_user).values("decision__item")
    last = decided.exclude(pk=item.pk).exclude(pk__in=unread).order_by("-rank")
    columns = last.only("key", "text", "tokens", "head", "tail", "gold")
    rows = columns[:READ].iterator(chunk_size=10)  # long texts are read as far as they are searched
    found = _of_pair(item, rows) if item.project.kind == Kind.RELATIONS else _of_words(item, parts, rows)
    return [precedent for precedent in found if precedent.items]


def _of_pair(item: Item, rows: Iterable[Item]) -> list[Precedent]:
    pair = _identities(item)
    if not pair:
        return []
    found = Precedent(" – ".join(_name(item, end) for end in (item.head, item.tail) if end))
    for other in rows:
        if _identities(other) == pair:
            found.add(Outcome(tuple(sorted((other.gold or empty_answer())["relations"]))), other)
    return [found]


def _identities(item: Item) -> list[str]:
    """Return head and tail by id, or by name where there is none."""
    ends = [end for end in (item.head, item.tail) if end]
    return [str(end.get("id") or _name(item, end)).casefold() for end in ends]


def _name(item: Item, end: dict[str, Any]) -> str:
    return str(end.get("name") or item.text[end["start"] : end["end"]])


def _of_words(item: Item, parts: OpenParts | None, rows: Iterable[Item]) -> list[Precedent]:
    """Search the words of the competing spans in decided texts."""
    spans = sorted(parts.competing) if parts else []
    by_key = {words.casefold(): words for words in map(item.surface, spans)}
    wanted = [(key, _pattern(words), Precedent(words)) for key, words in [*by_key.items()][:MAX_WORDS]]
    for precedent, outcome, other in islice(_matches(wanted, rows) if wanted else (), MATCHES):
        precedent.add(outcome, other)
    return [precedent for _, _, precedent in wanted]


def _matches(wanted: Sequence[Wanted], rows: Iterable[Item]) -> Iterator[tuple[Precedent, Outcome, Item]]:
    characters = spans = 0
    for other in rows:
        text = other.text if other.tokens is None else " ".join(other.tokens)
        folded, marked = text.casefold(), None
        for key, pattern, precedent in wanted:
            for match in islice(pattern.finditer(text), PER_TEXT) if key in folded else ():
                marked = marked or _Marked.of(other)
                yield precedent, marked.outcome(match.span(), text), other
        characters += len(text)
        spans += len(marked.spans) if marked else 0
        if characters > CHARACTERS or spans > SPANS:
            return


def _pattern(words: str) -> re.Pattern[str]:
    """Match whole words, in scripts that separate words."""
    before, after = (
        r"\b" if end.isdigit() or end.upper() != end.lower() else "" for end in (words[0], words[-1])
    )
    return re.compile(before + re.escape(words) + after, re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Marked:
    """Decided spans of a text in code points, sorted, and the greatest end up to each."""

    spans: list[Span]
    ends: list[int]
    labels: dict[tuple[int, int], list[str]]

    @classmethod
    def of(cls, item: Item) -> _Marked:
        spans = sorted((start, end, label) for start, end, label in (item.gold or empty_answer())["spans"])
        if item.tokens is not None:
            starts = [0, *accumulate(len(token) + 1 for token in item.tokens)]
            spans = [(starts[a], starts[b] - 1, label) for a, b, label in spans]
        labels: dict[tuple[int, int], list[str]] = {}
        for start, end, label in spans:
            labels.setdefault((start, end), []).append(label)
        return cls(spans, [*accumulate((span[1] for span in spans), max)], labels)

    def outcome(self, place: tuple[int, int], text: str) -> Outcome:
        """Return the labels of exactly this place, or of the first span that overlaps it."""
        if place in self.labels:
            return Outcome(tuple(self.labels[place]))
        at = bisect_right(self.ends, place[0])  # the first span that ends beyond
        if at == len(self.spans) or self.spans[at][0] >= place[1]:
            return Outcome(())
        start, end, label = self.spans[at]
        return Outcome((label,), text[start:end])
