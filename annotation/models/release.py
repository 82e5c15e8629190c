"""The card of a test set, its publication, and the log of its downloads."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models.functions import Now


class Card(models.Model):
    """What people say about a test set; the rest of its card is computed."""

    test_set = models.OneToOneField(
        "annotation.TestSet", on_delete=models.CASCADE, primary_key=True, related_name="card"
    )
    words = models.TextField(
        blank=True, help_text="Markdown: where the texts come from, and what it is not for."
    )
    authors = models.JSONField(default=list, help_text='Names for citations: ["Family, Given"].')
    licence = models.CharField(max_length=60, blank=True, help_text="An identifier, for example cc-by-4.0.")
    languages = models.JSONField(default=list, help_text='Codes of languages: ["en"].')
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return f"card of {self.test_set}"


class Publication(models.Model):
    """A test set that others may download."""

    class Access(models.TextChoices):
        ANYBODY = "anybody"
        TERMS = "terms"
        NAMED = "named"

    test_set = models.OneToOneField(
        "annotation.TestSet", on_delete=models.CASCADE, primary_key=True, related_name="publication"
    )
    access = models.CharField(max_length=10, choices=Access)
    with_gold = models.BooleanField(help_text="False: the sentences to predict only.")
    terms = models.TextField(blank=True, help_text="Markdown, accepted before the first download.")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(db_default=Now())
    withdrawn_at = models.DateTimeField(null=True)
    withdrawn_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+"
    )
    reason = models.TextField(blank=True, help_text="Why it was withdrawn; shown on its page.")

    def __str__(self) -> str:
        return f"publication of {self.test_set}"

    @property
    def shows_gold(self) -> bool:
        """True while anybody can have the gold; a phase may hide it once it is withdrawn."""
        return self.with_gold and self.withdrawn_at is None


class PublicationReader(models.Model):
    """A person named as one who may download."""

    publication = models.ForeignKey(Publication, on_delete=models.CASCADE, related_name="readers")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["publication", "user"], name="one_reader_each")]

    def __str__(self) -> str:
        return f"{self.publication} for {self.user}"


class Acceptance(models.Model):
    """A person's acceptance of exactly these terms."""

    publication = models.ForeignKey(Publication, on_delete=models.CASCADE, related_name="acceptances")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    terms_sha256 = models.CharField(max_length=64)
    at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["publication", "user", "terms_sha256"], name="accepted_once")
        ]

    def __str__(self) -> str:
        return f"{self.user} accepted the terms of {self.publication}"


class Download(models.Model):
    """An entry in the log of downloads."""

    test_set = models.ForeignKey("annotation.TestSet", on_delete=models.CASCADE, related_name="downloads")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        null=True,
        related_name="+",
        help_text="Nobody: somebody without a login.",
    )
    what = models.CharField(max_length=40, help_text="release, release without gold, or lines")
    at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"{self.what} of {self.test_set}"


class MadeExport(models.Model):
    """A test set in a format that only a job writes."""

    test_set = models.ForeignKey("annotation.TestSet", on_delete=models.CASCADE, related_name="made_exports")
    format = models.CharField(max_length=40)
    name = models.CharField(max_length=200, blank=True)
    size = models.PositiveIntegerField(null=True, help_text="Bytes; null until the job has written it.")
    data = models.BinaryField(null=True)
    lost = models.JSONField(default=dict, help_text="What the format can't hold, counted.")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.UniqueConstraint(fields=["test_set", "format"], name="made_once")]

    def __str__(self) -> str:
        return f"{self.test_set} as {self.format}"
