"""Choices of candidates in large projects: a job counts the effect, another one applies it.

Rows change in short transactions, and nobody sees them half changed: while `Project.choosing` is set, nothing
new is assigned, frozen or imported. A killed job goes on where it was; one that is cancelled or fails
half-way is followed by one that puts every sentence back.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

import msgspec
from django.db import transaction
from django.db.models.functions import Now

from annotation.candidates import Places, Wanted, complete_choice, look, move, of_project
from annotation.models import Batch, CandidateChoice, Project
from annotation.ontology.inventory import lock_project, require_no_running_import
from annotation.roles import CURATOR, require_to_change
from annotation.testset import TestSet
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import Conflict, DomainError
from evalsvc.core.jobs.exceptions import InputFault, RetryLater
from evalsvc.core.jobs.lease import Progress, fenced
from evalsvc.core.jobs.models import Job
from evalsvc.core.jobs.queue import enqueue, request_cancel, restart
from evalsvc.core.jobs.transitions import Store
from evalsvc.core.upkeep.registry import Finding

KIND = "candidates"
State = CandidateChoice.State
WORKING = (State.COUNTING, State.APPLYING, State.RETURNING)
EMPTIED: dict[str, None] = {"wanted": None, "places": None, "former": None}


def packed(value: Any) -> bytes:
    return zlib.compress(msgspec.json.encode(value), 1)


def unpacked(stored: bytes | memoryview) -> Any:
    return msgspec.json.decode(zlib.decompress(stored))


# ---- what people do -------------------------------------------------------------------------------
def latest(project: Project) -> CandidateChoice | None:
    """Return the project's latest choice in any state."""
    choices = project.candidate_choices.defer(*EMPTIED).select_related("project")
    return choices.order_by("-pk").first()


def job_of(choice: CandidateChoice) -> Job | None:
    return Job.objects.filter(kind=KIND, subject=choice.pk).order_by("-pk").first()


def has_failed(choice: CandidateChoice, job: Job | None) -> bool:
    return choice.state in WORKING and job is not None and job.state == Job.State.FAILED


def failure(choice: CandidateChoice) -> str:
    """Return why the choice failed, also if it was taken back since; else nothing."""
    if choice.state in (State.READY, State.DONE) or (choice.state == State.CANCELLED and not choice.before):
        return ""
    failed = Job.objects.filter(kind=KIND, subject=choice.pk, state=Job.State.FAILED).order_by("-pk")
    return failed.values_list("error", flat=True).first() or ""


def stuck_in(project: Project) -> Job | None:
    """Return the failed job that keeps a project half changed."""
    choice = latest(project) if project.choosing else None
    job = job_of(choice) if choice else None
    return job if choice and has_failed(choice, job) else None


def check_stuck(share: str) -> Iterator[Finding]:
    """Report projects that are kept half changed by a failed job."""
    for project in Project.objects.filter(choosing=True).order_by("pk"):
        if job := stuck_in(project):
            detail = f"The candidates of {project} are half changed since job {job.pk} failed: {job.error}"
            cure = f"Nobody gets new sentences until it is retried: manage.py jobs retry {job.pk}"
            yield Finding("candidates_stuck", detail, cure)


@transaction.atomic
def request(project: Project, wanted: Wanted, *, by: User, at_once: bool = False) -> CandidateChoice:
    """Queue the count of a choice's effect; with `at_once` it is applied then, unconfirmed."""
    require_to_change(project, by, CURATOR)
    project = lock_project(project)
    require_no_running_import(project)
    earlier = latest(project)
    if earlier and earlier.state in WORKING and not has_failed(earlier, job_of(earlier)):
        hint = "Wait until that is done, or cancel it."
        raise Conflict("candidates_changing", f"Other candidates of {project} are being chosen.", hint=hint)
    unconfirmed = project.candidate_choices.filter(state__in=(State.READY, *WORKING))
    unconfirmed.update(state=State.CANCELLED, ended_at=Now(), **EMPTIED)
    scores = {name: score for name, score in wanted.scores.items() if score > float("-inf")}  # not in JSON
    stored = packed({**asdict(wanted), "scores": scores, "ids": list(wanted.ids)})
    choice = CandidateChoice.objects.create(project=project, wanted=stored, applied_at_once=at_once, by=by)
    enqueue(KIND, choice.pk, lane=f"user {by.pk}")
    return choice


@transaction.atomic
def apply(choice: CandidateChoice, *, by: User) -> None:
    """Queue the change whose effect was counted."""
    require_to_change(choice.project, by, CURATOR)
    _queue(choice, by=by)


def _queue(choice: CandidateChoice, *, by: User) -> None:
    ready = CandidateChoice.objects.filter(pk=choice.pk, state=State.READY)
    if not ready.update(state=State.APPLYING, by=by):
        raise Conflict(
            "ended", "This choice of candidates does not wait for confirmation.", hint="Reload the page."
        )
    enqueue(KIND, choice.pk, lane=f"user {by.pk}")


@transaction.atomic
def cancel(choice: CandidateChoice, *, by: User) -> None:
    """Cancel a choice; one that is half applied is taken back by a job."""
    require_to_change(choice.project, by, CURATOR)
    ready = CandidateChoice.objects.filter(pk=choice.pk, state=State.READY)
    if ready.update(state=State.CANCELLED, ended_at=Now(), **EMPTIED):
        return
    choice.refresh_from_db(fields=["state"])
    job = job_of(choice)
    if job is None or choice.state not in WORKING:
        raise Conflict("ended", f"This choice of candidates is {choice.state} and cannot be cancelled.")
    if job.state == Job.State.FAILED:
        _take_back(choice.pk)
    else:
        request_cancel(job)


@transaction.atomic
def retry(choice: CandidateChoice, *, by: User) -> None:
    """Restart the failed job of a choice, in the name of whoever retries."""
    require_to_change(choice.project, by, CURATOR)
    choice.refresh_from_db(fields=["state"])
    job = job_of(choice)
    if job is None or not has_failed(choice, job):
        raise Conflict("not_failed", f"This choice of candidates is {choice.state}; no job of it has failed.")
    CandidateChoice.objects.filter(pk=choice.pk).update(by=by)
    restart(job, by=by.shown_name)


ACTIONS: dict[str, Callable[..., None]] = {"apply": apply, "cancel": cancel, "retry": retry}
"""What curators do with the latest choice, by name."""


# ---- what jobs do ---------------------------------------------------------------------------------
def mirror_job(job: Job) -> None:
    """Take back what a cancelled job began, or one that failed half-way."""
    if job.state == Job.State.CANCELLED:
        _take_back(job.subject)
    elif job.state == Job.State.FAILED:
        moving = CandidateChoice.objects.filter(pk=job.subject, state=State.APPLYING, project__choosing=True)
        if moving.exists():
            _take_back(job.subject)


def _take_back(subject: int) -> None:
    choice = CandidateChoice.objects.filter(pk=subject, state__in=WORKING)
    if Project.objects.filter(candidate_choices__in=choice, choosing=True).exists():
        choice.update(state=State.RETURNING)
        enqueue(KIND, subject, lane=f"user {choice.get().by_id}")
    else:
        choice.update(state=State.CANCELLED, ended_at=Now(), **EMPTIED)


def require_asker(subject: int) -> User | None:
    """Return who chose candidates, and nobody to take them back; raise if they could not choose them now."""
    choice = CandidateChoice.objects.select_related("by").defer(*EMPTIED).get(pk=subject)
    if choice.state not in (State.COUNTING, State.APPLYING):
        return None
    require_to_change(lock_project(choice.project), choice.by, CURATOR)
    return choice.by


def work_on(choice: CandidateChoice, progress: Progress) -> Store:
    """Do the work of the stage that the choice has reached."""
    if choice.state == State.COUNTING:
        return _count(choice, progress)
    if choice.state == State.APPLYING:
        return _apply(choice, progress)
    if choice.state == State.RETURNING:
        return _return(choice, progress)
    return lambda: None


def _count(choice: CandidateChoice, progress: Progress) -> Store:
    assert choice.wanted is not None
    basis = _basis(choice.project)
    try:
        chosen, places = look(choice.project, Wanted(**unpacked(choice.wanted)), progress)
    except DomainError as nothing:
        raise InputFault(nothing.code, nothing.detail) from nothing
    stored = packed(places.as_json())

    def store() -> None:
        counted = CandidateChoice.objects.filter(pk=choice.pk, state=State.COUNTING)
        counted.update(state=State.READY, effect=asdict(chosen), basis=basis, places=stored, wanted=None)
        if choice.applied_at_once:
            _queue(choice, by=choice.by)

    return store


def _basis(project: Project) -> str:
    """Return a digest of the imports, labels and steps that an effect depends on."""
    done = project.batches.filter(what=Batch.What.ITEMS, state=Batch.State.DONE).order_by("pk")
    stamp = Project.objects.values_list("inventory_stamp", flat=True).get(pk=project.pk)
    return hashlib.sha256(repr((str(stamp), [*done.values_list("pk", flat=True)])).encode()).hexdigest()


def _apply(choice: CandidateChoice, progress: Progress) -> Store:
    assert choice.places is not None
    _begin(choice)
    if choice.former is None:  # no sentence was moved yet
        former = packed(Places.present(choice.project).as_json())
        with fenced():
            CandidateChoice.objects.filter(pk=choice.pk).update(former=former)
    move(choice.project, Places.of_json(unpacked(choice.places)), progress)

    def store() -> None:
        _end(choice, State.DONE)
        row = CandidateChoice.objects.select_related("by").defer(*EMPTIED).get(pk=choice.pk)
        complete_choice(choice.project, row.effect["by_criterion"], before=row.before, by=row.by)

    return store


def _begin(choice: CandidateChoice) -> None:
    """Stop what would see the project half changed, unless an earlier attempt did."""
    with fenced():
        project = lock_project(choice.project)
        if project.choosing:
            return
        if _basis(project) != choice.basis:
            reason = "Sentences or labels changed after the effect was computed. Preview the choice again."
            raise InputFault("candidates_outdated", reason)
        try:
            require_no_running_import(project)
        except Conflict as running:
            raise RetryLater(running.detail) from running
        if project.test_sets.filter(state=TestSet.State.BUILDING).exists():
            raise RetryLater("A test set is being frozen; the change of candidates follows.")
        Project.objects.filter(pk=project.pk).update(choosing=True)
        CandidateChoice.objects.filter(pk=choice.pk).update(before=of_project(project))


def _return(choice: CandidateChoice, progress: Progress) -> Store:
    if choice.former is not None:
        move(choice.project, Places.of_json(unpacked(choice.former)), progress)
    return lambda: _end(choice, State.CANCELLED)


def _end(choice: CandidateChoice, state: str) -> None:
    Project.objects.filter(pk=choice.project.pk).update(choosing=False)
    CandidateChoice.objects.filter(pk=choice.pk).update(state=state, ended_at=Now(), **EMPTIED)
