"""The job `freeze`: settled items and source labels into immutable sets."""

from __future__ import annotations

from annotation.freezing import builder
from annotation.testset import TestSet
from evalsvc.core.jobs.lease import Progress
from evalsvc.core.jobs.transitions import Store


def build(subject: int, progress: Progress) -> Store:
    """Build the annotated set and its source twin."""
    return builder.build(TestSet.objects.select_related("project").get(pk=subject), progress)
