"""Items of one or two evaluations by kind of error, class, score and who is right.

Works on the stored outcomes of a whole file; nothing is scored here.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isnan
from typing import Any

from evalsvc.evaluation.disclosure.outcomes import KINDS, RIGHT, Claims, Outcomes

ERRORS = sum(1 << code for code in range(len(KINDS)) if code != RIGHT)
WHO = ("a", "b", "neither")
ORDERS = ("f1", "errors", "file")
BINS = 10
SINGLE = 1e-6  # F1 of items is stored in single precision: .7 as .69999999


@dataclass(frozen=True)
class Wanted:
    """Filters: codes of kinds (any of them), class, F1 of A, and who is right.

    `having` are the items with the searched text; None: all.
    """

    kinds: frozenset[int] = frozenset()
    label: str = ""
    low: float = 0.0
    high: float = 1.0
    who: str = ""
    order: str = "f1"
    text: str = ""
    having: frozenset[int] | None = None

    @property
    def is_narrowed(self) -> bool:
        """True if items are chosen by F1."""
        return (self.low, self.high) != (0.0, 1.0)


@dataclass(frozen=True)
class Selection:
    """Chosen items in order, and how many each filter would leave."""

    a: Outcomes
    b: Outcomes | None
    wanted: Wanted

    @property
    def sides(self) -> list[Outcomes]:
        return [self.a] if self.b is None else [self.a, self.b]

    @cached_property
    def wrong(self) -> list[int]:
        """Items with an error of A or B."""
        masks = self.a.masks if self.b is None else map(int.__or__, self.a.masks, self.b.masks)
        return [at for at, mask in enumerate(masks) if mask & ERRORS]

    @cached_property
    def right_alone(self) -> dict[str, set[int]]:
        """Items where only A or only B, or neither, is right about a gold claim.

        Sentences are right as a whole, also about none.
        """
        if self.b is None:
            return {}
        if self.a.gold.places is None:
            masks = list(zip(self.a.masks, self.b.masks, strict=True))
            tests = [(bool(a & ERRORS), bool(b & ERRORS)) for a, b in masks]
            return {
                who: {at for at, test in enumerate(tests) if test == expected}
                for who, expected in zip(WHO, ((False, True), (True, False), (True, True)), strict=True)
            }
        items: dict[str, set[int]] = {who: set() for who in WHO}
        for a, b in ((self.a.gold, self.b.gold), (self.a.gold_links, self.b.gold_links)):
            if a is not None and b is not None:
                for who, rows in _rows_alone(a, b).items():
                    items[who].update(_items_of(a, rows))
        return items

    @cached_property
    def by_who(self) -> dict[str, int]:
        return {who: len(items) for who, items in self.right_alone.items()}

    @cached_property
    def items(self) -> list[int]:
        """The chosen items: by default lowest F1 first, of equal ones most errors, then file order."""
        chosen = self.chosen
        if self.wanted.order == "file":
            return chosen
        f1 = self.a.f1_scores
        errors = {at: sum(errors_of(side, at) for side in self.sides) for at in chosen}
        if self.wanted.order == "errors":
            return sorted(chosen, key=lambda at: (-errors[at], at))
        return sorted(
            chosen, key=lambda at: (isnan(f1[at]), f1[at] if not isnan(f1[at]) else 0, -errors[at], at)
        )

    @cached_property
    def chosen(self) -> list[int]:
        """The chosen items in file order."""
        wanted = sum(1 << code for code in self.wanted.kinds)
        return [at for at in self.but_kinds if not wanted or self._mask(at) & wanted]

    def without(self, **filters: Any) -> int:
        """Return how many items are left with some filters changed."""
        return len(Selection(self.a, self.b, replace(self.wanted, **filters)).chosen)

    @cached_property
    def by_label(self) -> Counter[str]:
        """Number of items with each class in gold or predictions, under the other filters."""
        found: Counter[str] = Counter()
        for at in Selection(self.a, self.b, replace(self.wanted, label="")).chosen:
            found.update({name for side in self.sides for name in _names(side, at)})
        return found

    @cached_property
    def by_f1(self) -> list[int]:
        """Number of items by F1 of A in ten bins, the last with 1, under the other filters."""
        counts = [0] * BINS
        for at in Selection(self.a, self.b, replace(self.wanted, low=0.0, high=1.0)).chosen:
            if not isnan(f1 := self.a.f1_scores[at]):
                counts[min(int((f1 + SINGLE) * BINS), BINS - 1)] += 1
        return counts

    def claims_alone(self, item: int) -> Counter[str]:
        """Count the gold claims of an item that only A, only B or neither gets right."""
        counts: Counter[str] = Counter()
        if self.b is not None and self.a.gold.places is not None:
            for a, b in ((self.a.gold, self.b.gold), (self.a.gold_links, self.b.gold_links)):
                if a is not None and b is not None:
                    counts.update(filter(None, (_alone(*kinds) for kinds in _kinds_of(a, b, item))))
        return counts

    @cached_property
    def but_kinds(self) -> list[int]:
        """The items that all filters but that of kinds leave."""
        wanted, f1 = self.wanted, self.a.f1_scores
        items: Iterable[int] = sorted(self.right_alone.get(wanted.who, ())) if wanted.who else self.wrong
        if wanted.having is not None:
            items = filter(wanted.having.__contains__, items)
        if wanted.label:
            having = set().union(*(_having(side, wanted.label) for side in self.sides))
            items = (at for at in items if at in having)
        if wanted.is_narrowed:
            low, high = wanted.low - SINGLE, wanted.high + SINGLE
            items = (at for at in items if low <= f1[at] <= high)
        return list(items)

    @cached_property
    def by_kind(self) -> dict[int, int]:
        """Number of items with each kind of error, under the other filters."""
        masks = Counter(map(self._mask, self.but_kinds))
        counts = {
            code: sum(n for mask, n in masks.items() if mask >> code & 1)
            for code in range(len(KINDS))
            if code != RIGHT
        }
        return {code: n for code, n in counts.items() if n or code in self.wanted.kinds}

    def _mask(self, at: int) -> int:
        mask: int = self.a.masks[at] | (self.b.masks[at] if self.b is not None else 0)
        return mask


def _alone(of_a: int, of_b: int) -> str:
    """Say who alone is right about a gold claim; empty if both are."""
    if of_a == of_b == RIGHT:
        return ""
    return "a" if of_a == RIGHT else "b" if of_b == RIGHT else "neither"


def _kinds_of(a: Claims, b: Claims, item: int) -> Iterator[tuple[int, int]]:
    """Yield what A and B made of each gold claim of an item."""
    of_a, of_b = a.columns[2], b.columns[2]
    return ((of_a[row], of_b[row]) for row in a.rows(item))


def _rows_alone(a: Claims, b: Claims) -> dict[str, list[int]]:
    """Return the gold claims that only A, only B or neither gets right."""
    rows: dict[str, list[int]] = {who: [] for who in WHO}
    for at, kinds in enumerate(zip(a.columns[2], b.columns[2], strict=True)):
        if who := _alone(*kinds):
            rows[who].append(at)
    return rows


def _items_of(claims: Claims, rows: Sequence[int]) -> Iterable[int]:
    first = claims.columns[0]
    return (bisect_right(first, row) - 1 for row in rows)


def _names(outcomes: Outcomes, item: int) -> Iterator[str]:
    """Yield the classes of an item."""
    for names, parts in (
        (outcomes.labels, (outcomes.gold, outcomes.predicted)),
        (outcomes.relations, (outcomes.gold_links, outcomes.predicted_links)),
    ):
        for claims in filter(None, parts):
            yield from (names[label] for label, *_ in claims.of(item) if label >= 0)


def _having(outcomes: Outcomes, label: str) -> set[int]:
    """Return the items with a class in gold or predictions."""
    items: set[int] = set()
    for names, parts in (
        (outcomes.labels, (outcomes.gold, outcomes.predicted)),
        (outcomes.relations, (outcomes.gold_links, outcomes.predicted_links)),
    ):
        if label in names:
            code = names.index(label)
            for claims in filter(None, parts):
                rows = [row for row, each in enumerate(claims.columns[1]) if each == code]
                items.update(_items_of(claims, rows))
    return items


def errors_of(outcomes: Outcomes, item: int) -> int:
    """Count the claims of an item that are wrong: of the gold what is missed, and what is claimed wrongly."""
    n = 0
    for gold, claimed in (
        (outcomes.gold, outcomes.predicted),
        (outcomes.gold_links, outcomes.predicted_links),
    ):
        if gold is not None and claimed is not None:
            wrong = [kind for _, kind, _, _ in claimed.of(item) if kind != RIGHT]
            missed = [kind for _, kind, _, _ in gold.of(item) if kind != RIGHT]
            n += max(len(wrong), len(missed))
    return n


def same_gold(a: Outcomes, b: Outcomes) -> bool:
    """True if two outcomes are about the same items and gold claims."""
    return a.ids == b.ids and a.gold.label == b.gold.label and a.gold.first == b.gold.first
