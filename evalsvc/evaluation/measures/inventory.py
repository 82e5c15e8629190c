"""Inventories of labels that a benchmark scores."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import msgspec

from annotation.testset import Kind, TestSet, export_lines
from evalsvc.evaluation.models import Benchmark

ENTITY, RELATION = "entity", "relation"


def scored_labels(benchmark: Benchmark, test_sets: Iterable[TestSet]) -> list[dict[str, Any]]:
    """Return the inventory without the relations of joint gold.

    They are no types of entities.
    """
    if benchmark.task == Benchmark.Task.JOINT:
        return [label for label in benchmark.labels if label["part"] == ENTITY]
    joint = {each for each in test_sets if each.kind == Kind.JOINT}
    parts = [(label["part"], label["name"]) for each in joint for label in labels_in_parts(each)]
    relations = {name for part, name in parts if part == RELATION and (ENTITY, name) not in parts}
    return [label for label in benchmark.labels if label["name"] not in relations]


def relation_labels(benchmark: Benchmark) -> list[dict[str, Any]]:
    """Return the relations between entities, of joint benchmarks."""
    return [label for label in benchmark.labels if label.get("part") == RELATION]


def labels_in_parts(test_set: TestSet) -> list[dict[str, Any]]:
    """Return the labels of joint gold as types of entities and as relations.

    Gold that does not say which they are is read: a label that occurs nowhere is a type.
    """
    if any("part" in label for label in test_set.labels):
        return list(test_set.labels)
    relations, types = _used_in(test_set.pk, test_set.sha256)
    return [
        label | {"part": part}
        for part in (ENTITY, RELATION)
        for label in test_set.labels
        if label["name"] in (relations if part == RELATION else types)
        or (part == ENTITY and label["name"] not in relations)
    ]


class JointLine(msgspec.Struct):
    """Labels of a joint gold line."""

    spans: tuple[tuple[int, int, str], ...] = ()
    relations: tuple[tuple[int, str, int], ...] = ()


@lru_cache(maxsize=64)
def _used_in(pk: int, sha256: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the relations and the types that joint gold uses."""
    decoder, test_set = msgspec.json.Decoder(JointLine), TestSet.objects.get(pk=pk)
    relations, types = set[str](), set[str]()
    for raw in export_lines(test_set):
        line = decoder.decode(raw)
        types |= {name for _, _, name in line.spans}
        relations |= {name for _, name, _ in line.relations}
    return frozenset(relations), frozenset(types)
