"""Gold as columns: items with labels, spans, pairs and words."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np

from evalsvc.core.formats import jsonl_items
from evalsvc.core.formats.gold_columns import GoldColumns, read_gold_columns
from evalsvc.core.formats.problems import FileRejected, Problems
from evalsvc.core.formats.readers import open_gold
from evalsvc.core.formats.records import ItemLine, Link
from evalsvc.core.formats.registry import formats
from evalsvc.core.formats.text_lines import LIMITS, Irregular, Limits, Source
from evalsvc.core.jobs.exceptions import InputFault
from workers.metrics.counts import Ints

Pair = tuple[str, str]


class PairRows(dict[Pair, int]):
    """Rows of pairs in order; looking up a new pair adds it."""

    def __missing__(self, pair: Pair) -> int:
        self[pair] = row = len(self)
        return row


@dataclass(slots=True)
class Gold:
    """Items in order; `owner` and `label` have an entry per positive label."""

    index: dict[str, int] = field(default_factory=dict)
    owner: list[int] = field(default_factory=list)
    label: list[str] = field(default_factory=list)
    start: list[int] = field(default_factory=list)
    end: list[int] = field(default_factory=list)
    pairs: PairRows = field(default_factory=PairRows)
    pair: list[int] = field(default_factory=list)
    links: dict[int, tuple[Link, ...]] = field(default_factory=dict)
    tokens: list[tuple[str, ...] | None] = field(default_factory=list)
    texts: list[str | None] = field(default_factory=list)
    warnings: dict[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.index)

    def add(self, item: ItemLine, unit: str, negatives: Container[str | None]) -> None:
        """Add one item with what its unit is scored by."""
        self.index[item.id] = row = len(self.index)
        if unit == "document":
            for start, end, name in item.spans or ():
                self.owner.append(row)
                self.start.append(start)
                self.end.append(end)
                self.label.append(name)
            if links := tuple(link for link in item.relations or () if not isinstance(link, str)):
                self.links[row] = links
            self.tokens.append(item.tokens)
            self.texts.append(None if item.tokens is not None else item.text)
            return
        self.add_labels(row, item, negatives)
        if unit == "bag":
            if item.pair is None:
                reason = f"Item {item.id} of the gold has no head and tail, so it is in no bag."
                raise InputFault("no_pairs", reason)
            self.pair.append(self.pairs[item.pair])

    def add_labels(self, row: int, item: ItemLine, negatives: Container[str | None]) -> None:
        """Add the labels of a line to an item."""
        names = [name for name in item.relations or () if isinstance(name, str) and name not in negatives]
        self.label += names
        self.owner += [row] * len(names)

    def lengths(self) -> dict[str, int]:
        """Return the length of documents in tokens, else in code points."""
        words = zip(self.index, self.tokens, self.texts, strict=True)
        sizes = ((name, tokens if tokens is not None else text) for name, tokens, text in words)
        return {name: len(of) for name, of in sizes if of is not None}

    def codes(self, labels: Iterable[str]) -> Ints:
        """The label of each entry as a number in the inventory."""
        code = {name: at for at, name in enumerate(labels)}
        try:
            return np.fromiter(map(code.__getitem__, self.label), np.int64, len(self.label))
        except KeyError as error:
            name = error.args[0]
            reason = f"The gold has the label {name}, which the inventory lacks."
            raise InputFault("gold_label", reason) from error


def read_gold(
    open_source: Callable[[], Source],
    unit: str,
    *,
    format: str,
    negatives: Container[str | None],
    only: Container[str] | None = None,
    limits: Limits = LIMITS,
    **columns: Any,
) -> Gold:
    """Read gold by columns where it is regular, else line by line.

    `columns` are the options of CoNLL columns. `only` limits the items.
    """
    if format == jsonl_items.FORMAT.key and unit != "document":
        gold = relation_columns(open_source(), unit, negatives=negatives, only=only, limits=limits)
        if gold is not None:
            return gold
    problems, gold, chosen = Problems(), Gold(), formats()[format]
    columns |= {"with_text": unit == "document", "limits": limits}
    for line, item in open_gold(open_source(), format=format, problems=problems, **columns):
        if only is not None and item.id not in only:
            continue
        if item.id not in gold.index:
            gold.add(item, unit, negatives)
        elif chosen.repeats_items:
            gold.add_labels(gold.index[item.id], item, negatives)
        else:
            problems.add("duplicate_id", line=line, field="id", value=item.id)
    problems.raise_if_any()
    gold.warnings = dict(problems.warnings)
    return gold


def relation_columns(
    source: Source,
    unit: str,
    *,
    negatives: Container[str | None],
    only: Container[str] | None = None,
    limits: Limits = LIMITS,
) -> Gold | None:
    """Read regular relation lines, or return None for the line reader."""
    gold = Gold()
    try:
        for part in read_gold_columns(source, pairs=unit == "bag", problems=Problems(), limits=limits):
            if only is not None:
                part = part.subset([row for row, name in enumerate(part.ids) if name in only])
            _extend(gold, part, negatives)
    except (Irregular, FileRejected):
        return None
    return gold


def _extend(gold: Gold, part: GoldColumns, negatives: Container[str | None]) -> None:
    first = len(gold.index)
    gold.index.update(zip(part.ids, count(first)))
    if len(gold.index) < first + len(part.ids):
        raise Irregular
    for owner, names in enumerate(part.labels, first):
        for name in names:
            if name not in negatives:
                gold.owner.append(owner)
                gold.label.append(name)
    gold.pair += map(gold.pairs.__getitem__, part.pairs)
