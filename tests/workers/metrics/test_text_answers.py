"""Entities and triples without offsets, by reference values of twelve documents."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest

from evalsvc.core.formats.answer_texts import Normalisation
from workers.metrics import text_answers
from workers.metrics.spans import spans_of_lists
from workers.metrics.suites import texts_suite, triples_suite
from workers.metrics.text_answers import (
    Answer,
    Document,
    TextAnswers,
    ground,
    undirected,
    words_of_answers,
)

LABELS = ["PER", "ORG", "LOC", "COMPANY"]  # the last is outside the inventory
INVENTORY = LABELS[:3]
DOCUMENTS = [
    (
        "Ada Byron met Ada Byron in Oslo .",
        [(0, 9, "PER"), (14, 23, "PER"), (27, 31, "LOC")],
        [("Ada Byron", "PER"), ("Oslo", "LOC")],
    ),
    (
        "The Bank of Oslo hired Bo .",
        [(4, 16, "ORG"), (23, 25, "PER")],
        [("the bank of Oslo", "ORG"), ("Bo", "PER")],
    ),
    ("Cy left .", [(0, 2, "PER")], [("Cyrus", "PER")]),
    ("Delta Air flew .", [(0, 9, "ORG")], [("Delta Air", "COMPANY")]),
    ("Eve and Fay sang .", [(0, 3, "PER"), (8, 11, "PER")], None),
    ("Nothing here .", [], []),
    (
        "New York Times of New York .",
        [(0, 14, "ORG"), (18, 26, "LOC")],
        [("New York Times", "ORG"), ("New York", "LOC"), ("New York", "LOC")],
    ),
    (
        "Gus , Gus and Gus .",
        [(0, 3, "PER"), (6, 9, "PER"), (14, 17, "PER")],
        [("Gus", "PER"), ("Gus", "PER")],
    ),
    ("Hal Corp owns Hal .", [(0, 8, "ORG"), (14, 17, "PER")], [("Hal", "PER"), ("Hal Corp", "ORG")]),
    ("It rained .", [], [("It", "LOC")]),
    ("Ivy  Lane  closed", [(0, 9, "LOC")], [(" Ivy Lane ", "LOC")]),
    ("Stained in Ain .", [(11, 14, "LOC")], [("ain", "LOC")]),
]
EXACT, FOLDED = Normalisation(), Normalisation(casefold=True)
ARTICLES = Normalisation(casefold=True, strip_articles=True)


def answers_of(rows, normal):
    return TextAnswers(
        [
            None
            if row is None
            else [Answer(LABELS.index(label), (normal(text),)) for text, label in row if normal(text)]
            for row in rows
        ],
        len(INVENTORY),
    )


def report_of(normal=EXACT, grounding="ordered", predicted=None):
    documents = [Document(text, normal.casefold) for text, _, _ in DOCUMENTS]
    gold_texts = [[(text[start:end], label) for start, end, label in gold] for text, gold, _ in DOCUMENTS]
    rows = [row for _, _, row in DOCUMENTS] if predicted is None else predicted(gold_texts)
    return texts_suite(
        documents,
        spans_of_lists([gold for _, gold, _ in DOCUMENTS], labels=LABELS),
        answers_of(gold_texts, normal),
        answers_of(rows, normal),
        labels=INVENTORY,
        grounding=grounding,
    )


@pytest.mark.parametrize(
    ("normal", "precision", "recall", "f1", "answered_recall", "answered_f1"),
    [
        (EXACT, 9 / 14, 9 / 15, 0.6206896551724138, 9 / 13, 0.6666666666666666),
        (FOLDED, 10 / 14, 10 / 15, 0.6896551724137931, 10 / 13, 0.7407407407407407),
        (ARTICLES, 11 / 14, 11 / 15, 0.7586206896551724, 11 / 13, 0.8148148148148148),
    ],
)
def test_sets_of_texts_have_the_reference_figures(
    normal, precision, recall, f1, answered_recall, answered_f1
):
    values = report_of(normal).values
    assert values["string_micro_precision"].value == pytest.approx(precision, abs=1e-12)
    assert values["string_micro_recall"].value == pytest.approx(recall, abs=1e-12)
    assert values["string_micro_f1"].value == pytest.approx(f1, abs=1e-12)
    assert values["string_answered_recall"].value == pytest.approx(answered_recall, abs=1e-12)
    assert values["string_answered_f1"].value == pytest.approx(answered_f1, abs=1e-12)


@pytest.mark.parametrize(
    ("normal", "grounding", "correct", "spurious", "missed"),
    [
        (EXACT, "first", 7, 7, 11),
        (EXACT, "all", 12, 7, 6),
        (EXACT, "ordered", 9, 7, 9),
        (FOLDED, "first", 8, 6, 10),
        (FOLDED, "all", 13, 6, 5),
        (FOLDED, "ordered", 10, 6, 8),
        (ARTICLES, "first", 9, 5, 9),
        (ARTICLES, "all", 14, 5, 4),
        (ARTICLES, "ordered", 11, 5, 7),
    ],
)
def test_answers_found_in_the_text_are_counted_as_spans(normal, grounding, correct, spurious, missed):
    values = report_of(normal, grounding).values
    assert values["conll_micro_precision"].value == pytest.approx(correct / (correct + spurious), abs=1e-12)
    assert values["conll_micro_recall"].value == pytest.approx(correct / (correct + missed), abs=1e-12)
    assert values["muc_strict_f1"].value == pytest.approx(values["conll_micro_f1"].value, abs=1e-12)


@pytest.mark.parametrize(
    ("normal", "strict", "lenient"),
    [
        (EXACT, 0.7300896471949103, 0.7240717177559283),
        (FOLDED, 0.8198669751301331, 0.8158935801041065),
        (ARTICLES, 0.8366910866910866, 0.8334554334554334),
    ],
)
def test_words_of_texts_have_the_reference_wrf(normal, strict, lenient):
    values = report_of(normal).values
    assert values["wrf_strict"].value == pytest.approx(strict, abs=1e-12)
    assert values["wrf_lenient"].value == pytest.approx(lenient, abs=1e-12)


def test_shares_count_absent_foreign_and_abstained_answers():
    report = report_of()
    assert report.values["answers_not_in_text"].value == pytest.approx(3 / 14)
    assert report.values["answers_foreign_label"].value == pytest.approx(1 / 14)
    assert report.values["answers_abstained"].value == pytest.approx(1 / 12)
    assert report.values["answers_coverage"].value == pytest.approx(0.9166666666666666)
    assert report.counts["answers"] == 16
    assert report.counts["repeated_answers"] == 2


@pytest.mark.parametrize(
    ("grounding", "f1"),
    [("ordered", 0.8888888888888888), ("all", 0.9473684210526315), ("first", 0.7878787878787878)],
)
def test_gold_as_texts_is_right_as_sets_but_not_always_in_place(grounding, f1):
    values = report_of(grounding=grounding, predicted=lambda gold: gold).values
    assert values["string_micro_f1"].value == 1.0
    assert values["wrf_strict"].value == 1.0
    assert values["conll_micro_f1"].value == pytest.approx(f1, abs=1e-12)


TRIPLES = [
    (
        [("Ada", "works_for", "Acme"), ("Acme", "based_in", "Oslo")],
        [("Ada", "works_for", "Acme"), ("Oslo", "based_in", "Acme"), ("Ada", "works_for", "Acme")],
    ),
    ([("Bo", "sibling", "Cy")], [("Cy", "sibling", "Bo")]),
    ([("Di", "works_for", "Eon")], None),
    ([], [("Fu", "employs", "Gil")]),
    ([("Hu", "lives_in", "Io")], [("hu", "lives_in", "Io")]),
]
RELATIONS = ["works_for", "based_in", "sibling", "lives_in", "employs"]


@pytest.mark.parametrize(
    ("normal", "symmetric", "f1", "answered_f1"),
    [
        (EXACT, ["sibling"], 0.4, 0.4444444444444444),
        (FOLDED, ["sibling"], 0.6, 0.6666666666666666),
        (EXACT, [], 0.2, 0.2222222222222222),
    ],
)
def test_triples_have_the_reference_figures(normal, symmetric, f1, answered_f1):
    undirected_codes = {RELATIONS.index(name) for name in symmetric}

    def side(rows):
        made = [
            None
            if row is None
            else [
                undirected(Answer(RELATIONS.index(name), (normal(head), normal(tail))), undirected_codes)
                for head, name, tail in row
            ]
            for row in rows
        ]
        return TextAnswers(made, 4)

    gold, predicted = (side([row[at] for row in TRIPLES]) for at in (0, 1))
    texts = [Document("Ada Acme Oslo"), *[Document("Bo and Cy")] * 4]
    report = triples_suite(texts, gold, predicted, relations=RELATIONS[:4])
    assert report.values["triple_micro_f1"].value == pytest.approx(f1, abs=1e-12)
    assert report.values["triple_answered_f1"].value == pytest.approx(answered_f1, abs=1e-12)
    assert report.counts["answers_foreign_label"] == 1


def test_two_foreign_labels_at_one_place_are_two_false_claims():
    said = TextAnswers([[Answer(1, ("Ada",)), Answer(2, ("Ada",))]], 1)
    gold = TextAnswers([[Answer(0, ("Ada",))]], 1)
    spans = spans_of_lists([[(0, 3, "PER")]], labels=["PER"])
    report = texts_suite([Document("Ada .")], spans, gold, said, labels=["PER"])
    assert report.counts["predicted"] == 2
    assert report.values["conll_micro_f1"].value == 0.0


def test_a_letter_that_folds_into_two_keeps_its_place():
    text = "In der  Straße 1 ."
    places = Document(text, casefold=True).occurrences(FOLDED("STRASSE 1"))
    assert [text[start:end] for start, end in places] == ["Straße 1"]


def test_an_answer_that_begins_inside_a_word_is_not_found():
    spans = ground([Document("Mainland")], TextAnswers([[Answer(0, ("land",))]], 1))
    assert spans.start[0] > len("Mainland")


PLACES = [
    ("ab ab abc ab", "ab", [(0, 2), (3, 5), (10, 12)]),
    ("ab ab abc ab ab", "ab ab", [(0, 5), (10, 15)]),
    ("a-b -b--b", "-b", [(4, 6), (7, 9)]),
    ("(a) (a)( a )", "(a)", [(0, 3), (4, 7)]),
    ("---a -- -", "-", [(0, 1), (1, 2), (5, 6), (6, 7), (8, 9)]),
    ("Été été_ été", "été", [(9, 12)]),
    ("", "a", []),
    ("a", "", []),
]


@pytest.mark.parametrize(("text", "answer", "places"), PLACES)
def test_an_answer_is_found_where_neither_end_is_inside_a_word(
    text: str, answer: str, places: list[tuple[int, int]]
) -> None:
    assert Document(text).occurrences(answer) == places
    assert Document(text).occurrences(answer, most=1) == places[:1]


def test_an_answer_that_ends_inside_words_is_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    searches = 0

    class Counting(str):
        def find(self, *given: Any) -> int:
            nonlocal searches
            searches += 1
            return super().find(*given)

    marked = text_answers._with_marks
    monkeypatch.setattr(text_answers, "_marked", lambda text: Counting(marked(text)))
    assert Document("ab " * 3_000).occurrences("ab a") == []
    assert len(Document("ab " * 3_000).occurrences("ab", most=2)) == 2
    assert searches <= 4


def test_words_that_answers_repeat_take_no_memory_each() -> None:
    answers = [[Answer(0, (f"{at} " + "a b " * 500,)) for at in range(100)] for _ in range(3)]
    side = TextAnswers(answers, 1)
    assert len(side.sets) == 3
    tracemalloc.start()
    [words] = words_of_answers(side)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(words.unigram) == 3 * 102
    assert peak < 1_000_000  # 300,000 words
