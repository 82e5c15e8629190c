"""A real worker tries its sandbox when it starts, tells the web, and runs a model in it."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from evalsvc.evaluation.models import ModelHost, Submission
from evalsvc.evaluation.submissions import model_intake
from tests.cast.benchmarks import BenchmarkCast
from tests.conftest import StartWorker
from tests.places.workers import until
from tests.workers import tiny
from workers.sandbox.readiness import readiness


@pytest.mark.worker
def test_a_worker_reports_that_it_can_run_models_and_runs_one(
    sqlite: None, worker: StartWorker, settings: Any, tmp_path: Path
) -> None:
    if not readiness().ready:
        pytest.skip(readiness().why_not)
    settings.MODEL_UPLOADS = "auto"
    cast = BenchmarkCast.create()
    benchmark = cast.entities()
    assert model_intake.unavailable_reason() == model_intake.UNTESTED
    tiny.trained().to_disk(tmp_path / "tiny")
    started = worker(MODEL_UPLOADS="auto")
    until(lambda: not model_intake.unavailable_reason(), seconds=180, details=started.log_text)
    ModelHost.objects.update(seen_at=timezone.now() - timedelta(minutes=10))
    until(
        lambda: not model_intake.unavailable_reason(), details=started.log_text
    )  # its next look for work is word enough
    fields = {"team": cast.kelpie, "by": cast.kim, "system": "Tiny", "run": "1"}
    chunks = [tiny.packed(tmp_path / "tiny")]
    pk = model_intake.receive(benchmark, chunks=chunks, **fields).submission.pk
    ended = ("scored", "invalid", "failed")
    until(lambda: Submission.objects.get(pk=pk).state in ended, seconds=180, details=started.log_text)
    submission = Submission.objects.get(pk=pk)
    assert (submission.state, submission.reason) == ("scored", "")
    assert submission.evaluations.get().scores.get(measure="conll_micro_f1").value == 1.0
