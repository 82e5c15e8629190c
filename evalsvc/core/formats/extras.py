"""Optional packages that some formats need."""

from __future__ import annotations

from importlib.util import find_spec

from evalsvc.core.formats.problems import Problems

# format: (module, package to install)
EXTRAS = {"cas-xmi": ("cassis", "dkpro-cassis"), "hf-parquet": ("pyarrow", "pyarrow")}


def has_extra(format: str) -> bool:
    """Return whether the package of a format is installed, or none is needed."""
    return format not in EXTRAS or find_spec(EXTRAS[format][0]) is not None


def require_extra(format: str) -> None:
    """Reject the file if the package is missing."""
    if not has_extra(format):
        package = EXTRAS[format][1]
        Problems().stop(
            "no_extra", field="format", value=format, expected=f"the package {package}, not installed here",
            hint="An administrator installs it: pip install --require-hashes -r requirements-formats.txt.",
        )  # fmt: skip
