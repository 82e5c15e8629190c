"""Figures over the answers that decided a frozen set, from its provenance alone."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from annotation.consensus import majority
from annotation.consensus.choices import choices_of
from annotation.freezing.provenance import EXCLUDED
from annotation.freezing.writer import FrozenLine
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
    return figures.result(progress)


def agreement_with(test_set: TestSet, left_out: Sequence[FrozenLine], progress: Progress) -> Figure:
    """Return the agreement over the lines of a set together with sentences that it leaves out."""
    compared = _Compared(test_set)
    for line in map(msgspec.json.Decoder(ProvenanceRow).decode, provenance_lines(test_set)):
        compared.add(line)
    for left in left_out:
        compared.add(msgspec.convert(left.provenance, ProvenanceRow))
        compared.add_text(left.gold)
    found = compared.figures(progress)
    if spans := found.get("spans"):  # those by type are of the report of the project
        found = found | {"spans": {name: spans[name] for name in ("f1", "token_alpha")}}
    return {"sentences": compared.several} | found


class _Compared:
    """Answers mapped to the labels of a set, without those that were set aside."""

    def __init__(self, test_set: TestSet) -> None:
        self.set, self.judge = test_set, Judge(rules_of(test_set.manifest))
        self.columns, self.set_aside = AnswerColumns(), 0

    def add(self, line: ProvenanceRow) -> None:
        for answer in line.answers:
            if answer.not_counted == EXCLUDED:
                self.set_aside += 1
                continue
            payload = self.judge.mapped(answer.payload())
            self.columns.add(line.id, answer.by, answer.by, payload, blank=answer.blank)

    def add_text(self, item: dict[str, Any]) -> None:
        """Add a text, which agreement on the tokens of spans needs."""
        if self.set.kind != Kind.RELATIONS and item["id"] in self.columns.items:
            tokens = item.get("tokens")
            text = item.get("text") or (" ".join(tokens) if tokens else "")
            self.columns.add_text(item["id"], text, tokens)

    @property
    def several(self) -> int:
        """Count the items with two or more answers."""
        return int(np.sum(np.bincount(self.columns.item, minlength=1) > 1))

    def figures(self, progress: Progress) -> Figure:
        if not self.columns.item:
            return {}
        for item in map(msgspec.json.decode, export_lines(self.set)):
            self.add_text(item)
        labels = [label["name"] for label in self.set.labels]
        by_label = self.set.kind == Kind.RELATIONS
        found = overall_agreement(self.columns, labels, by_label=by_label, progress=progress)
        return found | ({"set_aside": self.set_aside} if self.set_aside else {})


class _ProvenanceFigures:
    def __init__(self, test_set: TestSet) -> None:
        self.compared, manifest = _Compared(test_set), test_set.manifest
        self.judge = self.compared.judge
        majority_rule = manifest["policy"] == majority.MAJORITY
        self.other = majority.MAJORITY_NA if majority_rule else majority.MAJORITY
        self.patterns: Counter[tuple[str, str]] = Counter()
        self.item_minutes: list[float] = []
        self.answer_seconds: list[float] = []
        self.other_settles = self.decided_alike = 0

    def add(self, line: ProvenanceRow) -> None:
        self.patterns[line.pattern, line.state] += 1
        self.compared.add(line)
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

    def result(self, progress: Progress) -> Figure:
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
            "agreement": self.compared.figures(progress),
            "time": {
                "answers": len(self.answer_seconds),
                "seconds_per_answer": _median(self.answer_seconds),
                "items": len(self.item_minutes),
                "minutes_per_item": _median(self.item_minutes),
            },
        }


def _median(values: list[float]) -> float | None:
    return round(statistics.median(values), 4) if values else None
