"""Labels of a project and the steps that change them."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from annotation.models.project import Project


class OntologyLabel(models.Model):
    """A relation or entity type as spelt in the data, with texts."""

    class Part(models.TextChoices):
        RELATION = "relation"
        ENTITY = "entity"

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="labels")
    part = models.CharField(max_length=10, choices=Part)
    name = models.CharField(max_length=200)
    title = models.CharField(max_length=200)
    phrase = models.CharField(max_length=200, blank=True, help_text="Verb phrase: head … tail.")
    group = models.CharField(max_length=80, blank=True)
    definition = models.TextField(blank=True)
    choose = models.JSONField(default=list, blank=True, help_text="Examples where it holds.")
    avoid = models.JSONField(default=list, blank=True, help_text="Examples where it does not.")
    head_type = models.CharField(max_length=60, blank=True)
    tail_type = models.CharField(max_length=60, blank=True)
    rank = models.PositiveIntegerField()
    derived = models.BooleanField(
        default=False, help_text="Stands only as what a merge or a rename leads to; no data spells it."
    )

    class Meta:
        ordering = ["rank"]
        constraints = [
            models.UniqueConstraint(fields=["project", "part", "name"], name="one_label_per_name"),
        ]

    def __str__(self) -> str:
        return self.name


class OntologyStep(models.Model):
    """A reversible change of the inventory, applied to votes and source labels."""

    class Operation(models.TextChoices):
        MERGE = "merge"
        DELETE = "delete"
        RENAME = "rename"

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="steps")
    number = models.PositiveIntegerField()
    operation = models.CharField(max_length=10, choices=Operation)
    sources = models.JSONField()
    target = models.CharField(max_length=200, blank=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(db_default=Now())
    undone_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["number"]
        constraints = [models.UniqueConstraint(fields=["project", "number"], name="steps_are_numbered")]

    def __str__(self) -> str:
        return f"{self.operation} {', '.join(self.sources)}"
