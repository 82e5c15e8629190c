"""Import of published gold as a test set, all lines or none."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, BinaryIO

import msgspec
from django.conf import settings

from annotation.freezing import writer
from annotation.imports.staging import read_item_lines, with_progress
from annotation.models import Batch
from annotation.ontology.presets import titles_from_names
from annotation.testset import Kind, Origin, TestSet
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import Conflict, DomainError
from evalsvc.core.formats.duplicates import MergedItem, find_repeats
from evalsvc.core.formats.label_list import MAX_LABELS
from evalsvc.core.formats.negative_class import USUAL, similar_to_negative, usual_negative
from evalsvc.core.formats.problems import Problems, did_you_mean
from evalsvc.core.formats.records import ItemLine, item_object
from evalsvc.core.formats.registry import formats
from evalsvc.core.formats.text_lines import Limits
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
    annotated = _annotated(str(options["source_of"]), kind, batch.by) if options.get("source_of") else None
    return writer.create_test_set(
        name=str(options.get("name", "")),
        version=str(options.get("version", "")),
        origin=Origin.SOURCE if annotated else Origin.IMPORTED,
        kind=kind,
        batch=batch,
        by=batch.by,
        **({"twin": annotated} if annotated else {}),
    )


def _annotated(slug: str, kind: str, by: User) -> TestSet:
    """Return the imported gold beside which source labels are imported."""
    annotated = TestSet.objects.frozen().filter(slug=slug, origin=Origin.IMPORTED).first()
    if annotated is None or not annotated.readable_by(by):
        detail = f"There is no imported test set {slug!r} that you may read."
        raise DomainError("unknown_set", detail, field="source_of")
    if not kind == annotated.kind == Kind.RELATIONS:
        raise DomainError("other_kind", "Source labels are compared for relations only.", field="source_of")
    TestSet.objects.filter(twin=annotated, state=TestSet.State.FAILED).delete()
    if TestSet.objects.filter(twin=annotated).exists():
        detail = f"{annotated} has source labels already."
        raise Conflict("has_source_labels", detail, field="source_of")
    return annotated


def load(batch: Batch, file: BinaryIO, problems: Problems, limits: Limits, progress: Progress) -> Store:
    """Read twice, merging repeated lines; stage only a file without invalid lines."""
    test_set = TestSet.objects.get(batch=batch)
    lines = read_item_lines(batch, file, problems, limits)
    repeats = find_repeats(with_progress(lines, progress), problems=problems, by="id")

    def merged_lines() -> Iterator[MergedItem]:
        return repeats.merged(read_item_lines(batch, file, Problems(), limits))

    summary = _summary(merged_lines(), test_set.kind, problems)
    negative, negative_from = _negative(batch, summary.names, problems)
    summary.names.discard(negative)
    stated = [str(name) for name in batch.options.get("labels") or () if name != negative]
    labels = list(dict.fromkeys(stated or sorted(summary.names)))
    if len(labels) > MAX_LABELS:
        problems.stop("too_many_labels", value=f"{len(labels):,}", expected=f"at most {MAX_LABELS:,}")
    for entry in merged_lines() if stated else ():
        for name in set(chain(*_names_by_part(entry.item))) - {*labels, negative}:
            problems.add(
                "unknown_label", line=entry.line_of(name), value=name, hint=did_you_mean(name, labels)
            )
    problems.raise_if_any()
    golds = (
        writer.FrozenLine(item_object(_without_negative(entry.item, negative))) for entry in merged_lines()
    )
    count = writer.write_rows(test_set, golds, progress=progress, total=repeats.items)
    batch.counts = {
        "lines": problems.lines_read,
        "items": count,
        "repeated_lines": summary.repeated_lines,
        "labels": len(labels),
        "without_text": summary.without_text,
    }
    manifest = {
        "origin": test_set.origin,
        "file": {"name": batch.filename, "sha256": batch.sha256, "format": batch.format, "bytes": batch.size},
        "options": batch.options,
        "counts": batch.counts,
        "labels_from": "options" if batch.options.get("labels") else "data",
        "negative": {"name": negative, "from": negative_from},
        "evalsvc": settings.VERSION,
    }
    inventory = _inventory(labels, test_set.kind, summary)

    def seal() -> None:
        TestSet.objects.filter(pk=test_set.pk, state=TestSet.State.BUILDING).update(negative=negative)
        writer.seal(test_set, count=count, labels=inventory, manifest=manifest)

    return seal


@dataclass
class _GoldSummary:
    """Names and counts over the whole file."""

    names: set[str] = field(default_factory=set)
    relations: set[str] = field(default_factory=set)
    types: set[str] = field(default_factory=set)
    repeated_lines: int = 0
    without_text: int = 0
    first_lines: dict[str, int] = field(default_factory=dict)


def _summary(entries: Iterable[MergedItem], kind: str, problems: Problems) -> _GoldSummary:
    """Count the lines; report those without gold of this kind."""
    summary = _GoldSummary()
    key, other = ("relations", "spans") if kind == Kind.RELATIONS else ("spans", "relations")
    for entry in entries:
        answers, others = getattr(entry.item, key), getattr(entry.item, other)
        if others and kind != Kind.JOINT:
            expected = f"{key} only, in gold of the kind {kind}"
            problems.add("mixed_forms", line=entry.line, field=other, expected=expected)
        elif answers is None:
            expected = f"the key {key} with the gold labels"
            problems.add("missing_key", line=entry.line, field=key, expected=expected)
        types, relations = _names_by_part(entry.item)
        summary.names.update(types + relations)
        summary.types.update(types)
        summary.relations.update(relations)
        summary.repeated_lines += len(entry.repeats)
        summary.without_text += entry.item.text is None
        if entry.item.text is not None:
            summary.first_lines.setdefault("text" if entry.item.tokens is None else "tokens", entry.line)
    if kind != Kind.RELATIONS and len(summary.first_lines) > 1:
        (usual, first), (other, line) = summary.first_lines.items()
        expected, hint = f"{usual}, as in line {first:,}", "Spans are compared in one unit."
        problems.add("mixed_forms", line=line, field=other, expected=expected, hint=hint)
    return summary


def _negative(batch: Batch, used: Collection[str], problems: Problems) -> tuple[str, str]:
    """Return the spelling of N/A and its origin: options, data or default.

    Warn of a relation that looks like another spelling.
    """
    stated = str(batch.options.get("negative") or "")
    used_name = usual_negative(used, (*formats()[batch.format].negatives, *USUAL))
    negative = stated or used_name or "N/A"
    similar = similar_to_negative(used, negative=negative)
    if similar is not None and batch.options.get("kind") in (None, "", Kind.RELATIONS):
        problems.add("negative_averaged", value=similar, expected="its name as the negative class")
    return negative, "options" if stated else "data" if used_name else "default"


def _names_by_part(item: ItemLine) -> tuple[list[str], list[str]]:
    """Return the types and the relations of a line."""
    links = [name if isinstance(name, str) else name[1] for name in item.relations or ()]
    return [span[2] for span in item.spans or ()], links


def _inventory(labels: Sequence[str], kind: str, summary: _GoldSummary) -> list[dict[str, str]]:
    """Return labels with titles, and in joint gold their part; unused ones are types."""
    named = [{"name": name, "title": title} for name, title in titles_from_names(labels).items()]
    if kind != Kind.JOINT:
        return named
    types = [each | {"part": "entity"} for each in named if _is_type(each["name"], summary)]
    return types + [each | {"part": "relation"} for each in named if each["name"] in summary.relations]


def _is_type(name: str, summary: _GoldSummary) -> bool:
    return name in summary.types or name not in summary.relations


def _without_negative(item: ItemLine, negative: str) -> ItemLine:
    """Spell N/A as the empty list."""
    positive: Any = tuple(name for name in item.relations or () if name != negative)
    return msgspec.structs.replace(item, relations=positive)
