"""Presentation of a dispute: rows of votes, answers to choose from."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString

from annotation.adjudication.decisions import AnonymousAnswer, DisputeDetails
from annotation.consensus.label_mapping import Payload, empty_answer
from annotation.consensus.majority import Verdict
from annotation.models import Project
from annotation.ontology.inventory import Choice
from annotation.pages import text_highlighting
from annotation.pages.project_page import answer_text, choices_by_name, labels_of
from annotation.pages.text_highlighting import HighlightedText
from annotation.testset import Kind

MAX_TEXT = 40
MAX_RELATIONS, MAX_ANSWERS = 8, 9
FULL_SIZE_BOXES = 5
NUMBERS = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten")
ORDINALS = {2: "second", 3: "third", 4: "fourth", 5: "fifth", 6: "sixth", 7: "seventh", 8: "eighth"}
Choices = dict[str, Choice]


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


@dataclass(frozen=True, slots=True)
class DisputeView:
    """Votes, options and policies on the page of a dispute."""

    people: str
    relations: bool
    rows: list[VoteRow]
    options: list[DecisionOption]
    policies: list[tuple[str, str, bool]]
    voted: list[Choice]
    all: list[Choice]
    comments: list[tuple[str, str]]
    next_person: str
    bar: float
    half: float
    box_size: SafeString

    def value_of(self, answer: str) -> str:
        """Return the value of the option equal to an answer."""
        wanted = _canonical(answer)
        return next((option.value for option in self.options if _canonical(option.value) == wanted), "")


def dispute_view(details: DisputeDetails) -> DisputeView:
    """Present a dispute of relations or spans."""
    project = details.item.project
    choices = choices_by_name(project)
    relations = project.kind == Kind.RELATIONS
    step, gap = box_step(details.n), box_gap(details.n)
    voted = _voted_labels(details.columns)
    return DisputeView(
        people=NUMBERS[details.n] if details.n < len(NUMBERS) else str(details.n),
        relations=relations,
        rows=(_relation_rows if relations else _span_rows)(details, choices),
        options=(_relation_options if relations else _span_options)(details, choices),
        policies=_policies(project, details.by_policy, choices),
        voted=[choices[name] for name in voted if name in choices],
        all=list(choices.values()) if relations else [],
        comments=[(column.letter, column.comment) for column in details.columns if column.comment],
        next_person=ORDINALS.get(details.k + 1, f"{details.k + 1}th"),
        bar=step * details.n,
        half=(step * details.n - gap) / 2,
        box_size=_box_size(step - gap),
    )


def _box_size(width: float) -> SafeString:
    """Return the SVG attributes of a box of the tally; small boxes have smaller corners."""
    return format_html('width="{}" height="10" rx="{}"', f"{width:.2f}", 2 if width > 6 else 1)


def _canonical(answer: str) -> Any:
    try:
        payload = json.loads(answer)
        return sorted(map(str, payload["spans"])), sorted(map(str, payload["relations"]))
    except (ValueError, TypeError, KeyError, RecursionError):
        return answer


def _voted_labels(columns: Sequence[AnonymousAnswer]) -> list[str]:
    """Return the labels anybody chose, most chosen first."""
    chosen = [label for column in columns for label in labels_of(column.payload)]
    return sorted(dict.fromkeys(chosen), key=lambda label: -chosen.count(label))


def _relation_rows(details: DisputeDetails, choices: Choices) -> list[VoteRow]:
    answers = [set(column.payload["relations"]) for column in details.columns]
    rows = [
        _row(_title(choices, name), [name in answer for answer in answers])
        for name in _voted_labels(details.columns)
    ]
    return [*rows, _row("N/A", [not answer for answer in answers])]


def _row(title: str, votes: list[bool], detail: str = "", *, accepted: bool = False) -> VoteRow:
    n = sum(votes)
    step = box_step(len(votes))
    boxes = [(round(step * at, 2), at < n) for at in range(len(votes))]
    return VoteRow(title, votes, n, boxes, detail, accepted)


def box_step(n: int) -> float:
    """Return the distance between boxes; at most five are full-sized."""
    return 15 if n <= FULL_SIZE_BOXES else 15 * FULL_SIZE_BOXES / n


def box_gap(n: int) -> float:
    """Return the space between two boxes."""
    return 3 if n <= FULL_SIZE_BOXES else 1


def _span_rows(details: DisputeDetails, choices: Choices) -> list[VoteRow]:
    """Return a row for each span and each relation marked, and one for empty answers."""
    answers = [span_choices(column.payload) for column in details.columns]
    rows = [
        _row(text, [count.choice in answer for answer in answers], label, accepted=count.accepted)
        for count in details.tally
        for text, label in [_text_and_label(details, count.choice, choices)]
    ]
    empty = [not answer for answer in answers]
    return [*rows, _row("Nothing", empty)] if any(empty) else rows


def span_choices(payload: Payload) -> set[Any]:
    """Return an answer's spans, and its relations between them."""
    spans = [tuple(span) for span in payload["spans"]]
    links = [(spans[head], name, spans[tail]) for head, name, tail in payload["relations"]]
    return {*spans, *links}


def _is_link(choice: Any) -> bool:
    """Tell a relation between two spans from a span."""
    return isinstance(choice[0], tuple)


def _text_and_label(details: DisputeDetails, choice: Any, choices: Choices) -> tuple[str, str]:
    if _is_link(choice):
        head, name, tail = choice
        return f"{_clipped(details, head)} – {_clipped(details, tail)}", _title(choices, name)
    return _clipped(details, choice), _title(choices, choice[2])


def _clipped(details: DisputeDetails, span: Any) -> str:
    text = text_highlighting.span_text(details.item, span)
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}…"


def _title(choices: Choices, name: str) -> str:
    return choices[name].title if name in choices else name


def _json(payload: Payload) -> str:
    return json.dumps(payload, ensure_ascii=False)


def _relation_options(details: DisputeDetails, choices: Choices) -> list[DecisionOption]:
    answers = [column.payload["relations"] for column in details.columns]
    names = _voted_labels(details.columns)[:MAX_RELATIONS]
    options = [
        DecisionOption(
            str(number),
            _title(choices, name),
            f"{sum(name in answer for answer in answers)} of {details.n} chose it",
            _json({"spans": [], "relations": [name]}),
        )
        for number, name in enumerate(names, 1)
    ]
    if len(names) > 1:
        title = "Both" if len(names) == 2 else f"All {len(names)}"
        value = _json({"spans": [], "relations": names})
        options.append(DecisionOption(str(len(names) + 1), title, "all of them apply", value))
    detail = f"none of the {len(choices)} relations applies"
    return [*options, DecisionOption("N", "N/A", detail, _json(empty_answer()))]


def _span_options(details: DisputeDetails, choices: Choices) -> list[DecisionOption]:
    """Return each distinct answer, the accepted choices together, and an empty answer."""
    colours = text_highlighting.colours_of(list(choices))
    letters_by_answer: dict[frozenset[Any], list[str]] = {}
    for column in details.columns:
        letters_by_answer.setdefault(frozenset(span_choices(column.payload)), []).append(column.letter)
    empty = letters_by_answer.pop(frozenset(), [])
    accepted = frozenset(count.choice for count in details.tally if count.accepted)
    if accepted:
        letters_by_answer.setdefault(accepted, [])
    order = sorted(letters_by_answer.items(), key=lambda entry: -len(entry[1]))[:MAX_ANSWERS]
    options = [
        DecisionOption(
            str(number),
            " and ".join(letters) if letters else "Choices with a majority",
            _answered_by(len(letters), details.n, "marked this"),
            _json(payload),
            text_highlighting.mark_spans(details.item, payload["spans"], colours=colours),
            [" · ".join(_text_and_label(details, link, choices)) for link in chosen if _is_link(link)],
        )
        for number, (chosen, letters) in enumerate(order, 1)
        for payload in [_payload(chosen)]
    ]
    detail = _answered_by(len(empty), details.n, "marked nothing")
    return [*options, DecisionOption("N", "Nothing", detail, _json(empty_answer()))]


def _answered_by(n: int, of: int, action: str) -> str:
    return f"{n} of {of} {action}" if n else f"nobody {action.replace('this', 'exactly this')}"


def _payload(chosen: frozenset[Any]) -> Payload:
    """Return an answer from its choices, without relations whose spans are not chosen."""
    spans = sorted(choice for choice in chosen if not _is_link(choice))
    at = {span: number for number, span in enumerate(spans)}
    links = [choice for choice in chosen if _is_link(choice) and {choice[0], choice[2]} <= at.keys()]
    relations = sorted([at[head], name, at[tail]] for head, name, tail in links)
    return {"spans": [list(span) for span in spans], "relations": relations}


def _policies(
    project: Project, verdicts: dict[str, Verdict], choices: Choices
) -> list[tuple[str, str, bool]]:
    titles = {name: choice.title for name, choice in choices.items()}
    return [
        (
            policy,
            "disputed: you decide" if verdict.gold is None else answer_text(verdict.gold, titles),
            policy == project.policy,
        )
        for policy, verdict in verdicts.items()
    ]
