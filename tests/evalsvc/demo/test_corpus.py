"""The relation corpus: its size, its long tail, its positions, and how wrong its sources are."""

from collections import Counter

import pytest

from evalsvc.demo import SEED
from evalsvc.demo.corpus import Sentence, facts_of, relation_corpus
from evalsvc.demo.names import world
from evalsvc.demo.relations import BY_KEY, KEYS, fits

SEEDS = (SEED, 1, 7)


@pytest.fixture(params=SEEDS)
def corpus(request: pytest.FixtureRequest) -> list[Sentence]:
    return relation_corpus(request.param)


def test_one_seed_gives_one_corpus_and_another_seed_another() -> None:
    assert relation_corpus(SEED) == relation_corpus(SEED)
    assert relation_corpus(SEED) != relation_corpus(SEED + 1)


def test_there_are_enough_sentences_and_bags(corpus: list[Sentence]) -> None:
    sizes = Counter(s.pair for s in corpus)
    assert len(corpus) >= 280
    assert len(sizes) >= 140
    assert set(sizes.values()) == {1, 2, 3, 4, 5}


def test_ids_and_texts_are_unique(corpus: list[Sentence]) -> None:
    assert len({s.id for s in corpus}) == len({s.text for s in corpus}) == len(corpus)


def test_offsets_hold_the_names(corpus: list[Sentence]) -> None:
    for s in corpus:
        assert s.text[s.head.start : s.head.end] == s.head.entity.name
        assert s.text[s.tail.start : s.tail.end] == s.tail.entity.name
        assert s.head.end <= s.tail.start or s.tail.end <= s.head.start


def test_nine_relations_and_none_occur_with_a_long_tail(corpus: list[Sentence]) -> None:
    counts = Counter(relation for s in corpus for relation in s.relations)
    assert set(counts) == set(KEYS)
    assert len(KEYS) == 9
    assert max(counts.values()) >= 15 * min(counts.values())
    assert 0.3 <= sum(not s.relations for s in corpus) / len(corpus) <= 0.55


def test_relations_join_the_kinds_they_are_defined_for(corpus: list[Sentence]) -> None:
    for s in corpus:
        assert set(s.relations) | set(s.source) <= set(fits(s.signature))


def test_some_sentences_state_two_relations_and_none_states_more(corpus: list[Sentence]) -> None:
    assert {len(s.relations) for s in corpus} == {0, 1, 2}


def test_all_sentences_of_a_pair_carry_the_same_source_labels(corpus: list[Sentence]) -> None:
    claimed = facts_of(corpus, source=True)
    assert all(s.source == claimed[s.pair] for s in corpus)


def test_source_labels_are_wrong_about_as_often_as_published(corpus: list[Sentence]) -> None:
    truth, source = facts_of(corpus), facts_of(corpus, source=True)
    gold = {(pair, r) for pair, held in truth.items() for r in held}
    claimed = {(pair, r) for pair, held in source.items() for r in held}
    assert len(gold & claimed) / len(claimed) == pytest.approx(0.691, abs=0.04)
    assert len(gold & claimed) / len(gold) == pytest.approx(0.339, abs=0.04)
    assert sum(truth[p] == source[p] for p in truth) / len(truth) == pytest.approx(0.471, abs=0.06)


def test_people_are_born_once_and_die_once(corpus: list[Sentence]) -> None:
    for once in ("place_of_birth", "place_of_death"):
        heads = [pair[0] for pair, held in facts_of(corpus).items() if once in held]
        assert len(heads) == len(set(heads))


def test_what_contains_a_town_does_so_on_the_map(corpus: list[Sentence]) -> None:
    stated = [s for s in corpus if "contains" in s.relations]
    assert all(s.head.entity.name in s.tail.entity.within for s in stated)


def test_some_statements_are_only_implied(corpus: list[Sentence]) -> None:
    implied = [s for s in corpus if s.implicit]
    assert 20 <= len(implied) <= 60
    assert all(s.relations for s in implied)


def test_names_are_unique_and_the_two_coasts_mix() -> None:
    w = world(SEED)
    names = [e.name for e in w.artists + w.staff + w.towns + w.lands + w.companies + w.institutions]
    assert len(names) == len(set(names))
    assert any("ø" in n for n in names)
    assert any("ç" in n for n in names)


def test_every_relation_is_explained() -> None:
    for r in BY_KEY.values():
        assert all((r.title, r.verb, r.group, r.definition))
        assert len(r.choose) == len(r.avoid) == 2
