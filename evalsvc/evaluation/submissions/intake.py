"""Taking predictions in: checked while they arrive, kept by digest, entered with their job."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone

from evalsvc.core.accounts.models import ApiToken, Team, User
from evalsvc.core.errors.exceptions import Conflict, DomainError, TooLarge
from evalsvc.core.formats.problems import FileRejected, Problems
from evalsvc.core.web.text_validation import require_single_script, require_visible, texts_in
from evalsvc.evaluation import submission_states
from evalsvc.evaluation.benchmarks import file_contract, quotas, scoring_identity, versions
from evalsvc.evaluation.benchmarks.file_contract import FileContract
from evalsvc.evaluation.models import Benchmark, PredictionFile, Setting, Submission, System
from evalsvc.evaluation.roles import VIEWER, require, teams_of
from evalsvc.evaluation.submissions import gold_exposure
from evalsvc.evaluation.submissions.file_check import Checked, check_stream
from evalsvc.evaluation.submissions.file_store import keep

S = Submission.State
STANDING = (S.RECEIVED, S.QUEUED, S.RUNNING, S.SCORED)
AGGREGATES = ("ONE", "AVG")
PIPELINE = "spacy-pipeline"  # the format of a model whose predictions are still to come


@dataclass(frozen=True, slots=True)
class Received:
    """The submission, and whether it is new or the same as an earlier one."""

    submission: Submission
    created: bool


@dataclass(frozen=True, slots=True)
class Entry:
    """What a team says of its file."""

    benchmark: Benchmark
    team: Team
    by: User
    system: str
    run: str
    token: ApiToken | None = None
    filename: str = ""
    aggregate: str = "ONE"
    tags: dict[str, Any] | None = None
    key: str = ""


def check(benchmark: Benchmark, chunks: Iterable[bytes], *, phase: str = "") -> Checked:
    """Check a file without submitting it."""
    contract = file_contract.for_new_file(benchmark, phase=phase)
    try:
        return _read(contract, chunks)
    except FileRejected as error:
        return Checked(format="", problems=error.problems)


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
    aggregate: str = "ONE",
    tags: dict[str, Any] | None = None,
    idempotency_key: str = "",
    phase: str = "",
) -> Received:
    """Take a file in as a run of a system; the same again gives the submission that is there."""
    entry = Entry(
        benchmark,
        team,
        by,
        system.strip(),
        run.strip(),
        token,
        filename[-200:],
        aggregate,
        tags,
        idempotency_key,
    )
    check_entry(entry)
    versions.keep_up(benchmark)
    contract = file_contract.for_new_file(benchmark, phase=phase)
    require_quota(entry)
    with tempfile.TemporaryFile() as spool:
        checked = _read(contract, chunks, copy=spool)
        checked.problems.raise_if_any()
        file = keep(spool, sha256=checked.sha256, size=checked.size)
    return take(entry, contract, checked, file)


def take(entry: Entry, contract: FileContract, checked: Checked, file: PredictionFile) -> Received:
    """Enter what was checked and kept, with its job."""
    try:
        return _enter(entry, contract, checked, file)
    except IntegrityError:
        # an identical request with the same key was entered in the same moment
        again = _by_key(entry, file, contract.phase)
        if again is None:
            raise
        return again


def check_entry(entry: Entry) -> None:
    """Refuse whom the benchmark or the team is not for, and names that are none."""
    require(entry.benchmark, entry.by, VIEWER)
    if not entry.by.is_superuser and not teams_of(entry.by).filter(pk=entry.team.pk).exists():
        raise DomainError("not_in_team", f"You are not in {entry.team}.", field="team")
    for name, value, most in (("system", entry.system, 120), ("run", entry.run, 40)):
        if not 0 < len(value) <= most:
            raise DomainError("bad_name", f"The {name} needs a name of 1 to {most} characters.", field=name)
        require_visible(value, field=name)
        require_single_script(value, field=name)
    require_visible(json.dumps(entry.tags or {}, ensure_ascii=False), field="tags")
    for text in texts_in(entry.tags or {}):
        require_single_script(text, field="tags")
    if entry.aggregate not in AGGREGATES:
        raise DomainError("bad_aggregate", f"{entry.aggregate} is not ONE or AVG.", field="aggregate")
    if len(entry.key) > 120:
        raise DomainError(
            "bad_key", "The Idempotency-Key is longer than 120 characters.", field="Idempotency-Key"
        )


def require_quota(entry: Entry) -> None:
    """Refuse before anything is read where a quota is spent; looked at again, locked, when it is entered.

    What may turn out to be a submission that is there already is read.
    """
    run = Q(system__team=entry.team, system__name=entry.system, run=entry.run)
    here = run & Q(withdrawn_at=None, state__in=STANDING)
    if entry.key:
        here |= Q(by=entry.by, idempotency_key=entry.key)
    if not entry.benchmark.submissions.filter(here).exists():
        quotas.require_quota(entry.benchmark, entry.team, now=timezone.now())


def _read(contract: FileContract, chunks: Iterable[bytes], **copy: Any) -> Checked:
    try:
        checked = check_stream(contract, chunks, **copy)
    except FileRejected as error:
        if "too_large" in error.problems.by_code:
            most = settings.UPLOAD_MAX_UNPACKED_BYTES
            raise TooLarge("too_large", error.problems.summary(), limit=most) from error
        raise
    if not checked.problems.total and not checked.form:
        empty = Problems()
        empty.stop("empty_file", found="no prediction", expected="at least one prediction")
    return checked


def _enter(entry: Entry, contract: FileContract, checked: Checked, file: PredictionFile) -> Received:
    with transaction.atomic():
        now = quotas.lock(entry.team)
        system = _system(entry)
        earlier = _by_key(entry, file, contract.phase) or _same_run(system, entry, file, contract.phase)
        if earlier:
            return earlier
        quotas.require_quota(entry.benchmark, entry.team, now=now)
        versions.lock_settings(entry.benchmark)
        settings = file_contract.settings_of(entry.benchmark)
        contract.require_open(settings, now)
        submission = Submission.objects.create(
            benchmark=entry.benchmark,
            system=system,
            run=entry.run,
            file=file,
            model=file if checked.format == PIPELINE else None,
            filename=entry.filename,
            format=checked.format,
            form=checked.form,
            phase=contract.phase,
            layout=checked.layout,
            aggregate=entry.aggregate,
            counts=checked.counts,
            by=entry.by,
            token=entry.token,
            idempotency_key=entry.key,
            saw_gold=gold_exposure.saw_gold(settings, entry.team),
            held_to=contract.version_ids,
            created_at=now,
        )
        if submission.format == PIPELINE:
            _predicted_before(submission)
        _score_or_reuse(submission, scoring_identity.fitting(submission, contract, settings))
    return Received(submission, created=True)


def _system(entry: Entry) -> System:
    """The system by its name, locked too: a withdrawal may change what stands for a run."""
    system, _ = System.objects.select_for_update().get_or_create(
        benchmark=entry.benchmark, team=entry.team, name=entry.system, defaults={"tags": entry.tags or {}}
    )
    if entry.tags and entry.tags != system.tags:
        System.objects.filter(pk=system.pk).update(tags=entry.tags)
    return system


def _by_key(entry: Entry, file: PredictionFile, phase: str) -> Received | None:
    if not entry.key:
        return None
    earlier = Submission.objects.filter(
        benchmark=entry.benchmark, by=entry.by, idempotency_key=entry.key
    ).first()
    if earlier is None:
        return None
    if other := _differs(earlier, entry, file, phase):
        raise Conflict(
            "key_reused",
            f"The Idempotency-Key {entry.key} stands for submission {earlier.pk}: {other}.",
            hint="Use a new key for a new submission.",
        )
    return Received(earlier, created=False)


def _differs(earlier: Submission, entry: Entry, file: PredictionFile, phase: str) -> str:
    """What of an earlier submission is not as it is sent now, in words; nothing where all is."""
    told = {
        "another file": (earlier.model_id or earlier.file_id) != file.pk,
        f"run {earlier.run}": earlier.run != entry.run,
        f"of {earlier.system}": earlier.system.name != entry.system,
        f"of the team {earlier.system.team}": earlier.system.team_id != entry.team.pk,
        f"sent {_in_phase(earlier)}": earlier.phase != phase,
    }
    return ", ".join(words for words, differs in told.items() if differs)


def _in_phase(submission: Submission) -> str:
    return f"in the {submission.phase} phase" if submission.phase else "while there were no phases"


def _same_run(system: System, entry: Entry, file: PredictionFile, phase: str) -> Received | None:
    """The standing submission of this run: the same file in the same phase is that one, else refused."""
    standing = system.runs.filter(run=entry.run, withdrawn_at=None, state__in=STANDING).first()
    if standing is None:
        return None
    taken = f"{entry.system} has run {entry.run} already: submission {standing.pk}"
    if standing.phase != phase:
        raise Conflict(
            "run_taken",
            f"{taken}, sent {_in_phase(standing)}.",
            hint="A run is of one phase. Name another run, or withdraw that submission first.",
        )
    if (standing.model_id or standing.file_id) == file.pk and standing.aggregate == entry.aggregate:
        return Received(standing, created=False)
    raise Conflict(
        "run_taken",
        f"{taken}, another file or aggregate.",
        hint="Name another run, or withdraw that submission first.",
    )


def _predicted_before(submission: Submission) -> None:
    """Give the run of a model what the same model predicted on the same inputs before, if it did."""
    same = Submission.objects.filter(
        benchmark=submission.benchmark,
        model=submission.model,
        phase=submission.phase,
        held_to=submission.held_to,
        scored_at__isnull=False,
    ).exclude(format=PIPELINE)
    if earlier := same.first():
        submission.file, submission.format = earlier.file, earlier.format
        submission.form, submission.counts = earlier.form, earlier.counts
        submission.save(update_fields=["file", "format", "form", "counts"])


def _score_or_reuse(submission: Submission, settings: list[Setting]) -> None:
    """Score at once where the same scoring exists under every setting, else queue."""
    existing = scoring_identity.existing(submission, settings)
    if len(existing) == len(settings):
        submission.evaluations.set(existing.values())
        submission_states.move(submission, S.SCORED)
    elif submission.format == PIPELINE:
        submission_states.queue(submission, kind="predict")
    elif submission.layout:
        submission_states.queue(submission, kind="check")
    else:
        submission_states.queue(submission)
    submission.refresh_from_db()
