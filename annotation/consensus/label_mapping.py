"""Mapping of raw labels and answers to current labels. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping as MappingOf
from dataclasses import dataclass
from typing import Any, Protocol

Payload = dict[str, Any]
"""`spans` and `relations`; `blank` is true for an imported answer without a label that is not N/A."""


class Step(Protocol):
    """A merge, delete or rename, as stored."""

    operation: str
    sources: list[str]
    target: str


@dataclass(frozen=True, slots=True)
class MappedAnswer:
    """A payload in current labels; `emptied` if deletions removed them all."""

    payload: Payload
    emptied: bool


def empty_answer() -> Payload:
    """Return the payload of N/A."""
    return {"spans": [], "relations": []}


def is_empty(payload: Payload) -> bool:
    return not payload["spans"] and not payload["relations"]


class LabelMapping:
    """Raw names to current names; other names stay as they are."""

    def __init__(self, names: MappingOf[str, str | None]) -> None:
        self._names = dict(names)

    @classmethod
    def from_steps(cls, steps: Iterable[Step]) -> LabelMapping:
        """Replay the steps in order, each on the result of those before."""
        names: dict[str, str | None] = {}
        for step in steps:
            target = None if step.operation == "delete" else step.target
            sources = set(step.sources)
            for raw, now in names.items():
                if now in sources:
                    names[raw] = target
            names |= {source: target for source in sources if source not in names}
        return cls(names)

    def __bool__(self) -> bool:
        return bool(self._names)

    def __contains__(self, name: str) -> bool:
        return name in self._names

    @property
    def deletes(self) -> bool:
        """True if some raw label has no current one."""
        return None in self._names.values()

    def label(self, name: str) -> str | None:
        """Return the current name of a raw label, None if deleted."""
        return self._names.get(name, name)

    def labels(self, names: Iterable[str]) -> list[str]:
        """Return the current names, each once, in order of first occurrence."""
        return list(dict.fromkeys(now for name in names if (now := self.label(name)) is not None))

    def payload(self, payload: Payload) -> MappedAnswer:
        """Map an answer; relations of deleted spans are deleted as well."""
        if not self._names:
            return MappedAnswer(payload, emptied=False)
        spans, places = self._spans(payload["spans"])
        relations = payload["relations"]
        if relations and isinstance(relations[0], str):
            relations = self.labels(relations)
        else:
            moved = ((places[head], self.label(name), places[tail]) for head, name, tail in relations)
            relations = [list(link) for link in dict.fromkeys(moved) if None not in link]
        mapped = payload | {"spans": spans, "relations": relations}
        return MappedAnswer(mapped, emptied=is_empty(mapped) and not is_empty(payload))

    def _spans(self, spans: list[list[Any]]) -> tuple[list[list[Any]], list[int | None]]:
        """Map spans, each once; return their new places too, None if deleted."""
        numbers: dict[tuple[int, int, str], int] = {}
        places: list[int | None] = []
        for start, end, label in spans:
            now = self.label(label)
            places.append(None if now is None else numbers.setdefault((start, end, now), len(numbers)))
        return [list(span) for span in numbers], places
