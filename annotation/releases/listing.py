"""The files of a release one by one: purpose, size and SHA-256, and the bytes of each."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from django.http import Http404

from annotation.releases.folder import ReleaseFile, files, line_files
from annotation.releases.layout import BLIND, GOLD, PROVENANCE, SUMS
from annotation.testset import TestSet
from evalsvc.core.web.zip_stream import sums_line

OF_LINES = (BLIND, GOLD, PROVENANCE)  # too large to read for a page


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file of the folder; sets frozen by earlier versions lack size and SHA-256 of large ones."""

    name: str
    purpose: str
    size: int | None = None
    sha256: str = ""


def listing(test_set: TestSet, *, with_gold: bool = True) -> list[ListedFile]:
    """List all files but the checksums, with those of lines as the job counted them."""
    return [_listed(test_set, file) for file in files(test_set, with_gold=with_gold)]


def _listed(test_set: TestSet, file: ReleaseFile) -> ListedFile:
    counted = test_set.file_digests or {}
    if file.name not in OF_LINES:
        size, sha256 = digest_of(file)
    elif file.name in counted:
        size, sha256 = counted[file.name]
    else:
        return ListedFile(file.name, file.purpose)
    return ListedFile(file.name, file.purpose, size, sha256)


def unlike(test_set: TestSet, digests: Mapping[str, str], *, with_gold: bool) -> list[str]:
    """Name the files of a copy, by name with their SHA-256, that are not those of the release now.

    Those that an earlier version froze without a digest are passed over.
    """
    released = {each.name: each.sha256 for each in listing(test_set, with_gold=with_gold)}
    copied = {name: digest for name, digest in digests.items() if name != SUMS}
    unknown = {name for name, digest in released.items() if not digest}
    names = (released.keys() | copied.keys()) - unknown
    return sorted(name for name in names if released.get(name) != copied.get(name))


def digest_of(file: ReleaseFile) -> tuple[int, str]:
    """Return size and SHA-256 of a file."""
    digest, size = hashlib.sha256(), 0
    for part in file.parts():
        digest.update(part)
        size += len(part)
    return size, digest.hexdigest()


def digests_of_lines(test_set: TestSet) -> dict[str, tuple[int, str]]:
    """Return size and SHA-256 of the files of lines, which nothing changes after the freeze."""
    return {file.name: digest_of(file) for file in line_files(test_set)}


def parts_of(test_set: TestSet, name: str, *, with_gold: bool = True) -> Iterator[bytes]:
    """Return the bytes of one file; for the checksums, those of lines are not read again."""
    if name == SUMS:
        return _sums(test_set, with_gold=with_gold)
    for file in files(test_set, with_gold=with_gold):
        if file.name == name:
            return file.parts()
    raise Http404(f"The release of {test_set} has no file {name}.")


def _sums(test_set: TestSet, *, with_gold: bool) -> Iterator[bytes]:
    for file in files(test_set, with_gold=with_gold):
        sha256 = _listed(test_set, file).sha256 or digest_of(file)[1]
        yield sums_line(file.name, sha256)
