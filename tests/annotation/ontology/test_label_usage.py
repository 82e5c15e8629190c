"""Label usage counted by the database equals a count answer by answer."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from annotation.consensus.rules import Rules, label_names, labels_in
from annotation.models import Answer, Item, Project, SourceLabels
from annotation.ontology import inventory, label_usage
from annotation.reports import project_stats
from tests.cast.basics import sentence
from tests.cast.projects import create_project, curator, import_lines

ODD = 'l\'été, "B" [x]'  # quotes, a comma and brackets stand in JSON and in SQL


def read(project: Project) -> tuple[dict[str, tuple[int, int]], Counter[str], int]:
    """The same by reading everything: labels on items, labels in gold, source labels left empty."""
    mapping = Rules(Project.objects.get(pk=project.pk)).mapping
    chosen: dict[int, set[str]] = {}
    for answer in Answer.objects.filter(item__project=project).exclude(item__state="open"):
        labels = labels_in(mapping.payload(answer.payload).payload)
        chosen.setdefault(answer.item_id, set()).update(labels)
    hard = set(project.items.filter(state="disputed").values_list("pk", flat=True))
    seen = Counter(name for names in chosen.values() for name in names)
    disputed = Counter(name for item, names in chosen.items() if item in hard for name in names)
    golds = project.items.exclude(gold=None).values_list("gold", flat=True)
    gold = Counter(name for one in golds for name in labels_in(one))
    sealed = SourceLabels.objects.filter(item__project=project).values_list("labels", flat=True)
    return (
        {name: (seen[name], disputed[name]) for name in label_names(project)},
        gold,
        sum(mapping.payload(one).emptied for one in sealed),
    )


def check(project: Project) -> None:
    project = Project.objects.get(pk=project.pk)
    labels, gold, emptied = read(project)
    counts = {
        label.name: (label.items, label.disputed)
        for label in project_stats.by_label(project, for_user=curator())
    }
    assert counts == labels
    assert label_usage.count_in_gold(project) == gold
    assert inventory.source_labels_emptied(project) == emptied


def import_answers(project: Project, *answers: dict[str, Any]) -> None:
    """Each answer by two people on its own item, the second one's turned round with the next's."""
    lines = []
    for at, answer in enumerate(answers):
        other = answers[(at + at % 2) % len(answers)]
        lines += [{"item": f"s{at}", "annotator": who} | one for who, one in (("x", answer), ("y", other))]
    batch = import_lines(project, lines, what="votes")
    assert batch.state == "done", batch.problems


def test_label_usage_follows_merges_and_deletions(either_database: str) -> None:
    project = create_project(labels=("A", "B", "C", ODD))
    source = (["A"], [ODD, "B"], [], ["C"], [ODD], ["A", "C"])
    import_lines(project, [sentence(f"s{at}", relations=labels) for at, labels in enumerate(source)])
    import_answers(project, *({"labels": labels} if labels else {"na": True} for labels in source))
    check(project)
    assert label_usage.count_in_gold(project)[ODD] > 0
    inventory.merge(project, ["A", "B"], target="D", by=curator())
    check(project)
    inventory.delete(project, ["C"], by=curator())
    check(project)
    assert inventory.source_labels_emptied(project) == 1


def spans(project: Project, *, linked: bool) -> None:
    texts = [{"id": f"s{at}", "text": f"Ada {at} saw Turin"} for at in range(4)]
    import_lines(project, texts)
    one, two = [0, 3, "PER"], [10, 15, "LOC"]
    link = {"relations": [[0, "in", 1]]} if linked else {}
    import_answers(
        project, {"spans": [one, two]} | link, {"spans": [one]}, {"spans": []}, {"spans": [two, one]}
    )


@pytest.mark.parametrize("kind", ["entities", "joint"])
def test_label_usage_counts_spans_and_their_relations(either_database: str, kind: str) -> None:
    project = create_project(kind, labels=())
    inventory.add_labels(project, ["PER", "LOC"], by=curator(), part="entity")
    if kind == "joint":
        inventory.add_labels(project, ["in", "near"], by=curator(), part="relation")
    spans(project, linked=kind == "joint")
    assert Item.objects.filter(project=project).exclude(gold=None).exists()
    check(project)
    inventory.delete(project, ["LOC"], by=curator())
    check(project)


def test_label_usage_without_answers_is_zero(either_database: str) -> None:
    project = create_project()
    check(project)
    assert not label_usage.count_in_gold(project)
