"""Settings of a benchmark and versions of their gold."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings as project
from django.db import models
from django.db.models.functions import Now
from django.utils import timezone

from annotation.testset import TestSet
from evalsvc.evaluation.models.benchmark import Benchmark


class Setting(models.Model):
    """Test set and scoring unit.

    `only` limits it to the ids of another set.
    """

    class Unit(models.TextChoices):
        SENTENCE = "sentence"
        BAG = "bag"
        DOCUMENT = "document"

    class Phase(models.TextChoices):
        DEV = "dev"
        TEST = "test"

    class Disclosure(models.TextChoices):
        OPEN = "open"
        HIDDEN = "hidden"

    benchmark = models.ForeignKey(Benchmark, on_delete=models.CASCADE, related_name="settings")
    key = models.SlugField(max_length=40)
    title = models.CharField(max_length=80)
    test_set = models.ForeignKey(TestSet, on_delete=models.PROTECT, related_name="settings")
    only = models.ForeignKey(TestSet, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    unit = models.CharField(max_length=10, choices=Unit)
    main = models.CharField(max_length=60, help_text="Key of the main measure.")
    rank = models.PositiveSmallIntegerField(default=0)
    version = models.PositiveSmallIntegerField(default=1, help_text="Number of its newest version.")
    phase = models.CharField(max_length=4, choices=Phase, blank=True, help_text="Empty: in every phase.")
    opens_at = models.DateTimeField(null=True)
    closes_at = models.DateTimeField(null=True)
    open_until = models.DateTimeField(
        null=True, help_text="It was open until then: its closing date was moved to the past."
    )
    final_before = models.DateTimeField(
        null=True, help_text="It ended then, and was changed since: runs sent before are final."
    )
    earlier_ends = models.JSONField(
        default=list, help_text="Values of final_before from before it ended again."
    )
    sealed = models.BooleanField(default=False, help_text="Its scores are shown only once it has closed.")
    sealed_since = models.DateTimeField(
        null=True, help_text="Its scores were shown until then; null: never before it is unsealed."
    )
    disclosure = models.CharField(
        max_length=6,
        choices=Disclosure,
        default=Disclosure.OPEN,
        help_text="What teams see while it is open: everything, or rounded figures alone.",
    )
    class_rows = models.BooleanField(default=False, help_text="Hidden: F1 of the large classes is shown.")
    ladder = models.FloatField(null=True, help_text="Hidden: step of the Ladder; null: none.")
    share = models.FloatField(null=True, help_text="Split: share of the units scored while open; null: all.")
    share_seed = models.CharField(max_length=64, blank=True, help_text="Split: secret seed of the draw.")
    rest_of = models.OneToOneField(
        "self",
        on_delete=models.CASCADE,
        null=True,
        related_name="rest",
        help_text="Split: the setting with the share; this one scores the rest.",
    )
    measures = models.JSONField(default=list, help_text="Keys of the measures it shows; empty: all.")
    row_rule = models.CharField(
        max_length=50,
        default="mean",
        help_text="Runs a row shows: mean, latest, entry, final, best:KEY of a setting.",
    )
    digits = models.PositiveSmallIntegerField(null=True, help_text="Digits shown; null: as each measure has.")
    lower_is_better = models.BooleanField(
        null=True, help_text="Direction of the main measure; null: as it has."
    )

    class Meta:
        ordering = ["rank"]
        constraints = [models.UniqueConstraint(fields=["benchmark", "key"], name="one_setting_per_key")]

    def __str__(self) -> str:
        return f"{self.benchmark}: {self.title}"

    def has_closed(self, now: datetime | None = None) -> bool:
        return self.closes_at is not None and self.closes_at <= (now or timezone.now())

    @property
    def ended_at(self) -> datetime | None:
        """When it closes, or closed: not before its date was set."""
        if self.closes_at is None or self.open_until is None:
            return self.closes_at
        return max(self.closes_at, self.open_until)

    @property
    def kind(self) -> str:
        """The unit, or `joint`: on it depend measures, forms and options."""
        return "joint" if self.benchmark.task == Benchmark.Task.JOINT else self.unit

    @property
    def only_sha256(self) -> str:
        return self.only.sha256 if self.only else ""


class SettingVersion(models.Model):
    """Gold and scorer of a setting from some time on.

    Rows are never changed.
    """

    setting = models.ForeignKey(Setting, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveSmallIntegerField()
    test_set = models.ForeignKey(TestSet, on_delete=models.PROTECT, related_name="+")
    only = models.ForeignKey(TestSet, on_delete=models.PROTECT, null=True, related_name="+")
    gold_sha256 = models.CharField(max_length=64)
    gold_salt = models.CharField(max_length=64, help_text="Secret salt of the commitment to its gold.")
    only_sha256 = models.CharField(max_length=64, blank=True)
    scorer = models.CharField(max_length=40)
    note = models.CharField(max_length=200, blank=True, help_text="Why it was made.")
    shown_before = models.PositiveSmallIntegerField(
        null=True, help_text="Version that boards show until the runs on it are scored under this one."
    )
    by = models.ForeignKey(project.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["number"]
        constraints = [models.UniqueConstraint(fields=["setting", "number"], name="versions_are_numbered")]

    def __str__(self) -> str:
        return f"{self.setting}, version {self.number}"
