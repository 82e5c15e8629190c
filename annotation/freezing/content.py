"""Content of a freeze: lines and manifests, of the answers and of the source labels."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from django.conf import settings
from django.db.models import QuerySet

from annotation.consensus.majority import POLICY_VERSION
from annotation.freezing import writer
from annotation.freezing.provenance import EXCLUDED, ProvenanceWriter
from annotation.models import Adjudication, Answer, Item, Project, Vote
from annotation.ontology.inventory import inventory, parts_of
from annotation.queue import gold_questions
from annotation.testset import Origin
from evalsvc.core.database import in_batches, snapshot
from evalsvc.core.formats.label_mapping import LabelMapping
from evalsvc.core.formats.records import canonical_line, token_starts

UNDECIDED = (Item.State.OPEN, Item.State.DISPUTED)
DECIDED = (Item.State.SETTLED, Item.State.ADJUDICATED)
NO_LABELS: dict[str, Any] = {"spans": [], "relations": []}


class AnnotatedLines:
    """Gold lines from votes and adjudications; the manifest counts what the lines were read from."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.left_out: dict[str, list[str]] = {}
        self.answered: list[writer.FrozenLine] = []  # those left out that several people answered
        self.states: Counter[str] = Counter()
        self.decisions: list[dict[str, str]] = []
        self.emptied = self.n_answers = 0

    def lines(self) -> Iterator[writer.FrozenLine]:
        """Yield gold lines in order of work; list undecided items instead."""
        items = self.project.items.live().order_by("rank", "pk")
        keys = list(items.values_list("pk", flat=True))
        provenance = ProvenanceWriter(self.project)
        for at in range(0, len(keys), writer.CHUNK):
            yield from self._read(items.filter(pk__in=keys[at : at + writer.CHUNK]), provenance)

    @snapshot()
    def _read(self, items: QuerySet[Item], provenance: ProvenanceWriter) -> list[writer.FrozenLine]:
        """Return the lines of some items, with the answers and decisions that their states follow from."""
        lines, keys = [], [item.pk for item in items]
        decided = provenance.of([item for item in items if item.state in DECIDED])
        undecided = provenance.of_undecided([item for item in items if item.state not in DECIDED])
        for item in items:
            self.states[item.state] += 1
            self.emptied += item.emptied
            if item.state in DECIDED and item.gold is not None:
                lines.append(writer.FrozenLine(gold_line(item, item.gold), decided[item.pk]))
            else:
                self.left_out.setdefault(item.state, []).append(item.external_id)
                if answers := undecided.get(item.pk):
                    self.answered.append(writer.FrozenLine(gold_line(item, NO_LABELS), answers))
        self.n_answers += Answer.objects.filter(item__in=keys).active().count()
        self.decisions += decision_notes(keys)
        return lines

    def manifest(self) -> dict[str, Any]:
        beside = self.project.items.present().filter(use=Item.Use.CORPUS).count()  # no candidates
        return {
            "origin": Origin.ANNOTATED,
            "counts": {state: self.states[state] for state in Item.State.values}
            | {"answers": self.n_answers, "answers_emptied_by_deletion": self.emptied},
            "left_out": self.left_out,
            "agreement": {"left_out": len(self.answered)},
            **({"left_out_answers_sha256": compared_sha256(self.answered)} if self.answered else {}),
            **({"beside": beside} if beside else {}),
            "decisions": self.decisions,
            "people": contributors(self.project),
        }


class SourceLines:
    """Lines from the sealed source labels of the whole corpus."""

    def __init__(self, project: Project, mapping: LabelMapping) -> None:
        self.project, self.mapping = project, mapping
        self.unlabelled: list[str] = []
        self.emptied = 0

    def lines(self) -> Iterator[writer.FrozenLine]:
        """Yield the lines of all items with source labels, N/A included.

        While people label, or if the project has hidden checks, without undecided items: whoever labels sees
        the inputs of a benchmark on the set; what such a person has to label and does not find there would be
        a check, perhaps one that is added later.
        """
        items = self.project.items.corpus().order_by("rank", "pk")
        if self.project.state == Project.State.OPEN or gold_questions.has_checks(self.project):
            items = items.exclude(use=Item.Use.WORK, state__in=UNDECIDED)
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


def compared_sha256(lines: Sequence[writer.FrozenLine]) -> str:
    """Return the digest of the answers that the agreement compares beside those of the lines kept."""
    digest = hashlib.sha256()
    for line in lines:
        provenance = line.provenance or {}
        compared = [
            {name: answer[name] for name in ("by", "relations", "spans", "blank") if name in answer}
            | {"excluded": answer.get("not_counted") == EXCLUDED}
            for answer in provenance["answers"]
        ]
        digest.update(canonical_line({"id": provenance["id"], "answers": compared}))
    return digest.hexdigest()


def decision_notes(items: Sequence[int]) -> list[dict[str, str]]:
    """List active decisions on items, by key, that give a reason or leave the item out."""
    noted = Adjudication.objects.filter(item__in=items).active()
    noted = noted.exclude(reason="", finding="").order_by("item__rank", "item")
    rows = noted.values_list("item__external_id", "finding", "reason")
    return [{"id": name, "finding": finding, "reason": reason} for name, finding, reason in rows]


def contributors(project: Project) -> list[int]:
    """List everybody who answered or decided: evaluation marks their teams' submissions."""
    voters = Vote.objects.filter(item__project=project).exclude(annotator__user=None)
    adjudicators = Adjudication.objects.filter(item__project=project)
    ids = {*voters.values_list("annotator__user", flat=True), *adjudicators.values_list("by", flat=True)}
    return sorted(pk for pk in ids if pk is not None)


def common_manifest(project: Project) -> dict[str, Any]:
    steps = project.steps.filter(undone_at=None)
    return {
        "project": project.slug,
        "kind": project.kind,
        "policy": project.policy,
        "policy_version": POLICY_VERSION,
        "k": project.k,
        "na_means": project.na_means,
        "spans_may_overlap": project.spans_may_overlap,
        "ontology": [
            {"number": s.number, "operation": s.operation, "sources": s.sources, "target": s.target}
            | ({"targets": s.targets} if s.targets else {})
            for s in steps
        ],
        "evalsvc": settings.VERSION,
    }


def label_texts(project: Project) -> dict[str, list[dict[str, Any]]]:
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
