"""Whatever curators change in whatever order, which decided sentences come again tells no label."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest

from annotation import projects
from annotation.adjudication import decisions
from annotation.models import Project
from annotation.ontology import plans
from annotation.queue.quality_settings import set_quality_options
from evalsvc.core.errors.exceptions import DomainError
from tests.cast.projects import annotators, answer_item, curator, project_with_items
from tests.permissions.requester import rolled_back
from tests.places.extent import FULL

pytestmark = pytest.mark.django_db
STEPS = 4 if FULL else 2
# answers of two people, and the decision
DISPUTES = [("A", "X", "W"), ("A", "Y", "W"), ("A", "Y", "S"), ("B", "X", "S"), ("", "Y", "")]
CHANGES = {
    "merge": {"sources": ["A", "X"], "target": "M"},
    "delete": {"sources": ["X"]},
    "split": {"sources": ["S"], "targets": ["S1", "S2"]},
}


def change(name: str) -> Callable[[Project], object]:
    step = {"operation": name} | CHANGES[name]
    return lambda project: plans.apply_plan(project, plans.planned([step]), by=curator())


def undo(project: Project) -> None:
    step = project.steps.filter(undone_at=None).latest("number")
    plans.undo_plan(project, step.number, by=curator())


def more(n: int, *, reopens: bool = False) -> Callable[[Project], object]:
    return lambda project: projects.set_k(project, k=project.k + n, reopens=reopens, by=curator())


def calls(*, on: bool) -> Callable[[Project], object]:
    return lambda project: set_quality_options(project, calls_extra=on, by=curator())


LABELS = {name: change(name) for name in CHANGES} | {"undo": undo}
K = {"k + 1": more(1), "k - 1": more(-1)}
CALLS = {"calls": calls(on=True), "no calls": calls(on=False)}
REOPENS = {"reopen": more(0, reopens=True), "reopen, k + 1": more(1, reopens=True)}


def decided() -> Project:
    """A project in which each sentence was in dispute, and is decided."""
    project = project_with_items(len(DISPUTES), k=2, labels=list("ABXYWSM"))
    people = annotators(project, 2)
    set_quality_options(project, most_extra=2, by=curator())
    for item, (one, other, decision) in zip(project.items.order_by("rank"), DISPUTES, strict=True):
        for user, label in zip(people, (one, other), strict=True):
            answer_item(item, user, *filter(None, [label]))
        item.refresh_from_db()
        payload = {"relations": [*filter(None, [decision])]}
        decisions.decide(item, by=curator(), client_id=uuid4(), votes_key=item.votes_key, payload=payload)
    return project


def orders(
    project: Project, steps: dict[str, Callable[[Project], object]], n: int
) -> Iterator[tuple[str, ...]]:
    """Yield the orders of n steps after which some sentences come and others don't."""
    for name, take in steps.items() if n else ():
        with rolled_back():
            copy = Project.objects.get(pk=project.pk)
            try:
                take(copy)
            except (DomainError, copy.steps.model.DoesNotExist):
                continue
            comes = {free > 0 for free in project.items.values_list("free", flat=True)}
            if len(comes) > 1:
                yield (name,)
            yield from ((name, *rest) for rest in orders(copy, steps, n - 1))


@pytest.mark.parametrize("beside", [CALLS, REOPENS], ids=["calls", "reopening"])
def test_no_order_of_steps_brings_back_some_decided_sentences_and_not_others(
    beside: dict[str, Callable[[Project], object]],
) -> None:
    """But for the split of a label that people gave, who are asked again which of the new ones they mean."""
    assert list(orders(decided(), LABELS | K | beside, STEPS)) == []


@pytest.mark.parametrize("name", CHANGES)
def test_a_k_that_is_lowered_and_raised_again_forgets_no_decision(name: str) -> None:
    project = decided()
    for step in (LABELS[name], K["k - 1"], K["k + 1"], K["k + 1"]):
        step(project)
        project.refresh_from_db()
    assert set(project.items.values_list("free", flat=True)) == {0}
