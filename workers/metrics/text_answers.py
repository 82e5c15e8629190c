"""Answers without offsets: their sets, their words, and their places in the text."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from workers.metrics.counts import Counts, require_choice
from workers.metrics.encoding import Vocabulary
from workers.metrics.ratios import divide
from workers.metrics.report import Value, value_of
from workers.metrics.spans import Spans, exact_counts, spans_of_columns
from workers.metrics.weights import micro_averages, scheme_averages
from workers.metrics.words import Words, words_of_columns

START, END = "\ud800", "\ud801"  # lone surrogates: in no text
NO_WORD = re.compile(r"\W")
GROUNDINGS = ("ordered", "first", "all")
NO_DOCUMENTS = "there are no documents"
NO_ANSWERS = "there are no answers"


class Answer(NamedTuple):
    """A label code and the texts under it: of an entity, or of both ends of a relation.

    Codes from the size of the inventory on are labels that it lacks.
    """

    label: int
    texts: tuple[str, ...]


@dataclass(frozen=True)
class Document:
    """A text in which answers are found."""

    text: str
    casefold: bool = False

    @cached_property
    def _folded(self) -> tuple[str, list[int] | None]:
        """Return the text as compared, and the place of each of its characters."""
        joined = " ".join(self.text.split())
        if joined == self.text and not (self.casefold and not joined.isascii()):
            return (joined.lower() if self.casefold else joined), None
        characters: list[str] = []
        places: list[int] = []
        for at, character in enumerate(self.text):
            if character.isspace():
                folded = " " if characters and characters[-1] != " " else ""
            else:
                folded = character.casefold() if self.casefold else character
            characters += folded
            places += [at] * len(folded)
        return "".join(characters), places

    def occurrences(self, answer: str, *, most: int | None = None) -> list[tuple[int, int]]:
        """Return the places of a normalised text: disjoint, from left to right, not inside a word.

        Parameters
        ----------
        answer : str
        most : int, optional
            Stop at so many.

        Returns
        -------
        list of (int, int)
            Half-open, in code points of the text.

        Examples
        --------
        >>> Document("Stained in  Ain .", casefold=True).occurrences("ain")
        [(12, 15)]
        """
        text, places = self._folded
        marked, wanted = _marked(text), _with_marks(answer)
        next_after = len(wanted) - (2 if wanted.endswith(START + END) else 1)  # marks may be of two
        found: list[tuple[int, int]] = []
        at, passed, hit = 0, 0, marked.find(wanted) if answer else -1
        while hit >= 0 and len(found) != most:
            at += hit - passed - marked.count(START, passed, hit) - marked.count(END, passed, hit)
            end = at + len(answer)
            found.append((at, end) if places is None else (places[at], places[end - 1] + 1))
            passed, hit = hit, marked.find(wanted, hit + next_after)
        return found


def _with_marks(text: str) -> str:
    """Mark where an answer may start and end, so that a search passes over the insides of words."""
    return START + NO_WORD.sub(END + r"\g<0>" + START, text) + END


_marked = lru_cache(maxsize=1)(_with_marks)  # of the text in which many answers are looked for


@dataclass(frozen=True)
class TextAnswers:
    """Answers of each document, normalised, repeats included; None where the system abstained."""

    documents: Sequence[Sequence[Answer] | None]
    n_labels: int

    @cached_property
    def sets(self) -> list[frozenset[Answer]]:
        """The distinct answers of each document."""
        return [frozenset(answers or ()) for answers in self.documents]

    @cached_property
    def abstained(self) -> int:
        """Number of documents without an answer by the system's own word."""
        return sum(answers is None for answers in self.documents)

    @cached_property
    def answered(self) -> list[int]:
        """Documents that the system did not abstain from."""
        return [at for at, answers in enumerate(self.documents) if answers is not None]


def set_counts_of(gold: TextAnswers, predicted: TextAnswers, documents: Iterable[int]) -> Counts:
    """Count distinct answers per document and label, over some documents.

    Parameters
    ----------
    gold, predicted : TextAnswers
        Over the same documents and labels.
    documents : iterable of int

    Returns
    -------
    Counts
        One class per label, and a last one for labels outside the inventory, which are false claims.

    Examples
    --------
    >>> gold = TextAnswers([[Answer(0, ("Ada",))]], 1)
    >>> answers = TextAnswers([[Answer(0, ("Ada",)), Answer(1, ("Bo",))]], 1)
    >>> counts = set_counts_of(gold, answers, [0])
    >>> counts.tp.tolist(), counts.fp.tolist()
    ([1, 0], [0, 1])
    """
    size = gold.n_labels
    sums = np.zeros((3, size + 1), dtype=np.int64)  # correct, predicted, gold
    for at in documents:
        target, answer = gold.sets[at], predicted.sets[at]
        for row, part in enumerate((target & answer, answer, target)):
            for label, _ in part:
                sums[row, min(label, size)] += 1
    return Counts.from_totals(sums[0], sums[1], sums[2], items=int(sums[2].sum()))


def averages_with_foreign(counts: Counts, *, prefix: str = "", beta: float = 1.0) -> dict[str, Value]:
    """Compute micro averages with foreign labels, and weighted ones over the inventory.

    Parameters
    ----------
    counts : Counts
        The last class holds the claims of labels outside the inventory.
    prefix : str, default ""
    beta : float, default 1.0

    Returns
    -------
    dict of str to Value

    Examples
    --------
    >>> round(averages_with_foreign(Counts.of([1, 0], [0, 1], [0, 0]))["micro_f1"].value, 4)
    0.6667
    """
    figures = micro_averages(counts, beta=beta) | scheme_averages(inventory(counts), beta=beta)
    return {prefix + key: value for key, value in figures.items()}


def inventory(counts: Counts) -> Counts:
    """Leave out the last class, of labels outside the inventory.

    Examples
    --------
    >>> inventory(Counts.of([1, 0], [0, 1], [0, 0])).tp.tolist()
    [1]
    """
    return counts.select(np.arange(len(counts.tp)) < len(counts.tp) - 1)


def grounded_counts(gold: Spans, predicted: Spans, *, n_labels: int) -> Counts:
    """Count exact matches per label, those of labels outside the inventory as a last class.

    Parameters
    ----------
    gold, predicted : Spans
        In the same units; predicted labels may be *n_labels* or more.
    n_labels : int

    Returns
    -------
    Counts

    Examples
    --------
    >>> gold, foreign = (spans_of_columns([0], [0], [3], [code], n_documents=1) for code in (0, 4))
    >>> grounded_counts(gold, foreign, n_labels=1).fp.tolist()
    [0, 1]
    """
    codes = label_codes_used(predicted, n_labels)
    return folded(exact_counts(gold, predicted, n_labels=codes), n_labels)


def folded(counts: Counts, n_labels: int) -> Counts:
    """Sum all classes outside the inventory into the last one.

    Examples
    --------
    >>> folded(Counts.of([1, 0, 0], [0, 2, 3], [0, 0, 0]), 1).fp.tolist()
    [0, 5]
    """
    fold = np.minimum(np.arange(len(counts.tp)), n_labels)
    tp, fp, fn = (np.bincount(fold, part, n_labels + 1) for part in (counts.tp, counts.fp, counts.fn))
    return Counts.of(tp, fp, fn, items=counts.items)


def label_codes_used(spans: Spans, n_labels: int) -> int:
    """Return the number of label codes, with at least one outside the inventory.

    Examples
    --------
    >>> label_codes_used(spans_of_columns([0], [0], [3], [4], n_documents=1), 1)
    5
    """
    return max(n_labels, int(spans.label.max(initial=0))) + 1


def ground(documents: Sequence[Document], answers: TextAnswers, *, grounding: str = "ordered") -> Spans:
    """Find the answers in the texts.

    ordered: the i-th answer of a text and label takes its i-th occurrence, further ones are repeats; first:
    each distinct answer takes its first occurrence; all: each takes every one. An answer that occurs nowhere
    is one span behind the text, so that it stays a false claim.

    Parameters
    ----------
    documents : sequence of Document
    answers : TextAnswers
        Of single texts.
    grounding : {"ordered", "first", "all"}, default "ordered"

    Returns
    -------
    Spans
        In code points; foreign labels keep codes from the size of the inventory on.

    Examples
    --------
    >>> answers = TextAnswers([[Answer(0, ("Gus",)), Answer(0, ("Gus",))]], 1)
    >>> spans = ground([Document("Gus , Gus and Gus .")], answers)
    >>> list(zip(spans.start.tolist(), spans.end.tolist()))
    [(0, 3), (6, 9)]
    """
    require_choice("grounding", grounding, GROUNDINGS)
    rows: list[tuple[int, int, int, int]] = []
    for at, (document, given) in enumerate(zip(documents, answers.documents, strict=True)):
        counted, behind = Counter(given or ()), len(document.text) + 1
        most: dict[str, int | None] = {}
        for (_, (text,)), times in counted.items():
            most[text] = None if grounding == "all" else max(times, most.get(text) or 1)
        places = {text: document.occurrences(text, most=limit) for text, limit in most.items()}
        for (label, (text,)), times in counted.items():
            taken = places[text]
            if not taken:
                rows.append((at, behind, behind + 1, label))
                behind += 2
                continue
            if grounding != "all":
                taken = taken[: 1 if grounding == "first" else times]
            rows += [(at, start, end, label) for start, end in taken]
    columns = np.array(rows, dtype=np.int64).reshape(-1, 4).T
    return spans_of_columns(*columns, n_documents=len(documents))


def words_of_answers(*sides: TextAnswers) -> list[Words]:
    """Collect the words of answers, split at blanks, per document and label.

    Labels outside the inventory are left out.

    Parameters
    ----------
    *sides : TextAnswers
        Over the same documents and labels.

    Returns
    -------
    list of Words
        Over shared unigram numbers, a side each.

    Examples
    --------
    >>> gold = TextAnswers([[Answer(0, ("scroll tip",))]], 1)
    >>> [words.unigram.tolist() for words in words_of_answers(gold, gold)]
    [[0, 1], [0, 1]]
    """
    vocabulary = Vocabulary()
    columns = []
    for side in sides:
        rows = array("q")
        for at, answers in enumerate(side.sets):
            # distinct ones: a document of repeated words would take 200 MB
            words = {
                (label, vocabulary[word]): None
                for label, texts in answers
                if label < side.n_labels
                for text in texts
                for word in text.split()
            }
            for label, word in words:
                rows.extend((at, label, word))
        columns.append(np.frombuffer(rows, dtype=np.int64).reshape(-1, 3).T)
    return [
        words_of_columns(
            *column, n_documents=len(side.documents), n_labels=side.n_labels, n_unigrams=len(vocabulary)
        )
        for column, side in zip(columns, sides, strict=True)
    ]


@dataclass(frozen=True)
class Shares:
    """How many answers and documents are out of the ordinary."""

    answers: int
    distinct: int
    not_in_text: int
    foreign: int
    documents: int
    abstained: int

    @property
    def values(self) -> dict[str, Value]:
        """Shares of distinct answers, and of documents."""
        of_answers = {"not_in_text": self.not_in_text, "foreign_label": self.foreign}
        of_documents = {"abstained": self.abstained, "coverage": self.documents - self.abstained}
        return {
            f"answers_{key}": value_of(float(divide(part, whole)), reason=reason)
            for parts, whole, reason in (
                (of_answers, self.distinct, NO_ANSWERS),
                (of_documents, self.documents, NO_DOCUMENTS),
            )
            for key, part in parts.items()
        }

    @property
    def counts(self) -> dict[str, float]:
        """The numbers behind the shares."""
        numbers = {
            "answers": self.answers,
            "repeated_answers": self.answers - self.distinct,
            "answers_not_in_text": self.not_in_text,
            "answers_foreign_label": self.foreign,
            "abstained": self.abstained,
        }
        return {key: float(number) for key, number in numbers.items()}


def shares(documents: Sequence[Document], predicted: TextAnswers) -> Shares:
    """Count repeated, absent and foreign answers, and abstentions.

    Parameters
    ----------
    documents : sequence of Document
    predicted : TextAnswers

    Returns
    -------
    Shares

    Examples
    --------
    >>> shares([Document("Cy left .")], TextAnswers([[Answer(0, ("Cyrus",))]], 1)).not_in_text
    1
    """
    absent = foreign = 0
    for document, answers in zip(documents, predicted.sets, strict=True):
        found: dict[str, bool] = {}
        for label, texts in answers:
            foreign += label >= predicted.n_labels
            for text in texts:
                if text not in found:
                    found[text] = bool(document.occurrences(text, most=1))
            absent += not all(found[text] for text in texts)
    return Shares(
        answers=sum(len(answers or ()) for answers in predicted.documents),
        distinct=sum(map(len, predicted.sets)),
        not_in_text=absent,
        foreign=foreign,
        documents=len(documents),
        abstained=predicted.abstained,
    )


def undirected(answer: Answer, symmetric: Collection[int]) -> Answer:
    """Sort both ends of a relation without direction.

    Examples
    --------
    >>> undirected(Answer(0, ("Cy", "Bo")), {0}).texts
    ('Bo', 'Cy')
    """
    return Answer(answer.label, tuple(sorted(answer.texts))) if answer.label in symmetric else answer
