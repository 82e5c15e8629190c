"""CrowdTruth tables: judgments and units."""

from __future__ import annotations

from collections.abc import Iterator

from evalsvc.core.formats.json_lines import identifier
from evalsvc.core.formats.jsonl_votes import FirstVotes
from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.records import ItemLine, VoteLine, payload
from evalsvc.core.formats.registry import EmptyCell, Format, Reader, Sample, register
from evalsvc.core.formats.text_lines import LIMITS, Limits, Source, read_lines
from evalsvc.core.formats.text_spans import locate

JUDGMENTS = ("unit", "worker", "relations")
UNITS = ("unit", "term1", "term2", "sentence")
NONE = "NONE"


def read_judgments(
    source: Source, *, problems: Problems, empty: EmptyCell = "no-vote", limits: Limits = LIMITS
) -> Iterator[tuple[int, VoteLine]]:
    """Yield (line, vote); relations are separated by |, NONE is N/A.

    `empty` is the meaning of an empty cell: no vote, with a warning, or an answer without a label.
    """
    first_votes = FirstVotes(problems)
    for line, (unit, worker, cell) in _rows(source, JUDGMENTS, problems, limits):
        if not cell.strip() and empty == "no-vote":
            problems.add("empty_cell", line=line, field="relations")
            continue
        vote = _vote(unit, worker, cell, line, problems)
        if vote is not None and first_votes.is_first(vote.item, vote.annotator, line=line):
            yield line, vote


def _vote(unit: str, worker: str, cell: str, line: int, problems: Problems) -> VoteLine | None:
    item = identifier(unit, line=line, field="unit", problems=problems)
    annotator = identifier(worker, line=line, field="worker", problems=problems)
    labels = tuple(dict.fromkeys(name for part in cell.split("|") if (name := part.strip())))
    if NONE in labels and len(labels) > 1:
        problems.add(
            "negative_with_label", line=line, field="relations", value=cell, expected=f"{NONE} alone"
        )
        return None
    if item is None or annotator is None:
        return None
    na = labels == (NONE,)
    return VoteLine(item, annotator, payload(relations=() if na else labels), na)


def read_units(
    source: Source, *, problems: Problems, limits: Limits = LIMITS
) -> Iterator[tuple[int, ItemLine]]:
    """Yield (line, item) with term1 as head and term2 as tail.

    The first occurrence counts. A term that does not match whole tokens is also searched inside tokens and
    in any letter case; this is reported as a warning.
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
    """Yield (line, fields) in the order of `columns`."""
    order: list[int] = []
    any_row = False
    for line, text in read_lines(source, problems=problems, limits=limits):
        fields = text.split("\t")
        if not order:
            names = [name.strip() for name in fields]
            if sorted(names) != sorted(columns):
                expected = f"a header line with the columns {', '.join(columns)}"
                problems.stop("wrong_columns", line=line, value=text, expected=expected)
            order = [names.index(name) for name in columns]
            continue
        any_row = any_row or bool(text.strip())
        if len(fields) == len(columns):
            yield line, [fields[at] for at in order]
        elif text.strip():
            expected = f"{len(columns)} columns separated by tabs: {', '.join(columns)}"
            problems.add("wrong_columns", line=line, value=text, expected=expected)
    if not any_row:
        value, expected = "only a header line", "at least one line below the header"
        problems.stop("empty_file", value=value, expected=expected)


def _header(sample: Sample) -> list[str]:
    return [] if sample.keys else sorted(name.strip() for name in sample.lines[0].split("\t"))


JUDGMENT_TABLE = register(
    Format(
        "crowdtruth-judgments",
        "CrowdTruth judgments",
        "Tab-separated with a header: unit, worker, relations. Separate relations by |; NONE is N/A.",
        "s1\tw7\tborn_in|lives_in",
        roles=("votes",),
        rank=55,
        recognise=lambda sample: _header(sample) == sorted(JUDGMENTS),
        readers={"votes": Reader(read_judgments, ("empty",))},
        has_header=True,
    )
)
UNIT_TABLE = register(
    Format(
        "crowdtruth-units",
        "CrowdTruth units",
        "Tab-separated with a header: unit, two terms, sentence.",
        "s1\tAda\tTurin\tAda was born in Turin .",
        roles=("items", "gold"),
        rank=75,
        recognise=lambda sample: _header(sample) == sorted(UNITS),
        readers={"items": Reader(read_units)},
        merge_by="id",
        has_header=True,
        marks="pairs",
    )
)
