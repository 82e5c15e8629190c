"""Answers: written once, never overwritten in silence, counted in the server's order."""

from __future__ import annotations

from uuid import uuid4

import pytest

from annotation import projects
from annotation.models import Answer, Vote
from annotation.queue import exclusions, leases, own_votes, votes
from annotation.queue.answer_validation import MOST_MARKS
from evalsvc.core.errors.exceptions import Conflict, DomainError, NotAllowed
from tests.cast.basics import person
from tests.cast.projects import (
    annotators,
    answer_item,
    answered_item,
    create_project,
    curator,
    import_lines,
    is_surplus,
    project_with_items,
)
from tests.errors import code

pytestmark = pytest.mark.django_db
A = {"spans": [], "relations": ["A"]}


def test_k_answers_settle_an_item() -> None:
    project = project_with_items(k=2)
    assert answered_item(project, ["A"]).state == "open"
    item = project.items.get(external_id="s1")
    for user in annotators(project, 2):
        answer_item(item, user, "A", "B")
    item.refresh_from_db()
    assert (item.state, item.gold["relations"], item.free) == ("settled", ["A", "B"], 0)


def test_a_repeated_write_is_stored_once() -> None:
    project = project_with_items()
    user, item, name = annotators(project, 1)[0], project.items.first(), uuid4()
    first = votes.answer(item, user, client_id=name, payload=A)
    again = votes.answer(item, user, client_id=name, payload=A)
    assert (first.repeated, again.repeated, again.vote.pk) == (False, True, first.vote.pk)
    assert Vote.objects.count() == 1


def test_an_outdated_write_is_rejected_and_overwrites_nothing() -> None:
    project = project_with_items()
    user, item = annotators(project, 1)[0], project.items.first()
    answer_item(item, user, "A")
    with pytest.raises(Conflict) as refused:
        answer_item(item, user, "B", base=0)
    assert refused.value.code == "answered_elsewhere"
    assert Answer.objects.get().payload == A


def test_a_changed_answer_replaces_the_last_one_and_both_stay_in_the_log() -> None:
    project = project_with_items()
    user, item = annotators(project, 1)[0], project.items.first()
    answer_item(item, user, "A")
    answer_item(item, user, "B", base=1)
    assert Answer.objects.get().payload["relations"] == ["B"]
    assert [vote.payload["relations"] for vote in Vote.objects.order_by("number")] == [["A"], ["B"]]


def test_answers_beyond_k_are_stored_and_not_counted() -> None:
    project = project_with_items(k=2)
    item = answered_item(project, ["A"], ["A"])
    late = annotators(project, 3)[2]
    answer_item(item, late, "B")
    item.refresh_from_db()
    assert (is_surplus(item, late), item.gold["relations"], item.answers.count()) == (True, ["A"], 3)


def test_raising_k_counts_surplus_answers() -> None:
    project = project_with_items(k=2)
    item = answered_item(project, ["A"], ["B"], ["A"])
    assert item.state == "disputed"
    projects.set_k(project, k=3, by=curator())
    item.refresh_from_db()
    assert (item.state, item.gold["relations"]) == ("settled", ["A"])


def test_an_excluded_answer_is_not_counted_and_the_item_needs_another() -> None:
    project = project_with_items(k=2)
    item = answered_item(project, ["A"], ["B"])
    exclusions.exclude_answer(item.answers.get(position=2), by=curator())
    item.refresh_from_db()
    assert (item.state, item.free) == ("open", 1)


def test_a_skip_replaces_an_earlier_answer_and_is_not_counted() -> None:
    project = project_with_items(k=1)
    user, item = annotators(project, 1)[0], project.items.first()
    answer_item(item, user, "A")
    votes.skip(item, user, client_id=uuid4(), reason="broken", base=1)
    item.refresh_from_db()
    assert (item.state, item.answers.count(), item.free) == ("open", 0, 1)
    assert leases.lease_next(project, user).item != item


def test_a_skip_needs_a_listed_reason() -> None:
    project = project_with_items()
    with pytest.raises(DomainError, check=code("unknown_reason")):
        votes.skip(project.items.first(), annotators(project, 1)[0], client_id=uuid4(), reason="dull")


def test_na_is_an_answer() -> None:
    item = answered_item(project_with_items(k=2), [], [])
    assert (item.state, item.gold["relations"]) == ("settled", [])


@pytest.mark.parametrize(
    ("payload", "code"),
    [
        ({"relations": ["Z"]}, "unknown_label"),
        ({"relations": "A"}, "bad_payload"),
        ({"spans": [[0, 1, "A"]]}, "bad_payload"),
        ({"labels": ["A"]}, "bad_payload"),
        ({"relations": [1]}, "unknown_label"),
    ],
)
def test_an_answer_outside_the_inventory_or_the_kind_is_rejected(payload: dict, code: str) -> None:
    project = project_with_items()
    with pytest.raises(DomainError) as refused:
        votes.answer(project.items.first(), annotators(project, 1)[0], client_id=uuid4(), payload=payload)
    assert refused.value.code == code
    assert not Vote.objects.exists()


@pytest.mark.parametrize(
    "span", [[0, 99, "A"], [3, 3, "A"], [-1, 2, "A"], [0, 1], ["0", 1, "A"], [True, 2, "A"]]
)
def test_spans_outside_the_text_are_rejected(span: list) -> None:
    project = create_project("entities", labels=["A"])
    import_lines(project, [{"id": "s0", "text": "Ada saw"}])
    projects.open_for_work(project, by=curator())
    with pytest.raises(DomainError):
        votes.answer(
            project.items.first(), annotators(project, 1)[0], client_id=uuid4(), payload={"spans": [span]}
        )


@pytest.mark.parametrize("spans", [[[0, 3, "A"], [2, 7, "A"]], [[4, 7, "B"], [0, 3, "A"], [4, 7, "A"]]])
def test_overlapping_spans_are_rejected_unless_the_project_allows_them(spans: list) -> None:
    project = create_project("entities", labels=["A", "B"], k=1)
    import_lines(project, [{"id": "s0", "text": "Ada saw"}])
    projects.open_for_work(project, by=curator())
    item, user = project.items.get(), annotators(project, 1)[0]
    vote = {"client_id": uuid4(), "payload": {"spans": spans}}
    with pytest.raises(DomainError, match=r"“Ada|“saw” \[4, 7\] overlap", check=code("spans_overlap")):
        votes.answer(item, user, **vote)
    projects.set_overlap(project, may_overlap=True, by=curator())
    votes.answer(item, user, **vote)
    assert item.answers.get().payload["spans"] == spans


@pytest.mark.parametrize(("part", "k", "most"), [("spans", 2, MOST_MARKS), ("relations", 50, 200)])
def test_an_answer_with_too_many_marks_is_rejected(part: str, k: int, most: int) -> None:
    """All answers to an item are compared in one request; of which others gave, a rejection tells nothing."""
    project = create_project("joint", labels=["A"], k=k)
    import_lines(project, [{"id": "d0", "text": "Ada saw"}])
    projects.open_for_work(project, by=curator())
    marks = {"spans": [[0, 3, "A"]], "relations": [[0, "A", 0]]}
    payload = marks | {part: marks[part] * (most + 1)}
    with pytest.raises(DomainError, match=f"at most {most:,}", check=code("too_many_marks", field=part)):
        votes.answer(project.items.get(), annotators(project, 1)[0], client_id=uuid4(), payload=payload)


def test_an_answer_with_more_than_twenty_spans_at_one_place_is_rejected() -> None:
    project = create_project("entities", labels=["A"])
    projects.set_overlap(project, may_overlap=True, by=curator())
    import_lines(project, [{"id": "d0", "text": "Ada saw" * 9}])
    projects.open_for_work(project, by=curator())
    item, user = project.items.get(), annotators(project, 1)[0]
    payload = {"spans": [[at, 30, "A"] for at in range(21)]}
    with pytest.raises(DomainError, check=code("too_many_marks", field="spans")):
        votes.answer(item, user, client_id=uuid4(), payload=payload)
    votes.answer(item, user, client_id=uuid4(), payload={"spans": payload["spans"][1:]})


def test_viewers_and_adjudicators_cannot_vote() -> None:
    project = project_with_items()
    for role in ("viewer", "adjudicator"):
        user = person(role)
        projects.set_member(project, user=user, role=role, by=curator())
        with pytest.raises(NotAllowed):
            answer_item(project.items.first(), user, "A")


def test_a_project_that_is_not_open_accepts_no_answers() -> None:
    project = project_with_items()
    user = annotators(project, 1)[0]
    projects.close(project, by=curator())
    with pytest.raises(Conflict, check=code("project_not_open")):
        answer_item(project.items.first(), user, "A")


def test_a_repeated_write_is_acknowledged_even_after_closing() -> None:
    project = project_with_items()
    user, name = annotators(project, 1)[0], uuid4()
    votes.answer(project.items.first(), user, client_id=name, payload=A)
    projects.close(project, by=curator())
    assert votes.answer(project.items.first(), user, client_id=name, payload=A).repeated


def test_history_lists_each_item_once_latest_first_with_its_base_number() -> None:
    project = project_with_items()
    user, (first, second, _) = annotators(project, 1)[0], project.items.all()
    answer_item(first, user, "A")
    answer_item(second, user, "B")
    answer_item(first, user, "C", base=1)
    past = own_votes.history(project, user)
    assert [(entry.item.external_id, entry.number) for entry in past] == [("s0", 2), ("s1", 1)]


def test_another_answer_under_a_used_client_id_is_rejected() -> None:
    project = project_with_items()
    user, name = annotators(project, 1)[0], uuid4()
    first = votes.answer(project.items.first(), user, client_id=name, payload={"relations": ["A", "B"]})
    again = votes.answer(project.items.first(), user, client_id=name, payload={"relations": ["B", "A"]})
    assert (again.repeated, again.vote.pk) == (True, first.vote.pk)
    with pytest.raises(Conflict, check=code("client_id_reused")) as refused:
        votes.answer(project.items.first(), user, client_id=name, payload={"relations": ["C"]})
    assert refused.value.code == "client_id_reused"
    with pytest.raises(Conflict, check=code("client_id_reused")):
        votes.skip(project.items.first(), user, client_id=name, reason="broken")
    assert Vote.objects.get().payload["relations"] == ["A", "B"]


def test_another_vote_under_the_client_id_of_a_skip_is_rejected() -> None:
    project = project_with_items()
    user, name, item = annotators(project, 1)[0], uuid4(), project.items.first()
    votes.skip(item, user, client_id=name, reason="undecided")
    assert votes.skip(item, user, client_id=name, reason="undecided").repeated
    with pytest.raises(Conflict, check=code("client_id_reused")):
        votes.skip(item, user, client_id=name, reason="broken")
    with pytest.raises(Conflict, check=code("client_id_reused")):
        votes.answer(item, user, client_id=name, payload=A)
    assert Vote.objects.get().reason == "undecided"
