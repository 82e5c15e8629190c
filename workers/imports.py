"""The job `import`: a file into items, votes or a published test set."""

from __future__ import annotations

from annotation import importing
from annotation.models import Batch
from evalsvc.jobs.moves import Store
from evalsvc.jobs.running import Progress


def load(subject: int, progress: Progress) -> Store:
    """Work through the batch; what earlier imports left behind is swept first."""
    importing.sweep()
    batch = Batch.objects.select_related("project", "by").get(pk=subject)
    return importing.load(batch, progress)
