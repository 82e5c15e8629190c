"""Vote lines in JSONL: one annotator's answer to one item."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec import UNSET, UnsetType

from evalsvc.core.formats.json_lines import Identifier, decode_lines, identifier
from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.records import Link, Payload, Span, VoteLine, payload
from evalsvc.core.formats.span_checks import checked_spans
from evalsvc.core.formats.text_lines import LIMITS, Limits, Source


class WireVote(msgspec.Struct, forbid_unknown_fields=True):
    item: Identifier
    annotator: Identifier
    labels: list[str] | UnsetType = UNSET
    na: bool | UnsetType = UNSET
    spans: list[Span] | UnsetType = UNSET
    relations: list[Link] | UnsetType = UNSET


def read_votes(
    source: Source, *, problems: Problems, limits: Limits = LIMITS
) -> Iterator[tuple[int, VoteLine]]:
    """Yield (line, vote); a second answer of one annotator to one item is reported and left out."""
    once = Once(problems)
    for line, wire in decode_lines(source, WireVote, problems=problems, limits=limits):
        vote = _vote(wire, line, problems)
        if vote is not None and once.first(vote.item, vote.annotator, line=line):
            yield line, vote


class Once:
    """Remembers who answered what."""

    def __init__(self, problems: Problems) -> None:
        self.problems = problems
        self.seen: dict[tuple[str, str], int] = {}

    def first(self, item: str, annotator: str, *, line: int) -> bool:
        """Tell whether this is the annotator's first answer to the item; report it otherwise."""
        before = self.seen.setdefault((item, annotator), line)
        if before != line:
            hint = f"The first answer is in line {before:,}."
            self.problems.add("duplicate_vote", line=line, found=f"{annotator} on {item}", hint=hint)
        return before == line


def _vote(wire: WireVote, line: int, problems: Problems) -> VoteLine | None:
    item = identifier(wire.item, line=line, field="item", problems=problems)
    annotator = identifier(wire.annotator, line=line, field="annotator", problems=problems)
    answer = _answer(wire, line, problems)
    if item is None or annotator is None or answer is None:
        return None
    # no span is the N/A of entities; no label is not yet the N/A of relations
    return VoteLine(
        item, annotator, answer, wire.na is True or (wire.spans == [] and not answer["relations"])
    )


def _answer(wire: WireVote, line: int, problems: Problems) -> Payload | None:
    said = [
        name
        for name, given in (
            ("na", wire.na is True),
            ("labels", wire.labels is not UNSET),
            ("spans", wire.spans is not UNSET or wire.relations is not UNSET),
        )
        if given
    ]
    if len(said) != 1:
        code = "mixed_forms" if said else "missing_key"
        problems.add(code, line=line, found=", ".join(said) or None, expected="one of na, labels, spans")
        return None
    return _spans(wire, line, problems) if said == ["spans"] else _labels(wire, line, problems)


def _labels(wire: WireVote, line: int, problems: Problems) -> Payload | None:
    labels = tuple(wire.labels) if wire.labels is not UNSET else ()
    if not all(labels):
        problems.add("wrong_type", line=line, field="labels", expected="labels that are not empty")
        return None
    return payload(relations=tuple(dict.fromkeys(labels)))


def _spans(wire: WireVote, line: int, problems: Problems) -> Payload | None:
    spans = [] if wire.spans is UNSET else wire.spans
    links = [] if wire.relations is UNSET else wire.relations
    checked = checked_spans(spans, links, length=None, line=line, problems=problems)
    return None if checked is None else payload(spans=checked[0], relations=checked[1])
