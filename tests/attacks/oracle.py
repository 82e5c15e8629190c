"""A hidden phase as a team sees it: files in, shown figures out, by the product's scorer and policy."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evalsvc.evaluation.disclosure.disclosed import shown_values
from evalsvc.evaluation.disclosure.policy import Policy
from evalsvc.evaluation.disclosure.sensitivity import GoldCounts
from evalsvc.evaluation.disclosure.split import Part
from evalsvc.evaluation.models import Benchmark, Score, Setting
from workers.scoring.case import ScoringCase, ScoringOptions
from workers.scoring.claims import ClaimCodes, changed_claims, claim_codes
from workers.scoring.gold import Gold
from workers.scoring.predictions import Predictions
from workers.scoring.scorer import report_of

RELATIONS = 24
NEGATIVE = RELATIONS
LABELS = [f"r{at}" for at in range(RELATIONS)]
Labels = NDArray[np.int64]


def simulated_gold(items: int) -> Labels:
    """Labels with shares of .68/rank; the rest, about a third, is negative."""
    ranks = np.arange(1, RELATIONS + 1)
    counts = np.floor(items * 0.68 / ranks / (1 / ranks).sum()).astype(int)
    labels = np.repeat(np.arange(RELATIONS + 1), [*counts, items - counts.sum()])
    np.random.Generator(np.random.PCG64(1)).shuffle(labels)
    return labels


@dataclass
class Oracle:
    """Answers what a setting shows of a file; `hidden` is False for exact figures."""

    labels: Labels
    hidden: bool = True
    class_rows: bool = False
    compares: bool = True
    """False without the rule on near-duplicates."""
    part: Part | None = None
    """Of a split: the items scored while the phase is open."""
    sent: list[tuple[ClaimCodes, dict[str, float | None]]] = field(default_factory=list)
    repeated: bool = False
    """True when the last file was answered with earlier figures."""

    @cached_property
    def gold(self) -> Gold:
        items = np.flatnonzero(self.scored)
        labels = self.labels[items]
        owners = np.flatnonzero(labels < NEGATIVE)
        names = [LABELS[code] for code in labels[owners]]
        index = {f"s{item}": at for at, item in enumerate(items)}
        return Gold(index=index, owner=owners.tolist(), label=names)

    @cached_property
    def scored(self) -> NDArray[np.bool_]:
        """True for the items that the open phase scores."""
        part = self.part
        return np.array([part is None or part.has(f"s{at}") for at in range(len(self.labels))])

    @cached_property
    def policy(self) -> Policy:
        benchmark = Benchmark(task="relations", labels=[{"name": name} for name in LABELS], negative="N/A")
        setting = Setting(benchmark=benchmark, unit="sentence", main="micro_f1", disclosure="hidden")
        setting.class_rows = self.class_rows
        policy = Policy(setting, self.hidden)
        counts = np.bincount(self.labels[self.scored], minlength=RELATIONS + 1)
        classes = dict(zip(LABELS, counts[:-1].tolist(), strict=True))
        size = int(counts.sum())
        policy.__dict__["gold"] = GoldCounts(size, classes, int(counts[-1]), size)
        return policy

    def _case(self, predictions: Predictions) -> ScoringCase:
        single = predictions.form == "label"
        options = ScoringOptions(unit="sentence", labels=LABELS, negative="N/A", single=single)
        return ScoringCase.of(self.gold, predictions, options)

    def figures(self, answers: Labels) -> dict[str, float | None]:
        """Return the figures shown of a file with a label per item."""
        return self.shown(labelled(answers))

    def shown(self, predictions: Predictions) -> dict[str, float | None]:
        """Return the figures shown of a file; a near-duplicate shows earlier ones."""
        case, positives = self._case(predictions), self.policy.gold.positives
        codes = claim_codes(case, positives)
        for earlier, shown in self.sent if self.hidden and self.compares else ():
            self.repeated = changed_claims(codes, earlier, positives) is not None
            if self.repeated:
                return shown
        report = report_of(case)
        scores = [Score(measure=key, value=each.value) for key, each in report.values.items()]
        values = {each.measure: each.value for each in shown_values(self.policy, scores, _rows(report))}
        self.sent.append((codes, values))
        return values

    def micro_f1(self, answers: Labels) -> float:
        value = self.figures(answers)["micro_f1"]
        assert value is not None
        return value

    def classes(self, answers: Labels) -> dict[str, dict[str, Any]]:
        """Return the class rows shown of a file with a label per item."""
        rows = self.policy.classes(_rows(report_of(self._case(labelled(answers)))))
        return {row["label"]: row for row in rows}

    def curve(self, order: NDArray[np.int64]) -> dict[str, Any] | None:
        """Return the curve shown of claims (item, relation) by falling, distinct scores."""
        ids = [f"s{at}" for at in range(len(self.labels))]
        scores = np.arange(len(order), 0, -1, dtype=np.float64)
        owner, label = np.divmod(order, RELATIONS)
        predictions = Predictions("scores", ids, np.arange(len(ids)), owner, label, scores)
        report = report_of(self._case(predictions))
        assert report.curve is not None
        points = {key: getattr(report.curve, key).tolist() for key in ("recall", "precision", "score")}
        shown: dict[str, Any] | None = self.policy.detail({"curve": points})["curve"]
        return shown

    def ranking(self, answers: Labels, *, seed: int) -> Predictions:
        """Return a file of scores that makes the same claims; by the seed, others follow far behind."""
        random, size = np.random.Generator(np.random.PCG64(seed)), len(answers)
        made = np.flatnonzero(answers < NEGATIVE)
        cells = made * RELATIONS + answers[made]
        others = np.setdiff1d(np.arange(size * RELATIONS), cells)
        behind = random.choice(others, self.policy.gold.positives, replace=False)
        scores = np.concatenate([np.ones(len(cells)), random.random(len(behind)) / 2])
        owner, label = np.divmod(np.concatenate([cells, behind]), RELATIONS)
        ids = [f"s{at}" for at in range(size)]
        return Predictions("scores", ids, np.arange(size), owner, label, scores)


def labelled(answers: Labels) -> Predictions:
    ids, rows = [f"s{at}" for at in range(len(answers))], np.arange(len(answers))
    return Predictions("label", ids, rows, rows, answers)


def _rows(report: Any) -> list[dict[str, Any]]:
    return [{"family": family} | row._asdict() for family, rows in report.classes.items() for row in rows]
