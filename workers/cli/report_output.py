"""Reports and rejections as text for people and as JSON for programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from evalsvc.core.formats.problems import Problems
from evalsvc.evaluation.measures.menu import MEASURES
from workers.metrics.report import ClassRow, Report, SpanOutcome, Value

INVENTORY_HINT = "The inventory is the labels of the gold. Give a larger one with --labels FILE."
OUTCOME_HEADS = ("class", "COR", "INC", "PAR", "MIS", "SPU", "F1")
HEADS = ("class", "gold", "predicted", "correct", "precision", "recall", "F")


def number(value: float) -> str:
    """Format with four decimals; undefined is a dash."""
    return "–" if value != value else f"{value:.4f}"


def table(rows: Iterable[Sequence[str]], *, words: int = 1) -> list[str]:
    """Align the first *words* columns to the left, others to the right."""
    cells = [list(row) for row in rows]
    sides = "<" * words + ">" * len(cells[0])
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    form = "  ".join(f"{{:{side}{width}}}" for side, width in zip(sides, widths, strict=False))
    return [form.format(*row).rstrip() for row in cells]


def report_text(report: Report) -> str:
    """Format measures by family, then classes, then counts."""
    parts = [_family(family, values) for family, values in _families(report).items()]
    parts += [[name, *table([HEADS, *map(_class, rows)])] for name, rows in report.classes.items() if rows]
    parts += [_schema(name, outcomes) for name, outcomes in report.outcomes.items()]
    counted = [(name, f"{value:,.10g}") for name, value in report.counts.items() if name != "macro_flip"]
    parts += [["counted", *table(counted)]] if counted else []
    parts += [list(report.notes)] if report.notes else []
    return "\n\n".join("\n".join(part) for part in parts)


def _schema(name: str, outcomes: dict[str, SpanOutcome]) -> list[str]:
    rows = [(label, *(f"{n:,}" for n in outcome), number(outcome.f1)) for label, outcome in outcomes.items()]
    return [f"SemEval-2013 {name}", *table([OUTCOME_HEADS, *rows])]


def _families(report: Report) -> dict[str, dict[str, Value]]:
    families: dict[str, dict[str, Value]] = {}
    for key, value in report.values.items():
        families.setdefault(MEASURES[key].family, {})[key] = value
    return families


def _family(name: str, values: dict[str, Value]) -> list[str]:
    rows = [(key, MEASURES[key].title, number(value.value)) for key, value in values.items()]
    reasons = sorted({value.reason for value in values.values() if value.reason})
    return [name, *table(rows, words=2), *(f"  {reason}" for reason in reasons)]


def _class(row: ClassRow) -> tuple[str, ...]:
    counts = (f"{row.gold:,}", f"{row.predicted:,}", f"{row.correct:,}")
    return (row.label, *counts, number(row.precision), number(row.recall), number(row.f1))


def report_json(report: Report, *, task: str) -> bytes:
    """Format as one JSON object; undefined figures are null with a reason."""
    body: dict[str, Any] = {
        "task": task,
        "measures": {key: value.value for key, value in report.values.items()},
        "reasons": {key: value.reason for key, value in report.values.items() if value.reason},
        "classes": {name: [row._asdict() for row in rows] for name, rows in report.classes.items()},
        "outcomes": {
            schema: {label: outcome._asdict() for label, outcome in outcomes.items()}
            for schema, outcomes in report.outcomes.items()
        },
        "counts": report.counts,
        "notes": report.notes,
    }
    if report.curve is not None:
        body["curve"] = {
            "recall": report.curve.recall.tolist(),
            "precision": report.curve.precision.tolist(),
            "score": report.curve.score.tolist(),
        }
    return msgspec.json.encode(body)


def rejection_text(problems: Problems, *, file: str) -> str:
    """Format the number of problems by kind, then the first ones."""
    kinds = ", ".join(f"{code} {count:,}" for code, count in problems.by_code.most_common())
    lines = [f"{problem.code}: {problem.sentence()}" for problem in problems.first]
    more = problems.total - len(lines)
    rest = [f"{more:,} more"] if more else []
    rest += [INVENTORY_HINT] if {"unknown_label", "near_label"} & problems.by_code.keys() else []
    return "\n".join([f"{file}: {problems.total:,} {_problems(problems.total)} ({kinds})", *lines, *rest])


def _problems(count: int) -> str:
    return "problem" if count == 1 else "problems"
