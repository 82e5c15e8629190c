"""Systems and their runs."""

from __future__ import annotations

from typing import Any

import msgspec
from django.conf import settings as project
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from evalsvc.core.accounts.models import ApiToken, Team
from evalsvc.core.jobs.models import Job
from evalsvc.evaluation.models.benchmark import Benchmark
from evalsvc.evaluation.models.evaluation import Evaluation, PredictionFile
from evalsvc.evaluation.models.setting import Setting

LINKS = ("paper", "code")  # tags with the addresses of a system


class System(models.Model):
    """System of a team with its runs, one prediction file each."""

    benchmark = models.ForeignKey(Benchmark, on_delete=models.CASCADE, related_name="systems")
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="systems")
    name = models.CharField(max_length=120)
    tags = models.JSONField(default=dict, help_text="Of earlier versions; runs have tags of their own.")
    baseline = models.BooleanField(default=False, help_text="The organisers call it a baseline.")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["benchmark", "team", "name"], name="one_system_per_name")
        ]

    def __str__(self) -> str:
        return self.name


def by_name(tags: dict[str, Any]) -> dict[str, Any]:
    """Order tags and what is in them by name; PostgreSQL and SQLite return them in orders of their own."""
    ordered: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(tags, order="sorted"))
    return ordered


class Submission(models.Model):
    """Run of a system: its file, its state and its evaluations."""

    class State(models.TextChoices):
        RECEIVED = "received"
        QUEUED = "queued"
        RUNNING = "running"
        SCORED = "scored"
        INVALID = "invalid"
        FAILED = "failed"
        CANCELLED = "cancelled"

    benchmark = models.ForeignKey(Benchmark, on_delete=models.PROTECT, related_name="submissions")
    system = models.ForeignKey(System, on_delete=models.PROTECT, related_name="runs")
    run = models.CharField(max_length=40)
    file = models.ForeignKey(PredictionFile, on_delete=models.PROTECT, related_name="submissions")
    model = models.ForeignKey(
        PredictionFile,
        on_delete=models.PROTECT,
        null=True,
        related_name="runs_of_model",
        help_text="The pipeline that was sent; `file` is what it predicted, once it has.",
    )
    filename = models.CharField(max_length=200, blank=True)
    format = models.CharField(max_length=40, help_text="Format of the file, as recognised by its content.")
    form = models.CharField(
        max_length=20, help_text="Form of its lines: label, labels, scores, bag, spans, tags."
    )
    phase = models.CharField(max_length=4, blank=True, help_text="The phase it was submitted to.")
    aggregate = models.CharField(max_length=3, default="ONE", help_text="From sentences to bags: ONE or AVG.")
    layout = models.CharField(
        max_length=64,
        blank=True,
        help_text="Of a dense file: SHA-256 of what its rows and columns stand for.",
    )
    columns = models.JSONField(
        default=list,
        blank=True,
        help_text="Of a dense file: the label of each column, if not the benchmark's labels in their order.",
    )
    tags = models.JSONField(
        default=dict, help_text="What the team declares with the run: pre-trained, extra data …"
    )
    state = models.CharField(max_length=10, choices=State, default=State.RECEIVED)
    counts = models.JSONField(default=dict, help_text="Lines, claims, bags, missing.")
    old_labels = models.JSONField(
        default=dict,
        help_text='What old names of labels in the file became: {"us_state": {"to": "region", "labels": 9}}.',
    )
    maps_old_labels = models.BooleanField(default=False, help_text="It was checked with old names mapped.")
    reason_code = models.CharField(max_length=60, blank=True)
    reason = models.TextField(blank=True)
    job = models.ForeignKey(Job, on_delete=models.SET_NULL, null=True, related_name="+")
    by = models.ForeignKey(project.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    token = models.ForeignKey(ApiToken, on_delete=models.SET_NULL, null=True, related_name="+")
    idempotency_key = models.CharField(max_length=120, blank=True)
    saw_gold = models.BooleanField(
        default=False, help_text="Someone of the team labelled or decided this gold."
    )
    held_to = models.JSONField(
        default=list, help_text="Versions of settings its file was checked against, in their order."
    )
    created_at = models.DateTimeField(db_default=Now())
    ended_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True, help_text="When a worker first began to score it.")
    scored_at = models.DateTimeField(
        null=True, help_text="When it was first scored; from then on it stays so."
    )
    withdrawn_at = models.DateTimeField(null=True)
    known_under = models.JSONField(
        default=list, help_text="Settings under which its team knew figures of it when it was withdrawn."
    )
    final_at = models.DateTimeField(
        null=True, help_text="When its team last chose it as final, in whichever phase."
    )
    evaluations: models.ManyToManyField[Evaluation, Any] = models.ManyToManyField(
        Evaluation, related_name="submissions"
    )

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["system", "run", "phase"],
                condition=Q(withdrawn_at__isnull=True, state__in=["received", "queued", "running", "scored"]),
                name="one_standing_file_per_run_and_phase",
            ),
            models.UniqueConstraint(
                fields=["benchmark", "by", "idempotency_key"],
                condition=~Q(idempotency_key=""),
                name="a_key_submits_once",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.system}, run {self.run}"

    @property
    def declared(self) -> dict[str, Any]:
        return by_name(self.tags)


class FinalEntry(models.Model):
    """Run that its team chose as final in a phase; of several, the last one chosen is."""

    submission = models.ForeignKey(Submission, on_delete=models.CASCADE, related_name="finals")
    phase = models.CharField(max_length=4, blank=True, help_text="dev or test; empty: without phases.")
    at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.UniqueConstraint(fields=["submission", "phase"], name="chosen_once_in_a_phase")]

    def __str__(self) -> str:
        return f"{self.submission_id} final{f' in {self.phase}' if self.phase else ''}"


class NearDuplicate(models.Model):
    """Run that shows the figures of an earlier, similar one, or none of its own.

    It shows none if the setting has not scored that one, or if there is none: then figures of as many runs
    are shown already as the quota allows.
    """

    submission = models.ForeignKey(Submission, on_delete=models.CASCADE, related_name="near")
    setting = models.ForeignKey(Setting, on_delete=models.CASCADE, related_name="+")
    gold_sha256 = models.CharField(max_length=64)
    only_sha256 = models.CharField(max_length=64, blank=True)
    earlier = models.ForeignKey(Submission, on_delete=models.CASCADE, null=True, related_name="+")
    claims = models.PositiveIntegerField(help_text="Number of claims that only one of the two makes.")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["submission", "setting", "gold_sha256", "only_sha256"],
                name="near_to_one_run_per_gold",
            )
        ]

    def __str__(self) -> str:
        return f"{self.submission_id} near {self.earlier_id}"

    def scored_as_well(self, run: Submission) -> bool:
        """True if a run is scored on the same gold and items."""
        scored = run.evaluations.filter(setting=self.setting_id, gold_sha256=self.gold_sha256)
        return self.only_sha256 in [only or "" for only in scored.values_list("options__only", flat=True)]


class Refusal(models.Model):
    """Rejected upload to a hidden phase; these are limited per day."""

    benchmark = models.ForeignKey(Benchmark, on_delete=models.CASCADE, related_name="+")
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+")
    at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = [models.Index(fields=["benchmark", "team", "at"], name="refusals_of_a_team")]

    def __str__(self) -> str:
        return f"{self.team}, {self.at}"


class StoredBytes(models.Model):
    """Bytes of the files that a person sent in a day of UTC; these are limited."""

    by = models.ForeignKey(project.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    day = models.DateField()
    size = models.BigIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["by", "day"], name="stored_bytes_of_a_day")]

    def __str__(self) -> str:
        return f"{self.by}, {self.day}: {self.size:,} bytes"


class ModelHost(models.Model):
    """Machine with workers; `why_not` is empty when its sandbox self-test passed."""

    name = models.CharField(max_length=200, unique=True)
    why_not = models.TextField(blank=True)
    tried_at = models.DateTimeField(db_default=Now())
    seen_at = models.DateTimeField(
        db_default=Now(), help_text="When one of its workers last looked for work."
    )

    def __str__(self) -> str:
        return self.name
