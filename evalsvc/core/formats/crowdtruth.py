"""CrowdTruth's tables: judgments (unit, worker, relations) and units (unit, term1, term2, sentence)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from evalsvc.core.formats.json_lines import identifier
from evalsvc.core.formats.jsonl_votes import Once
from evalsvc.core.formats.mention_search import locate
from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.records import ItemLine, VoteLine, payload
from evalsvc.core.formats.text_lines import LIMITS, Limits, Source, read_lines

JUDGMENTS = ("unit", "worker", "relations")
UNITS = ("unit", "term1", "term2", "sentence")
NONE = "NONE"
Empty = Literal["no-vote", "no-label"]


def read_judgments(
    source: Source, *, problems: Problems, empty: Empty = "no-vote", limits: Limits = LIMITS
) -> Iterator[tuple[int, VoteLine]]:
    """Yield (line, vote): relations are separated by |, NONE is N/A.

    An empty cell is no vote, counted as such, or an answer without a label, as the curator chose.
    """
    once = Once(problems)
    for line, (unit, worker, cell) in _rows(source, JUDGMENTS, problems, limits):
        if not cell.strip() and empty == "no-vote":
            problems.add("empty_cell", line=line, field="relations")
            continue
        vote = _vote(unit, worker, cell, line, problems)
        if vote is not None and once.first(vote.item, vote.annotator, line=line):
            yield line, vote


def _vote(unit: str, worker: str, cell: str, line: int, problems: Problems) -> VoteLine | None:
    item = identifier(unit, line=line, field="unit", problems=problems)
    annotator = identifier(worker, line=line, field="worker", problems=problems)
    said = tuple(dict.fromkeys(name for part in cell.split("|") if (name := part.strip())))
    if NONE in said and len(said) > 1:
        problems.add(
            "negative_with_label", line=line, field="relations", found=cell, expected=f"{NONE} alone"
        )
        return None
    if item is None or annotator is None:
        return None
    na = said == (NONE,)
    return VoteLine(item, annotator, payload(relations=() if na else said), na)


def read_units(
    source: Source, *, problems: Problems, limits: Limits = LIMITS
) -> Iterator[tuple[int, ItemLine]]:
    """Yield (line, item) with term1 as head and term2 as tail at their first occurrence.

    A term that is no run of whole tokens is searched as a part of the text too, and in any letter case;
    each such case is reported as a warning.
    """
    for line, (unit, term1, term2, sentence) in _rows(source, UNITS, problems, limits):
        item_id = identifier(unit, line=line, field="unit", problems=problems)
        head, tail = (
            locate(sentence, term, entity_id=None, line=line, field=name, problems=problems, loose=True)
            for name, term in (("term1", term1), ("term2", term2))
        )
        if item_id is not None and head is not None and tail is not None:
            yield line, ItemLine(item_id, sentence, None, head, tail)


def _rows(
    source: Source, columns: tuple[str, ...], problems: Problems, limits: Limits
) -> Iterator[tuple[int, list[str]]]:
    """Rows in the order of `columns`, whatever order the header has."""
    order: list[int] = []
    any_row = False
    for line, text in read_lines(source, problems=problems, limits=limits):
        fields = text.split("\t")
        if not order:
            order = _order(fields, columns, line, problems)
            continue
        any_row = any_row or bool(text.strip())
        if len(fields) == len(columns):
            yield line, [fields[at] for at in order]
        elif text.strip():
            expected = f"{len(columns)} columns separated by tabs: {', '.join(columns)}"
            problems.add("wrong_columns", line=line, found=text, expected=expected)
    if not any_row:
        found, expected = "a header line and nothing after it", "at least one line under the header"
        problems.stop("empty_file", found=found, expected=expected)


def _order(header: list[str], columns: tuple[str, ...], line: int, problems: Problems) -> list[int]:
    names = [name.strip() for name in header]
    if sorted(names) != sorted(columns):
        expected = f"a header line with the columns {', '.join(columns)}"
        problems.stop("wrong_columns", line=line, found="\t".join(header), expected=expected)
    return [names.index(name) for name in columns]
