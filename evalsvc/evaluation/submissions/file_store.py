"""Prediction files under their own digest: the same bytes are kept once, and not without a submission."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import BinaryIO, cast

from django.core.files import File
from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now

from evalsvc.evaluation.models import Evaluation, PredictionFile, Submission

# Between being kept and being entered lie seconds; what was refused in between has no use.
UNUSED_FOR = timedelta(hours=1)
SWEEP_EVERY_SECONDS = 600
_next_sweep = 0.0


def keep(spool: BinaryIO, *, sha256: str, size: int) -> PredictionFile:
    """Store the bytes unless they are there, and hand back their row."""
    there = PredictionFile.objects.filter(pk=sha256)
    if there.update(kept_at=Now()):  # from here on no sweep takes them
        kept = there.get()
        if default_storage.exists(kept.name):
            return kept
    spool.seek(0)
    name = default_storage.save(place(sha256), File(spool))
    row, _ = PredictionFile.objects.update_or_create(
        pk=sha256, defaults={"name": name}, create_defaults={"name": name, "size": size}
    )
    return row


def place(sha256: str) -> str:
    return f"predictions/{sha256[:2]}/{sha256[2:4]}/{sha256}"


def open_file(file: PredictionFile) -> BinaryIO:
    return cast(BinaryIO, default_storage.open(file.name, "rb"))


def unused() -> QuerySet[PredictionFile]:
    """Files that nothing refers to, and that did not just come."""
    submitted = Submission.objects.filter(Q(file=OuterRef("pk")) | Q(model=OuterRef("pk")))
    scored = Evaluation.objects.filter(file=OuterRef("pk"))
    return PredictionFile.objects.filter(~Exists(submitted), ~Exists(scored), kept_at__lt=Now() - UNUSED_FOR)


def sweep() -> int:
    """Remove unused files; how many those were."""
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
    """A sweep now and then; the clock of the workers calls much more often."""
    global _next_sweep
    if time.monotonic() >= _next_sweep:
        _next_sweep = time.monotonic() + SWEEP_EVERY_SECONDS
        sweep()
