"""The job `freeze`: settled items and source labels into immutable sets."""

from __future__ import annotations

from annotation import freezing
from annotation.testset import TestSet
from evalsvc.jobs.moves import Store
from evalsvc.jobs.running import Progress


def build(subject: int, progress: Progress) -> Store:
    """Build the annotated set and its source twin."""
    return freezing.build(TestSet.objects.select_related("project").get(pk=subject), progress)
