"""Evaluations of files and their scores."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models.functions import Now

from evalsvc.evaluation.models.setting import Setting


class PredictionFile(models.Model):
    """Prediction file, stored once under the SHA-256 of its unpacked bytes."""

    sha256 = models.CharField(max_length=64, primary_key=True)
    size = models.BigIntegerField()
    name = models.CharField(max_length=200, help_text="Where it lies in the storage.")
    kept_at = models.DateTimeField(db_default=Now(), help_text="When these bytes came, the last time.")

    def __str__(self) -> str:
        return self.sha256


class Evaluation(models.Model):
    """Scoring of a file under a setting, identified by everything affecting figures."""

    file = models.ForeignKey(PredictionFile, on_delete=models.PROTECT, related_name="evaluations")
    setting = models.ForeignKey(Setting, on_delete=models.PROTECT, related_name="evaluations")
    gold_sha256 = models.CharField(max_length=64)
    options = models.JSONField()
    options_sha256 = models.CharField(max_length=64)
    scorer = models.CharField(max_length=40, help_text="Version of the scorer.")
    answers_sha256 = models.CharField(
        max_length=64, blank=True, help_text="Of the answers scored, sorted; empty: not computed yet."
    )
    claims_sha256 = models.CharField(
        max_length=64, blank=True, help_text="Of the claims that count, whatever the form of the file."
    )
    order_sha256 = models.CharField(
        max_length=64, blank=True, help_text="Of the order of ranked claims, whatever their scores."
    )
    libraries = models.JSONField(default=dict)
    classes = models.JSONField(default=list, help_text="Figures per class.")
    detail = models.JSONField(default=dict, help_text="Counts, curve, notes.")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["file", "setting", "gold_sha256", "options_sha256", "scorer"],
                name="the_same_scoring_once",
            )
        ]

    def __str__(self) -> str:
        return f"{self.setting} of {self.file_id[:12]}"

    @property
    def scored_on(self) -> dict[str, Any]:
        """Setting, gold, and the set that limits it: files are compared if they are scored on the same."""
        return {
            "setting": self.setting,
            "gold_sha256": self.gold_sha256,
            "only_sha256": self.options.get("only", ""),
        }


class EvaluationClaims(models.Model):
    """Claims of a file under a hidden setting, as 64-bit numbers.

    `texts` are those of spans as answers without offsets, to be compared with such files.
    """

    evaluation = models.OneToOneField(Evaluation, on_delete=models.CASCADE, related_name="claims")
    codes = models.BinaryField()
    texts = models.BinaryField(null=True)

    def __str__(self) -> str:
        return f"claims of {self.evaluation}"


class EvaluationOutcomes(models.Model):
    """Outcome of each item of a file, packed; who may read it is decided by the disclosure."""

    evaluation = models.OneToOneField(Evaluation, on_delete=models.CASCADE, related_name="outcomes")
    content = models.BinaryField()

    def __str__(self) -> str:
        return f"outcomes of {self.evaluation}"


class Score(models.Model):
    """Value of a measure; null with a reason when undefined."""

    evaluation = models.ForeignKey(Evaluation, on_delete=models.CASCADE, related_name="scores")
    measure = models.CharField(max_length=60)
    value = models.FloatField(null=True)
    reason = models.CharField(max_length=200, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["evaluation", "measure"], name="one_value_per_measure")
        ]

    def __str__(self) -> str:
        return f"{self.measure}: {self.value}"
