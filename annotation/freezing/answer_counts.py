"""What the manifest of a set states of its provenance: numbers, origins and outcomes. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec

ORIGINS, OUTCOMES = ("blind", "prediction_shown", "imported"), ("settled", "adjudicated")


class Answer(Protocol):
    """Marks of an answer in a provenance."""

    not_counted: str
    imported: bool
    suggested: bool


class Decided(Protocol):
    """A line of a provenance."""

    state: str
    k: int

    @property
    def answers(self) -> Sequence[Answer]: ...


class _Answer(msgspec.Struct):
    not_counted: str = ""
    imported: bool = False
    suggested: bool = False


class _Decided(msgspec.Struct):
    state: str
    k: int
    answers: list[_Answer]


class StatedOfLines:
    """Collects what the manifest states of the lines of a provenance.

    A decided line may have had fewer answers than it needed.
    """

    def __init__(self) -> None:
        self.decode = msgspec.json.Decoder(_Decided).decode
        self.needed: set[int] = set()
        self.counted: set[int] = set()
        self.origins, self.outcomes = Counter[str](), Counter[str]()

    def add(self, line: bytes) -> None:
        self.add_decided(self.decode(line))

    def add_decided(self, decided: Decided) -> None:
        self.needed.add(decided.k)
        self.counted.add(sum(not answer.not_counted for answer in decided.answers))
        self.origins.update(map(_origin, decided.answers))
        self.outcomes[decided.state] += 1

    def figures(self) -> dict[str, Any]:
        """Return the figures by their names in manifests; nothing without lines."""
        if not self.outcomes:
            return {}
        numbers = {"k_of_items": self.needed, "answers_of_items": self.counted}
        limits = {name: [min(each), max(each)] for name, each in numbers.items()}
        return limits | {
            "answers": {origin: self.origins[origin] for origin in ORIGINS},
            "counts": {state: self.outcomes[state] for state in OUTCOMES},
        }

    def in_manifest(self, manifest: Mapping[str, Any]) -> dict[str, Any]:
        """Return the manifest with the figures of the lines; as it is without lines."""
        figures = self.figures()
        if not figures:
            return dict(manifest)
        return {**manifest, **figures, "counts": {**manifest.get("counts", {}), **figures["counts"]}}


def _origin(answer: Answer) -> str:
    """Tell answers given here blind, given on a shown prediction, and imported."""
    return "imported" if answer.imported else "prediction_shown" if answer.suggested else "blind"
