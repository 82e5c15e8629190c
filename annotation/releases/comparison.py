"""Two releases compared: changed labels, facts added and lost, and what caused each change."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from annotation.releases.layout import GOLD
from annotation.releases.outcome import AnswerRow, Judge, ProvenanceRow, Rules, Step
from annotation.releases.sides import Side
from evalsvc.core.formats.label_mapping import Payload

Fact = tuple[str, str, str]
ONTOLOGY, RULE, ANSWERS, DECISION, UNKNOWN = "ontology", "rule", "answers", "decision", "not recorded"
ADDED, REMOVED = "sentence added", "sentence left out"


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a line differs, in the terms of the glossary, with its details."""

    what: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class LineChange:
    """A line with other gold; None on the side that lacks it."""

    id: str
    before: list[str] | None
    after: list[str] | None
    causes: list[Cause]


@dataclass(frozen=True, slots=True)
class FactChange:
    """A fact that only one side has, and the lines that brought or took it."""

    fact: Fact
    ids: list[str]
    names: tuple[str, str] = ("", "")
    """Of head and tail, as the first of the lines has them."""


@dataclass(slots=True)
class Comparison:
    """What the second side changed against the first."""

    first: str
    second: str
    rows_before: int = 0
    rows_after: int = 0
    changes: list[LineChange] = field(default_factory=list)
    facts_added: list[FactChange] = field(default_factory=list)
    facts_lost: list[FactChange] = field(default_factory=list)

    @property
    def changed(self) -> list[LineChange]:
        return [change for change in self.changes if change.before is not None and change.after is not None]

    @property
    def added(self) -> list[LineChange]:
        return [change for change in self.changes if change.before is None]

    @property
    def removed(self) -> list[LineChange]:
        return [change for change in self.changes if change.after is None]

    @property
    def causes(self) -> list[tuple[Cause, int]]:
        """Return the causes with the number of lines, the most frequent first."""
        counts = Counter(cause for change in self.changes for cause in change.causes)
        return sorted(counts.items(), key=lambda row: (-row[1], row[0].what, row[0].detail))


@dataclass(slots=True)
class _Line:
    payload: Payload
    labels: list[str]
    facts: frozenset[Fact]
    names: tuple[str, str]


def compare(first: Side, second: Side) -> Comparison:
    """Compare line by line, by id.

    Causes are found by turning the first side into the second in a stated order: ontology, rule and k,
    answers, decision. Whichever of these turns the gold of a line is a cause of its change.
    """
    before, after = _read(first), _read(second)
    result = Comparison(first.title, second.title, len(before), len(after))
    changed = [id for id in {**before, **after} if _gold(before.get(id)) != _gold(after.get(id))]
    origins = [_provenance(side, set(changed)) for side in (first, second)]
    explain = _Explainer(first, second)
    for id in changed:
        old, new = before.get(id), after.get(id)
        causes = explain(id, old, new, *(rows.get(id) for rows in origins))
        result.changes.append(
            LineChange(id, old.labels if old else None, new.labels if new else None, causes)
        )
    result.facts_lost = _only_in(before, after)
    result.facts_added = _only_in(after, before)
    return result


def _read(side: Side) -> dict[str, _Line]:
    """Return the lines of the gold by id; raise ValueError for one that is not as in a release."""
    decode, lines = msgspec.json.Decoder(dict[str, Any]).decode, dict[str, _Line]()
    for number, line in enumerate(side.gold(), 1):
        try:
            item = decode(line)
            id, read = item["id"], _line(item)
        except (msgspec.MsgspecError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{GOLD} of {side.title}: line {number:,} is not a gold line.") from error
        if id in lines:
            raise ValueError(f"{GOLD} of {side.title}: line {number:,} repeats the id {id!r}.")
        lines[id] = read
    return lines


def _line(item: dict[str, Any]) -> _Line:
    payload: Payload = {"spans": item.get("spans") or [], "relations": item["relations"]}
    ends = [item[key] for key in "ht" if key in item]
    head, tail = (str(end.get("id") or end["name"]) for end in ends) if len(ends) == 2 else ("", "")
    facts = frozenset((head, name, tail) for name in (item["relations"] if len(ends) == 2 else ()))
    head_name, tail_name = (str(end.get("name") or end["id"]) for end in ends) if facts else ("", "")
    return _Line(payload, _names(payload), facts, (head_name, tail_name))


def _names(payload: Payload) -> list[str]:
    """Return the labels as texts: relations, spans with their bounds, and relations between them."""
    spans = [f"{label} [{start}, {end})" for start, end, label in payload["spans"]]
    links = [
        link if isinstance(link, str) else f"{spans[link[0]]} {link[1]} {spans[link[2]]}"
        for link in payload["relations"]
    ]
    return [*spans, *links]


def _gold(line: _Line | None) -> tuple[str, ...] | None:
    return None if line is None else tuple(sorted(line.labels))


def _provenance(side: Side, ids: set[str]) -> dict[str, ProvenanceRow]:
    decode = msgspec.json.Decoder(ProvenanceRow).decode
    return {row.id: row for row in map(decode, side.provenance()) if row.id in ids} if ids else {}


def _only_in(here: dict[str, _Line], there: dict[str, _Line]) -> list[FactChange]:
    """List the facts of one side that no line of the other has, with their lines."""
    known = frozenset(fact for line in there.values() for fact in line.facts)
    owners: dict[Fact, list[str]] = {}
    for id, line in here.items():
        for fact in line.facts - known:
            owners.setdefault(fact, []).append(id)
    return [FactChange(fact, ids, here[ids[0]].names) for fact, ids in sorted(owners.items())]


def summary(found: Comparison) -> list[str]:
    """Return the comparison as lines of text."""
    lines = [
        f"{found.first} → {found.second}: {found.rows_before:,} → {found.rows_after:,} lines",
        f"{len(found.changed):,} with other labels",
        f"{len(found.added):,} added, {len(found.removed):,} left out",
        f"{len(found.facts_added):,} facts added, {len(found.facts_lost):,} lost",
    ]
    return lines + [
        f"{n:>9,}  {cause.what}{f': {cause.detail}' if cause.detail else ''}" for cause, n in found.causes
    ]


class _Explainer:
    def __init__(self, first: Side, second: Side) -> None:
        self.sides = first, second
        self.left_out = [
            {id: state for state, ids in (side.manifest.get("left_out") or {}).items() for id in ids}
            for side in self.sides
        ]
        steps = first.rules.steps, second.rules.steps
        self.steps = [(step, "done") for step in steps[1] if step not in steps[0]]
        self.steps += [(step, "undone") for step in steps[0] if step not in steps[1]]
        # in the order in which one side becomes the other
        mixed = Rules(
            second.rules.kind, first.rules.policy, first.rules.spans_may_overlap, second.rules.steps
        )
        self.judges = Judge(first.rules), Judge(mixed), Judge(second.rules)

    def __call__(
        self,
        id: str,
        old: _Line | None,
        new: _Line | None,
        before: ProvenanceRow | None,
        after: ProvenanceRow | None,
    ) -> list[Cause]:
        if old is None:
            return [Cause(ADDED, self._left_out(0, id))]
        if new is None:
            return [Cause(REMOVED, self._left_out(1, id))]
        if before is None or after is None:
            return [Cause(UNKNOWN)]
        return list(self._causes(before, after)) or [Cause(UNKNOWN)]

    def _left_out(self, side: int, id: str) -> str:
        """Return the state in which a side left the sentence out.

        The manifest names neither the sentences beside the candidates nor gold questions.
        """
        state = self.left_out[side].get(id)
        when = ("before", "now")[side]
        if state:
            return f"{state} {when}"
        beside = self.sides[side].manifest.get("beside")
        return f"no candidate {when}, or not in the project" if beside else f"not in the set {when}"

    def _causes(self, before: ProvenanceRow, after: ProvenanceRow) -> Iterator[Cause]:
        first, mapped, second = self.judges
        old, new = before.counted(), after.counted()
        decisions = before.decision, after.decision
        stages = [
            first.gold(old, before.k, decisions[0]),
            mapped.gold(old, before.k, decisions[0]),
            second.gold(old, after.k, decisions[0]),
            # a decision lapses with the answers under it
            second.gold(new, after.k, decisions[0] if _alike(old, new) else None),
            second.gold(new, after.k, decisions[1]),
        ]
        whats = (ONTOLOGY, RULE, ANSWERS, DECISION)
        for what, earlier, later in zip(whats, stages, stages[1:], strict=False):
            if _sorted(earlier) != _sorted(later):
                yield from self._described(what, before, after)

    def _described(self, what: str, before: ProvenanceRow, after: ProvenanceRow) -> Iterator[Cause]:
        if what == ONTOLOGY:
            names = _labels_of(before) | _labels_of(after)
            for step, act in self.steps:
                if names & {*step.sources, step.target}:
                    yield Cause(what, _step_text(step, act))
        elif what == RULE:
            policies = [side.rules.policy for side in self.sides]
            rules = [] if policies[0] == policies[1] else [f"{policies[0]} → {policies[1]}"]
            ks = [] if before.k == after.k else [f"k {before.k} → {after.k}"]
            yield Cause(what, ", ".join(rules + ks))
        elif what == ANSWERS:
            yield Cause(what, f"{len(before.counted())} → {len(after.counted())} counted")
        else:
            yield Cause(what, _decision_text(before.decision, after.decision))


def _step_text(step: Step, act: str) -> str:
    text = f"{step.operation} {', '.join(step.sources)}"
    text += f" → {step.target}" if step.target else ""
    return text if act == "done" else f"{text} (undone)"


def _decision_text(before: AnswerRow | None, after: AnswerRow | None) -> str:
    if before and after:
        return "decided otherwise"
    return "decided" if after else "decision undone"


def _labels_of(row: ProvenanceRow) -> set[str]:
    """Return all raw labels of the answers and the decision."""
    rows = [*row.answers, *([row.decision] if row.decision else [])]
    names = {span[2] for each in rows for span in each.spans}
    return names | {link if isinstance(link, str) else link[1] for each in rows for link in each.relations}


def _alike(old: list[Payload], new: list[Payload]) -> bool:
    return sorted(map(_text, old)) == sorted(map(_text, new))


def _text(payload: Payload) -> str:
    return json.dumps(payload, sort_keys=True)


def _sorted(payload: Payload | None) -> list[str] | None:
    return None if payload is None else sorted(_names(payload))
