"""What a file shares with the items of a test set: pairs, facts, sentences, entities."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass

from annotation.splits.items import SplitItem

Keys = Callable[[SplitItem], Iterable[Hashable]]

COMPARED: dict[str, tuple[str, Keys]] = {
    "pairs_ordered": (
        "entity pairs, head and tail",
        lambda item: [(item.head, item.tail)] if item.pair else [],
    ),
    "pairs": ("entity pairs, in either order", lambda item: [item.pair] if item.pair else []),
    "facts": ("facts: head, relation, tail", lambda item: item.facts),
    "sentences": ("sentences, normalised", lambda item: [item.sentence]),
    "entities": ("entity names, normalised", lambda item: [name for name in item.entities if name]),
}
"""By key: title, and what of an item is compared."""


@dataclass(frozen=True)
class Shared:
    """Distinct things of one kind in training and test data, and test items that have a shared one."""

    key: str
    train: int
    test: int
    shared: int
    test_items: int

    @property
    def title(self) -> str:
        return COMPARED[self.key][0]

    @property
    def share_of_test(self) -> float | None:
        return self.shared / self.test if self.test else None


def leakage(train: Iterable[SplitItem], test: Iterable[SplitItem]) -> list[Shared]:
    """Compare training items with test items."""
    seen: dict[str, set[Hashable]] = {key: set() for key in COMPARED}
    for item in train:
        for key, (_, keys) in COMPARED.items():
            seen[key].update(keys(item))
    found: dict[str, set[Hashable]] = {key: set() for key in COMPARED}
    items = dict.fromkeys(COMPARED, 0)
    for item in test:
        for key, (_, keys) in COMPARED.items():
            of_item = set(keys(item))
            found[key] |= of_item
            items[key] += not of_item.isdisjoint(seen[key])
    return [
        Shared(key, len(seen[key]), len(found[key]), len(seen[key] & found[key]), items[key])
        for key in COMPARED
    ]
