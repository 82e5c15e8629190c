"""The freeze: what is settled becomes an immutable set, and the source labels of the corpus its twin."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

from annotation.adjudication import unanswerable_items
from annotation.consensus import item_state
from annotation.consensus.label_mapping import LabelMapping
from annotation.freezing import settled_items, writer
from annotation.models import Adjudication, Answer, Item, Project, SourceLabels, Vote
from annotation.ontology.inventory import inventory, mapping_of, parts_of
from annotation.roles import CURATOR, require
from annotation.testset import Origin, TestSet
from evalsvc.core.accounts.models import User
from evalsvc.core.db.batched_reads import in_batches
from evalsvc.core.errors.exceptions import Conflict
from evalsvc.core.formats.records import token_starts
from evalsvc.core.jobs.exceptions import InputFault, TryLater
from evalsvc.core.jobs.lease import Progress
from evalsvc.core.jobs.models import Job
from evalsvc.core.jobs.queue import enqueue
from evalsvc.core.jobs.transitions import Store
from evalsvc.core.web.formatting import counted

READY = (Item.State.SETTLED, Item.State.ADJUDICATED)
UNDECIDED = (Item.State.OPEN, Item.State.DISPUTED)
RULES = ("inventory_stamp", "policy", "k", "spans_may_overlap")


def count_by_state(project: Project) -> dict[str, int]:
    """How many items stand in each state; open and disputed ones stop a freeze."""
    states = Counter(project.items.live().values_list("state", flat=True))
    return {state: states[state] for state in Item.State.values}


@transaction.atomic
def freeze(project: Project, *, name: str, version: str, leave_out: bool = False, by: User) -> TestSet:
    """Ask for the freeze of what is settled and adjudicated now; a job builds it."""
    require(project, by, CURATOR)
    project = Project.objects.select_for_update(no_key=True).get(pk=project.pk)
    if item_state.is_recomputing(project):
        raise Conflict(
            "recomputing", f"{project} is being decided anew.", hint="Try again when that is done."
        )
    _check(count_by_state(project), unanswerable_items.unanswerable(project).count(), leave_out=leave_out)
    made = {"kind": project.kind, "project": project, "by": by, "manifest": {"leave_out": leave_out}}
    annotated = writer.create_test_set(name=name, version=version, origin=Origin.ANNOTATED, **made)
    if SourceLabels.objects.filter(item__in=project.items.live()).exists():
        writer.create_test_set(name=name, version=version, origin=Origin.SOURCE, twin=annotated, **made)
    enqueue("freeze", annotated.pk)
    annotated.refresh_from_db()
    return annotated


def _check(counts: dict[str, int], passed_on: int, *, leave_out: bool) -> None:
    undecided = counts["open"] + counts["disputed"]
    if not counts["settled"] + counts["adjudicated"]:
        raise Conflict("nothing_settled", "No sentence is settled yet: there is nothing to freeze.")
    if undecided and not leave_out:
        open_ = f"{counted(counts['open'], 'sentence')} {'is' if counts['open'] == 1 else 'are'} open"
        words = f"{open_} and {counts['disputed']:,} disputed."
        hint = "Settle them, or leave them out: the manifest then lists them."
        if passed_on:
            hint = f"Nobody could decide {passed_on:,} of the open ones: decide those. {hint}"
        raise Conflict("not_settled", words, hint=hint)


def build(test_set: TestSet, progress: Progress) -> Store:
    """Write both sets; the returned store seals them together."""
    assert test_set.project is not None
    project = _decided(test_set.project.pk)
    leave_out = bool(test_set.manifest.get("leave_out"))
    mapping = mapping_of(project)
    annotated = _Annotated(project)
    count = writer.write_rows(test_set, annotated.golds(), progress=progress, total=project.items.count())
    undecided = [entry for state in UNDECIDED for entry in annotated.left_out.get(state, [])]
    if undecided and not leave_out:
        n = counted(len(undecided), "sentence")
        was = "was" if len(undecided) == 1 else "were"
        words = f"{n} {was} opened again meanwhile. Settle what is open, or leave it out."
        raise InputFault("not_settled", words)
    labels = [
        {"name": c.name, "title": c.title} for part in parts_of(project) for c in inventory(project, part)
    ]
    manifest = _manifest(project, mapping) | annotated.manifest() | {"leave_out": leave_out}
    source = TestSet.objects.filter(twin=test_set).first()
    if source is None:

        def alone() -> None:
            _unchanged(project)
            writer.seal(test_set, count=count, labels=labels, manifest=manifest)

        return alone
    sealed = _Source(project, mapping)
    in_source = writer.write_rows(source, sealed.golds(), progress=progress, total=project.items.count())
    told = _manifest(project, mapping) | sealed.manifest()

    def store() -> None:
        _unchanged(project)
        writer.seal(test_set, count=count, labels=labels, manifest=manifest)
        writer.seal(source, count=in_source, labels=labels, manifest=told)

    return store


def _decided(pk: int) -> Project:
    """The project under rules by which each of its items is decided."""
    project = Project.objects.get(pk=pk)
    if item_state.is_recomputing(project):
        raise TryLater(f"{project} is being decided anew; it is frozen after that.")
    return project


def _unchanged(project: Project) -> None:
    """Rows, labels and manifest are of one and the same rules, and those are still the project's."""
    now = Project.objects.select_for_update(no_key=True).get(pk=project.pk)
    if any(getattr(now, name) != getattr(project, name) for name in RULES) or item_state.is_recomputing(now):
        raise TryLater(f"Labels or rules of {project} changed meanwhile; it is frozen anew.")


def mirror_job(job: Job) -> None:
    """A freeze that ends without a set says why on both."""
    if job.state in (Job.State.FAILED, Job.State.CANCELLED):
        reason = job.error or "The freeze was cancelled."
        for pair in (TestSet.objects.filter(pk=job.subject), TestSet.objects.filter(twin=job.subject)):
            pair.filter(state=TestSet.State.BUILDING).update(state=TestSet.State.FAILED, reason=reason)


def _in_order(project: Project) -> QuerySet[Item]:
    return project.items.live().order_by("rank", "pk")


class _Annotated:
    """Rows from votes and adjudications."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.left_out: dict[str, list[str]] = {}
        self.states: Counter[str] = Counter()
        self.emptied = 0

    def golds(self) -> Iterator[dict[str, Any]]:
        """Gold lines in order of work; what is open or disputed is noted instead."""
        for item in in_batches(_in_order(self.project)):
            self.states[item.state] += 1
            self.emptied += item.emptied
            if item.state in READY and item.gold is not None:
                yield gold_line(item, item.gold)
            else:
                self.left_out.setdefault(item.state, []).append(item.external_id)

    def manifest(self) -> dict[str, Any]:
        votes = Answer.objects.filter(item__project=self.project, item__use="").active()
        return {
            "origin": Origin.ANNOTATED,
            "counts": {state: self.states[state] for state in Item.State.values}
            | {"answers": votes.count(), "answers_emptied_by_deletion": self.emptied},
            "left_out": self.left_out,
            "decisions": decision_notes(self.project),
            "people": contributors(self.project),
        }


class _Source:
    """Rows from the sealed source labels of the whole corpus."""

    def __init__(self, project: Project, mapping: LabelMapping) -> None:
        self.project, self.mapping = project, mapping
        self.without: list[str] = []
        self.emptied = 0

    def golds(self) -> Iterator[dict[str, Any]]:
        """Gold lines of all items that the source says something of, N/A included."""
        for item in in_batches(_in_order(self.project).select_related("sealed")):
            sealed = getattr(item, "sealed", None)
            if sealed is None:
                self.without.append(item.external_id)
                continue
            mapped = self.mapping.payload(sealed.labels)
            self.emptied += mapped.emptied
            yield gold_line(item, mapped.payload)

    def manifest(self) -> dict[str, Any]:
        return {
            "origin": Origin.SOURCE,
            "counts": {"labels_emptied_by_deletion": self.emptied},
            "left_out": {"without source labels": self.without} if self.without else {},
            "people": [],
        }


def decision_notes(project: Project) -> list[dict[str, str]]:
    """Why the deciders said what they said: standing decisions that give a reason, or leave something out."""
    standing = Adjudication.objects.filter(item__in=project.items.live(), reopened_at=None)
    told = standing.exclude(reason="", finding="").order_by("item__rank", "item")
    rows = told.values_list("item__external_id", "finding", "reason")
    return [{"id": name, "finding": finding, "reason": reason} for name, finding, reason in rows]


def contributors(project: Project) -> list[int]:
    """Whoever answered or decided here: evaluation marks the submissions of their teams."""
    voters = Vote.objects.filter(item__project=project).exclude(annotator__user=None)
    deciders = Adjudication.objects.filter(item__project=project)
    ids = {*voters.values_list("annotator__user", flat=True), *deciders.values_list("by", flat=True)}
    return sorted(pk for pk in ids if pk is not None)


def _manifest(project: Project, mapping: LabelMapping) -> dict[str, Any]:
    steps = project.steps.filter(undone_at=None)
    return {
        "project": project.slug,
        "kind": project.kind,
        "policy": project.policy,
        "k": project.k,
        "k_of_items": list(settled_items.answers_per_item(project)),
        "na_means": project.na_means,
        "spans_may_overlap": project.spans_may_overlap,
        "ontology": [
            {"number": s.number, "operation": s.operation, "sources": s.sources, "target": s.target}
            for s in steps
        ],
        "evalsvc": settings.VERSION,
    }


def gold_line(item: Item, gold: dict[str, Any]) -> dict[str, Any]:
    """The frozen line of an item: its sentence as it came, and the gold."""
    if item.head is None or item.tail is None:
        text = {"tokens": item.tokens} if item.tokens is not None else {"text": item.text}
        return {"id": item.external_id, **text, "spans": gold["spans"], "relations": gold["relations"]}
    return {
        "id": item.external_id,
        **_sentence(item),
        "relations": gold["relations"],
    }


def _sentence(item: Item) -> dict[str, Any]:
    """Text with offsets in code points, or tokens with offsets in tokens where both mentions fit them."""
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
        sentence[key] = {"id": mention["id"], "name": mention["name"], "pos": list(place)}
    return sentence
