"""What the page of a dispute shows of a dossier: rows of votes, and the answers that can be chosen."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from annotation.adjudication.decisions import AnonymousAnswer, DisputeDetails
from annotation.consensus.label_mapping import Payload, empty_answer
from annotation.consensus.majority import Verdict
from annotation.models import Project
from annotation.ontology.inventory import Choice, inventory, parts_of
from annotation.pages import text_highlighting
from annotation.pages.text_highlighting import Marked
from annotation.testset import Kind

MOST_SHOWN, MOST_BOXES = 40, 5
WORDS = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten")


@dataclass(frozen=True, slots=True)
class Row:
    """One choice's votes: who of W, X, Y, Z made it, how many in all, and whether that is enough."""

    title: str
    votes: list[bool]
    n: int
    boxes: list[tuple[float, bool]]
    detail: str = ""
    accepted: bool = False


@dataclass(frozen=True, slots=True)
class Option:
    """One answer that can be chosen, with its key."""

    key: str
    title: str
    detail: str
    value: str
    marked: Marked | None = None
    links: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Case:
    """The whole page beside the sentence."""

    people: str
    relations: bool
    rows: list[Row]
    options: list[Option]
    rules: list[tuple[str, str, bool]]
    voted: list[Choice]
    all: list[Choice] = field(default_factory=list)
    said: list[tuple[str, str]] = field(default_factory=list)
    next_person: str = ""
    bar: float = 0
    half: float = 0
    box: float = 12

    def value_of(self, text: str) -> str:
        """The value of the option that is this answer, in whatever order it is written."""
        wanted = _canonical(text)
        return next((one.value for one in self.options if _canonical(one.value) == wanted), "")


def case_of(dossier: DisputeDetails) -> Case:
    """Rows, options and what each rule says, for relations and for spans."""
    project = dossier.item.project
    choices = choices_of(project)
    relations = project.kind == Kind.RELATIONS
    rows = _relation_rows(dossier, choices) if relations else _span_rows(dossier, choices)
    options = _relation_options(dossier, choices) if relations else _span_options(dossier, choices)
    names = _voted(dossier.columns)
    return Case(
        people=WORDS[dossier.n] if dossier.n < len(WORDS) else str(dossier.n),
        relations=relations,
        rows=rows,
        options=options,
        rules=_rules(project, dossier.by_policy, choices),
        voted=[choices[name] for name in names if name in choices],
        all=list(choices.values()) if relations else [],
        next_person=_ordinal(dossier.k + 1),
        said=[(column.letter, column.comment) for column in dossier.columns if column.comment],
        bar=step_of(dossier.n) * dossier.n,
        half=(step_of(dossier.n) * dossier.n - gap_of(dossier.n)) / 2,
        box=step_of(dossier.n) - gap_of(dossier.n),
    )


def _canonical(text: str) -> Any:
    try:
        said = json.loads(text)
        return sorted(map(str, said["spans"])), sorted(map(str, said["relations"]))
    except (ValueError, TypeError, KeyError, RecursionError):
        return text


def choices_of(project: Project) -> dict[str, Choice]:
    """Everything that can be chosen in a project, by name."""
    return {choice.name: choice for part in parts_of(project) for choice in inventory(project, part)}


def _ordinal(n: int) -> str:
    names = {2: "second", 3: "third", 4: "fourth", 5: "fifth", 6: "sixth", 7: "seventh", 8: "eighth"}
    return names.get(n, f"{n}th")


def _voted(columns: Sequence[AnonymousAnswer]) -> list[str]:
    """Labels that anybody chose, most chosen first."""
    chosen = [label for column in columns for label in _labels(column.payload)]
    return sorted(dict.fromkeys(chosen), key=lambda label: -chosen.count(label))


def _labels(payload: Payload) -> list[str]:
    spans = [span[2] for span in payload["spans"]]
    return [*spans, *(x if isinstance(x, str) else x[1] for x in payload["relations"])]


def _relation_rows(dossier: DisputeDetails, choices: dict[str, Choice]) -> list[Row]:
    answers = [set(column.payload["relations"]) for column in dossier.columns]
    named = [
        (_title(choices, name), [name in answer for answer in answers]) for name in _voted(dossier.columns)
    ]
    return [_row(title, votes) for title, votes in [*named, ("N/A", [not answer for answer in answers])]]


def _row(title: str, votes: list[bool], detail: str = "", *, accepted: bool = False) -> Row:
    n = sum(votes)
    step = step_of(len(votes))
    return Row(title, votes, n, [(round(step * at, 2), at < n) for at in range(len(votes))], detail, accepted)


def step_of(n: int) -> float:
    """From one box to the next: up to five have their usual size, more of them share its room."""
    return 15 if n <= MOST_BOXES else 15 * MOST_BOXES / n


def gap_of(n: int) -> float:
    """Between two boxes; many stand close."""
    return 3 if n <= MOST_BOXES else 1


def _span_rows(dossier: DisputeDetails, choices: dict[str, Choice]) -> list[Row]:
    """Each span, and each relation between two, that anybody marked; then who marked nothing."""
    answers = [marked_in(column.payload) for column in dossier.columns]
    rows = [
        _row(title, [count.choice in answer for answer in answers], label, accepted=count.accepted)
        for count in dossier.tally
        for title, label in [_words(dossier, count.choice, choices)]
    ]
    silent = [not answer for answer in answers]
    return [*rows, _row("Nothing", silent)] if any(silent) else rows


def marked_in(payload: Payload) -> set[Any]:
    """The spans of an answer, and its relations by the spans they join."""
    spans = [tuple(span) for span in payload["spans"]]
    links = [(spans[head], name, spans[tail]) for head, name, tail in payload["relations"]]
    return {*spans, *links}


def _words(dossier: DisputeDetails, choice: Any, choices: dict[str, Choice]) -> tuple[str, str]:
    """A choice as the text it is about, and its label."""
    if isinstance(choice[0], tuple):
        head, name, tail = choice
        return f"{_text(dossier, head)} – {_text(dossier, tail)}", _title(choices, name)
    return _text(dossier, choice), _title(choices, choice[2])


def _text(dossier: DisputeDetails, span: Any) -> str:
    text = text_highlighting.text_of(dossier.item, span)
    return text if len(text) <= MOST_SHOWN else f"{text[: MOST_SHOWN - 1]}…"


def _title(choices: dict[str, Choice], name: str) -> str:
    return choices[name].title if name in choices else name


def _value(relations: Sequence[str]) -> str:
    return json.dumps({"spans": [], "relations": list(relations)}, ensure_ascii=False)


def _relation_options(dossier: DisputeDetails, choices: dict[str, Choice]) -> list[Option]:
    answers = [column.payload["relations"] for column in dossier.columns]
    names = _voted(dossier.columns)[:8]
    options = [
        Option(str(at), _title(choices, name), f"{n} of {dossier.n} chose it", _value([name]))
        for at, name in enumerate(names, 1)
        for n in [sum(name in answer for answer in answers)]
    ]
    if len(names) > 1:
        both = "Both" if len(names) == 2 else f"All {len(names)}"
        options.append(Option(str(len(names) + 1), both, "each holds on its own", _value(names)))
    return [*options, Option("N", "N/A", f"none of the {len(choices)} holds", json.dumps(empty_answer()))]


def _span_options(dossier: DisputeDetails, choices: dict[str, Choice]) -> list[Option]:
    """Each distinct answer, what more than half agree on if anything, and nothing."""
    colours = text_highlighting.colours_of(list(choices))
    sets: dict[frozenset[Any], list[str]] = {}
    for column in dossier.columns:
        sets.setdefault(frozenset(marked_in(column.payload)), []).append(column.letter)
    silent = sets.pop(frozenset(), [])
    agreed = frozenset(count.choice for count in dossier.tally if count.accepted)
    if agreed:
        sets.setdefault(agreed, [])
    order = sorted(sets.items(), key=lambda entry: -len(entry[1]))[:9]
    options = [
        Option(
            str(at),
            _who(letters),
            _said(letters, dossier.n),
            json.dumps(payload, ensure_ascii=False),
            text_highlighting.spans(dossier.item, payload["spans"], colours=colours),
            [" · ".join(_words(dossier, link, choices)) for link in chosen if isinstance(link[0], tuple)],
        )
        for at, (chosen, letters) in enumerate(order, 1)
        for payload in [_payload(chosen)]
    ]
    return [
        *options,
        Option("N", "Nothing", _said(silent, dossier.n, "marked nothing"), json.dumps(empty_answer())),
    ]


def _payload(chosen: frozenset[Any]) -> Payload:
    """An answer from its choices; a relation stands only where both its spans do."""
    spans = sorted(choice for choice in chosen if not isinstance(choice[0], tuple))
    at = {span: number for number, span in enumerate(spans)}
    links = [
        choice for choice in chosen if isinstance(choice[0], tuple) and {choice[0], choice[2]} <= at.keys()
    ]
    named = sorted([at[head], name, at[tail]] for head, name, tail in links)
    return {"spans": [list(span) for span in spans], "relations": named}


def _who(letters: Sequence[str]) -> str:
    return " and ".join(letters) if letters else "What more than half agree on"


def _said(letters: Sequence[str], n: int, what: str = "marked this") -> str:
    return f"{len(letters)} of {n} {what}" if letters else f"nobody {what.replace('this', 'exactly this')}"


def _rules(
    project: Project, verdicts: dict[str, Verdict], choices: dict[str, Choice]
) -> list[tuple[str, str, bool]]:
    return [
        (policy, _outcome(verdict, choices), policy == project.policy) for policy, verdict in verdicts.items()
    ]


def shown(payload: Payload | None, choices: dict[str, Choice]) -> str:
    """An answer in a few words."""
    return (
        ", ".join(_title(choices, label) for label in dict.fromkeys(_labels(payload or empty_answer())))
        or "N/A"
    )


def _outcome(verdict: Verdict, choices: dict[str, Choice]) -> str:
    if verdict.gold is None:
        return "disputed: you decide"
    return shown(verdict.gold, choices)
