"""Static files under names that change with what is in them, a module's parts as well."""

from __future__ import annotations

from whitenoise.storage import CompressedManifestStaticFilesStorage

IMPORT = (r"""(?P<matched>from "(?P<url>\.{1,2}/[^"]+)";)""", 'from "%(url)s";')


class ImmutableStaticFiles(CompressedManifestStaticFilesStorage):
    """After an update no browser runs an old part in a new page: imports name the parts by their contents.

    Only our own modules: those of packages import by names that are nowhere in their folder.
    """

    patterns = (*CompressedManifestStaticFilesStorage.patterns, ("annotation/*.js", (IMPORT,)))
    max_post_process_passes = 10  # a part of a part of a part takes a pass each
