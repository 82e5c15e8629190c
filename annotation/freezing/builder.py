"""Freeze decided items as a test set, source labels beside it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from django.db import transaction
from django.db.models import Q, Sum

from annotation.adjudication import unanswerable_items
from annotation.consensus import pending_recomputation
from annotation.freezing import writer
from annotation.freezing.content import (
    UNDECIDED,
    AnnotatedLines,
    SourceLines,
    common_manifest,
    label_texts,
)
from annotation.models import Item, ItemCount, Project, SourceLabels
from annotation.ontology.inventory import inventory, mapping_of, parts_of, require_not_choosing
from annotation.roles import CURATOR, require_to_change
from annotation.testset import Kind, Origin, TestSet, record_change
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import Conflict, DomainError
from evalsvc.core.jobs.exceptions import InputFault, RetryLater
from evalsvc.core.jobs.lease import Progress
from evalsvc.core.jobs.models import Job
from evalsvc.core.jobs.queue import enqueue
from evalsvc.core.jobs.transitions import Store
from evalsvc.core.web.formatting import counted

VERSION = re.compile(r"\d{1,5}\.\d{1,5}(\.\d{1,5})?(-[0-9A-Za-z.-]+)?", re.ASCII)
RULES = ("inventory_stamp", "policy", "k", "spans_may_overlap")
Agreement = Callable[[TestSet, Sequence[writer.FrozenLine], Progress], dict[str, Any]]
"""Computes the agreement over the written lines of a set and those that it leaves out."""


# ---- before a freeze ------------------------------------------------------------------------------
def settled_by_label_count(project: Project) -> dict[str, int]:
    """Count settled items by their number of accepted labels; none is N/A."""
    settled = ItemCount.objects.live(project).filter(state=Item.State.SETTLED).order_by()
    rows = settled.values_list("n_labels").annotate(total=Sum("n")).filter(total__gt=0)
    counts = dict(sorted(rows))
    na = {"N/A": counts.pop(0)} if 0 in counts else {}
    return {counted(n, "label"): counts[n] for n in counts} | na


def answers_per_item(project: Project) -> tuple[int, int]:
    """Return the range of k over items; imports may set it."""
    rows = ItemCount.objects.live(project).order_by().values_list("k").annotate(total=Sum("n"))
    wanted = {k or project.k for k, _ in rows.filter(total__gt=0)} or {project.k}
    return min(wanted), max(wanted)


def range_text(limits: tuple[int, int]) -> str:
    """Format `4`, or `7 to 20`."""
    least, most = limits
    return str(least) if least == most else f"{least} to {most}"


# ---- the freeze -----------------------------------------------------------------------------------
@transaction.atomic
def freeze(project: Project, *, name: str, version: str, leave_out: bool = False, by: User) -> TestSet:
    """Create a test set of decided items and queue its job."""
    require_to_change(project, by, CURATOR)
    if not VERSION.fullmatch(version.strip()):
        expected = "two or three numbers with dots, for example 1.0, 1.2.1 or 2.0-draft"
        raise DomainError("bad_version", f"{version!r} is not a version. Use {expected}.", field="version")
    project = Project.objects.select_for_update(no_key=True).get(pk=project.pk)
    pending_recomputation.require_recomputed(project)
    require_not_choosing(project)
    _require_decided(
        ItemCount.objects.live(project).by_state(),
        unanswerable_items.unanswerable(project).count(),
        leave_out,
    )
    values = {"kind": project.kind, "project": project, "by": by, "manifest": {"leave_out": leave_out}}
    annotated = writer.create_test_set(name=name, version=version, origin=Origin.ANNOTATED, **values)
    if SourceLabels.objects.filter(item__in=project.items.corpus()).exists():
        writer.create_test_set(name=name, version=version, origin=Origin.SOURCE, twin=annotated, **values)
    record_change(annotated, "freeze", by=by, after=values["manifest"])
    enqueue("freeze", annotated.pk, lane=f"user {by.pk}")
    annotated.refresh_from_db()
    return annotated


def require_asker(subject: int) -> User:
    """Return who asked for a freeze; raise if they could not ask for it now."""
    test_set = TestSet.objects.select_related("by").get(pk=subject)
    project = Project.objects.select_for_update(no_key=True).get(test_sets=test_set)
    require_to_change(project, test_set.by, CURATOR)
    return test_set.by


def _require_decided(counts: dict[str, int], n_unanswerable: int, leave_out: bool) -> None:
    if not counts["settled"] + counts["adjudicated"]:
        raise Conflict(
            "nothing_settled", "No sentence is settled yet.", hint="Label sentences, then freeze them."
        )
    if leave_out or not counts["open"] + counts["disputed"]:
        return
    hint = "Settle them, or leave them out (`leave_out`, --leave-out); the manifest lists what is left out."
    if n_unanswerable:
        hint = f"{n_unanswerable:,} of the open ones are unanswerable: decide those. {hint}"
    is_open = f"{counted(counts['open'], 'sentence')} {'is' if counts['open'] == 1 else 'are'} open"
    raise Conflict("not_settled", f"{is_open} and {counts['disputed']:,} disputed.", hint=hint)


def build(test_set: TestSet, progress: Progress, agreement: Agreement) -> Store:
    """Write the lines of both sets; the returned store seals them together.

    Answers to sentences that are left out are not in the lines: `agreement` compares them now.
    """
    assert test_set.project is not None
    project = Project.objects.get(pk=test_set.project.pk)
    if pending_recomputation.is_recomputing(project):
        raise RetryLater(f"The items of {project} are being recomputed; the freeze follows.")
    if project.choosing:
        raise RetryLater(f"The candidates of {project} are being changed; the freeze follows.")
    leave_out = bool(test_set.manifest.get("leave_out"))
    mapping = mapping_of(project)
    total = project.items.count()
    annotated = AnnotatedLines(project)
    n_annotated = writer.write_rows(test_set, annotated.lines(), progress=progress, total=total)
    n_reopened = sum(len(annotated.left_out.get(state, [])) for state in UNDECIDED)
    if n_reopened and not leave_out:
        was = "was" if n_reopened == 1 else "were"
        reason = f"{counted(n_reopened, 'sentence')} {was} reopened. Settle them, or leave them out."
        raise InputFault("not_settled", reason)
    parts_named = project.kind == Kind.JOINT
    labels = [
        {"name": c.name, "title": c.title} | ({"part": str(part)} if parts_named else {})
        for part in parts_of(project)
        for c in inventory(project, part)
    ]
    common = common_manifest(project)
    project.refresh_from_db(fields=["guideline", "guideline_version"])  # not before the answers under it
    guideline = {"guideline": project.guideline, "guideline_version": project.guideline_version}
    more = {"leave_out": leave_out, **guideline, "inventory": label_texts(project)}
    manifest = common | annotated.manifest() | more
    parts = [(test_set, n_annotated, manifest)]
    source_set = TestSet.objects.filter(twin=test_set).first()
    if source_set is not None:
        source = SourceLines(project, mapping)
        n_source = writer.write_rows(source_set, source.lines(), progress=progress, total=total)
        parts.append((source_set, n_source, common | source.manifest()))
    _require_new(test_set, source_set, labels, manifest)
    test_set.manifest, test_set.labels = manifest, labels
    if annotated.answered:
        manifest["agreement"] |= agreement(test_set, annotated.answered, progress)

    def store() -> None:
        now = Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        changed = any(getattr(now, name) != getattr(project, name) for name in RULES)
        if changed or pending_recomputation.is_recomputing(now):
            raise RetryLater(f"Labels or rules of {project} changed in the meantime; it is frozen again.")
        for part, count, manifest in parts:
            writer.seal(part, count=count, labels=labels, manifest=manifest)

    return store


IDENTICAL = "Nothing has changed since {}: use that one."


def _require_new(
    test_set: TestSet, source_set: TestSet | None, labels: list[dict[str, str]], manifest: dict[str, Any]
) -> None:
    """Reject a freeze of exactly what an earlier one has.

    These are lines, answers, rule, labels, guideline and source labels.
    """
    written = writer.digests(test_set)
    source = writer.digests(source_set).gold if source_set else None
    alike = TestSet.objects.frozen().filter(
        project=test_set.project, origin=Origin.ANNOTATED, sha256=written.gold
    )
    stamped = _comparable(written.in_manifest(manifest))
    for earlier in alike.exclude(pk=test_set.pk):
        twin = TestSet.objects.frozen().filter(twin=earlier, batch=None)  # no imported one
        sources_alike = twin.values_list("sha256", flat=True).first() == source
        if sources_alike and earlier.labels == labels and _comparable(earlier.manifest) == stamped:
            raise InputFault("identical_freeze", IDENTICAL.format(earlier))


def same_as(failed: TestSet) -> TestSet | None:
    """Return the earlier set that a freeze failed to differ from; a retry would fail again."""
    if failed.state != TestSet.State.FAILED or failed.project_id is None:
        return None
    earlier = TestSet.objects.frozen().filter(project=failed.project_id, origin=Origin.ANNOTATED)
    return next((each for each in earlier if failed.reason == IDENTICAL.format(each)), None)


def _comparable(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return what makes a difference: the numbers of answers, and the agreement, follow from the answers.

    Manifests of earlier versions have no digest of answers to what was left out. If there were some, nothing
    tells whether they are the same.
    """
    beside = ("evalsvc", "leave_out", "k_of_items", "answers_of_items", "binds_files", "agreement")
    compared = manifest.get("agreement", {}).get("left_out", 0)
    kept = {name: value for name, value in manifest.items() if name not in beside}
    return kept | {"compared": compared}


def mirror_job(job: Job) -> None:
    """Mark both sets as failed when their job fails or is cancelled."""
    if job.state in (Job.State.FAILED, Job.State.CANCELLED):
        reason = job.error or "It was cancelled."
        _log_failure(job)
        for sets in (TestSet.objects.filter(pk=job.subject), TestSet.objects.filter(twin=job.subject)):
            sets.filter(state=TestSet.State.BUILDING).update(state=TestSet.State.FAILED, reason=reason)
    elif job.state == Job.State.QUEUED:  # perhaps a failed freeze that is retried
        sets = TestSet.objects.filter(Q(pk=job.subject) | Q(twin=job.subject), state=TestSet.State.FAILED)
        sets.update(state=TestSet.State.BUILDING, reason="")


def _log_failure(job: Job) -> None:
    """Log that a set which was logged as begun was not made, beside the person who began it."""
    failed = TestSet.objects.filter(pk=job.subject, state=TestSet.State.BUILDING).first()
    if failed and job.state == Job.State.FAILED:
        record_change(failed, f"{job.kind} failed", by=failed.by, after=job.error)
