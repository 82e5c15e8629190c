"""Ready-made inventories: labels with texts, merges and deletions."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from annotation.models import OntologyLabel

DATA = Path(__file__).parent / "data"


@dataclass(frozen=True, slots=True)
class PresetLabel:
    """One label with its texts."""

    name: str
    title: str = ""
    phrase: str = ""
    group: str = ""
    head_type: str = ""
    tail_type: str = ""
    definition: str = ""
    choose: tuple[str, ...] = ()
    avoid: tuple[str, ...] = ()

    def as_label(self, part: str, *, derived: bool) -> OntologyLabel:
        """Return an unsaved row of the ontology."""
        return OntologyLabel(
            part=part,
            name=self.name,
            title=self.title or title_from_name(self.name),
            phrase=self.phrase,
            group=self.group,
            definition=self.definition,
            choose=list(self.choose),
            avoid=list(self.avoid),
            head_type=self.head_type,
            tail_type=self.tail_type,
            derived=derived,
        )


@dataclass(frozen=True, slots=True)
class Preset:
    """An inventory, raw names, and the steps between them."""

    key: str
    title: str
    part: str
    entries: tuple[PresetLabel, ...]
    raw_names: tuple[str, ...] = ()
    merges: tuple[tuple[tuple[str, ...], str], ...] = ()
    deleted: tuple[str, ...] = ()

    @classmethod
    def load(cls, key: str) -> Preset:
        """Read `data/<key>.json`."""
        values = json.loads((DATA / f"{key}.json").read_text(encoding="utf-8"))
        lists = ("choose", "avoid")
        entries = [
            PresetLabel(**label | {name: tuple(label[name]) for name in lists if name in label})
            for label in values.pop("labels")
        ]
        merges = tuple((tuple(merge["sources"]), merge["target"]) for merge in values.pop("merges", ()))
        raw_names, deleted = tuple(values.pop("raw_names", ())), tuple(values.pop("deleted", ()))
        return cls(**values, entries=tuple(entries), raw_names=raw_names, merges=merges, deleted=deleted)

    def labels(self) -> Iterable[OntologyLabel]:
        """Yield rows for all labels, raw names last."""
        derived = {target for _, target in self.merges}
        for entry in self.entries:
            yield entry.as_label(self.part, derived=entry.name in derived)
        for name, title in titles_from_names(self.raw_names).items():
            yield PresetLabel(name, title).as_label(self.part, derived=False)


def title_from_name(name: str, parts: int = 1) -> str:
    """Make a title from the last part of a raw name, or from several."""
    words = [part for part in name.split("/") if part][-parts:]
    return (" ".join(words) or name).replace("_", " ")


def titles_from_names(names: Iterable[str]) -> dict[str, str]:
    """Make titles that differ where the names do: of two capitals, country capital and us state capital."""
    titles = {name: title_from_name(name) for name in names}
    for parts in range(2, 2 + max((name.count("/") for name in titles), default=0)):
        times = Counter(title.casefold() for title in titles.values())
        again = [name for name, title in titles.items() if times[title.casefold()] > 1]
        titles |= {name: title_from_name(name, parts) for name in again}
    return titles


PRESETS: dict[str, Preset] = {path.stem: Preset.load(path.stem) for path in sorted(DATA.glob("*.json"))}
