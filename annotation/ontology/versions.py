"""Versions of the ontology: the steps in use after each change of them; an earlier one can be restored."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models.functions import Now

from annotation.consensus import recomputation
from annotation.models import OntologyLabel, OntologyStep, Project
from annotation.ontology import inventory
from annotation.ontology.inventory import lock_project
from annotation.ontology.labels import LabelNames
from annotation.roles import CURATOR, require, require_to_change
from evalsvc.core.accounts.models import User
from evalsvc.core.activity.models import entries, record
from evalsvc.core.database import atomic_again
from evalsvc.core.errors.exceptions import Conflict
from evalsvc.core.formats.label_mapping import LabelMapping

Change = tuple[list[OntologyStep], list[OntologyStep]]
"""Steps that were made and those that were undone at one time."""


@dataclass(frozen=True)
class Version:
    """The steps in use since a time, and those that were made and undone then."""

    number: int
    at: datetime
    by: str
    made: Sequence[OntologyStep]
    undone: Sequence[OntologyStep]
    n_steps: int
    changes: Sequence[tuple[datetime, OntologyStep]]
    """Steps of all versions, with the time they were made."""

    @property
    def steps(self) -> list[OntologyStep]:
        """Return the steps in use, which are read only for the versions that somebody asks for."""
        return [
            step
            for made_at, step in self.changes
            if made_at <= self.at and not (step.undone_at and step.undone_at <= self.at)
        ]

    @property
    def mapping(self) -> LabelMapping:
        return LabelMapping.from_steps(self.steps)


@dataclass(frozen=True)
class Renaming:
    """Labels of the data that have other names in another version; no name: deleted."""

    before: Sequence[str]
    after: Sequence[str]
    n: int


@dataclass(frozen=True)
class Comparison:
    """Names in either of two versions, and what became of labels."""

    before: Sequence[str]
    after: Sequence[str]
    changes: Sequence[Renaming]

    @property
    def same(self) -> int:
        return len(set(self.before) & set(self.after))


def versions(project: Project, *, by: User) -> list[Version]:
    """Return all versions, the oldest first. Version 1 has no steps."""
    require(project, by, CURATOR)
    times: dict[datetime, Change] = defaultdict(lambda: ([], []))
    changes: list[tuple[datetime, OntologyStep]] = []
    made_at: dict[int, datetime] = {}  # steps of one plan are one change
    for step in project.steps.select_related("by"):
        at = made_at.setdefault(step.plan or step.number, step.at)
        changes.append((at, step))
        times[at][0].append(step)
        if step.undone_at:
            times[step.undone_at][1].append(step)
    undone_by = {
        entry.about: entry.by.shown_name
        for entry in entries(project).filter(action__endswith=" undone").order_by("pk")
        if entry.by
    }
    rows = [Version(1, project.created_at, project.created_by.shown_name, [], [], 0, ())]
    for at, (made, undone) in sorted(times.items()):
        who = made[0].by.shown_name if made else undone_by.get(f"step {undone[0].number}", "")
        n = rows[-1].n_steps + len(made) - len(undone)
        rows.append(Version(len(rows) + 1, at, who, made, undone, n, changes))
    return rows


def version_of(project: Project, number: int, *, by: User) -> Version:
    found = next((each for each in versions(project, by=by) if each.number == number), None)
    if found is None:
        raise Conflict("unknown_ontology", f"The ontology has no version {number}.", field="version")
    return found


def compare(project: Project, before: Version, after: Version) -> Comparison:
    """Compare two versions by what each label of the data is called in them.

    Labels without a step are in both, also those that were added later.
    """
    raw = list(OntologyLabel.objects.filter(project=project, derived=False).values_list("name", flat=True))
    old, new = before.mapping, after.mapping
    pairs = Counter((tuple(old.inventory([name])), tuple(new.inventory([name]))) for name in raw)
    changes = [Renaming(a, b, n) for (a, b), n in pairs.items() if a != b]
    return Comparison(old.inventory(raw), new.inventory(raw), changes)


@atomic_again
def restore(project: Project, number: int, *, by: User) -> list[OntologyStep]:
    """Undo and make steps until those of an earlier version are in use; it is a new version.

    Labels that were added since stay. Answers are replayed, so decisions of then count again.
    """
    require_to_change(project, by, CURATOR)
    lock_project(project)
    wanted, active = version_of(project, number, by=by).steps, list(project.steps.filter(undone_at=None))
    same = 0
    while same < min(len(wanted), len(active)) and _content(wanted[same]) == _content(active[same]):
        same += 1
    if same == len(wanted) == len(active):
        raise Conflict("version_in_use", f"The steps of version {number} are in use.")
    kept = {name for step in wanted for name in (step.target, *step.targets)}
    undone = [step.number for step in reversed(active[same:])]
    for step in reversed(active[same:]):
        inventory.undo_step(step, by=by, kept=kept)
    made, names = [], LabelNames(project)
    for step in wanted[same:]:
        values = (step.operation, step.sources, step.target, by)
        step_made = inventory.make_step(project, *values, targets=step.targets, names=names)
        made.append(step_made.number)
    changed_at = _now(project)
    project.steps.filter(number__in=undone).update(undone_at=changed_at)
    rows = project.steps.filter(number__in=made)
    rows.update(at=changed_at, plan=min(made, default=None))
    record(project, "ontology restored", by=by, about=f"version {number}", before=undone, after=made)
    recomputation.recompute_after_change(project)
    return list(rows)


def _content(step: OntologyStep) -> tuple[object, ...]:
    return step.operation, step.sources, step.target, step.targets


def _now(project: Project) -> datetime:
    """Return one time of the database, for all steps that change together."""
    found: datetime = Project.objects.filter(pk=project.pk).values_list(Now(), flat=True).get()
    return found
