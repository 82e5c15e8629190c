"""A model of the queue beside the real one: every act by every person, in any order, must agree."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import transaction
from django.db.models.functions import Now
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from annotation import assignment, projects, voting
from annotation.consensus import decide
from annotation.models import Answer, Lease, Vote
from evalsvc.refusals import Conflict
from tests.annotation.making import annotators, curator, filled

PEOPLE, ITEMS = 4, 3
who = st.integers(0, PEOPLE - 1)
what = st.integers(0, ITEMS - 1)
said = st.lists(st.sampled_from("ABC"), max_size=2, unique=True)


class Queue(RuleBasedStateMachine):
    """`log` is all the model keeps: per item the acts in order, each (person, payload or None, name)."""

    def __init__(self) -> None:
        super().__init__()
        self.held = transaction.atomic()
        self.held.__enter__()
        self.of = filled(ITEMS, k=2)
        self.people = annotators(self.of, PEOPLE)
        self.items = list(self.of.items.order_by("rank"))
        self.k = 2
        self.log: list[tuple[int, int, list[str] | None, UUID]] = []

    def teardown(self) -> None:
        transaction.set_rollback(True)
        self.held.__exit__(None, None, None)

    def acts(self, item: int, person: int) -> list[tuple[int, int, list[str] | None, UUID]]:
        return [act for act in self.log if act[:2] == (item, person)]

    def standing(self, item: int) -> list[list[str]]:
        """Answers in the server's order: a changed one keeps its place, a skipped one loses it."""
        places: dict[int, tuple[int, list[str]]] = {}
        for _, person, payload, _ in (act for act in self.log if act[0] == item):
            if payload is None:
                places.pop(person, None)
            elif person in places:
                places[person] = (places[person][0], payload)
            else:
                places[person] = (max((at for at, _ in places.values()), default=0) + 1, payload)
        return [payload for _, payload in sorted(places.values())]

    @rule(person=who, keep=st.booleans())
    def ask(self, person: int, keep: bool) -> None:
        own = Lease.objects.filter(annotator__user=self.people[person], ending="")
        holding = list(own.values_list("pk", flat=True)) if keep else []
        fresh = assignment.lease_next(self.of, self.people[person], holding=holding)
        if fresh is not None and fresh.pk not in holding and not own.filter(pk__lt=fresh.pk).exists():
            assert fresh.annotator.user == self.people[person]
            at = self.items.index(fresh.item)
            assert not self.acts(at, person), "Nobody gets twice what they answered or skipped."

    @rule(item=what, person=who, payload=said)
    def answer(self, item: int, person: int, payload: list[str]) -> None:
        name = uuid4()
        base = len(self.acts(item, person))
        cast = voting.answer(
            self.items[item], self.people[person], client_id=name, payload={"relations": payload}, base=base
        )
        assert (cast.vote.number, cast.repeated) == (base + 1, False)
        self.log.append((item, person, payload, name))

    @rule(item=what, person=who)
    def skip(self, item: int, person: int) -> None:
        name, base = uuid4(), len(self.acts(item, person))
        voting.skip(self.items[item], self.people[person], client_id=name, reason="later", base=base)
        self.log.append((item, person, None, name))

    @precondition(lambda self: self.log)
    @rule(data=st.data())
    def send_again(self, data: Any) -> None:
        item, person, payload, name = data.draw(st.sampled_from(self.log))
        told = {"relations": payload or []}
        assert voting.answer(
            self.items[item], self.people[person], client_id=name, payload=told, base=99
        ).repeated

    @precondition(lambda self: self.log)
    @rule(data=st.data(), payload=said)
    def send_from_a_stale_tab(self, data: Any, payload: list[str]) -> None:
        item, person, _, _ = data.draw(st.sampled_from(self.log))
        with pytest.raises(Conflict):
            voting.answer(
                self.items[item], self.people[person], client_id=uuid4(), payload={"relations": payload}
            )

    @rule()
    def lose_every_device(self) -> None:
        Lease.objects.filter(ending="").update(expires_at=Now() - timedelta(seconds=1))
        assignment.expire()
        assert not Lease.objects.filter(ending="").exists()

    @rule(k=st.integers(1, 3))
    def change_k(self, k: int) -> None:
        projects.set_k(self.of, k=k, by=curator())
        self.k = k

    @invariant()
    def the_log_is_what_was_written(self) -> None:
        rows = Vote.objects.filter(item__project=self.of).order_by("pk")
        assert list(rows.values_list("client_id", flat=True)) == [name for *_, name in self.log]

    @invariant()
    def every_item_is_what_its_answers_come_to(self) -> None:
        for at, item in enumerate(self.items):
            item.refresh_from_db()
            answers = self.standing(at)
            kept = Answer.objects.filter(item=item).order_by("position").values_list("payload", flat=True)
            assert [payload["relations"] for payload in kept] == answers
            payloads = [{"spans": [], "relations": payload} for payload in answers]
            verdict = decide(payloads, kind="relations", policy="majority", k=self.k)
            assert (item.state, item.gold) == (verdict.state, verdict.gold)

    @invariant()
    def what_is_free_and_what_is_out_are_what_is_wanted(self) -> None:
        for at, item in enumerate(self.items):
            counted = set(
                Answer.objects.filter(item=item)
                .order_by("position")
                .values_list("annotator", flat=True)[: self.k]
            )
            out = set(item.leases.filter(ending="").values_list("annotator", flat=True)) - counted
            wanted = max(0, self.k - len(self.standing(at)))
            assert item.free == max(0, wanted - len(out))


@pytest.mark.django_db
def test_the_queue_agrees_with_its_model_whatever_people_do() -> None:
    examples = max(10, int(os.environ.get("CI_SECONDS", "20")) // 3)
    run_state_machine_as_test(
        Queue,
        settings=settings(
            max_examples=examples,
            stateful_step_count=15,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            database=None,
        ),
    )
