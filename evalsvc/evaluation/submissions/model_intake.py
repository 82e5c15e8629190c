"""Intake of models: one tar, inspected, stored and queued to run."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db.models import Exists, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Concat, Now

from evalsvc.core.errors.exceptions import Conflict, DomainError
from evalsvc.core.formats import spacy_pipeline
from evalsvc.core.jobs.models import Job
from evalsvc.core.storage import require_room
from evalsvc.core.web import places
from evalsvc.evaluation.benchmarks import file_contract
from evalsvc.evaluation.models import Benchmark, ModelHost
from evalsvc.evaluation.submissions import intake, stored_bytes
from evalsvc.evaluation.submissions.entry import Entry, check_entry
from evalsvc.evaluation.submissions.file_check import Checked, Tee, bounded
from evalsvc.evaluation.submissions.file_store import store

HINT = 'Save with nlp.to_disk("model") and pack with: tar cf model.tar -C model .'

SWITCHED_OFF = "This service does not accept models (MODEL_UPLOADS=off)."
UNTESTED = "No worker has tested its sandbox yet."
INTERRUPTED = "The self-test of the sandbox has not ended; it is run again if it was interrupted."
NO_ACTIVE_WORKER = "No active worker runs models."
# Among many workers each asks for work rarely; a busy one is known by its job.
TEST_AGAIN_AFTER = timedelta(minutes=4)  # longer than a test may take
ACTIVE_WITHIN, RECORD_EVERY, KEEP_FOR = timedelta(minutes=5), timedelta(minutes=1), timedelta(days=1)


def bounds() -> spacy_pipeline.PipelineLimits:
    return spacy_pipeline.PipelineLimits(files=settings.MODEL_MAX_FILES, bytes=settings.MODEL_MAX_BYTES)


def limits() -> dict[str, Any]:
    """Return the limits on models, and the reason when none is accepted."""
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
    benchmark: Benchmark, *, chunks: Iterable[bytes], phase: str = "", **fields: Any
) -> intake.Received:
    """Accept a pipeline as a run, with the fields of an `Entry`.

    A repeat returns the earlier one.
    """
    entry = Entry(benchmark, **fields)
    check_entry(entry)
    if benchmark.task != Benchmark.Task.ENTITIES:
        raise DomainError("not_entities", f"{benchmark} ranks relations and accepts prediction files only.")
    reason = unavailable_reason()
    if reason:
        raise Conflict("models_off", reason, hint="Submit a prediction file.")
    contract = file_contract.for_new_file(benchmark, phase=phase)
    intake.require_quota(entry, contract)
    taken = places.files.taken(entry.by.pk)
    with taken, stored_bytes.metered(entry.by) as meter, tempfile.TemporaryFile() as spool:
        tee = Tee(bounded(chunks, most=settings.MODEL_MAX_BYTES), spool, meter)
        for _ in tee:
            pass
        spool.seek(0)
        try:
            pipeline = spacy_pipeline.inspect(spool, limits=bounds())
        except spacy_pipeline.BadPipeline as error:
            raise DomainError("bad_model", str(error), hint=HINT, field="file") from error
        counts = {"files": pipeline.files, "components": len(pipeline.factories)}
        checked = Checked(intake.PIPELINE, "spans", counts, sha256=tee.digest.hexdigest(), size=tee.size)
        require_room(checked.size)
        file = store(spool, sha256=checked.sha256, size=checked.size)
    return intake.take(entry, contract, checked, file)


# ---- machines that run models ---------------------------------------------------------------------
def record_self_test(name: str, *, why_not: str) -> None:
    """Record the sandbox self-test of a machine.

    `why_not` is empty when it passed.
    """
    ModelHost.objects.filter(seen_at__lt=Now() - KEEP_FOR).delete()
    values = {"why_not": why_not[:1_000], "tried_at": Now(), "seen_at": Now()}
    ModelHost.objects.update_or_create(name=name[:200], defaults=values)


def record_seen(name: str) -> None:
    """Record, once a minute, that a machine's worker asked for work."""
    outdated = ModelHost.objects.filter(name=name[:200], seen_at__lt=Now() - RECORD_EVERY)
    if outdated.exists():  # reading takes no write lock
        outdated.update(seen_at=Now())


def self_test_interrupted(name: str) -> bool:
    """True if the machine's self-test ended without a result."""
    tests = ModelHost.objects.filter(name=name[:200], why_not=INTERRUPTED)
    return tests.filter(tried_at__lt=Now() - TEST_AGAIN_AFTER).exists()


def active_hosts() -> QuerySet[ModelHost]:
    """Return the machines seen lately or running a job."""
    prefix = Concat(OuterRef("name"), Value(":"))
    working = Job.objects.filter(state=Job.State.RUNNING, lease_until__gt=Now(), worker__startswith=prefix)
    return ModelHost.objects.filter(Q(seen_at__gte=Now() - ACTIVE_WITHIN) | Exists(working))


def unavailable_reason() -> str:
    """Return the reason why no model is accepted, empty if one is."""
    if settings.MODEL_UPLOADS == "off":
        return SWITCHED_OFF
    best = active_hosts().order_by("why_not", "-tried_at").first()  # machines without a fault first
    if best:
        return best.why_not
    return NO_ACTIVE_WORKER if ModelHost.objects.exists() else UNTESTED
