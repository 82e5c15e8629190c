"""Taking a model in: a pipeline in one tar, looked through, kept, and entered with the job that runs it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from typing import Any, BinaryIO

from django.conf import settings

from evalsvc.core.accounts.models import ApiToken, Team, User
from evalsvc.core.errors.exceptions import Conflict, DomainError
from evalsvc.core.formats import spacy_pipeline
from evalsvc.evaluation.benchmarks import file_contract
from evalsvc.evaluation.models import Benchmark
from evalsvc.evaluation.submissions import intake, model_hosts
from evalsvc.evaluation.submissions.file_check import Checked, Tee, bounded
from evalsvc.evaluation.submissions.file_store import keep

HINT = 'Save with nlp.to_disk("model") and pack with: tar cf model.tar -C model .'


def bounds() -> spacy_pipeline.Bounds:
    return spacy_pipeline.Bounds(files=settings.MODEL_MAX_FILES, bytes=settings.MODEL_MAX_BYTES)


def limits() -> dict[str, Any]:
    """What may be sent and used, and why nothing may where it is off."""
    why_off = model_hosts.why_off()
    return {
        "on": not why_off,
        "why_off": why_off,
        "bytes": settings.MODEL_MAX_BYTES,
        "files": settings.MODEL_MAX_FILES,
        "seconds": settings.MODEL_SECONDS,
        "memory_bytes": settings.MODEL_MEMORY_BYTES,
        "result_bytes": settings.MODEL_RESULT_BYTES,
        "factories": sorted(spacy_pipeline.FACTORIES),
    }


def receive(
    benchmark: Benchmark,
    *,
    team: Team,
    by: User,
    system: str,
    run: str,
    chunks: Iterable[bytes],
    token: ApiToken | None = None,
    filename: str = "",
    tags: dict[str, Any] | None = None,
    idempotency_key: str = "",
    phase: str = "",
) -> intake.Received:
    """Take a pipeline in as a run of a system; the same again gives the submission that is there."""
    entry = intake.Entry(
        benchmark,
        team,
        by,
        system.strip(),
        run.strip(),
        token,
        filename[-200:],
        tags=tags,
        key=idempotency_key,
    )
    intake.check_entry(entry)
    _require_models(benchmark)
    held = file_contract.now(benchmark, phase=phase)
    intake.require_room(entry)
    with tempfile.TemporaryFile() as spool:
        tee = Tee(bounded(chunks, most=settings.MODEL_MAX_BYTES), spool)
        for _ in tee:
            pass
        checked = _looked_through(spool, tee)
        file = keep(spool, sha256=checked.sha256, size=checked.size)
    return intake.take(entry, held, checked, file)


def _require_models(benchmark: Benchmark) -> None:
    if benchmark.task != Benchmark.Task.ENTITIES:
        raise DomainError("not_entities", f"{benchmark} ranks relations: it takes prediction files only.")
    why_off = model_hosts.why_off()
    if why_off:
        raise Conflict("models_off", why_off, hint="Submit a prediction file.")


def _looked_through(spool: BinaryIO, tee: Tee) -> Checked:
    spool.seek(0)
    try:
        found = spacy_pipeline.inspect(spool, bounds=bounds())
    except spacy_pipeline.BadPipeline as error:
        raise DomainError("bad_model", str(error), hint=HINT, field="file") from error
    counts = {"files": found.files, "components": len(found.factories)}
    return Checked(intake.PIPELINE, "spans", counts, sha256=tee.digest.hexdigest(), size=tee.size)
