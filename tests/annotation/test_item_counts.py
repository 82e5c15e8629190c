"""Counts of items, which triggers of the database keep, against the items themselves."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from django.db import connection

from annotation import projects
from annotation.models import Batch, Item, ItemCount, Project
from annotation.models import item as item_models
from annotation.queue import leases, quality_settings
from tests.cast.basics import sentence
from tests.cast.projects import annotators, answer_item, curator, import_lines, project_with_items

COLUMNS = ("batch", "use", "state", "free", "k", "extra", "policy_matters", "n_labels", "pattern")


def stored() -> Counter[Any]:
    counts: Counter[Any] = Counter()
    for *values, n in ItemCount.objects.values_list(*COLUMNS, "n"):
        counts[tuple(values)] += n
    return +counts


def recounted() -> Counter[Any]:
    counts: Counter[Any] = Counter()
    for each in Item.objects.all():
        n_labels = len((each.gold or {}).get("relations", ()))
        pattern = each.pattern if each.state == Item.State.DISPUTED else ""
        wanted = (each.free, each.k or 0, each.extra)
        counts[each.batch_id, each.use, each.state, *wanted, each.policy_matters, n_labels, pattern] += 1
    return counts


def change_items(project: Project) -> None:
    """Items that are leased, answered, disputed, gold questions, deleted, and of another rule."""
    ann, bob = annotators(project, 2)
    leases.lease_several(project, ann, n=3)
    s0, s1, s2, s3, s4 = project.items.order_by("rank")[:5]
    for item, second in ((s0, "A"), (s1, "B"), (s2, "")):
        answer_item(item, ann, "A")
        answer_item(item, bob, *filter(None, [second]))
    payload = {"spans": [], "relations": ["A"]}
    quality_settings.make_gold_question(s3, payload=payload, use="check", by=curator())
    s4.delete()
    projects.set_policy(project, policy="majority-na", by=curator())


def test_counts_follow_every_change_of_items(either_database: str) -> None:
    project = project_with_items(8)
    assert stored() == recounted()
    change_items(project)
    import_lines(project, [sentence(at) for at in range(20, 24)])
    project.items.filter(external_id="s20").update(k=3)
    assert stored() == recounted()
    assert ItemCount.objects.live(project).total() == 10
    assert ItemCount.objects.live(project).by_state()["disputed"] == 2


def test_counts_leave_out_imports_under_way(either_database: str) -> None:
    project = project_with_items(3)
    Batch.objects.filter(project=project).update(state=Batch.State.RUNNING)
    assert ItemCount.objects.live(project).total() == 0


def test_merged_counts_are_the_same(either_database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    change_items(project_with_items(8))
    monkeypatch.setattr(item_models, "_rows_when_merged", -1_000)
    item_models.merge_item_counts()
    assert stored() == recounted()
    if connection.vendor == "postgresql":
        assert ItemCount.objects.count() == len(recounted())
