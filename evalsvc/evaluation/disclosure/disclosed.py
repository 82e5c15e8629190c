"""Evaluations as a policy lets them out, and why a run shows no figures."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from evalsvc.evaluation.disclosure.policy import CLASS_FAMILY, WITHHELD, Policy, ShownValue
from evalsvc.evaluation.disclosure.sensitivity import TAU
from evalsvc.evaluation.measures.computation import applied
from evalsvc.evaluation.measures.menu import MENU
from evalsvc.evaluation.models import Evaluation, Setting

REPEATS = (
    "the file hardly differs from one scored on this gold under another setting, the team has used its quota "
    "of shown runs, or a member sent runs for another team"
)
WAITS = "an earlier run of the team is being scored again, and the two are compared first"
OF_OTHER = "the file hardly differs from an earlier run of another system of its team"
LADDER = (
    "under the Ladder a run shows a figure only if it improves the best one shown of its team "
    "by more than a step"
)


class StoredValue(Protocol):
    """Value of a measure as stored: a `Score`, or its columns."""

    @property
    def measure(self) -> str: ...
    @property
    def value(self) -> float | None: ...
    @property
    def reason(self) -> str: ...


def needs_claims(policy: Policy) -> bool:
    """True if the step of a shown measure depends on the claims."""
    return policy.hidden and any("precision" in key for key in policy.measures)


def claims_of(rows: list[dict[str, Any]], key: str) -> dict[str, int]:
    """Return the claims per class that a measure divides by."""
    family = MENU[key].family if key in MENU else ""
    present = {row["family"] for row in rows}
    chosen = next((each for each in (family, *CLASS_FAMILY.values()) if each in present), "")
    return {row["label"]: row["predicted"] for row in rows if row["family"] == chosen}


@dataclass(frozen=True)
class Disclosed:
    """Evaluation as a reader may see it."""

    pk: int
    setting: Setting
    policy: Policy
    gold_sha256: str
    file_id: str
    options: dict[str, Any]
    scorer: str
    libraries: dict[str, str]
    created_at: datetime
    scores: list[ShownValue]
    classes: list[dict[str, Any]]
    detail: dict[str, Any]
    figures_of: int | None = None

    @property
    def setting_id(self) -> int:
        return self.setting.pk

    @property
    def values(self) -> dict[str, float | None]:
        return {score.measure: score.value for score in self.scores}


def disclose(
    evaluation: Evaluation,
    policy: Policy,
    *,
    created_at: datetime,
    earlier: tuple[int | None, Evaluation | None] | None = None,
    why: str = REPEATS,
    ladder: float | None = None,
) -> Disclosed:
    """Return what a policy lets out of an evaluation.

    `earlier` is the run, with its evaluation, that a near-duplicate shows; `ladder` the figure of the Ladder.
    Without an evaluation nothing is shown, `why` states the reason.
    """
    shown_run, source = earlier or (None, evaluation)
    values, detail = withheld_values(policy, why), dict[str, Any]()
    classes = list[dict[str, Any]]()
    if source is not None:
        values = shown_values(policy, source.scores.all(), source.classes, ladder=ladder)
        moving = policy.hidden and has_threshold(source.scores.all())
        classes, detail = [] if moving else source.classes, source.detail
    return Disclosed(
        pk=evaluation.pk,
        setting=evaluation.setting,
        policy=policy,
        gold_sha256=evaluation.gold_sha256,
        file_id=evaluation.file_id,
        options=applied(evaluation.options, evaluation.detail.get("counts") or {}),
        scorer=evaluation.scorer,
        libraries=evaluation.libraries,
        created_at=created_at,
        scores=values,
        classes=policy.classes(classes),
        detail=policy.detail(detail),
        figures_of=shown_run if source else None,
    )


def has_threshold(scores: Iterable[StoredValue]) -> bool:
    """True for scores, which count from the threshold on that the gold decides, if it has any label."""
    return any(score.measure == TAU for score in scores)


def withheld_values(policy: Policy, why: str) -> list[ShownValue]:
    """Return the values of a run that shows no figures, or none yet."""
    reason = f"{WITHHELD}: {why}" if why == WAITS else f"{WITHHELD} {policy.until}: {why}"
    return [ShownValue(key, None, reason, withheld=True) for key in policy.measures]


def shown_values(
    policy: Policy,
    scores: Iterable[StoredValue],
    rows: list[dict[str, Any]],
    *,
    ladder: float | None = None,
) -> list[ShownValue]:
    """Return the values that a policy lets out of these scores."""
    if not policy.hidden:
        return [ShownValue(score.measure, score.value, score.reason) for score in scores]
    shown, values, scores = set(policy.measures), list[ShownValue](), list(scores)
    moving = has_threshold(scores)
    for score in scores:
        if score.measure in shown and moving and not policy.is_over_thresholds(score.measure):
            withheld = policy.withheld if policy.withholds(score.measure) else policy.withheld_at_tau
            values.append(ShownValue(score.measure, None, withheld, withheld=True))
        elif score.measure == policy.setting.main and ladder is not None:
            values.append(ShownValue(score.measure, ladder))
        elif score.measure in shown:
            claims = claims_of(rows, score.measure)
            values.append(policy.value(score.measure, score.value, reason=score.reason, claims=claims))
    return values
