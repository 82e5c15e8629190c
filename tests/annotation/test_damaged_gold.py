"""What is made of a frozen set whose lines are damaged waits until they are restored."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from django.db import connection

from annotation import conversion
from annotation.splits import companions, making, mapping
from annotation.splits.making import Plan
from annotation.splits.mapping import MappingPlan
from annotation.testset import Companion, GoldChanged, TestSet, TestSetRow, read_rows
from evalsvc.core.accounts.models import User
from evalsvc.core.jobs.models import Job
from tests.cast.basics import person, run_job, sentence
from tests.cast.projects import import_lines


@pytest.fixture
def by(db: None) -> User:
    return person("olga", may_organise=True)


@pytest.fixture
def whole(by: User) -> TestSet:
    return imported(by, "Whole")


def imported(by: User, name: str) -> TestSet:
    lines = [{**sentence(f"s{at}"), "relations": ["born_in"] * (at % 2)} for at in range(6)]
    batch = import_lines(None, lines, what="gold", by=by, name=name, version="1")
    return TestSet.objects.get(batch=batch)


@contextmanager
def damaged(test_set: TestSet, by: str = "born_on") -> Iterator[None]:
    """Other characters in a frozen line, until the operator restores it."""
    with connection.cursor() as cursor:
        cursor.execute("DROP TRIGGER frozen_lines_stay")
    row = TestSetRow.objects.filter(test_set=test_set, number=2)
    line = row.get().line
    row.update(line=line.replace("born_in", by))
    yield
    row.update(line=line)


def split(whole: TestSet, by: User) -> Callable[[], object]:
    part = making.make(whole, Plan.of(parts="dev=0.5,test=0.5", seed="split-1"), by=by)[0]
    return lambda: run_job(making.KIND, part.pk)


def mapped(whole: TestSet, by: User) -> Callable[[], object]:
    test_set = mapping.make(
        MappingPlan.of(whole, names={"born_in": "birthplace"}, by=by), name="Mapped", version="1", by=by
    )
    return lambda: run_job(mapping.KIND, test_set.pk)


def described(whole: TestSet, by: User) -> Callable[[], object]:
    return lambda: run_job("describe", whole.pk)


def compared(whole: TestSet, by: User) -> Callable[[], object]:
    companion = companions.put_beside(whole, imported(by, "Train"), Companion.Role.TRAINING, by=by)
    return lambda: run_job(companions.KIND, companion.pk)


@pytest.mark.parametrize("damage", ["born_on", '"'])  # another label; no JSON any more
@pytest.mark.parametrize("make", [split, mapped, described, compared])
def test_a_job_on_damaged_gold_waits_until_it_is_restored(
    whole: TestSet, by: User, make: Callable[[TestSet, User], Callable[[], object]], damage: str
) -> None:
    run = make(whole, by)
    with damaged(whole, damage):
        run()
        job = Job.objects.exclude(state__in=("done",)).exclude(attempt=0).get()
        assert job.state == "queued"
        assert job.events.filter(what="retried", detail__contains="was changed after it was frozen").exists()
    Job.objects.update(run_after=job.created_at)
    run()
    assert Job.objects.get(pk=job.pk).state == "done"
    for made in TestSet.objects.frozen():
        assert {name for row in read_rows(made) for name in row["relations"]} <= {"born_in", "birthplace"}


def test_damaged_gold_is_not_exported(whole: TestSet) -> None:
    with damaged(whole), pytest.raises(GoldChanged):
        conversion.export(whole, "jsonl-items")
