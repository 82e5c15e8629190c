"""The draft of a plan: one for each project, which its curators share."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from django.db import transaction
from django.db.models.functions import Now

from annotation.models import PlanDraft, Project
from annotation.ontology import plans
from annotation.ontology.inventory import lock_project
from annotation.ontology.plans import PlannedStep
from annotation.roles import CURATOR, require, require_to_change
from evalsvc.core.accounts.models import User
from evalsvc.core.activity.models import LogEntry, entries
from evalsvc.core.errors.exceptions import Conflict

CHANGES = ("merge", "delete", "rename", "split")
LOGGED = (*CHANGES, *(f"{name} undone" for name in CHANGES), "labels added", "label texts", "label order")


class DraftChanged(Conflict):
    """Somebody stored other steps since the person saw the draft."""

    def __init__(self, draft: PlanDraft) -> None:
        self.draft = draft
        detail = f"{draft.by.shown_name} changed the draft meanwhile."
        super().__init__("draft_changed", detail, hint="Take the stored steps, or keep yours.")


class LabelsChanged(Conflict):
    """The labels are others than in the preview; `entry` of the log has the last change."""

    def __init__(self, entry: LogEntry | None) -> None:
        by = f" by {entry.by.shown_name}" if entry and entry.by else ""
        last = f" The last change is “{entry}”{by}." if entry else ""
        detail = f"The labels changed since this preview.{last}"
        super().__init__(
            "labels_changed", detail, hint="No step was made. Look at the figures again, then decide."
        )


def draft_of(project: Project, *, by: User) -> PlanDraft:
    """Return the stored draft, or an empty one."""
    require(project, by, CURATOR)
    stored = PlanDraft.objects.select_related("by").filter(project=project).first()
    return stored or PlanDraft(project=project, by=by)


def steps_of(draft: PlanDraft) -> list[PlannedStep]:
    return plans.planned(draft.steps) if draft.steps else []


def builtins_of(steps: Sequence[PlannedStep]) -> list[dict[str, object]]:
    """Return steps as `planned` takes them, without empty values."""
    return [{name: value for name, value in msgspec.to_builtins(step).items() if value} for step in steps]


@transaction.atomic
def save(project: Project, steps: Sequence[PlannedStep], *, seen: int, by: User) -> PlanDraft:
    """Store the steps in place of the version that the person has seen."""
    require_to_change(project, by, CURATOR)
    lock_project(project)
    draft, rows = draft_of(project, by=by), builtins_of(steps)
    if draft.steps == rows:
        return draft
    if draft.version not in (seen, 0):  # 0: none was ever stored
        raise DraftChanged(draft)
    values = {"steps": rows, "version": draft.version + 1, "by": by, "at": Now()}
    PlanDraft.objects.update_or_create(project=project, defaults=values)
    return draft_of(project, by=by)


@transaction.atomic
def make(project: Project, draft: PlanDraft, *, stamp: str, by: User) -> int:
    """Make the steps of a draft on the labels that its preview had; return the number of the first.

    A draft that was changed or discarded since it was read is not made.
    """
    locked = lock_project(project)
    stored = draft_of(project, by=by)
    if (stored.version, stored.steps) != (draft.version, draft.steps):
        raise DraftChanged(stored)
    if str(locked.inventory_stamp) != stamp:
        raise LabelsChanged(entries(project).filter(action__in=LOGGED).first())
    made = plans.apply_plan(project, steps_of(draft), by=by)
    save(project, [], seen=draft.version, by=by)
    return made[0].number if made else 0
