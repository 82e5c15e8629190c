"""Sizes of the gold of a setting, read from its frozen lines."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import accumulate, pairwise
from operator import itemgetter
from typing import Any, TypeVar

import msgspec

from annotation.testset import TestSet, TestSetRow, export_lines
from evalsvc.core.formats.answer_texts import Normalisation, text_of
from evalsvc.evaluation.disclosure.sensitivity import GoldCounts, WordCounts
from evalsvc.evaluation.disclosure.split import Part, key_of, part_of
from evalsvc.evaluation.measures.computation import FORMS_OF_KIND, complete_options
from evalsvc.evaluation.measures.inventory import relation_labels, scored_labels
from evalsvc.evaluation.models import Setting, SettingVersion

Span = tuple[int, int, str]
End = TypeVar("End", Span, str)
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
    tokens: tuple[str, ...] | None = None

    @property
    def pair(self) -> tuple[str, str] | None:
        return (self.h.key, self.t.key) if self.h and self.t else None

    def links(self, symmetric: Collection[str]) -> set[tuple[str, Span, Span]]:
        """Return names and ends of relations, the ends of those without direction in one order."""
        spans, links = self.spans or (), [each for each in self.relations or () if not isinstance(each, str)]
        return _in_one_order(((name, spans[head], spans[tail]) for head, name, tail in links), symmetric)


def _in_one_order(
    links: Iterable[tuple[str, End, End]], symmetric: Collection[str]
) -> set[tuple[str, End, End]]:
    return {
        (name, min(head, tail), max(head, tail)) if name in symmetric else (name, head, tail)
        for name, head, tail in links
    }


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
        Normalisation(options.get("casefold", False), options.get("strip_articles", False)),
    )
    inventory = scored_labels(benchmark, [gold.test_set])
    names = [label["name"] for label in inventory]
    relations = [label["name"] for label in relation_labels(benchmark)]
    by_item = setting.unit == Setting.Unit.SENTENCE
    classes = _of(names, read.classes)
    return replace(
        read,
        classes=classes,
        entropy_items=sum(classes.values()) + read.negative if by_item else 0,
        beta=options["beta"],
        relations=_of(relations, read.relations),
        relations_of_bounds=_of(relations, read.relations_of_bounds),
        answers=_of(names, read.answers),
        answers_of_relations=_of(relations, read.answers_of_relations),
        words={form: read.words[form] for form in FORMS_OF_KIND[setting.kind] if form in read.words},
        averaged_negative=benchmark.negative if by_item and options.get("include_negative") else "",
    )


def _of(names: Iterable[str], counts: Mapping[str, int]) -> dict[str, int]:
    return {name: counts.get(name, 0) for name in names}


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
    normalised: Normalisation,
) -> GoldCounts:
    """Count the labels of the units of a setting.

    A frozen set never changes.
    """
    lines = (line for line in _lines(pk, only) if part is None or part.has(key_of(unit, line.id, line.pair)))
    if unit == Setting.Unit.DOCUMENT:
        return of_documents(lines, symmetric, normalised)
    labels: dict[object, set[str]] = {}
    for line in lines:
        of_unit = labels.setdefault(line.pair or line.id if unit == Setting.Unit.BAG else line.id, set())
        of_unit |= {name for name in line.relations or () if isinstance(name, str)} - negatives
    counts = Counter(name for names in labels.values() for name in names)
    return GoldCounts(len(labels), counts, sum(not names for names in labels.values()))


def _words_of_spans(line: GoldLine, entities: Collection[Span]) -> tuple[dict[str, set[str]], int]:
    """Return words that WRF counts at least, by label and of all under none; and the most in one entity.

    In a text, a token has no space within it, and may be all that stands between two or a part of a word: of
    each such run the first word of an entity is taken, letters and digits apart.
    """
    if line.tokens is not None:
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
    return {label: set(by_run.values()) for label, by_run in found.items()}, most


def _words_of_answers(answers: Collection[tuple[str, str]]) -> tuple[dict[str, set[str]], int]:
    """Return the words of answers as text, by label and of all under none; and the most in one."""
    found, most = defaultdict[str, set[str]](set), 1
    for label, text in answers:
        words = set(text.split())
        most = max(most, len(words))
        found[label] |= words
        found[""] |= words
    return found, most


class _Words:
    """Sums of the words of documents."""

    def __init__(self) -> None:
        self.words, self.longest, self.documents = Counter[str](), 1, 0

    def add(self, found: Mapping[str, Collection[str]], most: int) -> None:
        self.words.update({label: len(words) for label, words in found.items()})
        self.longest = max(self.longest, most)
        self.documents += bool(found.get(""))

    @property
    def counts(self) -> WordCounts:
        return WordCounts(self.words, self.longest, self.documents)


def of_documents(
    lines: Iterable[GoldLine], symmetric: Collection[str], normalised: Normalisation
) -> GoldCounts:
    """Count entities and relations as the scorer does: each once, however often a line has it.

    As answers as text they are the same where their texts are.
    """
    items, bounds, most_of_span = 0, 0, 1
    spans, relations, of_bounds = Counter[str](), Counter[str](), Counter[str]()
    answers, of_relations = Counter[str](), Counter[str]()
    words, of_answers = _Words(), _Words()
    for line in lines:
        items += 1
        entities, links = set(line.spans or ()), line.links(symmetric)
        spans.update(label for *_, label in entities)
        bounds += len({span[:2] for span in entities})
        relations.update(name for name, *_ in links)
        of_bounds.update(name for name, *_ in {(name, head[:2], tail[:2]) for name, head, tail in links})
        ends = Counter(span for _, head, tail in links for span in {head, tail})
        most_of_span = max([most_of_span, *ends.values()])
        texts = {
            span: normalised(text_of(*span[:2], text=line.text, tokens=line.tokens)) for span in entities
        }
        distinct = {(label, texts[start, end, label]) for start, end, label in entities}
        answers.update(label for label, _ in distinct)
        triples = ((name, texts[head], texts[tail]) for name, head, tail in links)
        of_relations.update(name for name, *_ in _in_one_order(triples, symmetric))
        words.add(*_words_of_spans(line, entities))
        of_answers.add(*_words_of_answers(distinct))
    return GoldCounts(
        items,
        spans,
        relations=relations,
        relations_of_span=most_of_span,
        answers=answers,
        answers_of_relations=of_relations,
        words={"spans": words.counts, "entity_texts": of_answers.counts},
        bounds=bounds,
        relations_of_bounds=of_bounds,
    )


def _lines(pk: int, only: int) -> Iterator[GoldLine]:
    decoder = msgspec.json.Decoder(GoldLine)
    kept = (
        set(TestSetRow.objects.filter(test_set=only).values_list("external_id", flat=True)) if only else None
    )
    for raw in export_lines(TestSet.objects.get(pk=pk)):
        line = decoder.decode(raw)
        if kept is None or line.id in kept:
            yield line
