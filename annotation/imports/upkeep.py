"""Upkeep of imports and test sets: files, staged rows, gold digests."""

from __future__ import annotations

from collections.abc import Iterator

from annotation.imports import batches
from annotation.models import Batch
from annotation.testset import TestSet
from evalsvc.core.errors.exceptions import Conflict
from evalsvc.core.upkeep.registry import Finding, register_check, register_sweep
from evalsvc.core.upkeep.stored_files import Folder, register_folder

FILE_CURE = "Restore the file from a backup. The imported rows are not affected."
GOLD_CURE = "Restore the database from a backup made before the change; scores wait until then."


def register() -> None:
    register_folder(Folder("imports", Batch, "file", FILE_CURE))
    register_sweep("staged rows", batches.sweep)
    register_check("test sets", check_gold)


def check_gold(share: str) -> Iterator[Finding]:
    """Compare the lines of frozen sets with their digests."""
    for test_set in TestSet.objects.frozen().filter(sha256__startswith=share).order_by("pk"):
        try:
            test_set.verify()
        except Conflict as changed:
            yield Finding("gold_changed", str(changed), GOLD_CURE)
