"""Undoing an import of sentences: its effect, then the change."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from django.db import transaction

from annotation.models import Batch, Item, ItemCount, Lease, Project, Vote
from annotation.ontology.inventory import require_no_running_import
from annotation.roles import CURATOR, require_to_change
from annotation.testset import TestSet
from evalsvc.core.accounts.models import User
from evalsvc.core.activity.models import record
from evalsvc.core.database import in_batches
from evalsvc.core.errors.exceptions import Conflict
from evalsvc.core.web.formatting import counted, listed


@dataclass(frozen=True, slots=True)
class UndoEffect:
    """What the project loses; nobody answered a sentence of an import that can be undone."""

    sentences: int
    decisions: int
    gold_questions: int
    shared: int

    @classmethod
    def of(cls, batch: Batch) -> UndoEffect:
        rows = ItemCount.objects.filter(batch=batch)
        return cls(
            sentences=rows.total(),
            decisions=rows.filter(state__in=Item.DECIDED).total(),
            gold_questions=rows.filter(use__in=(Item.Use.QUALIFY, Item.Use.CHECK)).total(),
            shared=batch.counts.get("repeated_items", 0),
        )

    def __str__(self) -> str:
        lost = f"Takes out {counted(self.sentences, 'sentence')}, which nobody answered"
        also = {"decision": self.decisions, "gold question": self.gold_questions}
        parts = [counted(n, name) for name, n in also.items() if n]
        among = f", with {listed(parts)}" if parts else ""
        stay = f" {counted(self.shared, 'sentence')} of other imports stay, with the source labels of both."
        return f"{lost}{among}.{stay if self.shared else ''}"


def may_undo(batch: Batch, *, once_closed: bool = False) -> bool:
    """True for a complete import of sentences into a project that is not open.

    Or that can be closed for it, where nobody has answered them.
    """
    done = (batch.what, batch.state) == (Batch.What.ITEMS, Batch.State.DONE)
    if not done or batch.project is None:
        return False
    if once_closed:
        return not Vote.objects.filter(item__batch=batch).exists() and not _tells_checks(batch)
    return batch.project.state != Project.State.OPEN


def _tells_checks(batch: Batch) -> bool:
    """True if people who held its sentences would miss them, and keep the hidden checks beside them."""
    checks = Item.objects.filter(project=batch.project, use=Item.Use.CHECK)
    return checks.exists() and Lease.objects.filter(item__batch=batch).exists()


@transaction.atomic
def undo(batch: Batch, *, by: User, preview: bool = False) -> UndoEffect:
    """Take sentences out again that nobody answered; the hourly sweep removes the rows.

    The lock of the project waits for votes being written; later ones find it closed.
    """
    batch = _locked(batch, by)
    effect = UndoEffect.of(batch)
    if not preview:
        reason = f"Undone by {by.shown_name}."
        Batch.objects.filter(pk=batch.pk).update(state=Batch.State.CANCELLED, reason=reason)
        before = {name.replace("_", " "): n for name, n in asdict(effect).items() if name != "shared"}
        after = dict.fromkeys(before, 0)
        assert batch.project is not None
        record(batch.project, "import undone", by=by, about=batch.filename, before=before, after=after)
    return effect


def _locked(batch: Batch, by: User) -> Batch:
    """Return the import under the lock of its project, if it can be undone."""
    if batch.project is None:
        raise Conflict("import_done", "Gold cannot be removed from a test set.")
    require_to_change(batch.project, by, CURATOR)
    project = Project.objects.select_for_update().get(pk=batch.project.pk)
    batch = Batch.objects.select_related("project").get(pk=batch.pk)
    if project.state == Project.State.OPEN:
        raise Conflict("import_done", f"{project} is open for labelling.", hint="Close it first.")
    if not may_undo(batch):
        raise Conflict("import_done", "Only a complete import of sentences can be undone.")
    require_no_running_import(project)
    if project.test_sets.filter(state=TestSet.State.BUILDING).exists():
        raise Conflict("import_done", "A test set is being frozen.", hint="Wait until it is complete.")
    if Vote.objects.filter(item__batch=batch).exists():
        raise Conflict("import_done", "Sentences of this import were answered or skipped already.")
    if _tells_checks(batch):
        message = "Sentences of this import were shown to annotators, who would see which are hidden checks."
        raise Conflict("import_done", message, hint="Exclude single sentences instead.")
    # the counts of files of one name distinguish them: those without repeats added all their items
    later = project.batches.filter(pk__gt=batch.pk, what=Batch.What.ITEMS, state=Batch.State.DONE)
    again = {name for name, counts in later.values_list("filename", "counts") if counts.get("repeated_items")}
    found = in_batches(Item.objects.filter(batch=batch).exclude(repeats=[]), "repeats") if again else ()
    files = (repeat.get("file") for (repeats,) in found for repeat in repeats)
    if other := next((name for name in files if name in again), ""):
        message = f"Sentences of this import came again in {other}, which was imported later."
        raise Conflict("import_done", message, hint="Undo that import first, or exclude single sentences.")
    return batch
