"""Names of the negative class, in files that do not state it."""

from __future__ import annotations

import re
from collections.abc import Collection

NA_PLACES = ("first", "last", "none")  # among the columns of a matrix
USUAL = ("NA", "N/A", "no_relation")
SIMILAR = frozenset({"na", "n/a", "norelation", "other", "o", "none", "null", "nil", "negative", "nolabel"})


def usual_negative(labels: Collection[str], names: Collection[str] = USUAL) -> str | None:
    """Return the label that is certainly the negative class, if any."""
    return next((name for name in names if name in labels), None)


def similar_to_negative(labels: Collection[str], *, negative: str | None = None) -> str | None:
    """Return a label that looks like an unstated negative class."""
    usual = usual_negative([name for name in labels if name != negative])
    if usual is not None:
        return usual
    return next(
        (name for name in labels if name != negative and re.sub(r"[\s_-]+", "", name).casefold() in SIMILAR),
        None,
    )
