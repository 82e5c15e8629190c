"""Storage of prediction files by digest, and removal of unused ones."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import BinaryIO

from django.core.files.storage import default_storage
from django.db import connection, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now

from evalsvc.core.storage import StoredFile, open_stored, save_verified
from evalsvc.core.upkeep.registry import register_sweep
from evalsvc.core.upkeep.stored_files import Folder, register_folder
from evalsvc.evaluation.models import Evaluation, PredictionFile, Submission

CURE = "Copy files/{name} of a backup to its place, or ask its team to submit the same file again."
# A file is stored seconds before its submission; a rejected one stays unused.
UNUSED_FOR = timedelta(hours=1)
SWEEP_EVERY_SECONDS = 600
WITNESSES = 5
_next_sweep = 0.0


def store(spool: BinaryIO, *, sha256: str, size: int) -> PredictionFile:
    """Store the bytes unless they are there unharmed, and return their row."""
    before = ""
    existing = PredictionFile.objects.filter(pk=sha256)
    if existing.update(kept_at=Now()):  # protects them from the sweep
        row = existing.get()
        if not StoredFile(row.name, size, sha256).difference():
            return row
        before = row.name
    name = save_verified(storage_name(sha256), spool, sha256=sha256, size=size)
    row = PredictionFile(pk=sha256, name=name, size=size)
    with flushed_later():
        PredictionFile.objects.bulk_create(
            [row], update_conflicts=True, unique_fields=["sha256"], update_fields=["name"]
        )
    if before not in ("", name):
        default_storage.delete(before)
    return row


@contextmanager
def flushed_later() -> Iterator[None]:
    """Commit without a wait for the disk: the commit of the submission, which follows, brings both there."""
    alone = connection.vendor == "postgresql" and not connection.in_atomic_block
    with transaction.atomic():
        if alone:
            with connection.cursor() as cursor:
                cursor.execute("SET LOCAL synchronous_commit TO off")
        yield


def storage_name(sha256: str) -> str:
    return f"predictions/{sha256[:2]}/{sha256[2:4]}/{sha256}"


def open_file(file: PredictionFile) -> BinaryIO:
    """Open the file for a job.

    Other files show if it is lost or if the whole storage is away.
    """
    others = PredictionFile.objects.exclude(pk=file.pk).order_by("kept_at").values_list("name", flat=True)
    return open_stored(file.name, others=others[:WITNESSES])


def unused() -> QuerySet[PredictionFile]:
    """Return files without a submission or evaluation that are not new."""
    submitted = Submission.objects.filter(Q(file=OuterRef("pk")) | Q(model=OuterRef("pk")))
    scored = Evaluation.objects.filter(file=OuterRef("pk"))
    return PredictionFile.objects.filter(~Exists(submitted), ~Exists(scored), kept_at__lt=Now() - UNUSED_FOR)


def sweep() -> int:
    """Remove unused files and return their number."""
    return sum(_removed(sha256) for sha256 in unused().values_list("pk", flat=True)[:100])


def _removed(sha256: str) -> bool:
    with transaction.atomic():
        row = PredictionFile.objects.select_for_update().filter(pk=sha256).first()
        if row is None or not unused().filter(pk=sha256).exists():
            return False
        row.delete()
    default_storage.delete(row.name)
    return True


def tick() -> None:
    """Sweep at most every ten minutes; called by the workers' periodic tasks."""
    global _next_sweep
    if time.monotonic() >= _next_sweep:
        _next_sweep = time.monotonic() + SWEEP_EVERY_SECONDS
        sweep()


def register() -> None:
    register_folder(Folder("predictions", PredictionFile, "name", CURE))
    register_sweep("unused files", sweep, lambda: unused().count())
