"""A model of the queue beside the real one: every act by every person, in any order, must agree."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Now
from django.test import TestCase
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from annotation import projects
from annotation.adjudication import decisions, dispute_list
from annotation.consensus.majority import Verdict, decide
from annotation.models import Answer, Lease, Vote
from annotation.queue import exclusions, lease_endings, leases, participants, pauses, quality_settings, votes
from annotation.queue.available_items import assignable_items
from evalsvc.core.errors.exceptions import Conflict, NotAllowed
from tests.cast import basics
from tests.cast.projects import annotators, answer_item, curator, is_surplus, project_with_items

PEOPLE, ITEMS, MOST_EXTRA = 4, 4, 1
HOUR = 1_000_000  # many moments
who = st.integers(0, PEOPLE - 1)
what = st.integers(0, ITEMS - 1)
relations_strategy = st.lists(st.sampled_from("ABC"), max_size=2, unique=True)
Relations = list[str]


class Queue(RuleBasedStateMachine):
    """What the model keeps: per item the acts in order, each (item, person, payload or why not, name), whose
    answers are set excluded, who is paused, the rules of the project, and when places of withdrawn answers
    come free. Everything else follows."""

    check_every = 0

    def __init__(self) -> None:
        super().__init__()
        self.held = transaction.atomic()
        self.held.__enter__()
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(leases, "NOT_RESERVE", 1)  # a reserve begins with the second
        self.project = project_with_items(ITEMS, k=2)
        quality_settings.set_quality_options(self.project, by=curator(), most_extra=MOST_EXTRA)
        quality_settings.set_quality_options(self.project, by=curator(), check_every=self.check_every)
        self.people = annotators(self.project, PEOPLE)
        self.items = list(self.project.items.order_by("rank"))
        self.k, self.calls_extra = 2, False
        self.asked = dict.fromkeys(range(ITEMS), 0)
        self.called = dict.fromkeys(range(ITEMS), 0)
        self.log: list[tuple[int, int, Relations | str, UUID]] = []
        self.excluded: set[tuple[int, int]] = set()
        self.paused: set[int] = set()
        self.kept: dict[tuple[int, int], int] = {}
        self.now = 0

    def teardown(self) -> None:
        try:
            self.adjudicators_can_settle_every_queued_item()
            self.new_annotators_can_finish_the_project()
        finally:
            self.patch.undo()
            transaction.set_rollback(True)
            self.held.__exit__(None, None, None)

    # ---- what the model makes of its log ---------------------------------------------------------
    def acts(self, item: int, person: int) -> list[tuple[int, int, Relations | str, UUID]]:
        return [act for act in self.log if act[:2] == (item, person)]

    def last(self, item: int, person: int) -> Relations | str | None:
        """Return the person's last answer or reason to skip, None without vote."""
        acts = self.acts(item, person)
        return acts[-1][2] if acts else None

    def is_unanswerable(self, item: int) -> bool:
        """True if skipped for good, or short of an answer beyond k, with no working annotator left."""
        if not self.free(item):
            return False
        active = [person for person in range(PEOPLE) if person not in self.paused]
        if not all(any(act[1] == person for act in self.log) for person in active):
            return False
        latest = [self.last(item, person) for person in range(PEOPLE)]
        beyond_k = self.wanted(item) > self.k <= len(self.counting(item))
        return ("broken" in latest or beyond_k) and all(
            latest[person] not in (None, "later") for person in active
        )

    def answers_in_order(self, item: int) -> dict[int, Relations]:
        """Answers in the server's order: a changed one keeps its place, a skipped one loses it."""
        places: dict[int, Relations] = {}
        for _, person, payload, _ in (act for act in self.log if act[0] == item):
            if isinstance(payload, str):
                places.pop(person, None)
            else:
                places[person] = payload
        return places

    def first_answers(self, item: int) -> dict[int, Relations]:
        answers = {}
        for _, person, payload, _ in (act for act in self.log if act[0] == item):
            if not isinstance(payload, str):
                answers.setdefault(person, payload)
        return answers

    def decided(self, item: int) -> tuple[int, list[int], Verdict]:
        """Return the answers needed, the answers that count, and the outcome."""
        answers, wanted = self.answers_in_order(item), self.wanted(item)
        return wanted, self.counting(item)[:wanted], self.outcome(item, answers)

    def wanted(self, item: int) -> int:
        return self.k + self.asked[item] + self.called[item]

    def counting(self, item: int) -> list[int]:
        return [person for person in self.answers_in_order(item) if (item, person) not in self.excluded]

    def outcome(self, item: int, given: dict[int, Relations]) -> Verdict:
        wanted = self.wanted(item)
        payloads = [{"spans": [], "relations": given[person]} for person in self.counting(item)[:wanted]]
        return decide(payloads, kind="relations", policy="majority", k=wanted)

    def may_call(self, item: int) -> bool:
        return self.calls_extra and self.asked[item] + self.called[item] < MOST_EXTRA

    def call(self, item: int, person: int) -> None:
        """After a first answer that counts, call one more where those as first given are disputed."""
        while (
            self.may_call(item)
            and person in self.counting(item)[: self.wanted(item)]
            and self.outcome(item, self.first_answers(item)).state == "disputed"
        ):
            self.called[item] += 1

    def free(self, item: int) -> int:
        """Return the places that nobody has: by an answer, a lease, or one withdrawn in the last hours."""
        wanted, first, verdict = self.decided(item)
        out = set(self.items[item].leases.filter(ending="").values_list("annotator__user", flat=True))
        out |= {self.people[person].pk for at, person in self.kept if at == item}
        out -= {self.people[person].pk for person in first}
        return max(0, wanted - len(first) - len(out)) if verdict.state == "open" else 0

    def has_place(self, item: int, person: int) -> bool:
        return person in self.answers_in_order(item) and (item, person) not in self.excluded

    def keep_place(self, item: int, person: int, *, had: bool) -> None:
        """Beside checks, keep the place of a withdrawn answer; one of the person an hour comes free."""
        if self.has_place(item, person):
            self.kept.pop((item, person), None)
        elif had and self.check_every:
            self.now += 1  # a moment later
            free = self.now + HOUR
            for other in sorted(time for (_, each), time in self.kept.items() if each == person):
                if free + HOUR <= other:
                    break
                free = max(free, other + HOUR)
            self.kept[item, person] = free

    # ---- what people do --------------------------------------------------------------------------
    def running(self, person: int) -> QuerySet[Lease]:
        return Lease.objects.filter(annotator__user=self.people[person], ending="").order_by("pk")

    def leased_and_free(self) -> int:
        free = sum(self.project.items.values_list("free", flat=True))
        kept = Lease.objects.keeping().filter(item__project=self.project)
        return free + kept.values("item", "annotator").distinct().count()

    @rule(person=who, keep=st.booleans(), n=st.integers(1, ITEMS))
    def ask(self, person: int, keep: bool, n: int) -> None:
        own = list(self.running(person).values_list("pk", flat=True))
        if person in self.paused:
            with pytest.raises(NotAllowed):
                leases.lease_next(self.project, self.people[person])
            return
        before = self.leased_and_free()
        handed = leases.lease_several(
            self.project, self.people[person], n=n, current_leases=own if keep else []
        )
        for lease in handed:
            assert lease.annotator.user == self.people[person]
            if lease.pk not in own:
                earlier = self.last(self.items.index(lease.item), person)
                assert earlier in (None, "later"), "Nobody gets twice what they answered or passed on."
        assert len(handed) <= n
        assert self.leased_and_free() == before, (
            "Each item handed out is one less that is free, or taken back."
        )
        assert keep or not own or own[0] == handed[0].pk, "A reloaded page gets its item back."
        annotator = participants.annotator_of(self.project, self.people[person])
        assert handed or not assignable_items(self.project, annotator), "Nobody is sent away too early."

    @precondition(lambda self: Lease.objects.filter(ending="").exists())
    @rule(data=st.data())
    def give_one_back(self, data: Any) -> None:
        running = list(Lease.objects.filter(ending="").select_related("annotator__user").order_by("pk"))
        lease = data.draw(st.sampled_from(running))
        lease_endings.return_lease(lease.pk, lease.annotator.user)

    @rule(item=what, person=who, payload=relations_strategy)
    def answer(self, item: int, person: int, payload: Relations) -> None:
        name, had = uuid4(), self.has_place(item, person)
        base = len(self.acts(item, person))
        cast = votes.answer(
            self.items[item], self.people[person], client_id=name, payload={"relations": payload}, base=base
        )
        assert (cast.vote.number, cast.repeated) == (base + 1, False)
        self.log.append((item, person, payload, name))
        if person in self.paused:
            self.excluded.add((item, person))
        if sum(not isinstance(act[2], str) for act in self.acts(item, person)) == 1:
            self.call(item, person)
        self.keep_place(item, person, had=had)
        assert is_surplus(self.items[item], self.people[person]) == (person not in self.decided(item)[1])

    @rule(item=what, person=who, reason=st.sampled_from(["later", "broken"]))
    def skip(self, item: int, person: int, reason: str) -> None:
        name, base, had = uuid4(), len(self.acts(item, person)), self.has_place(item, person)
        votes.skip(self.items[item], self.people[person], client_id=name, reason=reason, base=base)
        self.log.append((item, person, reason, name))
        self.keep_place(item, person, had=had)

    @rule(item=what)
    def everybody_skips(self, item: int) -> None:
        for person in range(PEOPLE):
            self.skip(item, person, "broken")

    @precondition(lambda self: self.log)
    @rule(data=st.data())
    def send_again(self, data: Any) -> None:
        item, person, payload, name = data.draw(st.sampled_from(self.log))
        voted = (self.items[item], self.people[person])
        if isinstance(payload, str):
            again = votes.skip(*voted, client_id=name, reason=payload, base=99)
        else:
            again = votes.answer(*voted, client_id=name, payload={"relations": payload}, base=99)
        assert again.repeated

    @precondition(lambda self: self.log)
    @rule(data=st.data(), payload=relations_strategy)
    def send_from_a_stale_tab(self, data: Any, payload: Relations) -> None:
        item, person, _, _ = data.draw(st.sampled_from(self.log))
        with pytest.raises(Conflict):
            votes.answer(
                self.items[item], self.people[person], client_id=uuid4(), payload={"relations": payload}
            )

    @rule()
    def lose_every_device(self) -> None:
        Lease.objects.filter(ending="").update(expires_at=Now() - timedelta(seconds=1))
        lease_endings.expire_overdue()
        assert not Lease.objects.filter(ending="").exists()

    @rule()
    def an_hour_passes(self) -> None:
        self.now += HOUR + 1
        Lease.objects.filter(ending="withdrawn").update(expires_at=F("expires_at") - timedelta(hours=1))
        lease_endings.expire_overdue()
        self.kept = {place: time for place, time in self.kept.items() if time > self.now}

    # ---- what curators do ------------------------------------------------------------------------
    @rule(k=st.integers(1, 3))
    def change_k(self, k: int) -> None:
        projects.set_k(self.project, k=k, by=curator())
        self.k = k

    @rule(calls=st.booleans())
    def toggle_extra_annotators(self, calls: bool) -> None:
        quality_settings.set_quality_options(self.project, by=curator(), calls_extra=calls)
        switched, self.calls_extra = calls != self.calls_extra, calls
        for item in range(ITEMS if switched else 0):
            filled = max(0, len(self.counting(item)) - self.k - self.asked[item])
            if not calls:
                self.called[item] = min(self.called[item], filled)
            elif self.may_call(item) and self.decided(item)[2].state == "disputed":
                self.called[item] = min(filled + 1, MOST_EXTRA - self.asked[item])

    @rule(item=what)
    def ask_one_more(self, item: int) -> None:
        wanted, _, verdict = self.decided(item)
        if verdict.state in ("disputed", "settled") and wanted < self.k + MOST_EXTRA:
            decisions.ask_one_more(self.items[item], by=curator())
            self.asked[item] += self.called[item] + 1
            self.called[item] = 0
        else:
            with pytest.raises(Conflict):
                decisions.ask_one_more(self.items[item], by=curator())

    @rule(person=who)
    def pause_or_resume(self, person: int) -> None:
        who = participants.annotator_of(self.project, self.people[person])
        if person in self.paused:
            pauses.resume(who, by=curator())
        else:
            with TestCase.captureOnCommitCallbacks(execute=True):
                pauses.pause(who, by=curator())
            assert not self.running(person).exists(), "What a paused person holds goes back."
        self.paused ^= {person}

    @precondition(lambda self: Answer.objects.filter(item__project=self.project).exists())
    @rule(data=st.data(), excluded=st.booleans())
    def exclude_or_include_an_answer(self, data: Any, excluded: bool) -> None:
        item, person = data.draw(
            st.sampled_from([(at, person) for at in range(ITEMS) for person in self.answers_in_order(at)])
        )
        answer = Answer.objects.get(item=self.items[item], annotator__user=self.people[person])
        exclusions.exclude_answer(answer, by=curator(), excluded=excluded)
        (self.excluded.add if excluded else self.excluded.discard)((item, person))

    def adjudicators_can_settle_every_queued_item(self) -> None:
        for item in list(dispute_list.disputes(self.project)):
            arguments = {"client_id": uuid4(), "votes_key": item.votes_key, "payload": {"relations": ["A"]}}
            decisions.decide(item, by=curator(), **arguments)
        assert not dispute_list.disputes(self.project).exists()

    def new_annotators_can_finish_the_project(self) -> None:
        """As many new people as an item may want at the most, and nothing is open."""
        self.lose_every_device()
        while self.kept:
            self.an_hour_passes()
        for number in range(self.k + MOST_EXTRA):
            new = basics.person(f"new{number}")
            projects.set_member(self.project, user=new, role="annotator", by=curator())
            for lease in leases.lease_several(self.project, new, n=ITEMS):
                answer_item(lease.item, new, "A")
        assert not self.project.items.filter(state="open").exists()

    # ---- what must hold after each of it ---------------------------------------------------------
    @invariant()
    def the_log_equals_the_written_votes(self) -> None:
        rows = Vote.objects.filter(item__project=self.project).order_by("pk")
        assert list(rows.values_list("client_id", flat=True)) == [name for *_, name in self.log]

    @invariant()
    def every_item_equals_its_replayed_log(self) -> None:
        for at, item in enumerate(self.items):
            item.refresh_from_db()
            kept = Answer.objects.filter(item=item).order_by("position")
            replayed = self.answers_in_order(at)
            assert [answer.payload["relations"] for answer in kept] == list(replayed.values())
            assert [answer.set_aside for answer in kept] == [(at, one) in self.excluded for one in replayed]
            wanted, _, verdict = self.decided(at)
            assert (item.state, item.gold, self.k + item.extra) == (verdict.state, verdict.gold, wanted)

    @invariant()
    def adjudicators_see_every_queued_item(self) -> None:
        waiting = {self.items.index(item) for item in dispute_list.disputes(self.project)}
        disputed = {at for at in range(ITEMS) if self.decided(at)[2].state == "disputed"}
        assert waiting == disputed | {at for at in range(ITEMS) if self.is_unanswerable(at)}

    @invariant()
    def free_places_and_leases_add_up_to_the_answers_needed(self) -> None:
        assert [item.free for item in self.items] == [self.free(at) for at in range(ITEMS)]


class QueueBesideChecks(Queue):
    check_every = 2


@pytest.mark.django_db
@pytest.mark.parametrize("queue", [Queue, QueueBesideChecks])
def test_the_queue_agrees_with_its_model(queue: type[Queue]) -> None:
    examples = max(6, int(os.environ.get("CI_SECONDS", "30")) // 3)
    run_state_machine_as_test(
        queue,
        settings=settings(
            max_examples=examples,
            stateful_step_count=15,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            database=None,
            derandomize=not os.environ.get("EXPLORE"),
        ),
    )
