"""Which pairs are expected, and which (pair, relation) was claimed already."""

from __future__ import annotations

from collections.abc import Collection


class Bags:
    """Claims so far, one byte for each (pair, relation), so that millions fit."""

    def __init__(self, pairs: Collection[tuple[str, str]] | None, labels: Collection[str]) -> None:
        self.open = pairs is None
        self.rows = {pair: at for at, pair in enumerate(pairs or ())}
        self.columns = {label: at for at, label in enumerate(sorted(labels))}
        self.claimed = bytearray(len(self.rows) * len(self.columns))

    def first(self, head: str, tail: str, relation: str) -> bool | None:
        """Tell whether the claim is new; None where the pair is not expected."""
        row = self.rows.get((head, tail))
        if row is None:
            if not self.open:
                return None
            row = self.rows[head, tail] = len(self.rows)
            self.claimed.extend(bytes(len(self.columns)))
        at = row * len(self.columns) + self.columns[relation]
        fresh = not self.claimed[at]
        self.claimed[at] = 1
        return fresh

    def holds(self, head: str, tail: str) -> bool:
        """Tell whether the pair is expected."""
        return (head, tail) in self.rows
