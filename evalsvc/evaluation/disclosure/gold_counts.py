"""Sizes of the gold of a setting, read from its frozen lines."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from itertools import accumulate, pairwise
from operator import itemgetter
from typing import Any, NamedTuple

import msgspec

from annotation.testset import TestSet, TestSetRow, export_lines
from evalsvc.evaluation.disclosure.sensitivity import GoldCounts
from evalsvc.evaluation.disclosure.split import Part, key_of, part_of
from evalsvc.evaluation.measures.computation import complete_options
from evalsvc.evaluation.measures.inventory import relation_labels, scored_labels
from evalsvc.evaluation.models import Setting, SettingVersion

Span = tuple[int, int, str]
WORD = re.compile(r"\d+|[^\W\d_]+|[^\w\s]|_")  # of 10km a tokenizer makes two


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
    spans: tuple[Span, ...] | None = None
    h: Mention | None = None
    t: Mention | None = None
    tokens: tuple[str, ...] = ()

    @property
    def pair(self) -> tuple[str, str] | None:
        return (self.h.key, self.t.key) if self.h and self.t else None

    def links(self, symmetric: Collection[str]) -> set[tuple[str, Span, Span]]:
        """Return names and ends of relations, the ends of those without direction in one order."""
        spans, links = self.spans or (), [each for each in self.relations or () if not isinstance(each, str)]
        found = [(name, spans[head], spans[tail]) for head, name, tail in links]
        return {(name, *sorted(ends)) if name in symmetric else (name, *ends) for name, *ends in found}


def of_version(setting: Setting, version: SettingVersion | None = None) -> GoldCounts:
    """Return the sizes of a setting's gold, by default the present one."""
    gold, benchmark = version or setting, setting.benchmark
    options = complete_options(benchmark.options, task=benchmark.task)
    only = gold.only
    symmetric = frozenset(label["name"] for label in benchmark.labels or () if label.get("symmetric"))
    read = _read(
        gold.test_set.pk,
        gold.test_set.sha256,
        only.pk if only else 0,
        only.sha256 if only else "",
        setting.unit,
        frozenset({gold.test_set.negative, benchmark.negative}),
        symmetric,
        part_of(setting),
    )
    inventory = scored_labels(benchmark, [gold.test_set])
    classes = {label["name"]: read.counts.get(label["name"], 0) for label in inventory}
    names = [label["name"] for label in relation_labels(benchmark)]
    by_item = setting.unit == Setting.Unit.SENTENCE
    return GoldCounts(
        read.items,
        classes,
        read.negatives,
        sum(classes.values()) + read.negatives if by_item else 0,
        options["beta"],
        relations={name: read.relations[name] for name in names},
        relations_of_bounds={name: read.relations_of_bounds[name] for name in names},
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
    labels under none; the most words in one, punctuation included; documents with such words; bounds, and
    relations between bounds.
    """

    items: int
    counts: Counter[str]
    negatives: int = 0
    relations: Counter[str] = Counter()
    relations_of_span: int = 1
    documents: Counter[str] = Counter()
    documents_of_relations: Counter[str] = Counter()
    words: Counter[str] = Counter()
    longest: int = 1
    documents_with_words: int = 0
    bounds: int = 0
    relations_of_bounds: Counter[str] = Counter()


@lru_cache(maxsize=1024)
def _read(
    pk: int,
    sha256: str,
    only: int,
    only_sha256: str,
    unit: str,
    negatives: frozenset[str],
    symmetric: frozenset[str],
    part: Part | None,
) -> _Sizes:
    """Count the labels of the units of a setting.

    A frozen set never changes.
    """
    lines = (line for line in _lines(pk, only) if part is None or part.has(key_of(unit, line.id, line.pair)))
    if unit == Setting.Unit.DOCUMENT:
        return _of_documents(lines, symmetric)
    labels: dict[object, set[str]] = {}
    for line in lines:
        of_unit = labels.setdefault(line.pair or line.id if unit == Setting.Unit.BAG else line.id, set())
        of_unit |= {name for name in line.relations or () if isinstance(name, str)} - negatives
    counts = Counter(name for names in labels.values() for name in names)
    return _Sizes(len(labels), counts, sum(not names for names in labels.values()))


def _words(line: GoldLine, entities: Collection[Span]) -> tuple[dict[str, dict[int, str]], int]:
    """Return words by place that WRF counts at least, by label and of all under none; and the most in one.

    In a text, a token has no space within it, and may be all that stands between two or a part of a word: of
    each such run the first word of an entity is taken, letters and digits apart.
    """
    if line.tokens:
        pieces, places = list(line.tokens), [(at, at + 1) for at in range(len(line.tokens))]
        runs = list(range(len(pieces)))
    else:
        pieces, places = WORD.findall(line.text), [each.span() for each in WORD.finditer(line.text)]
        runs = list(accumulate((one[1] < two[0] for one, two in pairwise(places)), initial=0))
    found, most = defaultdict[str, dict[int, str]](dict), 1
    for start, end, label in sorted(entities):
        first = bisect_right(places, start, key=itemgetter(1))
        after = bisect_left(places, end, key=itemgetter(0))
        most = max(most, after - first)
        for own in (found[label], found[""]):
            for at in range(first, after):
                if not own.get(runs[at], "").isalnum():  # a sign stands for a run without a word only
                    own[runs[at]] = pieces[at].casefold()
    return found, most


def _of_documents(lines: Iterable[GoldLine], symmetric: Collection[str]) -> _Sizes:
    """Count entities and relations as the scorer does: each once, however often a line has it."""
    items, spans, relations, of_bounds = 0, Counter[str](), Counter[str](), Counter[str]()
    documents, documents_of_relations, words = Counter[str](), Counter[str](), Counter[str]()
    relations_of_span, longest, with_words, bounds = 1, 1, 0, 0
    for line in lines:
        items += 1
        entities = set(line.spans or ())
        spans.update(label for _, _, label in entities)
        documents.update({label for _, _, label in entities})
        bounds += len({(start, end) for start, end, _ in entities})
        in_entities, most = _words(line, entities)
        longest = max(longest, most)
        for label in {label for *_, label in entities}:
            words[label] += len(set(in_entities[label].values()))
        words[""] += len(set(in_entities[""].values()))
        with_words += bool(in_entities[""])
        links = line.links(symmetric)
        relations.update(name for name, _, _ in links)
        documents_of_relations.update({name for name, _, _ in links})
        of_bounds.update(name for name, *_ in {(name, head[:2], tail[:2]) for name, head, tail in links})
        ends = Counter(span for _, head, tail in links for span in {head, tail})
        relations_of_span = max([relations_of_span, *ends.values()])
    of_span = (relations_of_span, documents, documents_of_relations, words, longest, with_words, bounds)
    return _Sizes(items, spans, 0, relations, *of_span, of_bounds)


def _lines(pk: int, only: int) -> Iterator[GoldLine]:
    decoder = msgspec.json.Decoder(GoldLine)
    kept = (
        set(TestSetRow.objects.filter(test_set=only).values_list("external_id", flat=True)) if only else None
    )
    for raw in export_lines(TestSet.objects.get(pk=pk)):
        line = decoder.decode(raw)
        if kept is None or line.id in kept:
            yield line
