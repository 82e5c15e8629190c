"""Storage of prediction files by digest, and removal of unused ones."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import BinaryIO
from uuid import uuid4

from django.core.files.storage import default_storage
from django.db import connection, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now

from evalsvc.core.storage import StoredFile, open_stored, require_whole, save
from evalsvc.core.upkeep.registry import register_sweep
from evalsvc.core.upkeep.stored_files import Folder, register_folder
from evalsvc.evaluation.models import Evaluation, PredictionFile, Submission

CURE = "Copy files/{name} of a backup to its place, or ask its team to submit the same file again."
# A file is stored seconds before its submission; a rejected one stays unused.
UNUSED_FOR = timedelta(hours=1)
SWEEP_EVERY_SECONDS = 600
WITNESSES = 5
NO_FILE = "predictions/none"
_next_sweep = 0.0


def store(spool: BinaryIO, *, sha256: str, size: int) -> PredictionFile:
    """Store the bytes unless they are there unharmed, and return their row.

    They are written and read once in each case: the time would tell whether another team sent them.
    """
    copy = StoredFile(save(new_name(sha256), spool), size, sha256)
    before = PredictionFile.objects.filter(pk=sha256).values_list("name", flat=True).first() or ""
    if before and not StoredFile(before, size, sha256).difference() and _kept(sha256, before):
        name, spare = before, copy.name
    else:
        require_whole(copy)
        name, spare = copy.name, before
        _point_to(copy)
    default_storage.delete(spare or NO_FILE)  # a request to an object store in each case
    return PredictionFile(pk=sha256, name=name, size=size)


def _kept(sha256: str, name: str) -> bool:
    """Protect the stored bytes from the sweep, unless it was faster."""
    with flushed_later():
        return bool(PredictionFile.objects.filter(pk=sha256, name=name).update(kept_at=Now()))


def _point_to(copy: StoredFile) -> None:
    row = PredictionFile(pk=copy.sha256, name=copy.name, size=copy.size)
    changed = ["name", "kept_at"]
    with flushed_later():
        PredictionFile.objects.bulk_create(
            [row], update_conflicts=True, unique_fields=["sha256"], update_fields=changed
        )


@contextmanager
def flushed_later() -> Iterator[None]:
    """Commit without a wait for the disk: the commit of the submission, which follows, brings both there."""
    alone = connection.vendor == "postgresql" and not connection.in_atomic_block
    with transaction.atomic():
        if alone:
            with connection.cursor() as cursor:
                cursor.execute("SET LOCAL synchronous_commit TO off")
        yield


def new_name(sha256: str) -> str:
    """Return a name that no file has, in a folder drawn at random: that of known bytes would be there."""
    drawn = uuid4().hex
    return f"predictions/{drawn[:2]}/{drawn[2:4]}/{sha256}-{drawn[4:]}"


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
