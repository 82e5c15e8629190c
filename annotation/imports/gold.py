"""Import of published gold as a test set, all lines or none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import msgspec
from django.conf import settings

from annotation.freezing import writer
from annotation.imports.line_reader import NEGATIVE, reading_options, with_progress
from annotation.models import Batch
from annotation.ontology.presets import title_from_name
from annotation.testset import Kind, Origin, TestSet
from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.formats.duplicates import MergedItem, NumberedItem, find_repeats
from evalsvc.core.formats.problems import Problems, did_you_mean
from evalsvc.core.formats.records import ItemLine
from evalsvc.core.formats.registry import formats, open_items
from evalsvc.core.formats.text_lines import Limits
from evalsvc.core.formats.writer import item_object
from evalsvc.core.jobs.lease import Progress
from evalsvc.core.jobs.transitions import Store


def create_test_set(batch: Batch) -> TestSet:
    """Create the test set that the import fills."""
    options = batch.options
    kind = options.get("kind") or Kind.RELATIONS
    if kind not in Kind.values:
        raise DomainError(
            "unknown_kind", f"Unknown kind {kind!r}. Use one of: {', '.join(Kind.values)}.", field="kind"
        )
    return writer.create_test_set(
        name=str(options.get("name", "")),
        version=str(options.get("version", "")),
        origin=Origin.IMPORTED,
        kind=kind,
        batch=batch,
        by=batch.by,
    )


def load(batch: Batch, file: BinaryIO, problems: Problems, limits: Limits, progress: Progress) -> Store:
    """Read twice, merging repeated lines; stage only a file without invalid lines."""
    test_set = TestSet.objects.get(batch=batch)
    lines = with_progress(_lines(batch, file, problems, limits), progress)
    repeats = find_repeats(lines, problems=problems, by="id")

    def merged_lines() -> Iterator[MergedItem]:
        return repeats.merged(_lines(batch, file, Problems(), limits))

    summary = _GoldSummary.of(_checked(merged_lines(), test_set.kind, problems))
    negative, stated = _negative(batch, summary.names)
    labels = _labels(batch, summary.names, negative)
    if batch.options.get("labels"):
        _check_labels(merged_lines(), labels, negative, problems)
    problems.raise_if_any()
    golds = (_gold(entry.item, negative) for entry in merged_lines())
    count = writer.write_rows(test_set, golds, progress=progress, total=repeats.items)
    batch.counts = {
        "lines": problems.lines_read,
        "items": count,
        "repeated_lines": summary.repeated_lines,
        "labels": len(labels),
        "without_text": summary.without_text,
    }
    manifest = {
        "origin": Origin.IMPORTED,
        "file": {"name": batch.filename, "sha256": batch.sha256, "format": batch.format, "bytes": batch.size},
        "options": batch.options,
        "counts": batch.counts,
        "labels_from": "options" if batch.options.get("labels") else "data",
        "negative": {"name": negative, "from": stated},
        "evalsvc": settings.VERSION,
    }
    inventory = [{"name": name, "title": title_from_name(name)} for name in labels]

    def seal() -> None:
        TestSet.objects.filter(pk=test_set.pk, state=TestSet.State.BUILDING).update(negative=negative)
        writer.seal(test_set, count=count, labels=inventory, manifest=manifest)

    return seal


def _lines(batch: Batch, file: BinaryIO, problems: Problems, limits: Limits) -> Iterator[NumberedItem]:
    """Read the file from its beginning."""
    file.seek(0)
    options = reading_options(batch) | {"require_text": False}
    return open_items(file, format=batch.format, problems=problems, limits=limits, **options)


def _checked(entries: Iterable[MergedItem], kind: str, problems: Problems) -> Iterator[MergedItem]:
    """Report lines without gold, or with gold of another kind."""
    for entry in entries:
        line, item = entry.line, entry.item
        missing = item.relations is None if kind == Kind.RELATIONS else item.spans is None
        if missing:
            field = "relations" if kind == Kind.RELATIONS else "spans"
            problems.add(
                "missing_key", line=line, field=field, expected=f"the key {field} with the gold labels"
            )
        elif kind == Kind.RELATIONS and item.spans:
            problems.add("mixed_forms", line=line, field="spans", expected="relations only")
        elif kind == Kind.ENTITIES and item.relations:
            problems.add("mixed_forms", line=line, field="relations", expected="spans only")
        yield entry


@dataclass
class _GoldSummary:
    """Counts over the whole file."""

    names: Counter[str] = field(default_factory=Counter)
    repeated_lines: int = 0
    without_text: int = 0

    @classmethod
    def of(cls, entries: Iterable[MergedItem]) -> _GoldSummary:
        summary = cls()
        for entry in entries:
            summary.names.update(_names(entry.item))
            summary.repeated_lines += len(entry.repeats)
            summary.without_text += entry.item.text is None
        return summary


def _negative(batch: Batch, used: Container[str]) -> tuple[str, str]:
    """Return the spelling of N/A and its origin: options, data or default."""
    stated = batch.options.get("negative")
    if stated:
        return str(stated), "options"
    usual = (*formats()[batch.format].negatives, *NEGATIVE)
    used_name = next((name for name in usual if name in used), None)
    return (used_name, "data") if used_name else ("N/A", "default")


def _names(item: ItemLine) -> list[str]:
    """Return all labels of a line."""
    links = [name if isinstance(name, str) else name[1] for name in item.relations or ()]
    return [span[2] for span in item.spans or ()] + links


def _labels(batch: Batch, names: Counter[str], negative: str) -> list[str]:
    """Return the inventory: as stated, else from the data by frequency."""
    stated = [str(name) for name in batch.options.get("labels") or () if name != negative]
    if stated:
        return list(dict.fromkeys(stated))
    return writer.by_frequency(Counter({name: n for name, n in names.items() if name != negative}))


def _check_labels(
    entries: Iterable[MergedItem], stated: list[str], negative: str, problems: Problems
) -> None:
    for entry in entries:
        for name in set(_names(entry.item)) - {*stated, negative}:
            problems.add("unknown_label", line=entry.line, value=name, hint=did_you_mean(name, stated))


def _gold(item: ItemLine, negative: str) -> dict[str, Any]:
    """Return the frozen line; N/A is the empty list."""
    if item.spans is not None:
        return item_object(msgspec.structs.replace(item, relations=item.relations or ()))
    positive = tuple(name for name in item.relations or () if name != negative)
    return item_object(msgspec.structs.replace(item, relations=positive))
