"""Rows inserted many at once, on both databases."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.db import OperationalError, connection
from django.forms.models import model_to_dict
from django.test.utils import CaptureQueriesContext
from psycopg.errors import DeadlockDetected

from annotation.models import Annotator, Batch, Item, ItemCount, Project, Vote
from evalsvc.core import database
from evalsvc.core.database import atomic_again, in_batches, insert_many
from evalsvc.serving import gunicorn_settings
from tests.cast.projects import create_project


@pytest.mark.usefixtures("either_database")
def test_many_rows_are_inserted_as_one_by_one() -> None:
    project = create_project()
    batch = Batch.objects.create(project=project, what="items", by=project.created_by, size=1)
    values: dict[str, Any] = {
        "project": project, "batch": batch, "text": "a\\b\tc\nd, “é” 𝄞 \\N",
        "head": {"id": "Q\\1", "name": '"\t'}, "tokens": None, "repeats": [{"line": 1}],
    }  # fmt: skip
    rows = [
        Item(**values, external_id=f"s{number}", content_key=str(number), rank=number) for number in range(3)
    ]
    inserted = insert_many(rows)
    one = Item.objects.create(**values, external_id="one", content_key="one", rank=3)
    stored = list(Item.objects.order_by("pk"))
    assert stored == [*inserted, one]
    own = {"id", "external_id", "content_key", "rank", "key"}
    kept = [{key: value for key, value in model_to_dict(row).items() if key not in own} for row in stored]
    assert kept[0] == kept[3]
    assert [row.external_id for row in stored] == ["s0", "s1", "s2", "one"]
    assert ItemCount.objects.filter(batch=batch).total() == 4
    ann = Annotator.objects.create(project=project, name="ann")
    votes = insert_many([Vote(item=one, annotator=ann, client_id=uuid4(), number=1, act="skip")])
    assert Vote.objects.get(pk=votes[0].pk).at is not None
    assert insert_many([]) == []


@pytest.mark.django_db
def test_fields_are_read_in_order_and_by_key_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "ROWS_PER_READ", 2)
    project = create_project()
    batch = Batch.objects.create(project=project, what="items", by=project.created_by, size=1)
    names = ["s0", "s1", "s2"]
    insert_many(
        [
            Item(project=project, batch=batch, text=n, external_id=n, content_key=n, rank=9 - at)
            for at, n in enumerate(names)
        ]
    )
    rows = Item.objects.filter(project=project, batch__what="items").order_by("rank")
    with CaptureQueriesContext(connection) as queries:
        assert list(in_batches(rows, "text", "batch__what")) == [(n, "items") for n in reversed(names)]
    _, *reads = [query["sql"] for query in queries]
    assert len(reads) == 2
    assert not any("project_id" in read for read in reads)  # its conditions would read the join each time


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("deadlocks", "runs"), [(1, 2), (9, 3)])
def test_a_transaction_that_ended_as_a_deadlock_runs_again(deadlocks: int, runs: int) -> None:
    tries: list[str] = []

    @atomic_again
    def change(slug: str) -> None:
        tries.append(slug)
        create_project()
        if len(tries) <= deadlocks:
            raise OperationalError("deadlock detected") from DeadlockDetected()

    with nullcontext() if runs > deadlocks else pytest.raises(OperationalError):
        change("trial")
    assert tries == ["trial"] * runs
    assert Project.objects.count() == (runs > deadlocks)


READ_ON_A_FULL_DISK = """
import resource, sqlite3, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
print(sqlite3.connect(sys.argv[1]).execute("SELECT word FROM note").fetchone()[0])
"""


def test_an_sqlite_file_held_open_can_be_read_on_a_full_disk(tmp_path: Path) -> None:
    path = str(tmp_path / "full.sqlite3")
    with closing(sqlite3.connect(path)) as writer:
        writer.executescript(
            "PRAGMA journal_mode=WAL; CREATE TABLE note (word); INSERT INTO note VALUES ('oak')"
        )
    with closing(database.held_open(path)):
        read = [sys.executable, "-c", READ_ON_A_FULL_DISK, path]
        assert subprocess.run(read, capture_output=True, text=True).stdout == "oak\n"
    assert b"disk I/O error" in subprocess.run(read, capture_output=True).stderr  # what it is for


def test_the_web_server_starts_where_the_database_cannot_be_opened(
    tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a disk that is full already: requests say so, and gunicorn ends if no process starts."""
    monkeypatch.setitem(settings.DATABASES["default"], "ENGINE", "django.db.backends.sqlite3")
    monkeypatch.setitem(settings.DATABASES["default"], "NAME", tmp_path / "none" / "db.sqlite3")
    monkeypatch.setattr(settings, "CELERY_BROKER_TRANSPORT_OPTIONS", {})
    gunicorn_settings.post_worker_init(None)
