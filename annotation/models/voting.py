"""Annotators, leases, the log of votes, the answers derived from it, decisions."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now


class Annotator(models.Model):
    """An annotator of a project: a member or an imported name."""

    project = models.ForeignKey("annotation.Project", on_delete=models.CASCADE, related_name="annotators")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    name = models.CharField(max_length=200)
    cursor = models.PositiveIntegerField(
        default=0, help_text="Rank at which the search for the next item starts."
    )
    round_since = models.DateTimeField(
        null=True, help_text="When the search that has found none yet started at the first item."
    )
    searched_at = models.DateTimeField(
        null=True, help_text="When a search of all items last found none for this person."
    )
    none_since = models.DateTimeField(
        null=True, help_text="Of the items freed before it, none is for this person: so far it was searched."
    )
    since_check = models.PositiveSmallIntegerField(default=0, help_text="Items since the last known one.")
    check_block = models.PositiveIntegerField(default=0, help_text="Blocks of items, each with one check.")
    qualified_at = models.DateTimeField(null=True)
    paused_at = models.DateTimeField(null=True)
    pause_reason = models.CharField(max_length=200, blank=True)
    resumed_at = models.DateTimeField(null=True, help_text="Known items before it count no more.")

    aside_at = models.DateTimeField(null=True, help_text="What they had answered by then counts no more.")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "name"], name="one_annotator_per_name"),
            models.UniqueConstraint(
                fields=["project", "user"], condition=Q(user__isnull=False), name="one_annotator_per_person"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class LeaseQuerySet(models.QuerySet["Lease"]):
    def keeping(self) -> LeaseQuerySet:
        """Return the leases whose place nobody else gets."""
        return self.filter(ending__in=Lease.KEEPING)


class Lease(models.Model):
    """An item leased to an annotator for a while.

    A withdrawn answer has a lease, too: nobody else gets its place before that expires.
    """

    class Ending(models.TextChoices):
        ANSWERED = "answered"
        SKIPPED = "skipped"
        EXPIRED = "expired"
        RETURNED = "returned"
        TAKEN_BACK = "taken back"
        WITHDRAWN = "withdrawn"

    KEEPING = ("", Ending.WITHDRAWN)

    item = models.ForeignKey("annotation.Item", on_delete=models.CASCADE, related_name="leases")
    annotator = models.ForeignKey("annotation.Annotator", on_delete=models.CASCADE, related_name="leases")
    granted_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField()
    ending = models.CharField(max_length=10, choices=Ending, default="")
    shown = models.ForeignKey(
        "annotation.Batch",
        on_delete=models.SET_NULL,
        null=True,
        related_name="+",
        help_text="The prediction file whose answer was on show.",
    )
    base = 0  # number of the person's last vote on the item, of a lease that is being handed out

    objects = LeaseQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["item", "annotator"], condition=Q(ending=""), name="one_running_lease_each"
            ),
        ]
        indexes = [
            models.Index(fields=["expires_at"], condition=Q(ending=""), name="lease_running"),
            models.Index(fields=["annotator"], condition=Q(ending=""), name="lease_active"),
            models.Index(fields=["expires_at"], condition=Q(ending="withdrawn"), name="lease_withdrawn"),
        ]

    def __str__(self) -> str:
        return f"{self.annotator} holds {self.item}"


class Vote(models.Model):
    """An entry of the append-only log: an answer or a skip."""

    class Act(models.TextChoices):
        ANSWER = "answer"
        SKIP = "skip"

    item = models.ForeignKey("annotation.Item", on_delete=models.CASCADE, related_name="votes")
    annotator = models.ForeignKey("annotation.Annotator", on_delete=models.CASCADE, related_name="votes")
    client_id = models.UUIDField(help_text="Made by the client: the same write twice is one write.")
    number = models.PositiveIntegerField(help_text="1, 2 … per item and annotator.")
    act = models.CharField(max_length=10, choices=Act)
    payload = models.JSONField(null=True, help_text='{"spans": […], "relations": […]}')
    reason = models.CharField(max_length=40, blank=True)
    comment = models.TextField(blank=True)
    flagged = models.BooleanField(default=False)
    milliseconds = models.PositiveIntegerField(null=True, help_text="From showing the item to sending.")
    guideline = models.PositiveIntegerField(
        null=True, help_text="Version of the guideline that the person had; unknown of imported votes."
    )
    aside = models.BooleanField(
        default=False, help_text="The person's answer to the item was set aside by itself when this came."
    )
    batch = models.ForeignKey("annotation.Batch", on_delete=models.CASCADE, null=True, related_name="votes")
    shown = models.ForeignKey(
        "annotation.Batch",
        on_delete=models.RESTRICT,
        null=True,
        related_name="+",
        help_text="The prediction file whose answer was on show.",
    )
    at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["annotator", "client_id"], name="a_write_counts_once"),
            models.UniqueConstraint(fields=["item", "annotator", "number"], name="acts_are_numbered"),
        ]
        indexes = [
            models.Index(fields=["annotator", "item"], condition=Q(act="skip"), name="vote_skipped"),
            models.Index(fields=["annotator", "at", "act", "batch"], name="vote_day"),
            models.Index(fields=["annotator", "item", "batch"], name="vote_item"),
            models.Index(fields=["annotator", "item"], condition=Q(reason="later"), name="vote_deferred"),
            models.Index(fields=["annotator", "id"], name="vote_order"),
            models.Index(
                fields=["annotator", "item"],
                condition=Q(flagged=True) | ~Q(comment=""),
                name="vote_remark",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.act} by {self.annotator}"


ACTIVE_ANSWERS = Q(vote__batch=None) | Q(vote__batch__state="done")


class AnswerQuerySet(models.QuerySet["Answer"]):
    def active(self) -> AnswerQuerySet:
        """Return answers given here and imported ones whose import is done."""
        return self.filter(ACTIVE_ANSWERS)

    def included(self) -> AnswerQuerySet:
        """Return active answers that are neither excluded nor asked again."""
        return self.active().filter(set_aside=False, again=False)


class Answer(models.Model):
    """One annotator's current answer on an item, derived from the log."""

    item = models.ForeignKey("annotation.Item", on_delete=models.CASCADE, related_name="answers")
    annotator = models.ForeignKey("annotation.Annotator", on_delete=models.CASCADE, related_name="answers")
    vote = models.OneToOneField(Vote, on_delete=models.CASCADE, related_name="+")
    payload = models.JSONField()
    first_payload = models.JSONField(
        null=True,
        help_text="The answer as first given, if it was changed: others are called by it.",
    )
    first_rules = models.CharField(
        max_length=60,
        default="",
        db_default="",
        help_text="Labels and rule as the person first answered the item; empty if unknown.",
    )
    position = models.PositiveIntegerField(help_text="The server's order: the first k count.")
    set_aside = models.BooleanField(default=False, help_text="By a curator; kept, not counted.")
    again = models.BooleanField(
        default=False, db_default=False, help_text="Kept, not counted until the person answers again."
    )
    guideline = models.PositiveIntegerField(null=True, help_text="That of the vote.")
    aside = models.ForeignKey(
        "annotation.Oversight",
        on_delete=models.SET_NULL,
        null=True,
        related_name="answers",
        help_text="Set aside with all others of this person.",
    )

    objects = AnswerQuerySet.as_manager()

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["item", "annotator"], name="one_answer_each"),
            models.UniqueConstraint(fields=["item", "position"], name="answers_are_in_order"),
        ]
        indexes = [
            models.Index(fields=["annotator"], condition=Q(set_aside=True), name="answer_excluded"),
            models.Index(fields=["annotator", "item"], condition=Q(again=True), name="answer_asked_again"),
        ]

    def __str__(self) -> str:
        return f"answer of {self.annotator}"


class LastAnswer(models.Model):
    """The newest current answer of an item, those of a running import included.

    Triggers of the database keep it (migrations 0021, 0028), so that items, also those of one state, are
    listed in this order from an index.
    """

    item = models.OneToOneField(
        "annotation.Item", on_delete=models.CASCADE, primary_key=True, related_name="last_answer"
    )
    project = models.ForeignKey(
        "annotation.Project", on_delete=models.CASCADE, related_name="+", db_index=False
    )
    vote = models.BigIntegerField(help_text="Its row number in the log: later ones are greater.")
    state = models.CharField(max_length=12, default="", help_text="State of the item.")

    class Meta:
        indexes = [
            models.Index(fields=["project", "vote"], name="last_answers"),
            models.Index(fields=["project", "state", "vote"], name="last_answers_by_state"),
        ]

    def __str__(self) -> str:
        return f"newest answer on {self.item}"


def counting_decision(prefix: str = "") -> Q:
    """Return the condition of an active decision on a live item, from where `prefix` leads to it."""
    live = {"item__use": "", "item__batch__state": "done"}
    return Q(**{f"{prefix}{name}": value for name, value in {"reopened_at": None, **live}.items()})


ANY_VOTES = "any"  # key of a decision that does not depend on the votes


class AdjudicationQuerySet(models.QuerySet["Adjudication"]):
    def active(self) -> AdjudicationQuerySet:
        """Return the decisions that count now, at most one per item."""
        return self.filter(reopened_at=None)

    def counting(self, project: Any) -> AdjudicationQuerySet:
        """Return the active decisions on the items of a project that are frozen."""
        return self.filter(counting_decision(), item__project=project)

    def applicable(self) -> AdjudicationQuerySet:
        """Return active decisions and lapsed ones, in order of precedence."""
        return self.filter(Q(reopened_at=None) | Q(lapsed=True)).order_by("lapsed", "-pk")


class Adjudication(models.Model):
    """A decision on a disputed item.

    It lapses when the votes under it change, and counts again when they are what they were. A decision that a
    person reopened never does.
    """

    class Finding(models.TextChoices):
        ANSWER = ""
        BROKEN = "broken"
        ENTITY = "entity"

    item = models.ForeignKey("annotation.Item", on_delete=models.CASCADE, related_name="adjudications")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    payload = models.JSONField()
    finding = models.CharField(
        max_length=10,
        choices=Finding,
        default="",
        blank=True,
        help_text="Why the item can have no answer at all.",
    )
    reason = models.TextField(blank=True)
    votes_key = models.CharField(max_length=64)
    answers_key = models.CharField(
        max_length=64,
        blank=True,
        default="",
        db_default="",
        help_text="Digest of the answers as given; empty once one of them changed.",
    )
    client_id = models.UUIDField(unique=True)
    at = models.DateTimeField(db_default=Now())
    reopened_at = models.DateTimeField(null=True)
    lapsed = models.BooleanField(default=False, help_text="Its votes changed; nobody reopened it.")
    bulk = models.UUIDField(null=True, help_text="The same in decisions made together.")

    objects = AdjudicationQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["item"], condition=Q(reopened_at__isnull=True), name="one_standing_decision"
            ),
        ]
        indexes = [models.Index(fields=["bulk"], condition=Q(bulk__isnull=False), name="decided_together")]

    def __str__(self) -> str:
        return f"decision on {self.item}"

    @property
    def is_exclusion(self) -> bool:
        """True if a curator excluded the item, whatever its answers are."""
        return self.votes_key == ANY_VOTES


class SecondReadingQuerySet(models.QuerySet["SecondReading"]):
    def waiting_for(self, user: Any) -> SecondReadingQuerySet:
        """Return the readings that a person may do, who neither made nor saw the decision."""
        return self.filter(by=None).exclude(decision__by=user).exclude(seen_by=user)


class SecondReading(models.Model):
    """A decision that somebody else decides again without seeing it, to measure how far deciders agree."""

    decision = models.OneToOneField(Adjudication, on_delete=models.CASCADE, related_name="second_reading")
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    asked_at = models.DateTimeField(db_default=Now())
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    payload = models.JSONField(null=True)
    finding = models.CharField(max_length=10, choices=Adjudication.Finding, default="", blank=True)
    reason = models.TextField(blank=True)
    at = models.DateTimeField(null=True)
    seen_by = models.ManyToManyField(
        settings.AUTH_USER_MODEL, related_name="+", help_text="People who looked at the decision instead."
    )

    objects = SecondReadingQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"second reading of {self.decision}"
