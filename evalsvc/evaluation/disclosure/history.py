"""Earlier files that change the figures shown: near-duplicates and the Ladder."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Exists, F, OuterRef, Q, QuerySet, TextField, Value
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Coalesce

from evalsvc.evaluation.disclosure import rules
from evalsvc.evaluation.disclosure.disclosed import LADDER, REPEATS, WAITS
from evalsvc.evaluation.disclosure.policy import Policy, hidden_among
from evalsvc.evaluation.disclosure.sensitivity import TAU
from evalsvc.evaluation.measures.menu import as_shown
from evalsvc.evaluation.models import NearDuplicate, Score, Setting, SettingVersion, Submission

WAITING = (Submission.State.QUEUED, Submission.State.RUNNING)


Near = Mapping[tuple[int, str, str], Mapping[int, int | None]]
Gold = tuple[int, str, str, str]  # setting, test set, set that limits it, scorer
Rungs = dict[int, tuple[int, float | None]]  # by run: its figure, if it improves, and the last run that did


@dataclass(frozen=True)
class History:
    """Earlier figures that submissions show, and figures of the Ladder.

    A run that the Ladder held back for another shows none, also under versions where that is not scored.
    Those of `waiting` submissions come when the earlier run is scored again.
    """

    earlier: Mapping[int, int | None] = field(default_factory=dict)
    waiting: Collection[int] = ()
    ladder: Mapping[int, float] = field(default_factory=dict)
    held: Collection[int] = ()

    def why(self, submission: int) -> str:
        """Return the reason why a submission shows no figures."""
        if submission in self.waiting:
            return WAITS
        return LADDER if submission in self.held else REPEATS


def histories(readings: Sequence[tuple[Policy, Collection[int]]]) -> list[History]:
    """Return what earlier files change for submissions read under policies.

    Nothing where all is open.
    """
    hiding = {policy.setting.pk: policy.setting for policy, runs in readings if policy.hidden and runs}
    if not hiding:
        return [History() for _ in readings]
    near: dict[tuple[int, str, str], dict[int, int | None]] = defaultdict(dict)
    waiting: dict[tuple[int, str, str], set[int]] = defaultdict(set)
    rows = NearDuplicate.objects.filter(setting__in=hiding)
    names = ("setting_id", "gold_sha256", "only_sha256", "submission_id", "earlier_id", "earlier__state")
    for *gold, submission, earlier, state in rows.values_list(*names):
        near[*gold][submission] = earlier
        if state in WAITING:
            waiting[*gold].add(submission)
    ladders = _ladders([each for each in hiding.values() if each.ladder], near)
    return [_history(policy, runs, near, waiting, ladders) for policy, runs in readings]


def showing() -> QuerySet[Any]:
    """Return the runs with figures of their own, each with its evaluations."""
    return _without_near()


def informing(settings: Iterable[Setting]) -> QuerySet[Any]:
    """Return the runs whose figures tell a team something under settings, each with its evaluations.

    While gold is hidden, these are the runs with figures of their own, and those that resemble a run of
    another system, or one known under another setting alone.
    """
    own = Q(earlier__system=F("submission__system"), earlier__evaluations__setting=F("setting"))
    return _without_near(Q(earlier=None) | own, setting__in=hidden_among(settings))


def _without_near(*rows: Q, **where: Any) -> QuerySet[Any]:
    """Return the runs, each with its evaluations, but those with such a row of near-duplicates."""
    only = Coalesce(KeyTextTransform("only", "evaluation__options"), Value(""), output_field=TextField())
    names = ("submission", "evaluation__setting", "evaluation__gold_sha256", "only")
    own = ("submission", "setting", "gold_sha256", "only_sha256")
    same = dict(zip(own, map(OuterRef, names), strict=True))
    links = Submission.evaluations.through.objects.annotate(only=only)
    return links.filter(~Exists(NearDuplicate.objects.filter(*rows, **same).filter(**where)))


def _history(
    policy: Policy,
    submissions: Collection[int],
    near: Near,
    waiting: Mapping[tuple[int, str, str], Collection[int]],
    ladders: Mapping[Gold, Rungs],
) -> History:
    if not policy.hidden or not submissions:
        return History()
    setting, version = policy.setting, policy.version
    if version is None:
        version = next(each for each in setting.versions.all() if each.number == setting.version)
    gold = setting.pk, version.gold_sha256, version.only_sha256
    of_gold = near.get(gold, {})
    earlier = {pk: of_gold[pk] for pk in submissions if pk in of_gold}
    waits = waiting.get(gold, ())
    if not setting.ladder:
        return History(earlier, waits)
    rungs = ladders.get((*gold, version.scorer), {})
    own = {pk: rungs[at] for pk in submissions if (at := earlier.get(pk, pk) or 0) in rungs}
    held = [pk for pk, (_, figure) in own.items() if figure is None]
    shown = {pk: figure for pk, (_, figure) in own.items() if figure is not None}
    return History(earlier | dict.fromkeys(held), waits, shown, held)


def _ladders(settings: Sequence[Setting], near: Near) -> dict[Gold, Rungs]:
    """Climb the Ladder of each version with every file of each team.

    Withdrawn ones count; the order is that of scoring.
    """
    if not settings:
        return {}
    links = Submission.evaluations.through.objects.filter(
        evaluation__setting__in=settings,
        evaluation__scores__measure=F("evaluation__setting__main"),
        evaluation__scores__value__isnull=False,
    )
    moving = [each.pk for each in settings if not Policy(each, True).is_over_thresholds(each.main)]
    at_tau = Score.objects.filter(evaluation=OuterRef("evaluation"), measure=TAU)
    links = links.exclude(Exists(at_tau), evaluation__setting__in=moving)  # they show no figure
    only = KeyTextTransform("only", "evaluation__options")
    gold = ("evaluation__setting_id", "evaluation__gold_sha256", only, "evaluation__scorer")
    rows = links.order_by("submission__scored_at", "submission_id").values_list(
        *gold, "submission__system__team_id", "submission_id", "evaluation__scores__value"
    )
    of_team: dict[int, dict[Gold, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
    for setting, sha256, limit, scorer, team, submission, value in rows:
        of_team[team][setting, sha256, limit or "", scorer][submission] = value
    named = {setting.pk: setting for setting in settings}
    versions = SettingVersion.objects.filter(setting__in=settings).select_related("test_set", "only")
    steps = {
        (each.setting_id, each.gold_sha256, each.only_sha256, each.scorer): step
        for each in versions
        if (setting := named[each.setting_id])
        and (step := Policy(setting, True, each).step(setting.main)) is not None  # else it shows no figure
    }
    ladders: dict[Gold, Rungs] = defaultdict(dict)
    for values in of_team.values():
        sources: dict[tuple[int, int], int] = {}  # by setting and run: whose figure it showed last
        for of_gold, step in steps.items():
            setting, scored = named[of_gold[0]], values.get(of_gold, {})
            own = [run for run in scored if run not in near.get(of_gold[:3], {})]
            before = {run: sources.get((setting.pk, run), run) for run in own}
            climbing = [run for run in own if before[run] in scored]
            higher = as_shown(setting, setting.main).higher_is_better
            climbed = rules.ladder((scored[run] for run in climbing), step, higher=higher)
            rungs = _rungs(climbing, climbed)
            ladders[of_gold] |= {run: (before[run], None) for run in own} | rungs
            sources |= {(setting.pk, run): source for run, (source, _) in rungs.items()}
    return ladders


def _rungs(runs: Sequence[int], figures: Sequence[float]) -> Rungs:
    """Return the figure of each run that improves on those before, and the last run that did."""
    first: dict[float, int] = {}
    climbed = [
        (run, figure, first.setdefault(figure, run)) for run, figure in zip(runs, figures, strict=True)
    ]
    return {run: (best, figure if best == run else None) for run, figure, best in climbed}
