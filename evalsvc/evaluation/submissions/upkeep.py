"""Upkeep of prediction files."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from evalsvc.core.upkeep import stored_files
from evalsvc.core.upkeep.registry import Finding, register_check, register_sweep
from evalsvc.evaluation.models import PredictionFile
from evalsvc.evaluation.submissions import file_store

CURE = "Restore the file from a backup, or ask its team to submit the same file again."


def register() -> None:
    stored_files.register_folder("predictions", named)
    register_sweep("unused files", file_store.sweep)
    register_check("prediction files", check_files)


def named(names: Collection[str]) -> set[str]:
    return set(PredictionFile.objects.filter(name__in=names).values_list("name", flat=True))


def check_files(share: str) -> Iterator[Finding]:
    for row in PredictionFile.objects.filter(pk__startswith=share).order_by("pk"):
        n = row.submissions.count()
        owner = f"Prediction file of {n:,} submissions"
        yield from stored_files.check_file(row.name, size=row.size, sha256=row.sha256, owner=owner, cure=CURE)
