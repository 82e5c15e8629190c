"""Reports and rejections as text for people and as JSON for programs."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from evalsvc.core.formats.label_mapping import LabelMapping
from evalsvc.core.formats.old_labels import NOTHING
from evalsvc.core.formats.prediction_forms import TEXT_FORMS
from evalsvc.core.formats.problems import Problems
from evalsvc.evaluation.measures.computation import (
    SCORER,
    TAU,
    computation,
    f_title,
    in_words,
    operating_point,
)
from evalsvc.evaluation.measures.families import FAMILIES
from evalsvc.evaluation.measures.menu import BETA_FAMILIES, MEASURES, with_beta
from workers.cli.arguments import Options
from workers.metrics.ratios import scores
from workers.metrics.report import ClassRow, LabelOutcome, Report, SpanOutcome, Value
from workers.metrics.wrf import COMBINED, MODES, gammas
from workers.scoring.case import SCORED_FORMS, ScoringCase

Computed = dict[str, Any]


class Composed(NamedTuple):
    """A composed measure with its formula."""

    name: str
    formula: str
    value: Value


SCHEME_HINT = "Name the tag scheme with --scheme."
MISSING_HINT = "Count items without a prediction as wrong with --missing wrong."
OTHER_ITEMS_HINT = (
    "{:,} ids of the file are not in the gold, and {:,} of the gold not in the file. Are both of one split?"
)
INVENTORY_HINT = "The inventory is the labels of the gold. Give a larger one with --labels FILE."
OUTCOME_HEADS = (
    *("class", "POS", "ACT", "COR", "INC", "PAR", "MIS", "SPU"),
    *("precision", "recall", "F1"),
)
TOTAL = "total"
RANKINGS = ("bags", "opennre")
WORD_TABLES = ("wrf", "wrf_mean")
WORD_HEADS = (
    *("class", "words of the gold", "predicted", "shared", "R1-P", "R1-R", "R1-F1", "CoNLL F1"),
    *("γ strict", "γ lenient"),
)
MEAN_HEADS = ("class", "documents", "mean R1-P", "mean R1-R", "mean R1-F1")
HEADS = ("class", "gold", "predicted", "correct", "precision", "recall")


def number(value: float) -> str:
    """Format with four decimals; undefined is a dash."""
    return "–" if value != value else f"{value:.4f}"


def table(rows: Iterable[Sequence[str]], *, words: int = 1, last: int = 0) -> list[str]:
    """Align the first *words* and the *last* columns to the left."""
    cells = [list(row) for row in rows]
    sides = "<" * words + ">" * (len(cells[0]) - words - last) + "<" * last
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    form = "  ".join(f"{{:{side}{width}}}" for side, width in zip(sides, widths, strict=False))
    return [form.format(*row).rstrip() for row in cells]


def report_text(
    report: Report, computed: Computed, warnings: Sequence[str] = (), composed: Sequence[Composed] = ()
) -> str:
    """Format warnings, options, measures by family, classes and counts."""
    parts = [[f"Warning: {warning}" for warning in warnings]] if warnings else []
    parts += [computed_lines(computed)]
    families: dict[str, dict[str, Value]] = {}
    for key, value in report.values.items():
        families.setdefault(MEASURES[key].family, {})[key] = value
    parts += [_family(family, values, computed) for family, values in families.items()]
    own = [(name, number(value.value), value.reason or formula) for name, formula, value in composed]
    parts += [["Composed measures", *table(own, last=1)]] if own else []
    exact = {row.label: row.f1 for row in report.classes.get("conll", ())}
    parts += [
        _words(name, rows, exact) if name in WORD_TABLES else _classes(name, rows, computed)
        for name, rows in report.classes.items()
        if rows
    ]
    parts += [_schema(name, outcomes) for name, outcomes in report.outcomes.items()]
    counted = [(name, f"{count:,.10g}") for name, count in report.counts.items() if name != "macro_flip"]
    parts += [["counted", *table(counted)]] if counted else []
    parts += [list(report.notes)] if report.notes else []
    return "\n\n".join("\n".join(part) for part in parts)


def computed_lines(computed: Computed) -> list[str]:
    """Format how the figures were computed."""
    return ["How computed", *table(computed_rows(computed), words=2)]


def _schema(name: str, outcomes: dict[str, LabelOutcome]) -> list[str]:
    """Format the classes under a schema.

    COR, INC and PAR are counted by the label of the gold span.
    """
    rows = [_outcome(label, row[:5], row) for label, row in outcomes.items()]
    if outcomes:
        counts = [sum(column) for column in zip(*(row[:5] for row in outcomes.values()), strict=True)]
        rows.append(_outcome(TOTAL, counts, SpanOutcome(*counts)))
    return [f"SemEval-2013 {name}", *table([OUTCOME_HEADS, *rows])]


def _outcome(label: str, counts: Sequence[int], row: LabelOutcome | SpanOutcome) -> tuple[str, ...]:
    integers = (f"{n:,}" for n in (row.possible, row.actual, *counts))
    return (label, *integers, *(number(figure) for figure in (row.precision, row.recall, row.f1)))


def _family(name: str, values: dict[str, Value], computed: Computed) -> list[str]:
    """Format precision, recall and F in one row, others in one each."""
    stems = [key.removesuffix("_f1") for key in values if key.endswith("_f1")]
    stems = [stem for stem in stems if {f"{stem}_precision", f"{stem}_recall"} <= values.keys()]
    ends = ("precision", "recall", "f1")
    rows = [
        (
            MEASURES[f"{stem}_f1"].title.removesuffix(" F1"),
            *(number(values[f"{stem}_{end}"].value) for end in ends),
            f"{stem}_f1",
        )
        for stem in stems
    ]
    in_rows = {f"{stem}_{end}" for stem in stems for end in ends}
    single = [
        (MEASURES[key].title, number(value.value), key) for key, value in values.items() if key not in in_rows
    ]
    f = _f(name, computed)
    parts = table([("", "precision", "recall", f, "key"), *rows], last=1) if rows else []
    parts += table(single, last=1) if single else []
    reasons = sorted({value.reason for value in values.values() if value.reason})
    return [FAMILIES[name].title, *parts, *(f"  {reason}" for reason in reasons)]


def _f(family: str, computed: Computed) -> str:
    """Return the name of F in a family."""
    return str(computed["f"]) if family in BETA_FAMILIES else "F1"


def _classes(name: str, rows: Sequence[ClassRow], computed: Computed) -> list[str]:
    """Format the classes, then the total of those that are averaged."""
    beta = float(computed["beta"] or 1) if name in BETA_FAMILIES else 1.0
    negative = computed.get("negative")
    left_out = None if computed.get("include_negative") else negative
    cells = [_class(row, row.label == left_out) for row in rows]
    averaged = [row for row in rows if row.label != left_out]
    gold, predicted = sum(row.gold for row in averaged), sum(row.predicted for row in averaged)
    correct = sum(row.correct for row in averaged)
    figures = scores(correct, predicted - correct, gold - correct, beta=beta)
    total = ClassRow(TOTAL, gold, predicted, correct, *(float(part) for part in figures))
    f = _f(name, computed)
    title = FAMILIES[name].title if name in FAMILIES else name.replace("_", " ")
    counted = classes_counted(name, computed)
    place = f", {counted}" if counted else ""
    return [f"{title}: classes{place}", *table([(*HEADS, f, ""), *cells, _class(total, False)], last=1)]


def classes_counted(table: str, computed: Computed) -> str:
    """Name the score from which a table of classes counts claims: those of rankings at their own τ*."""
    if table in RANKINGS:
        return f"counted at {TAU}, the score of the best micro F1"
    return operating_point(computed) if table == "classification" else ""


def _words(name: str, rows: Sequence[ClassRow], exact: Mapping[str, float]) -> list[str]:
    """Format words by class with γ given and used, or their means over documents."""
    names = ["all together" if row.label == COMBINED else row.label for row in rows]
    shares = [[number(share) for share in (row.precision, row.recall, row.f1)] for row in rows]
    if name == "wrf_mean":
        documents = [f"{row.gold + row.predicted - row.correct:,}" for row in rows]
        lines = [(name, n, *of) for name, n, of in zip(names, documents, shares, strict=True)]
        return ["Entities by word: means over documents", *table([MEAN_HEADS, *lines])]
    used = []
    for mode in MODES:
        given = gammas(max(len(rows) - 1, 1), mode=mode)
        defined = np.array([row.f1 == row.f1 for row in rows]) * given
        total = defined.sum() or 1.0
        pairs = zip(given, defined / total, strict=True)
        used.append([f"{number(a)} → {number(b)}" if total < 1 - 1e-9 else number(a) for a, b in pairs])
    counts = [[f"{n:,}" for n in (row.gold, row.predicted, row.correct)] for row in rows]
    conll = [number(exact.get(row.label, float("nan"))) for row in rows]
    lines = [(n, *c, *s, e, *g) for n, c, s, e, *g in zip(names, counts, shares, conll, *used, strict=True)]
    return ["Entities by word: classes", *table([WORD_HEADS, *lines])]


def _class(row: ClassRow, left_out: bool) -> tuple[str, ...]:
    counts = (f"{row.gold:,}", f"{row.predicted:,}", f"{row.correct:,}")
    figures = (number(row.precision), number(row.recall), number(row.f1))
    return (row.label, *counts, *figures, "negative class, not averaged" if left_out else "")


def title(key: str, computed: Computed) -> str:
    """Return the title of a measure: micro F2 where β = 2."""
    return with_beta(MEASURES[key], float(computed["beta"])).title


def report_json(
    report: Report, computed: Computed, warnings: Sequence[str] = (), composed: Sequence[Composed] = ()
) -> bytes:
    """Format as one JSON object; undefined figures are null with a reason."""
    body: dict[str, Any] = {
        "task": computed["task"],
        "computed": computed,
        "warnings": warnings,
        "measures": {key: value.value for key, value in report.values.items()},
        "titles": {key: title(key, computed) for key in report.values},
        "reasons": {key: value.reason for key, value in report.values.items() if value.reason},
        "classes": {name: [row._asdict() for row in rows] for name, rows in report.classes.items()},
        "classes_counted": {
            name: counted for name in report.classes if (counted := classes_counted(name, computed))
        },
        "outcomes": {
            schema: {label: outcome._asdict() for label, outcome in outcomes.items()}
            for schema, outcomes in report.outcomes.items()
        },
        "counts": report.counts,
        "notes": report.notes,
    }
    if composed:
        body["composed"] = {
            name: {"value": value.value, "reason": value.reason, "formula": formula}
            for name, formula, value in composed
        }
    if report.curve is not None:
        body["curve"] = {
            "recall": report.curve.recall.tolist(),
            "precision": report.curve.precision.tolist(),
            "score": report.curve.score.tolist(),
        }
    return msgspec.json.encode(body)


def rejection_text(problems: Problems, *, file: str, labels: Path | None = None) -> str:
    """Format the number of problems by kind, then the first ones.

    `labels` is the stated inventory.
    """
    kinds = ", ".join(f"{code} {count:,}" for code, count in problems.by_code.most_common())
    lines = [f"{problem.code}: {problem.sentence()}" for problem in problems.first]
    more = problems.total - len(lines)
    rest = [f"{more:,} more"] if more else []
    rest += [SCHEME_HINT] if "no_scheme" in problems.by_code else []
    is_label = {"unknown_label", "near_label"} & problems.by_code.keys()
    rest += [INVENTORY_HINT] if is_label and labels is None else []
    unknown, missing = problems.by_code["unknown_id"], problems.by_code["missing_id"]
    if missing:
        rest += [OTHER_ITEMS_HINT.format(unknown, missing) if unknown else MISSING_HINT]
    noun = "problem" if problems.total == 1 else "problems"
    return "\n".join([f"{file}: {problems.total:,} {noun} ({kinds})", *lines, *rest])


def computed(
    options: Options, gold: Path, case: ScoringCase | None = None, *, old: LabelMapping = NOTHING
) -> Computed:
    """Return every choice behind the figures, with the digest of the gold file.

    Choices that do not apply are absent.
    """
    choices: dict[str, Any] = {key: getattr(options, key) for key in ("beta", "missing", "entropy")}
    if options.task == "joint":
        choices |= {"casefold": options.casefold, "symmetric": list(options.symmetric)}
    elif options.task == "entities":
        choices |= {key: getattr(options, key) for key in ("scheme", "repair", "casefold")}
    else:
        choices |= {"negative": options.negative}
    choices |= {"old_labels": old.clear} if old else {}
    if case is not None:
        choices["form"] = case.form
    if case is not None and case.form in TEXT_FORMS:
        choices["strip_articles"] = options.strip_articles
        choices |= {"grounding": options.grounding} if case.form == "entity_texts" else {}
    if case is not None and case.suite == "single labels":
        choices["include_negative"] = options.include_negative
    if case is not None and case.form in SCORED_FORMS:
        choices |= {"threshold": options.threshold, "profile": options.profile}
        choices |= {"aggregate": options.aggregate} if options.task == "bags" else {}
    libraries = {"numpy": np.__version__, "python": platform.python_version()}
    with gold.open("rb") as file:
        of_file = {"gold_file_sha256": hashlib.file_digest(file, "sha256").hexdigest()}
    stated = computation(choices, scorer=SCORER, gold=of_file)
    return {"task": options.task, "f": f_title(options.beta)} | stated | libraries


def computed_rows(computed: Computed) -> list[tuple[str, str]]:
    """Return titles and values for a table."""
    libraries = f"NumPy {computed['numpy']}, Python {computed['python']}"
    return [("Task", computed["task"]), *in_words(computed), ("Computed with", libraries)]
