"""Gold and predictions of one setting, in the columns that the measures take."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from evalsvc.core.formats.answer_texts import Normalisation, text_of
from evalsvc.core.formats.old_labels import Stated
from evalsvc.core.formats.prediction_forms import TEXT_FORMS
from evalsvc.core.formats.records import Link, token_starts
from evalsvc.core.jobs.exceptions import InputFault
from workers.metrics import bags, suites
from workers.metrics.bags import Claims, Facts
from workers.metrics.classification import MISSING
from workers.metrics.counts import Ints
from workers.metrics.relations import Links, links_of_columns
from workers.metrics.report import Report
from workers.metrics.spans import Spans, spans_of_columns
from workers.metrics.text_answers import (
    Answer,
    Document,
    TextAnswers,
    ground,
    undirected,
)
from workers.metrics.words import Tokens
from workers.scoring.gold import Gold
from workers.scoring.predictions import Placed, Predictions

WORDLESS = "The gold has neither tokens nor text: no WRF."
Codes = NDArray[np.integer]
SCORED_FORMS = ("scores", "bag")


@dataclass(frozen=True, kw_only=True)
class ScoringOptions:
    """Every choice that changes a figure.

    With `single` None the gold decides: single labels, if every item has one. With `threshold` None scored
    claims count as made from τ* on.
    """

    unit: str
    labels: list[str]
    negative: str | None = None
    relations: Sequence[str] = ()
    symmetric: Collection[str] = ()
    single: bool | None = None
    beta: float = 1.0
    entropy: str = "all"
    include_negative: bool = False
    aggregate: str = "ONE"
    threshold: float | None = None
    profile: str = "both"
    casefold: bool = False
    strip_articles: bool = False
    grounding: str = "ordered"
    families: Collection[str] = suites.ENTITY_FAMILIES
    without_words: Literal["reject", "skip"] = "reject"


@dataclass(frozen=True)
class ScoringCase:
    """Gold and predictions of one setting, in a suite's columns."""

    gold: Gold
    form: str
    placed: Placed
    options: ScoringOptions
    warnings: Mapping[str, int] = field(default_factory=dict)
    old_labels: Stated = field(default_factory=dict)

    @classmethod
    def of(cls, gold: Gold, predictions: Predictions, options: ScoringOptions) -> ScoringCase:
        index = gold.pairs if predictions.form == "bag" else gold.index
        placed, old = predictions.placed(index), predictions.old_labels
        return cls(gold, predictions.form, placed, options, predictions.warnings, old)

    @property
    def n_items(self) -> int:
        return len(self.gold.index)

    @property
    def suite(self) -> str:
        """The key of the suite that serves this unit and form."""
        if self.form in TEXT_FORMS:
            return self.form.replace("_", " ")
        if self.options.unit == "document":
            return "entities"
        if self.form in SCORED_FORMS:
            return "ranking"
        by_item = self.options.unit == "sentence" and self.form == "label"
        return "single labels" if by_item and self.single else "label sets"

    @cached_property
    def single(self) -> bool:
        """True when every item has one label, the negative class included."""
        if self.options.single is not None:
            return self.options.single
        labels = self.labels_per_item
        return bool(labels.max(initial=0) <= 1 and (self.options.negative is not None or labels.all()))

    @cached_property
    def labels_per_item(self) -> Ints:
        return np.bincount(self.item_facts.pair, minlength=self.n_items)

    @cached_property
    def item_facts(self) -> Facts:
        """Gold (item, label) cells, each once."""
        codes = self.gold.codes(self.options.labels)
        owner = np.array(self.gold.owner, dtype=np.int64)
        return bags.facts_of_columns(owner, codes, n_pairs=self.n_items, n_relations=len(self.options.labels))

    @cached_property
    def facts(self) -> Facts:
        """Gold (unit, label) cells: a bag has the labels of its sentences."""
        facts, bag = self.item_facts, self.bag_of_item
        if bag is None:
            return facts
        size = {"n_pairs": len(self.gold.pairs), "n_relations": facts.n_relations}
        return bags.facts_of_columns(bag[facts.pair], facts.cells % facts.n_relations, **size)

    @cached_property
    def bag_of_item(self) -> Ints | None:
        return np.array(self.gold.pair, dtype=np.int64) if self.options.unit == "bag" else None

    @property
    def negative_items(self) -> int:
        """Items without a label, which the entropy scheme counts."""
        return 0 if self.options.unit == "bag" else int(np.count_nonzero(self.labels_per_item == 0))

    @cached_property
    def answers(self) -> tuple[Ints, Ints]:
        """Gold and predicted label of each item, the negative class last."""
        truth = np.full(self.n_items, len(self.options.labels), dtype=np.int64)
        truth[self.facts.pair] = self.facts.cells % self.facts.n_relations
        answer = np.full(self.n_items, MISSING, dtype=np.int64)
        answer[self.placed.row] = self.placed.label
        return truth, answer

    @cached_property
    def predicted_sets(self) -> tuple[Codes, Codes]:
        """Unit and label of each positive claim at the operating point."""
        if self.form in SCORED_FORMS:
            made = self.claims.score >= self.operating_point
            return self.claims.pair[made], self.claims.relation[made]
        positive = self.placed.label < len(self.options.labels)
        row, bag = self.placed.row[positive], self.bag_of_item
        return row if bag is None else bag[row], self.placed.label[positive]

    @cached_property
    def ranked(self) -> Report:
        """Figures of the claims by rank, in both profiles."""
        return suites.bags_suite(self.claims, self.facts, relations=self.options.labels)

    @property
    def operating_point(self) -> float:
        """The threshold, else τ*; without facts every claim counts as made."""
        if self.options.threshold is not None:
            return self.options.threshold
        profile = "opennre_" if self.options.profile == "opennre" else ""
        tau = self.ranked.values[f"{profile}tau"]
        return tau.value if tau.defined else -np.inf

    @cached_property
    def claims(self) -> Claims:
        """Scored claims about the unit, aggregated to bags where needed."""
        bag = self.bag_of_item if self.form == "scores" else None
        claims = bags.claims_of_columns(
            self.placed.row,
            self.placed.label,
            self.placed.score,
            n_pairs=self.n_items if bag is not None else self.facts.n_pairs,
            n_relations=self.facts.n_relations,
        )
        if bag is None:
            return claims
        return bags.bag_claims(claims, bag, aggregation=self.options.aggregate, n_bags=self.facts.n_pairs)

    @cached_property
    def gold_spans(self) -> Spans:
        gold, codes = self.gold, self.gold.codes(self.options.labels)
        return spans_of_columns(gold.owner, gold.start, gold.end, codes, n_documents=self.n_items)

    @cached_property
    def predicted_spans(self) -> Spans:
        placed = self.placed
        columns = [placed.row, placed.start, placed.end, placed.label]
        if placed.links:  # they count the spans of a document: its spans have to follow one another
            order = np.argsort(placed.row, kind="stable")
            columns = [column[order] for column in columns]
        document, start, end, label = columns
        return spans_of_columns(document, start, end, label, n_documents=self.n_items)

    @cached_property
    def gold_links(self) -> Links:
        return _links(self.gold_spans, self.gold.links, self.options)

    @cached_property
    def predicted_links(self) -> Links:
        return _links(self.predicted_spans, self.placed.links, self.options)

    @cached_property
    def words(self) -> tuple[Tokens | None, str]:
        """The words that WRF compares, if any, and a note."""
        from workers.scoring.tokenizer import words_of_gold  # what has tokens needs no spaCy

        if "wrf" not in self.options.families:
            return None, ""
        words, note = words_of_gold(self.gold, casefold=self.options.casefold)
        if words is None and not note and self.options.without_words == "reject":
            raise InputFault("no_tokens", "Some documents of the gold have neither tokens nor text.")
        return words, note or (WORDLESS if words is None else "")

    # ---- answers without offsets -------------------------------------------------------------------
    @cached_property
    def normalised(self) -> Normalisation:
        return Normalisation(self.options.casefold, self.options.strip_articles)

    @cached_property
    def texts(self) -> list[str]:
        """The texts of the documents, tokens joined by blanks."""
        texts = [
            text if tokens is None else " ".join(tokens)
            for text, tokens in zip(self.gold.texts, self.gold.tokens, strict=True)
        ]
        known = [text for text in texts if text is not None]
        if len(known) < len(texts):
            raise InputFault("no_tokens", "Some documents of the gold have neither tokens nor text.")
        return known

    @cached_property
    def documents(self) -> list[Document]:
        return [Document(text, self.options.casefold) for text in self.texts]

    @cached_property
    def gold_in_characters(self) -> Spans:
        return self._in_characters(self.gold_spans)

    @cached_property
    def predicted_in_characters(self) -> Spans:
        """The predicted spans, or the places of the answers; foreign labels come after the inventory."""
        if self.form not in TEXT_FORMS:
            return self._in_characters(self.predicted_spans)
        return ground(self.documents, self.predicted_texts, grounding=self.options.grounding)

    def _in_characters(self, spans: Spans) -> Spans:
        """Return spans of tokens in code points of the tokens joined by blanks."""
        start, end = spans.start.copy(), spans.end.copy()
        starts = [None if tokens is None else token_starts(tokens) for tokens in self.gold.tokens]
        for at, document in enumerate(spans.document.tolist()):
            if (of := starts[document]) is not None:
                last = int(spans.end[at]) - 1
                start[at] = of[int(spans.start[at])]
                end[at] = of[last] + len((self.gold.tokens[document] or ())[last])
        return replace(spans, start=start, end=end)

    @cached_property
    def gold_texts(self) -> TextAnswers:
        """The gold as the answers it asks for."""
        gold, spans, names = self.gold, self.gold_spans, self.options
        rows: list[list[Answer]] = [[] for _ in self.texts]
        of_span = [
            self.normalised(text_of(start, end, text=gold.texts[at], tokens=gold.tokens[at]))
            for at, start, end in zip(*(column.tolist() for column in spans.columns[:3]), strict=True)
        ]
        if self.form != "triple_texts":
            for document, text, label in zip(
                spans.document.tolist(), of_span, spans.label.tolist(), strict=True
            ):
                rows[document].append(Answer(label, (text,)))
            return TextAnswers(rows, len(names.labels))
        links = self.gold_links
        ends = zip(links.head.tolist(), links.relation.tolist(), links.tail.tolist(), strict=True)
        for head, relation, tail in ends:
            answer = Answer(relation, (of_span[head], of_span[tail]))
            rows[int(spans.document[head])].append(undirected(answer, self._symmetric))
        return TextAnswers(rows, len(names.relations))

    @cached_property
    def _symmetric(self) -> set[int]:
        return {at for at, name in enumerate(self.options.relations) if name in self.options.symmetric}

    @cached_property
    def predicted_texts(self) -> TextAnswers:
        """The answers of each document; one without a line has none."""
        names = self.options.labels if self.form == "entity_texts" else self.options.relations
        code = {name: at for at, name in enumerate(names)}
        rows: list[list[Answer] | None] = [[] for _ in self.texts]
        for row, answers in self.placed.answers.items():
            if answers is None:
                rows[row] = None
                continue
            foreign: dict[str, int] = {}
            made: list[Answer] = []
            for text, label, *tail in answers:
                number = code.get(label)
                if number is None:
                    number = len(names) + foreign.setdefault(label, len(foreign))
                answer = Answer(number, tuple(map(self.normalised, (text, *tail))))
                made.append(undirected(answer, self._symmetric))
            rows[row] = made
        return TextAnswers(rows, len(names))

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of items, and of claims left out."""
        if self.options.unit == "bag":
            counts = {"bags": len(self.gold.pairs), "sentences": self.n_items}
        else:
            counts = {"missing": self.placed.missing}
        return counts | {"left_out": self.placed.left_out} | self.read_counts

    @property
    def read_counts(self) -> dict[str, int]:
        """Numbers of repaired, dropped and merged tags and spans, by file."""
        sides = {"gold": self.gold.warnings, "predictions": self.warnings}
        return {f"{side}_{code}": n for side, counts in sides.items() for code, n in counts.items()}


def _links(spans: Spans, links: dict[int, tuple[Link, ...]], options: ScoringOptions) -> Links:
    """Number the ends of relations through the spans of all documents."""
    first = np.searchsorted(spans.document, np.arange(spans.n_documents))
    code = {name: at for at, name in enumerate(options.relations)}
    some = [(row, link) for row, of in sorted(links.items()) if code for link in of]
    try:
        rows = [(first[row] + head, code[name], first[row] + tail) for row, (head, name, tail) in some]
    except KeyError as error:
        reason = f"The gold has the relation {error.args[0]}, which the inventory lacks."
        raise InputFault("gold_label", reason) from error
    symmetric = [code[name] for name in options.symmetric]
    columns = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    return links_of_columns(spans, *columns, symmetric=symmetric)
