"""Gold of a line anew, from its provenance, the rule and the ontology. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from annotation.consensus import majority
from evalsvc.core.formats.label_mapping import LabelMapping, Payload


class Step(msgspec.Struct):
    """A step of the ontology, as a release states it."""

    operation: str
    sources: list[str]
    target: str = ""
    targets: list[str] = []


class AnswerRow(msgspec.Struct):
    """An answer of the provenance, in raw labels."""

    relations: list[Any]
    spans: list[tuple[int, int, str]] = []
    by: str = ""
    blank: bool = False
    not_counted: str = ""
    imported: bool = False
    suggested: bool = False
    milliseconds: int = 0

    def payload(self) -> Payload:
        """Return the answer; raise ValueError unless its relations are names, or triples on its spans."""
        names = all(isinstance(link, str) for link in self.relations)
        spans = range(len(self.spans))
        for link in () if names else self.relations:
            head, name, tail = link
            if head not in spans or tail not in spans or not isinstance(name, str):
                raise ValueError("a relation refers to no span")
        payload: Payload = {"spans": [list(span) for span in self.spans], "relations": self.relations}
        return payload | ({"blank": True} if self.blank else {})


class ProvenanceRow(msgspec.Struct):
    """A line of the provenance."""

    id: str
    state: str
    k: int
    labels: list[dict[str, Any]]
    answers: list[AnswerRow]
    decision: AnswerRow | None = None
    pattern: str = ""

    @property
    def counting(self) -> list[AnswerRow]:
        return [answer for answer in self.answers if not answer.not_counted]

    def counted(self) -> list[Payload]:
        """Return the answers that count, in raw labels."""
        return [answer.payload() for answer in self.counting]


@dataclass(frozen=True)
class Rules:
    """All that decides besides answers and decisions."""

    kind: str
    policy: str
    spans_may_overlap: bool
    steps: Sequence[Step]

    @property
    def mapping(self) -> LabelMapping:
        return LabelMapping.from_steps(self.steps)


class Judge:
    """Decides lines by the same rules."""

    def __init__(self, rules: Rules) -> None:
        self.rules, self.mapping = rules, rules.mapping

    def mapped(self, payload: Payload) -> Payload:
        """Return an answer in the labels of the set."""
        return self.mapping.payload(payload).payload

    def verdict(self, counted: Iterable[Payload], k: int, *, policy: str = "") -> majority.Verdict:
        """Decide on raw answers, by the rule or by another policy."""
        return majority.decide(
            [self.mapped(payload) for payload in counted],
            kind=self.rules.kind,
            policy=policy or self.rules.policy,
            k=k,
            may_overlap=self.rules.spans_may_overlap,
        )

    def gold(self, counted: Iterable[Payload], k: int, decision: AnswerRow | None) -> Payload | None:
        """Return what the decision gives, without one the verdict; None if there is neither."""
        return self.mapped(decision.payload()) if decision else self.verdict(counted, k).gold
