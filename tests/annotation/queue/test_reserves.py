"""Several leases in hand, the pool's way back by itself, k in motion, and people called in on a dispute."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest
from django.db.models.functions import Now

from annotation import projects
from annotation.adjudication import bulk_actions, decisions
from annotation.consensus import item_state, recomputation
from annotation.models import Item, Lease, Project, Vote
from annotation.ontology import guideline_versions, inventory
from annotation.queue import exclusions, leases, quality_settings, votes
from annotation.reports.progress import progress_of
from evalsvc.core.errors.exceptions import Conflict
from tests.cast.basics import run_job
from tests.cast.projects import (
    annotators,
    answer_item,
    answered_item,
    curator,
    is_surplus,
    project_with_items,
)
from tests.errors import code
from workers.runner import run_next

pytestmark = pytest.mark.django_db


def test_a_reserve_is_in_order_without_repeats() -> None:
    project = project_with_items(6)
    user = annotators(project, 1)[0]
    first = leases.lease_next(project, user)
    more = leases.lease_several(project, user, n=4, current_leases=[first.pk])
    assert [lease.item.external_id for lease in (first, *more)] == ["s0", "s1", "s2", "s3", "s4"]


def test_reserved_items_go_to_an_annotator_without_work_except_the_next_three() -> None:
    project = project_with_items(5, k=1)
    greedy, idle = annotators(project, 2)
    held = leases.lease_several(project, greedy, n=5)
    taken = leases.lease_several(project, idle, n=5)
    assert [lease.item.external_id for lease in taken] == ["s4"]
    again = leases.lease_next(project, idle, current_leases=[])
    assert again.pk == taken[0].pk
    answer_item(taken[0].item, idle, "A")
    assert leases.lease_next(project, idle).item.external_id == "s3"
    assert [Lease.objects.get(pk=lease.pk).ending for lease in held] == [
        "",
        "",
        "",
        "taken back",
        "taken back",
    ]


def test_an_answer_to_a_reassigned_item_is_surplus() -> None:
    project = project_with_items(4, k=1)
    greedy, idle = annotators(project, 2)
    held = leases.lease_several(project, greedy, n=4)
    answer_item(leases.lease_next(project, idle).item, idle, "A")
    answer_item(held[3].item, greedy, "B")
    item = project.items.get(external_id="s3")
    assert (is_surplus(item, greedy), item.gold["relations"], item.answers.count()) == (True, ["A"], 2)


def test_reserved_items_are_not_reassigned_to_an_annotator_with_a_lease() -> None:
    project = project_with_items(5, k=1)
    greedy, other = annotators(project, 2)
    leases.lease_several(project, greedy, n=4)
    own = leases.lease_next(project, other)
    assert leases.lease_next(project, other, current_leases=[own.pk]) is None


def test_an_expired_lease_is_ended_by_a_worker() -> None:
    project = project_with_items(1, k=1)
    lease = leases.lease_next(project, annotators(project, 1)[0])
    Lease.objects.filter(pk=lease.pk).update(expires_at=Now() - timedelta(seconds=1))
    run_next("heavy")
    lease.refresh_from_db()
    assert (lease.ending, project.items.get().free) == ("expired", 1)


def test_k_can_be_raised_and_lowered_during_work() -> None:
    project = project_with_items(1, k=2)
    item = answered_item(project, ["A"], ["A"])
    assert (item.state, item.free) == ("settled", 0)
    projects.set_k(project, k=3, by=curator())
    third = annotators(project, 3)[2]
    assert leases.lease_next(project, third).item == item
    projects.set_k(project, k=1, by=curator())
    item.refresh_from_db()
    assert (item.state, item.free) == ("settled", 0)
    answer_item(item, third, "B")
    assert is_surplus(item, third)


def test_a_tie_asks_one_more_annotator_up_to_the_limit() -> None:
    project = project_with_items(1, k=2)
    quality_settings.set_quality_options(project, by=curator(), calls_extra=True, most_extra=1)
    item = answered_item(project, ["A"], ["B"])
    assert (item.state, item.extra, item.free) == ("open", 1, 1)
    answer_item(item, annotators(project, 3)[2], "C")
    item.refresh_from_db()
    assert (item.state, item.extra) == ("disputed", 1)
    with pytest.raises(Conflict, check=code("enough_asked")):
        decisions.ask_one_more(item, by=curator())


@pytest.mark.parametrize("first", ["A", "B"])
def test_who_changes_an_answer_learns_from_no_call_what_the_other_answered(first: str) -> None:
    """One more person is called, or not, by the answers as first given."""
    project = project_with_items(1, k=2)
    quality_settings.set_quality_options(project, by=curator(), calls_extra=True)
    item = answered_item(project, ["A"], [first])
    second = annotators(project, 2)[1]
    called = (1, 1) if first == "B" else (0, 0)
    for base, label in enumerate(("C", "A", "B", "A"), start=1):
        answer_item(item, second, label, base=base)
        item.refresh_from_db()
        assert (item.extra, item.free) == called
    votes.skip(item, second, client_id=uuid4(), reason="broken", base=5)
    for base, label in ((6, "C"), (7, "A")):
        answer_item(item, second, label, base=base)
        item.refresh_from_db()
        assert (item.extra, item.free) == called
    answer_item(item, annotators(project, 3)[2], "A")
    item.refresh_from_db()
    assert item.state == "settled"


@pytest.mark.parametrize("other", ["A", "B"])
@pytest.mark.parametrize("labels", [(), ("A",)])
@pytest.mark.parametrize("skips", [False, True])
def test_who_states_an_old_guideline_again_and_again_learns_from_no_call_what_the_other_answered(
    skips: bool, labels: tuple[str, ...], other: str
) -> None:
    """Calls go by the first answer, whatever versions the later ones state."""
    project = project_with_items(1, k=2)
    quality_settings.set_quality_options(project, by=curator(), calls_extra=True)
    projects.set_guideline(project, guideline="Second", by=curator())
    guideline_versions.ask_again(project, 1, labels=labels, by=curator())
    item = answered_item(project, [other])
    second = annotators(project, 2)[1]
    # with labels, the first one is not asked again, though of the old version
    answer_item(item, second, "B" if labels else "A", guideline=1)
    called = (1, 1) if labels and other != "B" else (0, 0)
    number = 1
    for label in ("A", "C", "B", "A"):
        if skips:
            votes.skip(item, second, client_id=uuid4(), reason="broken", base=number)
            number += 1
        answer_item(item, second, "A", base=number, guideline=1)
        answer_item(item, second, label, base=number + 1)
        number += 2
        item.refresh_from_db()
        assert (item.extra, item.free) == called


@pytest.mark.parametrize("others", [["B", "B"], ["B", "C"], ["A"]])
def test_an_answered_sentence_that_is_put_off_comes_again_whatever_others_answered(others: list[str]) -> None:
    """Else its person would learn alone whether the two others, one of them called, agree."""
    project = project_with_items(1, k=2)
    quality_settings.set_quality_options(project, by=curator(), calls_extra=True)
    item = answered_item(project, ["A"], *([label] for label in others))
    user = annotators(project, 1)[0]
    votes.skip(item, user, client_id=uuid4(), reason="later", base=1)
    assert progress_of(project, user)["waiting"] == 1
    lease = leases.lease_next(project, user)
    assert lease is not None
    answer_item(item, user, "A", base=2)
    assert progress_of(project, user)["waiting"] == 0


@pytest.mark.parametrize("label", ["A", "B"])
def test_an_idle_person_takes_no_sentence_that_its_holder_had_answered(label: str) -> None:
    """Its holder would learn that the other had not been called, so that the answers agree."""
    project = project_with_items(6, k=2)
    quality_settings.set_quality_options(project, by=curator(), calls_extra=True)
    user, other, idle = annotators(project, 3)
    for item in project.items.order_by("rank"):
        answer_item(item, user, "A")
        answer_item(item, other, label)
        if label == "B":
            answer_item(item, idle, "A")
        votes.skip(item, user, client_id=uuid4(), reason="later", base=1)
    held: list[Lease] = []
    while lease := leases.lease_next(project, user, current_leases=[each.pk for each in held]):
        held.append(lease)
    assert len(held) == 6
    assert leases.lease_next(project, idle) is None
    assert Lease.objects.filter(pk__in=[each.pk for each in held], ending="").count() == 6


@pytest.mark.parametrize("others", [["B", "B"], ["B", "C"]])
@pytest.mark.parametrize("states", [False, True])
@pytest.mark.parametrize("calls", [False, True])
def test_an_answer_that_is_asked_again_comes_whatever_others_answered(
    others: list[str], states: bool, calls: bool
) -> None:
    """Also one that its person asked again, by stating an old guideline."""
    project = project_with_items(1, k=2)
    quality_settings.set_quality_options(project, by=curator(), calls_extra=calls)
    item = answered_item(project, [] if states else ["A"], *([label] for label in others))
    user = annotators(project, 1)[0]
    projects.set_guideline(project, guideline="Second", by=curator())
    guideline_versions.ask_again(project, 1, labels=["A"], by=curator())
    if states:
        answer_item(item, user, "A", base=1, guideline=1)
    assert progress_of(project, user)["waiting"] == 1
    assert leases.lease_next(project, user) is not None


def test_a_sentence_that_is_put_off_unanswered_is_left_to_others() -> None:
    project = project_with_items(1, k=1)
    user, other = annotators(project, 2)
    item = leases.lease_next(project, user).item
    votes.skip(item, user, client_id=uuid4(), reason="later")
    answer_item(item, other, "A")
    assert progress_of(project, user)["waiting"] == 0
    assert leases.lease_next(project, user) is None


def test_a_later_answer_has_no_older_guideline_than_the_ones_before() -> None:
    project = project_with_items(1, k=1)
    item = answered_item(project, ["A"])
    (user,) = annotators(project, 1)
    projects.set_guideline(project, guideline="Second", by=curator())
    guideline_versions.ask_again(project, 1, by=curator())
    answer_item(item, user, "A", base=1)
    answer_item(item, user, "B", base=2, guideline=1)
    votes.skip(item, user, client_id=uuid4(), reason="broken", base=3, guideline=1)
    answer_item(item, user, "B", base=4, guideline=1)
    item.refresh_from_db()
    assert list(Vote.objects.order_by("number").values_list("guideline", flat=True)) == [1, 2, 2, 2, 2]
    assert item.state == "settled"


@pytest.mark.parametrize(("first", "second"), [("A", "B"), ("A", "C"), ("A", "A")])
def test_no_change_of_labels_rule_or_k_makes_a_call_or_takes_one_back(first: str, second: str) -> None:
    """Else a person who has nothing left would learn from what comes which labels the others gave."""
    project = project_with_items(1, k=2)
    quality_settings.set_quality_options(project, by=curator(), calls_extra=True)
    item = answered_item(project, [first], [second])
    called = (1, 1) if first != second else (0, 0)

    def calls() -> tuple[int, int]:
        item.refresh_from_db()
        return item.extra, item.free

    merged = inventory.merge(project, ["A", "B"], target="A", by=curator())
    assert calls() == called
    inventory.undo(merged, by=curator())
    inventory.delete(project, ["C"], by=curator())
    assert calls() == called
    projects.set_policy(project, policy="majority-na", by=curator())
    assert calls() == called
    projects.set_k(project, k=1, by=curator())
    projects.set_k(project, k=2, by=curator())
    assert calls() == called


@pytest.mark.parametrize("asked", [False, True])
@pytest.mark.parametrize("second", ["B", "C"])
def test_no_further_call_is_made_by_other_labels_than_the_first(second: str, asked: bool) -> None:
    """Else the one called and the next would learn on which sentences the others gave merged labels."""
    project = project_with_items(1, k=2)
    quality_settings.set_quality_options(project, by=curator(), calls_extra=not asked)
    item = answered_item(project, ["A"], [second])
    if asked:
        decisions.ask_one_more(item, by=curator())
        Project.objects.update(calls_extra=True)
    inventory.merge(project, ["A", "B"], target="A", by=curator())
    answer_item(item, annotators(project, 3)[2])
    item.refresh_from_db()
    assert (item.extra, item.free) == (1, 0)


@pytest.mark.parametrize("raised", [False, True])
@pytest.mark.parametrize("second", ["B", "C"])
def test_calls_made_before_a_merge_stay_those_of_the_former_labels_in_large_projects(
    second: str, raised: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their recomputation came after the merge: a further call by merged labels named the others' answers."""
    project = project_with_items(1, k=2)
    quality_settings.set_quality_options(project, by=curator(), calls_extra=raised, most_extra=0)
    item = answered_item(project, ["A"], [second])
    monkeypatch.setattr(recomputation, "RECOMPUTE_AT_ONCE", 0)
    quality_settings.set_quality_options(project, by=curator(), calls_extra=True, most_extra=3)
    inventory.merge(project, ["A", "B"], target="A", by=curator())
    run_job("recompute", project.pk)
    answer_item(item, annotators(project, 3)[2])
    item.refresh_from_db()
    assert (item.extra, item.free) == (1, 0)


@pytest.mark.parametrize("second", ["B", "C"])
def test_a_call_that_ended_is_followed_by_none_under_other_labels(second: str) -> None:
    """Who was offered it knew of the dispute; one more call showed which ones had merged labels."""
    project = project_with_items(1, k=2)
    quality_settings.set_quality_options(project, by=curator(), calls_extra=True)
    item = answered_item(project, ["A"], [second])
    quality_settings.set_quality_options(project, by=curator(), calls_extra=False)
    projects.set_k(project, k=3, by=curator())
    quality_settings.set_quality_options(project, by=curator(), calls_extra=True)
    inventory.merge(project, ["A", "B"], target="A", by=curator())
    answer_item(item, annotators(project, 3)[2])
    item.refresh_from_db()
    assert item.extra == 0


@pytest.mark.parametrize("asked", [False, True])
def test_a_dispute_of_three_answers_calls_a_second_person(asked: bool) -> None:
    project = project_with_items(1, k=2)
    quality_settings.set_quality_options(project, by=curator(), calls_extra=not asked)
    item = answered_item(project, ["A"], ["B"])
    if asked:
        decisions.ask_one_more(item, by=curator())
        Project.objects.update(calls_extra=True)
    answer_item(item, annotators(project, 3)[2], "C")
    item.refresh_from_db()
    assert (item.extra, item.free) == (2, 1)


def test_who_changes_an_answer_after_a_deletion_calls_nobody() -> None:
    project = project_with_items(1, k=2)
    quality_settings.set_quality_options(project, by=curator(), calls_extra=True)
    item = answered_item(project, ["A", "B"], ["B"])
    before = item.extra
    inventory.delete(project, ["B"], by=curator())
    answer_item(item, annotators(project, 1)[0], "A", base=1)
    item.refresh_from_db()
    assert item.extra == before


def test_a_higher_limit_calls_one_more_for_the_disputes_that_wait() -> None:
    project = project_with_items(2, k=2)
    quality_settings.set_quality_options(project, by=curator(), calls_extra=True, most_extra=0)
    disputed = answered_item(project, ["A"], ["B"])
    agreed = answered_item(project, ["A"], ["A"], item=project.items.order_by("rank")[1].external_id)
    for _ in range(2):  # the second time nothing changes
        quality_settings.set_quality_options(project, by=curator(), calls_extra=True, most_extra=2)
        for item, called in ((disputed, 1), (agreed, 0)):
            item.refresh_from_db()
            assert (item.extra, item.free) == (called, called)


def _switch(project: Project, *, calls: bool, most_extra: int = 2) -> None:
    quality_settings.set_quality_options(project, by=curator(), calls_extra=calls, most_extra=most_extra)


def _outcome(item: Item) -> tuple[str, int, int]:
    item.refresh_from_db()
    return item.state, item.extra, item.free


def test_switching_automatic_calls_off_cancels_those_that_wait() -> None:
    project = project_with_items(1, k=2)
    _switch(project, calls=True)
    item = answered_item(project, ["A"], ["B"])
    for _ in range(2):
        _switch(project, calls=False)
        assert _outcome(item) == ("disputed", 0, 0)
        _switch(project, calls=True)
        assert _outcome(item) == ("open", 1, 1)


@pytest.mark.parametrize("limit", [1, 2])
def test_switching_automatic_calls_off_and_on_changes_nothing_that_a_called_person_settled(
    limit: int,
) -> None:
    project = project_with_items(1, k=2)
    _switch(project, calls=True, most_extra=limit)
    item = answered_item(project, ["A"], ["B"], ["A"])
    for calls in (False, True, False):
        _switch(project, calls=calls, most_extra=limit)
        assert _outcome(item) == ("settled", 1, 0)


def test_a_decision_on_the_answer_of_a_called_person_outlasts_the_switch() -> None:
    project = project_with_items(1, k=2)
    _switch(project, calls=True, most_extra=1)
    item = answered_item(project, ["A"], ["B"], ["C"])
    decisions.decide(
        item, by=curator(), payload={"relations": ["A"]}, votes_key=item.votes_key, client_id=uuid4()
    )
    for calls in (False, True):
        _switch(project, calls=calls, most_extra=2)
        assert _outcome(item) == ("adjudicated", 1, 0)


def test_switching_automatic_calls_off_cancels_only_the_call_that_waits() -> None:
    """On again, one more person is called, and not the one whose answer is there."""
    project = project_with_items(1, k=2)
    _switch(project, calls=True)
    item = answered_item(project, ["A"], ["B"], ["C"])
    assert _outcome(item) == ("open", 2, 1)
    _switch(project, calls=False)
    assert _outcome(item) == ("disputed", 1, 0)
    _switch(project, calls=True)
    assert _outcome(item) == ("open", 2, 1)
    answer_item(item, annotators(project, 4)[3])
    _switch(project, calls=False)
    _switch(project, calls=True)
    assert _outcome(item) == ("disputed", 2, 0)
    _switch(project, calls=True, most_extra=3)
    assert _outcome(item) == ("open", 3, 1)


@pytest.mark.parametrize("raises", [False, True])
def test_one_more_is_called_though_answers_beyond_those_that_count_are_there(raises: bool) -> None:
    project = project_with_items(1, k=2)
    _switch(project, calls=raises, most_extra=0)
    item = answered_item(project, ["A"], ["B"], ["C"])
    assert _outcome(item) == ("disputed", 0, 0)
    _switch(project, calls=True, most_extra=3)
    assert _outcome(item) == ("open", 2, 1)


def test_the_switch_counts_no_excluded_answer() -> None:
    """The call waits, though there are three answers."""
    project = project_with_items(1, k=2)
    _switch(project, calls=True)
    item = answered_item(project, ["A"])
    exclusions.exclude_answer(item.answers.get(), by=curator())
    for user, label in zip(annotators(project, 3)[1:], ("A", "B"), strict=True):
        answer_item(item, user, label)
    assert _outcome(item) == ("open", 1, 1)
    _switch(project, calls=False)
    assert _outcome(item) == ("disputed", 0, 0)


@pytest.mark.parametrize("calls_first", [False, True])
def test_switching_automatic_calls_off_cancels_no_request_of_an_adjudicator(calls_first: bool) -> None:
    project = project_with_items(1, k=2)
    _switch(project, calls=calls_first)
    item = answered_item(project, ["A"], ["B"])
    third = annotators(project, 3)[2]
    if calls_first:  # the call is answered, the request waits
        answer_item(item, third, "A")
        decisions.ask_one_more(item, by=curator())
    else:  # the request is answered, the call waits
        decisions.ask_one_more(item, by=curator())
        answer_item(item, third, "C")
        _switch(project, calls=True)
    assert _outcome(item) == ("open", 2, 1)
    _switch(project, calls=False)
    assert _outcome(item) == (("open", 2, 1) if calls_first else ("disputed", 1, 0))


def test_switching_automatic_calls_off_cancels_no_request_for_many_sentences() -> None:
    project = project_with_items(1, k=2)
    _switch(project, calls=True)
    item = answered_item(project, ["A"], ["B"], ["A"])
    annotators(project, 4)
    bulk_actions.apply(project, [item.key], bulk_actions.REOPEN, by=curator())
    _switch(project, calls=False)
    assert _outcome(item) == ("open", 2, 1)


def test_enabling_extra_annotators_applies_to_existing_disputes() -> None:
    project = project_with_items(1, k=2)
    item = answered_item(project, ["A"], ["B"])
    quality_settings.set_quality_options(project, by=curator(), calls_extra=True)
    item.refresh_from_db()
    assert (item.state, item.free) == ("open", 1)
    assert item_state.answers_needed(item, project) == 3
