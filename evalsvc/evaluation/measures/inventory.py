"""Inventory of labels that a benchmark scores."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import msgspec

from annotation.testset import Kind, TestSet, export_lines
from evalsvc.evaluation.models import Benchmark


def scored_labels(benchmark: Benchmark, test_sets: Iterable[TestSet]) -> list[dict[str, str]]:
    """Return the inventory without the relations of joint gold.

    They are no types of entities.
    """
    joint = {each for each in test_sets if each.kind == Kind.JOINT}
    relations = frozenset[str]().union(*(_relations_of(each.pk, each.sha256) for each in joint))
    return [label for label in benchmark.labels if label["name"] not in relations]


class JointLine(msgspec.Struct):
    """Labels of a joint gold line."""

    spans: tuple[tuple[int, int, str], ...] = ()
    relations: tuple[tuple[int, str, int], ...] = ()


@lru_cache(maxsize=64)
def _relations_of(pk: int, sha256: str) -> frozenset[str]:
    """Return the labels that joint gold uses or lists for relations only."""
    decoder, test_set = msgspec.json.Decoder(JointLine), TestSet.objects.get(pk=pk)
    relations = {label["name"] for label in test_set.labels if label.get("part") == "relation"}
    types = {label["name"] for label in test_set.labels if label.get("part") == "entity"}
    for raw in export_lines(test_set):
        line = decoder.decode(raw)
        types |= {name for _, _, name in line.spans}
        relations |= {name for _, name, _ in line.relations}
    return frozenset(relations - types)
