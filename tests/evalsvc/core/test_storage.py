"""Files are stored whole; a storage that is away is distinguished from a lost file."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.files import File
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage

from evalsvc.core import storage
from evalsvc.core.jobs.exceptions import RetryLater
from evalsvc.core.storage import StoredFile, open_stored, require_whole, save


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, settings: Any) -> Path:
    settings.MEDIA_ROOT = tmp_path / "files"
    settings.MEDIA_ROOT.mkdir()
    return Path(settings.MEDIA_ROOT)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_a_file_has_its_name_only_once_it_is_complete(folder: Path) -> None:
    class Watched(ContentFile):
        def chunks(self, chunk_size: int | None = None) -> Iterator[bytes]:
            yield b"one "
            assert not (folder / "a").exists()
            yield b"two"

    assert default_storage.save("a", Watched(b"one two")) == "a"
    assert (folder / "a").read_bytes() == b"one two"
    assert names(folder) == ["a"]


def test_nothing_stays_of_a_write_that_failed(folder: Path) -> None:
    class Full(ContentFile):
        def chunks(self, chunk_size: int | None = None) -> Iterator[bytes]:
            yield b"one "
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        default_storage.save("a", Full(b""))
    assert names(folder) == []


def test_bytes_that_the_disk_changed_are_not_accepted(folder: Path) -> None:
    with pytest.raises(storage.StorageFault, match="did not store 3 bytes"):
        require_whole(StoredFile(save("a", io.BytesIO(b"two")), 3, hashlib.sha256(b"one").hexdigest()))
    assert names(folder) == []


def test_a_missing_file_counts_as_lost_only_if_the_storage_works(folder: Path) -> None:
    default_storage.save("other", File(io.BytesIO(b"1")))
    with pytest.raises(RetryLater) as lost:
        open_stored("gone", others=["other", "gone too"])
    assert (lost.value.most, lost.value.code) == (storage.MISSING_TRIES, "file_lost")
    assert names(folder) == ["other"]


def test_a_storage_without_any_known_file_is_away(folder: Path) -> None:
    with pytest.raises(RetryLater, match="not be mounted") as away:
        open_stored("gone", others=["other"])
    assert away.value.most is None


def test_a_missing_folder_is_not_made_by_the_probe(folder: Path) -> None:
    folder.rmdir()
    with pytest.raises(RetryLater, match="folder of stored files is missing"):
        open_stored("gone")
    assert not folder.exists()


def test_a_storage_that_does_not_write_is_away(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(RetryLater, match=r"does not work.*Input/output error") as away:
        open_stored("gone")
    assert away.value.most is None


def test_any_error_of_the_storage_puts_a_job_off(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object) -> None:
        raise RuntimeError("no route to the bucket")

    monkeypatch.setattr(default_storage, "_open", fail)
    with pytest.raises(RetryLater, match="no route to the bucket"):
        open_stored("a")
