"""Stored files: written completely or not at all, verified, opened by jobs."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO, cast
from uuid import uuid4

from django.core.files import File
from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage, default_storage
from django.utils.deconstruct import deconstructible

from evalsvc.core.jobs.exceptions import RetryLater, caught

PARTIAL = ".partial"
PIECE_BYTES = 1 << 18
MISSING_TRIES = 5  # about a minute
PROBES = "probes"
PROBE = b"Is this storage in order?"
LOST = (
    "The stored file is missing, though the storage works. "
    "Submit it again, or retry once the file has been restored."
)


class StorageFault(OSError):
    """The storage does not hold what was just written."""


def open_stored(name: str, *, others: Iterable[str] = ()) -> BinaryIO:
    """Open a file for a job, or put the job off.

    A file counts as lost after some tries at which the storage worked and had one of the others.
    """
    try:
        return cast(BinaryIO, default_storage.open(name, "rb"))
    except FileNotFoundError as error:
        fault = storage_fault(others)
        if fault:
            raise RetryLater(fault) from error
        raise RetryLater(LOST, most=MISSING_TRIES, code="file_lost") from error
    except Exception as error:  # each storage has its own exceptions
        raise RetryLater(f"The storage could not open a file: {error}") from error


def storage_fault(others: Iterable[str] = ()) -> str:
    """Return the fault of the storage, empty if it works."""
    storage = default_storage
    if isinstance(storage, FileSystemStorage) and not Path(storage.path("")).is_dir():
        return "The folder of stored files is missing."  # a probe would make it
    error = caught(_probe)
    if error:
        return f"The storage does not work: {error}"
    known = list(others)
    if known and not any(storage.exists(name) for name in known):
        return f"None of {len(known)} stored files is found. The storage may not be mounted."
    return ""


def _probe() -> None:
    name = default_storage.save(f"{PROBES}/{uuid4().hex}", ContentFile(PROBE))
    try:
        with default_storage.open(name, "rb") as file:
            if file.read() != PROBE:
                raise StorageFault("A file that was just written has other bytes.")
    finally:
        default_storage.delete(name)


def save_verified(name: str, content: BinaryIO, *, sha256: str, size: int) -> str:
    """Save the bytes, read them again, and return the name they got."""
    content.seek(0)
    saved = default_storage.save(name, File(content))
    if not is_intact(saved, sha256=sha256, size=size):
        default_storage.delete(saved)
        raise StorageFault(f"The storage did not store {size:,} bytes correctly. Check its disk.")
    return saved


def is_intact(name: str, *, sha256: str, size: int) -> bool:
    """True if the stored file has this size and digest."""
    try:
        if not default_storage.exists(name) or default_storage.size(name) != size:
            return False
        digest = hashlib.sha256()
        with default_storage.open(name, "rb") as file:
            for piece in iter(lambda: file.read(PIECE_BYTES), b""):
                digest.update(piece)
    except OSError:
        return False
    return digest.hexdigest() == sha256


@deconstructible(path="evalsvc.core.storage.WholeFileStorage")
class WholeFileStorage(FileSystemStorage):
    """Writes under a temporary name, flushes to the disk, then renames."""

    def _save(self, name: str, content: File[bytes]) -> str:
        partial = f"{name}.{uuid4().hex}{PARTIAL}"
        try:
            super()._save(partial, content)  # type: ignore[misc]
            _flush(self.path(partial))
            Path(self.path(partial)).replace(self.path(name))
            _flush(Path(self.path(name)).parent)  # the name itself
        except BaseException:
            Path(self.path(partial)).unlink(missing_ok=True)
            raise
        return name


def _flush(path: str | Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
