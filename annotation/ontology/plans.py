"""Plans: several changes of the ontology made at once, and undone at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from django.db.models import Q
from django.db.models.functions import Now

from annotation.consensus import recomputation
from annotation.models import OntologyStep, Project
from annotation.ontology import inventory
from annotation.ontology.inventory import add_labels, lock_project
from annotation.ontology.labels import LabelNames
from annotation.roles import CURATOR, require_to_change
from evalsvc.core.accounts.models import User
from evalsvc.core.database import atomic_again
from evalsvc.core.errors.exceptions import Conflict, DomainError
from evalsvc.core.formats.label_mapping import LabelMapping, RecordedStep, Replay

MOST_STEPS = 100  # each replays those before it
OPERATIONS = ("add", *OntologyStep.Operation.values)
EXAMPLE = '[{"operation": "merge", "sources": ["born in", "birthplace"], "target": "place of birth"}]'
_FIELDS = {"operation", "sources", "target", "targets"}


@dataclass(frozen=True)
class PlannedStep:
    """A step to make.

    `add` has a target, `delete` sources, `merge` and `rename` both, `split` sources and targets.
    """

    operation: str
    sources: tuple[str, ...] = ()
    target: str = ""
    targets: tuple[str, ...] = ()


def read_plan(text: str | bytes) -> list[PlannedStep]:
    """Read a plan as JSON: a list of objects with operation, sources and target."""
    try:
        return planned(msgspec.json.decode(text))
    except msgspec.DecodeError as error:
        raise DomainError(
            "bad_plan", f"The plan is not valid JSON: {error}.", hint=_hint(), field="plan"
        ) from error


def planned(steps: Any) -> list[PlannedStep]:
    """Check the values of a plan."""
    if not isinstance(steps, list) or not 1 <= len(steps) <= MOST_STEPS:
        detail = f"A plan is a list of 1 to {MOST_STEPS} steps."
        raise DomainError("bad_plan", detail, hint=_hint(), field="plan")
    return [_planned(step, number) for number, step in enumerate(steps, 1)]


def _hint() -> str:
    return f"For example {EXAMPLE}."


def _planned(step: Any, number: int) -> PlannedStep:
    def invalid(detail: str) -> DomainError:
        return DomainError("bad_plan", f"Step {number}: {detail}", hint=_hint(), field="plan")

    if not isinstance(step, dict) or not set(step) <= _FIELDS:
        raise invalid(f"expected an object with {', '.join(sorted(_FIELDS))} and nothing else.")
    operation, sources, target = step.get("operation"), step.get("sources", []), step.get("target", "")
    targets = step.get("targets", [])
    if operation not in OPERATIONS:
        raise invalid(f"unknown operation {str(operation)[:60]!r}; use one of: {', '.join(OPERATIONS)}.")
    for names in (sources, targets):
        if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
            raise invalid("sources and targets are lists of names.")
    if not isinstance(target, str):
        raise invalid("the target is a name.")
    few = {"add": "target", "delete": "sources", "split": "sources targets"}
    needed = few.get(operation, "sources target")
    given = {"sources": sources, "target": target, "targets": targets}
    if {name for name, value in given.items() if value} != set(needed.split()):
        raise invalid(f"{operation} takes {needed.replace(' ', ' and ')}.")
    if operation in ("rename", "split") and len(sources) > 1:
        raise invalid("one label is renamed or split at a time.")
    return PlannedStep(operation, tuple(sources), target, tuple(targets))


@atomic_again
def apply_plan(project: Project, steps: Sequence[PlannedStep], *, by: User) -> list[OntologyStep]:
    """Make all steps in order, or none; the items are computed anew once."""
    require_to_change(project, by, CURATOR)
    lock_project(project)
    made, names = list[OntologyStep](), LabelNames(project)
    for number, step in enumerate(steps, 1):
        try:
            if step.operation == "add":
                for label in add_labels(project, [step.target], by=by):
                    names.add(label.part, label.name, derived=False)
            else:
                values = (step.operation, step.sources, step.target, by)
                made.append(inventory.make_step(project, *values, targets=step.targets, names=names))
        except DomainError as error:
            error.detail = f"Step {number}: {error.detail}"
            error.args, error.extra = (error.detail,), error.extra | {"step": number}
            raise
    if made:
        keys = [step.pk for step in made]
        OntologyStep.objects.filter(pk__in=keys).update(plan=made[0].number, at=Now())
        recomputation.recompute_after_change(project)
    return list(OntologyStep.objects.filter(pk__in=[step.pk for step in made]))


def stages(project: Project, steps: Sequence[PlannedStep]) -> list[tuple[LabelMapping, frozenset[str]]]:
    """Return mapping and current names before the first step, and after each."""
    replay = Replay()
    for made in project.steps.filter(undone_at=None):
        replay.apply(made)
    raw = list(project.labels.filter(derived=False).values_list("name", flat=True))
    found = []
    for step in (None, *steps):
        if step and step.operation == "add":
            raw.append(step.target)
        elif step:
            replay.apply(step_of(step))
        mapping = replay.mapping()
        found.append((mapping, frozenset(mapping.inventory(raw))))
    return found


def step_of(step: PlannedStep) -> RecordedStep:
    """Return a planned merge, deletion, renaming or split as a mapping takes it."""
    return RecordedStep(step.operation, [*step.sources], step.target, [*step.targets])


def of_plan(number: int) -> Q:
    """Return the condition of the steps of a plan; a step that was made alone is a plan of one."""
    return Q(plan=number) | Q(number=number, plan=None)


@atomic_again
def undo_plan(project: Project, plan: int, *, by: User) -> int:
    """Undo the active steps of a plan, the last one first; return their number. Labels that it added stay."""
    require_to_change(project, by, CURATOR)
    lock_project(project)
    active = list(project.steps.filter(of_plan(plan), undone_at=None).order_by("-number"))
    if not active:
        raise Conflict("not_the_last_step", f"There is no plan {plan} with active steps.")
    for step in active:
        inventory.undo_step(step, by=by)
    project.steps.filter(pk__in=[step.pk for step in active]).update(undone_at=Now())  # one time for all
    recomputation.recompute_after_change(project)
    return len(active)
