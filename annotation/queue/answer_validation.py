"""Validation of answers by kind of project, text and inventory."""

from __future__ import annotations

from typing import Any, NoReturn

from annotation.consensus.choices import first_overlap
from annotation.consensus.rules import label_names
from annotation.models import Item, Project
from annotation.testset import Kind
from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.formats.label_mapping import Payload
from evalsvc.core.formats.problems import MOST_COVERING, did_you_mean
from evalsvc.core.formats.text_spans import most_covering

MOST_MARKS = 2_000  # spans, and relations, of an answer: answers are compared span by span
MOST_MARKS_OF_ITEM = 20_000  # spans and relations of all answers to an item, as of a line of a release
MOST_ANSWERS_OF_ITEM = 1_000  # that imports bring, as of a line of a release
LEAST_MARKS = 200  # that an answer may have, however many annotate an item


def validate_answer(payload: dict[str, Any], *, item: Item, project: Project) -> Payload:
    """Return the payload with each label once, or reject it."""
    if not isinstance(payload, dict) or set(payload) - {"spans", "relations", "blank"}:
        _reject("an object with the keys `spans` and `relations`", payload)
    spans, relations = payload.get("spans") or [], payload.get("relations") or []
    if not isinstance(spans, list) or not isinstance(relations, list):
        _reject("two lists, `spans` and `relations`", payload)
    most = max(LEAST_MARKS, min(MOST_MARKS, MOST_MARKS_OF_ITEM // (2 * project.k)))
    for field, marks in (("spans", spans), ("relations", relations)):
        if len(marks) > most:
            raise DomainError(
                "too_many_marks",
                f"The answer has {len(marks):,} {field}; at most {most:,} are allowed.",
                hint="Remove some of them, or ask a curator to split the text.",
                field=field,
            )
    if project.kind == Kind.RELATIONS:
        if spans:
            _reject("no spans: this project has a given head and tail", payload, "spans")
        names = label_names(project, "relation")
        for name in relations:
            _require_label(name, names, "relations")
        return {"spans": [], "relations": list(dict.fromkeys(relations))}
    if project.kind == Kind.ENTITIES and relations:
        _reject("no relations: this project marks spans", payload, "relations")
    unique = _spans(spans, item, project)
    return {"spans": unique, "relations": _links(relations, spans, unique, project)}


def _spans(spans: list[Any], item: Item, project: Project) -> list[list[Any]]:
    names = label_names(project, "entity")
    for span in spans:
        valid = isinstance(span, list) and len(span) == 3 and all(type(end) is int for end in span[:2])
        if not valid or not 0 <= span[0] < span[1] <= item.length:
            _reject(f"[start, end, label] with 0 ≤ start < end ≤ {item.length:,}", span, "spans")
        _require_label(span[2], names, "spans")
    unique = dict.fromkeys(tuple(span) for span in spans)
    overlap = None if project.spans_may_overlap else first_overlap(unique)
    if overlap:
        first, second = (f"“{item.surface(span):.40}” [{span[0]}, {span[1]}]" for span in overlap)
        raise DomainError(
            "spans_overlap",
            f"{first} and {second} overlap, which this project does not allow.",
            hint="Remove one of them, or resize it.",
            field="spans",
        )
    if (covering := most_covering(unique)) > MOST_COVERING:
        raise DomainError(
            "too_many_marks",
            f"{covering} spans overlap at one place; at most {MOST_COVERING} are allowed.",
            hint="Remove some of them.",
            field="spans",
        )
    return [list(span) for span in unique]


def _links(links: list[Any], spans: list[Any], unique: list[list[Any]], project: Project) -> list[list[Any]]:
    """Validate links and renumber them for the unique spans."""
    names = label_names(project, "relation")  # also for none: who gave the first one would show in its time
    numbers = {tuple(span): number for number, span in enumerate(unique)}
    renumbered = []
    for link in links:
        valid = isinstance(link, list) and len(link) == 3 and all(type(link[at]) is int for at in (0, 2))
        if not valid or not all(0 <= link[at] < len(spans) for at in (0, 2)):
            _reject("[span number, relation, span number]", link, "relations")
        _require_label(link[1], names, "relations")
        head, tail = (numbers[tuple(spans[link[at]])] for at in (0, 2))
        renumbered.append((head, link[1], tail))
    return [list(link) for link in dict.fromkeys(renumbered)]


def _require_label(name: Any, names: frozenset[str], field: str) -> None:
    if not isinstance(name, str) or name not in names:
        hint = did_you_mean(name, names) if isinstance(name, str) else None
        raise DomainError(
            "unknown_label",
            f"Unknown label {name!r}.",
            hint=hint or "Reload the page: the labels may have changed.",
            field=field,
        )


def _reject(expected: str, value: Any, field: str = "payload") -> NoReturn:
    raise DomainError("bad_payload", f"Expected {expected}, got {str(value)[:80]}.", field=field)
