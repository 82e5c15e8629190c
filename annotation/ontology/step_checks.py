"""What a step of the ontology must fulfil to be made, or undone."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from annotation.models import Item, OntologyStep, Project
from annotation.ontology import label_usage
from annotation.ontology.labels import LabelNames, parts_of
from evalsvc.core.errors.exceptions import Conflict, DomainError
from evalsvc.core.formats.label_mapping import Replay

Operation = OntologyStep.Operation


MOST_NAMES = 200  # sources, and targets, of a step: each change is made and counted within a request


def check_step(project: Project, step: OntologyStep, part: str, names: LabelNames) -> None:
    operation, sources, target = step.operation, step.sources, step.target
    for field, listed in (("sources", sources), ("targets", step.targets)):
        if len(listed) > MOST_NAMES:
            detail = f"The step names {len(listed):,} labels; {MOST_NAMES} are allowed."
            raise DomainError("bad_step", detail, hint="Take several steps.", field=field)
    if operation == Operation.MERGE and len({*sources, target}) < 2 + (target not in sources):
        raise DomainError(
            "bad_step", "A merge needs at least two labels. Select another one.", field="sources"
        )
    if operation == Operation.SPLIT:
        _check_split(project, step, names)
    for name in step.targets if operation == Operation.SPLIT else [target]:
        if operation != Operation.DELETE and not 0 < len(name) <= 200:
            detail = f"The new name has {len(name):,} characters. Use 1–200 characters."
            raise DomainError("bad_step", detail, field="target")
    if operation == Operation.RENAME and target in names.current()[part]:
        raise Conflict("name_taken", f"{target} is already in the inventory.", hint="Merge the two instead.")
    after = names.after(step)
    for name in [target] * bool(target) + step.targets:
        if name in after and after.label(name) != name:
            raise Conflict(
                "name_taken",
                f"{name} was merged, deleted, renamed or split by a step.",
                hint="Undo that step, or choose another name.",
            )


def _check_split(project: Project, step: OntologyStep, names: LabelNames) -> None:
    """Reject a split unless it gives several other labels, and no question of the round has the label.

    Hidden checks may have it: a rejection, or none, would say so. Any part of it is right in their answers.
    """
    if len(step.sources) > 1:
        raise DomainError("bad_step", "One label is split at a time.", field="sources")
    if len(step.targets) < 2 or step.sources[0] in step.targets:
        detail = f"A split of {step.sources[0]} needs at least two other labels."
        raise DomainError("bad_step", detail, field="targets")
    mapping = names.mapping
    stored = {step.sources[0]}.union(*names.stored.values())
    for name in (name for name in stored if step.sources[0] in mapping.inventory([name])):
        if label_usage.is_in_gold_question(project, name, item__use=Item.Use.QUALIFY):
            raise Conflict(
                "label_in_gold_question",
                f"A qualification sentence has the answer {name}, which the split would leave open.",
                hint="Make the gold question an ordinary sentence first.",
            )


def dependent_step(project: Project, step: OntologyStep) -> OntologyStep | None:
    """Return the first later step that would be impossible, or mean another, without this one."""
    raw: dict[str, list[str]] = {str(part): [] for part in parts_of(project)}
    for part, name in project.labels.filter(derived=False).values_list("part", "name"):
        raw.setdefault(part, []).append(name)
    replay = Replay()
    for each in project.steps.filter(undone_at=None).exclude(pk=step.pk):
        if each.number > step.number:
            mapping = replay.mapping()
            current = [set(mapping.inventory(names)) for names in raw.values()]
            labels = next((labels for labels in current if labels >= set(each.sources)), None)
            if labels is None or (each.operation == Operation.RENAME and each.target in labels):
                return each
        replay.apply(each)
        mapping = replay.mapping()
        if any(mapping.label(name) != name for name in [each.target] * bool(each.target) + each.targets):
            return each
    return None


def require_unused(step: OntologyStep, *, since: Any, kept: Collection[str] = ()) -> None:
    """Reject if a target of the step was used since; raw labels and those in `kept` may stay."""
    project = step.project
    for name in [step.target] * bool(step.target) + step.targets:
        if name in kept or project.labels.filter(name=name, derived=False).exists():
            continue
        n = label_usage.votes_with_label(project, name, since=since)
        if n:
            answers = "1 answer uses" if n == 1 else f"{n:,} answers use"
            instead = f"Merge {' and '.join(step.targets)} into {step.sources[0]} instead."
            hint = instead if step.targets else ""
            raise Conflict("target_in_use", f"{answers} {name}, the new label of this step.", hint=hint)
        if label_usage.is_in_gold_question(project, name):
            raise Conflict(
                "target_in_use",
                f"A gold question has the answer {name}, the new label of this step.",
                hint="Make the gold question an ordinary sentence first.",
            )
