"""What a check without submitting may cost, and labels of a benchmark."""

from __future__ import annotations

import json
import tracemalloc
from contextlib import ExitStack
from typing import Any

import pytest
from django.test import Client

from annotation.ontology import inventory
from evalsvc.core.errors.exceptions import QuotaExceeded, TooLarge
from evalsvc.core.formats import problems
from evalsvc.core.formats.label_list import MAX_LABELS, read_labels
from evalsvc.core.formats.problems import FileRejected, Problems
from evalsvc.core.web import places
from evalsvc.evaluation.benchmarks import creation
from evalsvc.evaluation.submissions import intake
from evalsvc.evaluation.submissions.thread_limits import CheckLimits
from tests.cast.basics import jsonl
from tests.cast.benchmarks import BenchmarkCast
from tests.cast.projects import create_project, curator
from tests.workers.handlers.test_score import LABEL_LINES

MEGABYTES = 1.2  # 5,000 ids alone are more


def test_a_person_checks_one_file_at_a_time() -> None:
    limits = CheckLimits()
    with limits.one(1):
        with pytest.raises(QuotaExceeded, match="Another file of yours"), limits.one(1):
            pass
        with limits.one(2):
            pass
    with limits.one(1):
        pass


def test_checks_leave_half_of_the_threads_to_others(settings: Any) -> None:
    settings.WEB_THREADS = 2
    limits = CheckLimits()
    with limits.one(1), pytest.raises(QuotaExceeded, match="Other files"), limits.one(2):
        pass


def test_half_of_the_threads_read_files_and_others_are_told_to_wait(
    cast: BenchmarkCast, monkeypatch: pytest.MonkeyPatch
) -> None:
    benchmark = cast.relations()
    monkeypatch.setattr(places, "WAIT_SECONDS", 0.01)
    with ExitStack() as readers:
        for _ in range(2):
            readers.enter_context(places.reading())
        with pytest.raises(QuotaExceeded, match="Other files") as error:
            cast.submit(benchmark, LABEL_LINES)
        assert error.value.retry_after == 5
    assert cast.submit(benchmark, LABEL_LINES).pk


def test_a_file_that_costs_too_much_computing_time_is_rejected(cast: BenchmarkCast, settings: Any) -> None:
    benchmark = cast.relations()
    settings.CHECK_SECONDS = 0
    checked = intake.check(benchmark, [jsonl([{"id": "s1", "label": "NA"}])])
    assert checked.problems.by_code == {"too_slow": 1}


def test_checks_of_an_hour_are_limited_per_person(settings: Any) -> None:
    settings.CHECKS_PER_HOUR = 2
    limits = CheckLimits()
    for person in (1, 2, 1, 2):
        with limits.one(person):
            pass
    with pytest.raises(QuotaExceeded, match="2 files in an hour") as error, limits.one(1):
        pass
    assert 0 < error.value.retry_after <= 3_601


def test_a_limited_check_is_answered_with_429_by_api_and_page(
    cast: BenchmarkCast, client: Client, settings: Any
) -> None:
    settings.CHECKS_PER_HOUR = 1
    client.force_login(cast.kim)
    cast.relations()
    file = jsonl([{"id": "s1", "label": "born_in"}])
    sent = [client.post("/api/v1/benchmarks/rel/check", file, "application/octet-stream") for _ in range(2)]
    assert sent[-1].status_code == 429
    assert sent[-1].json()["code"] == "too_many_checks"
    assert int(sent[-1]["Retry-After"]) > 0


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
