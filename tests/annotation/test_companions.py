"""Training and validation data beside a test set."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from annotation.releases.card_text import readme
from annotation.releases.composition import Composition
from annotation.splits import companions
from annotation.splits.companions import MOST_COMPANIONS, put_beside, sets_table
from annotation.testset import Companion, TestSet
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import Conflict, DomainError, NotAllowed
from evalsvc.core.web.tables import records
from evalsvc.evaluation.benchmarks import rules
from tests.cast.basics import person, run_job, sentence
from tests.cast.projects import import_lines
from tests.cast.service import ServiceCast


def imported(by: User, name: str, *labels: list[str], first: int = 0, **options: str) -> TestSet:
    lines = [{**sentence(f"s{first + at}"), "relations": names} for at, names in enumerate(labels)]
    import_lines(None, lines, what="gold", by=by, **{"name": name, "version": "1"} | options)
    test_set = TestSet.objects.latest("pk")
    run_job("describe", test_set.pk)
    return test_set


@pytest.fixture
def by(db: None) -> User:
    return person("olga", may_organise=True)


@pytest.fixture
def test(by: User) -> TestSet:
    return imported(by, "Test", ["A"], ["B"], [], first=2)


@pytest.fixture
def train(by: User) -> TestSet:
    return imported(by, "Training", ["A"], ["A", "C"], ["B"], [])


def beside(test: TestSet, train: TestSet, by: User, role: str = "training") -> Companion:
    companion = put_beside(test, train, role, by=by)
    run_job(companions.KIND, companion.pk)
    companion.refresh_from_db()
    return companion


def test_a_job_counts_what_training_data_share_with_the_test_set(
    test: TestSet, train: TestSet, by: User
) -> None:
    companion = beside(test, train, by)
    rows = companions.shared_rows(companion)
    shared = {row.key: (row.train, row.test, row.shared, row.test_items) for row in rows}
    assert shared["sentences"] == (4, 3, 2, 2)  # s2 and s3
    assert shared["facts"] == (3, 2, 2, 2)
    assert put_beside(test, train, "validation", by=by).pk == companion.pk
    assert test.companions.get().role == "validation"


def test_the_table_has_a_row_for_each_set_with_its_statistics(
    test: TestSet, train: TestSet, by: User
) -> None:
    beside(test, train, by)
    imported(by, "Test", ["A"], ["A"], ["A"], first=2, source_of=test.slug)
    rows = list(records(sets_table(test, without=())))
    assert [row["part"] for row in rows] == ["Training", "Test", "Test, source labels"]
    figures = ("relations", "facts", "pairs", "sentences", "bag_size", "na_share")
    assert [rows[0][key] for key in figures] == [3, 3, 1, 4, 4.0, 0.25]
    assert [rows[2][key] for key in figures] == [1, 1, 1, 3, 3.0, 0.0]
    assert "| Training | Training 1 | training-1 | 3 | 3 | 1 | 4 |" in readme(
        Composition(test), with_gold=True, files=[]
    )


def test_what_cannot_stand_beside_a_set_is_refused_with_the_reason(
    test: TestSet, train: TestSet, by: User
) -> None:
    with pytest.raises(Conflict, match="is the test set itself"):
        put_beside(test, test, "training", by=by)
    with pytest.raises(DomainError, match="Unknown role"):
        put_beside(test, train, "dev", by=by)
    with pytest.raises(NotAllowed):
        put_beside(test, train, "training", by=person("other", may_organise=True))
    cast = ServiceCast.create()
    with pytest.raises(NotAllowed):
        put_beside(test, cast.test_set, "training", by=by)
    spans = {"id": "d", "text": "Ann", "spans": [[0, 3, "PER"]]}
    import_lines(None, [spans], what="gold", by=by, name="Spans", version="1", kind="entities")
    with pytest.raises(Conflict, match="of the kind entities"):
        put_beside(test, TestSet.objects.latest("pk"), "training", by=by)
    for n in range(MOST_COMPANIONS):
        data = TestSet.objects.create(slug=f"t{n}", name=f"t{n}", version="1", kind="relations", by=by)
        Companion.objects.create(test_set=test, data=data, role="training", by=by)
    with pytest.raises(Conflict, match="At most 10"):
        put_beside(test, train, "training", by=by)


def test_a_companion_removed_before_its_job_leaves_nothing_to_do(
    test: TestSet, train: TestSet, by: User
) -> None:
    companion = put_beside(test, train, "training", by=by)
    companions.remove(test, train, by=by)
    assert run_job(companions.KIND, companion.pk).state == "done"
    assert not Companion.objects.exists()


def test_data_are_put_beside_a_set_on_its_page_and_taken_away(
    client: Client, test: TestSet, train: TestSet, by: User
) -> None:
    client.force_login(by)
    url = reverse("test-set-companions", args=[test.slug])
    assert client.post(url, {"other": train.slug, "role": "training"}).status_code == 302
    assert "is being counted" in client.get(url).content.decode()
    run_job(companions.KIND, test.companions.get().pk)
    page = client.get(url).content.decode()
    assert "66.7" in page  # 2 of 3 sentences
    assert "Training 1, training" in client.get(reverse("test-set", args=[test.slug])).content.decode()
    latex = client.get(reverse("test-set-sets-file", args=[test.slug, "tex"])).content.decode()
    assert r"Training & Training 1" in latex
    assert client.get(reverse("test-set-sets-file", args=[test.slug, "xls"])).status_code == 404
    assert client.post(url, {"remove": train.slug}).status_code == 302
    assert not test.companions.exists()


def test_the_api_puts_data_beside_a_set(client: Client, test: TestSet, train: TestSet, by: User) -> None:
    client.force_login(by)
    url, json = f"/api/v1/test-sets/{test.slug}/data", "application/json"
    body = client.post(url, {"set": train.slug, "role": "training"}, content_type=json).json()
    assert [(each["slug"], each["shared"]) for each in body["companions"]] == [(train.slug, None)]
    run_job(companions.KIND, test.companions.get().pk)
    body = client.get(url).json()
    assert {row["key"]: row["shared"] for row in body["companions"][0]["shared"]}["sentences"] == 2
    assert [row["slug"] for row in body["sets"]] == [train.slug, test.slug]
    assert client.post(url, {"set": train.slug}, content_type=json).status_code == 400
    assert client.post(url, {"set": train.slug, "remove": True}, content_type=json).json()["companions"] == []


@pytest.mark.django_db
def test_a_board_takes_its_training_counts_from_a_training_set(client: Client) -> None:
    cast = ServiceCast.create()
    board, olga = cast.tides, cast["olga"]
    names = [label["name"] for label in board.labels]
    train = imported(olga, "Training", [names[0]], [names[0]], ["elsewhere"], first=100)
    test_set = board.settings.earliest("pk").test_set
    Companion.objects.create(test_set=test_set, data=train, role="training", by=olga)
    changed = rules.change(board, by=olga, training_set=train.slug)
    assert changed.training_counts == dict.fromkeys(names, 0) | {names[0]: 2}
    with pytest.raises(DomainError, match="has a training set"):
        rules.change(board, by=olga, training_set="another")
    client.force_login(olga)
    page = client.get(reverse("board-change", args=[board.slug])).content.decode()
    assert f'<option value="{train.slug}"' in page
