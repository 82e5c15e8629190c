"""Entity reports from tag lists: against seqeval (default and strict) and nervaluate."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np

from bench.cases.inputs import TYPES, Tagged, tagged
from bench.harness import Case, Goal, Side
from workers.metrics.encoding import Vocabulary
from workers.metrics.matching import SCHEMAS, PairingCounts, document_pairings
from workers.metrics.report import class_rows
from workers.metrics.spans import exact_counts
from workers.metrics.tags import spans_of_tags
from workers.metrics.weights import averages

SENTENCES, DOCUMENTS = 100_000, 20_000
Report = dict[str, tuple[float, ...]]


def seqeval_default(n: int = SENTENCES) -> Case:
    return _seqeval(n, orphans="conlleval", least=20, options={})


def seqeval_strict(n: int = SENTENCES) -> Case:
    from seqeval.scheme import IOB2

    return _seqeval(n, orphans="strict-iob2", least=12, options={"mode": "strict", "scheme": IOB2})


def _seqeval(n: int, *, orphans: str, least: float, options: dict[str, Any]) -> Case:
    from seqeval.metrics import classification_report

    def theirs(data: Tagged) -> Report:
        rows = classification_report(data.gold, data.predicted, output_dict=True, zero_division=0, **options)
        return {name.removesuffix(" avg"): _row(row) for name, row in rows.items()}

    mode = "strict IOB2" if options else "default"
    return Case(
        key="seqeval-strict" if options else "seqeval",
        title=f"Report on {n:,} tagged sentences, 18 types, against seqeval ({mode})",
        goals=(Goal("ratio", least=least, unit="×"),),
        ours=Side("ours", lambda: tagged(n), lambda data: exact_report(data, orphans)),
        theirs=Side("seqeval", lambda: tagged(n), theirs),
        floor=Side("one dict look-up a tag", lambda: tagged(n), look_up),
        same=same_figures,
        versions=("seqeval", "numpy"),
    )


def exact_report(data: Tagged, orphans: str) -> Report:
    """Precision, recall, F1 and support per class, and seqeval's three averages."""
    labels = Vocabulary()
    gold, predicted = (spans_of_tags(side, labels=labels, orphans=orphans) for side in data)
    counts = exact_counts(gold, predicted, n_labels=len(labels))
    values = averages(counts)
    names = [str(name) for name in labels]
    rows = {row.label: (row.precision, row.recall, row.f1, row.gold) for row in class_rows(names, counts)}
    for average in ("micro", "macro", "weighted"):
        figures = [values[f"{average}_{kind}"].value for kind in ("precision", "recall", "f1")]
        rows[average] = (*figures, len(gold))
    return rows


def _row(row: dict[str, float]) -> tuple[float, ...]:
    return (row["precision"], row["recall"], row["f1-score"], row["support"])


def same_figures(ours: Report, theirs: Report) -> None:
    assert ours.keys() == theirs.keys(), ours.keys() ^ theirs.keys()
    for name, row in ours.items():
        np.testing.assert_allclose(np.nan_to_num(row), theirs[name], rtol=0, atol=1e-12, err_msg=name)


def look_up(data: Tagged) -> int:
    """Touch every tag once, the least work possible from tag lists."""
    known = Vocabulary()
    total = 0
    for side in data:
        total += len(np.fromiter(map(known.__getitem__, chain.from_iterable(side)), dtype=np.int32))
    return total


def nervaluate(n: int = DOCUMENTS) -> Case:
    from nervaluate import Evaluator

    def theirs(data: Tagged) -> Report:
        schemas = Evaluator(data.gold, data.predicted, tags=TYPES, loader="list").evaluate()["overall"]
        return {
            {"ent_type": "type"}.get(name, name): (
                outcome.correct,
                outcome.incorrect,
                outcome.partial,
                outcome.missed,
                outcome.spurious,
                outcome.precision,
                outcome.recall,
                outcome.f1,
            )
            for name, outcome in schemas.items()
        }

    return Case(
        key="nervaluate",
        title=f"SemEval-2013's four schemas on {n:,} tagged sentences, against nervaluate",
        goals=(Goal("ratio", least=12, unit="×"),),
        ours=Side("ours", lambda: tagged(n, contested=False), schemas),
        theirs=Side("nervaluate", lambda: tagged(n, contested=False), theirs),
        floor=Side("one dict look-up a tag", lambda: tagged(n, contested=False), look_up),
        same=same_figures,
        versions=("nervaluate", "numpy"),
        remark="nervaluate also gives counts per type, with positions; its figures depend on the order "
        "of competing spans, so the data has none.",
    )


def schemas(data: Tagged) -> Report:
    """Five counts and three figures of each schema."""
    labels = Vocabulary()
    gold, predicted = (spans_of_tags(side, labels=labels) for side in data)
    counts = PairingCounts(*document_pairings(gold, predicted).sum(axis=0).tolist())
    outcomes = {schema: counts.outcome(schema) for schema in SCHEMAS}
    return {
        schema: (*outcome, outcome.precision, outcome.recall, outcome.f1)
        for schema, outcome in outcomes.items()
    }
