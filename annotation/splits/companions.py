"""Training and validation data beside a test set: counts of all of them, and what they share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import Q

from annotation import roles
from annotation.splits.derived import source_of
from annotation.splits.leakage import Shared, leakage
from annotation.splits.making import items_of
from annotation.testset import Companion, Kind, Origin, TestSet, record_change
from annotation.testset_overlap import hidden_among
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import Conflict, DomainError
from evalsvc.core.jobs.lease import Progress
from evalsvc.core.jobs.models import Job
from evalsvc.core.jobs.queue import enqueue, restart
from evalsvc.core.jobs.transitions import Store
from evalsvc.core.web.formatting import DASH, counted, percent
from evalsvc.core.web.tables import Cell, Head, PaperTable

KIND = "leakage"
MOST_COMPANIONS = 10
Role = Companion.Role


@transaction.atomic
def put_beside(test_set: TestSet, data: TestSet, role: str, *, by: User) -> Companion:
    """Put a frozen set beside a test set, or change its role; a job counts what they share."""
    test_set.require_reader(by)
    data.require_reader(by)
    if role not in Role.values:
        detail = f"Unknown role {role[:40]!r}. Use one of: {', '.join(Role.values)}."
        raise DomainError("invalid_input", detail, field="role")
    if data == test_set or data.twin_id == test_set.pk:
        hint = "Import the training data as a test set, and name that one."
        raise Conflict("not_beside_itself", f"{data} is the test set itself.", hint=hint, field="set")
    if data.kind != test_set.kind:
        detail = f"{data} has gold of the kind {data.kind}, {test_set} of {test_set.kind}."
        raise Conflict("other_kind", detail, hint="Add data of the same kind.", field="set")
    beside = Companion.objects.filter(test_set=test_set)
    if beside.exclude(data=data).count() >= MOST_COMPANIONS:
        detail = f"At most {MOST_COMPANIONS} sets of training and validation data are allowed."
        raise Conflict("too_many_companions", detail, hint="Remove one first.", field="set")
    before = beside.filter(data=data).values_list("role", flat=True).first() or ""
    if role != before:
        record_change(test_set, f"{data.slug} beside it", by=by, before=before, after=role)
    companion, is_new = beside.update_or_create(
        data=data, defaults={"role": role}, create_defaults={"test_set": test_set, "role": role, "by": by}
    )
    if is_new:
        enqueue(KIND, companion.pk, lane=f"user {by.pk}")
    elif count_state(companion) == Job.State.FAILED:
        _count_again(companion, by=by)
    return companion


def count_state(companion: Companion) -> str:
    """Return done, failed (or cancelled), or queued while it waits or runs."""
    if companion.shared is not None:
        return str(Job.State.DONE)
    job = _job_of(companion)
    return str(Job.State.FAILED if job is None or job.state in Job.ENDED else Job.State.QUEUED)


def retry(test_set: TestSet, data: TestSet, *, by: User) -> None:
    """Restart the failed count of what a set beside a test set shares with it."""
    test_set.require_reader(by)
    with transaction.atomic():
        companion = Companion.objects.select_for_update().filter(test_set=test_set, data=data).first()
        if companion is None or count_state(companion) != Job.State.FAILED:
            raise Conflict("not_failed", f"No count of what {data} and {test_set} share has failed.")
        _count_again(companion, by=by)


def _count_again(companion: Companion, *, by: User) -> None:
    job = _job_of(companion)
    if job is not None and job.state == Job.State.FAILED:
        restart(job, by=by.shown_name)
    else:
        enqueue(KIND, companion.pk, lane=f"user {by.pk}")


def _job_of(companion: Companion) -> Job | None:
    return Job.objects.filter(kind=KIND, subject=companion.pk).order_by("-pk").first()


def remove(test_set: TestSet, data: TestSet, *, by: User) -> None:
    """Take a set away from beside a test set; both stay."""
    test_set.require_reader(by)
    with transaction.atomic():
        for companion in Companion.objects.filter(test_set=test_set, data=data):
            record_change(test_set, f"{data.slug} beside it", by=by, before=companion.role, after="")
            companion.delete()


def to_put_beside(test_set: TestSet, *, by: User) -> list[TestSet]:
    """Return the newest sets of the same kind that a person may read."""
    curated = TestSet.objects.frozen().filter(project__members__user=by, project__members__role="curator")
    imported = TestSet.objects.frozen().filter(project=None, by=by)
    sets = TestSet.objects.frozen() if by.is_superuser else curated | imported
    others = sets.filter(kind=test_set.kind).exclude(pk=test_set.pk).exclude(twin=test_set)
    return list(others.distinct().order_by("-pk")[:200])


def count_shared(companion: Companion, progress: Progress) -> Store:
    """Count what training or validation data share with the test set."""
    progress(0, 2, f"reading {companion.data}")
    train = items_of(companion.data)
    progress(1, 2, f"reading {companion.test_set}")
    rows = leakage(train, items_of(companion.test_set))
    shared = [
        {"key": row.key, "train": row.train, "test": row.test, "shared": row.shared, "items": row.test_items}
        for row in rows
    ]

    def store() -> None:
        Companion.objects.filter(pk=companion.pk).update(shared=shared)

    return store


def shared_rows(companion: Companion) -> list[Shared]:
    """Return what was counted, none before that."""
    return [
        Shared(row["key"], row["train"], row["test"], row["shared"], row["items"])
        for row in companion.shared or ()
    ]


# ---- table of all sets ---------------------------------------------------------------------------
class Column(NamedTuple):
    key: str
    title: str
    of: Callable[[dict[str, Any]], float | None]


def _stated(key: str) -> Callable[[dict[str, Any]], float | None]:
    return lambda figures: figures.get(key)


def _bag_size(figures: dict[str, Any]) -> float | None:
    return figures["sentences"] / figures["pairs"] if figures.get("pairs") else None


def _occurring(key: str) -> Callable[[dict[str, Any]], float | None]:
    return lambda figures: sum(n > 0 for n in figures[key].values()) if key in figures else None


SENTENCES = Column("sentences", "Sentences", _stated("sentences"))
NA = Column("na_share", "N/A, %", _stated("na_share"))
TYPES = Column("types", "Types", _occurring("labels"))
ENTITIES = Column("entities", "Entities", _stated("entities"))
COLUMNS: dict[str, list[Column]] = {
    Kind.RELATIONS: [
        Column("relations", "Relations", _occurring("labels")), Column("facts", "Facts", _stated("facts")),
        Column("pairs", "Pairs", _stated("pairs")), SENTENCES,
        Column("bag_size", "Sentences per pair", _bag_size), NA,
    ],
    Kind.ENTITIES: [TYPES, ENTITIES, Column("tokens", "Tokens", _stated("tokens")), SENTENCES, NA],
    Kind.JOINT: [
        TYPES, ENTITIES, Column("relation_labels", "Relations", _occurring("relation_labels")),
        Column("relations_between", "Relation mentions", _stated("relations_between")), SENTENCES, NA,
    ],
}  # fmt: skip
NAMES = ("part", "set", "slug")


def held_back(test_set: TestSet, reader: User | None) -> set[int]:
    """Return the keys of sets around one whose figures a reader does not see.

    Their pages show the reader no figures, or the reader does not see these and a phase hides their gold, or
    lines of it.
    """
    seen = TestSet.objects.visible_to(reader) if reader else TestSet.objects.none()
    beside = Companion.objects.filter(test_set=test_set).values("data")
    around = TestSet.objects.frozen().filter(Q(pk__in=beside) | Q(twin=test_set))
    hidden = hidden_among(around.exclude(pk__in=seen.values("pk")))
    if reader is not None:
        for each in around.filter(pk__in=seen.values("pk")).select_related("project"):
            if not roles.shows_outcomes(each, with_gold=each.known_to(reader)):
                hidden.add(each.pk)
    return hidden


def sets_table(test_set: TestSet, *, without: Collection[int]) -> PaperTable:
    """Return a row per set but those held back: training, validation, test, and test with source labels.

    `bag_size` is the mean number of sentences of a pair, `na_share` a share of 1.
    """
    beside = Companion.objects.filter(test_set=test_set).select_related("data")
    rows = [(str(each.get_role_display()), each.data) for each in beside]
    if test_set.origin == Origin.SOURCE:
        rows.append(("Test, source labels", test_set))
    else:
        source = source_of(test_set)
        rows += [("Test", test_set), *([("Test, source labels", source)] if source else ())]
    rows = [(title, each) for title, each in rows if each.pk not in without]
    columns = COLUMNS[test_set.kind]
    heads = [Head(name, name.capitalize(), numeric=False) for name in NAMES]
    heads += [Head(column.key, column.title) for column in columns]
    counts = "Relations" if test_set.kind == Kind.RELATIONS else "Types"
    caption = (
        f"Sets around {test_set}. {counts} are those that occur; N/A is the share of lines without a label."
    )
    if without:
        caption += f" Without {counted(len(without), 'set')} whose figures are hidden."
    cells = [_row(title, each, columns) for title, each in rows]
    return PaperTable(f"{test_set.slug}-sets", caption, heads, cells)


def _row(title: str, test_set: TestSet, columns: Sequence[Column]) -> list[Cell]:
    figures: dict[str, Any] = test_set.statistics or {}
    values = [(column, column.of(figures)) for column in columns]
    names = (title, str(test_set), test_set.slug)
    return [
        *(Cell(name, name) for name in names),
        *(Cell(value, _text(value, column)) for column, value in values),
    ]


def _text(value: float | None, column: Column) -> str:
    if value is None:
        return DASH
    if column == NA:
        return percent(value)
    return f"{value:,.2f}" if column.of is _bag_size else f"{value:,}"
