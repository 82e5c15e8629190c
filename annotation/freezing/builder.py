"""Freeze decided items as a test set, source labels beside it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from itertools import islice
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Count, Q, QuerySet, Sum

from annotation.adjudication import unanswerable_items
from annotation.consensus import recomputation
from annotation.consensus.majority import POLICY_VERSION
from annotation.freezing import writer
from annotation.freezing.provenance import ProvenanceWriter
from annotation.models import Adjudication, Answer, Item, ItemCount, Project, SourceLabels, Vote
from annotation.ontology.inventory import inventory, mapping_of, parts_of, require_not_choosing
from annotation.roles import CURATOR, require_to_change
from annotation.testset import Kind, Origin, TestSet, record_change
from evalsvc.core.accounts.models import User
from evalsvc.core.database import in_batches
from evalsvc.core.errors.exceptions import Conflict, DomainError
from evalsvc.core.formats.label_mapping import LabelMapping
from evalsvc.core.formats.records import token_starts
from evalsvc.core.jobs.exceptions import InputFault, RetryLater
from evalsvc.core.jobs.lease import Progress
from evalsvc.core.jobs.models import Job
from evalsvc.core.jobs.queue import enqueue
from evalsvc.core.jobs.transitions import Store
from evalsvc.core.web.formatting import counted

DECIDED = (Item.State.SETTLED, Item.State.ADJUDICATED)
UNDECIDED = (Item.State.OPEN, Item.State.DISPUTED)
VERSION = re.compile(r"\d{1,5}\.\d{1,5}(\.\d{1,5})?(-[0-9A-Za-z.-]+)?", re.ASCII)
RULES = ("inventory_stamp", "policy", "k", "spans_may_overlap")


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
        raise DomainError("bad_version", f"{version!r} is no version. Use {expected}.", field="version")
    project = Project.objects.select_for_update(no_key=True).get(pk=project.pk)
    if recomputation.is_recomputing(project):
        raise Conflict(
            "recomputing",
            f"The items of {project} are being recomputed.",
            hint="Try again when that is done.",
        )
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
    enqueue("freeze", annotated.pk)
    annotated.refresh_from_db()
    return annotated


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


def build(test_set: TestSet, progress: Progress) -> Store:
    """Write the lines of both sets; the returned store seals them together."""
    assert test_set.project is not None
    project = Project.objects.get(pk=test_set.project.pk)
    if recomputation.is_recomputing(project):
        raise RetryLater(f"The items of {project} are being recomputed; the freeze follows.")
    if project.choosing:
        raise RetryLater(f"The candidates of {project} are being changed; the freeze follows.")
    leave_out = bool(test_set.manifest.get("leave_out"))
    mapping = mapping_of(project)
    total = project.items.count()
    annotated = _AnnotatedLines(project)
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
    common = _common_manifest(project)
    guideline = {"guideline": project.guideline, "guideline_version": project.guideline_version}
    more = {"leave_out": leave_out, **guideline, "inventory": _texts(project)}
    manifest = common | annotated.manifest() | more
    _require_new(test_set, writer.digests(test_set), labels, manifest)
    parts = [(test_set, n_annotated, manifest)]
    source_set = TestSet.objects.filter(twin=test_set).first()
    if source_set is not None:
        source = _SourceLines(project, mapping)
        n_source = writer.write_rows(source_set, source.lines(), progress=progress, total=total)
        parts.append((source_set, n_source, common | source.manifest()))

    def store() -> None:
        now = Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        changed = any(getattr(now, name) != getattr(project, name) for name in RULES)
        if changed or recomputation.is_recomputing(now):
            raise RetryLater(f"Labels or rules of {project} changed in the meantime; it is frozen again.")
        for part, count, manifest in parts:
            writer.seal(part, count=count, labels=labels, manifest=manifest)

    return store


IDENTICAL = "Nothing has changed since {}: use that one."


def _require_new(
    test_set: TestSet, written: writer.Digests, labels: list[dict[str, str]], manifest: dict[str, Any]
) -> None:
    """Reject a freeze of exactly what an earlier one has: lines, answers, rule, labels and guideline."""
    alike = TestSet.objects.frozen().filter(
        project=test_set.project, origin=Origin.ANNOTATED, sha256=written.gold
    )
    stamped = manifest | {"provenance_sha256": written.provenance}
    for earlier in alike.exclude(pk=test_set.pk):
        same = _comparable(earlier.manifest) == _comparable(stamped) and earlier.labels == labels
        if same:
            raise InputFault("identical_freeze", IDENTICAL.format(earlier))


def same_as(failed: TestSet) -> TestSet | None:
    """Return the earlier set that a freeze failed to differ from; a retry would fail again."""
    if failed.state != TestSet.State.FAILED or failed.project_id is None:
        return None
    earlier = TestSet.objects.frozen().filter(project=failed.project_id, origin=Origin.ANNOTATED)
    return next((each for each in earlier if failed.reason == IDENTICAL.format(each)), None)


def _comparable(manifest: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in manifest.items() if name not in ("evalsvc", "leave_out")}


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


# ---- lines and manifests --------------------------------------------------------------------------
def _items_in_order(project: Project) -> QuerySet[Item]:
    return project.items.live().order_by("rank", "pk")


class _AnnotatedLines:
    """Gold lines from votes and adjudications."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.left_out: dict[str, list[str]] = {}
        self.states: Counter[str] = Counter()
        self.emptied = 0

    def lines(self) -> Iterator[writer.FrozenLine]:
        """Yield gold lines in order of work; list undecided items instead."""
        items, provenance = in_batches(_items_in_order(self.project)), ProvenanceWriter(self.project)
        while chunk := list(islice(items, writer.CHUNK)):
            decided = provenance.of([item for item in chunk if item.state in DECIDED])
            for item in chunk:
                self.states[item.state] += 1
                self.emptied += item.emptied
                if item.state in DECIDED and item.gold is not None:
                    yield writer.FrozenLine(gold_line(item, item.gold), decided[item.pk])
                else:
                    self.left_out.setdefault(item.state, []).append(item.external_id)

    def manifest(self) -> dict[str, Any]:
        answers = Answer.objects.filter(item__project=self.project, item__use="").active()
        return {
            "origin": Origin.ANNOTATED,
            "counts": {state: self.states[state] for state in Item.State.values}
            | {"answers": answers.count(), "answers_emptied_by_deletion": self.emptied},
            "answers": answer_origins(answers.filter(item__state__in=DECIDED)),
            "left_out": self.left_out,
            **({"beside": beside} if (beside := _beside(self.project)) else {}),
            "decisions": decision_notes(self.project),
            "people": contributors(self.project),
        }


def _beside(project: Project) -> int:
    """Count the sentences that are no candidates."""
    return project.items.present().filter(use=Item.Use.CORPUS).count()


class _SourceLines:
    """Lines from the sealed source labels of the whole corpus."""

    def __init__(self, project: Project, mapping: LabelMapping) -> None:
        self.project, self.mapping = project, mapping
        self.unlabelled: list[str] = []
        self.emptied = 0

    def lines(self) -> Iterator[writer.FrozenLine]:
        """Yield the lines of all items with source labels, N/A included."""
        items = self.project.items.corpus().order_by("rank", "pk")
        for item in in_batches(items.select_related("sealed")):
            sealed = getattr(item, "sealed", None)
            if sealed is None:
                self.unlabelled.append(item.external_id)
                continue
            mapped = self.mapping.payload(sealed.labels)
            self.emptied += mapped.emptied
            yield writer.FrozenLine(gold_line(item, mapped.payload))

    def manifest(self) -> dict[str, Any]:
        return {
            "origin": Origin.SOURCE,
            "counts": {"labels_emptied_by_deletion": self.emptied},
            "left_out": {"without source labels": self.unlabelled} if self.unlabelled else {},
            "people": [],
        }


def answer_origins(answers: QuerySet[Answer]) -> dict[str, int]:
    """Count answers given here blind, given on a shown prediction, and imported."""
    imported, shown = Q(vote__batch__isnull=False), Q(vote__shown__isnull=False)
    return answers.aggregate(
        blind=Count("pk", filter=~imported & ~shown),
        prediction_shown=Count("pk", filter=~imported & shown),
        imported=Count("pk", filter=imported),
    )


def decision_notes(project: Project) -> list[dict[str, str]]:
    """List active decisions that give a reason or leave an item out."""
    active = Adjudication.objects.filter(item__in=project.items.live()).active()
    noted = active.exclude(reason="", finding="").order_by("item__rank", "item")
    rows = noted.values_list("item__external_id", "finding", "reason")
    return [{"id": name, "finding": finding, "reason": reason} for name, finding, reason in rows]


def contributors(project: Project) -> list[int]:
    """List everybody who answered or decided: evaluation marks their teams' submissions."""
    voters = Vote.objects.filter(item__project=project).exclude(annotator__user=None)
    adjudicators = Adjudication.objects.filter(item__project=project)
    ids = {*voters.values_list("annotator__user", flat=True), *adjudicators.values_list("by", flat=True)}
    return sorted(pk for pk in ids if pk is not None)


def _common_manifest(project: Project) -> dict[str, Any]:
    steps = project.steps.filter(undone_at=None)
    return {
        "project": project.slug,
        "kind": project.kind,
        "policy": project.policy,
        "policy_version": POLICY_VERSION,
        "k": project.k,
        "k_of_items": list(answers_per_item(project)),
        "na_means": project.na_means,
        "spans_may_overlap": project.spans_may_overlap,
        "ontology": [
            {"number": s.number, "operation": s.operation, "sources": s.sources, "target": s.target}
            | ({"targets": s.targets} if s.targets else {})
            for s in steps
        ],
        "evalsvc": settings.VERSION,
    }


def _texts(project: Project) -> dict[str, list[dict[str, Any]]]:
    """Return the current labels with their texts, by part of the inventory."""
    hidden = ("key", "row")
    return {
        str(part): [
            {name: value for name, value in asdict(choice).items() if value and name not in hidden}
            for choice in inventory(project, part)
        ]
        for part in parts_of(project)
    }


def gold_line(item: Item, gold: dict[str, Any]) -> dict[str, Any]:
    """Return the frozen line of an item: imported sentence and gold."""
    if item.head is None or item.tail is None:
        text = {"tokens": item.tokens} if item.tokens is not None else {"text": item.text}
        return {"id": item.external_id, **text, "spans": gold["spans"], "relations": gold["relations"]}
    return {"id": item.external_id, **_sentence(item), "relations": gold["relations"]}


def _sentence(item: Item) -> dict[str, Any]:
    """Return tokens if both mentions fit them, else text.

    Offsets count the same unit.
    """
    assert item.head is not None
    assert item.tail is not None
    places = [(item.head["start"], item.head["end"]), (item.tail["start"], item.tail["end"])]
    tokens: list[str] | None = item.tokens
    if tokens is not None:
        starts = token_starts(tuple(tokens))
        ends = [start + len(token) for start, token in zip(starts, tokens, strict=True)]
        if all(start in starts and end in ends for start, end in places):
            places = [(starts.index(start), ends.index(end) + 1) for start, end in places]
        else:
            tokens = None
    sentence: dict[str, Any] = {"tokens": tokens} if tokens is not None else {"text": item.text}
    for key, mention, place in zip("ht", (item.head, item.tail), places, strict=True):
        entity = {"id": mention["id"], "name": mention["name"], "pos": list(place)}
        sentence[key] = entity | ({"type": mention["type"]} if mention.get("type") else {})
    return sentence
