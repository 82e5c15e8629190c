"""Disputes: seen without names, decided once, reopened when the votes under them change."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from annotation import projects
from annotation.adjudication import bulk_actions, bulk_decisions, decisions, dispute_list, second_readings
from annotation.adjudication.dispute_list import DisputeFilters
from annotation.consensus import effects, recomputation
from annotation.models import Item, Project
from annotation.ontology import inventory
from annotation.queue import exclusions, votes
from evalsvc.core.errors.exceptions import Conflict, DomainError, NotAllowed
from tests.cast.basics import person
from tests.cast.projects import (
    adjudicator,
    annotators,
    answer_item,
    answered_item,
    curator,
    project_with_items,
    seen,
)
from tests.cast.replay import replayed
from tests.errors import code

pytestmark = pytest.mark.django_db


def decided(item: Item, *relations: str) -> Item:
    decisions.decide(
        item,
        by=adjudicator(item.project),
        payload={"relations": list(relations)},
        client_id=uuid4(),
        votes_key=item.votes_key,
    )
    item.refresh_from_db()
    return item


@replayed
def disputed(**more: object) -> Item:
    return answered_item(project_with_items(k=2, **more), ["A"], ["B"])


def test_a_decision_settles_a_dispute() -> None:
    item = decided(disputed(), "A", "B")
    assert (item.state, item.gold["relations"]) == ("adjudicated", ["A", "B"])


def test_a_relation_nobody_chose_can_be_decided() -> None:
    assert decided(disputed(), "C").gold["relations"] == ["C"]
    assert decided(disputed()).gold["relations"] == []


def test_a_repeated_decision_is_stored_once() -> None:
    item, name = disputed(), uuid4()
    judge = adjudicator(item.project)
    decision = {"payload": {"relations": ["A"]}, "client_id": name, "votes_key": item.votes_key}
    first = decisions.decide(item, by=judge, **decision)
    assert decisions.decide(item, by=judge, **decision).pk == first.pk


def test_a_second_adjudicator_gets_a_conflict() -> None:
    item = disputed()
    key = item.votes_key
    decided(item, "A")
    with pytest.raises(Conflict) as refused:
        decisions.decide(item, by=curator(), payload={"relations": ["B"]}, client_id=uuid4(), votes_key=key)
    assert refused.value.code == "already_decided"


def test_a_decision_on_outdated_votes_is_rejected() -> None:
    item = disputed()
    key = item.votes_key
    answer_item(item, annotators(item.project, 2)[1], "C", base=1)
    with pytest.raises(Conflict) as refused:
        decisions.decide(item, by=curator(), payload={"relations": ["B"]}, client_id=uuid4(), votes_key=key)
    assert refused.value.code == "votes_changed"


def test_a_decision_survives_a_recomputation_and_a_policy_change() -> None:
    item = decided(disputed(), "C")
    projects.set_policy(item.project, policy="majority-na", by=curator())
    recomputation.recompute_after_change(item.project)
    item.refresh_from_db()
    assert (item.state, item.gold["relations"]) == ("adjudicated", ["C"])


def test_a_changed_vote_reopens_the_item_and_keeps_the_decision_on_record() -> None:
    item = decided(disputed(), "A")
    answer_item(item, annotators(item.project, 2)[1], "C", base=1)
    item.refresh_from_db()
    assert item.state == "disputed"
    assert item.adjudications.get().reopened_at is not None


def test_a_surplus_answer_reopens_nothing() -> None:
    item = decided(disputed(), "A")
    answer_item(item, annotators(item.project, 3)[2], "C")
    item.refresh_from_db()
    assert item.state == "adjudicated"


def test_renaming_a_label_renames_it_in_decisions_and_reopens_nothing() -> None:
    item = decided(disputed(), "A")
    inventory.rename(item.project, "A", target="A1", by=curator())
    item.refresh_from_db()
    assert (item.state, item.gold["relations"]) == ("adjudicated", ["A1"])


def test_a_merge_that_changes_how_the_votes_split_reopens_the_item() -> None:
    item = decided(disputed(), "C")
    inventory.merge(item.project, ["A", "B"], target="AB", by=curator())
    item.refresh_from_db()
    assert (item.state, item.gold["relations"]) == ("settled", ["AB"])


def test_undoing_a_merge_reopens_decisions_for_its_label() -> None:
    project = project_with_items(k=2)
    step = inventory.merge(project, ["B", "C"], target="BC", by=curator())
    item = answered_item(project, ["A"], [])
    assert decided(item, "BC").state == "adjudicated"
    inventory.undo(step, by=curator())
    item.refresh_from_db()
    assert item.state == "disputed"


@replayed
def five_decisions() -> Project:
    """A project of five disputes, A against B, each decided as C with a reason."""
    project = project_with_items(5, k=2)
    for at in range(5):
        item = answered_item(project, ["A"], ["B"], item=f"s{at}")
        decided(item, "C")
    assert decisions.active_decisions(project).count() == 5
    return project


def merge_and_undo(project: Project) -> None:
    step = inventory.merge(project, ["A", "B"], target="AB", by=curator())
    assert not decisions.active_decisions(project).exists()
    inventory.undo(step, by=curator())


def exclude_and_include(project: Project) -> None:
    annotator = project.annotators.get(name="ann0")
    exclusions.exclude_annotator(annotator, by=curator())
    assert not decisions.active_decisions(project).exists()
    exclusions.include_annotator(annotator, by=curator())


def delete_the_decided_label_and_undo(project: Project) -> None:
    step = inventory.delete(project, ["C"], by=curator())
    inventory.undo(step, by=curator())


def raise_and_lower_k(project: Project) -> None:
    projects.set_k(project, k=3, by=curator())
    projects.set_k(project, k=2, by=curator())


def change_an_answer_and_change_it_back(project: Project) -> None:
    for item in project.items.exclude(answers=None):
        answer_item(item, annotators(project, 2)[1], "C", base=1)
        item.refresh_from_db()
        assert item.state == "disputed"
        answer_item(item, annotators(project, 2)[1], "B", base=2)


@pytest.mark.parametrize(
    "change",
    [
        merge_and_undo,
        exclude_and_include,
        delete_the_decided_label_and_undo,
        raise_and_lower_k,
        change_an_answer_and_change_it_back,
    ],
)
def test_decisions_count_again_when_their_votes_are_what_they_were(
    change: Callable[[Project], None],
) -> None:
    project = five_decisions()
    change(project)
    assert {(item.state, *item.gold["relations"]) for item in project.items.all()} == {("adjudicated", "C")}
    assert decisions.active_decisions(project).count() == 5


def test_while_answers_are_missing_no_label_shows_by_a_decision_what_others_answered() -> None:
    item = decided(disputed(), "C")
    second = annotators(item.project, 2)[1]
    answer_item(item, second, "C", base=1)  # the decision lapses
    projects.set_k(item.project, k=3, by=curator())
    item.refresh_from_db()
    assert (item.state, item.free) == ("open", 1)
    for number, label in enumerate("CBA", start=2):
        answer_item(item, second, label, base=number)
        item.refresh_from_db()
        assert (item.state, item.free) == ("open", 1)
    projects.set_k(item.project, k=2, by=curator())
    answer_item(item, second, "B", base=5)
    item.refresh_from_db()
    assert (item.state, item.gold["relations"]) == ("adjudicated", ["C"])


def test_a_decision_that_a_person_reopened_never_counts_again_by_itself() -> None:
    item = decided(disputed(), "A")
    decisions.reopen(item, by=curator())
    change_an_answer_and_change_it_back(item.project)
    item.refresh_from_db()
    assert item.state == "disputed"


def test_the_newer_of_two_decisions_on_the_same_votes_replaces_the_older() -> None:
    project = project_with_items(k=2)
    step = inventory.merge(project, ["B", "C"], target="BC", by=curator())
    item = decided(answered_item(project, ["A"], []), "BC")
    inventory.undo(step, by=curator())
    item.refresh_from_db()
    decided(item, "A")
    inventory.merge(project, ["B", "C"], target="BC", by=curator())
    item.refresh_from_db()
    assert item.gold["relations"] == ["A"]
    decisions.reopen(item, by=curator())
    item.refresh_from_db()
    assert item.state == "disputed"


def test_a_lapsed_decision_is_proposed_to_any_adjudicator_with_its_reason() -> None:
    item = disputed()
    arguments = {"payload": {"relations": ["C"]}, "client_id": uuid4(), "votes_key": item.votes_key}
    decisions.decide(item, by=adjudicator(item.project), reason="The text says so.", **arguments)
    answer_item(item, annotators(item.project, 2)[1], "C", base=1)
    item.refresh_from_db()
    former = decisions.dispute_details(item, for_user=adjudicator(item.project, "other")).former
    assert former == decisions.FormerDecision({"spans": [], "relations": ["C"]}, "", "The text says so.")


def test_asking_one_more_annotator_opens_the_item_for_one_answer() -> None:
    item = disputed()
    with pytest.raises(Conflict, check=code("nobody_left")):
        decisions.ask_one_more(item, by=adjudicator(item.project))
    annotators(item.project, 3)
    decisions.ask_one_more(item, by=adjudicator(item.project))
    item.refresh_from_db()
    assert (item.state, item.extra, item.free) == ("open", 1, 1)
    answer_item(item, annotators(item.project, 3)[2], "A")
    item.refresh_from_db()
    assert (item.state, item.gold["relations"]) == ("settled", ["A"])


def test_extra_annotators_are_limited() -> None:
    item = disputed()
    item.extra = item.asked = item.project.most_extra
    item.save()
    with pytest.raises(Conflict, check=code("enough_asked")):
        decisions.ask_one_more(item, by=curator())


def test_a_settled_item_cannot_be_decided() -> None:
    item = answered_item(project_with_items(k=1), ["A"])
    with pytest.raises(Conflict, check=code("not_disputed")):
        decided(item, "B")


def test_a_dispute_has_no_names_and_a_fixed_column_order_per_adjudicator() -> None:
    item = answered_item(project_with_items(k=4), ["A"], ["B"], ["C"], [])
    shown = decisions.dispute_details(item, for_user=adjudicator(item.project))
    assert [column.letter for column in shown.columns] == list(decisions.LETTERS[:4])
    assert sorted(c.payload["relations"] for c in shown.columns) == [[], ["A"], ["B"], ["C"]]
    assert not any(user.username in repr(shown.columns) for user in annotators(item.project, 4))
    again = decisions.dispute_details(item, for_user=adjudicator(item.project))
    assert again.columns == shown.columns
    orders = {
        str(decisions.dispute_details(item, for_user=adjudicator(item.project, f"judge{n}")).columns)
        for n in range(8)
    }
    assert len(orders) > 1


def test_the_column_order_depends_on_the_secret_key(settings: Any) -> None:
    """Else an adjudicator could compute whose answer came first."""
    item = answered_item(project_with_items(k=4), ["A"], ["B"], ["C"], [])
    judge, orders = adjudicator(item.project), set()
    for n in range(8):
        settings.SECRET_KEY = f"{n} " * 20
        orders.add(str(decisions.dispute_details(item, for_user=judge).columns))
    assert len(orders) > 1


def test_columns_keep_their_places_when_an_answer_is_withdrawn_and_given_again() -> None:
    """Else the place that others' columns took showed an adjudicator which of them answered last."""
    item = answered_item(project_with_items(k=4), ["A"], ["B"], ["C"], [])
    judges = [adjudicator(item.project, f"judge{n}") for n in range(4)]
    before = [decisions.dispute_details(item, for_user=judge).columns for judge in judges]
    for user, label in zip(annotators(item.project, 3), ("A", "B", "C"), strict=True):
        votes.skip(item, user, client_id=uuid4(), reason="broken", base=1)
        answer_item(item, user, label, base=2)
        assert [decisions.dispute_details(item, for_user=judge).columns for judge in judges] == before


def test_a_dispute_shows_the_outcome_under_each_policy() -> None:
    item = answered_item(project_with_items(k=3), ["A"], [], [])
    shown = decisions.dispute_details(item, for_user=curator())
    assert {name: v.state for name, v in shown.by_policy.items()} == {
        "majority": "disputed",
        "majority-na": "settled",
    }
    assert (shown.na, shown.n, item.policy_matters) == (2, 3, True)
    assert effects.other_policy_changes(item.project) == 1


def test_disputes_are_sorted_and_filtered_by_vote_pattern() -> None:
    project = project_with_items(3, k=2)
    answered_item(project, ["A"], ["B"], item="s0")
    answered_item(project, ["A"], [], item="s1")
    answered_item(project, ["A"], ["A"], item="s2")
    assert [item.pattern for item in dispute_list.disputes(project)] == ["1 against 1 N/A", "1–1"]
    assert [item.external_id for item in dispute_list.disputes(project, DisputeFilters("1–1"))] == ["s0"]


def test_annotators_and_viewers_cannot_decide() -> None:
    item = disputed()
    user = annotators(item.project, 1)[0]
    with pytest.raises(NotAllowed):
        decisions.dispute_details(item, for_user=user)
    with pytest.raises(NotAllowed):
        decisions.decide(item, by=user, payload={}, client_id=uuid4(), votes_key=item.votes_key)


def test_a_decision_outside_the_inventory_is_rejected() -> None:
    with pytest.raises(DomainError, check=code("unknown_label")):
        decided(disputed(), "Z")


def test_a_decision_is_reopened_and_made_again() -> None:
    item = decided(disputed(), "A")
    decisions.reopen(item, by=adjudicator(item.project))
    item.refresh_from_db()
    assert (item.state, item.gold) == ("disputed", None)
    assert decided(item, "B").gold["relations"] == ["B"]
    assert item.adjudications.count() == 2


def test_only_its_adjudicator_or_a_curator_reopens_a_decision() -> None:
    item = decided(disputed(), "A")
    with pytest.raises(NotAllowed, check=code("not_yours")):
        decisions.reopen(item, by=adjudicator(item.project, "other"))
    decisions.reopen(item, by=curator())
    with pytest.raises(Conflict, check=code("not_decided")):
        decisions.reopen(item, by=curator())


@pytest.mark.parametrize("finding", ["broken", "entity"])
def test_an_item_can_be_decided_to_be_unusable(finding: str) -> None:
    item = disputed()
    judge = adjudicator(item.project)
    arguments = {"finding": finding, "client_id": uuid4(), "votes_key": item.votes_key}
    made = decisions.decide(item, by=judge, reason="Half a sentence.", **arguments)
    item.refresh_from_db()
    assert (item.state, item.gold, made.reason) == ("unusable", None, "Half a sentence.")
    assert [entry.item for entry in decisions.active_decisions(item.project)] == [item]


def test_an_unusable_item_with_a_new_answer_is_disputed_again() -> None:
    item = disputed()
    arguments = {"finding": "broken", "client_id": uuid4(), "votes_key": item.votes_key}
    decisions.decide(item, by=adjudicator(item.project), **arguments)
    answer_item(item, annotators(item.project, 3)[2], "A")  # surplus: what was decided on stands
    item.refresh_from_db()
    assert item.state == "unusable"
    answer_item(item, annotators(item.project, 2)[1], "C", base=1)
    item.refresh_from_db()
    assert item.state == "disputed"


def test_a_decision_needs_an_answer_or_a_finding() -> None:
    item = disputed()
    with pytest.raises(DomainError, check=code("nothing_chosen")):
        decisions.decide(item, by=adjudicator(item.project), client_id=uuid4(), votes_key=item.votes_key)


def test_a_finding_must_be_listed_and_excludes_an_answer() -> None:
    item = disputed()
    arguments = {"by": adjudicator(item.project), "client_id": uuid4(), "votes_key": item.votes_key}
    with pytest.raises(DomainError, check=code("unknown_finding")):
        decisions.decide(item, finding="odd", **arguments)
    with pytest.raises(DomainError, check=code("bad_payload")):
        decisions.decide(item, finding="broken", payload={"relations": ["A"]}, **arguments)


def exclude_in_bulk(item: Item) -> None:
    bulk_actions.apply(item.project, [item.key], "exclude", by=curator(), finding="broken")


def exclude_then_include(item: Item) -> None:
    decisions.exclude_item(item, by=curator(), finding="broken")
    decisions.reopen(item, by=curator())


def ask_by_hand(item: Item) -> None:
    decisions.ask_one_more(item, by=curator())


def ask_and_answer(item: Item) -> None:
    decisions.ask_one_more(item, by=curator())
    answer_item(item, person("ann2"), "A")


@pytest.mark.parametrize("act", [exclude_in_bulk, exclude_then_include, ask_by_hand, ask_and_answer])
@pytest.mark.parametrize("disputed", [True, False])
def test_adjudicators_read_no_answers_to_what_curators_exclude_or_ask_about_without_a_dispute(
    client: Client, disputed: bool, act: Callable[[Item], None]
) -> None:
    """The replies named the hidden checks, too, which nobody excludes or asks about."""
    project = project_with_items(1, k=2)
    judge, _ = adjudicator(project), annotators(project, 3)
    item = answered_item(project, ["A"], ["B" if disputed else "A"])
    client.force_login(judge)
    pages = (f"/api/v1/items/{item.key}/dispute", reverse("dispute", args=[project.slug, item.key]))
    assert [client.get(page).status_code for page in pages] == [200 if disputed else 404] * 2
    act(item)
    assert [client.get(page).status_code for page in pages] == [200 if disputed else 404] * 2
    assert str(item.key) not in seen(project, "disputes", user=judge.username, decided="")
    with pytest.raises(DomainError) if not disputed else nullcontext():
        filters = DisputeFilters(pattern="1–1")
        bulk_decisions.preview(project, filters, bulk_decisions.NA, by=judge, after=item.key)


def test_exclusions_by_curators_are_listed_for_curators_and_read_by_nobody_again() -> None:
    project = project_with_items(1, k=2)
    item = answered_item(project, ["A"], ["A"])
    decisions.exclude_item(item, by=curator(), finding="broken")
    assert str(item.key) in seen(project, "disputes", decided="")
    assert second_readings.ask(project, n=10, seed="1", by=curator()) == 0
