"""The job `agreement`: pairs of annotators, each relation on its own, and whole answers, with intervals."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation import agreeing, outcomes
from annotation.mapping import Payload
from annotation.models import AgreementReport, Project
from annotation.testset import Kind
from evalsvc.jobs.moves import Store
from evalsvc.jobs.running import Progress
from evalsvc.pieces import in_pieces
from workers.metrics.agreement import (
    COEFFICIENTS,
    NO_PAIRS,
    Answers,
    agreement,
    answers_of_columns,
    coefficient,
)
from workers.metrics.annotators import FEW_COMMON, LEAST_COMMON, PairTable, cohen_kappa, span_f1
from workers.metrics.masi import MasiAlpha, sets_of_matrix
from workers.metrics.resampling import draw, percentile_interval
from workers.metrics.spans import spans_of_columns

REPLICATES = 1_000
SHOWN = 40
STEP = 2_000
BLANK = ""  # an answer that was left without any label: no relation is called so
Figure = dict[str, Any]
Weights = NDArray[np.int64]


@dataclass
class Said:
    """All answers as columns: who said which set of choices of what."""

    item: list[int] = field(default_factory=list)
    who: list[int] = field(default_factory=list)
    chosen: list[frozenset[str]] = field(default_factory=list)
    spans: list[list[tuple[int, int, str]]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    n_items: int = 0


def agree(subject: int, progress: Progress) -> Store:
    """Compute the report; the store keeps it."""
    begun = time.monotonic()
    report = AgreementReport.objects.select_related("project").get(pk=subject)
    said = read(report.project, progress)
    labels = sorted(outcomes.names_of(report.project, "relation"))
    table = pairs(said, report.project.kind)
    figures = {
        "answers": len(said.item),
        "items": said.n_items,
        "several_answers": int(np.sum(np.bincount(said.item, minlength=1) > 1)),
        "annotators": said.names,
        "people": people(said, table),
        "pairs": shown(said, table, report.project.kind),
        "relations": per_label(said, labels, progress),
        "replicates": REPLICATES,
    }
    if report.project.kind == Kind.RELATIONS:
        figures |= {"na": of_na(said, progress), "overall": overall(said, labels, progress)}
    return lambda: agreeing.done(report, figures | {"seconds": round(time.monotonic() - begun, 1)})


def read(project: Project, progress: Progress) -> Said:
    """The standing answers in today's labels; surplus ones too: they are judgments like the others."""
    mapping = outcomes.Rules(project).mapping
    said = Said()
    items: dict[int, int] = {}
    people: dict[int, int] = {}
    rows = agreeing.standing(project).values_list("item", "annotator", "annotator__name", "payload")
    for at, (item, annotator, name, payload) in enumerate(in_pieces(rows)):
        if annotator not in people:
            people[annotator] = len(people)
            said.names.append(name)
        now = mapping.payload(payload).payload
        said.item.append(items.setdefault(item, len(items)))
        said.who.append(people[annotator])
        said.chosen.append(_relations(now))
        said.spans.append([(start, end, label) for start, end, label in now["spans"]])
        if at % STEP == 0:
            progress(at, 0, "reading answers")
    said.n_items = len(items)
    return said


def _relations(payload: Payload) -> frozenset[str]:
    if payload.get("blank"):
        return frozenset({BLANK})
    return frozenset(name if isinstance(name, str) else name[1] for name in payload["relations"])


def pairs(said: Said, kind: str) -> PairTable:
    """One row per two annotators with items in common: κ over whole answers, or F1 of their spans."""
    if kind == Kind.RELATIONS:
        sets = {chosen: at for at, chosen in enumerate(sorted(set(said.chosen), key=sorted))}
        return cohen_kappa(said.item, said.who, [sets[one] for one in said.chosen])
    rows = [(at, *span) for at, spans in enumerate(said.spans) for span in spans]
    labels = {label: at for at, label in enumerate(sorted({row[3] for row in rows}))}
    answer, start, end, name = zip(*rows, strict=True) if rows else ((), (), (), ())
    spans = spans_of_columns(answer, start, end, [labels[one] for one in name], n_documents=len(said.item))
    return span_f1(said.item, said.who, spans)


def shown(said: Said, table: PairTable, kind: str) -> list[Figure]:
    """The pairs among those who answered most: as many as a heat map can show."""
    busy = {who for who, _ in Counter(said.who).most_common(SHOWN)}
    name = "kappa" if kind == Kind.RELATIONS else "f1"
    columns = (table.first, table.second, table.common, table.observed, table.value)
    return [
        {"first": int(a), "second": int(b), "common": int(n), "observed": float(observed)}
        | {"measure": name, "value": _figure(value)}
        | ({"reason": FEW_COMMON} if name == "kappa" and n < LEAST_COMMON else {})
        for a, b, n, observed, value in zip(*columns, strict=True)
        if a in busy and b in busy
    ]


def people(said: Said, table: PairTable) -> list[Figure]:
    """Each annotator's answers, share of N/A, and share of answers equal to another's on the same item."""
    size = len(said.names)
    answers = np.bincount(said.who, minlength=size)
    empty = [not chosen and not spans for chosen, spans in zip(said.chosen, said.spans, strict=True)]
    none = np.bincount(said.who, weights=empty, minlength=size)
    common, equal = np.zeros(size), np.zeros(size)
    for side in (table.first, table.second):
        common += np.bincount(side, weights=table.common, minlength=size)
        equal += np.bincount(side, weights=table.common * table.observed, minlength=size)
    return [
        {"name": name, "answers": int(n), "na": float(na / n), "common": int(of)}
        | {"agrees": float(same / of) if of else None}
        for name, n, na, of, same in zip(said.names, answers, none, common, equal, strict=True)
    ]


def of_na(said: Said, progress: Progress) -> Figure:
    """N/A as if it were a relation; an answer left without a label did not say it."""
    progress(0, 0, "agreement on N/A")
    holds = [int(not chosen) for chosen in said.chosen]
    answers = answers_of_columns(said.item, holds, n_items=said.n_items, n_categories=2)
    return {"answers": sum(holds)} | coefficients(answers, progress)


def per_label(said: Said, labels: Sequence[str], progress: Progress) -> dict[str, Figure]:
    """Each relation on its own: has it, or has it not."""
    found = {}
    for at, name in enumerate(labels):
        progress(at, len(labels) + 1, f"agreement on {name}")
        holds = [int(name in chosen) for chosen in said.chosen]
        answers = answers_of_columns(said.item, holds, n_items=said.n_items, n_categories=2)
        found[name] = {"answers": sum(holds)} | coefficients(answers, progress)
    return found


def overall(said: Said, labels: Sequence[str], progress: Progress) -> Figure:
    """Whole answers: a set is one category; α takes sets that share something for nearer."""
    progress(len(labels), len(labels) + 1, "agreement on whole answers")
    sets = {chosen: at for at, chosen in enumerate(sorted(set(said.chosen), key=sorted))}
    whole = [sets[one] for one in said.chosen]
    answers = answers_of_columns(said.item, whole, n_items=said.n_items, n_categories=len(sets))
    held = np.array([[name in chosen for name in (*labels, BLANK)] for chosen in said.chosen], dtype=bool)
    alpha = MasiAlpha(sets_of_matrix(said.item, held.reshape(len(said.chosen), -1), n_items=said.n_items))
    low, high = _interval({"alpha_masi": alpha}, said.n_items, progress)["alpha_masi"]
    masi = {"alpha_masi": {"value": _figure(alpha()), "low": low, "high": high}}
    return coefficients(answers, progress) | masi


def coefficients(answers: Answers, progress: Progress) -> Figure:
    """Every coefficient with its 95 % interval over items, or the reason why there is none."""
    values = agreement(answers)
    asked: dict[str, Callable[[Weights], float]] = {
        name: partial(_weighted, answers, name) for name in COEFFICIENTS
    }
    bounds = _interval(asked, answers.n_items, progress) if answers.modal else {}
    told = {}
    for name, value in values.items():
        low, high = bounds.get(name, (None, None))
        reason = {} if value.defined else {"reason": value.reason or NO_PAIRS}
        told[name] = {"value": _figure(value.value), "low": low, "high": high} | reason
    return told


def _weighted(answers: Answers, name: str, weights: Weights) -> float:
    return coefficient(answers, name, weights=weights)


def _interval(
    asked: Mapping[str, Callable[[Weights], float]], n_items: int, progress: Progress
) -> dict[str, tuple[float | None, float | None]]:
    """Percentile intervals of several figures from the same draws."""
    drawn: dict[str, list[float]] = {name: [] for name in asked}
    for replicate in range(REPLICATES):
        weights = draw(n_items, seed=0, replicate=replicate)
        for name, figure in asked.items():
            drawn[name].append(figure(weights))
        if replicate % 100 == 0:
            progress(replicate, REPLICATES)
    found = {name: percentile_interval(values, level=0.95) for name, values in drawn.items()}
    return {name: (_figure(one.low), _figure(one.high)) for name, one in found.items()}


def _figure(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
