"""Whether an answer fits the project's kind, the item's text and the inventory."""

from __future__ import annotations

from typing import Any, NoReturn

from annotation.consensus.item_state import label_names
from annotation.consensus.label_mapping import Payload
from annotation.models import Item, Project
from annotation.testset import Kind
from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.formats.problems import did_you_mean


def validate_answer(payload: dict[str, Any], *, item: Item, project: Project) -> Payload:
    """The payload in its one shape, each label once, or a refusal that says where it does not fit."""
    if not isinstance(payload, dict) or set(payload) - {"spans", "relations", "blank"}:
        _refuse("an object with the keys spans and relations", payload)
    spans, relations = payload.get("spans") or [], payload.get("relations") or []
    if not isinstance(spans, list) or not isinstance(relations, list):
        _refuse("two lists, spans and relations", payload)
    if project.kind == Kind.RELATIONS:
        if spans:
            _refuse("no spans: head and tail are given", payload, "spans")
        return {"spans": [], "relations": _names(relations, project)}
    if project.kind == Kind.ENTITIES and relations:
        _refuse("no relations: this project marks spans", payload, "relations")
    return {
        "spans": (own := _spans(spans, item, project)),
        "relations": _links(relations, spans, own, project),
    }


def _names(relations: list[Any], project: Project) -> list[str]:
    known = label_names(project, "relation")
    for name in relations:
        _known(name, known, "relations")
    return list(dict.fromkeys(relations))


def _spans(spans: list[Any], item: Item, project: Project) -> list[list[Any]]:
    known = label_names(project, "entity")
    length = len(item.tokens) if item.tokens is not None else len(item.text)
    for span in spans:
        fits = isinstance(span, list) and len(span) == 3 and all(type(end) is int for end in span[:2])
        if not fits or not 0 <= span[0] < span[1] <= length:
            _refuse(f"[start, end, label] with 0 ≤ start < end ≤ {length:,}", span, "spans")
        _known(span[2], known, "spans")
    return [list(span) for span in dict.fromkeys(tuple(span) for span in spans)]


def _links(links: list[Any], given: list[Any], own: list[list[Any]], project: Project) -> list[list[Any]]:
    known = label_names(project, "relation") if links else frozenset()
    moved = []
    for link in links:
        fits = isinstance(link, list) and len(link) == 3 and all(type(link[at]) is int for at in (0, 2))
        if not fits or not all(0 <= link[at] < len(given) for at in (0, 2)):
            _refuse("[span number, relation, span number]", link, "relations")
        _known(link[1], known, "relations")
        moved.append([own.index(given[link[0]]), link[1], own.index(given[link[2]])])
    return [list(link) for link in dict.fromkeys(tuple(link) for link in moved)]


def _known(name: Any, known: frozenset[str], field: str) -> None:
    if not isinstance(name, str) or name not in known:
        hint = did_you_mean(name, known) if isinstance(name, str) else None
        raise DomainError(
            "unknown_label",
            f"{name!r} is not in the inventory of this project.",
            hint=hint or "Load the page again: the inventory may have changed.",
            field=field,
        )


def _refuse(expected: str, found: Any, field: str = "payload") -> NoReturn:
    raise DomainError("bad_payload", f"Expected {expected}; found {str(found)[:80]}.", field=field)
