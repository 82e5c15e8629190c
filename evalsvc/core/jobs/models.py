"""Jobs, their events, the workers that ask for work, and the drain."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models.functions import Now


class Job(models.Model):
    """One piece of work; writes by an older `attempt` are rejected."""

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"
        CANCELLED = "cancelled"

    ENDED: ClassVar[tuple[str, ...]] = (State.DONE, State.FAILED, State.CANCELLED)

    kind = models.CharField(max_length=40)
    queue = models.CharField(max_length=20)
    subject = models.BigIntegerField(
        help_text="Primary key of what the job is about; its kind says of which table."
    )
    lane = models.CharField(max_length=60, default="", help_text="Who waits: lanes take turns.")
    request_id = models.CharField(
        max_length=64, default="", db_default="", help_text="Of the request that queued it, as in the log."
    )
    state = models.CharField(max_length=10, choices=State, default=State.QUEUED)
    attempt = models.PositiveSmallIntegerField(default=0)
    run_after = models.DateTimeField(db_default=Now())
    lease_until = models.DateTimeField(null=True)
    worker = models.CharField(max_length=120, default="")
    cancel_asked = models.BooleanField(default=False)
    done = models.BigIntegerField(default=0, help_text="Steps of the work done so far.")
    total = models.BigIntegerField(default=0, help_text="Steps in all; 0 while not known.")
    step = models.CharField(max_length=120, default="", help_text="What is being done now, in words.")
    error_code = models.CharField(max_length=60, default="")
    error = models.TextField(default="")
    created_at = models.DateTimeField(db_default=Now())
    started_at = models.DateTimeField(null=True)
    claimed_at = models.DateTimeField(null=True, help_text="When its last attempt began.")
    ended_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["queue", "run_after"], condition=models.Q(state="queued"), name="job_due"),
            models.Index(fields=["lease_until"], condition=models.Q(state="running"), name="job_leased"),
            models.Index(fields=["kind", "subject"], name="job_subject"),
            models.Index(fields=["queue", "claimed_at"], name="job_claimed"),
            models.Index(fields=["queue", "state", "-ended_at"], name="job_ended"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.subject}: {self.state}"


class Worker(models.Model):
    """A worker process and a queue in which it asked for work."""

    queue = models.CharField(max_length=20)
    name = models.CharField(max_length=120)
    heard_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.UniqueConstraint(fields=["queue", "name"], name="worker_once")]

    def __str__(self) -> str:
        return f"{self.name} ({self.queue})"


class Drain(models.Model):
    """While its one row exists, workers claim no jobs."""

    reason = models.CharField(max_length=200, help_text="For the people who wait.")
    since = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.CheckConstraint(condition=models.Q(id=1), name="drain_once")]

    def __str__(self) -> str:
        return self.reason


class JobEvent(models.Model):
    """One line of a job's timeline."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="events")
    at = models.DateTimeField(db_default=Now())
    attempt = models.PositiveSmallIntegerField()
    what = models.CharField(max_length=20)
    detail = models.TextField(default="")

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.what} (attempt {self.attempt})"
