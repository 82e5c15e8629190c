"""Local storage of files that are complete and synced, or absent."""

from __future__ import annotations

import os
from pathlib import Path
from uuid import uuid4

from django.core.files import File
from django.core.files.storage import FileSystemStorage
from django.utils.deconstruct import deconstructible

PARTIAL = ".partial"


@deconstructible(path="evalsvc.core.storage.whole_files.WholeFileStorage")
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
