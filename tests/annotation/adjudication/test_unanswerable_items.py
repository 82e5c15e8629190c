"""Items skipped by everybody go to adjudicators, so that a project can be finished."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.db.models.functions import Now
from django.test import Client
from django.urls import reverse

from annotation import projects
from annotation.adjudication import bulk_actions, decisions, dispute_list, unanswerable_items
from annotation.adjudication.dispute_list import DisputeFilters
from annotation.consensus import effects, item_state, recomputation
from annotation.freezing import builder
from annotation.models import Answer, Item, OntologyStep, Project
from annotation.ontology import inventory, plans
from annotation.queue import exclusions, leases, participants, pauses, votes
from annotation.queue.quality_settings import set_quality_options
from evalsvc.core.accounts.models import User
from evalsvc.core.activity.models import entries
from evalsvc.core.errors.exceptions import Conflict
from evalsvc.core.jobs.models import Job
from tests.cast.basics import person, run_job
from tests.cast.projects import annotators, answer_item, answered_item, curator, project_with_items
from tests.cast.replay import replayed
from tests.errors import code

pytestmark = pytest.mark.django_db


@pytest.fixture
def late_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    """States are recomputed by a job, as in large projects, which has to be run."""
    monkeypatch.setattr(recomputation, "RECOMPUTE_AT_ONCE", 0)


def skip(item: Item, user: User, reason: str = "undecided", *, base: int = 0, comment: str = "") -> None:
    votes.skip(item, user, client_id=uuid4(), reason=reason, base=base, comment=comment)


def waiting(project: Project) -> list[tuple[str, str]]:
    return [(item.external_id, item.split) for item in dispute_list.disputes(project)]  # type: ignore[attr-defined]


@replayed
def skipped(n: int = 2, *, k: int = 2) -> tuple[Project, Item, list[User]]:
    """Three sentences, the first skipped by all n annotators; each of them has begun."""
    project = project_with_items(3, k=k)
    people, item = annotators(project, n), project.items.get(external_id="s0")
    for user in people:
        skip(item, user)
    return project, item, people


def decide(item: Item, **more: object) -> Item:
    item.refresh_from_db()
    arguments = {"client_id": uuid4(), "votes_key": item.votes_key} | more
    decisions.decide(item, by=curator(), **arguments)
    item.refresh_from_db()
    return item


def test_items_skipped_by_everybody_await_a_decision(either_database: str) -> None:
    project, _, people = skipped()
    assert waiting(project) == [("s0", unanswerable_items.UNANSWERABLE)]
    for user, relation in zip(people, "AB", strict=True):
        answer_item(project.items.get(external_id="s2"), user, relation)
    assert waiting(project) == [("s2", "1–1"), ("s0", unanswerable_items.UNANSWERABLE)]
    assert [
        item.external_id
        for item in dispute_list.disputes(project, DisputeFilters(unanswerable_items.UNANSWERABLE))
    ] == ["s0"]
    assert [item.external_id for item in dispute_list.disputes(project, DisputeFilters("1–1"))] == ["s2"]


def test_an_unanswerable_item_is_decided_with_an_answer_or_a_finding() -> None:
    project, item, people = skipped()
    skip(project.items.get(external_id="s1"), people[0], "broken")
    skip(project.items.get(external_id="s1"), people[1], "entity")
    assert decide(item, payload={"relations": ["A"]}).state == "adjudicated"
    assert decide(project.items.get(external_id="s1"), finding="broken").state == "unusable"
    assert waiting(project) == []
    assert {lease.item.external_id for lease in leases.lease_several(project, people[0], n=3)} == {"s2"}


def test_a_project_with_unanswerable_items_is_frozen_after_decisions() -> None:
    project, item, people = skipped()
    for other in project.items.exclude(pk=item.pk):
        for user in people:
            answer_item(other, user, "A")
    with pytest.raises(Conflict, check=code("not_settled")):
        builder.freeze(project, name="Trial", version="1.0", by=curator())
    decide(item, payload={"relations": []})
    made = builder.freeze(project, name="Trial", version="1.0", by=curator())
    assert run_job("freeze", made.pk).state == "done"


def test_an_item_waits_for_annotators_who_have_not_answered() -> None:
    project, item, people = skipped(1)
    late = annotators(project, 2)[1]
    assert waiting(project) == []  # somebody has yet to begin
    answer_item(project.items.get(external_id="s1"), late, "A")
    assert waiting(project) == []
    skip(item, late, "later")
    assert waiting(project) == []
    skip(item, late, "broken", base=1)
    assert waiting(project) == [("s0", unanswerable_items.UNANSWERABLE)]
    assert [one.words for one in unanswerable_items.skip_notes(item)] == [
        "The sentence is broken",
        "Can’t decide",
    ]
    answer_item(item, people[0], "A", base=1)
    assert waiting(project) == [("s0", unanswerable_items.UNANSWERABLE)]
    answer_item(item, late, "A", base=2)
    assert waiting(project) == []


def test_an_item_that_some_answered_and_the_others_skipped_awaits_a_decision() -> None:
    _, item, people = skipped(3, k=2)
    answer_item(item, people[0], "A", base=1)
    details = decisions.dispute_details(item, for_user=curator())
    assert (details.n, len(details.passes), details.may_ask_one_more) == (1, 2, False)
    assert decide(item, payload={"relations": ["A"]}).gold["relations"] == ["A"]


@pytest.mark.parametrize("gone", ["paused", "removed", "closed"])
def test_an_item_does_not_wait_for_annotators_who_can_no_longer_answer(gone: str) -> None:
    project, _, _ = skipped(1)
    away = annotators(project, 2)[1]
    answer_item(project.items.get(external_id="s1"), away, "A")
    assert waiting(project) == []
    if gone == "paused":
        pauses.pause(project.annotators.get(user=away), by=curator())
    elif gone == "removed":
        projects.remove_member(project, user=away, by=curator())
    else:
        projects.close(project, by=curator())
    assert waiting(project) == [("s0", unanswerable_items.UNANSWERABLE)]


def test_an_item_waits_for_a_curator_who_labels() -> None:
    project, item, _ = skipped(1)
    assert waiting(project) == [("s0", unanswerable_items.UNANSWERABLE)]
    answer_item(project.items.get(external_id="s1"), curator(), "A")
    assert waiting(project) == []
    skip(item, curator())
    assert waiting(project) == [("s0", unanswerable_items.UNANSWERABLE)]


def test_a_reopened_item_goes_to_a_new_annotator_whose_answer_settles_it() -> None:
    project, item, _ = skipped(2, k=1)
    decide(item, payload={"relations": ["A"]})
    new = person("newcomer")
    projects.set_member(project, user=new, role="annotator", by=curator())
    assert item.state == "adjudicated"
    decisions.reopen(item, by=curator())
    assert waiting(project) == []
    lease = leases.lease_next(project, new)
    assert lease.item == item
    decided_again = pytest.raises(Conflict, check=code("not_disputed"))
    with decided_again:
        decide(item, payload={"relations": ["A"]})
    answer_item(item, new, "B")
    item.refresh_from_db()
    assert (item.state, item.gold["relations"]) == ("settled", ["B"])


def test_an_answer_after_the_decision_reopens_the_item() -> None:
    project, item, people = skipped(2, k=2)
    decide(item, payload={"relations": ["A"]})
    answer_item(item, people[0], "B", base=1)
    item.refresh_from_db()
    assert item.state == "open"
    assert item.adjudications.get().reopened_at is not None
    assert waiting(project) == [("s0", unanswerable_items.UNANSWERABLE)]


def test_raising_k_keeps_the_decision() -> None:
    project, item, _ = skipped()
    decide(item, finding="broken")
    projects.set_k(project, k=3, by=curator())
    item.refresh_from_db()
    assert item.state == "unusable"


def test_the_api_lists_shows_and_decides_unanswerable_items(client: Client) -> None:
    project, item, people = skipped()
    for user, relation in zip(people, "AB", strict=True):
        answer_item(project.items.get(external_id="s2"), user, relation)
    client.force_login(curator())
    address = f"/api/v1/projects/{project.slug}/disputes?page_size=1"
    first = client.get(address).json()
    second = client.get(first["next"]).json()
    shown = [page["results"][0]["pattern"] for page in (first, second)]
    assert (shown, second["next"]) == (["1–1", unanswerable_items.UNANSWERABLE], None)
    dispute = client.get(f"/api/v1/items/{item.key}/dispute").json()
    assert dispute["passes"] == [{"reason": "undecided", "comment": ""}] * 2
    sent = {"client_id": str(uuid4()), "finding": "broken", "votes_key": dispute["votes_key"]}
    made = client.post(f"/api/v1/items/{item.key}/decision", sent, content_type="application/json")
    assert made.json() == {"item": str(item.key), "state": "unusable"}


def test_an_open_item_cannot_be_decided() -> None:
    project = project_with_items(1)
    with pytest.raises(Conflict, check=code("not_disputed")):
        decide(project.items.get(), payload={"relations": ["A"]})


def test_somebody_may_answer_who_works_and_has_neither_answered_nor_skipped() -> None:
    project = project_with_items(3, k=2)
    first, second, third, newcomer = annotators(project, 4)
    item = project.items.get(external_id="s0")
    answer_item(item, first, "A")
    answer_item(item, second, "B")
    answer_item(project.items.get(external_id="s1"), third, "A")
    item.refresh_from_db()

    def offered() -> bool:
        return decisions.dispute_details(item, for_user=curator()).may_ask_one_more

    assert offered()
    projects.remove_member(project, user=newcomer, by=curator())
    assert offered(), "The third person is left."
    worker = participants.annotator_of(project, third)
    pauses.pause(worker, by=curator())
    assert not offered(), "Paused people get no sentences."
    pauses.resume(worker, by=curator())
    assert offered()
    skip(item, third, "undecided")
    assert not offered()
    projects.close(project, by=curator())
    assert not offered()


def called(people: int = 2, **options: Any) -> tuple[Project, Item, list[User]]:
    """One sentence, disputed by the first two of these people, who have all begun, with a further call."""
    project = project_with_items(2, k=2)
    set_quality_options(project, by=curator(), **{"calls_extra": True, "most_extra": 1} | options)
    users, item = annotators(project, people), project.items.get(external_id="s0")
    for user in users:
        skip(project.items.get(external_id="s1"), user, "later")
    for user, relation in zip(users[:2], "AB", strict=True):
        answer_item(item, user, relation)
    item.refresh_from_db()
    return project, item, users


LEFT = [("s0", unanswerable_items.UNANSWERABLE)]


def test_a_call_that_nobody_is_left_to_answer_awaits_a_decision(either_database: str) -> None:
    project, item, _ = called()
    assert (item.state, item.free, waiting(project)) == ("open", 1, LEFT)
    assert dispute_list.count_by_pattern(project) == {unanswerable_items.UNANSWERABLE: 1}
    assert decide(item, payload={"relations": ["A"]}).state == "adjudicated"
    assert waiting(project) == []


def test_a_call_waits_for_those_who_join_or_are_resumed() -> None:
    project, item, users = called(3)
    assert waiting(project) == []
    third = project.annotators.get(user=users[2])
    pauses.pause(third, by=curator())
    assert waiting(project) == LEFT
    pauses.resume(third, by=curator())
    assert waiting(project) == []
    User.objects.filter(pk=users[2].pk).update(is_active=False)
    assert waiting(project) == LEFT
    annotators(project, 4)
    assert waiting(project) == []
    assert leases.lease_next(project, person("ann3")).item == item


def test_a_call_waits_for_those_whose_answer_is_withdrawn_or_asked_again() -> None:
    project, item, users = called()
    skip(item, users[0], "later", base=1)
    assert waiting(project) == []
    answer_item(item, users[0], "A", base=2)
    assert waiting(project) == LEFT
    Answer.objects.filter(item=item, annotator__user=users[1]).update(again=True)
    assert waiting(project) == []


@pytest.mark.parametrize("failed", [False, True])
def test_no_sentence_awaits_a_decision_while_answers_asked_again_wait_for_recomputation(
    failed: bool, client: Client, late_jobs: None
) -> None:
    """By stored marks, adjudicators read settled sentences, each with an answer that is asked again."""
    project, item, users = called(3)
    answer_item(item, users[2], "A")
    project.members.filter(user=users[2]).delete()
    judy = person("judy")
    projects.set_member(project, user=judy, role="adjudicator", by=curator())
    inventory.split(project, "B", targets=["B1", "B2"], by=curator())
    Job.objects.filter(kind="recompute").update(**{"state": "failed", "ended_at": Now()} if failed else {})
    answer_item(item, users[0], "A", base=1)
    item.refresh_from_db()
    assert (item.state, item.free, waiting(project)) == ("open", 1, [])
    client.force_login(judy)
    assert client.get(f"/api/v1/items/{item.key}/dispute").status_code == 404
    assert client.get(reverse("dispute", args=[project.slug, item.key])).status_code == 404


def test_a_dispute_shows_the_answers_that_count_while_a_recomputation_waits(late_jobs: None) -> None:
    project = project_with_items(1, k=2)
    item = answered_item(project, ["A"], ["B"])
    inventory.split(project, "B", targets=["B1", "B2"], by=curator())
    shown = decisions.dispute_details(item, for_user=curator())
    assert [column.payload["relations"] for column in shown.columns] == [["A"]]


def test_calls_that_people_answered_in_vain_await_a_decision() -> None:
    project, item, users = called(3, most_extra=2)
    answer_item(item, users[2], "C")
    item.refresh_from_db()
    assert (item.state, item.extra, waiting(project)) == ("open", 2, LEFT)


def test_a_sentence_with_fewer_answers_than_it_needs_without_calls_waits_for_people() -> None:
    project, item, users = called()
    exclusions.exclude_answer(Answer.objects.get(item=item, annotator__user=users[0]), by=curator())
    item.refresh_from_db()
    assert (item.state, waiting(project)) == ("open", [])


@pytest.mark.parametrize("way", ["request", "page", "api", "bulk", "switch"])
def test_requests_that_nobody_is_left_to_answer_await_a_decision(way: str, client: Client) -> None:
    project, item, _ = called(calls_extra=False)
    assert waiting(project) == [("s0", "1–1")]
    client.force_login(curator())
    if way == "request":
        decisions.ask_one_more(item, by=curator())
    elif way == "page":
        client.post(reverse("sentence", args=[project.slug, item.key]), {"action": "ask"})
    elif way == "api":
        client.post(f"/api/v1/items/{item.key}/one-more")
    elif way == "bulk":
        item_state.ask_one_more(project.items.filter(pk=item.pk))
        recomputation.recompute_items(project, [item.pk])
    else:
        set_quality_options(project, by=curator(), calls_extra=True)
    item.refresh_from_db()
    assert (item.state, item.extra, waiting(project)) == ("open", 1, LEFT)


def test_skips_and_answers_alike_lead_calls_to_a_decision() -> None:
    project, item, users = called(3)
    skip(item, users[2])
    assert waiting(project) == LEFT
    answer_item(item, users[2], "A", base=1)
    item.refresh_from_db()
    assert (item.state, waiting(project)) == ("settled", [])


STEPS = {
    "merge": {"sources": ["A", "B"], "target": "M"},
    "delete": {"sources": ["B"]},
    "split": {"sources": ["C"], "targets": ["C1", "C2"]},
}


def decided_short_of_an_answer() -> tuple[Project, Item, list[User]]:
    """A sentence with A, B and a skip of three, decided as C, and a person who joins then."""
    project = project_with_items(1, k=3)
    people, item = annotators(project, 3), project.items.get()
    answer_item(item, people[0], "A")
    answer_item(item, people[1], "B")
    skip(item, people[2], "broken")
    decide(item, payload={"relations": ["C"]})
    return project, item, annotators(project, 4)


def take_step(project: Project, operation: str) -> OntologyStep:
    [step] = plans.apply_plan(
        project, plans.planned([{"operation": operation} | STEPS[operation]]), by=curator()
    )
    return step


@pytest.mark.parametrize("operation", STEPS)
def test_a_change_of_labels_brings_no_decided_sentence_back_to_annotators(
    operation: str, either_database: str
) -> None:
    """Those that came back revealed the labels of others, or of the decision."""
    project, item, people = decided_short_of_an_answer()
    take_step(project, operation)
    item.refresh_from_db()
    split = operation == "split"
    assert (item.state, item.free) == ("disputed" if split else "adjudicated", 0)
    assert item.gold == (None if split else {"spans": [], "relations": ["C"]})
    assert leases.lease_next(project, people[3]) is None
    assert len(waiting(project)) == split


def test_a_decision_whose_label_was_split_counts_again_or_is_replaced() -> None:
    project, item, _ = decided_short_of_an_answer()
    plans.undo_plan(project, take_step(project, "split").number, by=curator())
    item.refresh_from_db()
    assert (item.state, item.gold) == ("adjudicated", {"spans": [], "relations": ["C"]})
    take_step(project, "split")
    assert decide(item, payload={"relations": ["C1"]}).gold == {"spans": [], "relations": ["C1"]}


def test_a_sentence_whose_decision_was_split_is_open_once_an_answer_changed() -> None:
    """As with other decisions, the same answers do not take it from the others again."""
    project, item, people = decided_short_of_an_answer()
    take_step(project, "split")
    for base, label in ((1, "B"), (2, "A")):
        answer_item(item, people[0], label, base=base)
        item.refresh_from_db()
        assert (item.state, item.free) == ("open", 1)


def test_one_more_person_can_be_asked_about_a_sentence_whose_decision_was_split() -> None:
    project, item, people = decided_short_of_an_answer()
    take_step(project, "split")
    decisions.ask_one_more(item, by=curator())
    item.refresh_from_db()
    assert (item.state, item.extra, item.free) == ("open", 0, 1)  # the missing answer
    assert leases.lease_next(project, people[3]).item == item


def exclude_and_include(item: Item, user: User) -> None:
    answer = Answer.objects.get(item=item, annotator__user=user)
    exclusions.exclude_answer(answer, by=curator())
    exclusions.exclude_answer(answer, by=curator(), excluded=False)


def change_and_change_back(item: Item, user: User) -> None:
    answer_item(item, user, "C", base=1)
    answer_item(item, user, "A", base=2)


def lower_and_raise_k(item: Item, user: User) -> None:
    projects.set_k(item.project, k=1, by=curator())
    projects.set_k(item.project, k=2, by=curator())


@pytest.mark.parametrize("change", [exclude_and_include, change_and_change_back, lower_and_raise_k])
@pytest.mark.parametrize("operation", STEPS)
def test_a_decision_that_counts_again_is_brought_back_by_no_change_of_labels(
    change: Callable[[Item, User], None], operation: str
) -> None:
    project = project_with_items(1, k=2)
    people, item = annotators(project, 2), project.items.get()
    answer_item(item, people[0], "A")
    answer_item(item, people[1], "B")
    decide(item, payload={"relations": ["C"]})
    change(item, people[0])
    item.refresh_from_db()
    assert item.state == "adjudicated"
    projects.set_k(project, k=3, by=curator())
    third = annotators(project, 3)[2]
    take_step(project, operation)
    assert leases.lease_next(project, third) is None


def decided_before_a_step(operation: str) -> tuple[Project, Item, User]:
    """A sentence with A and B, decided as C before a change of labels, and a person who joins then."""
    project = project_with_items(1, k=2)
    people, item = annotators(project, 2), project.items.get()
    answer_item(item, people[0], "A")
    answer_item(item, people[1], "B")
    decide(item, payload={"relations": ["C"]})
    if operation:
        take_step(project, operation)
    return project, item, annotators(project, 3)[2]


@pytest.mark.parametrize("operation", ["", *STEPS])
def test_a_raised_k_that_reopens_decisions_asks_about_all_sentences(
    operation: str, either_database: str
) -> None:
    """Those that a lapsed decision kept away showed the labels of others, or of the decision."""
    project, item, third = decided_before_a_step(operation)
    shown = effects.preview(project, lambda copy: projects.set_k(copy, k=3, by=curator()))
    assert shown.decided_short == 1
    shown = effects.preview(project, lambda copy: projects.set_k(copy, k=3, reopens=True, by=curator()))
    assert shown.decided_short == 0
    projects.set_k(project, k=3, reopens=True, by=curator())
    assert leases.lease_next(project, third).item == item
    assert entries(project)[1].action == "decisions reopened"


def test_a_raised_k_that_reopens_decisions_leaves_excluded_sentences_out_until_they_are_included() -> None:
    project, item, third = decided_before_a_step("")
    exclusion = decisions.exclude_item(item, by=curator(), finding="broken")
    projects.set_k(project, k=3, reopens=True, by=curator())
    assert leases.lease_next(project, third) is None
    decisions.reopen(exclusion.item, by=curator())
    assert leases.lease_next(project, third).item == item


@pytest.mark.parametrize("at_once", [True, False])
def test_a_reopened_decision_takes_those_that_lapsed_before_with_it(at_once: bool) -> None:
    project = project_with_items(1, k=4)
    people, item = annotators(project, 5), project.items.get()
    for user, labels in zip(people, ("A", "B", "C", ""), strict=False):
        answer_item(item, user, *labels)
    decide(item, payload={"relations": ["A"]})
    step = take_step(project, "merge")  # of A and B: the answers are disputed, but split otherwise
    decide(item, payload={"relations": ["C"]})
    plans.undo_plan(project, step.number, by=curator())
    item.refresh_from_db()
    assert item.gold == {"spans": [], "relations": ["A"]}
    if at_once:
        bulk_actions.apply(project, [item.key], bulk_actions.REOPEN, by=curator())
    else:
        decisions.reopen(item, by=curator())
    projects.set_k(project, k=5, by=curator())
    assert leases.lease_next(project, people[4]).item == item


def test_the_preview_of_reopened_sentences_counts_no_lapsed_decision() -> None:
    project, item, _ = decided_before_a_step("merge")
    set_quality_options(project, most_extra=1, by=curator())
    [shown] = bulk_actions.preview(project, [item.key], bulk_actions.REOPEN, by=curator())
    [done] = bulk_actions.apply(project, [item.key], bulk_actions.REOPEN, by=curator())
    assert (shown.before, shown.after) == (done.before, done.after) == ("settled", "open")


@pytest.mark.parametrize("operation", ["delete", "split"])
def test_calls_bring_no_sentence_of_which_a_decision_lapsed(operation: str) -> None:
    """Beside decided ones, which stay away, those that came had the label that was changed."""
    project, item, third = decided_before_a_step(operation)
    set_quality_options(project, calls_extra=True, by=curator())
    item.refresh_from_db()
    assert (item.state, item.called) == ("disputed", 0)
    assert leases.lease_next(project, third) is None
    set_quality_options(project, calls_extra=False, by=curator())
    projects.set_k(project, k=2, reopens=True, by=curator())
    set_quality_options(project, calls_extra=True, by=curator())
    assert leases.lease_next(project, third) is None


@pytest.mark.parametrize("operation", ["", "delete"])
@pytest.mark.usefixtures("late_jobs")
def test_calls_wait_for_recomputed_states(operation: str) -> None:
    """By those of before, just the sentences whose decision lapsed with a label were called."""
    project, item, third = decided_before_a_step(operation)
    if operation:
        run_job("recompute", project.pk)
    projects.set_k(project, k=2, reopens=True, by=curator())
    with pytest.raises(Conflict, match="being recomputed"):
        set_quality_options(project, calls_extra=True, by=curator())
    project.refresh_from_db()
    set_quality_options(project, most_extra=3, by=curator())
    run_job("recompute", project.pk)
    set_quality_options(project, calls_extra=True, by=curator())
    run_job("recompute", project.pk)
    lease = leases.lease_next(project, third)
    assert (lease and lease.item) == (None if operation else item)


@pytest.mark.usefixtures("late_jobs")
def test_no_dispute_is_decided_while_states_wait_for_recomputation() -> None:
    """By the former k, a decision kept away just those that were decided meanwhile."""
    project, item, third = decided_before_a_step("")
    decisions.reopen(item, by=curator())
    item.refresh_from_db()
    projects.set_k(project, k=3, reopens=True, by=curator())
    steps: list[Callable[[], object]] = [
        lambda: decide(item, payload={"relations": ["C"]}),
        lambda: decisions.ask_one_more(item, by=curator()),
        lambda: decisions.exclude_item(item, by=curator(), finding="broken"),
        lambda: bulk_actions.apply(project, [item.key], bulk_actions.EXCLUDE, by=curator(), finding="broken"),
    ]
    for step in steps:
        with pytest.raises(Conflict, match="being recomputed"):
            step()
    run_job("recompute", project.pk)
    assert leases.lease_next(project, third).item == item


@pytest.mark.parametrize("operation", STEPS)
def test_a_decision_that_was_undone_with_all_others_never_counts_again(operation: str) -> None:
    """Once the step was undone, a raised k left out just the sentences with its label."""
    project, item, third = decided_before_a_step(operation)
    projects.set_k(project, k=2, reopens=True, by=curator())
    step = OntologyStep.objects.filter(project=project).latest("number")
    plans.undo_plan(project, step.number, by=curator())
    item.refresh_from_db()
    assert item.state == "disputed"
    projects.set_k(project, k=3, by=curator())
    assert leases.lease_next(project, third).item == item
