"""ROUGE-1 of the words inside entities, against rouge-score."""

from __future__ import annotations

import random
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.cases.inputs import SEED
from bench.harness import Case, Goal, Side
from workers.metrics.spans import Spans, spans_of_columns
from workers.metrics.words import tokens_of_lists, words_of_spans, wrf_counts

PAIRS = 20_000
LENGTH = 24
LEAST, MOST = 12, 20


class Documents(NamedTuple):
    """Tokenised documents, and one gold and one predicted span in each."""

    tokens: list[list[str]]
    target: Spans
    predicted: Spans


def documents(n: int) -> Documents:
    """Make documents without repeated words, so that words and sets of words count alike."""
    rng = random.Random(SEED)
    words = [f"w{number}" for number in range(5_000)]
    tokens = [rng.sample(words, LENGTH) for _ in range(n)]
    return Documents(tokens, _spans(rng, n), _spans(rng, n))


def _spans(rng: random.Random, n: int) -> Spans:
    size = [rng.randint(LEAST, MOST) for _ in range(n)]
    start = [rng.randrange(LENGTH - MOST) for _ in range(n)]
    end = [at + length for at, length in zip(start, size, strict=True)]
    return spans_of_columns(range(n), start, end, [0] * n, n_documents=n)


def rouge(n: int = PAIRS) -> Case:
    return Case(
        key="rouge-score",
        title=f"ROUGE-1 F1 of {n:,} pairs of texts of {LEAST}–{MOST} words, against rouge-score",
        goals=(Goal("ratio", least=8, unit="×"),),
        ours=Side("ours, tokens and spans", lambda: documents(n), ours),
        theirs=Side("rouge-score, texts", lambda: texts(documents(n)), theirs),
        floor=Side("one dict look-up a token", lambda: documents(n), look_up),
        same=lambda a, b: np.testing.assert_allclose(a, b, rtol=0, atol=1e-12),
        versions=("rouge-score", "numpy"),
        remark="Ours looks up every token of the documents; rouge-score gets only the words of the spans.",
    )


def ours(data: Documents) -> NDArray[np.float64]:
    tokens = tokens_of_lists(data.tokens)
    sides = (words_of_spans(spans, tokens) for spans in (data.target, data.predicted))
    return wrf_counts(*sides, n_labels=1, per_document=True).f1[:, 0]


def texts(data: Documents) -> list[tuple[str, str]]:
    sides = []
    for spans in (data.target, data.predicted):
        bounds = zip(data.tokens, spans.start.tolist(), spans.end.tolist(), strict=True)
        sides.append([" ".join(words[start:end]) for words, start, end in bounds])
    return list(zip(*sides, strict=True))


def theirs(pairs: list[tuple[str, str]]) -> list[float]:
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(["rouge1"])
    return [scorer.score(target, predicted)["rouge1"].fmeasure for target, predicted in pairs]


def look_up(data: Documents) -> int:
    known: dict[str, int] = {}
    return sum(known.setdefault(word, len(known)) for words in data.tokens for word in words)
