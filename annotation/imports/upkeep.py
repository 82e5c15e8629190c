"""Upkeep of imports and test sets: files, staged rows, digests of the gold."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from annotation.imports import batches
from annotation.models import Batch
from annotation.testset import TestSet
from evalsvc.core.errors.exceptions import Conflict
from evalsvc.core.upkeep import stored_files
from evalsvc.core.upkeep.registry import Finding, register_check, register_sweep

FILE_CURE = "Restore the file from a backup. The imported rows are not affected."
GOLD_CURE = "Restore the database from a backup made before the change; scores wait until then."


def register() -> None:
    stored_files.register_folder("imports", named)
    register_sweep("staged rows", batches.sweep)
    register_check("import files", check_files)
    register_check("test sets", check_gold)


def named(names: Collection[str]) -> set[str]:
    return set(Batch.objects.filter(file__in=names).values_list("file", flat=True))


def check_files(share: str) -> Iterator[Finding]:
    rows = Batch.objects.exclude(file="").filter(sha256__startswith=share).order_by("pk")
    for batch in rows.only("file", "size", "sha256"):
        name, owner = batch.file.name or "", f"Import {batch.pk}"
        yield from stored_files.check_file(
            name, size=batch.size, sha256=batch.sha256, owner=owner, cure=FILE_CURE
        )


def check_gold(share: str) -> Iterator[Finding]:
    """Compare the lines of frozen sets with their digests."""
    for test_set in TestSet.objects.frozen().filter(sha256__startswith=share).order_by("pk"):
        try:
            test_set.verify()
        except Conflict as changed:
            yield Finding("gold_changed", str(changed), GOLD_CURE)
