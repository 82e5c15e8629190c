"""Lines of an import, read by its options; unfit lines are reported."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from annotation.models import Batch
from annotation.testset import Kind
from evalsvc.core.formats.duplicates import NumberedItem
from evalsvc.core.formats.negative_class import USUAL
from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.registry import formats, open_gold, open_items
from evalsvc.core.formats.text_lines import Limits
from evalsvc.core.jobs.lease import Progress

CHUNK = 1_000


def negatives(batch: Batch) -> frozenset[str]:
    """Return the spellings of N/A in this file."""
    stated = batch.options.get("negative")
    usual = (*USUAL, *formats()[batch.format].negatives)
    return frozenset(usual if not stated else [stated] if isinstance(stated, str) else stated)


def with_progress(lines: Iterable[NumberedItem], progress: Progress) -> Iterator[NumberedItem]:
    """Yield the lines and report progress."""
    for line, item in lines:
        if line % CHUNK == 0:
            progress(0, 0, f"reading, line {line:,}")
        yield line, item


def read_item_lines(
    batch: Batch, file: BinaryIO, problems: Problems, limits: Limits
) -> Iterator[NumberedItem]:
    """Read the file from its beginning, by the options of its import."""
    file.seek(0)
    options: dict[str, Any] = {
        key: batch.options[key] for key in ("scheme", "repair") if key in batch.options
    }
    if "column" in batch.options:
        options["column"] = int(batch.options["column"])
    if batch.what == Batch.What.GOLD:
        options["with_text"] = True
        return open_gold(file, format=batch.format, problems=problems, limits=limits, **options)
    return open_items(file, format=batch.format, problems=problems, limits=limits, **options)


def fitting_lines(lines: Iterable[NumberedItem], batch: Batch, problems: Problems) -> Iterator[NumberedItem]:
    """Yield lines of the project's kind: with head and tail, or without."""
    assert batch.project is not None
    kind, needs_answer = batch.project.kind, "known" in batch.options
    for line, item in lines:
        paired = item.head is not None and item.head.start is not None and item.text is not None
        if kind == Kind.RELATIONS and not paired:
            problems.add("missing_key", line=line, field="h", expected="head and tail with their positions")
        elif kind != Kind.RELATIONS and item.head is not None:
            problems.add("mixed_forms", line=line, field="h", expected="spans, in a project for spans")
        elif kind == Kind.ENTITIES and item.relations:
            problems.add("mixed_forms", line=line, field="relations", expected="spans only")
        elif kind == Kind.RELATIONS and item.spans:
            problems.add("mixed_forms", line=line, field="spans", expected="relations only")
        elif item.text is None:
            problems.add("missing_key", line=line, field="text", expected="the key text or tokens")
        elif needs_answer and item.relations is None and item.spans is None:
            problems.add(
                "missing_key",
                line=line,
                field="relations",
                expected="the answer of the gold question; [] is N/A",
            )
        else:
            yield line, item
