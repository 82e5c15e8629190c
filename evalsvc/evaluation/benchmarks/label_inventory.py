"""Inventory of a benchmark: its labels, as stated or as its test sets have them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

from annotation.testset import Kind, TestSet
from evalsvc.core.errors.exceptions import DomainError, TooLarge
from evalsvc.core.formats.label_list import MAX_LABELS
from evalsvc.core.formats.problems import did_you_mean
from evalsvc.evaluation.measures.inventory import ENTITY, RELATION, labels_in_parts
from evalsvc.evaluation.models import Benchmark

Task = Benchmark.Task


def inventory_of(
    labels: Iterable[str | dict[str, Any]], *, negative: str, task: str = Task.RELATIONS
) -> list[dict[str, Any]]:
    """Return labels as [{"name", "title"}], each once, without the negative class.

    Those of joint benchmarks have a part, and relations without direction are symmetric.
    """
    labels = list(labels)
    if len(labels) > MAX_LABELS:
        detail = f"A benchmark may have {MAX_LABELS:,} labels, not {len(labels):,}."
        raise TooLarge("too_many_labels", detail, hint="Add fewer labels.", field="labels", limit=MAX_LABELS)
    named = [{"name": label, "title": label} if isinstance(label, str) else label for label in labels]
    parts = (ENTITY, RELATION) if task == Task.JOINT else (None,)
    for label in named:
        if label.get("part") not in parts or (label.get("symmetric") and label.get("part") != RELATION):
            _reject_part(label, task)
    kept = {(label.get("part"), label["name"]): label for label in named if label["name"] != negative}
    if {part for part, _ in kept} != set(parts):
        needs = "an entity type and a relation" if task == Task.JOINT else "at least one label"
        raise DomainError("no_labels", f"A benchmark needs {needs}. Add labels.", field="labels")
    return [_only(label) for label in kept.values()]


def _only(label: dict[str, Any]) -> dict[str, Any]:
    """Return what an inventory stores of a label."""
    stored = {key: label[key] for key in ("name", "title", "part") if key in label}
    return stored | ({"symmetric": True} if label.get("symmetric") else {})


def _reject_part(label: dict[str, Any], task: str) -> NoReturn:
    if task != Task.JOINT:
        expected = f"Labels have parts in joint benchmarks only. Leave out `part` of {label['name']}."
    elif label.get("symmetric"):
        expected = f"{label['name']} is a type of entities. Only relations can be symmetric."
    else:
        expected = f"Say of {label['name']} whether it is an entity type or a relation: `part`."
    raise DomainError("bad_choice", expected, field="labels")


def labels_of(test_sets: Iterable[TestSet], *, task: str, symmetric: str = "") -> list[dict[str, Any]]:
    """Return the merged label inventories of several test sets, in order.

    `symmetric`: relations without direction, separated by commas.
    """
    undirected = list(filter(None, map(str.strip, symmetric.split(","))))
    merged: dict[tuple[str, str], dict[str, Any]] = {}
    for test_set in test_sets:
        for label in labels_of_set(test_set, task):
            part = {"part": label["part"]} if task == Task.JOINT else {}
            entry = {"name": label["name"], "title": label.get("title", label["name"])} | part
            merged.setdefault((part.get("part", ""), label["name"]), entry)
    for name in undirected:
        if (RELATION, name) not in merged:
            hint = did_you_mean(name, [label for part, label in merged if part == RELATION])
            detail = f"{name} is not a relation of these test sets."
            raise DomainError("unknown_label", detail, hint=hint or "", field="symmetric")
        merged[RELATION, name]["symmetric"] = True
    return list(merged.values())


def labels_of_set(test_set: TestSet, task: str) -> list[dict[str, Any]]:
    """Return the labels that a task scores, in parts where the gold is joint."""
    if test_set.kind != Kind.JOINT:
        return list(test_set.labels)
    labels = labels_in_parts(test_set)
    return labels if task == Task.JOINT else [label for label in labels if label["part"] == ENTITY]
