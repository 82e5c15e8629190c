"""A model that is sent is run in the sandbox, and what it predicts is scored like any file."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest
import spacy.lang
from django.test import Client

from evalsvc.core.errors.exceptions import Conflict, DomainError
from evalsvc.core.formats import spacy_pipeline
from evalsvc.core.jobs import queue
from evalsvc.core.jobs.models import Job
from evalsvc.evaluation import submission_states
from evalsvc.evaluation.benchmarks import creation
from evalsvc.evaluation.models import Benchmark, Submission
from evalsvc.evaluation.submissions import model_intake
from tests.cast.benchmarks import ENTITY_GOLD, BenchmarkCast, freeze
from tests.workers import tiny
from workers import runner
from workers.handlers import predict
from workers.sandbox.launcher import ProcessEnd
from workers.sandbox.readiness import readiness

TEXTS = [
    {"id": f"t{n}", "text": text, "spans": spans, "relations": []}
    for n, (text, spans) in enumerate(tiny.SENTENCES)
]


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model") / "tiny"
    tiny.trained().to_disk(folder)
    return folder


@pytest.fixture
def on(settings: Any, db: None) -> Any:
    """Models switched on, where this machine's sandbox passed its self-test."""
    if not readiness().ready:
        pytest.skip(readiness().reason)
    settings.MODEL_UPLOADS = "auto"
    model_intake.record_self_test("here", why_not="")
    return settings


@pytest.fixture
def unconfined(on: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Models run in this process, where loading spaCy costs no second and a half."""

    def launch(task: str, folder: Path, **options: Any) -> ProcessEnd:
        from workers.sandbox import predict_task

        assert task == "predict"
        predict_task.run(folder, begin=lambda: None)
        return ProcessEnd(0, overdue=False)

    monkeypatch.setattr(predict, "launch", launch)


def send(
    cast: BenchmarkCast, benchmark: Benchmark, tar: bytes, *, run: str = "1", **fields: Any
) -> Submission:
    fields = {"team": cast.kelpie, "by": cast.kim, "system": "Tiny"} | fields
    return model_intake.receive(benchmark, run=run, chunks=[tar], **fields).submission


def worked(submission: Submission) -> Submission:
    """The submission once everything queued is done."""
    while runner.run_next("heavy") or runner.run_next("score"):
        pass
    submission.refresh_from_db()
    return submission


def figure(submission: Submission, measure: str) -> float | None:
    return submission.evaluations.get().scores.get(measure=measure).value


def test_a_model_is_run_over_the_tokens_of_the_gold_and_scored(
    cast: BenchmarkCast, on: Any, model: Path
) -> None:
    submission = send(cast, cast.entities(), tiny.packed(model))
    assert submission.state == "queued"
    sent = submission.model
    assert sent is not None
    worked(submission)
    assert (submission.state, submission.reason) == ("scored", "")
    assert figure(submission, "conll_micro_f1") == 1.0
    assert submission.model == sent
    assert submission.file != sent
    assert (submission.format, submission.form) == ("jsonl-predictions", "spans")


@pytest.mark.usefixtures("unconfined")
def test_texts_without_tokens_are_predicted_in_characters(cast: BenchmarkCast, model: Path) -> None:
    gold = freeze("texts", TEXTS, by=cast.olga, labels=["PER", "LOC"], kind="entities")
    setting = [("main", gold, "document", "conll_micro_f1")]
    benchmark = cast.benchmark("ner", settings=setting, task="entities", labels=["PER", "LOC"], negative="")
    submission = worked(send(cast, benchmark, tiny.packed(model)))
    assert (submission.state, submission.reason) == ("scored", "")
    assert figure(submission, "conll_micro_f1") == 1.0


def test_the_inputs_of_a_model_contain_no_gold(cast: BenchmarkCast, tmp_path: Path) -> None:
    from evalsvc.evaluation.benchmarks import file_contract

    benchmark = cast.entities()
    count = predict.write_inputs(file_contract.for_new_file(benchmark), tmp_path / "inputs")
    lines = [json.loads(line) for line in (tmp_path / "inputs").read_text().splitlines()]
    assert count == len(lines) == 3
    assert {key for line in lines for key in line} == {"id", "tokens"}


@pytest.mark.usefixtures("unconfined")
def test_the_same_model_is_run_once_for_the_same_inputs(cast: BenchmarkCast, model: Path) -> None:
    benchmark, tar = cast.entities(), tiny.packed(model, root="tiny")  # it may be in a folder of the tar
    first = worked(send(cast, benchmark, tar))
    assert send(cast, benchmark, tar) == first
    jobs = Job.objects.count()
    again = send(cast, benchmark, tar, run="2")
    assert (again.state, again.job, Job.objects.count()) == ("scored", None, jobs)
    assert (again.model, again.file, again.format) == (first.model, first.file, "jsonl-predictions")
    assert again.evaluations.get() == first.evaluations.get()
    client = Client()
    client.force_login(cast.kim)
    assert client.get(f"/api/v1/submissions/{again.pk}").json()["model_sha256"] == first.model_id
    assert send(cast, benchmark, tar, run="2") == again

    gold = freeze("more", ENTITY_GOLD[:2], by=cast.olga, labels=["PER", "LOC"], kind="entities")
    creation.revise_setting(benchmark.settings.get(), test_set=gold, by=cast.olga)
    on_others = send(cast, benchmark, tar, run="3")
    assert (on_others.state, on_others.format) == ("queued", "spacy-pipeline")


def test_a_model_over_the_time_limit_is_stopped(cast: BenchmarkCast, on: Any, model: Path) -> None:
    on.MODEL_SECONDS = 0.2
    submission = worked(send(cast, cast.entities(), tiny.packed(model)))
    assert (submission.state, submission.reason_code) == ("invalid", "model_too_slow")


def test_a_model_over_the_memory_limit_is_stopped(cast: BenchmarkCast, on: Any, model: Path) -> None:
    on.MODEL_MEMORY_BYTES = 1_000_000
    submission = worked(send(cast, cast.entities(), tiny.packed(model)))
    assert submission.state == "invalid"
    assert submission.reason_code in {"model_too_big", "model_failed"}


def test_a_result_over_the_size_limit_is_stopped_by_the_kernel(
    cast: BenchmarkCast, on: Any, model: Path
) -> None:
    on.MODEL_RESULT_BYTES = 100
    submission = worked(send(cast, cast.entities(), tiny.packed(model)))
    assert (submission.state, submission.reason_code) == ("invalid", "model_failed")
    assert "OSError" in submission.reason


@pytest.mark.usefixtures("unconfined")
def test_labels_missing_from_the_benchmark_make_the_submission_invalid(
    cast: BenchmarkCast, model: Path
) -> None:
    gold = freeze(
        "people", [*TEXTS[2:], TEXTS[0] | {"spans": []}], by=cast.olga, labels=["PER"], kind="entities"
    )
    setting = [("main", gold, "document", "conll_micro_f1")]
    benchmark = cast.benchmark("ner", settings=setting, task="entities", labels=["PER"], negative="")
    submission = worked(send(cast, benchmark, tiny.packed(model)))
    assert (submission.state, submission.reason_code) == ("invalid", "unknown_label")


def test_a_pickle_among_the_weights_is_not_run(
    cast: BenchmarkCast, on: Any, model: Path, tmp_path: Path
) -> None:
    import srsly

    mark = tmp_path / "mark"
    evil = b"cposix\nsystem\n(S'touch " + str(mark).encode() + b"'\ntR."
    weights = srsly.msgpack_loads((model / "ner" / "model").read_bytes())
    weights["params"][0] = {"x": {b"nd": True, b"type": "O", b"kind": b"O", b"shape": (1,), b"data": evil}}
    tar = tiny.packed(model, leave={"ner/model"}, more={"ner/model": srsly.msgpack_dumps(weights)})
    submission = worked(send(cast, cast.entities(), tar))
    assert (submission.state, submission.reason_code) == ("invalid", "model_failed")
    assert not mark.exists()


def test_cancelling_stops_a_running_model(cast: BenchmarkCast, on: Any, model: Path) -> None:
    submission = send(cast, cast.entities(), tiny.packed(model))
    assert submission.job is not None
    job = queue.claim_job(submission.job)
    assert job is not None
    submission_states.cancel(Submission.objects.get(pk=submission.pk), by=cast.kim)
    runner.run(job)
    submission.refresh_from_db()
    assert submission.state == "cancelled"


def test_a_worker_whose_sandbox_fails_leaves_the_model_to_others(
    cast: BenchmarkCast, on: Any, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    submission = send(cast, cast.entities(), tiny.packed(model))
    broken = predict.readiness().__class__("Nothing holds here.")
    monkeypatch.setattr(predict, "readiness", lambda: broken)
    assert runner.run_next("heavy")
    submission.refresh_from_db()
    assert submission.state == "queued"
    job = Job.objects.get(pk=submission.job_id)
    assert "Nothing holds here." in job.events.filter(what="retried").get().detail


def test_models_are_rejected_without_a_worker_that_can_run_them(
    cast: BenchmarkCast, settings: Any, model: Path
) -> None:
    settings.MODEL_UPLOADS = "auto"
    model_intake.record_self_test("there", why_not="The kernel has no Landlock.")
    with pytest.raises(Conflict, match="no Landlock"):
        send(cast, cast.entities(), tiny.packed(model))
    model_intake.record_self_test("here", why_not="")
    assert model_intake.unavailable_reason() == ""
    settings.MODEL_UPLOADS = "off"
    assert "MODEL_UPLOADS=off" in model_intake.unavailable_reason()


def test_models_are_rejected_by_relation_benchmarks(cast: BenchmarkCast, on: Any, model: Path) -> None:
    with pytest.raises(DomainError, match="ranks relations"):
        send(cast, cast.relations(), tiny.packed(model))


def test_every_language_of_a_pipeline_is_a_module_of_spacy() -> None:
    modules = {
        path.name for path in Path(spacy.lang.__file__).parent.iterdir() if (path / "__init__.py").exists()
    }
    assert set(spacy_pipeline.LANGUAGE.pattern.split("|")) == modules


def test_error_messages_of_a_model_are_not_repeated() -> None:
    for kind, message in (("canary", "canary"), ("ValueError", "canary canary"), ("ValueError", "[canary]")):
        with pytest.raises(predict.InputFault) as fault:
            predict.require_success(ProcessEnd(1, overdue=False, kind=kind, message=message))
        assert "canary" not in fault.value.reason
    assert (
        predict.error_name(ProcessEnd(1, overdue=False, kind="ValueError", message="[E050] x"))
        == "ValueError E050"
    )


@pytest.mark.parametrize(
    ("ended", "code"),
    [
        (ProcessEnd(-signal.SIGKILL, overdue=True), "model_too_slow"),
        (ProcessEnd(-signal.SIGXCPU, overdue=False), "model_too_slow"),
        (ProcessEnd(1, overdue=False, kind="NotConfined"), "model_failed"),  # printed by the model
        (ProcessEnd(1, overdue=False, kind="BadPipeline"), "model_failed"),
        (ProcessEnd(1, overdue=False, kind="BadPipeline", step="confined"), "bad_model"),
        (ProcessEnd(1, overdue=False, kind="MemoryError"), "model_too_big"),
        (ProcessEnd(-signal.SIGSEGV, overdue=False), "model_failed"),
    ],
)
def test_each_failure_of_a_model_has_a_code(ended: ProcessEnd, code: str) -> None:
    with pytest.raises(predict.InputFault) as fault:
        predict.require_success(ended)
    assert fault.value.code == code


@pytest.mark.parametrize(
    ("ended", "most"),
    [
        (ProcessEnd(-signal.SIGKILL, overdue=False), 2),
        (ProcessEnd(-signal.SIGTERM, overdue=False), 2),
        (ProcessEnd(1, overdue=False, kind="NotConfined", step=""), None),
        (ProcessEnd(-signal.SIGKILL, overdue=False, step=""), None),
    ],
)
def test_a_kill_from_outside_is_not_the_fault_of_the_model(ended: ProcessEnd, most: int | None) -> None:
    with pytest.raises(predict.RetryLater) as later:
        predict.require_success(ended)
    assert later.value.most == most


def test_a_model_is_submitted_by_api_if_limits_allow_it(cast: BenchmarkCast, on: Any, model: Path) -> None:
    client = Client()
    client.force_login(cast.kim)
    cast.entities()
    models = client.get("/api/v1/limits").json()["models"]
    assert models["on"] is True
    assert "ner" in models["factories"]
    sent = client.post(
        "/api/v1/benchmarks/ner/models?system=Tiny&run=1",
        tiny.packed(model),
        content_type="application/x-tar",
    )
    assert sent.status_code == 202, sent.content
    assert sent.json()["state"] == "queued"
    refused = client.post(
        "/api/v1/benchmarks/ner/models?system=Tiny&run=2", b"no tar", content_type="application/x-tar"
    )
    assert (refused.status_code, refused.json()["code"]) == (400, "bad_model")
    model_intake.record_self_test("here", why_not="The kernel has no Landlock.")
    assert client.get("/api/v1/limits").json()["models"]["why_off"] == "The kernel has no Landlock."
