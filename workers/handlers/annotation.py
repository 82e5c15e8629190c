"""Handlers of the job kinds `import`, `freeze` and `recompute`."""

from __future__ import annotations

from annotation.consensus import item_state
from annotation.freezing import builder
from annotation.imports import batches
from annotation.models import Batch, Project
from annotation.testset import TestSet
from evalsvc.core.jobs.lease import Progress
from evalsvc.core.jobs.transitions import Store


def import_file(subject: int, progress: Progress) -> Store:
    """Import a batch; files that earlier imports left are deleted first."""
    batches.sweep()
    batch = Batch.objects.select_related("project", "by").get(pk=subject)
    return batches.load(batch, progress)


def freeze(subject: int, progress: Progress) -> Store:
    """Build a test set and its source set."""
    return builder.build(TestSet.objects.select_related("project").get(pk=subject), progress)


def recompute(subject: int, progress: Progress) -> Store:
    """Recompute every item of a project in transactions of its own."""
    item_state.recompute(Project.objects.get(pk=subject), progress)
    return lambda: None
