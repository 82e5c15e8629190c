"""Lines that repeat an item become one item, its labels their union, the repeats kept.

A file is read twice: first it is found which lines repeat which, then its items come one by one, each with
its repeats. Of a line that repeats nothing only its id and a digest are kept, however long its text is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

import msgspec

from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.records import ItemLine

Line = tuple[int, ItemLine]
By = Literal["content", "id"]


class Repeat(msgspec.Struct, frozen=True):
    """One further line of an item: where it stood, its own id, and what it said."""

    line: int
    id: str
    relations: tuple[Any, ...] | None


class MergedItem(msgspec.Struct, frozen=True):
    """An item with the union of its labels; `line` is its first, `exact` counts repeats that add no label."""

    line: int
    item: ItemLine
    repeats: tuple[Repeat, ...] = ()
    exact: int = 0


class Repeats:
    """Which of the lines repeat an item, as the first reading found it."""

    def __init__(self) -> None:
        self.items = 0
        self._of: dict[int, list[Repeat]] = {}
        self._left_out: set[int] = set()

    def merged(self, lines: Iterable[Line]) -> Iterator[MergedItem]:
        """The same lines again: their items, in the order of their first lines."""
        for line, item in lines:
            if line not in self._left_out:
                yield _merge(line, item, self._of.get(line, ()))

    def leave_out(self, line: int) -> None:
        self._left_out.add(line)

    def note(self, line: int, item: ItemLine, *, first: int) -> None:
        """The line says again what the first one asks about."""
        self._of.setdefault(first, []).append(Repeat(line, item.id, item.relations))
        self._left_out.add(line)


def find_repeats(lines: Iterable[Line], *, problems: Problems, by: By = "content") -> Repeats:
    """Find the lines that repeat an item; refuse an id that names two different items.

    By content, an item is its text with the positions and ids of head and tail: entities that share a
    position but not an id belong to different bags and stay apart. By id, equal sentences with ids of their
    own stay apart too, as published predictions refer to them. Lines without head and tail never merge.
    """
    found = Repeats()
    firsts: dict[bytes, int] = {}
    names: dict[str, int] = {}
    for line, item in lines:
        key = _digest(item, by)
        first = line if key is None else firsts.get(key, line)
        named = names.setdefault(item.id, first)
        if named != first:
            problems.add(
                "duplicate_id", line=line, field="id", found=item.id, hint=f"First in line {named:,}."
            )
            found.leave_out(line)
        elif first != line:
            found.note(line, item, first=first)
        else:
            found.items += 1
            if key is not None:
                firsts[key] = line
    return found


def _digest(item: ItemLine, by: str) -> bytes | None:
    """What makes two lines the same item, in 16 bytes; None for what never merges."""
    if item.head is None or item.tail is None:
        return None
    mentions = [(entity.key, entity.start, entity.end) for entity in (item.head, item.tail)]
    parts = (item.id if by == "id" or item.text is None else None, item.text, mentions)
    return hashlib.blake2b(msgspec.json.encode(parts), digest_size=16).digest()


def _merge(line: int, first: ItemLine, repeats: Sequence[Repeat]) -> MergedItem:
    if not repeats:
        return MergedItem(line, first)
    said, exact = dict.fromkeys(first.relations or ()), 0
    for repeat in repeats:
        before = len(said)
        said |= dict.fromkeys(repeat.relations or ())
        exact += len(said) == before
    unknown = first.relations is None and all(repeat.relations is None for repeat in repeats)
    union: Any = None if unknown else tuple(said)
    return MergedItem(line, msgspec.structs.replace(first, relations=union), tuple(repeats), exact)


class Facts:
    """Counts ordered pairs, and facts (head, relation, tail) of any relation but the negative class.

    Each is kept as a number of eight bytes: there may be as many as there are lines.
    """

    def __init__(self, *, negative: str | None = None) -> None:
        self.negative = negative
        self._pairs: set[int] = set()
        self._facts: set[int] = set()

    def add(self, item: ItemLine) -> None:
        if item.pair is None:
            return
        self._pairs.add(_number(item.pair))
        told = (name for name in item.relations or () if name != self.negative)
        self._facts.update(_number((item.pair, name)) for name in told)

    @property
    def pairs(self) -> int:
        return len(self._pairs)

    @property
    def facts(self) -> int:
        return len(self._facts)


def _number(parts: Any) -> int:
    return int.from_bytes(hashlib.blake2b(msgspec.json.encode(parts), digest_size=8).digest())
