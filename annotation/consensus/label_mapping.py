"""What the steps of an ontology make of a raw label, an answer, an inventory. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping as MappingOf
from dataclasses import dataclass
from typing import Any, Protocol

Payload = dict[str, Any]
"""`spans` and `relations`; and `blank`, true, where an imported answer has no label and did not say N/A."""


class Step(Protocol):
    """A merge, delete or rename, as stored."""

    operation: str
    sources: list[str]
    target: str


@dataclass(frozen=True, slots=True)
class MappedAnswer:
    """A payload in today's labels; `emptied` when it said something and a deletion left nothing of it."""

    payload: Payload
    emptied: bool


def empty_answer() -> Payload:
    """The payload of N/A."""
    return {"spans": [], "relations": []}


def is_empty(payload: Payload) -> bool:
    return not payload["spans"] and not payload["relations"]


def is_na(payload: Payload) -> bool:
    """Nothing chosen, and meant so."""
    return is_empty(payload) and not payload.get("blank")


class LabelMapping:
    """Raw names to today's names; a name no step mentions stays what it is."""

    def __init__(self, names: MappingOf[str, str | None]) -> None:
        self._names = dict(names)

    @classmethod
    def from_steps(cls, steps: Iterable[Step]) -> LabelMapping:
        """Replay the steps in order: each acts on what the ones before it left."""
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

    def label(self, name: str) -> str | None:
        """Today's name of a raw label, None when it is deleted."""
        return self._names.get(name, name)

    def labels(self, names: Iterable[str]) -> list[str]:
        """Today's names, each once, in order of first mention."""
        return list(dict.fromkeys(now for name in names if (now := self.label(name)) is not None))

    def payload(self, payload: Payload) -> MappedAnswer:
        """An answer in today's labels: merged ones once, deleted ones gone with what hangs on them."""
        if not self._names:
            return MappedAnswer(payload, emptied=False)
        spans, places = self._spans(payload["spans"])
        relations = self._relations(payload["relations"], places)
        now = payload | {"spans": spans, "relations": relations}
        return MappedAnswer(now, emptied=is_empty(now) and not is_empty(payload))

    def _spans(self, spans: list[list[Any]]) -> tuple[list[list[Any]], list[int | None]]:
        kept: list[list[Any]] = []
        places: list[int | None] = []
        for start, end, label in spans:
            now = self.label(label)
            span = [start, end, now]
            if now is None:
                places.append(None)
                continue
            if span not in kept:
                kept.append(span)
            places.append(kept.index(span))
        return kept, places

    def _relations(self, relations: list[Any], places: list[int | None]) -> list[Any]:
        if relations and isinstance(relations[0], str):
            return self.labels(relations)
        moved = [[places[head], self.label(name), places[tail]] for head, name, tail in relations]
        return [link for at, link in enumerate(moved) if None not in link and link not in moved[:at]]
