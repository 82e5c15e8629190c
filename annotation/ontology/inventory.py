"""The label inventory, its order, and reversible merges, deletions, renamings and splits."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from collections.abc import Mapping as MappingOf
from dataclasses import replace
from typing import Any
from uuid import uuid4

from django.db import transaction
from django.db.models import Max, Sum
from django.db.models.functions import Now

from annotation.consensus import recomputation
from annotation.models import Batch, OntologyLabel, OntologyStep, Project, SourceLabels
from annotation.ontology import label_usage
from annotation.ontology.labels import TEXT_FIELDS, LabelNames
from annotation.ontology.labels import Choice as Choice
from annotation.ontology.labels import inventory as inventory
from annotation.ontology.labels import mapping_of as mapping_of
from annotation.ontology.labels import parts_of as parts_of
from annotation.ontology.presets import PRESETS, PresetLabel, titles_from_names
from annotation.ontology.step_checks import check_step, dependent_step, require_unused
from annotation.roles import CURATOR, require_to_change
from evalsvc.core.accounts.models import User
from evalsvc.core.activity.models import record
from evalsvc.core.database import atomic_again
from evalsvc.core.errors.exceptions import Conflict, DomainError, TooLarge
from evalsvc.core.formats.label_list import MAX_LABELS
from evalsvc.core.formats.label_mapping import LabelMapping

Operation = OntologyStep.Operation


@transaction.atomic
def add_labels(
    project: Project, labels: Iterable[str | MappingOf[str, Any]], *, by: User, part: str = ""
) -> list[OntologyLabel]:
    """Add labels by name, or with texts; existing ones keep theirs."""
    require_to_change(project, by, CURATOR)
    lock_project(project)
    entries, mapping = [_entry(label) for label in labels], mapping_of(project)
    for entry in entries:
        _require_own_name(entry.name, mapping)
    added = add_entries(project, entries, part=part or parts_of(project)[0])
    record(project, "labels added", by=by, before=[], after=[label.name for label in added])
    return added


def _entry(label: str | MappingOf[str, Any]) -> PresetLabel:
    texts = {"name": label} if isinstance(label, str) else dict(label)
    unknown = set(texts) - {"name", *TEXT_FIELDS}
    name = str(texts.get("name", "")).strip()
    if unknown or not 0 < len(name) <= 200:
        raise DomainError(
            "bad_label",
            f"Invalid label: {str(label)[:80]!r}.",
            hint=f"Use a name of 1–200 characters and the keys {', '.join(TEXT_FIELDS)}.",
            field="name",
        )
    lists = {key: tuple(texts[key]) for key in ("choose", "avoid") if key in texts}
    return PresetLabel(**(texts | lists | {"name": name}))


def add_entries(project: Project, entries: Sequence[PresetLabel], *, part: str) -> list[OntologyLabel]:
    """Add missing labels, ranked after the existing ones."""
    lock_project(project)
    existing = set(project.labels.filter(part=part).values_list("name", flat=True))
    mapping = mapping_of(project)
    fresh = [
        entry for entry in {entry.name: entry for entry in entries}.values() if entry.name not in existing
    ]
    if len(existing) + len(fresh) > MAX_LABELS:
        detail = (
            f"An inventory may have {MAX_LABELS:,} labels; with these it has {len(existing) + len(fresh):,}."
        )
        raise TooLarge("too_many_labels", detail, hint="Add fewer labels.", field="labels", limit=MAX_LABELS)
    for entry in fresh:
        _require_own_name(entry.name, mapping)
    titles = titles_from_names([*existing, *(entry.name for entry in fresh)])
    titled = [entry if entry.title else replace(entry, title=titles[entry.name]) for entry in fresh]
    return _store(project, [entry.as_label(part, derived=False) for entry in titled])


def _require_own_name(name: str, mapping: LabelMapping) -> None:
    if name in mapping and mapping.label(name) != name:
        raise Conflict(
            "name_taken",
            f"{name} was merged, deleted, renamed or split by a step.",
            hint="Undo that step, or choose another name.",
        )


def _store(project: Project, rows: list[OntologyLabel]) -> list[OntologyLabel]:
    last = project.labels.aggregate(last=Max("rank"))["last"] or 0
    for at, row in enumerate(rows, 1):
        row.project, row.rank = project, last + at
    stored = OntologyLabel.objects.bulk_create(rows, batch_size=500)
    renew_stamp(project)
    return stored


@transaction.atomic
def set_order(project: Project, rows: Sequence[int], *, part: str, by: User) -> list[Choice]:
    """Order the current labels, given by row; keys follow it."""
    require_to_change(project, by, CURATOR)
    lock_project(project)
    before = inventory(project, part)
    names = {choice.row: choice.name for choice in before}
    if sorted(rows) != sorted(names):
        raise Conflict(
            "labels_changed",
            "Labels were added, merged or deleted while you ordered them.",
            hint="Reload the page, and order them again.",
        )
    mapping, place = mapping_of(project), {names[row]: at for at, row in enumerate(rows)}
    labels = list(project.labels.filter(part=part))
    # merged labels follow the one that they became, for the day the merge is undone
    labels.sort(
        key=lambda label: (place.get(mapping.label(label.name) or "", len(place)), label.pk not in names)
    )
    for rank, label in enumerate(labels, 1):
        label.rank = rank
    OntologyLabel.objects.bulk_update(labels, ["rank"], batch_size=500)
    renew_stamp(project)
    after = [names[row] for row in rows]
    record(project, "label order", by=by, about=part, before=[choice.name for choice in before], after=after)
    return inventory(project, part)


def renew_stamp(project: Project) -> None:
    """Renew the stamp, which invalidates cached inventories."""
    project.inventory_stamp = uuid4()
    Project.objects.filter(pk=project.pk).update(inventory_stamp=project.inventory_stamp)


@transaction.atomic
def apply_preset(project: Project, key: str, *, by: User) -> list[Choice]:
    """Add a preset's labels, texts and steps, except active steps."""
    require_to_change(project, by, CURATOR)
    preset = PRESETS.get(key)
    if preset is None:
        raise DomainError(
            "unknown_preset", f"Unknown preset {key!r}. Use one of: {', '.join(PRESETS)}.", field="preset"
        )
    if preset.part not in parts_of(project):
        raise DomainError(
            "wrong_preset",
            f"The preset {preset.title} is not for projects of {project.kind}. Choose another preset.",
        )
    lock_project(project)
    rows = {row.name: row for row in preset.labels()}
    existing = {row.name: row for row in project.labels.filter(part=preset.part, name__in=rows)}
    for name, row in existing.items():
        for field_name in TEXT_FIELDS:  # titles are never empty: made from names at first
            if not getattr(row, field_name) or field_name == "title":
                setattr(row, field_name, getattr(rows[name], field_name))
    OntologyLabel.objects.bulk_update(existing.values(), [*TEXT_FIELDS], batch_size=100)
    _store(project, [row for name, row in rows.items() if name not in existing])
    mapping = mapping_of(project)
    steps = [
        _add_step(project, Operation.MERGE, [name for name in sources if name not in mapping], target, by)
        for sources, target in preset.merges
    ]
    deleted = [name for name in preset.deleted if name not in mapping]
    steps.append(_add_step(project, Operation.DELETE, deleted, "", by))
    made = [step for step in steps if step]
    OntologyStep.objects.filter(pk__in=[step.pk for step in made]).update(
        plan=made[0].number if made else None, at=Now()
    )
    recomputation.recompute_after_change(project)
    return inventory(project, preset.part)


@atomic_again
def merge(project: Project, sources: Collection[str], *, target: str, by: User) -> OntologyStep:
    """Merge labels into one of them or into a new name."""
    return _step(project, Operation.MERGE, sources, target, by)


@atomic_again
def delete(project: Project, sources: Collection[str], *, by: User) -> OntologyStep:
    """Delete labels; answers with no other label count as N/A."""
    return _step(project, Operation.DELETE, sources, "", by)


@atomic_again
def rename(project: Project, source: str, *, target: str, by: User) -> OntologyStep:
    """Rename a label."""
    return _step(project, Operation.RENAME, [source], target, by)


@atomic_again
def split(project: Project, source: str, *, targets: Collection[str], by: User) -> OntologyStep:
    """Split a label into several; answers with it are asked again."""
    return _step(project, Operation.SPLIT, [source], "", by, targets)


def _step(
    project: Project,
    operation: str,
    sources: Collection[str],
    target: str,
    by: User,
    targets: Collection[str] = (),
) -> OntologyStep:
    require_to_change(project, by, CURATOR)
    lock_project(project)
    step = make_step(project, operation, sources, target, by, targets=targets)
    recomputation.recompute_after_change(project)
    return step


def make_step(
    project: Project,
    operation: str,
    sources: Collection[str],
    target: str,
    by: User,
    *,
    targets: Collection[str] = (),
    names: LabelNames | None = None,
) -> OntologyStep:
    """Make a step in a locked project, whose items the caller computes anew.

    `names` are those before it, if the caller keeps them for several steps.
    """
    names = names or LabelNames(project)
    sources, target = list(dict.fromkeys(sources)), target.strip()
    targets = list(dict.fromkeys(name.strip() for name in targets))
    if not sources:
        raise DomainError("unknown_label", "No labels selected. Select at least one.", field="sources")
    # the inventory that contains all sources
    current = names.current()
    missing = {part: set(sources) - current[part] for part in parts_of(project)}
    part = min(missing, key=lambda part: len(missing[part]))
    if missing[part]:
        detail = f"Not in the inventory: {', '.join(sorted(missing[part]))}. Use current labels."
        raise DomainError("unknown_label", detail, field="sources")
    step = OntologyStep(operation=operation, sources=sources, target=target, targets=targets)
    check_step(project, step, part, names)
    for name in [target] * bool(target) + targets:
        if name not in names.stored[part]:
            mapping, rows = names.mapping, project.labels.filter(part=part)
            first = rows.filter(name=sources[0]).first()
            first = first or next(row for row in rows if sources[0] in mapping.inventory([row.name]))
            first.pk, first.name, first.derived = None, name, True
            first.title = PresetLabel(name).as_label(part, derived=True).title
            _store(project, [first])
            names.add(part, name, derived=True)
    made = _add_step(project, operation, sources, target, by, targets=targets)
    assert made is not None
    names.make(made)
    return made


def _add_step(
    project: Project,
    operation: str,
    sources: Sequence[str],
    target: str,
    by: User,
    *,
    targets: Sequence[str] = (),
) -> OntologyStep | None:
    if not sources:
        return None
    number = (project.steps.aggregate(last=Max("number"))["last"] or 0) + 1
    values = {"operation": operation, "sources": list(sources), "target": target, "targets": list(targets)}
    step = OntologyStep.objects.create(project=project, number=number, by=by, **values)
    renew_stamp(project)
    after = list(targets) or target
    record(project, operation, by=by, about=f"step {number}", before=list(sources), after=after)
    return step


@atomic_again
def undo(step: OntologyStep, *, by: User) -> None:
    """Undo a step that no later one needs, unless answers use its new label."""
    require_to_change(step.project, by, CURATOR)
    lock_project(step.project)
    undo_step(step, by=by)
    recomputation.recompute_after_change(step.project)


def undo_step(step: OntologyStep, *, by: User, kept: Collection[str] = ()) -> None:
    """Undo a step of a locked project, whose items the caller computes anew.

    Answers may use the names in `kept`: steps that follow make them again.
    """
    project = step.project
    step = OntologyStep.objects.select_for_update().get(pk=step.pk)
    if step.undone_at is not None:
        raise Conflict(
            "already_undone", f"Step {step.number} has already been undone.", hint="Reload the page."
        )
    if later := dependent_step(project, step):
        raise Conflict(
            "not_the_last_step",
            f"Step {later.number} ({later}) changes what step {step.number} left.",
            hint=f"Undo step {later.number} first.",
        )
    require_no_running_import(project)  # its answers may have the labels of this step
    require_unused(step, since=step.at, kept=kept)
    label_usage.wait_for_running_votes(project)
    require_unused(step, since=Now() - label_usage.JUST_NOW, kept=kept)
    OntologyStep.objects.filter(pk=step.pk).update(undone_at=Now())
    renew_stamp(project)
    about, now = f"step {step.number}", step.targets or step.target
    record(project, f"{step.operation} undone", by=by, about=about, before=now, after=step.sources)


def answers_emptied(project: Project) -> int:
    """Count answers emptied by deletions."""
    live = project.items.live().filter(emptied__gt=0).order_by()
    return int(live.aggregate(n=Sum("emptied"))["n"] or 0)


def source_labels_emptied(project: Project) -> int:
    """Count the sentences whose source labels are emptied by deletions."""
    sealed = SourceLabels.objects.filter(item__project=project, item__batch__state="done")
    return label_usage.count_emptied(project, sealed, mapping_of(project))


def require_no_running_import(project: Project) -> None:
    """Reject a change while a file is imported into the locked project."""
    running = project.batches.filter(state__in=(Batch.State.RECEIVED, Batch.State.RUNNING)).first()
    if running is not None:
        raise Conflict(
            "import_running",
            f"{running.filename} is still being imported into {project}.",
            hint="Wait until it is done, or cancel it.",
        )
    require_not_choosing(project)


def require_not_choosing(project: Project) -> None:
    """Reject what a half-applied choice of candidates would spoil."""
    if Project.objects.filter(pk=project.pk, choosing=True).exists():
        raise Conflict(
            "candidates_changing",
            f"The candidates of {project} are being changed.",
            hint="Try again when that is done.",
        )


def lock_project(project: Project) -> Project:
    """Lock the project: one change of its ontology at a time."""
    return Project.objects.select_for_update(no_key=True).get(pk=project.pk)
