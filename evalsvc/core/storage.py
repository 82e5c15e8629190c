"""Stored files: written completely or not at all, verified, opened by jobs."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast
from uuid import uuid4

from django.conf import settings
from django.core.files import File
from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage, default_storage
from django.db import DatabaseError
from django.utils.deconstruct import deconstructible

from evalsvc.core.errors.exceptions import StorageFault
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


# Some names that rows have in each folder, to distinguish a new storage from one that is away.
_names: dict[str, Callable[[], Iterable[str]]] = {}


def register_names(folder: str, names: Callable[[], Iterable[str]]) -> None:
    _names[folder] = names


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


@dataclass(frozen=True, slots=True)
class StoredFile:
    """Name, size and digest of a file, by its row."""

    name: str
    size: int
    sha256: str

    def difference(self, copy: BinaryIO | None = None) -> tuple[str, str] | None:
        """Return code and detail if the stored file differs from its row."""
        digest, n_bytes = hashlib.sha256(), 0
        try:
            for piece in self._pieces():
                digest.update(piece)
                n_bytes += len(piece)
                if copy:
                    copy.write(piece)
        except Unreadable as error:
            return error.code, str(error)
        if n_bytes != self.size:
            return "file_damaged", f"{self.name} has {n_bytes:,} bytes, not {self.size:,}."
        if digest.hexdigest() != self.sha256:
            return "file_damaged", f"{self.name} has the digest {digest.hexdigest()}, not {self.sha256}."
        return None

    def _pieces(self) -> Iterator[bytes]:
        try:
            with default_storage.open(self.name, "rb") as file:
                yield from iter(lambda: file.read(PIECE_BYTES), b"")
        except FileNotFoundError as error:
            raise Unreadable("file_missing", f"The file {self.name} is missing.") from error
        except OSError as error:
            raise Unreadable("file_damaged", f"{self.name} cannot be read: {error}") from error


class Unreadable(Exception):
    """A stored file is missing, or its disk is damaged."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code


def save(name: str, content: BinaryIO) -> str:
    """Save the bytes, and return the name they got."""
    content.seek(0)
    return default_storage.save(name, File(content))


def require_whole(file: StoredFile) -> None:
    """Read a file that was just saved, and reject bytes that the storage changed."""
    if file.difference():
        default_storage.delete(file.name)
        raise StorageFault(f"The storage did not store {file.size:,} bytes correctly. Check its disk.")


def is_elsewhere(folder: str, exists: Callable[[str], bool]) -> bool:
    """Return True if rows name files of a folder, and the storage has none of those named here."""
    known: list[str] = []
    with suppress(DatabaseError):  # a restore writes the files first
        known += _names[folder]() if folder in _names else ()
    return bool(known) and not any(map(exists, known))


def lost_folders() -> list[str]:
    """Return the folders of which the storage has none of the files that rows name."""
    return [folder for folder in _names if is_elsewhere(folder, default_storage.exists)]


def free_bytes() -> int:
    """Return the free bytes of the data folder or of the stored files, whichever are fewer."""
    folders = [Path(settings.DATA_DIR)]
    if isinstance(default_storage, FileSystemStorage) and Path(default_storage.location).is_dir():
        folders.append(Path(default_storage.location))
    return min(shutil.disk_usage(folder).free for folder in folders)


def require_room(size: int) -> None:
    """Reject an upload that would leave less space than is kept free for the database."""
    free = free_bytes()
    if free - size < settings.FREE_BYTES_LEAST:
        raise StorageFault(f"{free:,} bytes are free: too few for a file of {size:,}.")


@deconstructible(path="evalsvc.core.storage.WholeFileStorage")
class WholeFileStorage(FileSystemStorage):
    """Writes under a temporary name, flushes to the disk, then renames."""

    def _save(self, name: str, content: File[bytes]) -> str:
        self._require_present(name)
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

    def _require_present(self, name: str) -> None:
        """Reject a write to a storage that is away.

        Where a mount is missing the file would be stored below it, and vanish when it is back.
        """
        folder = name.partition("/")[0]
        if not Path(self.path(folder)).is_dir() and is_elsewhere(folder, self.exists):
            raise StorageFault(f"The stored files are not in {self.path('')}. Check that it is mounted.")


def _flush(path: str | Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
