"""Items skipped by everybody go to adjudicators, so that a project can be finished."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.test import Client

from annotation import projects
from annotation.adjudication import decisions, dispute_list, unanswerable_items
from annotation.adjudication.dispute_list import DisputeFilters
from annotation.freezing import builder
from annotation.models import Item, Project
from annotation.queue import leases, participants, pauses, votes
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import Conflict
from tests.cast.basics import person, run_job
from tests.cast.projects import annotators, answer_item, curator, project_with_items
from tests.cast.replay import replayed
from tests.errors import code

pytestmark = pytest.mark.django_db


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
