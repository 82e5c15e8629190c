"""Stored files without a row, temporary files of ended requests, damaged files."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.core.files.storage import default_storage
from django.db import connection, transaction
from django.db.models import Model
from django.utils import timezone

from evalsvc.core.storage import PROBES, StoredFile, register_names, storage_fault
from evalsvc.core.upkeep.registry import Finding

# A file is stored seconds before its row is committed, and an upload read in minutes.
UNNAMED_FOR = timedelta(hours=1)
CHUNK, WITNESSES = 500, 5
# More orphans than rows means another database rather than lost requests.
ORPHANS_ALLOWED = 100
AWAY_CURE = (
    "Check that the storage is mounted or can be reached, then run manage.py doctor again. "
    "If its files are gone, copy files/ of a backup to its place."
)
SWEEP_LOCK = 7_305_001  # any number that nobody else uses


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of the storage and the model of its rows.

    The model has `size` and `sha256`; the cure may have the file's `{name}`.
    """

    name: str
    model: type[Model]
    field: str
    cure: str

    def named(self, names: Collection[str]) -> set[str]:
        """Return those of these names that rows have."""
        rows = self.model._default_manager.filter(**{f"{self.field}__in": names})
        return set(rows.values_list(self.field, flat=True))

    def some(self) -> Iterable[str]:
        """Return a few names of old files."""
        rows = self.model._default_manager.exclude(**{self.field: ""})
        return rows.order_by("pk").values_list(self.field, flat=True)[:WITNESSES]

    def files(self, share: str = "") -> Iterator[StoredFile]:
        rows = self.model._default_manager.filter(sha256__startswith=share).exclude(**{self.field: ""})
        for name, size, sha256 in rows.order_by("pk").values_list(self.field, "size", "sha256"):
            yield StoredFile(name, size, sha256)


_folders: dict[str, Folder] = {}


def register_folder(folder: Folder) -> None:
    _folders[folder.name] = folder
    register_names(folder.name, folder.some)


def folders() -> list[str]:
    return list(_folders)


def all_files() -> Iterator[StoredFile]:
    """Yield every file that a row names."""
    for folder in _folders.values():
        yield from folder.files()


def orphans(folder: str) -> Iterator[str]:
    """Yield the names of old files in a folder without a row."""
    for names in _chunks(_walk(folder)):
        unnamed = set(names) - _folders[folder].named(names)
        yield from sorted(name for name in unnamed if _is_old(name))


def _chunks(names: Iterator[str]) -> Iterator[list[str]]:
    chunk: list[str] = []
    for name in names:
        chunk.append(name)
        if len(chunk) == CHUNK:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _walk(folder: str) -> Iterator[str]:
    try:
        folders, files = default_storage.listdir(folder)
    except FileNotFoundError:
        return
    yield from (f"{folder}/{name}" for name in files)
    for name in folders:
        yield from _walk(f"{folder}/{name}")


def _is_old(name: str) -> bool:
    try:
        return default_storage.get_modified_time(name) < timezone.now() - UNNAMED_FOR
    except FileNotFoundError:  # deleted just now
        return False


def sweep_orphans(*, most: int = ORPHANS_ALLOWED) -> int:
    """Remove old files without a row.

    Remove nothing where they are more than `most` and more than the other files.
    """
    removed = 0
    for folder, rows in _folders.items():
        names = list(orphans(folder))
        for name in names if not is_suspicious(folder, len(names), most) else ():
            removed += _remove_orphan(rows, name)
    for name in filter(_is_old, _walk(PROBES)):  # of killed processes
        default_storage.delete(name)
        removed += 1
    return removed


def _remove_orphan(rows: Folder, name: str) -> bool:
    """Remove the file unless it got a row, or is another one by now.

    No other sweep removes it in between, whereupon an upload would take its name.
    """
    with transaction.atomic():  # on SQLite this excludes every other writer
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_xact_lock(%s)", [SWEEP_LOCK])
        if rows.named([name]) or not _is_old(name):
            return False
        default_storage.delete(name)
    return True


def is_suspicious(folder: str, n_orphans: int, most: int = ORPHANS_ALLOWED) -> bool:
    """True for so many orphans that their rows are probably elsewhere."""
    return n_orphans > most and 2 * n_orphans > sum(1 for _ in _walk(folder))


def old_uploads() -> Iterator[Path]:
    """Yield temporary files of uploads whose process was killed."""
    before = time.time() - UNNAMED_FOR.total_seconds()
    for path in Path(settings.FILE_UPLOAD_TEMP_DIR).iterdir():
        with suppress(FileNotFoundError):  # its request ended just now
            if path.lstat().st_mtime < before:
                yield path


def count_uploads() -> int:
    return sum(1 for _ in old_uploads())


def sweep_uploads() -> int:
    """Remove these files."""
    removed = 0
    for path in old_uploads():
        with suppress(FileNotFoundError):
            path.unlink()
            removed += 1
    return removed


def _check_orphans() -> Iterator[Finding]:
    """Report old files without a row."""
    for folder in _folders:
        n = sum(1 for _ in orphans(folder))
        if not n:
            continue
        cure = "Run manage.py doctor --sweep."
        if is_suspicious(folder, n):
            cure = (
                "They are more than the files with a row, so nothing is removed by itself. Check that "
                "DATABASE_URL names the right database; only then run manage.py doctor --sweep."
            )
        yield Finding("orphan_files", f"{n:,} files in {folder}/ belong to no row.", cure)


def check_files(share: str) -> Iterator[Finding]:
    """Compare stored files with their rows, and report files without one.

    Of a storage that is away only that is reported, as a copy of each file would not mend it.
    """
    in_order = False
    for folder in _folders.values():
        for file in folder.files(share):
            difference = file.difference()
            if difference and not in_order and (fault := _outage()):
                yield Finding("storage_away", fault, AWAY_CURE)
                return
            if difference:
                in_order = True
                yield Finding(*difference, folder.cure.format(name=file.name))
    yield from _check_orphans()


def _outage() -> str:
    """Return the fault of the storage; a single file may be lost by itself."""
    known = [name for folder in _folders.values() for name in folder.some()]
    return storage_fault(known if len(known) > 1 else ())
