"""What a check without submitting may cost, and labels of a benchmark."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from annotation.ontology import inventory
from evalsvc.core.errors.exceptions import QuotaExceeded, TooLarge
from evalsvc.core.formats import problems
from evalsvc.core.formats.label_list import MAX_LABELS, read_labels
from evalsvc.core.formats.problems import FileRejected, Problems
from evalsvc.core.web import places
from evalsvc.evaluation.benchmarks import creation
from evalsvc.evaluation.submissions import intake
from tests.cast.basics import jsonl
from tests.cast.benchmarks import BenchmarkCast
from tests.cast.projects import create_project, curator
from tests.workers.handlers.test_score import LABEL_LINES

MEGABYTES = 1.2  # 5,000 ids alone are more


@pytest.mark.parametrize(
    ("address", "field"), [("/api/v1/benchmarks/rel/check", "file"), ("/check-a-copy/", "copies")]
)
def test_a_person_checks_one_file_at_a_time(
    cast: BenchmarkCast, client: Client, monkeypatch: pytest.MonkeyPatch, address: str, field: str
) -> None:
    cast.relations()
    client.force_login(cast.kim)

    def check() -> int:
        file = SimpleUploadedFile("f.jsonl", jsonl([{"id": "s1", "label": "born_in"}]))
        return client.post(address, {field: file}).status_code

    monkeypatch.setattr(places.files, "holders", [cast.kim.pk])
    assert check() == 429
    monkeypatch.setattr(places.files, "holders", [cast.olga.pk])
    assert check() == 200


def test_of_one_person_one_file_is_read_so_that_others_find_a_place(
    cast: BenchmarkCast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two slow files, or one and a long poll, kept everybody from submitting."""
    benchmark = cast.relations()
    monkeypatch.setattr(places.files, "holders", [cast.lars.pk])
    monkeypatch.setattr(places.polls, "holders", [object()])
    with pytest.raises(QuotaExceeded, match="Another file of yours"):
        cast.submit(benchmark, LABEL_LINES, team=cast.lugworm, by=cast.lars)
    assert cast.submit(benchmark, LABEL_LINES).pk


def test_half_of_the_threads_read_files_and_others_are_told_to_wait(
    cast: BenchmarkCast, monkeypatch: pytest.MonkeyPatch
) -> None:
    benchmark = cast.relations()
    with monkeypatch.context() as others_read:
        others_read.setattr(places.files, "holders", [1, 2])
        with pytest.raises(QuotaExceeded, match="files of others") as error:
            cast.submit(benchmark, LABEL_LINES)
        assert error.value.retry_after == 5
    assert cast.submit(benchmark, LABEL_LINES).pk


def test_a_file_that_costs_too_much_computing_time_is_rejected(cast: BenchmarkCast, settings: Any) -> None:
    benchmark = cast.relations()
    settings.CHECK_SECONDS = 0
    checked = intake.check(benchmark, [jsonl([{"id": "s1", "label": "NA"}])])
    assert checked.problems.by_code == {"too_slow": 1}


def test_checks_of_an_hour_are_limited_per_person(cast: BenchmarkCast, client: Client, settings: Any) -> None:
    settings.CHECKS_PER_HOUR = 2
    cast.relations()
    file = jsonl([{"id": "s1", "label": "born_in"}])
    for person in (cast.kim, cast.olga):
        client.force_login(person)
        client.post("/check-a-copy/", {"copies": SimpleUploadedFile("f.jsonl", file)})
        sent = [
            client.post("/api/v1/benchmarks/rel/check", file, "application/octet-stream") for _ in range(2)
        ]
        assert [each.status_code for each in sent] == [200, 429]
    assert sent[-1].json()["code"] == "too_many_checks"
    assert 0 < int(sent[-1]["Retry-After"]) <= 3_601


def test_unknown_ids_take_no_memory(cast: BenchmarkCast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(problems, "MAX_PROBLEMS", 5_000)
    benchmark = cast.relations()
    lines = (f'{{"id":"{"a" * 60}{n:08}","label":"N/A"}}\n'.encode() for n in range(6_000))
    tracemalloc.start()
    try:
        checked = intake.check(benchmark, lines)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert checked.problems.by_code["unknown_id"] == problems.MAX_PROBLEMS
    assert "Reading stopped there." in checked.problems.summary()
    assert peak < MEGABYTES * 1_000_000


def test_a_benchmark_has_at_most_two_thousand_labels(cast: BenchmarkCast, client: Client) -> None:
    names = [f"l{n}" for n in range(MAX_LABELS + 1)]
    with pytest.raises(TooLarge, match="2,000 labels"):
        creation.create(title="T", slug="t", task="relations", labels=names, by=cast.olga)
    client.force_login(cast.olga)
    body = {"slug": "t", "title": "T", "task": "relations", "labels": [{"name": name} for name in names]}
    answer = client.post("/api/v1/benchmarks", json.dumps(body), "application/json")
    assert (answer.status_code, answer.json()["code"]) == (413, "too_many_labels")


@pytest.mark.django_db
def test_a_project_has_at_most_two_thousand_labels() -> None:
    project = create_project()
    with pytest.raises(TooLarge, match="2,000 labels"):
        inventory.add_labels(project, [f"l{n}" for n in range(MAX_LABELS)], by=curator())


def test_a_list_of_labels_has_at_most_two_thousand() -> None:
    lines = "".join(f"l{n}\n" for n in range(MAX_LABELS + 1)).encode()
    with pytest.raises(FileRejected) as error:
        read_labels([lines], problems=Problems())
    assert error.value.problems.by_code == {"too_many_labels": 1}
