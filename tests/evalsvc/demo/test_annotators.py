"""The four annotators: each errs as stated, some items stay open, some are disputed."""

from collections import Counter, defaultdict

import pytest

from evalsvc.demo import SEED
from evalsvc.demo.annotators import ANNOTATORS, Vote, relation_votes
from evalsvc.demo.corpus import Sentence, relation_corpus

CORPUS = relation_corpus(SEED)
BY_ID = {s.id: s for s in CORPUS}
# Over many draws, so that a rate is a rate and not luck.
MANY = [vote for seed in range(10) for vote in relation_votes(CORPUS, seed=seed)]


def wrong_share(annotator: str, *, implicit: bool | None = None) -> float:
    mine = [(v, BY_ID[v.item]) for v in MANY if v.annotator == annotator]
    judged = [(v, s) for v, s in mine if implicit is None or s.implicit is implicit]
    return sum(set(v.labels) != set(s.relations) for v, s in judged) / len(judged)


def answers(votes: list[Vote]) -> dict[str, list[tuple[str, ...]]]:
    by_item: defaultdict[str, list[tuple[str, ...]]] = defaultdict(list)
    for vote in votes:
        by_item[vote.item].append(vote.labels)
    return by_item


def disputed(labels: list[tuple[str, ...]]) -> bool:
    counts = Counter(label for answer in labels for label in answer)
    return bool(counts) and max(counts.values()) <= len(labels) / 2


def test_one_seed_gives_the_same_votes() -> None:
    assert list(relation_votes(CORPUS, seed=4)) == list(relation_votes(CORPUS, seed=4))


def test_nobody_answers_an_item_twice() -> None:
    votes = list(relation_votes(CORPUS, seed=SEED))
    assert len({(v.item, v.annotator) for v in votes}) == len(votes)
    assert {v.annotator for v in votes} == set(ANNOTATORS)


@pytest.mark.parametrize(("annotator", "rate"), [("mirela", 0.04), ("jorund", 0.12)])
def test_the_careful_and_the_hasty_slip_as_stated(annotator: str, rate: float) -> None:
    assert wrong_share(annotator) == pytest.approx(rate, abs=0.02)


def test_the_one_who_reads_in_only_ever_adds() -> None:
    mine = [v for v in MANY if v.annotator == "adaeze"]
    assert all(set(v.labels) >= set(BY_ID[v.item].relations) for v in mine)
    assert 0.08 <= wrong_share("adaeze") <= 0.2


def test_the_literal_one_misses_what_is_implied_and_nothing_else() -> None:
    assert wrong_share("caetano", implicit=True) == pytest.approx(0.85, abs=0.06)
    assert wrong_share("caetano", implicit=False) == 0


def test_a_small_share_of_items_is_open() -> None:
    by_item = answers(list(relation_votes(CORPUS, seed=SEED)))
    still_open = [s for s in CORPUS if len(by_item[s.id]) < 4]
    assert len(still_open) == round(0.07 * len(CORPUS))


def test_some_complete_items_are_disputed_and_most_are_not() -> None:
    by_item = answers(list(relation_votes(CORPUS, seed=SEED)))
    complete = [labels for labels in by_item.values() if len(labels) == 4]
    assert 0.06 <= sum(map(disputed, complete)) / len(complete) <= 0.2


def test_settled_items_are_nearly_always_right() -> None:
    def accepted(s: Sentence, labels: list[tuple[str, ...]]) -> bool:
        counts = Counter(label for answer in labels for label in answer)
        return {label for label, n in counts.items() if n > 2} == set(s.relations)

    by_item = answers(list(relation_votes(CORPUS, seed=SEED)))
    settled = {i: ls for i, ls in by_item.items() if len(ls) == 4 and not disputed(ls)}
    assert sum(accepted(BY_ID[i], ls) for i, ls in settled.items()) / len(settled) >= 0.97
