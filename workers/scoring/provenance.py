"""Figures over the answers that decided a frozen set, from its provenance alone."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec

from annotation.consensus import majority
from annotation.consensus.choices import choices_of
from annotation.releases.outcome import Judge, ProvenanceRow
from annotation.releases.sides import rules_of
from annotation.testset import Kind, TestSet, export_lines, provenance_lines
from evalsvc.core.jobs.lease import Progress
from workers.scoring.agreement import overall_agreement
from workers.scoring.answer_columns import AnswerColumns

Figure = dict[str, Any]


def provenance_figures(test_set: TestSet, progress: Progress) -> Figure:
    """Return vote patterns, agreement with intervals, working time and what the other rule would decide.

    Answers are mapped to the labels of the set. Those that do not count are left out of patterns and times,
    excluded ones of agreement too.
    """
    figures = _ProvenanceFigures(test_set)
    decode = msgspec.json.Decoder(ProvenanceRow).decode
    for line in map(decode, provenance_lines(test_set)):
        figures.add(line)
    figures.add_texts()
    return figures.result(progress)


class _ProvenanceFigures:
    def __init__(self, test_set: TestSet) -> None:
        self.set, manifest = test_set, test_set.manifest
        self.judge = Judge(rules_of(manifest))
        majority_rule = manifest["policy"] == majority.MAJORITY
        self.other = majority.MAJORITY_NA if majority_rule else majority.MAJORITY
        self.patterns: Counter[tuple[str, str]] = Counter()
        self.columns = AnswerColumns()
        self.item_minutes: list[float] = []
        self.answer_seconds: list[float] = []
        self.other_settles = self.decided_alike = 0

    def add(self, line: ProvenanceRow) -> None:
        self.patterns[line.pattern, line.state] += 1
        for answer in line.answers:
            if answer.not_counted == "excluded":
                continue
            payload = self.judge.mapped(answer.payload())
            self.columns.add(line.id, answer.by, answer.by, payload, blank=answer.blank)
        self._add_times([answer.milliseconds for answer in line.answers if not answer.not_counted])
        if line.decision is not None:
            self._compare_rules(line)

    def _add_times(self, times: list[int]) -> None:
        self.answer_seconds += [time / 1_000 for time in times if time]
        if times and all(times):
            self.item_minutes.append(sum(times) / 60_000)

    def _compare_rules(self, line: ProvenanceRow) -> None:
        other = self.judge.verdict(line.counted(), line.k, policy=self.other).gold
        decided = self.judge.gold((), line.k, line.decision)
        if other is not None and decided is not None:
            self.other_settles += 1
            self.decided_alike += choices_of(other) == choices_of(decided)

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
