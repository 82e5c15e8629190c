"""Taking a model in: a pipeline in one tar, looked through, kept, and entered with the job that runs it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from datetime import timedelta
from typing import Any, BinaryIO

from django.conf import settings
from django.db.models import Exists, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Concat, Now

from evalsvc.core.accounts.models import ApiToken, Team, User
from evalsvc.core.errors.exceptions import Conflict, DomainError
from evalsvc.core.formats import spacy_pipeline
from evalsvc.core.jobs.models import Job
from evalsvc.evaluation.benchmarks import file_contract
from evalsvc.evaluation.models import Benchmark, ModelHost
from evalsvc.evaluation.submissions import intake
from evalsvc.evaluation.submissions.file_check import Checked, Tee, bounded
from evalsvc.evaluation.submissions.file_store import keep

HINT = 'Save with nlp.to_disk("model") and pack with: tar cf model.tar -C model .'

SWITCHED_OFF = "Models are switched off here (MODEL_UPLOADS=off)."
UNTRIED = "No worker has tried its sandbox yet."
GONE = "No worker that runs models was heard of in the last five minutes."
# Of many workers each looks for work now and then only; a busy one is known by its job.
ACTIVE_WITHIN, RECORD_EVERY, KEEP_FOR = timedelta(minutes=5), timedelta(minutes=1), timedelta(days=1)


def bounds() -> spacy_pipeline.Bounds:
    return spacy_pipeline.Bounds(files=settings.MODEL_MAX_FILES, bytes=settings.MODEL_MAX_BYTES)


def limits() -> dict[str, Any]:
    """What may be sent and used, and why nothing may where it is off."""
    reason = unavailable_reason()
    return {
        "on": not reason,
        "why_off": reason,
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
    contract = file_contract.for_new_file(benchmark, phase=phase)
    intake.require_quota(entry)
    with tempfile.TemporaryFile() as spool:
        tee = Tee(bounded(chunks, most=settings.MODEL_MAX_BYTES), spool)
        for _ in tee:
            pass
        checked = _looked_through(spool, tee)
        file = keep(spool, sha256=checked.sha256, size=checked.size)
    return intake.take(entry, contract, checked, file)


def _require_models(benchmark: Benchmark) -> None:
    if benchmark.task != Benchmark.Task.ENTITIES:
        raise DomainError("not_entities", f"{benchmark} ranks relations: it takes prediction files only.")
    reason = unavailable_reason()
    if reason:
        raise Conflict("models_off", reason, hint="Submit a prediction file.")


def _looked_through(spool: BinaryIO, tee: Tee) -> Checked:
    spool.seek(0)
    try:
        found = spacy_pipeline.inspect(spool, bounds=bounds())
    except spacy_pipeline.BadPipeline as error:
        raise DomainError("bad_model", str(error), hint=HINT, field="file") from error
    counts = {"files": found.files, "components": len(found.factories)}
    return Checked(intake.PIPELINE, "spans", counts, sha256=tee.digest.hexdigest(), size=tee.size)


# ---- machines that run models ---------------------------------------------------------------------
def record_self_test(name: str, *, why_not: str) -> None:
    """Keep what the self-test of a machine found; `why_not` is empty when models can run there."""
    ModelHost.objects.filter(seen_at__lt=Now() - KEEP_FOR).delete()
    told = {"why_not": why_not[:1_000], "tried_at": Now(), "seen_at": Now()}
    ModelHost.objects.update_or_create(name=name[:200], defaults=told)


def record_seen(name: str) -> None:
    """A worker there looks for work; written down once a minute."""
    unheard = ModelHost.objects.filter(name=name[:200], seen_at__lt=Now() - RECORD_EVERY)
    if unheard.exists():  # a look takes no write lock
        unheard.update(seen_at=Now())


def active_hosts() -> QuerySet[ModelHost]:
    """The machines that were heard of lately, or are in the middle of a job."""
    prefix = Concat(OuterRef("name"), Value(":"))
    working = Job.objects.filter(state=Job.State.RUNNING, lease_until__gt=Now(), worker__startswith=prefix)
    return ModelHost.objects.filter(Q(seen_at__gte=Now() - ACTIVE_WITHIN) | Exists(working))


def unavailable_reason() -> str:
    """Why no model can be sent, or nothing when it can."""
    if settings.MODEL_UPLOADS == "off":
        return SWITCHED_OFF
    best = active_hosts().order_by("why_not", "-tried_at").first()  # the empty word comes first
    if best:
        return best.why_not
    return GONE if ModelHost.objects.exists() else UNTRIED
