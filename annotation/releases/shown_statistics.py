"""Statistics of a test set as pages, API and releases state them."""

from __future__ import annotations

from typing import Any

from annotation.releases import file_shapes
from annotation.testset import TestSet

Statistics = dict[str, Any]


def shown_statistics(test_set: TestSet, *, of_left_out: bool, of_undecided: bool) -> Statistics | None:
    """Return the stored figures with what was left out, and with the agreement over all answers.

    The latter counts answers to undecided sentences: `roles.shows_undecided` tells who may read it.
    """
    figures: Statistics | None = test_set.statistics
    if figures is None:
        return None
    more: Statistics = {}
    if of_left_out and (counts := left_out_counts(test_set)):
        more["left_out_of_whole" if test_set.manifest.get("split") else "left_out"] = counts
    of_all = test_set.manifest.get("agreement") or {}
    if of_undecided and of_all.get("left_out") and "provenance" in figures:
        more["provenance"] = figures["provenance"] | {"agreement_of_all": of_all}
    return figures | more


def left_out_counts(test_set: TestSet) -> dict[str, int]:
    """Count the sentences that were left out by their state; of a part, those of the whole."""
    return file_shapes.left_out_counts(test_set.manifest.get("left_out"))
