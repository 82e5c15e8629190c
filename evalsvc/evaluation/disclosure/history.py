"""Earlier files that change the figures shown: near-duplicates and the Ladder."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field

from evalsvc.evaluation.disclosure import rules
from evalsvc.evaluation.disclosure.policy import Policy
from evalsvc.evaluation.measures.menu import as_shown
from evalsvc.evaluation.models import NearDuplicate, Score, SettingVersion, System


@dataclass(frozen=True)
class History:
    """Earlier figures that submissions show, and figures of the Ladder."""

    earlier: dict[int, int] = field(default_factory=dict)
    ladder: dict[int, float] = field(default_factory=dict)


def history(policy: Policy, submissions: Collection[int]) -> History:
    """Return what earlier files change for these submissions.

    Nothing while all is open.
    """
    if not policy.hidden or not submissions:
        return History()
    near = NearDuplicate.objects.filter(setting=policy.setting, submission__in=submissions)
    earlier = dict(near.values_list("submission_id", "earlier_id"))
    if not policy.setting.ladder:
        return History(earlier)
    steps = _ladders(policy, [*submissions, *earlier.values()])
    return History(earlier, {pk: steps[at] for pk in submissions if (at := earlier.get(pk, pk)) in steps})


def _ladders(policy: Policy, submissions: Collection[int]) -> dict[int, float]:
    """Climb the Ladder with every file of these teams.

    Withdrawn ones count; the order is that of scoring.
    """
    setting = policy.setting
    version = policy.version or SettingVersion.objects.get(setting=setting, number=setting.version)
    rows = (
        Score.objects.filter(
            measure=setting.main,
            value__isnull=False,
            evaluation__setting=setting,
            evaluation__gold_sha256=version.gold_sha256,
            evaluation__scorer=version.scorer,
            evaluation__submissions__system__team__in=System.objects.filter(runs__in=submissions).values(
                "team"
            ),
        )
        .exclude(evaluation__submissions__near__setting=setting)
        .order_by("evaluation__submissions__scored_at", "evaluation__submissions")
        .values_list("evaluation__submissions__system__team", "evaluation__submissions", "value")
    )
    of_team: dict[int, dict[int, float]] = defaultdict(dict)
    for team, submission, value in rows:
        of_team[team][submission] = value or 0.0
    higher = as_shown(setting, setting.main).higher_is_better
    return {
        submission: figure
        for values in of_team.values()
        for submission, figure in zip(
            values, rules.ladder(values.values(), setting.ladder or 1.0, higher=higher), strict=True
        )
    }
