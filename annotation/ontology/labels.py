"""The current labels: raw names mapped by the active steps, in order, with texts."""

from __future__ import annotations

from dataclasses import dataclass, field

from annotation import testset
from annotation.models import OntologyLabel, Project
from annotation.testset import Kind
from evalsvc.core.formats.label_mapping import LabelMapping, Replay, Step

DIGITS = "1234567890"
CAPS = (*DIGITS, *(f"⇧{digit}" for digit in DIGITS), *(f"⌥{digit}" for digit in DIGITS))
TEXT_FIELDS = ("title", "phrase", "group", "definition", "choose", "avoid", "head_type", "tail_type")


@dataclass(frozen=True, slots=True)
class Choice:
    """A current label with its texts, keyboard shortcut and row."""

    name: str
    title: str
    phrase: str = ""
    group: str = ""
    definition: str = ""
    choose: list[str] = field(default_factory=list)
    avoid: list[str] = field(default_factory=list)
    head_type: str = ""
    tail_type: str = ""
    key: str = ""
    row: int = 0


def mapping_of(project: Project) -> LabelMapping:
    """Return the mapping of raw names by the active steps."""
    return LabelMapping.from_steps(project.steps.filter(undone_at=None))


class LabelNames:
    """Stored and current names of a project's labels; read once, and kept up while steps are made."""

    def __init__(self, project: Project) -> None:
        self._replay = Replay()
        for step in project.steps.filter(undone_at=None):
            self._replay.apply(step)
        self.stored: dict[str, set[str]] = {part: set() for part in parts_of(project)}
        self._raw: dict[str, list[str]] = {part: [] for part in parts_of(project)}
        for part, name, derived in project.labels.values_list("part", "name", "derived"):
            self.add(part, name, derived=derived)

    def add(self, part: str, name: str, *, derived: bool) -> None:
        self.stored.setdefault(part, set()).add(name)
        if not derived:
            self._raw.setdefault(part, []).append(name)

    @property
    def mapping(self) -> LabelMapping:
        return self._replay.mapping()

    def current(self) -> dict[str, set[str]]:
        """Return the current names of each inventory."""
        mapping = self.mapping
        return {part: set(mapping.inventory(names)) for part, names in self._raw.items()}

    def after(self, step: Step) -> LabelMapping:
        """Return the mapping that a step would give."""
        replay = Replay()
        replay.parts = dict(self._replay.parts)
        replay.apply(step)
        return replay.mapping()

    def make(self, step: Step) -> None:
        self._replay.apply(step)


def inventory(project: Project, part: str = "relation") -> list[Choice]:
    """Return the current labels in order, with their texts.

    Keys follow the order on the form: group by group, as the groups first occur.
    """
    mapping = mapping_of(project)
    rows = list(OntologyLabel.objects.filter(project=project, part=part))
    own = {row.name: row for row in rows}
    raw = mapping.inventory(row.name for row in rows if not row.derived)
    first = {mapping.label(row.name): row for row in reversed(rows)}
    described = [(name, own.get(name) or first[name]) for name in raw]
    described.sort(key=lambda entry: entry[1].rank)
    groups = list(dict.fromkeys(row.group for _, row in described))
    as_shown = sorted(described, key=lambda entry: groups.index(entry[1].group))
    keys = {name: key for (name, _), key in zip(as_shown, CAPS, strict=False)}
    return [
        Choice(
            name,
            **{field: getattr(row, field) for field in TEXT_FIELDS},
            key=keys.get(name, ""),
            row=row.pk,
        )
        for name, row in described
    ]


def label_titles(project: Project) -> dict[str, str]:
    """Return the titles of the current labels by name; of labels of one title, with the name."""
    choices = (choice for part in parts_of(project) for choice in inventory(project, part))
    return testset.label_titles({"name": choice.name, "title": choice.title} for choice in choices)


def parts_of(project: Project) -> tuple[str, ...]:
    """Return the inventories of the project's kind."""
    relation, entity = OntologyLabel.Part.RELATION, OntologyLabel.Part.ENTITY
    both = {Kind.RELATIONS: (relation,), Kind.ENTITIES: (entity,), Kind.JOINT: (entity, relation)}
    return both[Kind(project.kind)]
