"""Mapping of raw labels and answers to current labels. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from collections.abc import Mapping as MappingOf
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

Payload = dict[str, Any]
"""`spans` and `relations`; `blank` is true for an imported answer without a label that is not N/A."""


class Step(Protocol):
    """A merge, delete, rename or split, as stored; a split has `targets`."""

    operation: str
    sources: list[str]
    target: str
    targets: list[str]


@dataclass(slots=True)
class RecordedStep:
    """A step as the manifest of a frozen set has it."""

    operation: str
    sources: list[str]
    target: str
    targets: list[str] = field(default_factory=list)
    number: int = 0


@dataclass(frozen=True, slots=True)
class MappedAnswer:
    """A payload in current labels; `emptied` if deletions removed them all.

    `unclear` if it has a label that was split: which of its parts was meant isn't known.
    """

    payload: Payload
    emptied: bool
    unclear: bool = False


def empty_answer() -> Payload:
    """Return the payload of N/A."""
    return {"spans": [], "relations": []}


def is_empty(payload: Payload) -> bool:
    return not payload["spans"] and not payload["relations"]


class Replay:
    """Steps applied one after another to raw names."""

    def __init__(self) -> None:
        self.parts: dict[str, tuple[str | None, ...]] = {}

    def apply(self, step: Step) -> None:
        targets: dict[str, tuple[str | None, ...]] = {"delete": (None,), "split": (*step.targets,)}
        now, sources = targets.get(step.operation, (step.target,)), set(step.sources)
        for raw, parts in self.parts.items():
            if sources.isdisjoint(parts):
                continue
            moved = (new for part in parts for new in (now if part in sources else (part,)))
            self.parts[raw] = tuple(dict.fromkeys(moved))
        self.parts |= {source: now for source in step.sources if source not in self.parts}

    def mapping(self) -> LabelMapping:
        return LabelMapping.from_parts(self.parts)


class LabelMapping:
    """Raw names to current names; other names stay as they are.

    A split label has several current names. Steps on its parts, such as a merge, can make it clear.
    """

    def __init__(
        self, names: MappingOf[str, str | None], split: MappingOf[str, tuple[str | None, ...]] | None = None
    ) -> None:
        self._names = dict(names)
        self._split = dict(split or {})

    @classmethod
    def from_steps(cls, steps: Iterable[Step]) -> LabelMapping:
        """Replay the steps in order, each on the result of those before."""
        replay = Replay()
        for step in steps:
            replay.apply(step)
        return replay.mapping()

    @classmethod
    def from_manifest(cls, manifest: MappingOf[str, Any]) -> LabelMapping:
        """Return the mapping that the manifest of a frozen or mapped set records, or `ontology.json`."""
        if "mapped" in manifest:
            return cls._from_mapped(manifest["mapped"])
        steps = manifest.get("ontology") or manifest.get("steps") or ()
        return cls.from_steps(RecordedStep(**step) for step in steps)

    @classmethod
    def _from_mapped(cls, mapped: MappingOf[str, Any]) -> LabelMapping:
        """Map what the new names of earlier sets gave on by those of the sets made of them.

        A name that was later given to another label is the name of that one. A name that became different
        labels in several sets counts as split.
        """
        parts_of: dict[str, dict[str, tuple[str | None, ...]]] = {}
        parts: dict[str, tuple[str | None, ...]] = {}
        for each in (*mapped.get("earlier", ()), mapped):
            names, merged = each["names"], dict[str, dict[str | None, None]]()
            for of in each.get("of", ()):
                for name, became in parts_of.get(of if isinstance(of, str) else of["slug"], {}).items():
                    now = (None if part is None else names.get(part, part) for part in became)
                    merged.setdefault(name, {}).update(dict.fromkeys(now))
            parts = {name: tuple(now) for name, now in merged.items()}
            parts |= {name: (now,) for name, now in names.items()}
            parts_of[each.get("set", "")] = parts
        return cls.from_parts(parts)

    @classmethod
    def from_parts(cls, parts: MappingOf[str, Collection[str | None]]) -> LabelMapping:
        """Return the mapping of names to one label each, or to several if they were split."""
        clear = {name: next(iter(labels)) for name, labels in parts.items() if len(labels) == 1}
        return cls(clear, {name: tuple(labels) for name, labels in parts.items() if name not in clear})

    def __bool__(self) -> bool:
        return bool(self._names or self._split)

    @cached_property
    def digest(self) -> str:
        """Return 16 digits that other names or parts change."""
        parts = sorted(self.parts().items())
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]

    @property
    def clear(self) -> dict[str, str | None]:
        """Return the raw names with one current name, or none if they were deleted."""
        return dict(self._names)

    def limited(
        self, labels: Collection[str], *, current: Collection[str], negative: str | None = None
    ) -> LabelMapping:
        """Return the mapping to an inventory of the names that are no current labels.

        A label that became the negative class counts as deleted.
        """
        parts = {
            name: dict.fromkeys(None if part == negative else part for part in became)
            for name, became in self.parts().items()
            if name not in current and name != negative and became != (name,)
        }
        return LabelMapping.from_parts(
            {name: became for name, became in parts.items() if became.keys() <= {None, *labels}}
        )

    def parts(self) -> dict[str, tuple[str | None, ...]]:
        """Return what each raw name became: a name, None, or several if it was split."""
        return {name: (now,) for name, now in self._names.items()} | self._split

    def __contains__(self, name: str) -> bool:
        return name in self._names or name in self._split

    @property
    def deletes(self) -> bool:
        """True if some raw label has no current one."""
        return None in self._names.values()

    def label(self, name: str) -> str | None:
        """Return the current name of a raw label, None if deleted or split."""
        return None if name in self._split else self._names.get(name, name)

    def labels(self, names: Iterable[str]) -> list[str]:
        """Return the current names, each once, in order of first occurrence."""
        return list(dict.fromkeys(now for name in names if (now := self.label(name)) is not None))

    def raw_names(self, names: Collection[str]) -> list[str]:
        """Return the raw names that are one of these current names."""
        raw = [name for name, now in self._names.items() if now in names]
        return sorted({*raw, *(name for name in names if name not in self)})

    def inventory(self, names: Iterable[str]) -> list[str]:
        """Return the current names as `labels` does, with the parts of split ones."""
        parts = (part for name in names for part in self._split.get(name, (self.label(name),)))
        return list(dict.fromkeys(part for part in parts if part is not None))

    def payload(self, payload: Payload) -> MappedAnswer:
        """Map an answer; relations of deleted spans are deleted as well."""
        if not self:
            return MappedAnswer(payload, emptied=False)
        spans, places = self._spans(payload["spans"])
        relations = payload["relations"]
        named = [link if isinstance(link, str) else link[1] for link in relations]
        if relations and isinstance(relations[0], str):
            relations = self.labels(relations)
        else:
            moved = ((places[head], self.label(name), places[tail]) for head, name, tail in relations)
            relations = [list(link) for link in dict.fromkeys(moved) if None not in link]
        mapped = payload | {"spans": spans, "relations": relations}
        raw = {*named, *(label for _, _, label in payload["spans"])} if self._split else ()
        return MappedAnswer(
            mapped,
            emptied=is_empty(mapped) and not is_empty(payload),
            unclear=any(name in self._split for name in raw),
        )

    def _spans(self, spans: list[list[Any]]) -> tuple[list[list[Any]], list[int | None]]:
        """Map spans, each once; return their new places too, None if deleted."""
        numbers: dict[tuple[int, int, str], int] = {}
        places: list[int | None] = []
        for start, end, label in spans:
            now = self.label(label)
            places.append(None if now is None else numbers.setdefault((start, end, now), len(numbers)))
        return [list(span) for span in numbers], places
