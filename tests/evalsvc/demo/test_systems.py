"""The three relation systems: complete files, modest variance, and the two pairs that change places."""

from collections.abc import Callable
from statistics import mean, stdev
from typing import Any

import pytest

from evalsvc.demo import SEED
from evalsvc.demo.corpus import Sentence, facts_of, relation_corpus
from evalsvc.demo.relations import KEYS
from evalsvc.demo.systems import RUNS, SYSTEMS, predictions
from tests.evalsvc.demo.counting import average_precision, micro_and_macro

BY_NAME = {system.key: system for system in SYSTEMS}
SEEDS = (SEED, 1)
CORPORA = {seed: relation_corpus(seed) for seed in SEEDS}
Measure = Callable[[list[Sentence], list[dict[str, Any]]], float]


def sentence_f1(corpus: list[Sentence], lines: list[dict[str, Any]]) -> tuple[float, float]:
    gold = {(s.id, relation) for s in corpus for relation in s.relations}
    claimed = {(line["id"], r) for line in lines for r, x in line["scores"].items() if x >= 0.5}
    return micro_and_macro(gold, claimed, classes=KEYS)


def micro(corpus: list[Sentence], lines: list[dict[str, Any]]) -> float:
    return sentence_f1(corpus, lines)[0]


def macro(corpus: list[Sentence], lines: list[dict[str, Any]]) -> float:
    return sentence_f1(corpus, lines)[1]


def bag_precision(corpus: list[Sentence], lines: list[dict[str, Any]], *, source: bool) -> float:
    gold = {(*pair, r) for pair, held in facts_of(corpus, source=source).items() for r in held}
    scores: dict[tuple[str, str, str], float] = {}
    for s, line in zip(corpus, lines, strict=True):
        for relation, x in line["scores"].items():
            scores[*s.pair, relation] = max(x, scores.get((*s.pair, relation), 0.0))
    return average_precision(gold, scores)


def held_out(corpus: list[Sentence], lines: list[dict[str, Any]]) -> float:
    return bag_precision(corpus, lines, source=True)


def manual_bag(corpus: list[Sentence], lines: list[dict[str, Any]]) -> float:
    return bag_precision(corpus, lines, source=False)


def values(system: str, measure: Measure, seed: int = SEED) -> list[float]:
    corpus = CORPORA[seed]
    return [measure(corpus, list(predictions(BY_NAME[system], run, corpus, seed=seed))) for run in RUNS]


def margin(better: str, worse: str, measure: Measure, seed: int) -> float:
    return mean(values(better, measure, seed)) - mean(values(worse, measure, seed))


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda s: s.key)
def test_a_file_scores_every_relation_of_every_sentence(system: Any) -> None:
    corpus = CORPORA[SEED]
    lines = list(predictions(system, 1, corpus, seed=SEED))
    assert [line["id"] for line in lines] == [s.id for s in corpus]
    for line in lines:
        assert tuple(line["scores"]) == KEYS
        assert all(0 < x < 1 and round(x, 4) == x for x in line["scores"].values())


def test_runs_repeat_and_differ_from_each_other() -> None:
    corpus = CORPORA[SEED]
    first, again, other = (list(predictions(SYSTEMS[0], run, corpus, seed=SEED)) for run in (1, 1, 2))
    assert first == again
    assert first != other


def test_a_file_for_a_subset_scores_it_as_the_whole_does() -> None:
    corpus = CORPORA[SEED]
    whole = list(predictions(SYSTEMS[1], 3, corpus, seed=SEED))
    assert list(predictions(SYSTEMS[1], 3, corpus[10:30], seed=SEED)) == whole[10:30]


@pytest.mark.parametrize("seed", SEEDS)
def test_memory_wins_on_source_labels_and_loses_on_human_gold(seed: int) -> None:
    assert margin("memory", "markers", held_out, seed) >= 0.03
    assert margin("markers", "memory", manual_bag, seed) >= 0.03


@pytest.mark.parametrize("seed", SEEDS)
def test_markers_wins_by_micro_and_loses_by_macro(seed: int) -> None:
    assert margin("markers", "prompted", micro, seed) >= 0.03
    assert margin("prompted", "markers", macro, seed) >= 0.03


@pytest.mark.parametrize("system", BY_NAME)
def test_runs_vary_but_modestly(system: str) -> None:
    assert 0.001 < stdev(values(system, micro)) < 0.025
