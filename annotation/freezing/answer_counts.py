"""How many answers the lines of a set needed, and how many counted. Pure."""

from __future__ import annotations

from collections.abc import Collection


class AnswerCounts:
    """Collects the numbers of all lines, for the least and the greatest.

    A decided line may have had fewer answers than it needed.
    """

    def __init__(self) -> None:
        self.needed: set[int] = set()
        self.counted: set[int] = set()

    def add(self, needed: int, marks: Collection[str]) -> None:
        """Add a line; each answer has a mark, empty if it counts."""
        self.needed.add(needed)
        self.counted.add(sum(not mark for mark in marks))

    def limits(self) -> dict[str, list[int]]:
        """Return least and greatest numbers by their names in manifests; nothing without lines."""
        numbers = {"k_of_items": self.needed, "answers_of_items": self.counted}
        return {name: [min(each), max(each)] for name, each in numbers.items() if each}
