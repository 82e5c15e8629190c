"""Static files under names with a digest of their content."""

from __future__ import annotations

from collections.abc import Iterator

from django.contrib.staticfiles.finders import AppDirectoriesFinder
from django.core.files.storage import Storage
from whitenoise.storage import CompressedManifestStaticFilesStorage

IMPORT = (r"""(?P<matched>from "(?P<url>\.{1,2}/[^"]+)";)""", 'from "%(url)s";')

UNUSED = ["rest_framework", "redoc"]  # folders for pages that the service does not have


class UsedFilesFinder(AppDirectoriesFinder):
    """Finder of the static files of all apps, without unused ones."""

    def list(self, ignore_patterns: list[str] | None) -> Iterator[tuple[str, Storage]]:  # type: ignore[override]
        yield from super().list([*(ignore_patterns or ()), *UNUSED])


class HashedStaticFilesStorage(CompressedManifestStaticFilesStorage):
    """Storage that puts digests into the imports of our own modules too.

    Modules of packages are left alone: they import by names that are not files of their folder.
    """

    patterns = (
        *CompressedManifestStaticFilesStorage.patterns,
        ("annotation/*.js", (IMPORT,)),
        ("evaluation/*.js", (IMPORT,)),
    )
    max_post_process_passes = 10  # each level of imports takes a pass
