"""Rules by which a project decides its items: labels, mapping, policy and answers asked again."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from uuid import UUID

from annotation.consensus import majority
from annotation.models import GuidelineVersion, OntologyLabel, OntologyStep, Project
from evalsvc.core.formats.label_mapping import LabelMapping, Payload


@lru_cache(maxsize=256)
def _mapping(project_id: int, stamp: UUID) -> LabelMapping:
    """Cache by the stamp, which every change of the inventory renews."""
    return LabelMapping.from_steps(OntologyStep.objects.filter(project=project_id, undone_at=None))


@lru_cache(maxsize=256)
def _names(project_id: int, stamp: UUID, part: str) -> frozenset[str]:
    raw = OntologyLabel.objects.filter(project=project_id, derived=False)
    rows = raw.filter(part=part) if part else raw
    return frozenset(_mapping(project_id, stamp).inventory(rows.values_list("name", flat=True)))


def label_names(project: Project, part: str = "") -> frozenset[str]:
    """Return the current labels of one inventory, or of all."""
    return _names(project.pk, project.inventory_stamp, part)


@lru_cache(maxsize=256)
def _asked_again(project_id: int, stamp: UUID) -> dict[int, frozenset[str]]:
    """Return the guideline versions asked again, with the raw labels concerned; none: all answers."""
    rows = GuidelineVersion.objects.filter(project=project_id, asked_again_at__isnull=False)
    return {number: frozenset(labels) for number, labels in rows.values_list("number", "asked_labels")}


class Rules:
    """The project's decision rules; lock the items before reading the project.

    `labels` is another ontology to try: its mapping and current names.
    """

    def __init__(
        self, project: Project | int, labels: tuple[LabelMapping, frozenset[str]] | None = None
    ) -> None:
        self.project = project if isinstance(project, Project) else Project.objects.get(pk=project)
        self.policy = self.project.policy
        self.labels = labels
        self.mapping = labels[0] if labels else _mapping(self.project.pk, self.project.inventory_stamp)
        self.asked_again = _asked_again(self.project.pk, self.project.inventory_stamp)

    @property
    def key(self) -> str:
        """Return what changes with labels and rule."""
        return f"{self.project.inventory_stamp} {self.policy} {self.project.spans_may_overlap}"

    @property
    def names(self) -> frozenset[str]:
        return self.labels[1] if self.labels else label_names(self.project)

    def is_asked_again(self, payload: Payload, guideline: int | None) -> bool:
        """True for an answer with a label that was split, or of a guideline that is asked again.

        What is asked again goes by raw labels: later steps ask about no other answers, and forget none.
        """
        if not (self.mapping or self.asked_again):
            return False
        labels = self.asked_again.get(guideline or 0)
        asked = labels is not None and (not labels or bool(labels & labels_in(payload)))
        return asked or self.mapping.payload(payload).unclear

    def verdict(self, payloads: Sequence[Payload], k: int, policy: str) -> majority.Verdict:
        overlap = self.project.spans_may_overlap
        return majority.decide(payloads, kind=self.project.kind, policy=policy, k=k, may_overlap=overlap)

    def open_parts(self, payloads: Sequence[Payload]) -> majority.OpenParts:
        """Return what the answers of spans leave open."""
        overlap = self.project.spans_may_overlap
        return majority.open_parts(payloads, kind=self.project.kind, policy=self.policy, may_overlap=overlap)

    @property
    def other_policy(self) -> str:
        return majority.MAJORITY_NA if self.policy == majority.MAJORITY else majority.MAJORITY


def labels_in(payload: Payload) -> set[str]:
    """Return all labels in an answer."""
    links = payload["relations"]
    return {span[2] for span in payload["spans"]} | {x if isinstance(x, str) else x[1] for x in links}
