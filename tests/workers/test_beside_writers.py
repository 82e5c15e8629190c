"""Long reads of a job beside writers: on SQLite an open read would block every later write."""

from __future__ import annotations

from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from django.db import connection, transaction

from annotation import projects, testset
from annotation.freezing import builder, writer
from annotation.testset import export_lines
from evalsvc.core import database
from evalsvc.core.accounts.models import User
from tests.cast.basics import sentence
from tests.cast.benchmarks import RELATION_GOLD, BenchmarkCast
from tests.cast.projects import answered_item, create_project, curator, import_lines
from workers.handlers import annotation, score
from workers.scoring.provenance import agreement_with


@pytest.fixture(autouse=True)
def small_pieces(
    either_database: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, settings: Any
) -> None:
    settings.MEDIA_ROOT = tmp_path / "files"
    for module, name, size in (
        (testset, "LINES_PER_READ", 2),
        (database, "ROWS_PER_READ", 2),
        (writer, "CHUNK", 1),
        (annotation, "STEP", 1),
    ):
        monkeypatch.setattr(module, name, size)


def write() -> None:
    User.objects.update(last_name="Written")


def both_write(*progress: Any) -> None:
    """Write in another thread, as another process would, then in this one."""

    def elsewhere() -> None:
        write()
        connection.close()

    other = Thread(target=elsewhere)
    other.start()
    other.join()
    write()


def test_all_gold_is_read_while_others_write() -> None:
    setting = BenchmarkCast.create().relations().settings.get()
    gold = score.load_gold(setting, tick=both_write)
    assert list(gold.index) == [each["id"] for each in RELATION_GOLD]


@pytest.fixture
def answered() -> Any:
    """Five sentences, two answers each."""
    project = create_project()
    import_lines(project, [sentence(f"s{at}", relations=["A"]) for at in range(5)])
    projects.open_for_work(project, by=curator())
    for at in range(5):
        answered_item(project, ["A"], ["A"], item=f"s{at}")
    return project


def test_a_test_set_and_its_source_set_are_frozen(answered: Any) -> None:
    made = builder.freeze(answered, name="Trial", version="1.0", by=curator())
    store = builder.build(made, both_write, agreement_with)
    with transaction.atomic():
        store()
    made.refresh_from_db()
    assert (made.state, made.rows, made.source_twin.rows) == ("frozen", 5, 5)
    assert len(list(export_lines(made))) == 5


def test_the_answers_of_a_project_are_read_for_its_agreement(answered: Any) -> None:
    answers = annotation.read_answers(answered, both_write)
    assert (len(answers.item), answers.n_items, len(answers.names)) == (10, 5, 2)
