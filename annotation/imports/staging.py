"""Lines of an import: read by its options, checked, and staged."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO

import msgspec
from django.db import transaction

from annotation.consensus.rules import label_names
from annotation.imports.imported_labels import label_counts
from annotation.models import Batch, OntologyLabel
from annotation.ontology.inventory import add_entries, lock_project, mapping_of, parts_of
from annotation.ontology.presets import PresetLabel
from annotation.testset import Kind
from evalsvc.core.formats.duplicates import NumberedItem
from evalsvc.core.formats.label_mapping import Payload
from evalsvc.core.formats.negative_class import USUAL
from evalsvc.core.formats.problems import Problems, did_you_mean
from evalsvc.core.formats.readers import open_gold, open_items
from evalsvc.core.formats.records import item_object
from evalsvc.core.formats.registry import formats
from evalsvc.core.formats.text_lines import Limits
from evalsvc.core.jobs.lease import Progress

CHUNK = 1_000
ENDINGS = re.compile(r"(\.(gz|txt|ann|tsv|xmi|xml|json))+$", re.IGNORECASE)
ADVICE = "Add it to the ontology, or correct the line."


class Staging:
    """Rows of a file: stored at once, counted when it ends."""

    def __init__(self, batch: Batch, problems: Problems) -> None:
        assert batch.project is not None
        self.batch, self.problems = batch, problems
        self.negative = negatives(batch)
        self.stored = 0
        with transaction.atomic():  # after a change of labels that is being made; none is undone from now on
            self.project = lock_project(batch.project)
            self.labels: dict[str, Counter[str]] = {part: Counter() for part in parts_of(self.project)}
            self.valid_labels = {part: self._valid_labels(part) for part in self.labels}

    def _valid_labels(self, part: str) -> set[str] | None:
        """Return the valid labels; None if the file's labels become the inventory."""
        raw = self.project.labels.filter(part=part, derived=False).values_list("name", flat=True)
        names = {*raw, *label_names(self.project, part)}
        return names if names and self.batch.options.get("labels") != "add" else None

    def has_valid_labels(self, line: int | Callable[[str], int], payload: Payload | None) -> bool:
        """Report a label that is not in the inventory.

        `line` may be a function of the label.
        """
        unknown = [
            (name, valid)
            for part, names in names_by_part(payload).items()
            if (valid := self.valid_labels.get(part)) is not None
            for name in sorted(names - valid)
        ]
        if unknown:
            name, valid = unknown[0]
            at = line(name) if callable(line) else line
            self.problems.add(
                "unknown_label", line=at, value=name, hint=lambda: did_you_mean(name, valid) or ADVICE
            )
        return not unknown

    def count_labels(self, payload: Payload | None) -> None:
        for part, names in names_by_part(payload).items():
            self.labels[part].update(names)

    def add_labels(self) -> int:
        """Add the file's labels where they become the inventory, by name, and count them.

        In the order of their frequency they would tell annotators and teams which are frequent.
        """
        mapping, added = mapping_of(self.project), dict[str, set[str]]()
        for part, counts in self.labels.items():
            if self.valid_labels[part] is None:
                entries = [PresetLabel(name) for name in sorted(counts) if name not in mapping]
                added[part] = {row.name for row in add_entries(self.project, entries, part=part)}
        self.batch.counts |= label_counts(self.labels, added)
        return sum(map(len, added.values()))


def names_by_part(payload: Payload | None) -> dict[str, set[str]]:
    """Return the labels of a payload by inventory."""
    if payload is None:
        return {}
    spans = {span[2] for span in payload["spans"]}
    relations = {name if isinstance(name, str) else name[1] for name in payload["relations"]}
    by_part = {OntologyLabel.Part.ENTITY.value: spans, OntologyLabel.Part.RELATION.value: relations}
    return {part: names for part, names in by_part.items() if names}


def negatives(batch: Batch) -> frozenset[str]:
    """Return the spellings of N/A in this file."""
    stated = batch.options.get("negative")
    usual = (*USUAL, *formats()[batch.format].negatives)
    return frozenset(usual if not stated else [stated] if isinstance(stated, str) else stated)


def name_of(filename: str) -> str:
    """Return the id of a file's only document: its name without endings."""
    return ENDINGS.sub("", filename).strip()[:200] or "document"


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
        key: batch.options[key] for key in ("scheme", "repair", "unit", "names") if key in batch.options
    }
    options["name"] = name_of(batch.filename)
    if "column" in batch.options:
        options["column"] = int(batch.options["column"])
    if batch.what == Batch.What.GOLD:
        options["with_text"] = True
    read = open_gold if batch.what == Batch.What.GOLD else open_items
    lines = read(file, format=batch.format, problems=problems, limits=limits, **options)
    return _writable(lines, problems, limits.max_line_bytes)


def _writable(lines: Iterable[NumberedItem], problems: Problems, most: int) -> Iterator[NumberedItem]:
    """Yield the items that fit into a line of a release, which can be imported again."""
    for line, item in lines:
        # a character has 6 bytes at most, in a list of tokens a few more; others are not measured
        size = len(msgspec.json.encode(item_object(item))) if len(item.text or "") > most >> 4 else 0
        if size > most:
            value, expected = f"{size:,} bytes as a JSON line", f"at most {most:,} bytes"
            problems.add("line_too_long", line=line, value=value, expected=expected, hint="Split the text.")
        else:
            yield line, item


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
