"""A label is taken away only when nobody has chosen it, nor is just choosing it."""

from __future__ import annotations

from threading import Event
from typing import Any

import pytest

from annotation.consensus import recomputation
from annotation.imports import imported_labels
from annotation.models import Answer, Project
from annotation.ontology import inventory
from annotation.queue import votes
from evalsvc.core.errors.exceptions import Conflict, DomainError
from tests.cast.projects import annotators, answer_item, curator, project_with_items
from tests.places.postgres import in_threads, is_any_lock_awaited, until

pytestmark = pytest.mark.postgres


def while_somebody_answers(project: Project, name: str, act: Any, patch: pytest.MonkeyPatch) -> list[str]:
    """Run an action while an answer is being stored; return both outcomes."""
    (user,), item = annotators(project, 1), project.items.get()
    writing, derive = Event(), votes._update_answer

    def slowly(*arguments: Any) -> None:
        writing.set()
        until(is_any_lock_awaited)
        derive(*arguments)

    def go(at: int) -> str:
        try:
            if at == 0:
                answer_item(item, user, name)
            else:
                assert writing.wait(120)
                act()
        except (Conflict, DomainError) as refusal:
            return refusal.code
        return "done"

    patch.setattr(votes, "_update_answer", slowly)
    return in_threads(2, go)


def labels(project: Project) -> set[str]:
    return {choice.name for choice in inventory.inventory(project)}


@pytest.mark.parametrize("at_once", [0, 1_000], ids=["by a job", "at once"])
def test_undoing_a_step_waits_for_an_answer_being_stored(
    postgres: object, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(recomputation, "RECOMPUTE_AT_ONCE", at_once)
    project = project_with_items(1, k=1)
    step = inventory.merge(project, ["A", "B"], target="AB", by=curator())
    outcomes = while_somebody_answers(project, "AB", lambda: inventory.undo(step, by=curator()), monkeypatch)
    assert outcomes == ["done", "target_in_use"]
    assert project.items.get().gold["relations"] == ["AB"]
    assert "AB" in labels(project)


@pytest.mark.parametrize("at_once", [0, 1_000], ids=["by a job", "at once"])
def test_removing_a_label_waits_for_an_answer_being_stored(
    postgres: object, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(recomputation, "RECOMPUTE_AT_ONCE", at_once)
    project = project_with_items(1, k=1)

    def take_out() -> None:
        imported_labels.remove_labels(project, ["C"], part="relation", by=curator())

    assert while_somebody_answers(project, "C", take_out, monkeypatch) == ["done", "label_in_use"]
    assert "C" in labels(project)


@pytest.mark.parametrize("at_once", [0, 1_000], ids=["by a job", "at once"])
def test_answers_are_stored_while_a_step_is_made_and_undone(
    postgres: object, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    """Nobody waits for ever, and each answer is in the inventory in the end."""
    monkeypatch.setattr(recomputation, "RECOMPUTE_AT_ONCE", at_once)
    project = project_with_items(12, k=3)
    people, items, boss = annotators(project, 3), list(project.items.all()), curator()

    def act(at: int) -> None:
        if at < len(people):
            for item in items:
                refused = tried(answer_item, item, people[at], "AB")
                assert not refused or answer_item(item, people[at], "C")
            return
        for _ in range(12):
            tried(inventory.merge, project, ["A", "B"], target="AB", by=boss)
            tried(inventory.undo, project.steps.latest("pk"), by=boss)

    in_threads(len(people) + 1, act)
    answers = Answer.objects.filter(item__project=project)
    assert answers.count() == 36
    assert {name for answer in answers for name in answer.payload["relations"]} <= labels(project)


def tried(act: Any, *what: Any, **more: Any) -> bool:
    """True when the action was rejected."""
    try:
        act(*what, **more)
    except (Conflict, DomainError):
        return True
    return False
