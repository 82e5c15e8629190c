"""Agreement on spans for a report: types, tokens, and types that are confused."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from workers.metrics.agreement import NO_PAIRS, ONE_CATEGORY
from workers.metrics.ratios import Floats
from workers.metrics.resampling import draw, percentile_interval
from workers.metrics.span_agreement import TokenCounter, TokenLabels, confused_labels, shared_spans
from workers.metrics.spans import Spans
from workers.scoring.answer_columns import AnswerColumns, TokenBounds

NO_TEXTS = "a file of answers has no texts: state them (--texts) to count tokens"
NOT_MARKED = "nobody marked it where two people answered"
Figure = dict[str, Any]


def span_figures(
    answers: AnswerColumns,
    spans: Spans,
    labels: Sequence[str],
    replicates: int,
    progress: Callable[[int], None],
) -> Figure:
    """Return F1 of pairs by type and over all, token α and the table of types."""
    shared = shared_spans(answers.item, spans, n_labels=len(labels))
    tokens = token_labels(answers)
    paired = np.bincount(answers.item, minlength=1).max() > 1 if answers.item else False

    def drawn(weights: Floats | None) -> Floats:
        alpha = tokens.alpha(weights) if tokens else float("nan")
        return np.append(shared.f1(weights), alpha)

    values = drawn(None)
    samples = np.empty((replicates, len(values)))
    for replicate in range(replicates):
        samples[replicate] = drawn(draw(answers.n_items, seed=0, replicate=replicate).astype(np.float64))
        if replicate % 20 == 0:
            progress(replicate)
    n = np.bincount(spans.label, minlength=len(labels))
    absent = NOT_MARKED if paired else NO_PAIRS
    ends = [
        _estimate(value, column, absent) for value, column in zip(values[:-1], samples.T[:-1], strict=True)
    ]
    alpha_reason = NO_TEXTS if tokens is None else ONE_CATEGORY if paired else NO_PAIRS
    return {
        "types": {
            label: {"spans": int(count), "f1": end}
            for label, count, end in zip(labels, n, ends[:-1], strict=True)
        },
        "f1": ends[-1],
        "token_alpha": _estimate(values[-1], samples.T[-1], alpha_reason),
        "confused": confused_labels(answers.item, spans, n_labels=len(labels)).tolist(),
    }


def token_labels(answers: AnswerColumns) -> TokenLabels | None:
    """Return the labels of tokens by item, None if the texts are unknown."""
    if len(answers.bounds) < answers.n_items:
        return None
    order = sorted(range(len(answers.item)), key=answers.item.__getitem__)
    counter = TokenCounter()
    for item, rows in groupby(order, key=answers.item.__getitem__):
        bounds = answers.bounds[item]
        marked = [_marked(answers.spans[row], bounds) for row in rows]
        counter.add(marked, len(bounds.starts))
    return counter.table()


def _marked(spans: Sequence[tuple[int, int, str]], bounds: TokenBounds) -> dict[int, frozenset[str]]:
    labels: dict[int, set[str]] = defaultdict(set)
    for start, end, label in spans:
        for token in bounds.covered(start, end):
            labels[token].add(label)
    return {token: frozenset(each) for token, each in labels.items()}


def _estimate(value: float, drawn: Floats, reason: str) -> Figure:
    low, high = percentile_interval(drawn[~np.isnan(drawn)], level=0.95)
    defined = [None if np.isnan(each) else float(each) for each in (value, low, high)]
    found: Figure = dict(zip(("value", "low", "high"), defined, strict=True))
    return found | ({"reason": reason} if np.isnan(value) else {})
