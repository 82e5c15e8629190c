"""Static files under names with a digest of their content."""

from __future__ import annotations

from whitenoise.storage import CompressedManifestStaticFilesStorage

IMPORT = (r"""(?P<matched>from "(?P<url>\.{1,2}/[^"]+)";)""", 'from "%(url)s";')


class HashedStaticFilesStorage(CompressedManifestStaticFilesStorage):
    """Storage that puts digests into the imports of our own modules too.

    Modules of packages are left alone: they import by names that are not files of their folder.
    """

    patterns = (*CompressedManifestStaticFilesStorage.patterns, ("annotation/*.js", (IMPORT,)))
    max_post_process_passes = 10  # each level of imports takes a pass
