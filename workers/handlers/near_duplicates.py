"""Near-duplicates of a team's earlier files, under hidden settings."""

from __future__ import annotations

import numpy as np

from evalsvc.evaluation.disclosure import gold_counts, rules
from evalsvc.evaluation.disclosure.policy import is_hidden
from evalsvc.evaluation.models import Evaluation, EvaluationClaims, NearDuplicate, Setting, Submission
from workers.scoring.claims import Codes


def positives_if_hidden(setting: Setting) -> int:
    """Return the gold labels of a hidden setting, else 0."""
    return gold_counts.of_version(setting).positives if is_hidden(setting) else 0


def record(submission: Submission, evaluation: Evaluation, codes: Codes, positives: int) -> None:
    """Store the claims of an evaluation, and the run it resembles."""
    EvaluationClaims.objects.get_or_create(evaluation=evaluation, defaults={"codes": codes.tobytes()})
    near = _nearest(submission, evaluation, codes, rules.near_below(positives))
    of_run = NearDuplicate.objects.filter(submission=submission, setting=evaluation.setting_id)
    if near is None:
        of_run.delete()
    else:
        values = {"earlier_id": near[0], "claims": near[1]}
        NearDuplicate.objects.update_or_create(
            submission=submission, setting_id=evaluation.setting_id, defaults=values
        )


def _nearest(
    submission: Submission, evaluation: Evaluation, codes: Codes, least: int
) -> tuple[int, int] | None:
    """Return the team's first run that differs too little.

    Only runs that show figures of their own are compared.
    """
    earlier = (
        Submission.objects.filter(
            system__team=submission.system.team_id,
            evaluations__setting=evaluation.setting_id,
            evaluations__gold_sha256=evaluation.gold_sha256,
            evaluations__claims__isnull=False,
            scored_at__isnull=False,
        )
        .exclude(pk=submission.pk)
        .exclude(near__setting=evaluation.setting_id)
        .order_by("scored_at", "pk")
    )
    if submission.scored_at:
        earlier = earlier.filter(scored_at__lte=submission.scored_at)
    for pk, stored in earlier.values_list("pk", "evaluations__claims__codes"):
        others = np.frombuffer(bytes(stored), dtype=np.uint64)
        if abs(len(others) - len(codes)) < least:
            differing = len(np.setxor1d(codes, others, assume_unique=True))
            if differing < least:
                return pk, differing
    return None


def record_again(submission: Submission, evaluation: Evaluation) -> None:
    """Compare a run whose scores exist, by the claims stored with them."""
    stored = EvaluationClaims.objects.filter(evaluation=evaluation).values_list("codes", flat=True).first()
    if stored is not None and (positives := positives_if_hidden(evaluation.setting)):
        record(submission, evaluation, np.frombuffer(bytes(stored), dtype=np.uint64), positives)
