"""What the page of a dispute shows of a dossier: rows of votes, and the answers that can be chosen."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from annotation.adjudication import Column, Dossier
from annotation.consensus import Verdict
from annotation.mapping import Payload, empty
from annotation.models import Project
from annotation.ontology import Choice, inventory
from annotation.pages import marking
from annotation.pages.marking import Marked
from annotation.testset import Kind

WORDS = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten")


@dataclass(frozen=True, slots=True)
class Row:
    """One label's votes: who of W, X, Y, Z chose it, and how many in all."""

    title: str
    votes: list[bool]
    n: int
    boxes: list[tuple[int, bool]]


@dataclass(frozen=True, slots=True)
class Option:
    """One answer that can be chosen, with its key."""

    key: str
    title: str
    detail: str
    value: str
    marked: Marked | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """The whole page beside the sentence."""

    people: str
    rows: list[Row]
    options: list[Option]
    rules: list[tuple[str, str, bool]]
    voted: list[Choice]
    all: list[Choice] = field(default_factory=list)
    said: list[tuple[str, str]] = field(default_factory=list)
    next_person: str = ""
    bar: int = 0
    half: float = 0


def case_of(dossier: Dossier) -> Case:
    """Rows, options and what each rule says, for relations and for spans."""
    project = dossier.item.project
    part = "relation" if project.kind == Kind.RELATIONS else "entity"
    choices = {choice.name: choice for choice in inventory(project, part)}
    relations = project.kind == Kind.RELATIONS
    rows = _relation_rows(dossier, choices) if relations else []
    options = _relation_options(dossier, choices) if relations else _span_options(dossier, list(choices))
    names = _voted(dossier.columns)
    return Case(
        people=WORDS[dossier.n] if dossier.n < len(WORDS) else str(dossier.n),
        rows=rows,
        options=options,
        rules=_rules(project, dossier.by_policy, choices),
        voted=[choices[name] for name in names if name in choices],
        all=list(choices.values()) if relations else [],
        next_person=_ordinal(dossier.k + 1),
        said=[(column.letter, column.comment) for column in dossier.columns if column.comment],
        bar=15 * dossier.n,
        half=(15 * dossier.n - 3) / 2,
    )


def _ordinal(n: int) -> str:
    names = {2: "second", 3: "third", 4: "fourth", 5: "fifth", 6: "sixth", 7: "seventh", 8: "eighth"}
    return names.get(n, f"{n}th")


def _voted(columns: Sequence[Column]) -> list[str]:
    """Labels that anybody chose, most chosen first."""
    chosen = [label for column in columns for label in _labels(column.payload)]
    return sorted(dict.fromkeys(chosen), key=lambda label: -chosen.count(label))


def _labels(payload: Payload) -> list[str]:
    spans = [span[2] for span in payload["spans"]]
    return [*spans, *(x if isinstance(x, str) else x[1] for x in payload["relations"])]


def _relation_rows(dossier: Dossier, choices: dict[str, Choice]) -> list[Row]:
    answers = [set(column.payload["relations"]) for column in dossier.columns]
    named = [
        (_title(choices, name), [name in answer for answer in answers]) for name in _voted(dossier.columns)
    ]
    return [_row(title, votes) for title, votes in [*named, ("N/A", [not answer for answer in answers])]]


def _row(title: str, votes: list[bool]) -> Row:
    n = sum(votes)
    return Row(title, votes, n, [(15 * at, at < n) for at in range(len(votes))])


def _title(choices: dict[str, Choice], name: str) -> str:
    return choices[name].title if name in choices else name


def _value(relations: Sequence[str] = (), spans: Sequence[Any] = ()) -> str:
    return json.dumps({"spans": list(spans), "relations": list(relations)}, ensure_ascii=False)


def _relation_options(dossier: Dossier, choices: dict[str, Choice]) -> list[Option]:
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
    return [*options, Option("N", "N/A", f"none of the {len(choices)} holds", json.dumps(empty()))]


def _span_options(dossier: Dossier, labels: list[str]) -> list[Option]:
    """Each distinct answer, what more than half agree on if anything, and nothing."""
    colours = marking.colours_of(labels)
    sets: dict[str, list[str]] = {}
    for column in dossier.columns:
        if column.payload["spans"]:
            sets.setdefault(json.dumps(sorted(column.payload["spans"])), []).append(column.letter)
    agreed = json.dumps(sorted(list(count.choice) for count in dossier.tally if count.accepted))
    if agreed != "[]" and agreed not in sets:
        sets[agreed] = []
    order = sorted(sets.items(), key=lambda entry: -len(entry[1]))[:9]
    options = [
        Option(str(at), _who(letters), _said(letters, dossier.n), _value(spans=spans), drawn)
        for at, (text, letters) in enumerate(order, 1)
        for spans in [json.loads(text)]
        for drawn in [marking.spans(dossier.item, spans, colours=colours)]
    ]
    silent = [column.letter for column in dossier.columns if not column.payload["spans"]]
    return [*options, Option("N", "Nothing", _said(silent, dossier.n, "marked nothing"), json.dumps(empty()))]


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


def _outcome(verdict: Verdict, choices: dict[str, Choice]) -> str:
    if verdict.gold is None:
        return "disputed: you decide"
    return ", ".join(_title(choices, label) for label in _labels(verdict.gold)) or "N/A"
