"""Requests at the same moment: what one of them forbids, the other does not do."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import product
from threading import Event, Thread
from typing import Any

import pytest
from django.db import connection, transaction
from django.http import Http404
from django.test.utils import CaptureQueriesContext

from annotation import projects
from annotation.adjudication import bulk_actions
from annotation.consensus import recomputation
from annotation.freezing import builder
from annotation.freezing.provenance import ProvenanceWriter
from annotation.models import Project
from annotation.queue.quality_settings import set_quality_options
from annotation.releases import publishing
from annotation.testset import TestSet, release
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import Conflict, NotAllowed
from evalsvc.evaluation import roles
from evalsvc.evaluation.benchmarks import creation
from tests.cast.basics import person, run_job
from tests.cast.benchmarks import RELATION_GOLD, BenchmarkCast, freeze
from tests.cast.projects import annotators, answer_item, curator, project_with_items

pytestmark = pytest.mark.django_db(transaction=True)


class Race:
    """A call in another thread that begins in a transaction, which ends once the call is past its check."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.monkeypatch, self.checked = monkeypatch, Event()

    def patch(self, owner: Any, name: str) -> None:
        check = getattr(owner, name)

        def noted(*args: Any, **kwargs: Any) -> Any:
            try:
                return check(*args, **kwargs)
            finally:
                self.checked.set()

        self.monkeypatch.setattr(owner, name, noted)

    def run(self, first: Callable[[], Any], second: Callable[[], Any]) -> type[BaseException] | None:
        """Return the error of the second call, which begins before the first is committed."""

        def closing() -> None:
            try:
                second()
            finally:
                connection.close()

        with ThreadPoolExecutor(1) as pool:
            with transaction.atomic():
                first()
                self.checked.clear()
                begun = pool.submit(closing)
                self.checked.wait(0.5)  # a call that waits for the transaction does not come to its check
            error = begun.exception(60)
        return error and type(error)


@pytest.fixture
def race(monkeypatch: pytest.MonkeyPatch) -> Race:
    return Race(monkeypatch)


@pytest.fixture
def project(either_database: str) -> Project:
    carla, otto = (person(name, may_organise=True) for name in ("carla", "otto"))
    project = projects.create(title="Carla", kind="relations", k=1, by=carla)
    projects.set_member(project, user=otto, role="curator", by=carla)
    return project


@pytest.fixture
def gold(project: Project) -> TestSet:
    fields = {"slug": "own", "version": "1", "state": "frozen", "project": project, "statistics": {}}
    return TestSet.objects.create(by=person("carla"), **fields)


def loses_role(project: Project, role: str) -> None:
    carla, otto = (User.objects.get(username=name) for name in ("carla", "otto"))
    if role:
        projects.set_member(project, user=otto, role=role, by=carla)
    else:
        projects.remove_member(project, user=otto, by=carla)


@pytest.mark.parametrize("role", ["annotator", ""])
def test_a_curator_who_is_removed_leaves_no_release_to_their_own_account(
    project: Project, gold: TestSet, race: Race, role: str
) -> None:
    """A script that went on sending it kept hidden gold in 6 of 6 removals."""
    otto = User.objects.get(username="otto")
    race.patch(TestSet, "require_reader")
    error = race.run(lambda: loses_role(project, role), lambda: release(gold, username="otto", by=otto))
    assert error is NotAllowed
    assert not TestSet.objects.usable_by(otto).exists()


@pytest.mark.parametrize("role", ["annotator", ""])
def test_a_curator_who_is_removed_publishes_nothing_for_their_own_account(
    project: Project, gold: TestSet, race: Race, role: str
) -> None:
    otto = User.objects.get(username="otto")
    race.patch(TestSet, "require_reader")
    fields = {"access": "named", "with_gold": True, "usernames": ["otto"], "by": otto}
    error = race.run(lambda: loses_role(project, role), lambda: publishing.publish(gold, **fields))
    assert error is NotAllowed
    assert not publishing.visible(otto).exists()


@pytest.mark.parametrize("role", ["annotator", ""])
def test_a_curator_who_is_removed_does_not_come_back_by_their_own_request(
    project: Project, race: Race, role: str
) -> None:
    otto = User.objects.get(username="otto")
    race.patch(projects, "require")
    come_back = {"user": otto, "role": "curator", "by": otto}
    error = race.run(lambda: loses_role(project, role), lambda: projects.set_member(project, **come_back))
    assert error is (NotAllowed if role else Http404)
    assert list(project.members.filter(user=otto).values_list("role", flat=True)) == [role] * bool(role)


def test_an_organiser_who_is_removed_does_not_come_back_by_their_own_request(
    either_database: str, race: Race
) -> None:
    cast = BenchmarkCast.create()
    benchmark = cast.relations()
    roles.set_person(benchmark, user=cast.kim, role="organiser", by=cast.olga)
    race.patch(roles, "require")
    come_back = {"user": cast.kim, "role": "organiser", "by": cast.kim}
    error = race.run(
        lambda: roles.remove_person(benchmark, user=cast.kim, by=cast.olga),
        lambda: roles.set_person(benchmark, **come_back),
    )
    assert error is NotAllowed
    assert not benchmark.people.filter(user=cast.kim).exists()


@pytest.mark.parametrize("way", ["add", "revise", "change"])
@pytest.mark.parametrize("published_first", [True, False])
def test_gold_is_not_published_and_hidden_at_the_same_moment(
    either_database: str, race: Race, published_first: bool, way: str
) -> None:
    """Nor with a set that has lines of it."""
    cast = BenchmarkCast.create()
    whole = freeze("whole", RELATION_GOLD, by=cast.olga)
    TestSet.objects.filter(pk=whole.pk).update(statistics={})
    whole.refresh_from_db()
    part = freeze("part", RELATION_GOLD[:2], by=cast.olga, split={"of": "whole", "part": "a"})
    benchmark = cast.benchmark("rel")
    fields = {"title": "Main", "unit": "sentence", "main": "accuracy", "by": cast.olga, "phase": "test"}
    other = freeze("other", RELATION_GOLD[1:], by=cast.olga)
    setting = (
        creation.add_setting(
            benchmark,
            key="main",
            test_set=other if way == "revise" else part,
            disclosure="open" if way == "change" else "hidden",
            **fields,
        )
        if way != "add"
        else None
    )

    def publish() -> None:
        publishing.publish(whole, access="anybody", with_gold=True, by=cast.olga)

    def hide() -> None:
        if setting is None:
            creation.add_setting(benchmark, key="main", test_set=part, **fields)
        elif way == "revise":
            creation.revise_setting(setting, test_set=part, by=cast.olga)
        else:
            creation.change_setting(setting, disclosure="hidden", by=cast.olga)

    race.patch(creation, "require_unpublished")
    race.patch(publishing, "_require_no_hidden_gold")
    assert race.run(*((publish, hide) if published_first else (hide, publish))) is Conflict


def test_a_change_of_quality_settings_locks_items_once_in_order_and_annotators_after_them(
    either_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An exclusion of answers does so: another order ended one of the two as a deadlock."""
    monkeypatch.setattr(recomputation, "CHUNK", 2)
    project = project_with_items(3)
    with CaptureQueriesContext(connection) as queries:
        set_quality_options(project, by=curator(), check_every=4, calls_extra=True, most_extra=1)
    statements = [query["sql"] for query in queries]
    (items,) = (at for at, sql in enumerate(statements) if 'ORDER BY "annotation_item"."id"' in sql)
    (annotators,) = (
        at for at, sql in enumerate(statements) if sql.startswith('UPDATE "annotation_annotator"')
    )
    assert items < annotators


def test_a_freeze_reads_each_sentence_with_the_decision_of_that_moment(
    either_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sentence that was excluded meanwhile stood as settled, with the exclusion as its decision."""
    project = project_with_items(2, k=1)
    for item, user in product(project.items.all(), annotators(project, 1)):
        answer_item(item, user, "A")
    excluding = Thread(target=partial(exclude_all, project), daemon=True)
    described = ProvenanceWriter.of

    def once_excluded(*args: Any) -> Any:
        if excluding.ident is None:
            excluding.start()
            excluding.join(1)  # SQLite lets it write once the freeze has read
        return described(*args)

    monkeypatch.setattr(ProvenanceWriter, "of", once_excluded)
    made = builder.freeze(project, name="Trial", version="1.0", leave_out=True, by=curator())
    run_job("freeze", made.pk)
    excluding.join()
    made.refresh_from_db()
    assert {item.state for item in project.items.all()} == {"unusable"}
    assert made.manifest["left_out"] == {}
    assert made.manifest["decisions"] == []
    lines = [json.loads(row) for row in made.lines.values_list("provenance", flat=True)]
    assert [(line["state"], line.get("decision")) for line in lines] == [("settled", None)] * 2


def exclude_all(project: Project) -> None:
    try:
        keys = [item.key for item in project.items.all()]
        with transaction.atomic():
            bulk_actions.apply(project, keys, "exclude", by=curator(), finding="broken", reason="")
    finally:
        connection.close()
