"""Presentation of a dispute: rows of votes, answers to choose from."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from uuid import UUID

from django.utils.html import format_html
from django.utils.safestring import SafeString

from annotation.adjudication.decisions import DisputeDetails
from annotation.adjudication.precedents import Outcome
from annotation.models.project import RULE_TITLES
from annotation.ontology.inventory import Choice
from annotation.pages.project_page import answer_text, choices_by_name, labels_of
from evalsvc.core.formats.label_mapping import empty_answer
from evalsvc.core.web.formatting import counted
from evalsvc.core.web.markdown import section_html, to_html

MAX_RELATIONS = 8
FULL_SIZE_BOXES = 5
REASONS = {
    "na_not_unanimous": "N/A has more than half, but by this rule it wins only if nobody chose a relation.",
    "no_majority": "Neither a relation nor N/A has more than half.",
    "overlap": "Spans that more than half marked overlap each other.",
    "choice_without_majority": "At least one part has no majority.",
    "unanswered": "Too few people answered.",
}
ORDINALS = {2: "second", 3: "third", 4: "fourth", 5: "fifth", 6: "sixth", 7: "seventh", 8: "eighth"}


@dataclass(frozen=True, slots=True)
class VoteRow:
    """Votes for one choice; `boxes` are positions, filled or not."""

    title: str
    votes: list[bool]
    n: int
    boxes: list[tuple[float, bool]]


@dataclass(frozen=True, slots=True)
class DecisionOption:
    """Answer to choose from, with its key."""

    key: str
    title: str
    detail: str
    value: str


class DisputeView:
    """A dispute of relations as its page shows it."""

    relations = True

    def __init__(self, details: DisputeDetails) -> None:
        self.details, self.project, n = details, details.item.project, details.n
        self.choices = choices_by_name(self.project)
        self.titles = {name: choice.title for name, choice in self.choices.items()}
        chosen = [label for column in details.columns for label in labels_of(column.payload)]
        self.labels = sorted(dict.fromkeys(chosen), key=lambda label: -chosen.count(label))
        self.comments = [(column.letter, column.comment) for column in details.columns if column.comment]
        self.people = counted(n, "person", "people")
        self.next_person = ORDINALS.get(details.k + 1, f"{details.k + 1}th")
        # more boxes than five share the room of five
        self.step, gap = (15.0, 3) if n <= FULL_SIZE_BOXES else (15 * FULL_SIZE_BOXES / n, 1)
        self.bar = self.step * n
        self.half = (self.bar - gap) / 2
        width = self.step - gap
        self.box_size = format_html('width="{}" height="10" rx="{}"', f"{width:.2f}", 2 if width > 6 else 1)

    def value_of(self, answer: str) -> str:
        """Return the value of the option equal to an answer."""
        wanted = _canonical(answer)
        return next((option.value for option in self.options if _canonical(option.value) == wanted), "")

    @property
    def reason(self) -> str:
        """Return the key of the reason for the dispute."""
        return "na_not_unanimous" if 2 * self.details.na > self.details.n else "no_majority"

    @property
    def guides(self) -> list[tuple[Choice, SafeString, SafeString]]:
        """Return the voted labels that something is written on: definition, section of the guideline."""
        voted = [self.choices[name] for name in self.labels if name in self.choices]
        guideline = self.project.guideline
        texts = (
            (each, to_html(each.definition), section_html(guideline, each.name, each.title)) for each in voted
        )
        return [(each, own, section) for each, own, section in texts if own or section or each.avoid]

    @property
    def all(self) -> list[Choice]:
        """Return the relations to search among."""
        return list(self.choices.values())

    @property
    def precedents(self) -> list[tuple[str, list[tuple[str, int]], list[UUID]]]:
        """Return words, outcomes with their numbers, and items decided before."""
        return [
            (
                each.words,
                [(self._outcome(outcome), n) for outcome, n in each.counts.most_common()],
                each.items,
            )
            for each in self.details.precedents
        ]

    def _outcome(self, outcome: Outcome) -> str:
        text = " and ".join(map(self.title, outcome.labels)) or ("N/A" if self.relations else "not marked")
        return f"{text}, as “{outcome.words}”" if outcome.words else text

    @property
    def reason_text(self) -> str:
        return REASONS[self.reason]

    @property
    def policies(self) -> list[tuple[str, str, bool]]:
        return [
            (
                RULE_TITLES[policy],
                "disputed: you decide" if verdict.gold is None else answer_text(verdict.gold, self.titles),
                policy == self.project.policy,
            )
            for policy, verdict in self.details.by_policy.items()
        ]

    @cached_property
    def rows(self) -> list[VoteRow]:
        """Return a row per relation, and one for N/A."""
        answers = [set(column.payload["relations"]) for column in self.details.columns]
        rows = [self._row(self.title(name), [name in answer for answer in answers]) for name in self.labels]
        blank = [bool(column.payload.get("blank")) for column in self.details.columns]
        na = [not answer and not unlabelled for answer, unlabelled in zip(answers, blank, strict=True)]
        rows.append(self._row("N/A", na))
        return [*rows, self._row("No label", blank)] if any(blank) else rows

    def _row(self, title: str, votes: list[bool]) -> VoteRow:
        n = sum(votes)
        boxes = [(round(self.step * at, 2), at < n) for at in range(len(votes))]
        return VoteRow(title, votes, n, boxes)

    @cached_property
    def options(self) -> list[DecisionOption]:
        """Return the most chosen relations, all of them together, and N/A."""
        answers = [column.payload["relations"] for column in self.details.columns]
        names = self.labels[:MAX_RELATIONS]
        options = [
            DecisionOption(
                str(number),
                self.title(name),
                f"{sum(name in answer for answer in answers)} of {self.details.n} chose it",
                as_json({"spans": [], "relations": [name]}),
            )
            for number, name in enumerate(names, 1)
        ]
        if len(names) > 1:
            title = "Both" if len(names) == 2 else f"All {len(names)}"
            value = as_json({"spans": [], "relations": names})
            options.append(DecisionOption(str(len(names) + 1), title, "all of them apply", value))
        detail = f"none of the {len(self.choices)} relations applies"
        return [*options, DecisionOption("N", "N/A", detail, as_json(empty_answer()))]

    def title(self, name: str) -> str:
        return self.titles.get(name, name)


def as_json(payload: Any) -> str:
    return json.dumps(payload, ensure_ascii=False)


def _canonical(answer: str) -> Any:
    try:
        payload = json.loads(answer)
        return sorted(map(str, payload["spans"])), sorted(map(str, payload["relations"]))
    except (ValueError, TypeError, KeyError, RecursionError):
        return answer
