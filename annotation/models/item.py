"""Imports, the items they bring, and the sealed source labels."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.db import connection, models
from django.db.models import Q, Sum
from django.db.models.functions import Coalesce, Now

from annotation.models.project import Project


class Batch(models.Model):
    """An import; its rows count once `state` is done."""

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

    class Meta:
        verbose_name = "import"

    def __str__(self) -> str:
        return f"import {self.pk}, {self.what}"


class ItemQuerySet(models.QuerySet["Item"]):
    def live(self) -> ItemQuerySet:
        """Return items whose import is done, without gold questions."""
        return self.present().filter(use="")

    def corpus(self) -> ItemQuerySet:
        """Return the candidates, and what stays beside them."""
        return self.present().filter(use__in=(Item.Use.WORK, Item.Use.CORPUS))

    def present(self) -> ItemQuerySet:
        """Return items whose import is done, with gold questions."""
        return self.filter(batch__state=Batch.State.DONE)


class Item(models.Model):
    """A sentence to label: with two entities (relations), or for spans."""

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
        CORPUS = "corpus"  # beside the candidates: only the set of source labels has it

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
    called = models.PositiveSmallIntegerField(
        default=0, db_default=0, help_text="People called beyond k by the option `calls_extra`."
    )
    extra = models.PositiveSmallIntegerField(default=0, help_text="People wanted beyond k in total.")
    use = models.CharField(max_length=8, choices=Use, default="", blank=True)
    free = models.SmallIntegerField(default=0, help_text="Answers still wanted and not leased out.")
    freed_at = models.DateTimeField(null=True, help_text="When more answers were last wanted than before.")
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
            models.Index(fields=["project", "freed_at"], condition=Q(free__gt=0), name="item_freed"),
            models.Index(fields=["project", "state", "rank"], name="item_state"),
            models.Index(fields=["project", "external_id"], name="item_external"),
            models.Index(fields=["project", "use", "rank"], condition=~Q(use=""), name="item_known"),
            models.Index(fields=["project", "content_key"], name="item_content"),
            models.Index(fields=["project", "rank"], condition=Q(policy_matters=True), name="item_policy"),
            models.Index(fields=["project"], condition=Q(emptied__gt=0), name="item_emptied"),
            models.Index(fields=["project"], condition=Q(free__gt=0, extra__gt=0), name="item_extended"),
            # all that a count of items with room reads, instead of the rows
            models.Index(fields=["project", "id", "use", "batch"], condition=Q(free__gt=0), name="item_room"),
            models.Index(
                fields=["project", "state", "pattern", "rank"],
                condition=Q(state="disputed"),
                name="item_pattern",
            ),
        ]

    def __str__(self) -> str:
        return self.external_id

    @property
    def length(self) -> int:
        """Return the number of tokens, or of code points without tokens."""
        return len(self.text if self.tokens is None else self.tokens)

    def surface(self, span: Sequence[Any]) -> str:
        """Return the words of a span."""
        if self.tokens is not None:
            return " ".join(self.tokens[span[0] : span[1]])
        return self.text[span[0] : span[1]]


class ItemCountQuerySet(models.QuerySet["ItemCount"]):
    def live(self, project: Project) -> ItemCountQuerySet:
        """Return the counts of a project's items, as `ItemQuerySet.live`."""
        return self.filter(batch__project=project, batch__state=Batch.State.DONE, use="")

    def total(self) -> int:
        """Return the number of items."""
        return int(self.aggregate(total=Coalesce(Sum("n"), 0))["total"])

    def by_state(self) -> dict[str, int]:
        """Return the number of items in each state."""
        found = dict(self.order_by().values_list("state").annotate(total=Sum("n")))
        return {str(state): int(found.get(state, 0)) for state in Item.State.values}


class ItemCount(models.Model):
    """Number of an import's items with the same values.

    Triggers of the database keep it (migration 0007). PostgreSQL adds rows with differences, so that votes
    never wait for each other; the number is their sum, and `merge_item_counts` makes one row of several.
    """

    batch = models.ForeignKey(
        Batch, on_delete=models.CASCADE, related_name="item_counts", db_constraint=False, db_index=False
    )
    use = models.CharField(max_length=8, blank=True)
    state = models.CharField(max_length=12)
    free = models.SmallIntegerField()
    k = models.PositiveSmallIntegerField(help_text="0 for the project's.")
    extra = models.PositiveSmallIntegerField()
    policy_matters = models.BooleanField()
    n_labels = models.PositiveIntegerField(help_text="Spans of the gold, without spans its relations.")
    pattern = models.CharField(max_length=40, blank=True, help_text="Of disputed items.")
    n = models.BigIntegerField()

    objects = ItemCountQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["batch", "use", "state", "free"], name="item_counts")]

    def __str__(self) -> str:
        return f"{self.n} {self.state}"


COUNTED = "batch_id, use, state, free, k, extra, policy_matters, n_labels, pattern"
MERGED = f"""
WITH merged AS (
    DELETE FROM annotation_itemcount WHERE id IN (SELECT id FROM annotation_itemcount FOR UPDATE SKIP LOCKED)
    RETURNING {COUNTED}, n)
INSERT INTO annotation_itemcount ({COUNTED}, n)
SELECT {COUNTED}, SUM(n) FROM merged
WHERE EXISTS (SELECT 1 FROM annotation_batch batch WHERE batch.id = batch_id)
GROUP BY {COUNTED} HAVING SUM(n) <> 0"""  # noqa: S608
_rows_when_merged = 0


def merge_item_counts() -> None:
    """Merge rows of equal values on PostgreSQL, once they have doubled."""
    global _rows_when_merged
    if connection.vendor != "postgresql" or ItemCount.objects.count() <= 2 * _rows_when_merged + 1_000:
        return
    with connection.cursor() as cursor:
        cursor.execute(MERGED)
        _rows_when_merged = cursor.rowcount


class SourceLabels(models.Model):
    """Source labels of an item. Sealed: only a freeze reads them."""

    item = models.OneToOneField(Item, on_delete=models.CASCADE, primary_key=True, related_name="sealed")
    labels = models.JSONField(help_text="As the source spells them, in the shape of an answer's payload.")

    def __str__(self) -> str:
        return "sealed"
