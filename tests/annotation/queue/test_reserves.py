"""Several leases in hand, the pool's way back by itself, k in motion, and people called in on a dispute."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db.models.functions import Now

from annotation import projects
from annotation.adjudication import decisions
from annotation.consensus import item_state
from annotation.models import Lease
from annotation.queue import assignment, gold_questions
from evalsvc.core.errors.exceptions import Conflict
from tests.cast.projects import annotators, answer_item, answered_item, curator, project_with_items
from tests.errors import code
from workers.runner import run_next

pytestmark = pytest.mark.django_db


def test_a_device_takes_a_reserve_in_order_and_no_item_twice() -> None:
    of = project_with_items(6)
    user = annotators(of, 1)[0]
    first = assignment.lease_next(of, user)
    more = assignment.lease_several(of, user, n=4, current_leases=[first.pk])
    assert [lease.item.external_id for lease in (first, *more)] == ["s0", "s1", "s2", "s3", "s4"]


def test_a_reserve_goes_to_somebody_who_has_nothing_and_the_current_three_never() -> None:
    of = project_with_items(5, k=1)
    greedy, idle = annotators(of, 2)
    held = assignment.lease_several(of, greedy, n=5)
    taken = assignment.lease_several(of, idle, n=5)
    assert [lease.item.external_id for lease in taken] == ["s4"]
    again = assignment.lease_next(of, idle, current_leases=[])
    assert again.pk == taken[0].pk
    answer_item(taken[0].item, idle, "A")
    assert assignment.lease_next(of, idle).item.external_id == "s3"
    assert [Lease.objects.get(pk=lease.pk).ending for lease in held] == [
        "",
        "",
        "",
        "taken back",
        "taken back",
    ]


def test_an_answer_to_a_reserve_that_was_taken_back_is_kept_as_surplus() -> None:
    of = project_with_items(4, k=1)
    greedy, idle = annotators(of, 2)
    held = assignment.lease_several(of, greedy, n=4)
    answer_item(assignment.lease_next(of, idle).item, idle, "A")
    late = answer_item(held[3].item, greedy, "B")
    item = of.items.get(external_id="s3")
    assert (late.surplus, item.gold["relations"], item.answers.count()) == (True, ["A"], 2)


def test_a_person_with_a_lease_takes_nothing_from_a_reserve() -> None:
    of = project_with_items(5, k=1)
    greedy, other = annotators(of, 2)
    assignment.lease_several(of, greedy, n=4)
    own = assignment.lease_next(of, other)
    assert assignment.lease_next(of, other, current_leases=[own.pk]) is None


def test_an_expired_lease_comes_back_by_the_workers_clock_without_anybody_asking() -> None:
    of = project_with_items(1, k=1)
    lease = assignment.lease_next(of, annotators(of, 1)[0])
    Lease.objects.filter(pk=lease.pk).update(expires_at=Now() - timedelta(seconds=1))
    run_next("heavy")
    lease.refresh_from_db()
    assert (lease.ending, of.items.get().free) == ("expired", 1)


def test_k_goes_up_and_down_while_people_work() -> None:
    of = project_with_items(1, k=2)
    item = answered_item(of, ["A"], ["A"])
    assert (item.state, item.free) == ("settled", 0)
    projects.set_k(of, k=3, by=curator())
    third = annotators(of, 3)[2]
    assert assignment.lease_next(of, third).item == item
    projects.set_k(of, k=1, by=curator())
    item.refresh_from_db()
    assert (item.state, item.free) == ("settled", 0)
    assert answer_item(item, third, "B").surplus


def test_a_tie_calls_in_one_more_person_by_itself_up_to_the_limit() -> None:
    of = project_with_items(1, k=2)
    gold_questions.set_quality_options(of, by=curator(), calls_extra=True, most_extra=1)
    item = answered_item(of, ["A"], ["B"])
    assert (item.state, item.extra, item.free) == ("open", 1, 1)
    answer_item(item, annotators(of, 3)[2], "C")
    item.refresh_from_db()
    assert (item.state, item.extra) == ("disputed", 1)
    with pytest.raises(Conflict, check=code("enough_asked")):
        decisions.ask_one_more(item, by=curator())


def test_a_changed_answer_withdraws_the_extra_place() -> None:
    of = project_with_items(1, k=2)
    gold_questions.set_quality_options(of, by=curator(), calls_extra=True)
    item = answered_item(of, ["A"], ["B"])
    answer_item(item, annotators(of, 2)[1], "A", base=1)
    item.refresh_from_db()
    assert (item.state, item.extra, item.free) == ("settled", 0, 0)


def test_enabling_extra_annotators_applies_to_existing_disputes() -> None:
    of = project_with_items(1, k=2)
    item = answered_item(of, ["A"], ["B"])
    gold_questions.set_quality_options(of, by=curator(), calls_extra=True)
    item.refresh_from_db()
    assert (item.state, item.free) == ("open", 1)
    assert item_state.answers_needed(item, item_state.Rules(of.pk)) == 3
