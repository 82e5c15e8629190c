"""Whatever people do in whatever order, stored states are those that answers and decisions give."""

from __future__ import annotations

import random
from collections.abc import Callable
from uuid import uuid4

import pytest
from django.db import transaction

from annotation import projects
from annotation.adjudication import decisions
from annotation.consensus import item_state, recomputation
from annotation.models import Adjudication, Answer, Item, Project
from annotation.ontology import plans
from annotation.queue import exclusions
from annotation.queue.quality_settings import set_quality_options
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import DomainError
from tests.cast.projects import adjudicator, annotators, answer_item, curator, project_with_items
from tests.places.extent import FULL

pytestmark = pytest.mark.django_db
SEQUENCES, STEPS = (200, 60) if FULL else (8, 40)
CHANGES = [
    {"operation": "merge", "sources": ["A", "X"], "target": "M"},
    {"operation": "delete", "sources": ["X"]},
    {"operation": "split", "sources": ["S"], "targets": ["S1", "S2"]},
]


class People:
    """Four annotators, an adjudicator and a curator, who act at random."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.key = project_with_items(5, k=2, labels=list("ABXYSM")).pk
        self.annotators, self.judge = annotators(self.project, 4), adjudicator(self.project)
        set_quality_options(self.project, most_extra=2, by=curator())

    @property
    def project(self) -> Project:
        return Project.objects.get(pk=self.key)

    @property
    def item(self) -> Item:
        return self.random.choice(self.project.items.order_by("rank"))

    @property
    def decider(self) -> User:
        return self.random.choice([self.judge, curator()])

    def labels(self, *numbers: int) -> list[str]:
        return self.random.sample("ABXYS", self.random.choice(numbers))

    def act(self) -> str:
        """Take a step; return its name."""
        steps, weights = zip(*STEP_WEIGHTS.items(), strict=True)
        [step] = self.random.choices(steps, weights)
        step(self)
        return str(step.__name__)

    # ---- steps ------------------------------------------------------------------------------------
    def answer(self) -> None:
        answer_item(self.item, self.random.choice(self.annotators), *self.labels(0, 1, 1, 1, 2))

    def decide(self) -> None:
        item, is_finding = self.item, self.random.random() < 0.15
        answer = {"payload": {"relations": self.labels(0, 1)}}
        chosen = {"finding": Adjudication.Finding.BROKEN} if is_finding else answer
        decisions.decide(item, by=self.decider, client_id=uuid4(), votes_key=item.votes_key, **chosen)

    def reopen(self) -> None:
        decisions.reopen(self.item, by=self.decider)

    def ask_one_more(self) -> None:
        decisions.ask_one_more(self.item, by=self.decider)

    def cancel_one_more(self) -> None:
        decisions.cancel_one_more(self.item, by=self.decider)

    def change_labels(self) -> None:
        plans.apply_plan(self.project, plans.planned([self.random.choice(CHANGES)]), by=curator())

    def undo_change(self) -> None:
        for step in self.project.steps.filter(undone_at=None).order_by("-number")[:1]:
            plans.undo_plan(self.project, step.number, by=curator())

    def set_k(self) -> None:
        more = self.random.choice([-1, 0, 1])
        projects.set_k(self.project, k=self.project.k + more, reopens=more >= 0, by=curator())

    def set_rule(self) -> None:
        projects.set_policy(
            self.project, policy=self.random.choice(["majority", "majority_na"]), by=curator()
        )

    def set_calls(self) -> None:
        set_quality_options(self.project, calls_extra=self.random.random() < 0.6, by=curator())

    def exclude_item(self) -> None:
        decisions.exclude_item(self.item, by=curator(), finding=Adjudication.Finding.BROKEN)

    def exclude_answer(self) -> None:
        answers = Answer.objects.filter(item__in=self.project.items.all()).active().order_by("pk")
        for answer in self.random.sample([*answers], min(1, len(answers))):
            exclusions.exclude_answer(answer, by=curator(), excluded=self.random.random() < 0.5)

    def exclude_annotator(self) -> None:
        people = [*self.project.annotators.order_by("pk")]
        for annotator in self.random.sample(people, min(1, len(people))):
            exclude = self.random.choice([exclusions.exclude_annotator, exclusions.include_annotator])
            exclude(annotator, by=curator())


STEP_WEIGHTS: dict[Callable[[People], None], float] = {
    People.answer: 12,
    People.decide: 6,
    People.reopen: 2,
    People.ask_one_more: 2,
    People.cancel_one_more: 1,
    People.change_labels: 3,
    People.undo_change: 2,
    People.set_k: 3,
    People.set_rule: 1,
    People.set_calls: 1,
    People.exclude_item: 1,
    People.exclude_answer: 1,
    People.exclude_annotator: 1,
}


def stored(project: Project) -> list[object]:
    """Everything that is stored of the states of items, and of their decisions."""
    made = Adjudication.objects.filter(item__in=project.items.all()).order_by("pk")
    of_items = project.items.order_by("pk").values_list("pk", *item_state.FIELDS)
    return [*of_items, *made.values_list("pk", "lapsed", "answers_key", "votes_key", "reopened_at")]


@pytest.mark.parametrize("seed", range(SEQUENCES))
def test_after_any_steps_states_are_those_that_answers_and_decisions_give(seed: int) -> None:
    """Nothing is stuck: who waits for answers is asked for, and a decision counts where one is shown."""
    people, taken = People(seed), []
    for _ in range(STEPS):
        try:
            with transaction.atomic():
                taken.append(people.act())
        except DomainError:
            continue
        project = people.project
        before = stored(project)
        recomputation.recompute_items(project, [*project.items.values_list("pk", flat=True)])
        assert stored(project) == before, taken
        for item in project.items.all():
            assert item.adjudications.active().count() == (item.state in Item.DECIDED), taken
            assert item.state != Item.State.OPEN or item.free or item.leases.exists(), taken
    assert len(taken) > STEPS / 4
