"""Stored boards, tests and comparisons, and systems of papers."""

from __future__ import annotations

from django.conf import settings as project
from django.db import models
from django.db.models.functions import Now

from evalsvc.core.jobs.models import Job
from evalsvc.evaluation.models.setting import Setting, SettingVersion


class StoredBoard(models.Model):
    """A large board as computed, with all or with disclosed figures."""

    setting = models.ForeignKey(Setting, on_delete=models.CASCADE, related_name="stored")
    version = models.ForeignKey(SettingVersion, on_delete=models.CASCADE, related_name="+")
    held_back = models.BooleanField(help_text="Only what readers see while exact figures are hidden.")
    rules = models.CharField(max_length=64, help_text="SHA-256 of the rules that decided what is shown.")
    stamp = models.CharField(max_length=64, help_text="SHA-256 of counts of the rows it was computed from.")
    outdated = models.BooleanField(default=False, help_text="Newer results have come since.")
    computed_at = models.DateTimeField()
    seconds = models.FloatField(help_text="How long the computation took.")
    rescoring = models.JSONField(default=list, help_text="Newer version, runs scored under it, all runs.")
    measures = models.JSONField(help_text="Keys of its columns, in order.")
    runs = models.BinaryField(help_text="Systems with their runs.")

    def __str__(self) -> str:
        return f"{self.setting}, {self.computed_at}"


class StoredColumn(models.Model):
    """Figures of a stored board by system, for one measure."""

    board = models.ForeignKey(StoredBoard, on_delete=models.CASCADE, related_name="columns")
    measure = models.CharField(max_length=60)
    figures = models.BinaryField(help_text="Statistics by system.")
    run_values = models.BinaryField(help_text="Values of the runs by system.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["board", "measure"], name="one_stored_column")]

    def __str__(self) -> str:
        return f"{self.measure} of {self.board}"


class BoardTests(models.Model):
    """Tests between the first systems of a board; shown while their runs are those on it."""

    setting = models.OneToOneField(Setting, on_delete=models.CASCADE, related_name="tests")
    identity = models.CharField(max_length=64, blank=True, help_text="SHA-256 of the runs tested.")
    systems = models.JSONField(default=list, help_text="Keys of the systems tested, ascending.")
    outdated = models.BooleanField(default=True, help_text="Its runs have changed since.")
    computed_at = models.DateTimeField(null=True)
    reported = models.JSONField(
        default=dict, help_text="Tests of its systems against those of papers, by reported system."
    )
    macro_flip = models.FloatField(
        null=True, help_text="How far one hit in the rarest class moves macro F1 of a run tested, at most."
    )

    def __str__(self) -> str:
        return f"tests of {self.setting}"


class MeasureTests(models.Model):
    """Exact tests between systems of a board by one measure."""

    board = models.ForeignKey(BoardTests, on_delete=models.CASCADE, related_name="measures")
    measure = models.CharField(max_length=60)
    content = models.BinaryField(help_text="A row per pair.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["board", "measure"], name="one_row_of_tests")]

    def __str__(self) -> str:
        return f"{self.measure}, {self.board}"


class StoredComparison(models.Model):
    """Tests between systems under one version, exact; each way out rounds them.

    `runs` are the submission and evaluation of each run, by system; `identity` is the digest of all of it.
    """

    setting = models.ForeignKey(Setting, on_delete=models.CASCADE, related_name="comparisons")
    version = models.ForeignKey(SettingVersion, on_delete=models.CASCADE, related_name="+")
    identity = models.CharField(max_length=64, unique=True)
    systems = models.JSONField(help_text="Keys of the systems, ascending.")
    runs = models.JSONField(help_text="Submission and evaluation of each distinct run, by system.")
    by = models.ForeignKey(project.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    job = models.ForeignKey(Job, on_delete=models.SET_NULL, null=True, related_name="+")
    tests = models.JSONField(null=True, help_text="By measure, a row per pair; null: not computed.")
    created_at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return f"{len(self.systems)} systems under {self.setting}"


class ComparisonPart(models.Model):
    """Tests of one pair of systems, kept until all pairs are tested."""

    comparison = models.ForeignKey(StoredComparison, on_delete=models.CASCADE, related_name="parts")
    number = models.PositiveSmallIntegerField(help_text="Place among the pairs of the comparison.")
    tests = models.JSONField(help_text="By measure, as in the comparison, not adjusted yet.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["comparison", "number"], name="a_pair_is_kept_once")]

    def __str__(self) -> str:
        return f"pair {self.number} of {self.comparison}"


class ReportedSystem(models.Model):
    """Figures of a system as a paper prints them.

    `figures` are texts by measure, [value, deviation]; the deviation is empty if none is printed. `tests` are
    those against earlier rows of the setting.
    """

    setting = models.ForeignKey(Setting, on_delete=models.CASCADE, related_name="reported")
    system = models.CharField(max_length=120)
    paper = models.CharField(max_length=200, help_text="Authors, year or title.")
    url = models.CharField(max_length=300, blank=True)
    table = models.CharField(max_length=60)
    page = models.CharField(max_length=20, blank=True)
    runs = models.PositiveSmallIntegerField(null=True, help_text="Runs behind each figure; null: not stated.")
    note = models.CharField(max_length=300, blank=True)
    figures = models.JSONField()
    tests = models.JSONField(null=True, help_text="A row per measure and earlier system; null: not computed.")
    by = models.ForeignKey(project.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["setting", "system", "paper", "table"], name="one_reported_system_per_table"
            )
        ]

    def __str__(self) -> str:
        return f"{self.system}, {self.paper}, {self.table}"
