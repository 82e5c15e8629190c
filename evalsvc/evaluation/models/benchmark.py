"""A benchmark, its rules, people and contributed measures."""

from __future__ import annotations

from django.conf import settings as project
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from evalsvc.core.accounts.models import Team


class Benchmark(models.Model):
    """Task with its label inventory and settings over frozen test sets."""

    class Task(models.TextChoices):
        RELATIONS = "relations"
        ENTITIES = "entities"
        JOINT = "joint"

    class Missing(models.TextChoices):
        REFUSE = "refuse"
        WRONG = "wrong"

    slug = models.SlugField(max_length=60, unique=True)
    title = models.CharField(max_length=120)
    summary = models.CharField(max_length=200, blank=True)
    description = models.TextField(blank=True, help_text="Markdown.")
    task = models.CharField(max_length=10, choices=Task)
    labels = models.JSONField(
        help_text='Inventory in order: [{"name","title"}], without the negative class; of joint benchmarks '
        'with "part" (entity or relation), and "symmetric" for relations without direction.'
    )
    negative = models.CharField(max_length=60, blank=True, help_text="The negative class as files spell it.")
    missing = models.CharField(max_length=10, choices=Missing, default=Missing.REFUSE)
    options = models.JSONField(default=dict, help_text="Everything else that changes a number.")
    public = models.BooleanField(default=True)
    per_day = models.PositiveIntegerField(null=True, help_text="Submissions a team may make a day.")
    in_total = models.PositiveIntegerField(null=True, help_text="Submissions a team may make in all.")
    at_once = models.PositiveIntegerField(null=True, help_text="Submissions of a team that may wait or run.")
    default_quotas = models.BooleanField(
        default=False, help_text="Hidden phases without a quota a day or in total have the default one."
    )
    phase_quotas = models.JSONField(
        default=dict, help_text='Quotas of a phase beside those: {"dev": {"per_day", "in_total"}}.'
    )
    time_zone = models.CharField(max_length=60, default="UTC", help_text="Where its days begin and end.")
    limits = models.JSONField(default=dict, help_text="Its own limits on files, below those of the service.")
    training_counts = models.JSONField(default=dict, help_text="Examples per label in the training data.")
    training_set = models.ForeignKey(
        "annotation.TestSet",
        on_delete=models.PROTECT,
        null=True,
        related_name="+",
        help_text="Where they were counted; NULL: they came in a file.",
    )
    contributed = models.JSONField(
        default=list, help_text='Contributed measures that boards show: [{"key","title","base","formula"}].'
    )
    views = models.JSONField(
        default=list, help_text='Saved views for everybody, for its board: [{"pk","title","query"}].'
    )
    terms_number = models.PositiveSmallIntegerField(
        default=0, help_text="Version of its terms in force; 0: none."
    )
    approval = models.BooleanField(default=False, help_text="Teams submit once an organiser approved them.")
    created_by = models.ForeignKey(project.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return self.title


class Terms(models.Model):
    """A version of the terms of a benchmark."""

    benchmark = models.ForeignKey(Benchmark, on_delete=models.CASCADE, related_name="terms")
    number = models.PositiveSmallIntegerField()
    text = models.TextField(help_text="Markdown.")
    by = models.ForeignKey(project.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["number"]
        constraints = [models.UniqueConstraint(fields=["benchmark", "number"], name="terms_are_numbered")]

    def __str__(self) -> str:
        return f"{self.benchmark}, terms {self.number}"


class Entrant(models.Model):
    """A team that takes part: the terms it accepted, and whether it is approved."""

    class State(models.TextChoices):
        ASKED = "asked"
        APPROVED = "approved"
        DECLINED = "declined"

    benchmark = models.ForeignKey(Benchmark, on_delete=models.CASCADE, related_name="entrants")
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="entries")
    by = models.ForeignKey(project.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(db_default=Now())
    terms = models.ForeignKey(Terms, on_delete=models.PROTECT, null=True, related_name="+")
    accepted_at = models.DateTimeField(null=True)
    state = models.CharField(max_length=8, choices=State, default=State.ASKED)
    reason = models.CharField(max_length=500, blank=True, help_text="Of the decision; the team reads it.")
    decided_by = models.ForeignKey(
        project.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+"
    )
    decided_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["team__name"]
        constraints = [models.UniqueConstraint(fields=["benchmark", "team"], name="a_team_enters_once")]

    def __str__(self) -> str:
        return f"{self.team} in {self.benchmark}"


class Announcement(models.Model):
    """News of a benchmark from its organisers."""

    benchmark = models.ForeignKey(Benchmark, on_delete=models.CASCADE, related_name="announcements")
    title = models.CharField(max_length=120)
    text = models.TextField(blank=True, help_text="Markdown.")
    by = models.ForeignKey(project.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return self.title


class SavedView(models.Model):
    """Named view of a board: its query, for one person or for everybody."""

    benchmark = models.ForeignKey(Benchmark, on_delete=models.CASCADE, related_name="saved_views")
    title = models.CharField(max_length=60)
    query = models.TextField(help_text="Setting, columns, filters and order, as in the address of the board.")
    shared = models.BooleanField(default=False, help_text="For everybody who sees the board.")
    by = models.ForeignKey(project.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["title", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["benchmark", "title"], condition=Q(shared=True), name="shared_views_have_own_titles"
            ),
            models.UniqueConstraint(
                fields=["benchmark", "by", "title"],
                condition=Q(shared=False),
                name="own_views_have_own_titles",
            ),
        ]

    def __str__(self) -> str:
        return self.title


class Organiser(models.Model):
    """Role of a user in a benchmark; at most one each."""

    class Role(models.TextChoices):
        VIEWER = "viewer"
        ORGANISER = "organiser"

    benchmark = models.ForeignKey(Benchmark, on_delete=models.CASCADE, related_name="people")
    user = models.ForeignKey(project.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="benchmarks")
    role = models.CharField(max_length=10, choices=Role, default=Role.ORGANISER)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["benchmark", "user"], name="one_role_per_benchmark")]

    def __str__(self) -> str:
        return f"{self.user}: {self.role}"


class ContributedMeasure(models.Model):
    """Measure that a member composed from the menu, by name and version.

    Once organisers have admitted it, every stored run is scored under it; `complete` when none is waiting. A
    retired one leaves the boards, and its scores stay.
    """

    class State(models.TextChoices):
        PROPOSED = "proposed"
        ADMITTED = "admitted"
        DECLINED = "declined"
        RETIRED = "retired"

    benchmark = models.ForeignKey(Benchmark, on_delete=models.CASCADE, related_name="measures")
    name = models.SlugField(max_length=40)
    version = models.PositiveSmallIntegerField()
    title = models.CharField(max_length=60)
    composition = models.JSONField(help_text="Its parts, checked, with their defaults.")
    formula = models.TextField(help_text="Drawn up from its parts.")
    state = models.CharField(max_length=8, choices=State, default=State.PROPOSED)
    complete = models.BooleanField(default=False, help_text="Every run is scored under it: boards show it.")
    by = models.ForeignKey(project.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    decided_by = models.ForeignKey(
        project.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+"
    )
    created_at = models.DateTimeField(db_default=Now())
    decided_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["name", "-version"]
        constraints = [
            models.UniqueConstraint(fields=["benchmark", "name", "version"], name="one_measure_per_version")
        ]

    def __str__(self) -> str:
        return f"{self.title}, version {self.version}"

    @property
    def key(self) -> str:
        """The key of its scores."""
        return f"own_{self.name}_v{self.version}"
