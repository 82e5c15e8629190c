"""Old names of labels in predictions, mapped to the present ones."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from evalsvc.core.formats.label_mapping import LabelMapping
from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.records import (
    EntityTextsPrediction,
    LabelPrediction,
    LabelsPrediction,
    PredictionLine,
    ScoresPrediction,
    Span,
    SpansPrediction,
    TriplesPrediction,
)

NOTHING = LabelMapping({})
SHOWN_NAMES = 3
Stated = dict[str, dict[str, Any]]
"""What old names became, and how many labels had them: {"us_state": {"to": "region", "labels": 12}}."""


class OldLabels:
    """Mapping of the labels of a file, with the number of labels of each old name."""

    def __init__(self, mapping: LabelMapping, negative: str | None, problems: Problems) -> None:
        self.mapping, self.negative, self.problems = mapping, negative, problems
        self.parts = mapping.parts()
        self.counts: Counter[str] = Counter()
        self.readers: dict[type[Any], Callable[[Any, int], PredictionLine | None]] = {
            LabelPrediction: self._label,
            LabelsPrediction: self._labels,
            ScoresPrediction: self._scores,
            SpansPrediction: self._spans,
            EntityTextsPrediction: partial(self._texts, "entities"),
            TriplesPrediction: partial(self._texts, "triples"),
        }

    def __bool__(self) -> bool:
        return bool(self.parts)

    @property
    def stated(self) -> Stated:
        return {
            name: {"to": self.mapping.label(name), "labels": n} for name, n in sorted(self.counts.items())
        }

    def current(self, prediction: PredictionLine, line: int) -> PredictionLine | None:
        """Return a prediction in present names; None, with a problem, if a name isn't clear.

        Tags are mapped once they are decoded, and scored triples once their pair is known.
        """
        read = self.readers.get(type(prediction))
        return prediction if read is None else read(prediction, line)

    def are_clear(self, names: Iterable[str], line: int | None, field: str, *, times: int = 1) -> bool:
        """Count the old names, each so many times; report those of labels that were split."""
        old = [name for name in names if name in self.parts]
        split = dict.fromkeys(name for name in old if len(self.parts[name]) > 1)
        for name in split:
            became = " or ".join(part or self.negative or "no label" for part in self.parts[name])
            expected = f"what this label was split into: {became}"
            self.problems.add("old_label", line=line, field=field, value=name, expected=expected)
        for name in () if split else old:
            self.counts[name] += times
        return not split

    def spans(self, spans: Sequence[Span]) -> tuple[Span, ...]:
        """Return spans of present names, each once."""
        mapped = self.mapping.payload({"spans": spans, "relations": []})
        return tuple((start, end, name) for start, end, name in mapped.payload["spans"])

    def _label(self, prediction: LabelPrediction, line: int) -> PredictionLine | None:
        if prediction.label not in self.parts:
            return prediction
        name = self.mapping.label(prediction.label) or self.negative
        if len(self.parts[prediction.label]) == 1 and name is None:
            expected = "another label: it was deleted, and there is no negative class"
            self.problems.add(
                "old_label", line=line, field="label", value=prediction.label, expected=expected
            )
            return None
        is_clear = self.are_clear([prediction.label], line, "label")
        return LabelPrediction(prediction.id, name or "") if is_clear else None

    def _labels(self, prediction: LabelsPrediction, line: int) -> PredictionLine | None:
        if not self.are_clear(prediction.labels, line, "labels"):
            return None
        pairs = self._united([("", name) for name in prediction.labels])
        return LabelsPrediction(prediction.id, tuple(name for _, name in pairs))

    def _scores(self, prediction: ScoresPrediction, line: int) -> PredictionLine | None:
        if self.parts.keys().isdisjoint(prediction.scores):
            return prediction
        if not self.are_clear(prediction.scores, line, "scores"):
            return None
        scores: dict[str, float] = {}
        for name, score in prediction.scores.items():
            if (now := self.mapping.label(name)) is not None:
                scores[now] = highest(scores.get(now, score), score)
        return ScoresPrediction(prediction.id, scores)

    def _spans(self, prediction: SpansPrediction, line: int) -> PredictionLine | None:
        named = [name for _, _, name in prediction.spans] + [name for _, name, _ in prediction.relations]
        if not self.are_clear(named, line, "spans"):
            return None
        payload = {"spans": prediction.spans, "relations": prediction.relations}
        mapped = self.mapping.payload(payload).payload
        spans, links = (tuple(map(tuple, mapped[key])) for key in ("spans", "relations"))
        return SpansPrediction(prediction.id, spans, links)

    def _texts(self, field: str, prediction: Any, line: int) -> PredictionLine | None:
        answers = getattr(prediction, field)
        if not self.are_clear([answer[1] for answer in answers], line, field):
            return None
        return msgspec.structs.replace(prediction, **{field: tuple(self._united(answers))})

    def _united(self, answers: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
        """Map the labels of answers, which come second, and leave out those that became equal.

        What the file repeats under one name stays: it is checked, and counted, as in a file of present names.
        """
        given, kept = Counter[tuple[str, ...]](), Counter[tuple[str, ...]]()
        united = []
        for answer in answers:
            name = self.mapping.label(answer[1])
            given[answer] += 1
            if name is None:
                continue
            now = (answer[0], name, *answer[2:])
            if given[answer] > kept[now]:
                kept[now] += 1
                united.append(now)
        return united


def highest(first: float, second: float) -> float:
    """Return the larger score; one that is not finite stays, to be rejected."""
    return first if not math.isfinite(first) or first >= second else second


def mapped_in_words(stated: Mapping[str, Mapping[str, Any]], *, negative: str = "") -> str:
    """Return how many labels of which old names were mapped; empty if none were."""
    if not stated:
        return ""
    labels, names = sum(each["labels"] for each in stated.values()), len(stated)
    subject = f"{labels:,} label{'s' * (labels != 1)} of {names:,} old name{'s' * (names != 1)}"
    most = sorted(stated, key=lambda name: (-stated[name]["labels"], name))
    targets = [f"{name} → {stated[name]['to'] or negative or 'no label'}" for name in most[:SHOWN_NAMES]]
    more = ", …" if names > SHOWN_NAMES else ""
    return f"{subject} {'was' if labels == 1 else 'were'} mapped: {', '.join(targets)}{more}"
