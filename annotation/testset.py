"""Frozen test sets; evaluation imports nothing else of annotation but `testset_overlap`."""

from __future__ import annotations

import hashlib
import json
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.db import models, transaction
from django.db.models import Q, Sum
from django.db.models.functions import Length, Now

from evalsvc.core.accounts.models import User
from evalsvc.core.activity.models import LogEntry, entries, record
from evalsvc.core.database import Sha256
from evalsvc.core.errors.exceptions import Conflict, NotAllowed
from evalsvc.core.jobs.exceptions import RetryLater

log = logging.getLogger(__name__)
LINES_PER_READ = 2_000


class Kind(models.TextChoices):
    RELATIONS = "relations"
    ENTITIES = "entities"
    JOINT = "joint"


class Origin(models.TextChoices):
    ANNOTATED = "annotated"
    SOURCE = "source"
    IMPORTED = "imported"


class TestSetQuerySet(models.QuerySet["TestSet"]):
    def frozen(self) -> TestSetQuerySet:
        return self.filter(state=TestSet.State.FROZEN)

    def with_public_gold(self) -> TestSetQuerySet:
        """Return the sets that anybody may download with their gold, perhaps by accepting terms."""
        public = self.filter(publication__with_gold=True, publication__withdrawn_at=None)
        return public.exclude(publication__access="named")

    def visible_to(self, user: User) -> TestSetQuerySet:
        """Return the sets listed for a person.

        Their gold needs `readable_by`, their digest `known_to`, settings `usable_by`.
        """
        if user.is_superuser:
            return self
        roles = ("viewer", "adjudicator", "curator")
        own = self.filter(project__members__user=user, project__members__role__in=roles)
        imported = Q(project=None, by=user)
        return self.filter(Q(pk__in=own.values("pk")) | imported | Q(pk__in=_released_to(user)))

    def usable_by(self, user: User) -> TestSetQuerySet:
        """Return the frozen sets that a person may score against.

        Scores reveal gold, so that takes the right to read it, or a release by somebody who has it.
        """
        return self.frozen() if user.is_superuser else self.frozen().filter(_used_by(user))

    def known_to(self, user: User | AnonymousUser) -> TestSetQuerySet:
        """Return the sets whose gold a person may learn.

        They read its lines, score against it, or may download it as published: under terms, once these are
        accepted. Nobody else reads a digest: that of a small set, or of one that adds few lines to known
        ones, tells every label.
        """
        if user.is_superuser:
            return self
        published = TestSet.objects.filter(publication__with_gold=True, publication__withdrawn_at=None)
        may_download = Q(publication__access="anybody")
        if not isinstance(user, User):
            return self.filter(pk__in=published.filter(may_download).values("pk"))
        may_download |= Q(publication__access="named", publication__readers__user=user)
        may_download |= Q(
            publication__access="terms",
            publication__acceptances__user=user,
            publication__acceptances__terms_sha256=Sha256("publication__terms"),
        )
        return self.filter(_used_by(user) | Q(pk__in=published.filter(may_download).values("pk")))


def _used_by(user: User) -> Q:
    """Return the condition of sets that a person may read, or score against by a release."""
    curated = TestSet.objects.filter(project__members__user=user, project__members__role="curator")
    return Q(pk__in=curated.values("pk")) | Q(project=None, by=user) | Q(pk__in=_released_to(user))


def _released_to(user: User) -> models.QuerySet[Any]:
    return Release.objects.filter(user=user).values("test_set")


class TestSet(models.Model):
    """A frozen set of gold rows; `sha256` digests its exported lines."""

    __test__ = False  # pytest: not a test class

    class State(models.TextChoices):
        BUILDING = "building"
        FROZEN = "frozen"
        FAILED = "failed"

    slug = models.SlugField(max_length=100, unique=True)
    name = models.CharField(max_length=120)
    version = models.CharField(max_length=20)
    kind = models.CharField(max_length=10, choices=Kind)
    origin = models.CharField(max_length=10, choices=Origin)
    state = models.CharField(max_length=10, choices=State, default=State.BUILDING)
    project = models.ForeignKey(
        "annotation.Project", on_delete=models.PROTECT, null=True, related_name="test_sets"
    )
    twin = models.OneToOneField(
        "self",
        on_delete=models.PROTECT,
        null=True,
        related_name="source_twin",
        help_text="For a source set: the annotated set it was frozen with.",
    )
    batch = models.OneToOneField(
        "annotation.Batch", on_delete=models.PROTECT, null=True, related_name="test_set"
    )
    labels = models.JSONField(default=list, help_text='Inventory in order: [{"name","title"}], without N/A.')
    negative = models.CharField(max_length=60, default="N/A", help_text="How predictions may spell N/A.")
    manifest = models.JSONField(default=dict, help_text="How it was made: policy, counts, what was left out.")
    statistics = models.JSONField(null=True)
    file_digests = models.JSONField(
        null=True, help_text='Size and SHA-256 of release files with lines: {"gold.jsonl": [9, "0f…"]}.'
    )
    rows = models.PositiveIntegerField(default=0)
    sha256 = models.CharField(max_length=64, default="")
    reason = models.TextField(blank=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(db_default=Now())
    frozen_at = models.DateTimeField(null=True)

    objects = TestSetQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["name", "version", "origin"], name="one_set_per_name_and_version")
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.version}"

    def readable_by(self, user: User) -> bool:
        """True for superusers, the project's curators and the importing person."""
        if user.is_superuser:
            return True
        if self.project is None:
            return self.by_id == user.pk
        return self.project.members.filter(user=user, role="curator").exists()

    def known_to(self, user: User | AnonymousUser) -> bool:
        """True for people who may learn the gold, and read its digest."""
        return TestSet.objects.filter(pk=self.pk).known_to(user).exists()

    def require_reader(self, user: User) -> None:
        """Require a frozen set and a person who may read it."""
        if not self.readable_by(user):
            raise NotAllowed("not_allowed", "Only its curators and importer can read the gold of this set.")
        if self.state != self.State.FROZEN:
            raise Conflict("not_frozen", f"{self} is {self.state}: only frozen sets can be read.")

    def require_lasting_reader(self, user: User) -> None:
        """Require a reader, whose role stays until the transaction ends: a removal waits, or came first."""
        if self.project is not None:
            list(self.project.members.select_for_update(no_key=True).filter(user=user))
        self.require_reader(user)

    def verify(self) -> None:
        """Raise `GoldChanged` unless the stored lines still give the stored digest."""
        for _ in verified_batches(self):
            pass


class GoldChanged(Conflict, RetryLater):
    """The lines of a frozen set are damaged: requests fail and jobs wait until they are restored."""

    status = 503

    def __init__(self, test_set: TestSet) -> None:
        Conflict.__init__(
            self,
            "gold_changed",  # teams may read this: it has no digest of the gold
            f"{test_set} was changed after it was frozen. An administrator must restore it; "
            "nothing is wrong with any submission.",
        )
        self.reason, self.most = self.detail, None


class Release(models.Model):
    """Permission to use a test set in benchmarks without reading its gold."""

    test_set = models.ForeignKey(TestSet, on_delete=models.CASCADE, related_name="releases")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["test_set", "user"], name="one_release_per_person")]

    def __str__(self) -> str:
        return f"{self.test_set} for {self.user}"


def release(test_set: TestSet, *, username: str, by: User) -> Release:
    """Let another organiser use a frozen set in benchmarks."""
    with transaction.atomic():
        test_set.require_lasting_reader(by)
        user = User.objects.filter(username=username).first()
        if user is None or not (user.may_organise or user.is_superuser):  # alike: names stay private
            detail = f"No organiser has the user name {username}. User names are case-sensitive."
            raise Conflict("not_organiser", detail, field="username")
        made, is_new = Release.objects.get_or_create(test_set=test_set, user=user, defaults={"by": by})
        if is_new:
            record_change(test_set, "released to organiser", by=by, before="", after=username)
    return made


def withdraw_release(test_set: TestSet, *, username: str, by: User) -> None:
    """End a release; settings that use the set stay."""
    test_set.require_reader(by)
    with transaction.atomic():
        if Release.objects.filter(test_set=test_set, user__username=username).delete()[0]:
            record_change(test_set, "release to organiser ended", by=by, before=username, after="")


_uses: dict[str, Callable[..., int]] = {}


def register_use(name: str, count_hiding: Callable[..., int]) -> None:
    """Register a function of test sets that counts the places which keep their gold secret."""
    _uses[name] = count_hiding


def count_hiding(*test_sets: TestSet) -> int:
    """Count the places which keep gold of these sets secret."""
    return sum(count(*test_sets) for count in _uses.values())


@dataclass(frozen=True, slots=True)
class BoardMove:
    """A board that changed from one test set to another, and what that did to its ranks."""

    title: str
    url: str
    text: str


_moves: list[Callable[[TestSet, TestSet, User], list[BoardMove]]] = []


def register_board_moves(moves: Callable[[TestSet, TestSet, User], list[BoardMove]]) -> None:
    """Register a function that lists the boards that went from one set to another."""
    _moves.append(moves)


def board_moves(first: TestSet, second: TestSet, user: User) -> list[BoardMove]:
    """List the boards a person sees that went from one set to another."""
    return [move for moves in _moves for move in moves(first, second, user)]


def record_change(
    test_set: TestSet, action: str, *, by: User, before: object = None, after: object = None
) -> None:
    """Log a change of what surrounds a set: in its project's log, or in its own if it was imported."""
    record(test_set.project or test_set, action, by=by, about=test_set, before=before, after=after)


def logged_changes(test_set: TestSet) -> models.QuerySet[LogEntry]:
    """Return the logged changes of a set, newest first."""
    return entries(test_set.project or test_set).filter(about=str(test_set))


class Companion(models.Model):
    """A frozen set of training or validation data beside a test set, and what the two share."""

    class Role(models.TextChoices):
        TRAINING = "training"
        VALIDATION = "validation"

    test_set = models.ForeignKey(TestSet, on_delete=models.CASCADE, related_name="companions")
    data = models.ForeignKey(TestSet, on_delete=models.PROTECT, related_name="companion_of")
    role = models.CharField(max_length=10, choices=Role)
    shared = models.JSONField(
        null=True, help_text="What is shared, a row per kind of thing; NULL until it is counted."
    )
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["role", "pk"]
        constraints = [models.UniqueConstraint(fields=["test_set", "data"], name="beside_a_set_once")]

    def __str__(self) -> str:
        return f"{self.data} beside {self.test_set}"


class TestSetRow(models.Model):
    """One gold line, exactly as exported (canonical JSON without the line end)."""

    __test__ = False

    test_set = models.ForeignKey(TestSet, on_delete=models.CASCADE, related_name="lines")
    number = models.PositiveIntegerField()
    external_id = models.CharField(max_length=200)
    line = models.TextField()
    provenance = models.TextField(  # noqa: DJ001 - NULL needs no new table on SQLite
        null=True, help_text="What decided the line, as canonical JSON; NULL where it was not recorded."
    )

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(fields=["test_set", "number"], name="rows_are_numbered"),
            models.UniqueConstraint(fields=["test_set", "external_id"], name="an_id_once_per_set"),
        ]

    def __str__(self) -> str:
        return self.external_id


def label_titles(labels: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Return the titles of labels by name; those of equal titles are their names."""
    titles = {label["name"]: label.get("title") or label["name"] for label in labels}
    times = Counter(titles.values())
    return {name: title if times[title] == 1 else name for name, title in titles.items()}


def characters_of(*sets: TestSet) -> int:
    """Return the number of characters of all lines of the sets."""
    lines = TestSetRow.objects.filter(test_set__in=sets)
    return int(lines.aggregate(size=Sum(Length("line")))["size"] or 0)


def export_lines(test_set: TestSet) -> Iterator[bytes]:
    """Yield the lines in order with their line ends, as hashed."""
    return chain.from_iterable(export_batches(test_set))


def export_batches(test_set: TestSet) -> Iterator[list[bytes]]:
    """Yield the lines some thousands at a time."""
    lines, last = test_set.lines.order_by("number"), 0
    # in batches: on SQLite nothing can be written beside an open read
    while batch := list(lines.filter(number__gt=last).values_list("number", "line")[:LINES_PER_READ]):
        yield [line.encode() + b"\n" for _, line in batch]
        last = batch[-1][0]


def provenance_lines(test_set: TestSet) -> Iterator[bytes]:
    """Yield what decided each line, in order; nothing where it was not recorded."""
    lines, last = test_set.lines.exclude(provenance=None).order_by("number"), 0
    while batch := list(lines.filter(number__gt=last).values_list("number", "provenance")[:LINES_PER_READ]):
        yield from (str(provenance).encode() + b"\n" for _, provenance in batch)
        last = batch[-1][0]


def verified_batches(test_set: TestSet) -> Iterator[list[bytes]]:
    """Yield the lines some thousands at a time, then verify their digest."""
    digest = hashlib.sha256()
    for lines in export_batches(test_set):
        digest.update(b"".join(lines))
        yield lines
    if test_set.state != TestSet.State.FROZEN or digest.hexdigest() != test_set.sha256:
        log.error("%s has the digest %s, not %s", test_set, digest.hexdigest(), test_set.sha256)
        raise GoldChanged(test_set)


def verified_lines(test_set: TestSet) -> Iterator[bytes]:
    """Yield the lines in order, then verify their digest."""
    return chain.from_iterable(verified_batches(test_set))


def read_rows(test_set: TestSet) -> Iterator[dict[str, Any]]:
    """Yield the lines in order, decoded; the last one is followed by a check of their digest."""
    try:
        yield from map(json.loads, verified_lines(test_set))
    except ValueError as error:  # so damaged that they are no JSON
        raise GoldChanged(test_set) from error
