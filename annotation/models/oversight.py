"""Gold questions and their marks, exclusions and pauses, suggestions, agreement reports."""

from __future__ import annotations

import secrets

from django.conf import settings
from django.db import models
from django.db.models.functions import Now


def drawn_place() -> int:
    """Draw the place of a hidden check among the others; texts or labels may show the order of its file."""
    return secrets.randbelow(1 << 31)


class KnownAnswer(models.Model):
    """The answer of a gold question; shown after a qualification vote only."""

    item = models.OneToOneField(
        "annotation.Item", on_delete=models.CASCADE, primary_key=True, related_name="known"
    )
    payload = models.JSONField()
    explains = models.TextField(blank=True, help_text="Why, for whoever got it wrong.")
    digest = models.CharField(max_length=80, blank=True, db_default="", editable=False)
    place = models.PositiveIntegerField(default=drawn_place, db_default=0, editable=False)

    def __str__(self) -> str:
        return "sealed"


class Mark(models.Model):
    """The result of an annotator's first vote on a gold question."""

    item = models.ForeignKey("annotation.Item", on_delete=models.CASCADE, related_name="marks")
    annotator = models.ForeignKey("annotation.Annotator", on_delete=models.CASCADE, related_name="marks")
    right = models.BooleanField()
    at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.UniqueConstraint(fields=["annotator", "item"], name="one_mark_each")]

    def __str__(self) -> str:
        return f"{self.annotator}: {'right' if self.right else 'wrong'}"


class Oversight(models.Model):
    """An entry in the log of pauses and exclusions."""

    class Act(models.TextChoices):
        PAUSE = "pause"
        RESUME = "resume"
        SET_ASIDE = "set aside"
        PUT_BACK = "put back"

    annotator = models.ForeignKey("annotation.Annotator", on_delete=models.CASCADE, related_name="oversights")
    act = models.CharField(max_length=10, choices=Act)
    reason = models.CharField(max_length=200, blank=True)
    n = models.PositiveIntegerField(default=0, help_text="How many answers it concerned.")
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        null=True,
        related_name="+",
        help_text="Nobody: the rule.",
    )
    at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.act}: {self.annotator}"


class Suggestion(models.Model):
    """The prediction for an item, shown while the project suggests."""

    item = models.OneToOneField(
        "annotation.Item", on_delete=models.CASCADE, primary_key=True, related_name="suggestion"
    )
    batch = models.ForeignKey("annotation.Batch", on_delete=models.CASCADE, related_name="suggestions")
    payload = models.JSONField()

    def __str__(self) -> str:
        return "sealed"


class ProjectFigures(models.Model):
    """Figures over the votes of a large project, as a job computed them."""

    project = models.OneToOneField(
        "annotation.Project", on_delete=models.CASCADE, primary_key=True, related_name="figures"
    )
    format = models.PositiveSmallIntegerField()
    stamp = models.CharField(max_length=64, help_text="SHA-256 of what it was computed from.")
    computed_at = models.DateTimeField()
    seconds = models.FloatField(help_text="How long the computation took.")
    figures = models.BinaryField()

    def __str__(self) -> str:
        return f"figures of {self.project}"


class AgreementReport(models.Model):
    """A report on the agreement between a project's annotators."""

    class State(models.TextChoices):
        WAITING = "waiting"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"

    project = models.ForeignKey("annotation.Project", on_delete=models.CASCADE, related_name="agreements")
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    figures = models.JSONField(default=dict)
    reason = models.TextField(blank=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(db_default=Now())
    ended_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"agreement in {self.project}"
