"""Imports: receive a file, load it in a job, publish its rows."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from io import BytesIO
from typing import Any, BinaryIO, cast

from django.conf import settings
from django.core.files import File
from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from annotation.imports import gold, items, suggestions, votes
from annotation.imports.options import OPTIONS, check_options
from annotation.models import Batch, Item, Project, Suggestion, Vote
from annotation.ontology.inventory import lock_project, require_no_running_import
from annotation.roles import CURATOR, require_organiser, require_to_change
from annotation.testset import TestSet, TestSetRow, record_change
from evalsvc.core.accounts.models import User
from evalsvc.core.activity.models import record
from evalsvc.core.errors.exceptions import Conflict, DomainError, TooLarge
from evalsvc.core.formats import brat
from evalsvc.core.formats.problems import FileRejected, Problems
from evalsvc.core.formats.registry import format_of, formats
from evalsvc.core.formats.text_lines import GZIP, Limits
from evalsvc.core.jobs import kinds
from evalsvc.core.jobs.exceptions import REFUSED, InputFault
from evalsvc.core.jobs.lease import Progress, fenced
from evalsvc.core.jobs.models import Job
from evalsvc.core.jobs.queue import enqueue, request_cancel, restart
from evalsvc.core.jobs.transitions import Store
from evalsvc.core.storage import open_stored, require_room
from evalsvc.core.upkeep.registry import Finding, register_check, register_sweep
from evalsvc.core.upkeep.stored_files import Folder, register_folder

FILE_CURE = "Copy files/{name} of a backup to its place. The imported rows are not affected."
GOLD_CURE = "Restore the database from a backup made before the change; scores wait until then."


UNFINISHED_STATES = (Batch.State.REFUSED, Batch.State.FAILED, Batch.State.CANCELLED)
CHUNK = 1_000
MOST_JOINED = 16 << 20
WITNESSES = 5
LOADERS: dict[str, Callable[[Batch, BinaryIO, Problems, Limits, Progress], Store]] = {
    Batch.What.ITEMS: items.load,
    Batch.What.VOTES: votes.load,
    Batch.What.GOLD: gold.load,
    Batch.What.SUGGESTIONS: suggestions.load,
}


def receive(
    *,
    content: str,
    upload: BinaryIO | File,
    filename: str,
    by: User,
    format: str = "",
    options: Mapping[str, Any] | None = None,
    project: Project | None = None,
    annotations: BinaryIO | File | None = None,
) -> Batch:
    """Store the file; create the import and its job in one transaction.

    `annotations` are the second file of a format that has two.
    """
    options = dict(options or {})
    if annotations is not None:
        format, upload = brat.FORMAT.key, joined(upload, annotations, format=format)
    format = format or (next(iter(formats("suggestions"))) if content == Batch.What.SUGGESTIONS else "")
    _require_may_import(content, project, by)
    check_options(content, format, options)
    digest, size = _digest_and_size(upload)
    require_room(size)
    with transaction.atomic():
        batch = Batch(
            project=project,
            what=content,
            format=format,
            options=options,
            filename=filename[:200],
            sha256=digest,
            size=size,
            by=by,
        )
        if project is not None:
            lock_project(project)
            require_no_running_import(project)  # both could contain the same item
        batch.file.save(f"{digest[:16]}", upload if isinstance(upload, File) else File(upload), save=False)
        batch.save()
        if project is not None:
            record(
                project, "import", by=by, about=batch.filename, after={"import": batch.pk, "what": content}
            )
        if content == Batch.What.GOLD:
            gold.create_test_set(batch)
        enqueue("import", batch.pk, lane=f"user {by.pk}")
    batch.refresh_from_db()
    return batch


def joined(upload: BinaryIO | File, annotations: BinaryIO | File, *, format: str = "") -> BinaryIO:
    """Return a text and its annotations as one file, from their beginnings."""
    if format not in ("", brat.FORMAT.key):
        detail = "Only brat has a file of annotations beside its text."
        raise DomainError(
            "bad_option", detail, hint="Leave the format or the second file out.", field="format"
        )
    parts = []
    for file in (upload, annotations):
        file.seek(0)
        parts.append(file.read(MOST_JOINED + 1))
        if len(parts[-1]) > MOST_JOINED:
            detail = f"A document of brat is larger than {MOST_JOINED:,} bytes."
            raise TooLarge("too_large", detail, hint="Split the document.", limit=MOST_JOINED)
        if parts[-1].startswith(GZIP):
            raise DomainError("bad_option", "Send both files of brat unpacked.", field="annotations")
    return BytesIO(brat.join(*parts))


def _require_may_import(content: str, project: Project | None, by: User) -> None:
    if content not in OPTIONS:
        raise DomainError(
            "unknown_import", f"Unknown content {content!r}. Use one of: {', '.join(OPTIONS)}.", field="what"
        )
    if content == Batch.What.GOLD:
        require_organiser(by)
    elif project is None:
        raise DomainError(
            "project_missing", f"An import of {content} needs a project. Specify one.", field="project"
        )
    else:
        require_to_change(project, by, CURATOR)


def require_asker(subject: int) -> User:
    """Return who sent a file; raise if they could not send it now."""
    batch = Batch.objects.select_related("by").get(pk=subject)
    project = lock_project(batch.project) if batch.project else None
    _require_may_import(batch.what, project, batch.by)
    return batch.by


def _digest_and_size(upload: BinaryIO | File) -> tuple[str, int]:
    """Return digest and size; the job counts the lines of gzip files."""
    digest, size, lines, gzipped = hashlib.sha256(), 0, 0, False
    most, limit = settings.IMPORT_MAX_LINES, settings.UPLOAD_MAX_BYTES
    for piece in iter(lambda: upload.read(1 << 18), b""):
        gzipped = gzipped or (not size and piece.startswith(GZIP))
        size += len(piece)
        lines += 0 if gzipped else piece.count(b"\n")
        digest.update(piece)
        if size > limit:
            hint = "Compress it with gzip."
            raise TooLarge("too_large", f"The file is larger than {limit:,} bytes.", hint=hint, limit=limit)
        if lines > most:
            hint = "Split it into several files."
            raise TooLarge("too_many_lines", f"The file has more than {most:,} lines.", hint=hint, limit=most)
    upload.seek(0)
    return digest.hexdigest(), size


def load(batch: Batch, progress: Progress) -> Store:
    """Load the file; the returned store makes its rows count."""
    clear(batch)
    problems = Problems()
    limits = Limits(
        settings.UPLOAD_MAX_UNPACKED_BYTES, settings.IMPORT_MAX_LINES, settings.UPLOAD_MAX_LINE_BYTES
    )
    try:
        others = Batch.objects.exclude(pk=batch.pk).order_by("-pk").values_list("file", flat=True)
        with open_stored(str(batch.file.name), others=others[:WITNESSES]) as source:
            if hashlib.file_digest(cast(Any, source), "sha256").hexdigest() != batch.sha256:
                raise InputFault(
                    "file_changed", "The stored file differs from the uploaded one. Import it again."
                )
            source.seek(0)
            scheme = batch.options.get("scheme")
            batch.format = batch.format or format_of(source, scheme=scheme, problems=problems, limits=limits)
            store = LOADERS[batch.what](batch, source, problems, limits, progress)
            if batch.options.get("on_error") == "refuse-file":
                problems.raise_if_any()
    except FileRejected as refused:
        _note(batch, refused.problems)
        raise InputFault(REFUSED, refused.problems.summary()) from refused
    _note(batch, problems)

    def finish() -> None:
        rows = Batch.objects.filter(pk=batch.pk)
        rows.update(state=Batch.State.DONE, format=batch.format, ended_at=Now())
        store()  # may add to the counts
        rows.update(counts=batch.counts)

    return finish


def _note(batch: Batch, problems: Problems) -> None:
    """Store the problems, also of a rejected import."""
    summary = problems.as_json()
    batch.problems, batch.refused = summary["problems"], problems.places
    batch.counts = batch.counts | {"by_code": summary["by_code"], "warnings": summary["warnings"]}
    if summary["first_warnings"]:
        batch.counts["first_warnings"] = summary["first_warnings"]
    with fenced():
        batch.save(update_fields=["format", "problems", "refused", "counts"])


def mirror_job(job: Job) -> None:
    """Copy the job's state to its import; the store writes `done`."""
    states = {
        Job.State.QUEUED: Batch.State.RECEIVED,
        Job.State.RUNNING: Batch.State.RUNNING,
        Job.State.CANCELLED: Batch.State.CANCELLED,
        Job.State.FAILED: Batch.State.REFUSED if job.error_code == REFUSED else Batch.State.FAILED,
    }
    state = states.get(Job.State(job.state))
    if state is None:
        return
    changes: dict[str, Any] = {}
    if state in UNFINISHED_STATES:
        changes = {"ended_at": Now()}
    elif state == Batch.State.RECEIVED:  # perhaps again: what the attempt before found is history
        changes = {"ended_at": None, "counts": {}, "problems": [], "refused": 0}
    Batch.objects.filter(pk=job.subject).update(state=state, reason=job.error, **changes)
    if job.state == Job.State.FAILED:
        _log_failure(job)
    if state in UNFINISHED_STATES:
        building = TestSet.objects.filter(batch=job.subject, state=TestSet.State.BUILDING)
        building.update(state=TestSet.State.FAILED, reason=job.error or "The import was cancelled.")
    elif state == Batch.State.RECEIVED:  # perhaps a failed import that is retried
        failed = TestSet.objects.filter(batch=job.subject, state=TestSet.State.FAILED)
        failed.update(state=TestSet.State.BUILDING, reason="")


def _log_failure(job: Job) -> None:
    """Log that a file which was logged as sent was not imported, beside the person who sent it."""
    batch = Batch.objects.select_related("project", "by").get(pk=job.subject)
    if batch.project is not None:
        record(batch.project, "import failed", by=batch.by, about=batch.filename, after={"import": batch.pk})


def _job_of(batch: Batch) -> Job | None:
    return Job.objects.filter(kind="import", subject=batch.pk).order_by("-pk").first()


def cancel(batch: Batch, *, by: User) -> None:
    """Cancel a waiting import at once, a running one at its next report."""
    _require_may_import(batch.what, batch.project, by)
    job = _job_of(batch)
    if job is None or job.state in Job.ENDED:
        raise Conflict("ended", f"This import is {batch.state} and cannot be cancelled.")
    request_cancel(job)


def retry(batch: Batch, *, by: User) -> None:
    """Restart the job of a failed import, whose file is still stored, in the name of whoever retries.

    One of gold stays that of its importer, unless that one may no longer import; the set stays theirs.
    """
    _require_may_import(batch.what, batch.project, by)
    job = _job_of(batch)
    if job is None or job.state != Job.State.FAILED:
        raise Conflict("not_failed", f"This import is {batch.state}. Only a failed one can be restarted.")
    with transaction.atomic():
        if batch.project is not None:
            lock_project(batch.project)
            require_no_running_import(batch.project)
            record(batch.project, "import started again", by=by, about=batch.filename)
        elif test_set := TestSet.objects.filter(batch=batch).first():
            record_change(test_set, "import started again", by=by)
        else:
            raise Conflict(
                "name_taken", "Another import took the name of this test set. Import the file again."
            )
        if batch.project is not None or kinds.has_lost_asker(job):
            Batch.objects.filter(pk=batch.pk).update(by=by)
        restart(job, by=by.shown_name)


def sweep() -> int:
    """Remove rows of unfinished imports and failed test sets."""
    removed = sweep_imports(Q())
    failed = TestSet.objects.filter(state=TestSet.State.FAILED)
    for test_set in failed.filter(lines__isnull=False).distinct():
        removed += _remove(test_set.lines.order_by(), unless_restarted=failed.filter(pk=test_set.pk))
    return removed


def sweep_imports(which: Q) -> int:
    """Remove rows of these unfinished imports."""
    unfinished = Batch.objects.filter(which, state__in=UNFINISHED_STATES)
    removed = 0
    for rows in ("votes", "suggestions", "items"):
        for batch in unfinished.filter(**{f"{rows}__isnull": False}).distinct():
            removed += clear(batch, unless_restarted=unfinished.filter(pk=batch.pk))
    return removed


def count_unfinished() -> int:
    """Count these rows."""
    batches = Batch.objects.filter(state__in=UNFINISHED_STATES)
    of_imports = [model.objects.filter(batch__in=batches) for model in (Vote, Suggestion, Item)]
    lines = TestSetRow.objects.filter(test_set__state=TestSet.State.FAILED)
    return sum(rows.count() for rows in (*of_imports, lines))


def clear(batch: Batch, *, unless_restarted: QuerySet[Any] | None = None) -> int:
    """Remove the rows of an unfinished import, in short transactions."""
    if batch.state == Batch.State.DONE:
        raise Conflict("import_done", f"{batch} is done. Its rows cannot be removed.")
    staged: tuple[QuerySet[Any], ...] = (
        Vote.objects.filter(batch=batch),
        Suggestion.objects.filter(batch=batch),
        Item.objects.filter(batch=batch),
        TestSetRow.objects.filter(test_set__batch=batch),
    )
    return sum(_remove(rows, unless_restarted=unless_restarted) for rows in staged)


def _remove(rows: QuerySet[Any], *, unless_restarted: QuerySet[Any] | None) -> int:
    """Remove rows chunk by chunk, unless their import was started again."""
    removed = 0
    while True:
        with fenced():
            if unless_restarted is not None and not unless_restarted.select_for_update().exists():
                return removed
            keys = list(rows.values_list("pk", flat=True)[:CHUNK])
            if not keys:
                return removed
            rows.model._default_manager.filter(pk__in=keys).delete()
        removed += len(keys)


def register() -> None:
    register_folder(Folder("imports", Batch, "file", FILE_CURE))
    register_sweep("staged rows", sweep, count_unfinished)
    register_check("test sets", check_gold)


def check_gold(share: str) -> Iterator[Finding]:
    """Compare the lines of frozen sets with their digests."""
    for test_set in TestSet.objects.frozen().filter(sha256__startswith=share).order_by("pk"):
        try:
            test_set.verify()
        except Conflict as changed:
            yield Finding("gold_changed", str(changed), GOLD_CURE)
