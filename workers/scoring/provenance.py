"""Figures over the answers that decided a frozen set, from its provenance alone."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec

from annotation.consensus import majority
from annotation.consensus.label_mapping import LabelMapping, Payload
from annotation.testset import Kind, TestSet, export_lines, provenance_lines
from evalsvc.core.jobs.lease import Progress
from workers.scoring.agreement import AnswerColumns, overall_agreement

Figure = dict[str, Any]


class _Step(msgspec.Struct):
    operation: str
    sources: list[str]
    target: str = ""


class _Answer(msgspec.Struct):
    by: str
    relations: list[Any]
    spans: list[list[Any]] = []
    blank: bool = False
    not_counted: str = ""
    milliseconds: int = 0


class _Line(msgspec.Struct):
    id: str
    state: str
    k: int
    pattern: str
    answers: list[_Answer]
    decision: dict[str, Any] | None = None


def provenance_figures(test_set: TestSet, progress: Progress) -> Figure:
    """Return vote patterns, agreement with intervals, working time and what the other rule would decide.

    Answers are mapped to the labels of the set. Those that do not count are left out of patterns and times,
    excluded ones of agreement too.
    """
    figures = _ProvenanceFigures(test_set)
    decode = msgspec.json.Decoder(_Line).decode
    for line in map(decode, provenance_lines(test_set)):
        figures.add(line)
    figures.add_texts()
    return figures.result(progress)


class _ProvenanceFigures:
    def __init__(self, test_set: TestSet) -> None:
        self.set, manifest = test_set, test_set.manifest
        self.mapping = LabelMapping.from_steps(
            msgspec.convert(step, _Step) for step in manifest.get("ontology") or ()
        )
        self.overlap = bool(manifest.get("spans_may_overlap"))
        majority_rule = manifest["policy"] == majority.MAJORITY
        self.other = majority.MAJORITY_NA if majority_rule else majority.MAJORITY
        self.patterns: Counter[tuple[str, str]] = Counter()
        self.columns = AnswerColumns()
        self.item_minutes: list[float] = []
        self.answer_seconds: list[float] = []
        self.other_settles = self.decided_alike = 0

    def add(self, line: _Line) -> None:
        self.patterns[line.pattern, line.state] += 1
        counted: list[Payload] = []
        for answer in line.answers:
            if answer.not_counted == "excluded":
                continue
            payload = self._mapped({"spans": answer.spans, "relations": answer.relations})
            self.columns.add(line.id, answer.by, answer.by, payload, blank=answer.blank)
            if not answer.not_counted:
                counted.append(payload | ({"blank": True} if answer.blank else {}))
        self._add_times([answer.milliseconds for answer in line.answers if not answer.not_counted])
        if line.decision is not None:
            self._compare_rules(counted, line)

    def _mapped(self, payload: Payload) -> Payload:
        return self.mapping.payload(payload).payload

    def _add_times(self, times: list[int]) -> None:
        self.answer_seconds += [time / 1_000 for time in times if time]
        if times and all(times):
            self.item_minutes.append(sum(times) / 60_000)

    def _compare_rules(self, counted: list[Payload], line: _Line) -> None:
        assert line.decision is not None
        decide, kind = majority.decide, self.set.kind
        verdict = decide(counted, kind=kind, policy=self.other, k=line.k, may_overlap=self.overlap)
        if verdict.gold is None:
            return
        decided = self._mapped(
            {"spans": line.decision.get("spans", []), "relations": line.decision["relations"]}
        )
        self.other_settles += 1
        self.decided_alike += majority.choices_of(verdict.gold) == majority.choices_of(decided)

    def add_texts(self) -> None:
        """Add the texts, which agreement on the tokens of spans needs."""
        if self.set.kind == Kind.RELATIONS:
            return
        for item in self._items():
            if item["id"] in self.columns.items:
                tokens = item.get("tokens")
                text = item.get("text") or (" ".join(tokens) if tokens else "")
                self.columns.add_text(item["id"], text, tokens)

    def _items(self) -> Iterator[dict[str, Any]]:
        return map(msgspec.json.decode, export_lines(self.set))

    def result(self, progress: Progress) -> Figure:
        labels = [label["name"] for label in self.set.labels]
        by_label = self.set.kind == Kind.RELATIONS
        return {
            "patterns": [
                {"pattern": pattern, "state": state, "n": n}
                for (pattern, state), n in sorted(self.patterns.items(), key=lambda row: (-row[1], row[0]))
            ],
            "other_rule": {
                "rule": self.other,
                "settles": self.other_settles,
                "as_decided": self.decided_alike,
            },
            "agreement": overall_agreement(self.columns, labels, by_label=by_label, progress=progress)
            if self.columns.item
            else {},
            "time": {
                "answers": len(self.answer_seconds),
                "seconds_per_answer": _median(self.answer_seconds),
                "items": len(self.item_minutes),
                "minutes_per_item": _median(self.item_minutes),
            },
        }


def _median(values: list[float]) -> float | None:
    return round(statistics.median(values), 4) if values else None
