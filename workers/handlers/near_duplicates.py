"""Near-duplicates of a team's earlier files, under hidden settings."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from django.db.models import Q

from evalsvc.core.formats.prediction_forms import TEXT_FORMS
from evalsvc.evaluation.benchmarks import quotas, scoring_identity
from evalsvc.evaluation.disclosure import gold_counts, rules
from evalsvc.evaluation.disclosure.history import WAITING, showing
from evalsvc.evaluation.disclosure.policy import is_hidden
from evalsvc.evaluation.models import Evaluation, EvaluationClaims, NearDuplicate, Setting, Submission
from workers.scoring.case import SCORED_FORMS
from workers.scoring.claims import ClaimCodes, changed_claims, renumbered

Stored: TypeAlias = "bytes | memoryview[int]"


class Earlier(NamedTuple):
    """Run of the team with figures of its own, and its claims."""

    submission: int
    file: str
    aggregate: str
    columns: list[str]
    options: dict[str, Any]
    codes: Stored
    texts: Stored | None

    def compared(self, claims: ClaimCodes, options: dict[str, Any]) -> tuple[ClaimCodes, ClaimCodes] | None:
        """Return the claims of a run with these options, and the own ones, in one form, if they have one.

        Golds limited to some items number these by themselves, and relations between entities are hashes of
        numbers. Answers without offsets are hashes of names and texts, which spans have, too.
        """
        own, stored = self.options, stored_claims(self.codes, self.texts, self.options)
        if own.get("only") != options.get("only"):
            return None
        if own["form"] in TEXT_FORMS or options["form"] in TEXT_FORMS:
            both = claims.texts, stored.texts
            if both[0] is None or both[1] is None:
                return None
            return ClaimCodes(both[0], ranked=False), ClaimCodes(both[1], ranked=False)
        if own["labels"] == options["labels"] and own.get("relations") == options.get("relations"):
            return claims, stored
        if own.get("relations") or options.get("relations"):
            return None
        return claims, renumbered(stored, own["labels"], options["labels"])


def stored_claims(codes: Stored, texts: Stored | None, options: dict[str, Any]) -> ClaimCodes:
    read = None if texts is None else np.frombuffer(bytes(texts), dtype=np.uint64)
    own = np.frombuffer(bytes(codes), dtype=np.uint64)
    return ClaimCodes(own, options["form"] in SCORED_FORMS, own if options["form"] in TEXT_FORMS else read)


def positives_if_hidden(setting: Setting) -> int:
    """Return the gold labels of a hidden setting, rounded up as in checks of rankings, else 0.

    Which files are near would tell their exact number.
    """
    return rules.least_claims(gold_counts.of_version(setting).labels) if is_hidden(setting) else 0


def compared(submission: Submission) -> list[dict[str, Any]]:
    """Return on what a run was compared before."""
    evaluations = submission.evaluations.filter(claims__isnull=False)
    return [each.scored_on for each in evaluations.select_related("setting").defer("classes", "detail")]


def keep_claims(evaluation: Evaluation, claims: ClaimCodes) -> None:
    texts = None if claims.texts is claims.codes else claims.texts
    values = {"codes": claims.codes.tobytes(), "texts": None if texts is None else texts.tobytes()}
    EvaluationClaims.objects.update_or_create(evaluation=evaluation, defaults=values)


def record(submission: Submission, evaluation: Evaluation, before: Collection[dict[str, Any]]) -> None:
    """Store the run that another resembles, unless they were compared before.

    Under a new gold runs are scored again in any order. A run that is scored before an earlier one shows the
    figures of that one, so none, until both are scored and can be compared.
    """
    gold = evaluation.scored_on
    rows = NearDuplicate.objects.filter(**gold)
    waiting = list(rows.filter(earlier=submission).select_related("submission__system"))
    if gold not in before or not _is_scored(rows.filter(submission=submission).first()):
        _compare(submission, evaluation)
    for row in waiting if gold not in before else ():
        later = row.submission.evaluations.filter(setting=row.setting_id, gold_sha256=row.gold_sha256)
        for other in later.filter(claims__isnull=False).select_related("setting"):
            if other.scored_on == gold:
                row.delete()
                _compare(row.submission, other)


def _is_scored(row: NearDuplicate | None) -> bool:
    """Return whether the run whose figures a row shows has any; true without a row."""
    if row is None:
        return True
    if row.earlier is None:  # the quota may have been raised
        return False
    return row.scored_as_well(row.earlier)


def _compare(submission: Submission, evaluation: Evaluation) -> None:
    stored = EvaluationClaims.objects.filter(evaluation=evaluation).values_list("codes", "texts").first()
    positives = positives_if_hidden(evaluation.setting)
    if stored is None or not positives:
        return
    claims = stored_claims(*stored, evaluation.options)
    near: tuple[int | None, int] | None
    near = (
        _nearest(submission, evaluation, claims, positives)
        or _waiting(submission, evaluation)
        or _resembled(submission, evaluation)
    )
    if near is None and _is_over_quota(submission, evaluation):
        near = None, 0
    row: dict[str, Any] = {"submission": submission} | evaluation.scored_on
    if near is None:
        NearDuplicate.objects.filter(**row).delete()
        return
    earlier, changed = near
    NearDuplicate.objects.update_or_create(**row, defaults={"earlier_id": earlier, "claims": changed})


def _is_over_quota(submission: Submission, evaluation: Evaluation) -> bool:
    """True if figures of as many runs are shown as the quota allows, or its sender began with another team.

    They may have been sent before the setting was added, when neither rule held. Whatever became of them,
    runs count by what they showed under any version of the setting: its golds are nearly the same. One that
    showed figures keeps its place under a new version, though that may have a lower quota.
    """
    team, most = submission.system.team, quotas.most_in_total(evaluation.setting)
    first = quotas.first_run(submission.by_id, [evaluation.setting])
    if first is not None and first.system.team_id != team.pk:
        return True
    shown = showing().filter(
        Q(evaluation__gold_sha256=evaluation.gold_sha256) | Q(evaluation__setting=evaluation.setting_id),
        submission__scored_at__isnull=False,
        evaluation__setting__disclosure=Setting.Disclosure.HIDDEN,
    )
    own = shown.filter(submission__system__team=team, evaluation__setting=evaluation.setting_id)
    in_order = own.order_by("submission__scored_at", "submission").values_list("submission", flat=True)
    runs = list(dict.fromkeys(in_order))
    if most is None or len({*runs} - {submission.pk}) < most:
        return False
    of_gold = {"evaluation__gold_sha256": evaluation.gold_sha256, "only": evaluation.scored_on["only_sha256"]}
    before = own.filter(submission=submission).exclude(**of_gold)
    return not before.exists() or runs.index(submission.pk) >= most


def _waiting(submission: Submission, evaluation: Evaluation) -> tuple[int, int] | None:
    """Return the team's first earlier run that is still to be scored again under this gold.

    One that ended without a score, as it failed or was cancelled, keeps nobody waiting.
    """
    own = {"evaluations__setting": evaluation.setting, "evaluations__gold_sha256": evaluation.gold_sha256}
    only = evaluation.scored_on["only_sha256"]
    own |= {"evaluations__options__only": only} if only else {"evaluations__options__only__isnull": True}
    runs = Submission.objects.filter(
        system__team=submission.system.team_id,
        benchmark=submission.benchmark_id,
        withdrawn_at=None,
        scored_at__isnull=False,
        state__in=WAITING,
    )
    runs = runs.exclude(pk=submission.pk).exclude(pk__in=Submission.objects.filter(**own))
    if submission.scored_at:
        runs = runs.filter(scored_at__lte=submission.scored_at)
    for run in runs.select_related("benchmark").order_by("scored_at", "pk"):
        if evaluation.setting in scoring_identity.fitting(run):
            return run.pk, 0
    return None


def _resembled(submission: Submission, evaluation: Evaluation) -> tuple[int, int] | None:
    """Return a run of another system, not scored on this gold, that it resembled under an earlier one.

    A team would else withdraw its best runs, and show similar ones under another name, without the rest.
    """
    rows = submission.near.filter(setting=evaluation.setting_id, earlier__isnull=False)
    others = rows.exclude(earlier__system=submission.system_id).order_by("pk")
    for earlier, claims, before in others.values_list("earlier", "claims", "gold_sha256"):
        scored = Evaluation.objects.filter(submissions=earlier)
        golds = set(scored.values_list("gold_sha256", flat=True))
        if before in golds and evaluation.gold_sha256 not in golds:
            return earlier, claims
    return None


def without_claims(submission: Submission, setting: Setting) -> list[tuple[Submission, Evaluation]]:
    """Return the team's runs from before the setting was hidden, or before spans were kept as texts."""
    runs = Submission.objects.filter(system__team=submission.system.team_id, scored_at__isnull=False)
    lacking = Q(evaluation__claims__isnull=True)
    if setting.unit == Setting.Unit.DOCUMENT:
        as_text = Q(evaluation__options__form__in=TEXT_FORMS)
        lacking |= Q(evaluation__claims__texts__isnull=True) & ~as_text
    links = Submission.evaluations.through.objects.filter(
        lacking,
        submission__in=runs.exclude(pk=submission.pk),
        evaluation__setting=setting,
        evaluation__gold_sha256=setting.test_set.sha256,
    )
    related = ("submission__benchmark", "submission__file", "submission__system", "evaluation")
    by_evaluation = {link.evaluation_id: link for link in links.select_related(*related).order_by("-pk")}
    return [(link.submission, link.evaluation) for link in by_evaluation.values()]


def _nearest(
    submission: Submission, evaluation: Evaluation, claims: ClaimCodes, positives: int
) -> tuple[int, int] | None:
    """Return the team's first run that differs too little, and how much.

    Of two runs the one that is scored later shows nothing of its own: mostly the one sent later, but a run
    that failed to be scored again may be scored after others.
    Under another setting with the same gold the same answers may be scored again.
    """
    for here in (True, False):
        for earlier in _earlier(submission, evaluation, here=here):
            both = earlier.compared(claims, evaluation.options)
            changed = None if both is None else changed_claims(*both, positives)
            if both is None or changed is None:
                continue
            as_text = {evaluation.options["form"], earlier.options["form"]} & {*TEXT_FORMS}
            if here or not _is_repeat(submission, earlier, *both, exact=not as_text):
                return earlier.submission, changed
    return None


def _earlier(submission: Submission, evaluation: Evaluation, *, here: bool) -> Iterator[Earlier]:
    """Yield runs scored on the same items before, under this setting or elsewhere."""
    own = Q(evaluation__setting=evaluation.setting_id)
    if not here:
        own = ~own & Q(evaluation__setting__share=None)
        if evaluation.setting.share is not None:
            return
    links = (
        showing()
        .filter(
            own,
            submission__system__team=submission.system.team_id,
            submission__scored_at__isnull=False,
            evaluation__gold_sha256=evaluation.gold_sha256,
            evaluation__claims__isnull=False,
        )
        .exclude(submission=submission)
    )
    rows = links.order_by("submission__scored_at", "submission", "evaluation").values_list(
        *("submission", "evaluation__file", "submission__aggregate", "submission__columns"),
        *("evaluation__options", "evaluation__claims__codes", "evaluation__claims__texts"),
    )
    yield from map(Earlier._make, rows)


def _is_repeat(
    submission: Submission, earlier: Earlier, claims: ClaimCodes, theirs: ClaimCodes, *, exact: bool
) -> bool:
    """True for the same file, or the same labels in another one, if claims are all that counts.

    Of answers without offsets the order and repeats decide where they are found.
    """
    sent = (submission.file_id, submission.aggregate, submission.columns)
    if sent == (earlier.file, earlier.aggregate, earlier.columns):
        return True
    return exact and not (claims.ranked or theirs.ranked) and np.array_equal(claims.codes, theirs.codes)
