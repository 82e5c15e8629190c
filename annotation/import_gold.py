"""Published gold in: a test set of the imported origin, without a project; one bad line refuses the file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, BinaryIO

import msgspec

from annotation import sealing
from annotation.entries import readable
from annotation.import_items import CHUNK, NEGATIVE, reading_options
from annotation.models import Batch
from annotation.testset import Kind, Origin, TestSet
from evalsvc import __version__
from evalsvc.formats.merging import merge_repeats
from evalsvc.formats.opening import open_items
from evalsvc.formats.problems import Problems, did_you_mean
from evalsvc.formats.reading import Limits, read_lines
from evalsvc.formats.records import ItemLine
from evalsvc.formats.writing import item_object
from evalsvc.jobs.moves import Store
from evalsvc.jobs.running import Progress
from evalsvc.refusals import Refusal


def announce(batch: Batch) -> TestSet:
    """The test set that the batch will fill, in the transaction that receives it."""
    options = batch.options
    kind = options.get("kind") or Kind.RELATIONS
    if kind not in Kind.values:
        raise Refusal("unknown_kind", f"{kind!r} is none of {', '.join(Kind.values)}.", field="kind")
    return sealing.announce(
        name=str(options.get("name", "")),
        version=str(options.get("version", "")),
        origin=Origin.IMPORTED,
        kind=kind,
        batch=batch,
        by=batch.by,
    )


def load(batch: Batch, file: BinaryIO, problems: Problems, limits: Limits, progress: Progress) -> Store:
    """Read all of it; only a file without a bad line is staged."""
    test_set = TestSet.objects.get(batch=batch)
    merged = merge_repeats(
        _reported(_lines(batch, file, problems, limits), progress), problems=problems, by="id"
    )
    items = [(entry.line, entry.item) for entry in merged.items]
    _check_kind(items, test_set.kind, problems)
    negative, stated = _negative(batch, items)
    labels = _labels(batch, items, negative, problems)
    problems.raise_if_any()
    golds = (_gold(item, negative) for _, item in items)
    count = sealing.write_rows(test_set, golds, progress=progress, total=len(items))
    batch.counts = {
        "lines": problems.lines_read,
        "items": count,
        "repeated_lines": sum(len(entry.repeats) for entry in merged.items),
        "labels": len(labels),
        "without_text": sum(item.text is None for _, item in items),
    }
    manifest = {
        "origin": Origin.IMPORTED,
        "file": {"name": batch.filename, "sha256": batch.sha256, "format": batch.format, "bytes": batch.size},
        "options": batch.options,
        "counts": batch.counts,
        "labels_from": "options" if batch.options.get("labels") else "data",
        "negative": {"name": negative, "from": stated},
        "evalsvc": __version__,
    }
    return lambda: _seal(test_set, negative, count, labels, manifest)


def _seal(test_set: TestSet, negative: str, count: int, labels: list[str], manifest: dict[str, Any]) -> None:
    TestSet.objects.filter(pk=test_set.pk, state=TestSet.State.BUILDING).update(negative=negative)
    inventory = [{"name": name, "title": readable(name)} for name in labels]
    sealing.seal(test_set, count=count, labels=inventory, manifest=manifest)


def _lines(
    batch: Batch, file: BinaryIO, problems: Problems, limits: Limits
) -> Iterator[tuple[int, ItemLine]]:
    if batch.format == "labels":
        for line, text in read_lines(file, problems=problems, limits=limits):
            if text.strip():
                yield line, ItemLine(str(line), None, relations=(text.strip(),))
        return
    options = reading_options(batch) | {"require_text": False}
    yield from open_items(file, format=batch.format, problems=problems, limits=limits, **options)


def _reported(lines: Iterator[tuple[int, ItemLine]], progress: Progress) -> Iterator[tuple[int, ItemLine]]:
    for line, item in lines:
        if line % CHUNK == 0:
            progress(0, 0, f"reading, line {line:,}")
        yield line, item


def _check_kind(items: list[tuple[int, ItemLine]], kind: str, problems: Problems) -> None:
    """Gold says what is right on every line, in the form of its kind."""
    for line, item in items:
        missing = item.relations is None if kind == Kind.RELATIONS else item.spans is None
        if missing:
            field = "relations" if kind == Kind.RELATIONS else "spans"
            problems.add("missing_key", line=line, field=field, expected=f"the key {field}: this is gold")
        elif kind == Kind.RELATIONS and item.spans:
            problems.add("mixed_forms", line=line, field="spans", expected="relations only")
        elif kind == Kind.ENTITIES and item.relations:
            problems.add("mixed_forms", line=line, field="relations", expected="spans only")


def _negative(batch: Batch, items: list[tuple[int, ItemLine]]) -> tuple[str, str]:
    """How the negative class is spelt, and whether that was said or found."""
    said = batch.options.get("negative")
    if said:
        return str(said), "options"
    usual = ("Other", *NEGATIVE) if batch.format.startswith("semeval") else NEGATIVE
    used = {name for _, item in items for name in _names(item)}
    found = next((name for name in usual if name in used), None)
    return (found, "data") if found else ("N/A", "default")


def _names(item: ItemLine) -> list[str]:
    """All labels of a line."""
    links = [name if isinstance(name, str) else name[1] for name in item.relations or ()]
    return [span[2] for span in item.spans or ()] + links


def _labels(batch: Batch, items: list[tuple[int, ItemLine]], negative: str, problems: Problems) -> list[str]:
    """The inventory: as stated, else what the data uses, the most frequent first."""
    counts = Counter(name for _, item in items for name in _names(item) if name != negative)
    stated = [str(name) for name in batch.options.get("labels") or () if name != negative]
    if not stated:
        return sealing.by_frequency(counts)
    for line, item in items:
        for name in set(_names(item)) - {*stated, negative}:
            problems.add("unknown_label", line=line, found=name, hint=did_you_mean(name, stated))
    return list(dict.fromkeys(stated))


def _gold(item: ItemLine, negative: str) -> dict[str, Any]:
    """The frozen line: the negative class is the empty list."""
    if item.spans is not None:
        return item_object(msgspec.structs.replace(item, relations=item.relations or ()))
    kept = tuple(name for name in item.relations or () if name != negative)
    return item_object(msgspec.structs.replace(item, relations=kept))
