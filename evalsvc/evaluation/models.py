"""Models: benchmark, setting, system, submission, evaluation, score."""

from __future__ import annotations

from typing import Any

import msgspec
from django.conf import settings as project
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from annotation.testset import TestSet
from evalsvc.core.accounts.models import ApiToken, Team
from evalsvc.core.jobs.models import Job


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
    sealed = models.BooleanField(default=False, help_text="Its scores are shown only once it has closed.")
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
        help_text="Runs a row shows: mean, latest, final, best:KEY of a setting.",
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

    @property
    def kind(self) -> str:
        """The unit, or `joint`: on it depend measures, forms and options."""
        return "joint" if self.benchmark.task == Benchmark.Task.JOINT else self.unit


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


class System(models.Model):
    """System of a team with its runs, one prediction file each."""

    benchmark = models.ForeignKey(Benchmark, on_delete=models.CASCADE, related_name="systems")
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="systems")
    name = models.CharField(max_length=120)
    tags = models.JSONField(default=dict, help_text="What the team declares: pre-trained, extra data …")
    baseline = models.BooleanField(default=False, help_text="The organisers call it a baseline.")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["benchmark", "team", "name"], name="one_system_per_name")
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def declared(self) -> dict[str, Any]:
        return by_name(self.tags)


def by_name(tags: dict[str, Any]) -> dict[str, Any]:
    """Order tags and what is in them by name; PostgreSQL and SQLite return them in orders of their own."""
    ordered: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(tags, order="sorted"))
    return ordered


class PredictionFile(models.Model):
    """Prediction file, stored once under the SHA-256 of its unpacked bytes."""

    sha256 = models.CharField(max_length=64, primary_key=True)
    size = models.BigIntegerField()
    name = models.CharField(max_length=200, help_text="Where it lies in the storage.")
    kept_at = models.DateTimeField(db_default=Now(), help_text="When these bytes came, the last time.")

    def __str__(self) -> str:
        return self.sha256


class Submission(models.Model):
    """Run of a system: its file, its state and its evaluations."""

    class State(models.TextChoices):
        RECEIVED = "received"
        QUEUED = "queued"
        RUNNING = "running"
        SCORED = "scored"
        INVALID = "invalid"
        FAILED = "failed"
        CANCELLED = "cancelled"

    benchmark = models.ForeignKey(Benchmark, on_delete=models.PROTECT, related_name="submissions")
    system = models.ForeignKey(System, on_delete=models.PROTECT, related_name="runs")
    run = models.CharField(max_length=40)
    file = models.ForeignKey(PredictionFile, on_delete=models.PROTECT, related_name="submissions")
    model = models.ForeignKey(
        PredictionFile,
        on_delete=models.PROTECT,
        null=True,
        related_name="runs_of_model",
        help_text="The pipeline that was sent; `file` is what it predicted, once it has.",
    )
    filename = models.CharField(max_length=200, blank=True)
    format = models.CharField(max_length=40, help_text="Format of the file, as recognised by its content.")
    form = models.CharField(
        max_length=20, help_text="Form of its lines: label, labels, scores, bag, spans, tags."
    )
    phase = models.CharField(max_length=4, blank=True, help_text="The phase it was submitted to.")
    aggregate = models.CharField(max_length=3, default="ONE", help_text="From sentences to bags: ONE or AVG.")
    layout = models.CharField(
        max_length=64,
        blank=True,
        help_text="Of a dense file: SHA-256 of what its rows and columns stand for.",
    )
    columns = models.JSONField(
        default=list,
        blank=True,
        help_text="Of a dense file: the label of each column, if not the benchmark's labels in their order.",
    )
    state = models.CharField(max_length=10, choices=State, default=State.RECEIVED)
    counts = models.JSONField(default=dict, help_text="Lines, claims, bags, missing.")
    old_labels = models.JSONField(
        default=dict,
        help_text='What old names of labels in the file became: {"us_state": {"to": "region", "labels": 9}}.',
    )
    reason_code = models.CharField(max_length=60, blank=True)
    reason = models.TextField(blank=True)
    job = models.ForeignKey(Job, on_delete=models.SET_NULL, null=True, related_name="+")
    by = models.ForeignKey(project.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    token = models.ForeignKey(ApiToken, on_delete=models.SET_NULL, null=True, related_name="+")
    idempotency_key = models.CharField(max_length=120, blank=True)
    saw_gold = models.BooleanField(
        default=False, help_text="Someone of the team labelled or decided this gold."
    )
    held_to = models.JSONField(
        default=list, help_text="Versions of settings its file was checked against, in their order."
    )
    created_at = models.DateTimeField(db_default=Now())
    ended_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True, help_text="When a worker first began to score it.")
    scored_at = models.DateTimeField(
        null=True, help_text="When it was first scored; from then on it stays so."
    )
    withdrawn_at = models.DateTimeField(null=True)
    final_at = models.DateTimeField(
        null=True, help_text="When its team chose it as final; the last one chosen is."
    )
    evaluations: models.ManyToManyField[Evaluation, Any] = models.ManyToManyField(
        "Evaluation", related_name="submissions"
    )

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["system", "run"],
                condition=Q(withdrawn_at__isnull=True, state__in=["received", "queued", "running", "scored"]),
                name="one_standing_file_per_run",
            ),
            models.UniqueConstraint(
                fields=["benchmark", "by", "idempotency_key"],
                condition=~Q(idempotency_key=""),
                name="a_key_submits_once",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.system}, run {self.run}"


class NearDuplicate(models.Model):
    """Run that shows the figures of an earlier, similar one.

    It shows none if the setting has not scored that one.
    """

    submission = models.ForeignKey(Submission, on_delete=models.CASCADE, related_name="near")
    setting = models.ForeignKey(Setting, on_delete=models.CASCADE, related_name="+")
    gold_sha256 = models.CharField(max_length=64)
    earlier = models.ForeignKey(Submission, on_delete=models.CASCADE, related_name="+")
    claims = models.PositiveIntegerField(help_text="Number of claims that only one of the two makes.")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["submission", "setting", "gold_sha256"], name="near_to_one_run_per_gold"
            )
        ]

    def __str__(self) -> str:
        return f"{self.submission_id} near {self.earlier_id}"


class Refusal(models.Model):
    """Rejected upload to a hidden phase; these are limited per day."""

    benchmark = models.ForeignKey(Benchmark, on_delete=models.CASCADE, related_name="+")
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+")
    at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = [models.Index(fields=["benchmark", "team", "at"], name="refusals_of_a_team")]

    def __str__(self) -> str:
        return f"{self.team}, {self.at}"


class ModelHost(models.Model):
    """Machine with workers; `why_not` is empty when its sandbox self-test passed."""

    name = models.CharField(max_length=200, unique=True)
    why_not = models.TextField(blank=True)
    tried_at = models.DateTimeField(db_default=Now())
    seen_at = models.DateTimeField(
        db_default=Now(), help_text="When one of its workers last looked for work."
    )

    def __str__(self) -> str:
        return self.name


class Evaluation(models.Model):
    """Scoring of a file under a setting, identified by everything affecting figures."""

    file = models.ForeignKey(PredictionFile, on_delete=models.PROTECT, related_name="evaluations")
    setting = models.ForeignKey(Setting, on_delete=models.PROTECT, related_name="evaluations")
    gold_sha256 = models.CharField(max_length=64)
    options = models.JSONField()
    options_sha256 = models.CharField(max_length=64)
    scorer = models.CharField(max_length=40, help_text="Version of the scorer.")
    answers_sha256 = models.CharField(
        max_length=64, blank=True, help_text="Of the answers scored, sorted; empty: not computed yet."
    )
    claims_sha256 = models.CharField(
        max_length=64, blank=True, help_text="Of the claims that count, whatever the form of the file."
    )
    order_sha256 = models.CharField(
        max_length=64, blank=True, help_text="Of the order of ranked claims, whatever their scores."
    )
    libraries = models.JSONField(default=dict)
    classes = models.JSONField(default=list, help_text="Figures per class.")
    detail = models.JSONField(default=dict, help_text="Counts, curve, notes.")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["file", "setting", "gold_sha256", "options_sha256", "scorer"],
                name="the_same_scoring_once",
            )
        ]

    def __str__(self) -> str:
        return f"{self.setting} of {self.file_id[:12]}"


class EvaluationClaims(models.Model):
    """Claims of a file under a hidden setting, as 64-bit numbers."""

    evaluation = models.OneToOneField(Evaluation, on_delete=models.CASCADE, related_name="claims")
    codes = models.BinaryField()

    def __str__(self) -> str:
        return f"claims of {self.evaluation}"


class EvaluationOutcomes(models.Model):
    """Outcome of each item of a file, packed; who may read it is decided by the disclosure."""

    evaluation = models.OneToOneField(Evaluation, on_delete=models.CASCADE, related_name="outcomes")
    content = models.BinaryField()

    def __str__(self) -> str:
        return f"outcomes of {self.evaluation}"


class Score(models.Model):
    """Value of a measure; null with a reason when undefined."""

    evaluation = models.ForeignKey(Evaluation, on_delete=models.CASCADE, related_name="scores")
    measure = models.CharField(max_length=60)
    value = models.FloatField(null=True)
    reason = models.CharField(max_length=200, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["evaluation", "measure"], name="one_value_per_measure")
        ]

    def __str__(self) -> str:
        return f"{self.measure}: {self.value}"


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
