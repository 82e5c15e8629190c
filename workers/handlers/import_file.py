"""The job `import`: a file into items, votes or a published test set."""

from __future__ import annotations

from annotation.imports import batches
from annotation.models import Batch
from evalsvc.core.jobs.lease import Progress
from evalsvc.core.jobs.transitions import Store


def load(subject: int, progress: Progress) -> Store:
    """Work through the batch; what earlier imports left behind is swept first."""
    batches.sweep()
    batch = Batch.objects.select_related("project", "by").get(pk=subject)
    return batches.load(batch, progress)
