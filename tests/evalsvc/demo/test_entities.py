"""The entity corpus, its annotators and its systems."""

from collections import Counter, defaultdict
from itertools import pairwise
from statistics import mean, stdev

import pytest

from evalsvc.demo import SEED
from evalsvc.demo.entities import LABELS, SPAN_ANNOTATORS, Span, entity_corpus, span_votes
from evalsvc.demo.systems import RUNS
from evalsvc.demo.taggers import TAGGERS, Tagger, entity_predictions
from tests.evalsvc.demo.counting import micro_and_macro

CORPUS = entity_corpus(SEED)
BY_ID = {s.id: s for s in CORPUS}
BY_NAME = {tagger.key: tagger for tagger in TAGGERS}


def f1s(tagger: Tagger, seed: int) -> tuple[float, float, float]:
    """Mean micro, mean macro, deviation of micro over the runs."""
    corpus = entity_corpus(seed)
    gold = {(s.id, *span) for s in corpus for span in s.spans}
    pairs = [
        micro_and_macro(
            gold,
            {
                (line["id"], *span)
                for line in entity_predictions(tagger, run, corpus, seed=seed)
                for span in line["spans"]
            },
            classes=LABELS,
        )
        for run in RUNS
    ]
    micro, macro = zip(*pairs, strict=True)
    return mean(micro), mean(macro), stdev(micro)


def test_one_seed_gives_one_corpus() -> None:
    assert entity_corpus(SEED) == CORPUS
    assert entity_corpus(SEED + 1) != CORPUS


def test_there_are_enough_sentences_of_three_labels() -> None:
    assert len(CORPUS) >= 130
    assert len({s.text for s in CORPUS}) == len(CORPUS)
    counts = Counter(label for s in CORPUS for _, _, label in s.spans)
    assert set(counts) == set(LABELS)
    assert min(counts.values()) >= 30


def test_tokens_stand_where_they_say_and_cover_the_text() -> None:
    for s in CORPUS:
        assert tuple(s.text[a:b] for a, b in s.offsets) == s.tokens
        assert "".join(s.tokens) == "".join(s.text.split())


def test_spans_are_half_open_and_apart() -> None:
    for s in CORPUS:
        for start, end, _ in s.spans:
            assert 0 <= start < end <= len(s.tokens)
        ordered = sorted(s.spans)
        assert all(a[1] <= b[0] for a, b in pairwise(ordered))


def test_a_possessive_is_a_token_of_its_own() -> None:
    possessive = [s for s in CORPUS if "’s grandmother" in s.text]
    assert possessive
    assert all("’s" in s.tokens for s in possessive)


def test_three_annotators_err_each_in_their_way() -> None:
    cut, turned = 0, 0
    for vote in (v for seed in range(5) for v in span_votes(CORPUS, seed=seed)):
        truth = set(BY_ID[vote.item].spans)
        bounds = {span[:2] for span in truth}
        strange = [span for span in vote.spans if span not in truth]
        if vote.annotator == "mirela":
            assert not strange
        elif vote.annotator == "jorund":
            cut += sum(span[:2] not in bounds for span in strange)
            assert len(vote.spans) == len(truth)
        else:
            assert all(span[:2] in bounds for span in strange)
            turned += len(strange)
    assert cut > 50
    assert turned > 50


def test_some_sentences_are_open_and_some_split_three_ways() -> None:
    by_item: defaultdict[str, list[tuple[Span, ...]]] = defaultdict(list)
    for vote in span_votes(CORPUS, seed=SEED):
        by_item[vote.item].append(vote.spans)
    assert sum(len(by_item[s.id]) < len(SPAN_ANNOTATORS) for s in CORPUS) == round(0.06 * len(CORPUS))
    complete = {i: votes for i, votes in by_item.items() if len(votes) == len(SPAN_ANNOTATORS)}
    lost = [
        i
        for i, votes in complete.items()
        if any(sum(span in vote for vote in votes) < 2 for span in BY_ID[i].spans)
    ]
    assert 2 <= len(lost) <= 0.15 * len(CORPUS)


@pytest.mark.parametrize("tagger", TAGGERS, ids=lambda t: t.key)
def test_marked_spans_lie_within_the_sentence_and_none_twice(tagger: Tagger) -> None:
    for line in entity_predictions(tagger, 2, CORPUS, seed=SEED):
        spans = [tuple(span) for span in line["spans"]]
        assert len(spans) == len(set(spans))
        assert all(0 <= s < e <= len(BY_ID[line["id"]].tokens) and label in LABELS for s, e, label in spans)


def test_a_file_for_a_subset_marks_it_as_the_whole_does() -> None:
    whole = list(entity_predictions(TAGGERS[0], 3, CORPUS, seed=SEED))
    assert list(entity_predictions(TAGGERS[0], 3, CORPUS[5:9], seed=SEED)) == whole[5:9]


@pytest.mark.parametrize("seed", [SEED, 1])
def test_tagger_wins_by_micro_and_loses_by_macro(seed: int) -> None:
    tagger, reader = f1s(BY_NAME["tagger"], seed), f1s(BY_NAME["reader"], seed)
    assert tagger[0] - reader[0] >= 0.03
    assert reader[1] - tagger[1] >= 0.03


@pytest.mark.parametrize("tagger", TAGGERS, ids=lambda t: t.key)
def test_runs_vary_but_modestly(tagger: Tagger) -> None:
    assert 0.001 < f1s(tagger, SEED)[2] < 0.02
