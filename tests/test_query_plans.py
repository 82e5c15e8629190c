"""The queue, lists and exports find their rows by an index: a scan takes seconds at 1,000,000 items.

No page repeats a statement for each of its rows either.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings
from django.db import connection
from django.db.models.functions import Now
from django.test import Client
from django.urls import reverse

from annotation import candidates
from annotation.models import Answer, Item, Lease, Project, Vote
from annotation.queue import leases, votes
from annotation.reports import vote_log
from annotation.testset import TestSet, export_lines
from bench.pages import copies, filling, measuring
from evalsvc.core.accounts.models import User
from tests.places.extent import FULL

LARGE = {
    *("annotation_item", "annotation_vote", "annotation_answer", "annotation_lease", "annotation_testsetrow"),
    "annotation_lastanswer",
}
CHECKED = {
    *("sentences", "api-items", "disputes", "api-disputes", "otherwise", "comments", "mine", "submissions"),
    *("progress", "project-quality", "annotator", "api-benchmark", "sentences-csv"),
}
READS = re.compile(r"(?:SCAN|Seq Scan on) (?P<name>\w+)(?: USING (?:COVERING )?INDEX (?P<index>\w+))?")
PARTIAL = {
    index.name
    for model in (Item, Vote, Answer, Lease)
    for index in model._meta.indexes
    if index.condition is not None
}


MOST_REPEATS = 10  # projects on a page of the list of projects; the filled lists have more rows
MANY_KEYS = re.compile(r"IN \((%s, ){99}")  # of a small table they are nearly all
RUNNING = "one_running_lease_each"  # an index of the few leases that run


def scanned(
    action: Callable[[], object], explained: set[str], most_repeats: int = MOST_REPEATS
) -> Iterator[str]:
    """Yield statements that read a large table whole, with its name, and those repeated for each row.

    Statements already explained give the same plan.
    """
    plans: list[tuple[str, str]] = []
    times: Counter[str] = Counter()

    def explain(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        times[sql] += not sql.startswith("EXPLAIN")
        known = sql in explained or (many and not params)
        if not known and sql.lstrip().startswith(("SELECT", "UPDATE", "DELETE", "WITH")):
            explained.add(sql)
            way = "EXPLAIN QUERY PLAN" if connection.vendor == "sqlite" else "EXPLAIN"
            with connection.cursor() as cursor:
                cursor.execute(f"{way} {sql}", params[0] if many else params)
                plans.extend((sql, str(row[-1])) for row in cursor.fetchall())
        return execute(sql, params, many, context)

    with connection.execute_wrapper(explain):
        action()
    yield from (f"{n} times: {sql}" for sql, n in times.items() if n > most_repeats)
    for sql, step in plans:
        reads = READS.search(step)
        if reads and reads["index"] not in PARTIAL:
            name = reads["name"]
            alias_of = re.search(rf'"?(\w+)"?(?: AS)? "?{name}"?(?!\w)', sql)
            table = name if name in LARGE or alias_of is None else alias_of.group(1)
            if table in LARGE and RUNNING not in step and not MANY_KEYS.search(sql):
                yield f"{table}: {step}: {sql}"


def requested(page: measuring.Page) -> object:
    client = Client()
    if page.who:
        client.force_login(User.objects.get(username=page.who))
    return client.get(page.address)


FILTERED = ("label=A", "state=disputed", "pattern=1–1", "remark=flag", "use=corpus", "q=nowhere")


def more_pages() -> Iterator[measuring.Page]:
    """Lists with filters, and files of them."""
    of = {"slug": "huge"}
    for name in ("sentences", "sentences-csv", "api-items"):
        for query in FILTERED if name == "sentences" else FILTERED[:1]:
            yield measuring.Page(f"{name}?{query}", "curator", f"{reverse(name, kwargs=of)}?{query}")
    for query in ("label=A", "remark=flag", "decided=1"):
        yield measuring.Page(f"disputes?{query}", "curator", f"{reverse('disputes', kwargs=of)}?{query}")


def change_candidates(project: Project, chosen: candidates.Places, present: candidates.Places) -> None:
    """Make a choice, and put every sentence back."""
    for places in (chosen, present):
        candidates.move(project, places)
        candidates.of_project(project)


@pytest.mark.parametrize(
    ("either_database", "items"),
    [
        ("sqlite", 600),
        pytest.param("postgres", 600, marks=pytest.mark.postgres),
        pytest.param(
            "postgres", 100_000, marks=[pytest.mark.postgres, pytest.mark.skipif(not FULL, reason="large")]
        ),
    ],
    indirect=["either_database"],
)
def test_no_list_and_no_step_of_the_queue_reads_a_large_table_whole(
    either_database: str, items: int, tmp_path: Any
) -> None:
    settings.MEDIA_ROOT = tmp_path / "files"
    filling.fill(copies.size_of(items))
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
            # a small table is read whole though an index fits: what is left then has none
            cursor.execute(f"SET enable_seqscan = {'on' if items > 600 else 'off'}")
    project, user = Project.objects.get(slug="huge"), User.objects.get(username="ann")
    payload, curator = {"spans": [], "relations": []}, User.objects.get(username="curator")

    def label() -> None:
        lease = leases.lease_next(project, user)
        assert lease
        votes.answer(lease.item, user, client_id=uuid4(), payload=payload)

    def ask_with_nothing_left() -> None:
        project.annotators.filter(user=user).update(searched_at=Now(), none_since=Now())
        leases.lease_next(project, user)

    wanted = candidates.Wanted(order=["positive", "random", "ids"], random=2, seed="1", ids=["s1"])
    _, chosen = candidates.look(project, wanted)  # reads everything, in a job
    explained: set[str] = set()
    assert list(scanned(lambda: Vote.objects.filter(milliseconds=1).count(), explained))
    assert list(scanned(lambda: [Item.objects.filter(pk=pk).exists() for pk in range(20)], explained))
    found = [
        *scanned(label, explained),
        *scanned(ask_with_nothing_left, explained),
        *scanned(lambda: list(export_lines(TestSet.objects.earliest("pk"))), explained),
        *scanned(
            partial(change_candidates, project, chosen, candidates.Places.present(project)),
            explained,
            MOST_REPEATS + items // 400,  # by thousands
        ),
    ]
    if items == 600:  # of a large table, a whole one is what the whole log reads
        found += scanned(lambda: [*islice(vote_log.lines(project, by=curator), 2_000)], explained)
    for page in (*measuring.pages(), *more_pages()):
        checked = page.title.partition("?")[0] in CHECKED or (FULL and connection.vendor == "sqlite")
        if checked:
            found += [f"{page.title}: {line}" for line in scanned(partial(requested, page), explained)]
    connection.close()  # the temporary tables of the filling
    assert not found, "\n".join(found)
