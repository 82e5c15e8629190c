"""Prediction files under their own digest: the same bytes are kept once."""

from __future__ import annotations

from typing import BinaryIO, cast

from django.core.files import File
from django.core.files.storage import default_storage

from evalsvc.evaluation.models import PredictionFile


def keep(spool: BinaryIO, *, sha256: str, size: int) -> PredictionFile:
    """Store the bytes unless they are there, and hand back their row."""
    kept = PredictionFile.objects.filter(pk=sha256).first()
    if kept and default_storage.exists(kept.name):
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
