"""Votes as JSON Lines: one annotator's answer to one item per line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from evalsvc.core.formats.json_lines import Identifier, decode_lines, identifier
from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.records import Link, Payload, Span, VoteLine, payload
from evalsvc.core.formats.registry import Format, Reader, register
from evalsvc.core.formats.text_lines import LIMITS, Limits, Source
from evalsvc.core.formats.text_spans import checked_spans


class WireVote(msgspec.Struct, forbid_unknown_fields=True):
    """A vote as JSON."""

    item: Identifier
    annotator: Identifier
    labels: list[str] | UnsetType = UNSET
    na: bool | UnsetType = UNSET
    spans: list[Span] | UnsetType = UNSET
    relations: list[Link] | UnsetType = UNSET
    # of a log of votes: lines that are not current answers are passed over
    act: Literal["answer", "skip"] | UnsetType = UNSET
    current: bool | UnsetType = UNSET
    counted: bool | UnsetType = UNSET
    number: int | UnsetType = UNSET
    order: int | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    comment: str | UnsetType = UNSET
    flagged: bool | UnsetType = UNSET
    seconds: float | UnsetType = UNSET
    at: str | UnsetType = UNSET
    imported: bool | UnsetType = UNSET
    suggestion_shown: bool | UnsetType = UNSET
    guideline: int | UnsetType = UNSET


def read_votes(
    source: Source, *, problems: Problems, limits: Limits = LIMITS
) -> Iterator[tuple[int, VoteLine]]:
    """Yield (line, vote) of first answers; report repeated ones.

    Of a log of votes, times, comments and flags are not read.
    """
    first_votes = FirstVotes(problems)
    for line, wire in decode_lines(source, WireVote, problems=problems, limits=limits):
        if wire.act == "skip" or wire.current is False:
            continue
        item = identifier(wire.item, line=line, field="item", problems=problems)
        annotator = identifier(wire.annotator, line=line, field="annotator", problems=problems)
        answer = _answer(wire, line, problems)
        if item is None or annotator is None or answer is None:
            continue
        # An empty list of spans is N/A for entities; an empty list of labels is not N/A for relations.
        na = wire.na is True or (wire.spans == [] and not answer["relations"])
        if first_votes.is_first(item, annotator, line=line):
            yield line, VoteLine(item, annotator, answer, na)


class FirstVotes:
    """The first line of each annotator's answer to each item."""

    def __init__(self, problems: Problems) -> None:
        self.problems = problems
        self.lines: dict[tuple[str, str], int] = {}

    def is_first(self, item: str, annotator: str, *, line: int) -> bool:
        """Return whether this is the annotator's first answer to the item.

        A second one is reported.
        """
        first = self.lines.setdefault((item, annotator), line)
        if first != line:
            hint = f"The first answer is in line {first:,}. Remove one of them."
            self.problems.add("duplicate_vote", line=line, value=f"{annotator} on {item}", hint=hint)
        return first == line


def _answer(wire: WireVote, line: int, problems: Problems) -> Payload | None:
    """Return the answer of a line, or report its problem."""
    has_spans = wire.spans is not UNSET or wire.relations is not UNSET
    present = {"na": wire.na is True, "labels": wire.labels is not UNSET, "spans": has_spans}
    forms = [name for name, is_present in present.items() if is_present]
    if len(forms) != 1:
        code = "mixed_forms" if forms else "missing_key"
        problems.add(code, line=line, value=", ".join(forms) or None, expected="one of na, labels, spans")
        return None
    if has_spans:
        spans = [] if wire.spans is UNSET else wire.spans
        links = [] if wire.relations is UNSET else wire.relations
        checked = checked_spans(spans, links, length=None, line=line, problems=problems)
        return None if checked is None else payload(spans=checked[0], relations=checked[1])
    labels = [] if wire.labels is UNSET else wire.labels
    if not all(labels):
        problems.add("wrong_type", line=line, field="labels", expected="labels that are not empty")
        return None
    return payload(relations=tuple(dict.fromkeys(labels)))


FORMAT = register(
    Format(
        "jsonl-votes",
        "Votes (JSONL)",
        'One annotator\'s answer to one item per line. N/A is explicit: "na": true.',
        '{"annotator":"ann1","item":"s1","labels":["born_in"]}',
        roles=("votes",),
        rank=10,
        recognise=lambda sample: "annotator" in sample.keys,
        readers={"votes": Reader(read_votes)},
    )
)
