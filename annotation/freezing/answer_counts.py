"""What the manifest of a set states of its provenance: numbers, origins and outcomes. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

import msgspec


class AnswerCounts:
    """Collects how many answers the lines needed and had, for the least and the greatest.

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


class _Answer(msgspec.Struct):
    not_counted: str = ""
    imported: bool = False
    suggested: bool = False

    @property
    def origin(self) -> str:
        """Tell answers given here blind, given on a shown prediction, and imported."""
        return "imported" if self.imported else "prediction_shown" if self.suggested else "blind"


class _Decided(msgspec.Struct):
    state: str
    k: int
    answers: list[_Answer]


class StatedOfLines:
    """Collects what the manifest states of the lines of a provenance."""

    def __init__(self) -> None:
        self.decode = msgspec.json.Decoder(_Decided).decode
        self.counts = AnswerCounts()
        self.origins, self.outcomes = Counter[str](), Counter[str]()

    def add(self, line: bytes) -> None:
        decided = self.decode(line)
        self.counts.add(decided.k, [answer.not_counted for answer in decided.answers])
        self.origins.update(answer.origin for answer in decided.answers)
        self.outcomes[decided.state] += 1

    def in_manifest(self, manifest: Mapping[str, Any]) -> dict[str, Any]:
        """Return the manifest with the figures of the lines; as it is without lines."""
        if not self.outcomes:
            return dict(manifest)
        outcomes = {state: self.outcomes[state] for state in ("settled", "adjudicated")}
        return {
            **manifest,
            **self.counts.limits(),
            "answers": {origin: self.origins[origin] for origin in ("blind", "prediction_shown", "imported")},
            "counts": {**manifest.get("counts", {}), **outcomes},
        }
