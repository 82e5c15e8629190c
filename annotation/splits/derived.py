"""Frozen sets made of frozen sets: written and sealed together, each with what it is made of."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from annotation.freezing import writer
from annotation.testset import GoldChanged, TestSet, TestSetRow
from evalsvc.core.jobs.exceptions import InputFault
from evalsvc.core.jobs.lease import Progress
from evalsvc.core.jobs.transitions import Store


class DerivedSet(NamedTuple):
    """A set to write; `manifest` is asked once its lines are read."""

    test_set: TestSet
    lines: Iterator[writer.FrozenLine]
    total: int
    labels: Sequence[dict[str, str]]
    manifest: Callable[[], dict[str, Any]]


def write_and_seal(sets: Sequence[DerivedSet], progress: Progress) -> Store:
    """Write the lines of each set; the returned store seals all of them."""
    counts = [
        writer.write_rows(each.test_set, each.lines, progress=progress, total=each.total) for each in sets
    ]

    def store() -> None:
        for each, count in zip(sets, counts, strict=True):
            writer.seal(each.test_set, count=count, labels=each.labels, manifest=each.manifest())

    return store


def reference(test_set: TestSet) -> dict[str, str]:
    """Return how a manifest names a set that others are made of."""
    return {"slug": test_set.slug, "sha256": test_set.sha256}


def referenced(stated: dict[str, str]) -> TestSet:
    """Return the set that a manifest names, unless it is gone or another by now."""
    found = TestSet.objects.frozen().filter(slug=stated["slug"], sha256=stated["sha256"]).first()
    if found is None:
        raise InputFault("gold_changed", f"The test set {stated['slug']} has changed or is missing.")
    return found


def source_of(test_set: TestSet) -> TestSet | None:
    """Return the frozen set of source labels beside a set."""
    return TestSet.objects.frozen().filter(twin=test_set).first()


def frozen_lines(test_set: TestSet, chosen: set[str] | None = None) -> Iterator[writer.FrozenLine]:
    """Yield the lines of a set in order, or those with the chosen ids.

    Their digest is verified before, as damaged lines may not even be JSON, and after: what was read is right.
    """
    test_set.verify()
    rows, digest, last = TestSetRow.objects.filter(test_set=test_set).order_by("number"), hashlib.sha256(), 0
    fields = ("number", "external_id", "line", "provenance")
    while batch := list(rows.filter(number__gt=last).values_list(*fields)[: writer.CHUNK]):
        for _, name, line, provenance in batch:
            digest.update(f"{line}\n".encode())
            if chosen is None or name in chosen:
                recorded = None if provenance is None else msgspec.json.decode(provenance)
                yield writer.FrozenLine(msgspec.json.decode(line), recorded)
        last = batch[-1][0]
    if digest.hexdigest() != test_set.sha256:
        raise GoldChanged(test_set)
