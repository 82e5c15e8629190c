"""Presentation of a dispute: rows of votes, answers to choose from."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from django.utils.html import format_html

from annotation.adjudication.decisions import DisputeDetails
from annotation.consensus.label_mapping import Payload, empty_answer
from annotation.models.project import RULE_TITLES
from annotation.pages import text_highlighting
from annotation.pages.project_page import answer_text, choices_by_name, labels_of
from annotation.pages.text_highlighting import HighlightedText
from annotation.testset import Kind
from evalsvc.core.web.formatting import counted

MAX_TEXT = 40
MAX_RELATIONS, MAX_ANSWERS = 8, 9
FULL_SIZE_BOXES = 5
REASONS = {
    "na_not_unanimous": "N/A has more than half, but by this rule it wins only if nobody chose a relation.",
    "no_majority": "Neither a relation nor N/A has more than half.",
    "overlap": "The choices of more than half overlap each other.",
    "choice_without_majority": "At least one choice has no majority.",
}
ORDINALS = {2: "second", 3: "third", 4: "fourth", 5: "fifth", 6: "sixth", 7: "seventh", 8: "eighth"}


@dataclass(frozen=True, slots=True)
class VoteRow:
    """Votes for one choice; `boxes` are positions, filled or not."""

    title: str
    votes: list[bool]
    n: int
    boxes: list[tuple[float, bool]]
    detail: str = ""
    accepted: bool = False


@dataclass(frozen=True, slots=True)
class DecisionOption:
    """Answer to choose from, with its key."""

    key: str
    title: str
    detail: str
    value: str
    text: HighlightedText | None = None
    links: list[str] = field(default_factory=list)


class DisputeView:
    """A dispute of relations or spans as its page shows it."""

    def __init__(self, details: DisputeDetails) -> None:
        self.details, self.project, n = details, details.item.project, details.n
        self.relations = self.project.kind == Kind.RELATIONS
        self.choices = choices_by_name(self.project)
        self.titles = {name: choice.title for name, choice in self.choices.items()}
        chosen = [label for column in details.columns for label in labels_of(column.payload)]
        self.labels = sorted(dict.fromkeys(chosen), key=lambda label: -chosen.count(label))
        self.voted = [self.choices[name] for name in self.labels if name in self.choices]
        self.all = list(self.choices.values()) if self.relations else []
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
        details = self.details
        if self.relations:
            return "na_not_unanimous" if 2 * details.na > details.n else "no_majority"
        return "overlap" if all(count.accepted for count in details.tally) else "choice_without_majority"

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

    @property
    def rows(self) -> list[VoteRow]:
        return self.relation_rows() if self.relations else self.span_rows()

    def relation_rows(self) -> list[VoteRow]:
        answers = [set(column.payload["relations"]) for column in self.details.columns]
        rows = [self._row(self._title(name), [name in answer for answer in answers]) for name in self.labels]
        blank = [bool(column.payload.get("blank")) for column in self.details.columns]
        na = [not answer and not unlabelled for answer, unlabelled in zip(answers, blank, strict=True)]
        rows.append(self._row("N/A", na))
        return [*rows, self._row("No label", blank)] if any(blank) else rows

    def span_rows(self) -> list[VoteRow]:
        """Return a row per span and relation, and one for empty answers."""
        answers = [_choices_of(column.payload) for column in self.details.columns]
        rows = [
            self._row(text, [count.choice in answer for answer in answers], label, accepted=count.accepted)
            for count in self.details.tally
            for text, label in [self._text_and_label(count.choice)]
        ]
        empty = [not answer for answer in answers]
        return [*rows, self._row("Nothing", empty)] if any(empty) else rows

    def _row(self, title: str, votes: list[bool], detail: str = "", *, accepted: bool = False) -> VoteRow:
        n = sum(votes)
        boxes = [(round(self.step * at, 2), at < n) for at in range(len(votes))]
        return VoteRow(title, votes, n, boxes, detail, accepted)

    @cached_property
    def options(self) -> list[DecisionOption]:
        return self.relation_options() if self.relations else self.span_options()

    def relation_options(self) -> list[DecisionOption]:
        """Return the most chosen relations, all of them together, and N/A."""
        answers = [column.payload["relations"] for column in self.details.columns]
        names = self.labels[:MAX_RELATIONS]
        options = [
            DecisionOption(
                str(number),
                self._title(name),
                f"{sum(name in answer for answer in answers)} of {self.details.n} chose it",
                _json({"spans": [], "relations": [name]}),
            )
            for number, name in enumerate(names, 1)
        ]
        if len(names) > 1:
            title = "Both" if len(names) == 2 else f"All {len(names)}"
            value = _json({"spans": [], "relations": names})
            options.append(DecisionOption(str(len(names) + 1), title, "all of them apply", value))
        detail = f"none of the {len(self.choices)} relations applies"
        return [*options, DecisionOption("N", "N/A", detail, _json(empty_answer()))]

    def span_options(self) -> list[DecisionOption]:
        """Return distinct answers, accepted choices together, and an empty answer."""
        item, colours = self.details.item, text_highlighting.colours_of(list(self.choices))
        letters_by_answer: dict[frozenset[Any], list[str]] = {}
        for column in self.details.columns:
            letters_by_answer.setdefault(_choices_of(column.payload), []).append(column.letter)
        empty = letters_by_answer.pop(frozenset(), [])
        if accepted := frozenset(count.choice for count in self.details.tally if count.accepted):
            letters_by_answer.setdefault(accepted, [])
        order = sorted(letters_by_answer.items(), key=lambda entry: -len(entry[1]))[:MAX_ANSWERS]
        options = [
            DecisionOption(
                str(number),
                " and ".join(letters) if letters else "Choices with a majority",
                self._answered_by(letters, "marked this"),
                _json(payload),
                text_highlighting.mark_spans(item, payload["spans"], colours=colours),
                [" · ".join(self._text_and_label(link)) for link in chosen if _is_link(link)],
            )
            for number, (chosen, letters) in enumerate(order, 1)
            for payload in [_answer_of(chosen)]
        ]
        detail = self._answered_by(empty, "left it empty")
        return [*options, DecisionOption("N", "Nothing", detail, _json(empty_answer()))]

    def _answered_by(self, letters: list[str], action: str) -> str:
        if not letters:
            return f"nobody {action.replace('this', 'exactly this')}"
        return f"{len(letters)} of {self.details.n} {action}"

    def _text_and_label(self, choice: Any) -> tuple[str, str]:
        if _is_link(choice):
            head, name, tail = choice
            return f"{self._clipped(head)} – {self._clipped(tail)}", self._title(name)
        return self._clipped(choice), self._title(choice[2])

    def _clipped(self, span: Any) -> str:
        text = text_highlighting.span_text(self.details.item, span)
        return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}…"

    def _title(self, name: str) -> str:
        return self.titles.get(name, name)


def _json(payload: Payload) -> str:
    return json.dumps(payload, ensure_ascii=False)


def _canonical(answer: str) -> Any:
    try:
        payload = json.loads(answer)
        return sorted(map(str, payload["spans"])), sorted(map(str, payload["relations"]))
    except (ValueError, TypeError, KeyError, RecursionError):
        return answer


def _choices_of(payload: Payload) -> frozenset[Any]:
    """Return an answer's spans, and its relations between them."""
    spans = [tuple(span) for span in payload["spans"]]
    links = [(spans[head], name, spans[tail]) for head, name, tail in payload["relations"]]
    return frozenset([*spans, *links])


def _answer_of(choices: frozenset[Any]) -> Payload:
    """Return the answer with these spans and the relations between them."""
    spans = sorted(choice for choice in choices if not _is_link(choice))
    at = {span: number for number, span in enumerate(spans)}
    links = [choice for choice in choices if _is_link(choice) and {choice[0], choice[2]} <= at.keys()]
    relations = sorted([at[head], name, at[tail]] for head, name, tail in links)
    return {"spans": [list(span) for span in spans], "relations": relations}


def _is_link(choice: Any) -> bool:
    """Tell a relation between two spans from a span."""
    return isinstance(choice[0], tuple)
