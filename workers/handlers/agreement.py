"""The job `agreement`: pairs of annotators, each relation on its own, and whole answers, with intervals."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from annotation.consensus import item_state
from annotation.consensus.label_mapping import Payload
from annotation.models import AgreementReport, Project
from annotation.reports import agreement
from annotation.testset import Kind
from evalsvc.core.db.batched_reads import in_batches
from evalsvc.core.jobs.lease import Progress
from evalsvc.core.jobs.transitions import Store
from workers.handlers.agreement_intervals import REPLICATES, Figure, Question, answered, number
from workers.metrics.agreement import answers_of_columns
from workers.metrics.annotators import FEW_COMMON, LEAST_COMMON, PairTable, cohen_kappa, span_f1
from workers.metrics.counts import Ints
from workers.metrics.spans import spans_of_columns

SHOWN = 40
STEP = 2_000
BLANK = ""  # an answer that was left without any label: no relation is called so


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
    labels = sorted(item_state.label_names(report.project, "relation"))
    table = pairs(said, report.project.kind)
    figures = {
        "answers": len(said.item),
        "items": said.n_items,
        "several_answers": int(np.sum(np.bincount(said.item, minlength=1) > 1)),
        "annotators": said.names,
        "people": people(said, table),
        "pairs": shown(said, table, report.project.kind),
        "replicates": REPLICATES,
    } | compared(said, labels, report.project.kind, progress)
    return lambda: agreement.done(report, figures | {"seconds": round(time.monotonic() - begun, 1)})


def read(project: Project, progress: Progress) -> Said:
    """The standing answers in today's labels; surplus ones too: they are judgments like the others."""
    mapping = item_state.Rules(project).mapping
    said = Said()
    items: dict[int, int] = {}
    people: dict[int, int] = {}
    rows = agreement.standing(project).values_list("item", "annotator", "annotator__name", "payload")
    for at, (item, annotator, name, payload) in enumerate(in_batches(rows)):
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
        | {"measure": name, "value": number(value)}
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


def compared(said: Said, labels: Sequence[str], kind: str, progress: Progress) -> Figure:
    """Each relation on its own: has it, or has it not. Where that is all, N/A and whole answers too."""
    sets = sorted(set(said.chosen), key=sorted)
    place = {chosen: at for at, chosen in enumerate(sets)}
    whole = np.array([place[one] for one in said.chosen], dtype=np.int64)
    makers = [partial(_has, said, whole, [name in one for one in sets]) for name in labels]
    if kind == Kind.RELATIONS:
        makers += [
            partial(_has, said, whole, [not one for one in sets]),
            partial(_whole, said, whole, sets, labels),
        ]
    told = answered(makers, n_items=said.n_items, progress=progress)
    more = dict(zip(("na", "overall"), told[len(labels) :], strict=False))
    return {"relations": dict(zip(labels, told, strict=False))} | more


def _has(said: Said, whole: Ints, holds: Sequence[bool]) -> Question:
    """One choice as if it were all there is; an answer left without a label did not say N/A."""
    has = np.array(holds, dtype=np.int64)[whole]
    answers = answers_of_columns(said.item, has, n_items=said.n_items, n_categories=2)
    return Question(answers, yes=int(has.sum()))


def _whole(said: Said, whole: Ints, sets: Sequence[frozenset[str]], labels: Sequence[str]) -> Question:
    """A set is one category; what sets share tells α which are nearer."""
    answers = answers_of_columns(said.item, whole, n_items=said.n_items, n_categories=len(sets))
    members = [[name in one for name in (*labels, BLANK)] for one in sets]
    return Question(answers, members=np.array(members, dtype=bool).reshape(len(sets), len(labels) + 1))
