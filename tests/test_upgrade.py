"""A database of the build before version 0.1.0 opens in this one, with the same sets and figures.

`upgrade/database.sql.gz` was dumped there from the whole cast: two projects with votes, a decided dispute and
a frozen test set, three benchmarks, two teams with tokens, two scored submissions and a queued one.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import shutil
import sqlite3
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db.models import F
from django.test import Client
from django.urls import reverse

from annotation.models import Item, Vote
from annotation.testset import TestSet
from evalsvc.core.accounts.models import User
from evalsvc.evaluation.models import Evaluation, EvaluationClaims, Score, Submission
from tests.cast.basics import run_job
from tests.cast.service import predicted_scores
from tests.places.postgres import default_is

UPGRADE = Path(__file__).parent / "upgrade"
DUMP = UPGRADE / "database.sql.gz"
TOKEN = "evs__16l8UTketTMc6DbtTxSD_rsy7U7ZT6LoQhB0fEzAoE"
TEST_SETS = {
    "harbour-1-0": "39828528f3a95ef3ab2c44facc064bd36b0c3fa0c51ec9e585ba36ededbc9de8",
    "harbour-1-0-source": "e9f6a78be1fe40622607fc5e8dcec378dd9763d1dcfe329a01d229463f5a7428",
    "tides-1-0": "0d3bfae038a10081a2d8d7af4f27242becc2e075c501e85ef101070a75adb55c",
    "shoals-1-0": "e885670eee1e52fd9c0f3e25fa8c1a05206d9385fce6bd9b5e78eb7e7b576cab",
}


@pytest.fixture(scope="module")
def migrated(django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of the dumped database, migrated once."""
    path = tmp_path_factory.mktemp("upgrade") / "evalsvc.sqlite3"
    connection = sqlite3.connect(path)
    connection.executescript(gzip.decompress(DUMP.read_bytes()).decode())
    connection.close()
    with django_db_blocker.unblock(), default_is({"NAME": str(path)}):
        call_command("migrate", interactive=False, verbosity=0)
    return path


@pytest.fixture
def upgraded(migrated: Path, django_db_blocker: Any, tmp_path: Path, settings: Any) -> Iterator[None]:
    """A copy of the migrated database."""
    settings.MEDIA_ROOT = tmp_path / "files"
    (settings.MEDIA_ROOT / "predictions").mkdir(parents=True)  # its files were not dumped
    path = shutil.copy(migrated, tmp_path)
    with django_db_blocker.unblock(), default_is({"NAME": path}):
        yield


def test_migrations_that_may_have_been_applied_are_as_they_were() -> None:
    """The service does not start where one differs from that applied to its data, be it by a word.

    New ones are added to the list with `sha256sum`.
    """
    root = UPGRADE.parent.parent
    listed = (UPGRADE / "migrations.sha256").read_text().splitlines()
    paths = [
        path for folder in ("annotation", "evalsvc") for path in (root / folder).rglob("migrations/0*.py")
    ]
    found = {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(paths)
    }
    assert [f"{digest}  {path}" for path, digest in found.items()] == listed


def figures(submission: Submission) -> dict[tuple[str, str], float | None]:
    scores = Score.objects.filter(evaluation__submissions=submission)
    rows = scores.values_list("evaluation__setting__key", "measure", "value")
    return {(key, measure): value for key, measure, value in rows}


def test_every_row_of_the_old_database_is_kept(upgraded: None) -> None:
    states = Item.objects.filter(project__slug="harbour").values_list("external_id", "state").order_by("rank")
    assert dict(states) == {"s1": "settled", "s2": "adjudicated", "s3": "disputed"} | {
        f"s{n}": "open" for n in range(4, 9)
    }
    assert Vote.objects.count() == 6
    assert not User.objects.exclude(folded_username=F("username")).exists()
    assert set(Submission.objects.values_list("run", "state")) == {("1", "scored"), ("2", "queued")}


@pytest.mark.parametrize("slug", TEST_SETS)
def test_a_frozen_set_exports_to_the_same_digest(upgraded: None, slug: str) -> None:
    out = io.StringIO()
    call_command("export", slug, stdout=out)
    assert hashlib.sha256(out.getvalue().encode()).hexdigest() == TEST_SETS[slug]
    assert TestSet.objects.get(slug=slug).sha256 == TEST_SETS[slug]


def test_pages_and_api_answer(upgraded: None) -> None:
    browser = Client()
    browser.force_login(User.objects.get(username="root"))
    submission = Submission.objects.filter(state="scored").earliest("pk")
    for name, kwargs in (
        ("home", {}),
        ("project", {"slug": "harbour"}),
        ("progress", {"slug": "harbour"}),
        ("agreement", {"slug": "harbour"}),
        ("disputes", {"slug": "harbour"}),
        ("test-set", {"slug": "harbour-1-0"}),
        ("board", {"slug": "tides"}),
        ("setting", {"slug": "tides", "key": "main"}),
        ("submission", {"pk": submission.pk}),
    ):
        assert browser.get(reverse(name, kwargs=kwargs)).status_code == 200, name
    reply = Client().get(f"/api/v1/submissions/{submission.pk}", headers={"Authorization": f"Bearer {TOKEN}"})
    assert (reply.status_code, reply.json()["state"]) == (200, "scored")


def test_a_file_submitted_again_scores_the_same(upgraded: None) -> None:
    old = Submission.objects.filter(state="scored").earliest("pk")
    before = figures(old)
    assert len(before) > 20
    Evaluation.objects.all().delete()  # so that nothing is reused
    reply = Client().post(
        "/api/v1/benchmarks/tides/submissions?system=Again&run=1",
        predicted_scores(0.9),
        "application/octet-stream",
        headers={"Authorization": f"Bearer {TOKEN}"},
    )
    assert reply.status_code == 202, reply.content
    new = Submission.objects.latest("pk")
    assert new.file_id == old.file_id
    run_job("score", new.pk)
    # measures that came since are new
    assert {key: value for key, value in figures(new).items() if key in before} == before


def test_unordered_claims_of_scores_are_forgotten(upgraded: None) -> None:
    """Earlier builds sorted them by code, and a ranking is read from the order now."""
    migration = import_module("evalsvc.evaluation.migrations.0010_claims_of_rankings")
    evaluation = Evaluation.objects.first()
    assert evaluation is not None
    kept = []
    for n, form in enumerate(("scores", "bag", "spans", "labels")):
        evaluation.pk, evaluation.options_sha256, evaluation.options = None, str(n), {"form": form}
        evaluation.save(force_insert=True)
        kept += [EvaluationClaims.objects.create(evaluation=evaluation, codes=b"12345678").pk]
    migration.forget_unordered(apps, None)
    assert list(EvaluationClaims.objects.order_by("pk").values_list("pk", flat=True)) == kept[2:]


@pytest.mark.parametrize(("app", "name"), [("annotation", "0001"), ("jobs", "zero"), ("evaluation", "0004")])
def test_a_downgrade_that_would_drop_data_is_rejected(upgraded: None, app: str, name: str) -> None:
    with pytest.raises(CommandError, match=r"would drop the (table|column) .*Nothing was changed"):
        call_command("migrate", app, name, interactive=False, verbosity=0)
    assert Score.objects.exists()
