"""A new gold for many runs: a killed worker only delays it, and no reader ever sees a mix of two golds."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.db.models.functions import Now
from django.test import Client

from evalsvc.core.jobs.models import Job
from evalsvc.evaluation.benchmarks import contributed, creation
from evalsvc.evaluation.models import Benchmark, ContributedMeasure, Evaluation, Score, Submission
from tests.cast.benchmarks import LABELS, RELATION_GOLD, BenchmarkCast, freeze, gold_sentence
from tests.conftest import StartWorker
from workers.runner import run_next

RUNS, SYSTEMS, LONGEST = 15, 5, 240
QUICK = {"JOB_LEASE_SECONDS": "2", "JOB_HEARTBEAT_SECONDS": "1", "JOB_RECONCILE_SECONDS": "1"}


def submit(cast: BenchmarkCast, number: int, benchmark: Any) -> Submission:
    """Send a run with answers of its own."""
    labels = ["N/A", *LABELS]
    lines = [
        {"id": line["id"], "label": labels[number // 4**at % 4]} for at, line in enumerate(RELATION_GOLD)
    ]
    return cast.submit(benchmark, lines, system=f"Net {number % SYSTEMS}", run=str(number // SYSTEMS))


def prepared() -> tuple[BenchmarkCast, Benchmark]:
    """A benchmark with scored runs."""
    cast = BenchmarkCast.create()
    benchmark = cast.relations()
    for number in range(RUNS):
        submit(cast, number, benchmark)
    while run_next("score"):
        pass
    return cast, benchmark


@contextmanager
def third_put_off() -> Iterator[None]:
    """Keep a third of the jobs from the worker, which may be much quicker than who watches it."""
    last = [*Job.objects.filter(state="queued").order_by("-pk")[: RUNS // 3]]
    assert len(last) == RUNS // 3
    jobs = Job.objects.filter(pk__in=[job.pk for job in last])
    jobs.update(run_after=Now() + timedelta(hours=1))
    yield
    jobs.update(run_after=Now())


@pytest.mark.worker
def test_a_new_gold_replaces_all_figures_at_once_though_a_worker_is_killed_half_way(
    sqlite: None, worker: StartWorker, client: Client
) -> None:
    cast, benchmark = prepared()
    seen: list[tuple[int, Any]] = []

    def read_until(condition: Callable[[int], bool], details: Callable[[], str]) -> int:
        """Read the board all the time, noting each change; return how many runs have the new score."""
        end = time.monotonic() + LONGEST
        while True:
            body = client.get("/boards/rel/board.json").json()
            figures = [{name: row[name] for name in row.keys() - {"band"}} for row in body["rows"]]
            state = body["version"], figures  # bands follow when the tests are computed
            if not seen or state != seen[-1]:
                seen.append(state)
            scored = body["rescoring"]["scored"] if body["rescoring"] else RUNS
            if condition(scored):
                return int(scored)
            assert time.monotonic() < end, details()[-6000:]

    read_until(bool, str)
    mended = [
        gold_sentence(line["id"], line["h"]["id"], line["t"]["id"], "born_in") for line in RELATION_GOLD
    ]
    setting = benchmark.settings.get()
    creation.revise_setting(setting, test_set=freeze("mended", mended, by=cast.olga), by=cast.olga)
    with third_put_off():
        victim = worker(**QUICK)
        killed_at = read_until(lambda scored: scored >= RUNS // 2, victim.log_text)
        victim.kill()
    assert killed_at < RUNS
    assert [version for version, _ in seen] == [1]
    rescuer = worker(**QUICK)
    read_until(lambda scored: scored == RUNS, rescuer.log_text)
    assert [version for version, _ in seen] == [1, 2]
    before, after = ({row["system"]: row["n"] for row in rows} for _, rows in seen)
    assert before == after
    assert set(before.values()) == {RUNS // SYSTEMS}
    assert Evaluation.objects.filter(setting=setting).count() == 2 * RUNS
    out = StringIO()
    call_command("verify_scores", "rel", stdout=out)
    assert f"of {2 * RUNS} evaluations recomputed: equal bit for bit" in out.getvalue()


@pytest.mark.worker
def test_a_measure_joins_the_board_once_every_run_has_it_though_a_process_is_killed_half_way(
    sqlite: None, worker: StartWorker, client: Client
) -> None:
    cast, benchmark = prepared()
    composition = {"base": "classification", "beta": 2}
    measure = contributed.propose(benchmark, name="f2", title="F2", composition=composition, by=cast.kim)
    contributed.decide(measure, admit=True, by=cast.olga)

    def read_until(least: int, details: Callable[[], str]) -> int:
        """Read board and progress until so many runs have the measure; no board has it before all do."""
        end = time.monotonic() + LONGEST
        while True:
            shown = measure.key in client.get("/boards/rel/board.json").json()["titles"]
            progress = contributed.progress(benchmark, [measure])[measure.pk]
            scored, total = progress.scored, progress.total
            assert total == RUNS
            assert not shown or scored == RUNS
            if scored >= least and (shown or least < RUNS):
                return scored
            assert time.monotonic() < end, details()[-6000:]

    with third_put_off():
        started = worker(**QUICK)
        killed_at = read_until(RUNS // 2, started.log_text)
        process = int(Job.objects.exclude(worker="").latest("started_at").worker.split(":")[1])
        os.kill(process, signal.SIGKILL)
    assert killed_at < RUNS
    assert not ContributedMeasure.objects.get().complete
    read_until(RUNS, started.log_text)
    assert Score.objects.filter(measure=measure.key).count() == RUNS
