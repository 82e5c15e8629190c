"""Agreement of answers: annotators, pairs of them, relations and complete answers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workers.metrics.agreement import (
    COEFFICIENTS,
    NO_PAIRS,
    ONE_CATEGORY,
    AnswerTable,
    GroupedAnswers,
    agreement,
    answers_of_columns,
    coefficient,
    group_answers,
)
from workers.metrics.annotators import FEW_COMMON, LEAST_COMMON, NO_MARKS, PairTable, cohen_kappa, span_f1
from workers.metrics.counts import Ints
from workers.metrics.masi import MOST_SETS, MasiAlpha, SetAnswers
from workers.metrics.ratios import Floats
from workers.metrics.resampling import draw, percentile_interval
from workers.scoring.answer_columns import BLANK, AnswerColumns
from workers.scoring.span_agreement import span_figures

REPLICATES = 1_000
WEIGHTS_AT_ONCE = 500_000  # of items in draws
MOST_KNOWN = 100  # draws of a question whose figures are kept
CELLS_AT_ONCE = 12_000_000  # items times questions in memory at once: less than 200 MB of groups
TOO_MANY = f"more than {MOST_SETS:,} different answers: too many for an interval"
Figure = dict[str, Any]
Weighted = Callable[[Floats], float]
Progress = Callable[[int, int, str], None]
SHOWN = 40


def agreement_figures(
    answers: AnswerColumns, labels: Sequence[str], *, by_label: bool, progress: Progress
) -> Figure:
    """Return all figures of a report.

    Without `by_label`, pairs are compared by spans.
    """
    table = pairs(answers, by_label)
    return (
        {
            "answers": len(answers.item),
            "items": answers.n_items,
            "several_answers": int(np.sum(np.bincount(answers.item, minlength=1) > 1)),
            "annotators": answers.names,
            "people": annotators(answers, table),
            "pairs": shown_pairs(answers, table, by_label),
            "replicates": REPLICATES,
        }
        | coefficients(answers, labels, by_label, progress)
        | ({} if by_label else _of_spans(answers, progress))
    )


def overall_agreement(
    answers: AnswerColumns, labels: Sequence[str], *, by_label: bool, progress: Progress
) -> Figure:
    """Return the agreement of complete answers, or of spans, without that of pairs and single labels."""
    if not by_label:
        return _of_spans(answers, progress)
    sets = sorted(set(answers.chosen), key=sorted)
    place = {chosen: at for at, chosen in enumerate(sets)}
    codes = np.array([place[chosen] for chosen in answers.chosen], dtype=np.int64)
    makers = [partial(_complete, answers, codes, sets, labels)]
    return {"overall": intervals(makers, n_items=answers.n_items, progress=progress)[0]}


def _of_spans(answers: AnswerColumns, progress: Progress) -> Figure:
    spans, labels = answers.span_columns()

    def report(replicate: int) -> None:
        progress(replicate, REPLICATES, "resampling the items")

    return {"spans": span_figures(answers, spans, labels, REPLICATES, report)}


def pairs(answers: AnswerColumns, by_label: bool) -> PairTable:
    """Compare annotators on common items: κ of answers or F1 of spans."""
    if by_label:
        sets = {chosen: at for at, chosen in enumerate(sorted(set(answers.chosen), key=sorted))}
        return cohen_kappa(answers.item, answers.annotator, [sets[chosen] for chosen in answers.chosen])
    spans, _ = answers.span_columns()
    return span_f1(answers.item, answers.annotator, spans)


def shown_pairs(answers: AnswerColumns, table: PairTable, by_label: bool) -> list[Figure]:
    """Return the pairs among the most active annotators; one without a value has a reason."""
    active = {annotator for annotator, _ in Counter(answers.annotator).most_common(SHOWN)}
    name = "kappa" if by_label else "f1"

    def reason(common: int) -> str:
        if not by_label:
            return NO_MARKS
        return FEW_COMMON if common < LEAST_COMMON else ONE_CATEGORY

    columns = (table.first, table.second, table.common, table.observed, table.value)
    return [
        {"first": int(a), "second": int(b), "common": int(n), "observed": float(observed)}
        | {"measure": name, "value": number(value)}
        | ({"reason": reason(n)} if math.isnan(value) else {})
        for a, b, n, observed, value in zip(*columns, strict=True)
        if a in active and b in active
    ]


def annotators(answers: AnswerColumns, table: PairTable) -> list[Figure]:
    """Return each annotator's answers, share of N/A and share of agreement."""
    size = len(answers.names)
    counts = np.bincount(answers.annotator, minlength=size)
    empty = [not chosen and not spans for chosen, spans in zip(answers.chosen, answers.spans, strict=True)]
    none = np.bincount(answers.annotator, weights=empty, minlength=size)
    common, equal = np.zeros(size), np.zeros(size)
    for side in (table.first, table.second):
        common += np.bincount(side, weights=table.common, minlength=size)
        equal += np.bincount(side, weights=table.common * table.observed, minlength=size)
    return [
        {"name": name, "answers": int(n), "na": float(na / n), "common": int(shared)}
        | {"agrees": float(same / shared) if shared else None}
        for name, n, na, shared, same in zip(answers.names, counts, none, common, equal, strict=True)
    ]


def coefficients(answers: AnswerColumns, labels: Sequence[str], by_label: bool, progress: Progress) -> Figure:
    """Score each relation, and for relation projects N/A and complete answers."""
    sets = sorted(set(answers.chosen), key=sorted)
    place = {chosen: at for at, chosen in enumerate(sets)}
    codes = np.array([place[chosen] for chosen in answers.chosen], dtype=np.int64)
    makers = [partial(_presence, answers, codes, [name in each for each in sets]) for name in labels]
    if by_label:
        makers += [
            partial(_presence, answers, codes, [not each for each in sets]),
            partial(_complete, answers, codes, sets, labels),
        ]
    figures = intervals(makers, n_items=answers.n_items, progress=progress)
    more = dict(zip(("na", "overall"), figures[len(labels) :], strict=False))
    return {"relations": dict(zip(labels, figures, strict=False))} | more


def _presence(answers: AnswerColumns, codes: Ints, present: Sequence[bool]) -> Question:
    """Ask for one choice alone; a blank answer is not N/A."""
    has = np.array(present, dtype=np.int64)[codes]
    table = answers_of_columns(answers.item, has, n_items=answers.n_items, n_categories=2)
    return Question(table, positive=int(has.sum()))


def _complete(
    answers: AnswerColumns, codes: Ints, sets: Sequence[frozenset[str]], labels: Sequence[str]
) -> Question:
    """Ask for complete answers: each set of labels is a category."""
    table = answers_of_columns(answers.item, codes, n_items=answers.n_items, n_categories=len(sets))
    members = [[name in each for name in (*labels, BLANK)] for each in sets]
    return Question(table, members=np.array(members, dtype=bool).reshape(len(sets), len(labels) + 1))


@dataclass(frozen=True, eq=False)
class Question:
    """Answers to one question; `members` are labels of set categories."""

    answers: AnswerTable
    positive: int | None = None
    members: NDArray[np.bool_] | None = None


@dataclass(eq=False)
class QuestionSample:
    """A question with grouped items, values and the figures of draws."""

    positive: int | None
    groups: GroupedAnswers
    figures: Mapping[str, Weighted]
    values: dict[str, Figure]
    drawn: dict[str, list[float]]
    known: dict[bytes, list[float]] = field(default_factory=dict)

    def of(self, totals: Floats) -> list[float]:
        """Return the figures under weights of groups, which are often the same if few items have a label."""
        key = totals.tobytes()
        if (figures := self.known.get(key)) is None:
            figures = [figure(totals) for figure in self.figures.values()]
            if len(self.known) < MOST_KNOWN:
                self.known[key] = figures
        return figures


def intervals(makers: Sequence[Callable[[], Question]], *, n_items: int, progress: Progress) -> list[Figure]:
    """Return each question's figures; questions in memory share the draws."""
    results: list[Figure] = []
    n = max(1, CELLS_AT_ONCE // max(n_items, 1))
    for at in range(0, len(makers), n):
        samples = [_sample(make()) for make in makers[at : at + n]]
        report = partial(_report, progress, at, n, len(makers))
        _resample([sample for sample in samples if sample.figures], n_items, report)
        results += [_result(sample) for sample in samples]
    return results


def _sample(question: Question) -> QuestionSample:
    groups = group_answers(question.answers)
    values: dict[str, Figure] = {
        name: {"value": value.value} | ({} if value.defined else {"reason": value.reason or NO_PAIRS})
        for name, value in agreement(groups.answers).items()
    }
    figures: dict[str, Weighted] = {
        name: partial(_coefficient, groups.answers, name) for name in COEFFICIENTS if groups.answers.modal
    }
    if question.members is not None:
        alpha = MasiAlpha(SetAnswers(groups.answers, question.members))
        values["alpha_masi"] = {"value": alpha()}
        if alpha.kept is None:
            values["alpha_masi"]["reason"] = TOO_MANY
        elif figures:
            figures["alpha_masi"] = alpha
    return QuestionSample(question.positive, groups, figures, values, {name: [] for name in figures})


def _coefficient(answers: AnswerTable, name: str, weights: Floats) -> float:
    return coefficient(answers, name, weights=weights)


def _resample(samples: Sequence[QuestionSample], n_items: int, report: Callable[[int], None]) -> None:
    """Draw the same items for every question, counted by groups."""
    at_once = max(1, min(REPLICATES, WEIGHTS_AT_ONCE // max(n_items, 1)))
    for begin in range(0, REPLICATES if samples else 0, at_once):
        replicates = range(begin, min(begin + at_once, REPLICATES))
        weights = np.stack([draw(n_items, seed=0, replicate=each) for each in replicates]).astype(np.float64)
        report(begin)
        for at, sample in enumerate(samples):
            for totals in sample.groups.totals(weights, drawn=n_items):
                for name, value in zip(sample.figures, sample.of(totals), strict=True):
                    sample.drawn[name].append(value)
            if at % 20 == 0:
                report(begin + len(replicates) * at // len(samples))


def _report(progress: Progress, at: int, n: int, total: int, replicate: int) -> None:
    done = at + min(n, total - at) * replicate / REPLICATES
    progress(round(1_000 * done / total), 1_000, "resampling the items")


def _result(sample: QuestionSample) -> Figure:
    """Return values with 95 % intervals over items, or reasons."""
    result: Figure = {} if sample.positive is None else {"answers": sample.positive}
    for name, value in sample.values.items():
        ends = percentile_interval(sample.drawn.get(name, []), level=0.95)
        result[name] = value | {
            "value": number(value["value"]),
            "low": number(ends.low),
            "high": number(ends.high),
        }
    return result


def number(value: float) -> float | None:
    """Return the number, or None for nan, which JSON does not have."""
    return None if math.isnan(value) else float(value)
