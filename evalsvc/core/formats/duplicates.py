"""Merge lines that repeat an item.

The item gets the union of their labels. A file is read twice: the first time to find the repeats, the second
time to yield each item with its repeats. Of other lines only the id and a digest are kept in memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

import msgspec

from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.records import ItemLine

NumberedItem = tuple[int, ItemLine]
By = Literal["content", "id"]


class RepeatedLine(msgspec.Struct, frozen=True):
    """A further line of an item: its number, id and labels."""

    line: int
    id: str
    relations: tuple[Any, ...] | None


class MergedItem(msgspec.Struct, frozen=True):
    """An item with its repeats; `exact` counts those without a new label."""

    line: int
    item: ItemLine
    repeats: tuple[RepeatedLine, ...] = ()
    exact: int = 0

    def line_of(self, label: str) -> int:
        """Return the line of a label, where its format has one."""
        spans = self.item.spans or ()
        names = [span[2] for span in spans] if spans else list(self.item.relations or ())
        lines = dict(zip(reversed(names), reversed(self.item.label_lines), strict=False))
        return lines.get(label, self.line) if len(names) == len(self.item.label_lines) else self.line


class Repeats:
    """Lines that repeat an item, by the first line of the item."""

    def __init__(self) -> None:
        self.items = 0
        self._by_first: dict[int, list[RepeatedLine]] = {}
        self._skipped: set[int] = set()

    def merged(self, lines: Iterable[NumberedItem]) -> Iterator[MergedItem]:
        """Yield the items in the order of their first lines."""
        for line, item in lines:
            if line not in self._skipped:
                repeats = self._by_first.get(line)
                yield _merge(line, item, repeats) if repeats else MergedItem(line, item)

    def skip(self, line: int) -> None:
        self._skipped.add(line)

    def add(self, line: int, item: ItemLine, *, first: int) -> None:
        """Record that a line repeats the item of the first one."""
        self._by_first.setdefault(first, []).append(RepeatedLine(line, item.id, item.relations))
        self._skipped.add(line)


def find_repeats(lines: Iterable[NumberedItem], *, problems: Problems, by: By = "content") -> Repeats:
    """Return the repeats; report an id of two different items.

    By content, an item is its text with the positions and ids of head and tail. Entities with the same
    position but different ids belong to different bags and are not merged. By id, equal sentences with
    different ids are not merged either, because published predictions refer to them. Lines without head and
    tail never merge.
    """
    repeats = Repeats()
    first_lines: dict[bytes, int] = {}
    line_of_id: dict[str, int] = {}
    for line, item in lines:
        key = _digest(item, by)
        first = line if key is None else first_lines.get(key, line)
        other = line_of_id.setdefault(item.id, first)
        if other != first:
            hint = f"Line {other:,} already has this id. Give each item its own."
            problems.add("duplicate_id", line=line, field="id", value=item.id, hint=hint)
            repeats.skip(line)
        elif first != line:
            repeats.add(line, item, first=first)
        else:
            repeats.items += 1
            if key is not None:
                first_lines[key] = line
    return repeats


def _digest(item: ItemLine, by: str) -> bytes | None:
    """Return a digest of the item, or None if it never merges."""
    if item.head is None or item.tail is None:
        return None
    mentions = [(entity.key, entity.start, entity.end) for entity in (item.head, item.tail)]
    parts = (item.id if by == "id" or item.text is None else None, item.text, mentions)
    return hashlib.blake2b(msgspec.json.encode(parts), digest_size=16).digest()


def _merge(line: int, first: ItemLine, repeats: Sequence[RepeatedLine]) -> MergedItem:
    labels, exact = dict.fromkeys(first.relations or ()), 0
    for repeat in repeats:
        before = len(labels)
        labels |= dict.fromkeys(repeat.relations or ())
        exact += len(labels) == before
    unlabelled = first.relations is None and all(repeat.relations is None for repeat in repeats)
    union: Any = None if unlabelled else tuple(labels)
    return MergedItem(line, msgspec.structs.replace(first, relations=union), tuple(repeats), exact)


class FactCounter:
    """Counter of pairs and facts (head, relation, tail).

    The negative class is no fact. Each is stored as a number of eight bytes, because there may be as many as
    there are lines.
    """

    def __init__(self, *, negative: str | None = None) -> None:
        self.negative = negative
        self._pairs: set[int] = set()
        self._facts: set[int] = set()

    def add(self, item: ItemLine) -> None:
        if item.pair is not None:
            self._pairs.add(_short_digest(item.pair))
            labels = [name for name in item.relations or () if name != self.negative]
            self._facts.update(_short_digest((item.pair, name)) for name in labels)

    @property
    def pairs(self) -> int:
        return len(self._pairs)

    @property
    def facts(self) -> int:
        return len(self._facts)


def _short_digest(parts: Any) -> int:
    return int.from_bytes(hashlib.blake2b(msgspec.json.encode(parts), digest_size=8).digest())
