"""Lines that repeat an item become one item, its labels their union, the repeats kept."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from evalsvc.formats.problems import Problems
from evalsvc.formats.records import ItemLine


class Repeat(msgspec.Struct, frozen=True):
    """One further line of an item: where it stood, its own id, and what it said."""

    line: int
    id: str
    relations: tuple[Any, ...]


class MergedItem(msgspec.Struct, frozen=True):
    """An item with the union of its labels; `line` is its first line."""

    line: int
    item: ItemLine
    repeats: tuple[Repeat, ...] = ()


class Merged(msgspec.Struct, frozen=True):
    """Items in the order of their first lines; `exact_repeats` of the `lines` added no label."""

    items: list[MergedItem]
    lines: int
    exact_repeats: int

    @property
    def several_labels(self) -> int:
        """How many items carry more than one label."""
        return sum(len(merged.item.relations or ()) > 1 for merged in self.items)


def merge_repeats(
    lines: Iterable[tuple[int, ItemLine]], *, problems: Problems, by: Literal["content", "id"] = "content"
) -> Merged:
    """Merge relation lines that repeat an item; refuse an id that names two different items.

    By content, an item is its text with the positions and ids of head and tail: entities that share a
    position but not an id belong to different bags and stay apart. By id, equal sentences with ids of their
    own stay apart too, as published predictions refer to them. Lines without head and tail never merge.
    """
    groups: dict[Any, list[tuple[int, ItemLine]]] = {}
    names: dict[str, Any] = {}
    count = 0
    for line, item in lines:
        count += 1
        key = _key(item, line, by)
        if names.setdefault(item.id, key) == key:
            groups.setdefault(key, []).append((line, item))
        else:
            first = groups[names[item.id]][0][0]
            problems.add(
                "duplicate_id", line=line, field="id", found=item.id, hint=f"First in line {first:,}."
            )
    exact = sum(_exact_repeats(group) for group in groups.values() if len(group) > 1)
    return Merged([_merge(group) for group in groups.values()], count, exact)


def _key(item: ItemLine, line: int, by: str) -> Any:
    if item.head is None or item.tail is None:
        return line
    mentions = [(entity.key, entity.start, entity.end) for entity in (item.head, item.tail)]
    return (item.id if by == "id" or item.text is None else None, item.text, *mentions)


def _exact_repeats(group: list[tuple[int, ItemLine]]) -> int:
    """Lines that add no label to what the lines before them said."""
    seen: set[Any] = set(group[0][1].relations or ())
    exact = 0
    for _, item in group[1:]:
        fresh = set(item.relations or ()) - seen
        exact += not fresh
        seen |= fresh
    return exact


def _merge(group: list[tuple[int, ItemLine]]) -> MergedItem:
    line, first = group[0]
    if len(group) == 1:
        return MergedItem(line, first)
    said = [label for _, item in group for label in item.relations or ()]
    union: Any = tuple(dict.fromkeys(said)) if any(item.relations is not None for _, item in group) else None
    repeats = tuple(Repeat(at, item.id, item.relations or ()) for at, item in group[1:])
    return MergedItem(line, msgspec.structs.replace(first, relations=union), repeats)


def pairs_and_facts(items: Iterable[ItemLine], *, negative: str | None) -> tuple[int, int]:
    """Count ordered pairs, and facts (head, relation, tail) of any relation but the negative class."""
    pairs: set[Any] = set()
    facts: set[Any] = set()
    for item in items:
        if item.pair is not None:
            pairs.add(item.pair)
            facts.update((item.pair, relation) for relation in item.relations or () if relation != negative)
    return len(pairs), len(facts)
