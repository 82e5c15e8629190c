"""The shape of a ready-made inventory: labels with their words, and the steps that go with them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from annotation.models import OntologyLabel


@dataclass(frozen=True, slots=True)
class PresetLabel:
    """One label with its words."""

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
        """A row of the ontology, not yet in a project."""
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
class PresetSteps:
    """Merges and deletions that go with an inventory."""

    merges: tuple[tuple[tuple[str, ...], str], ...] = ()
    deleted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Preset:
    """An inventory: labels with words, raw names that the data spells besides, and the steps between them."""

    key: str
    title: str
    describes: str
    part: str
    entries: tuple[PresetLabel, ...]
    raw: tuple[str, ...] = ()
    steps: PresetSteps = field(default_factory=PresetSteps)
    na_means: str = ""

    def labels(self) -> Iterable[OntologyLabel]:
        """All rows: those people choose from first, those that only the data spells after them."""
        derived = {target for _, target in self.steps.merges}
        for entry in self.entries:
            yield entry.as_label(self.part, derived=entry.name in derived)
        for name in self.raw:
            yield PresetLabel(name).as_label(self.part, derived=False)


def title_from_name(name: str) -> str:
    """A title for a name the data gives: the last part of a path, words instead of underscores."""
    last = [part for part in name.split("/") if part]
    return (last[-1] if last else name).replace("_", " ")
