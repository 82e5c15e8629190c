"""What a person sees of the evaluations of submissions, under every version."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from django.db.models import F, Q

from evalsvc.evaluation.benchmarks.stated_computation import scored_part
from evalsvc.evaluation.disclosure.disclosed import Disclosed, disclose, needs_claims, shown_values
from evalsvc.evaluation.disclosure.history import History, histories
from evalsvc.evaluation.disclosure.policy import Policy, held_back_from
from evalsvc.evaluation.disclosure.sensitivity import TAU
from evalsvc.evaluation.measures.computation import computation
from evalsvc.evaluation.models import Evaluation, Score, Setting, SettingVersion, Submission
from evalsvc.evaluation.roles import Person, sealed_from

Scored = tuple[Submission, Evaluation]


def shown(submission: Submission, *, person: Person | None = None) -> list[Disclosed]:
    """Return what a person sees of its evaluations, under every version."""
    return shown_of([submission], person)[0]


def shown_of(submissions: Sequence[Submission], person: Person | None) -> list[list[Disclosed]]:
    """Return what a person sees of the evaluations of each, in as many queries as for one."""
    links = Submission.evaluations.through.objects.filter(submission__in=submissions)
    pairs = list(links.order_by("evaluation").values_list("submission_id", "evaluation_id"))
    related = ("setting", "setting__test_set", "setting__only", "setting__benchmark")
    evaluations = (
        Evaluation.objects.select_related(*related)
        .prefetch_related("scores", "setting__versions__test_set", "setting__versions__only")
        .in_bulk({evaluation for _, evaluation in pairs})
    )
    sealed = sealed_from({each.setting for each in evaluations.values()}, person)
    by_key = {each.pk: each for each in submissions}
    scored = [
        (by_key[submission], evaluations[evaluation])
        for submission, evaluation in pairs
        if evaluations[evaluation].setting_id not in sealed
    ]
    visible: dict[int, list[Disclosed]] = defaultdict(list)
    for (submission, _), each in zip(scored, disclosed(scored, person), strict=True):
        visible[submission.pk].append(each)
    return [
        sorted(visible[of.pk], key=lambda each: (each.setting.rank, each.setting_id, precedence(each)))
        for of in submissions
    ]


def disclosed(scored: Sequence[Scored], person: Person | None) -> list[Disclosed]:
    """Return what a person sees of evaluations of submissions."""
    hidden = held_back_from({evaluation.setting for _, evaluation in scored}, person)
    policies = [Policy(each.setting, each.setting_id in hidden, _version_of(each)) for _, each in scored]
    pasts, earlier = _pasts(scored, policies)
    shown = []
    for (submission, evaluation), policy, past, source in zip(scored, policies, pasts, earlier, strict=True):
        # an evaluation's own time tells whether another team sent the same bytes before
        first = submission.scored_at or submission.created_at
        since = policy.version.created_at if policy.version else first
        shown.append(
            disclose(
                evaluation,
                policy,
                created_at=max(first, since),
                earlier=(past.earlier[submission.pk], source) if submission.pk in past.earlier else None,
                why=past.why(submission.pk),
                ladder=past.ladder.get(submission.pk),
            )
        )
    return shown


def class_rows(policy: Policy, evaluations: Collection[int]) -> dict[int, list[dict[str, Any]]]:
    """Return the rows per class of evaluations under one policy."""
    stored = Evaluation.objects.filter(pk__in=evaluations).values_list("pk", "classes")
    at_tau = Score.objects.filter(evaluation__in=evaluations, measure=TAU)
    moving = set(at_tau.values_list("evaluation", flat=True)) if policy.hidden else ()
    return {pk: [] if pk in moving else policy.classes(rows) for pk, rows in stored}


def main_values(scored: Sequence[Scored], person: Person) -> list[float | None]:
    """Return the main figures of evaluations as a person sees them."""
    hidden = held_back_from({evaluation.setting for _, evaluation in scored}, person)
    policies = [Policy(each.setting, each.setting_id in hidden, _version_of(each)) for _, each in scored]
    pasts, earlier = _pasts(scored, policies)
    sources = [
        source if submission.pk in past.earlier else evaluation
        for (submission, evaluation), past, source in zip(scored, pasts, earlier, strict=True)
    ]
    asked = Q(measure=F("evaluation__setting__main")) | Q(measure=TAU)
    scores: dict[int, list[Score]] = defaultdict(list)
    for score in Score.objects.filter(asked, evaluation__in=filter(None, sources)):
        scores[score.evaluation_id].append(score)
    both = zip(sources, policies, strict=True)
    counting = [source.pk for source, policy in both if source and needs_claims(policy)]
    rows: dict[int, list[dict[str, Any]]] = {}
    if counting:
        rows = dict(Evaluation.objects.filter(pk__in=counting).values_list("pk", "classes"))
    figures = []
    for (submission, _), policy, past, source in zip(scored, policies, pasts, sources, strict=True):
        stored = scores[source.pk] if source else []
        of_run = rows.get(source.pk, []) if source else []
        values = shown_values(policy, stored, of_run, ladder=past.ladder.get(submission.pk))
        own = (value.value for value in values if value.measure == policy.setting.main)
        figures.append(next(own, None))
    return figures


def _version_of(evaluation: Evaluation) -> SettingVersion | None:
    numbers = versions_of(evaluation)
    return next((each for each in evaluation.setting.versions.all() if each.number in numbers), None)


def _pasts(
    scored: Sequence[Scored], policies: Sequence[Policy]
) -> tuple[list[History], list[Evaluation | None]]:
    """Return the history of each, and the earlier evaluation that it shows."""
    runs = [(policy, [submission.pk]) for policy, (submission, _) in zip(policies, scored, strict=True)]
    pasts = histories(runs)
    of_run: dict[tuple[int, int, str, str], Evaluation] = {}
    if earlier := {run for past in pasts for run in past.earlier.values()}:
        links = Submission.evaluations.through.objects.filter(submission__in=earlier)
        links = links.order_by("evaluation_id").select_related("evaluation")
        for link in links.prefetch_related("evaluation__scores"):
            each = link.evaluation
            of_run[link.submission_id, *_gold_of(each)] = each
    shown = []
    for (submission, evaluation), past in zip(scored, pasts, strict=True):
        run = past.earlier.get(submission.pk) or 0
        shown.append(of_run.get((run, *_gold_of(evaluation))))
    return pasts, shown


def _gold_of(evaluation: Evaluation) -> tuple[int, str, str]:
    return evaluation.setting_id, evaluation.gold_sha256, evaluation.scored_on["only_sha256"]


def newest(submission: Submission, *, person: Person | None = None) -> list[Disclosed]:
    """Return the valid evaluation of each visible setting, in order."""
    return under_version(shown(submission, person=person))


def under_version(evaluations: Iterable[Disclosed], number: int | None = None) -> list[Disclosed]:
    """Return one evaluation per setting, by default the newest valid one."""
    matching = [each for each in evaluations if number is None or number in versions_of(each)]
    return list({each.setting_id: each for each in matching}.values())


def versions_scored(evaluations: Iterable[Disclosed]) -> dict[str, list[int]]:
    """Return the scored versions by setting key."""
    numbers: dict[str, set[int]] = defaultdict(set)
    for each in evaluations:
        numbers[each.setting.key].update(versions_of(each))
    return {key: sorted(of_setting) for key, of_setting in numbers.items()}


def computation_of(evaluation: Disclosed, *, gold: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return every choice behind the scores of an evaluation.

    `gold` names the gold as it may be shown. Files that lack items were accepted before a setting was hidden.
    """
    version = evaluation.policy.version
    complete = not (evaluation.detail.get("counts") or {}).get("missing")
    return computation(
        evaluation.options,
        scorer=evaluation.scorer,
        gold={**(gold or {}), **(scored_part(version) if version else {})},
        version=max(versions_of(evaluation), default=None),
        hidden=evaluation.setting.disclosure == Setting.Disclosure.HIDDEN and complete,
    )


def precedence(evaluation: Evaluation | Disclosed) -> tuple[bool, int]:
    """Sort key of evaluations: the version, then the time."""
    return evaluation.setting.version in versions_of(evaluation), evaluation.pk


def versions_of(evaluation: Evaluation | Disclosed) -> list[int]:
    """Return the numbers of the versions with its gold and scorer."""
    same = (evaluation.gold_sha256, evaluation.scorer, evaluation.options.get("only", ""))
    versions = evaluation.setting.versions.all()
    return [each.number for each in versions if same == (each.gold_sha256, each.scorer, each.only_sha256)]
