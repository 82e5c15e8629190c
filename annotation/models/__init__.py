"""The rows of annotation: project, ontology, imports, items. The others: `acts`, `testset`."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from annotation.models.oversight import AgreementReport, KnownAnswer, Mark, Oversight, Suggestion
from annotation.models.voting import Adjudication, Annotator, Answer, Lease, Vote
from annotation.testset import Kind, TestSet, TestSetRow

__all__ = [
    "Adjudication",
    "AgreementReport",
    "Annotator",
    "Answer",
    "Batch",
    "Item",
    "KnownAnswer",
    "Lease",
    "Mark",
    "Member",
    "OntologyLabel",
    "OntologyStep",
    "Oversight",
    "Project",
    "SourceLabels",
    "Suggestion",
    "TestSet",
    "TestSetRow",
    "Vote",
]


class Policy(models.TextChoices):
    MAJORITY = "majority"
    MAJORITY_NA = "majority-na"


class Project(models.Model):
    """One labelling effort: its kind, how many votes an item gets, and by which rule they decide."""

    class State(models.TextChoices):
        SETUP = "setup"
        OPEN = "open"
        CLOSED = "closed"

    slug = models.SlugField(max_length=60, unique=True)
    title = models.CharField(max_length=120)
    kind = models.CharField(max_length=10, choices=Kind)
    state = models.CharField(max_length=10, choices=State, default=State.SETUP)
    k = models.PositiveSmallIntegerField(default=4, help_text="Annotators per item whose answers count.")
    policy = models.CharField(max_length=20, choices=Policy, default=Policy.MAJORITY)
    guideline = models.TextField(blank=True, help_text="Markdown, shown beside the sentence.")
    na_means = models.CharField(
        max_length=200,
        default="the sentence says none of these",
        help_text="What N/A says here: no relation at all, or none of this inventory.",
    )
    spans_may_overlap = models.BooleanField(default=False)
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
    inventory_stamp = models.UUIDField(
        default=uuid.uuid4, help_text="Another one after every change of labels or steps."
    )
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(k__gte=1), name="an_item_gets_at_least_one_vote")]

    def __str__(self) -> str:
        return self.title


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

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "user"], name="one_role_per_project")]

    def __str__(self) -> str:
        return f"{self.user}: {self.role}"


class OntologyLabel(models.Model):
    """A relation or an entity type as the data spells it, with what people need to choose it rightly."""

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
    """A reversible change of the inventory: raw votes and source labels are replayed through the steps."""

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


class Batch(models.Model):
    """One import. Its rows count only when `state` is done; what a refused or lost one left is swept."""

    class What(models.TextChoices):
        ITEMS = "items"
        VOTES = "votes"
        GOLD = "gold"
        SUGGESTIONS = "suggestions"

    class State(models.TextChoices):
        RECEIVED = "received"
        RUNNING = "running"
        DONE = "done"
        REFUSED = "refused"
        FAILED = "failed"
        CANCELLED = "cancelled"

    project = models.ForeignKey(Project, on_delete=models.CASCADE, null=True, related_name="batches")
    what = models.CharField(max_length=12, choices=What)
    format = models.CharField(max_length=40, blank=True)
    options = models.JSONField(default=dict)
    file = models.FileField(upload_to="imports/%Y/%m/", max_length=200)
    filename = models.CharField(max_length=200)
    sha256 = models.CharField(max_length=64)
    size = models.BigIntegerField()
    state = models.CharField(max_length=10, choices=State, default=State.RECEIVED)
    counts = models.JSONField(default=dict, help_text="What was read, merged, refused, stored.")
    problems = models.JSONField(default=list, help_text="The first refused lines.")
    refused = models.PositiveIntegerField(default=0)
    reason = models.TextField(blank=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(db_default=Now())
    ended_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.what} from {self.filename}"


class ItemQuerySet(models.QuerySet["Item"]):
    def live(self) -> ItemQuerySet:
        """Items whose import is done and whose answer nobody knows yet."""
        return self.present().filter(use="")

    def present(self) -> ItemQuerySet:
        """Items whose import is done, those with a known answer too."""
        return self.filter(batch__state=Batch.State.DONE)


class Item(models.Model):
    """One sentence to answer for: with its two entities (relations), or for its spans (entities, joint)."""

    class State(models.TextChoices):
        OPEN = "open"
        SETTLED = "settled"
        DISPUTED = "disputed"
        ADJUDICATED = "adjudicated"
        UNUSABLE = "unusable"

    DECIDED = (State.ADJUDICATED, State.UNUSABLE)

    class Use(models.TextChoices):
        WORK = ""
        QUALIFY = "qualify"
        CHECK = "check"

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="items")
    batch = models.ForeignKey(Batch, on_delete=models.CASCADE, related_name="items")
    key = models.UUIDField(
        default=uuid.uuid4, unique=True, help_text="Its name outside: drawn by lot, so that it tells nothing."
    )
    external_id = models.CharField(max_length=200)
    content_key = models.CharField(max_length=64, help_text="SHA-256 of sentence and entity positions.")
    rank = models.PositiveIntegerField(help_text="Order of work within the project.")
    text = models.TextField()
    tokens = models.JSONField(null=True)
    head = models.JSONField(null=True, help_text='{"id","name","start","end"}; offsets in code points.')
    tail = models.JSONField(null=True)
    repeats = models.JSONField(default=list, help_text='Lines that repeated it: [{"file","line","id"}].')
    k = models.PositiveSmallIntegerField(null=True, help_text="Overrides the project's k.")
    asked = models.PositiveSmallIntegerField(default=0, help_text="People a decider called in beyond k.")
    extra = models.PositiveSmallIntegerField(default=0, help_text="People wanted beyond k, all told.")
    use = models.CharField(max_length=8, choices=Use, default="", blank=True)
    free = models.SmallIntegerField(default=0, help_text="Answers still wanted and not leased out.")
    state = models.CharField(max_length=12, choices=State, default=State.OPEN)
    gold = models.JSONField(null=True, help_text="The consensus payload while settled or adjudicated.")
    pattern = models.CharField(max_length=40, default="", help_text="Vote pattern in words: 2–2, 2–1–1 …")
    votes_key = models.CharField(
        max_length=64, default="", help_text="Digest of the counted answers and of how they split."
    )
    emptied = models.PositiveSmallIntegerField(
        default=0, help_text="Counted answers that a deletion in the ontology left without a label."
    )
    policy_matters = models.BooleanField(default=False, help_text="The other policy would decide otherwise.")

    objects = ItemQuerySet.as_manager()

    class Meta:
        ordering = ["rank"]
        constraints = [
            models.UniqueConstraint(fields=["batch", "external_id"], name="an_id_once_per_import"),
        ]
        indexes = [
            models.Index(fields=["project", "rank"], condition=Q(free__gt=0), name="item_wanting"),
            models.Index(fields=["project", "state", "rank"], name="item_state"),
            models.Index(fields=["project", "external_id"], name="item_external"),
            models.Index(fields=["project", "use", "rank"], condition=~Q(use=""), name="item_known"),
            models.Index(fields=["project", "content_key"], name="item_content"),
        ]

    def __str__(self) -> str:
        return self.external_id


class SourceLabels(models.Model):
    """What the source said of an item. Sealed: read by the freeze only."""

    item = models.OneToOneField(Item, on_delete=models.CASCADE, primary_key=True, related_name="sealed")
    labels = models.JSONField(help_text="As the source spells them, in the shape of an answer's payload.")

    def __str__(self) -> str:
        return "sealed"
