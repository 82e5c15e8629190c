"""Intake of prediction files: check while they arrive, store, queue the scoring."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone

from evalsvc.core.accounts.models import Team
from evalsvc.core.database import atomic_again
from evalsvc.core.errors.exceptions import Conflict, DomainError, TooLarge
from evalsvc.core.formats import spacy_pipeline
from evalsvc.core.formats.problems import FileRejected, Problems
from evalsvc.core.storage import require_room
from evalsvc.core.web.places import files
from evalsvc.evaluation import submission_states
from evalsvc.evaluation.benchmarks import file_contract, quotas, scoring_identity, versions
from evalsvc.evaluation.benchmarks.file_contract import FileContract
from evalsvc.evaluation.disclosure.policy import is_hidden
from evalsvc.evaluation.measures.old_labels import is_mapped
from evalsvc.evaluation.models import (
    Benchmark,
    Evaluation,
    NearDuplicate,
    PredictionFile,
    Setting,
    Submission,
    System,
)
from evalsvc.evaluation.roles import require_member
from evalsvc.evaluation.submission_states import ACTIVE, same_phase
from evalsvc.evaluation.submissions import gold_exposure, stored_bytes
from evalsvc.evaluation.submissions.entry import Entry, check_entry
from evalsvc.evaluation.submissions.file_check import Checked, check_stream
from evalsvc.evaluation.submissions.file_store import store
from evalsvc.evaluation.submissions.other_inputs import Submitter

PIPELINE = spacy_pipeline.FORMAT.key  # of a model that has not run yet


@dataclass(frozen=True, slots=True)
class Received:
    """Submission, and True when it is new rather than an earlier one."""

    submission: Submission
    created: bool


def check(benchmark: Benchmark, chunks: Iterable[bytes], *, phase: str = "", **options: Any) -> Checked:
    """Check a file without submitting it, with the options of `check_stream`."""
    contract = file_contract.for_new_file(benchmark, phase=phase)
    try:
        with files.taken():
            return _read(contract, chunks, **options)
    except FileRejected as error:
        return Checked(format="", problems=error.problems)


def receive(benchmark: Benchmark, *, chunks: Iterable[bytes], phase: str = "", **fields: Any) -> Received:
    """Accept a file as a run, with the fields of an `Entry`.

    A repeat returns the earlier submission.
    """
    entry = Entry(benchmark, **fields)
    check_entry(entry)
    newest = file_contract.newest_versions(benchmark)
    if versions.keep_up(newest):
        newest = file_contract.newest_versions(benchmark)
    contract = file_contract.for_new_file(benchmark, phase=phase, newest=newest)
    require_quota(entry, contract)
    with (
        files.taken(entry.by.pk),
        stored_bytes.metered(entry.by) as meter,
        tempfile.TemporaryFile() as spool,
        refusals_counted(entry, contract),
    ):
        submitter = Submitter(entry.by, by_token=entry.token is not None)
        checked = _read(contract, chunks, copy=spool, meter=meter, names=entry.names, by=submitter)
        checked.problems.raise_if_any()
        require_room(checked.size)
        file = store(spool, sha256=checked.sha256, size=checked.size)
    return take(entry, contract, checked, file)


def take(entry: Entry, contract: FileContract, checked: Checked, file: PredictionFile) -> Received:
    """Record a checked and stored file, and queue its job."""
    try:
        return _enter(entry, contract, checked, file)
    except IntegrityError:
        # an identical request with the same key was recorded at the same moment
        earlier = _by_key(entry, file, checked.columns, contract.phase)
        if earlier is None:
            raise
        return earlier


@contextmanager
def refusals_counted(entry: Entry, contract: FileContract) -> Iterator[None]:
    """Count a rejected file; a hidden phase takes few a day."""
    try:
        yield
    except FileRejected:
        if contract.hidden:  # the limit again: a possible repeat passed it, and so did parallel uploads
            with transaction.atomic():
                Team.objects.select_for_update(no_key=True).get(pk=entry.team.pk)
                now = timezone.now()
                quotas.require_few_refusals(entry.benchmark, entry.team, now=now, hidden=contract.hidden)
                quotas.record_refusal(entry.benchmark, entry.team)
        raise


def require_quota(entry: Entry, contract: FileContract) -> None:
    """Reject a run over its quota before the file is read.

    A possible repeat passes. The quota is checked again, under a lock, when the submission is recorded.
    """
    same_run = Q(system__team=entry.team, system__name=entry.system, run=entry.run)
    earlier = same_run & ACTIVE & same_phase(entry.benchmark, contract.phase)
    if entry.idempotency_key:
        earlier |= Q(by=entry.by, idempotency_key=entry.idempotency_key)
    try:
        _require_quotas(entry, contract.hidden, contract.phase, now=timezone.now())
    except DomainError:
        if not entry.benchmark.submissions.filter(earlier).exists():
            raise


def _require_quotas(entry: Entry, hidden: list[Setting], phase: str, *, now: datetime) -> None:
    quotas.require_one_team(entry.benchmark, entry.team, by=entry.by, hidden=hidden)
    quotas.require_few_refusals(entry.benchmark, entry.team, now=now, hidden=hidden)
    quotas.require_quota(entry.benchmark, entry.team, now=now, hidden=hidden, phase=phase)


def _read(contract: FileContract, chunks: Iterable[bytes], **options: Any) -> Checked:
    try:
        checked = check_stream(contract, chunks, **options)
    except FileRejected as error:
        if "too_large" in error.problems.by_code:
            limit = settings.UPLOAD_MAX_UNPACKED_BYTES
            raise TooLarge("too_large", error.problems.summary(), limit=limit) from error
        raise
    if not checked.form and not checked.problems.total:
        empty = Problems()
        empty.stop("empty_file", value="no prediction", expected="at least one prediction")
    return checked


@atomic_again
def _enter(entry: Entry, contract: FileContract, checked: Checked, file: PredictionFile) -> Received:
    now = quotas.lock(entry.team)
    require_member(entry.benchmark, entry.by, entry.team)  # again: an upload takes its time
    if earlier := _by_key(entry, file, checked.columns, contract.phase):
        return earlier
    system = _system(entry)
    if earlier := _same_run(system, entry, file, checked.columns, contract.phase):
        return earlier
    file_contract.lock_settings(entry.benchmark)
    settings = file_contract.settings_again(entry.benchmark, contract.settings)
    hidden = quotas.hidden_settings(settings, now, contract.phase)
    if hidden:
        quotas.lock_sender(entry.by.pk)
    _require_quotas(entry, hidden, contract.phase, now=now)
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
        columns=checked.columns,
        aggregate=entry.aggregate,
        tags=entry.tags or {},
        counts=checked.counts,
        old_labels=checked.old_labels,
        maps_old_labels=is_mapped(contract.benchmark),
        by=entry.by,
        token=entry.token,
        idempotency_key=entry.idempotency_key,
        saw_gold=gold_exposure.saw_gold(settings, entry.team),
        held_to=contract.version_ids,
        created_at=now,
    )
    if submission.format == PIPELINE:
        _predicted_before(submission)
    _score_or_reuse(submission, contract, scoring_identity.fitting(submission, contract, settings))
    return Received(submission, created=True)


def _system(entry: Entry) -> System:
    """Get or create the system, and lock it against parallel withdrawals."""
    system, _ = System.objects.select_for_update(no_key=True).get_or_create(
        benchmark=entry.benchmark, team=entry.team, name=entry.system
    )
    system.team = entry.team
    return system


def _by_key(entry: Entry, file: PredictionFile, columns: list[str], phase: str) -> Received | None:
    if not entry.idempotency_key:
        return None
    earlier = Submission.objects.filter(
        benchmark=entry.benchmark, by=entry.by, idempotency_key=entry.idempotency_key
    ).first()
    if earlier is None:
        return None
    # tags of runs of earlier versions are those that their system had last
    differences = {
        "another file": (earlier.model_id or earlier.file_id) != file.pk,
        f"run {earlier.run}": earlier.run != entry.run,
        f"of {earlier.system}": earlier.system.name != entry.system,
        f"of team {earlier.system.team}": earlier.system.team_id != entry.team.pk,
        f"sent {_in_phase(earlier)}": earlier.phase != phase,
        f"aggregate {earlier.aggregate}": earlier.aggregate != entry.aggregate,
        "other columns": earlier.columns != columns,
    }
    if other := ", ".join(text for text, differs in differences.items() if differs):
        raise Conflict(
            "key_reused",
            f"The Idempotency-Key {entry.idempotency_key} was used for submission {earlier.pk}: {other}.",
            hint="Use a new key for a new submission.",
        )
    return Received(earlier, created=False)


def _in_phase(submission: Submission) -> str:
    if submission.phase == file_contract.BOTH:
        return "in both phases"
    return f"in the {submission.phase} phase" if submission.phase else "without a phase"


def _same_run(
    system: System, entry: Entry, file: PredictionFile, columns: list[str], phase: str
) -> Received | None:
    """Return the run's active submission if identical, else reject."""
    same = system.runs.filter(ACTIVE, same_phase(entry.benchmark, phase), run=entry.run).order_by("pk")
    pk = same.values_list("pk", flat=True).first()
    if pk is None:
        return None
    active = Submission.objects.get(pk=pk)
    taken = f"{entry.system} already has a run {entry.run}: submission {active.pk}"
    if active.phase != phase:
        example = f", such as {phase}-{entry.run}" if phase else ""
        hint = f"Use another run name{example}."
        if file_contract.BOTH in file_contract.open_phases(file_contract.open_settings(entry.benchmark)):
            hint = "Use another run name, or withdraw that submission and send one file in both phases."
        raise Conflict("run_taken", f"{taken}, sent {_in_phase(active)}.", hint=hint)
    same_file = (active.model_id or active.file_id) == file.pk and active.columns == columns
    if same_file and active.aggregate == entry.aggregate:
        return Received(active, created=False)
    raise Conflict(
        "run_taken",
        f"{taken}, with another file, columns or aggregate.",
        hint="Use another run name, or withdraw that submission first.",
    )


def _predicted_before(submission: Submission) -> None:
    """Reuse what the team's same model predicted before on the same inputs."""
    same = Submission.objects.filter(
        benchmark=submission.benchmark,
        system__team=submission.system.team_id,
        model=submission.model,
        phase=submission.phase,
        held_to=submission.held_to,
        scored_at__isnull=False,
    ).exclude(format=PIPELINE)
    if earlier := same.first():
        submission.file, submission.format = earlier.file, earlier.format
        submission.form, submission.counts = earlier.form, earlier.counts
        submission.old_labels, submission.maps_old_labels = earlier.old_labels, earlier.maps_old_labels
        fields = ["file", "format", "form", "counts", "old_labels", "maps_old_labels"]
        submission.save(update_fields=fields)


def _score_or_reuse(submission: Submission, contract: FileContract, settings: list[Setting]) -> None:
    """Reuse scores that exist under every setting, else queue a job."""
    existing = scoring_identity.existing(submission, contract, settings)
    if len(existing) == len(settings):
        submission.evaluations.set(existing.values())
        _mark_repeats(submission, existing.values())
        submission_states.move(submission, Submission.State.SCORED)
    elif submission.format == PIPELINE:
        submission_states.queue(submission, kind="predict")
    elif submission.layout:
        submission_states.queue(submission, kind="check")
    else:
        submission_states.queue(submission)
    if submission.state == Submission.State.SCORED:
        submission.refresh_from_db(fields=["scored_at", "ended_at"])


def _mark_repeats(submission: Submission, evaluations: Iterable[Evaluation]) -> None:
    """Record that a file repeats an earlier one, under hidden settings."""
    for evaluation in evaluations:
        own = {"evaluations": evaluation, "system__team": submission.system.team_id}
        runs = Submission.objects.filter(**own, scored_at__isnull=False).exclude(pk=submission.pk)
        earlier = runs.order_by("scored_at", "pk").first()
        if earlier is not None and is_hidden(evaluation.setting):
            near = earlier.near.filter(**evaluation.scored_on).first()
            shown = earlier.pk if near is None else near.earlier_id
            values = {"submission": submission, "earlier_id": shown, "claims": 0}
            NearDuplicate.objects.create(**values, **evaluation.scored_on)
