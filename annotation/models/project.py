"""Projects, the roles of their members, and their labels."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from annotation.testset import Kind


class Policy(models.TextChoices):
    MAJORITY = "majority"
    MAJORITY_NA = "majority-na"


RULE_TITLES: dict[str, str] = {
    Policy.MAJORITY: "majority",
    Policy.MAJORITY_NA: "majority, also for N/A",
}


class Project(models.Model):
    """A labelling project: its kind, votes per item, and decision policy."""

    class State(models.TextChoices):
        SETUP = "setup"
        OPEN = "open"
        CLOSED = "closed"
        ARCHIVED = "archived"

    slug = models.SlugField(max_length=60, unique=True)
    title = models.CharField(max_length=120)
    kind = models.CharField(max_length=10, choices=Kind)
    state = models.CharField(max_length=10, choices=State, default=State.SETUP)
    k = models.PositiveSmallIntegerField(default=4, help_text="Annotators per item whose answers count.")
    policy = models.CharField(max_length=20, choices=Policy, default=Policy.MAJORITY)
    guideline = models.TextField(blank=True, help_text="Markdown, shown beside the sentence.")
    guideline_version = models.PositiveIntegerField(
        default=1, help_text="A text that people answered under gets a new number when it changes."
    )
    na_means = models.CharField(
        max_length=200,
        default="the sentence says none of these",
        help_text="What N/A says here: no relation at all, or none of this inventory.",
    )
    spans_may_overlap = models.BooleanField(default=False)
    by_sentence = models.BooleanField(default=False, help_text="Texts are shown one sentence at a time.")
    lease_minutes = models.PositiveSmallIntegerField(default=30)
    most_extra = models.PositiveSmallIntegerField(
        default=3, help_text="How many people beyond k a disputed item may be shown to."
    )
    calls_extra = models.BooleanField(
        default=False, help_text="A disputed item goes to one more person by itself, up to that limit."
    )
    qualifies = models.BooleanField(default=False, help_text="The qualification round comes first.")
    check_every = models.PositiveSmallIntegerField(
        default=0, help_text="A hidden known item after so many others; 0 for none."
    )
    least_checks = models.PositiveSmallIntegerField(default=5, help_text="No pause before so many.")
    pass_percent = models.PositiveSmallIntegerField(
        default=70, help_text="Share of known items an annotator must get right."
    )
    suggests = models.BooleanField(default=False, help_text="Predictions are shown as a first answer.")
    choosing = models.BooleanField(
        default=False, db_default=False, help_text="A choice of candidates is being applied."
    )
    inventory_stamp = models.UUIDField(
        default=uuid.uuid4, help_text="Another one after every change of labels or steps."
    )
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(k__gte=1), name="an_item_gets_at_least_one_vote")]

    def __str__(self) -> str:
        return self.title

    @property
    def rule_title(self) -> str:
        return RULE_TITLES[self.policy]


class GuidelineVersion(models.Model):
    """A text of the guideline, and whether the answers under it are asked again."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="guideline_versions")
    number = models.PositiveIntegerField()
    text = models.TextField(blank=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(db_default=Now())
    asked_again_at = models.DateTimeField(null=True, help_text="Since then its answers don't count.")
    asked_labels = models.JSONField(
        default=list, blank=True, help_text="Only answers with one of these are asked again; none: all."
    )

    class Meta:
        ordering = ["number"]
        constraints = [models.UniqueConstraint(fields=["project", "number"], name="guidelines_are_numbered")]

    def __str__(self) -> str:
        return f"version {self.number}"


class Member(models.Model):
    """A person's one role in a project."""

    class Role(models.TextChoices):
        VIEWER = "viewer"
        ANNOTATOR = "annotator"
        ADJUDICATOR = "adjudicator"
        CURATOR = "curator"

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="members")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="projects")
    role = models.CharField(max_length=12, choices=Role)
    expected_items = models.PositiveIntegerField(
        null=True, help_text="Items the person had had or could get when they were last counted for them."
    )
    expected_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "user"], name="one_role_per_project")]

    def __str__(self) -> str:
        return f"{self.user}: {self.role}"


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
        SPLIT = "split"

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="steps")
    number = models.PositiveIntegerField()
    operation = models.CharField(max_length=10, choices=Operation)
    sources = models.JSONField()
    target = models.CharField(max_length=200, blank=True)
    targets = models.JSONField(default=list, blank=True, help_text="Of a split: the labels it became.")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(db_default=Now())
    undone_at = models.DateTimeField(null=True)
    plan = models.PositiveIntegerField(
        null=True, help_text="Number of the first step that was made at once with it."
    )

    class Meta:
        ordering = ["number"]
        constraints = [models.UniqueConstraint(fields=["project", "number"], name="steps_are_numbered")]

    def __str__(self) -> str:
        return f"{self.operation} {', '.join(self.sources)}"


class PlanDraft(models.Model):
    """Steps on the ontology that curators put together and have not made."""

    project = models.OneToOneField(Project, on_delete=models.CASCADE, primary_key=True, related_name="draft")
    steps = models.JSONField(default=list, blank=True)
    version = models.PositiveIntegerField(default=0, help_text="One more with each change.")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return f"draft of {self.project}"


class CandidateChoice(models.Model):
    """A choice of candidates that jobs count and apply; `state` is the stage, the job how it goes."""

    class State(models.TextChoices):
        COUNTING = "counting"
        READY = "ready"
        APPLYING = "applying"
        RETURNING = "returning"  # cancelled half-way
        DONE = "done"
        CANCELLED = "cancelled"

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="candidate_choices")
    state = models.CharField(max_length=10, choices=State, default=State.COUNTING)
    applied_at_once = models.BooleanField(default=False, help_text="Nobody confirms its effect.")
    wanted = models.BinaryField(null=True, help_text="The criteria, compressed.")
    effect = models.JSONField(default=dict, help_text="Numbers by criterion, kept, rest, unknown ids.")
    basis = models.CharField(max_length=64, blank=True, help_text="Digest of what the effect depends on.")
    places = models.BinaryField(null=True, help_text="Where sentences go, compressed; null at the end.")
    former = models.BinaryField(null=True, help_text="Where they were.")
    before = models.JSONField(default=dict, help_text="Numbers before it was applied, for the log.")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(db_default=Now())
    ended_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"candidates of {self.project}"
