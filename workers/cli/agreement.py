"""The agreement report of the service for a local file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from evalsvc.core.formats.label_list import read_labels
from evalsvc.core.formats.negative_class import USUAL
from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.readers import open_items, open_votes
from evalsvc.core.formats.records import ItemLine, VoteLine
from evalsvc.core.formats.registry import EmptyCell, formats, recognise_source
from evalsvc.core.formats.text_lines import LIMITS
from evalsvc.core.formats.text_spans import check_bounds
from workers.cli.arguments import naming
from workers.cli.report_output import number, table
from workers.scoring.agreement import agreement_figures
from workers.scoring.answer_columns import AnswerColumns

Figures = dict[str, Any]
COEFFICIENTS = {"observed": "observed", "fleiss": "Fleiss κ", "alpha": "Krippendorff α", "ac1": "Gwet AC1"}
FLEISS_ITEMS = "Fleiss κ: over the items with the usual number of answers alone."
NA, COMPLETE = "N/A", "complete answers"
MASI = "Krippendorff α of complete answers, MASI distance"
PAIRS = {"kappa": "Cohen κ", "f1": "span F1"}


def figures_of(
    votes: Path, *, labels: Path | None, texts: Path | None, negative: str | None, empty: EmptyCell
) -> Figures:
    """Read the answers and compute every figure of a report."""
    items = None
    if texts is not None:
        with naming(texts):
            items = _texts(texts)
    with naming(votes):
        answers = _answers(votes, items, negative, empty)
    by_label = not any(answers.spans)
    names = sorted(frozenset().union(*answers.chosen) - {""})
    if labels is not None:
        with naming(labels):
            problems = Problems()
            names = read_labels(labels, problems=problems)
            problems.raise_if_any()
    return agreement_figures(answers, names, by_label=by_label, progress=lambda *done: None)


def _texts(path: Path) -> dict[str, ItemLine]:
    """Read the items whose text or tokens the spans count."""
    problems = Problems()
    accepted = [name for name, known in formats("items").items() if not known.needs_scheme]
    key = recognise_source(path, problems=problems, accepted=accepted)
    items = {item.id: item for _, item in open_items(path, format=key, problems=problems)}
    problems.raise_if_any()
    return items


def _answers(
    votes: Path, items: dict[str, ItemLine] | None, negative: str | None, empty: EmptyCell
) -> AnswerColumns:
    """Read the answers, with N/A as the empty set of labels, and the texts of their items."""
    problems, known = Problems(), formats("votes")
    key = recognise_source(votes, problems=problems, accepted=known)
    negatives = {negative} if negative else {*USUAL, *known[key].negatives}
    answers = AnswerColumns()
    for line, vote in open_votes(votes, format=key, problems=problems, limits=LIMITS, empty=empty):
        labels = [
            each for each in vote.payload["relations"] if type(each) is not str or each not in negatives
        ]
        blank = not vote.na and not vote.payload["relations"] and not vote.payload["spans"]
        payload = {"relations": labels, "spans": vote.payload["spans"]}
        answers.add(vote.item, vote.annotator, vote.annotator, payload, blank=blank)
        if items is not None and _has_text(vote, items.get(vote.item), line, problems):
            answers.add_text(vote.item, items[vote.item].text or "", items[vote.item].tokens)
    problems.raise_if_any()
    return answers


def _has_text(vote: VoteLine, item: ItemLine | None, line: int, problems: Problems) -> bool:
    """Report an answer to an item that has no text, or one too short for its spans."""
    if item is None:
        expected = "the id of one of the texts"
        problems.add("unknown_id", line=line, field="item", value=vote.item, expected=expected)
        return False
    length = len(item.text or "" if item.tokens is None else item.tokens)
    return all(
        check_bounds(int(start), int(end), length=length, line=line, field="spans", problems=problems)
        for start, end, _ in vote.payload["spans"]
    )


def as_json(figures: Figures) -> str:
    """Format as one JSON object, as the service stores it."""
    return msgspec.json.encode(figures).decode()


def as_text(figures: Figures) -> str:
    """Format the coefficients, annotators and pairs as tables."""
    counted = [
        (name.replace("_", " "), f"{figures[name]:,}") for name in ("answers", "items", "several_answers")
    ]
    counted += [("annotators", f"{len(figures['annotators']):,}")]
    rows = [(name, row) for name, row in figures["relations"].items()]
    rows += [(title, figures[key]) for key, title in (("na", NA), ("overall", COMPLETE)) if key in figures]
    spans = _spans(figures["spans"], figures["replicates"]) if figures.get("spans") else []
    parts = [
        table(counted),
        _coefficients(rows, figures["replicates"]),
        spans,
        _people(figures),
        _pairs(figures),
    ]
    return "\n\n".join("\n".join(part) for part in parts if part)


def _coefficients(rows: Sequence[tuple[str, Figures]], replicates: int) -> list[str]:
    heads = ["", "answers"]
    for title in COEFFICIENTS.values():
        heads += [title, "95 % interval"]
    cells = [(name, f"{row['answers']:,}" if "answers" in row else "", *_values(row)) for name, row in rows]
    notes = [f"Intervals: bootstrap over items, {replicates:,} replicates.", FLEISS_ITEMS]
    masi = next((row["alpha_masi"] for _, row in rows if "alpha_masi" in row), None)
    notes += [f"{MASI}: {_number(masi['value'])} {_interval(masi)}".rstrip()] if masi else []
    reasons = {row[key]["reason"] for _, row in rows for key in COEFFICIENTS if row[key].get("reason")}
    return [*table([heads, *cells]), *notes, *(f"– {reason}" for reason in sorted(reasons))] if rows else []


def _spans(spans: Figures, replicates: int) -> list[str]:
    """Format F1 by type and α of tokens, then the types given to the same words."""
    entries = [(name, f"{row['spans']:,}", row["f1"]) for name, row in spans["types"].items()]
    entries += [("all types", "", spans["f1"]), ("Krippendorff α of tokens", "", spans["token_alpha"])]
    rows = [
        (name, n, _number(figure["value"]), _interval(figure), figure.get("reason", ""))
        for name, n, figure in entries
    ]
    lines = table([("type", "spans", "F1", "95 % interval", ""), *rows], last=1)
    lines.append(f"Intervals: bootstrap over items, {replicates:,} replicates.")
    names = [*spans["types"]]
    confused = [(name, *(f"{n:,}" for n in row)) for name, row in zip(names, spans["confused"], strict=True)]
    return [*lines, "", *table([("same words", *names), *confused])] if names else lines


def _values(row: Figures) -> list[str]:
    return [text for key in COEFFICIENTS for text in (_number(row[key]["value"]), _interval(row[key]))]


def _number(value: float | None) -> str:
    return "–" if value is None else number(value)


def _interval(figure: Figures) -> str:
    if figure["low"] is None:
        return ""
    return f"{number(figure['low'])}–{number(figure['high'])}"


def _people(figures: Figures) -> list[str]:
    rows = [
        (row["name"], f"{row['answers']:,}", number(row["na"]), f"{row['common']:,}", _number(row["agrees"]))
        for row in figures["people"]
    ]
    return table([("annotator", "answers", "share of N/A", "compared", "agrees"), *rows])


def _pairs(figures: Figures) -> list[str]:
    names, pairs = figures["annotators"], figures["pairs"]
    if not pairs:
        return []
    rows = [
        (names[row["first"]], names[row["second"]], f"{row['common']:,}", number(row["observed"]),
         _number(row["value"]), row.get("reason", ""))
        for row in pairs
    ]  # fmt: skip
    heads = ("first", "second", "common items", "observed", PAIRS[pairs[0]["measure"]], "")
    return table([heads, *rows], words=2, last=1)
