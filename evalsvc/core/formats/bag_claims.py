"""Claims about pairs of entities, each made once."""

from __future__ import annotations

from collections.abc import Collection


class BagClaims:
    """Claimed relations of pairs.

    Each (pair, relation) takes one byte, so that millions fit in memory. It has a bit for the name as the
    file spells it, and one for the present name.
    """

    def __init__(self, pairs: Collection[tuple[str, str]] | None, labels: Collection[str]) -> None:
        self.any_pair = pairs is None
        self.rows = {pair: at for at, pair in enumerate(pairs or ())}
        self.columns = {label: at for at, label in enumerate(sorted(labels))}
        self.claimed = bytearray(len(self.rows) * len(self.columns))

    def add(self, head: str, tail: str, relation: str, bit: int = 1) -> bool | None:
        """Return whether the claim is new; None for an unexpected pair."""
        row = self.rows.get((head, tail))
        if row is None:
            if not self.any_pair:
                return None
            row = self.rows[head, tail] = len(self.rows)
            self.claimed.extend(bytes(len(self.columns)))
        at = row * len(self.columns) + self.columns[relation]
        is_new = not self.claimed[at] & bit
        self.claimed[at] |= bit
        return is_new
