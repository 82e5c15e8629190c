"""Sizes of the gold of a setting, read from its frozen lines."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from annotation.testset import TestSet, TestSetRow, export_lines
from evalsvc.evaluation.disclosure.sensitivity import GoldCounts
from evalsvc.evaluation.disclosure.split import Part, key_of, part_of
from evalsvc.evaluation.measures.computation import complete_options
from evalsvc.evaluation.measures.inventory import relation_labels, scored_labels
from evalsvc.evaluation.models import Setting, SettingVersion

WORD = re.compile(r"\w+|[^\w\s]")


class Mention(msgspec.Struct):
    name: str = ""
    id: str | None = None

    @property
    def key(self) -> str:
        return self.name if self.id is None else self.id


class GoldLine(msgspec.Struct):
    """Labels of a gold line, and the pair of its bag."""

    id: str
    text: str = ""
    relations: tuple[Any, ...] | None = None
    spans: tuple[tuple[int, int, str], ...] | None = None
    h: Mention | None = None
    t: Mention | None = None

    @property
    def pair(self) -> tuple[str, str] | None:
        return (self.h.key, self.t.key) if self.h and self.t else None


def of_version(setting: Setting, version: SettingVersion | None = None) -> GoldCounts:
    """Return the sizes of a setting's gold, by default the present one."""
    gold, benchmark = version or setting, setting.benchmark
    options = complete_options(benchmark.options, task=benchmark.task)
    only = gold.only
    read = _read(
        gold.test_set.pk,
        gold.test_set.sha256,
        only.pk if only else 0,
        only.sha256 if only else "",
        setting.unit,
        frozenset({gold.test_set.negative, benchmark.negative}),
        part_of(setting),
    )
    inventory = scored_labels(benchmark, [gold.test_set])
    classes = {label["name"]: read.counts.get(label["name"], 0) for label in inventory}
    relations = {label["name"]: read.relations[label["name"]] for label in relation_labels(benchmark)}
    by_item = setting.unit == Setting.Unit.SENTENCE
    return GoldCounts(
        read.items,
        classes,
        read.negatives,
        sum(classes.values()) + read.negatives if by_item else 0,
        options["beta"],
        relations=relations,
        relations_of_span=read.relations_of_span,
        documents=read.documents,
        documents_of_relations=read.documents_of_relations,
        words=read.words,
        longest=read.longest,
        documents_with_words=read.documents_with_words,
        bounds=read.bounds,
        averaged_negative=benchmark.negative if by_item and options.get("include_negative") else "",
    )


class _Sizes(NamedTuple):
    """Numbers of units, labels, items or bags without one, relations, and the most of them at one span.

    Then documents by label and by relation; distinct words in the entities of a document by label, of all
    labels under none; the most words in one, punctuation included; documents with such words; bounds.
    """

    items: int
    counts: Counter[str]
    negatives: int
    relations: Counter[str]
    relations_of_span: int
    documents: Counter[str]
    documents_of_relations: Counter[str]
    words: Counter[str]
    longest: int
    documents_with_words: int
    bounds: int


@lru_cache(maxsize=1024)
def _read(
    pk: int,
    sha256: str,
    only: int,
    only_sha256: str,
    unit: str,
    negatives: frozenset[str],
    part: Part | None,
) -> _Sizes:
    """Count units, labels, and items or bags without a label.

    A frozen set never changes.
    """
    labels: dict[object, set[str]] = {}
    spans: Counter[str] = Counter()
    relations: Counter[str] = Counter()
    relations_of_span = 1
    documents: Counter[str] = Counter()
    documents_of_relations: Counter[str] = Counter()
    words: Counter[str] = Counter()
    longest, with_words, bounds = 1, 0, 0
    for line in _lines(pk, only):
        if part is not None and not part.has(key_of(unit, line.id, line.pair)):
            continue
        of_unit = labels.setdefault(line.pair or line.id if unit == Setting.Unit.BAG else line.id, set())
        if unit == Setting.Unit.DOCUMENT:
            in_entities: set[tuple[str, str]] = set()
            for start, end, label in set(line.spans or ()):
                spans[label] += 1
                entity = line.text[start:end]
                in_entities |= {(label, word.casefold()) for word in entity.split()}
                longest = max(longest, len(WORD.findall(entity)))
            words.update(label for label, _ in in_entities)
            words[""] += len({word for _, word in in_entities})
            with_words += bool(in_entities)
            bounds += len({(start, end) for start, end, _ in line.spans or ()})
            links = [link for link in line.relations or () if not isinstance(link, str)]
            relations.update(name for _, name, _ in links)
            documents.update({label for _, _, label in line.spans or ()})
            documents_of_relations.update({name for _, name, _ in links})
            ends = Counter(span for head, _, tail in links for span in {head, tail})
            relations_of_span = max(relations_of_span, *ends.values(), 1)
        else:
            of_unit |= {name for name in line.relations or () if isinstance(name, str)} - negatives
    counts = spans or Counter(name for names in labels.values() for name in names)
    negative = 0 if unit == Setting.Unit.DOCUMENT else sum(not names for names in labels.values())
    of_span = (relations_of_span, documents, documents_of_relations, words, longest, with_words, bounds)
    return _Sizes(len(labels), counts, negative, relations, *of_span)


def _lines(pk: int, only: int) -> Iterator[GoldLine]:
    decoder = msgspec.json.Decoder(GoldLine)
    kept = (
        set(TestSetRow.objects.filter(test_set=only).values_list("external_id", flat=True)) if only else None
    )
    for raw in export_lines(TestSet.objects.get(pk=pk)):
        line = decoder.decode(raw)
        if kept is None or line.id in kept:
            yield line
