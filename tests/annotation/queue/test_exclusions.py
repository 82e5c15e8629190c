"""Answers excluded and included again, alone or with their annotator."""

from __future__ import annotations

import time
from threading import Event
from uuid import uuid4

import pytest

from annotation.consensus import recomputation
from annotation.imports import votes as imported_votes
from annotation.models import Annotator, Item, Lease, Oversight, Project, Vote
from annotation.queue import exclusions, leases, pauses
from annotation.queue import votes as voting
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import Conflict, NotAllowed
from tests.cast.basics import person, sentence
from tests.cast.projects import (
    annotators,
    answer_item,
    answered_item,
    create_project,
    curator,
    import_lines,
    project_with_items,
)
from tests.errors import code
from tests.places.postgres import in_threads

pytestmark = pytest.mark.django_db


def who(project: Project, name: str) -> Annotator:
    return project.annotators.get(name=name)


def state(project: Project, name: str = "s0") -> tuple[str, int]:
    item = project.items.get(external_id=name)
    return item.state, item.free


def imported(*votes: tuple[str, str, str], **options: object) -> Project:
    project = create_project(k=4)
    import_lines(project, [sentence("s0"), sentence("s1")])
    lines = [{"item": item, "annotator": name, "labels": [label]} for item, name, label in votes]
    import_lines(project, lines, what="votes", **options)
    return project


def test_items_of_an_excluded_annotator_need_another_answer() -> None:
    project = project_with_items(1, k=2)
    answered_item(project, ["A"], ["A"])
    made = exclusions.exclude_annotator(who(project, "ann0"), by=curator(), reason="Clicked through.")
    assert (made.n, state(project), Vote.objects.count()) == (1, ("open", 1), 2)


def test_a_surplus_answer_replaces_an_excluded_one() -> None:
    project = project_with_items(1, k=2)
    item = answered_item(project, ["B"], ["A"], ["A"])
    assert item.state == "disputed"
    exclusions.exclude_annotator(who(project, "ann0"), by=curator())
    item.refresh_from_db()
    assert (item.state, item.gold["relations"]) == ("settled", ["A"])


def test_including_an_annotator_again_restores_every_item() -> None:
    project = project_with_items(1, k=2)
    item = answered_item(project, ["B"], ["A"], ["A"])
    before = (item.state, item.pattern, item.votes_key)
    exclusions.exclude_annotator(who(project, "ann0"), by=curator())
    exclusions.include_annotator(who(project, "ann0"), by=curator(), reason="A mistake.")
    item.refresh_from_db()
    assert (item.state, item.pattern, item.votes_key) == before
    acts = who(project, "ann0").oversights.values_list("act", "reason", "n", "by__username")
    assert [tuple(row) for row in acts][::2] == [
        ("set aside", "", 1, "curator"),
        ("put back", "A mistake.", 1, "curator"),
    ]


def test_an_answer_excluded_alone_stays_excluded_when_its_annotator_is_included() -> None:
    project = project_with_items(2, k=1)
    for name in ("s0", "s1"):
        answered_item(project, ["A"], item=name)
    exclusions.exclude_answer(project.items.get(external_id="s1").answers.get(), by=curator())
    exclusions.exclude_annotator(who(project, "ann0"), by=curator())
    exclusions.include_annotator(who(project, "ann0"), by=curator())
    assert (state(project)[0], state(project, "s1")[0]) == ("settled", "open")


def skipped_and_answered_anew(item: Item, user: User) -> tuple[str, int]:
    """Skip, answer again, and return the state of the item."""
    skipped(item, user, base=1)
    skipped(item, user, base=2)
    answer_item(item, user, "A", base=3)
    return state(item.project)


def skipped(item: Item, user: User, *, base: int) -> tuple[str, int]:
    voting.skip(item, user, client_id=uuid4(), reason="undecided", base=base)
    return state(item.project)


def test_an_answer_excluded_alone_stays_excluded_after_a_skip_and_a_new_answer() -> None:
    project = project_with_items(1, k=1)
    item = answered_item(project, ["A"])
    exclusions.exclude_answer(item.answers.get(), by=curator())
    (user,) = annotators(project, 1)
    assert skipped_and_answered_anew(item, user) == ("open", 1)
    exclusions.exclude_answer(item.answers.get(), by=curator(), excluded=False)
    assert skipped(item, user, base=4) == ("open", 1)
    answer_item(item, user, "A", base=5)
    assert state(project)[0] == "settled"


def test_an_answer_excluded_with_its_annotator_stays_excluded_when_given_again() -> None:
    project = project_with_items(1, k=1)
    item = answered_item(project, ["A"])
    made = exclusions.exclude_annotator(who(project, "ann0"), by=curator())
    pauses.resume(who(project, "ann0"), by=curator())
    (user,) = annotators(project, 1)
    assert skipped_and_answered_anew(item, user) == ("open", 1)
    assert item.answers.get().aside == made
    exclusions.include_annotator(who(project, "ann0"), by=curator())
    assert state(project)[0] == "settled"


def test_an_answer_included_while_skipped_counts_when_given_again() -> None:
    project = project_with_items(1, k=1)
    item = answered_item(project, ["A"])
    exclusions.exclude_annotator(who(project, "ann0"), by=curator())
    pauses.resume(who(project, "ann0"), by=curator())
    (user,) = annotators(project, 1)
    skipped(item, user, base=1)
    exclusions.include_annotator(who(project, "ann0"), by=curator())
    answer_item(item, user, "A", base=2)
    assert state(project)[0] == "settled"


def test_an_excluded_annotator_gets_no_items_until_resumed() -> None:
    project = project_with_items(2, k=1)
    (user,) = annotators(project, 1)
    answer_item(project.items.get(external_id="s0"), user, "A")
    exclusions.exclude_annotator(who(project, "ann0"), by=curator(), reason="Clicked through.")
    with pytest.raises(NotAllowed, check=code("paused")):
        leases.lease_next(project, user)
    pauses.resume(who(project, "ann0"), by=curator())
    lease = leases.lease_next(project, user)
    answer_item(lease.item, user, "A")
    assert (state(project)[0], state(project, "s1")[0]) == ("open", "settled")


def test_excluding_imported_answers_leaves_the_decision_to_the_others() -> None:
    project = imported(("s0", "w1", "A"), ("s0", "w2", "B"), ("s1", "w1", "A"))
    assert state(project)[0] == "disputed"
    exclusions.exclude_annotator(who(project, "w1"), by=curator())
    assert (state(project)[0], state(project, "s1")) == ("settled", ("open", 1))
    exclusions.include_annotator(who(project, "w1"), by=curator())
    assert (state(project)[0], state(project, "s1")[0]) == ("disputed", "settled")


def test_an_import_with_a_stated_k_needs_excluded_answers_again() -> None:
    project = imported(("s0", "w1", "A"), ("s0", "w2", "A"), k=2)
    exclusions.exclude_annotator(who(project, "w1"), by=curator())
    assert state(project) == ("open", 1)


def test_a_later_import_of_an_excluded_annotator_is_excluded_too() -> None:
    project = imported(("s0", "w1", "A"))
    exclusions.exclude_annotator(who(project, "w1"), by=curator())
    import_lines(project, [{"item": "s1", "annotator": "w1", "labels": ["A"]}], what="votes")
    assert state(project, "s1")[0] == "open"
    exclusions.include_annotator(who(project, "w1"), by=curator())
    assert Item.objects.filter(answers__set_aside=True).count() == 0


def test_answers_imported_after_an_exclusion_within_the_import_are_excluded_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    project = create_project(k=4)
    import_lines(project, [sentence("s0"), sentence("s1")])
    take = imported_votes._Staging.take

    def then_exclude(staging: imported_votes._Staging, chunk: list[imported_votes.Line]) -> None:
        take(staging, chunk)
        if not Oversight.objects.exists():
            exclusions.exclude_annotator(who(project, "w1"), by=curator())

    monkeypatch.setattr(imported_votes, "CHUNK", 1)
    monkeypatch.setattr(imported_votes._Staging, "take", then_exclude)
    lines = [{"item": f"s{at}", "annotator": "w1", "labels": ["A"]} for at in range(2)]
    assert import_lines(project, lines, what="votes").counts["answers"] == 2
    assert set(project.items.values_list("answers__set_aside", flat=True)) == {True}


def test_excluding_twice_is_rejected_and_only_curators_exclude() -> None:
    project = project_with_items(1, k=1)
    answered_item(project, ["A"])
    with pytest.raises(NotAllowed):
        exclusions.exclude_annotator(who(project, "ann0"), by=person("ann0"))
    with pytest.raises(Conflict, check=code("not_aside")):
        exclusions.include_annotator(who(project, "ann0"), by=curator())
    exclusions.exclude_annotator(who(project, "ann0"), by=curator())
    with pytest.raises(Conflict, check=code("already_aside")):
        exclusions.exclude_annotator(who(project, "ann0"), by=curator())
    assert Oversight.objects.filter(act="set aside").count() == 1


def test_an_answer_changed_by_a_paused_annotator_does_not_count() -> None:
    project = project_with_items(1, k=1)
    item = answered_item(project, ["A"])
    pauses.pause(who(project, "ann0"), by=curator())
    answer_item(item, annotators(project, 1)[0], "B", base=1)
    assert state(project) == ("open", 1)


@pytest.mark.postgres
def test_an_exclusion_waits_for_a_running_vote(
    postgres: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    project = project_with_items(3, k=1)
    (user,) = annotators(project, 1)
    item = answered_item(project, ["A"])
    lease = leases.lease_next(project, user)
    assert lease is not None
    never_leased = project.items.exclude(pk__in=(item.pk, lease.item_id)).get()
    answering, derive = Event(), voting._update_answer

    def slowly(*arguments: object) -> None:
        answering.set()
        time.sleep(0.3)
        derive(*arguments)

    def act(at: int) -> None:
        if at == 0:
            answer_item(item, user, "B", base=1)
        elif at == 1:
            answer_item(lease.item, user, "B")
        elif at == 2:
            answer_item(never_leased, user, "B")
        else:
            assert answering.wait(120)
            exclusions.exclude_annotator(who(project, "ann0"), by=curator())

    monkeypatch.setattr(voting, "_update_answer", slowly)
    in_threads(4, act)
    assert set(project.items.values_list("answers__set_aside", flat=True)) == {True}


@pytest.mark.postgres
def test_exclusions_stay_consistent_during_work(postgres: object) -> None:
    """Leases, answers and exclusions take turns and leave a consistent queue."""
    project = project_with_items(30, k=2)
    people = annotators(project, 4)
    answer_item(project.items.get(external_id="s0"), people[0], "A")
    first, boss = who(project, "ann0"), curator()

    def act(at: int) -> None:
        if at < len(people):
            while lease := next_of(project, people[at]):
                answer_item(lease.item, people[at], "A")
            return
        for _ in range(6):
            exclusions.exclude_annotator(first, by=boss)
            exclusions.include_annotator(first, by=boss)
            pauses.resume(first, by=boss)

    in_threads(len(people) + 1, act)
    fields = ("state", "gold", "votes_key", "free")
    before = list(project.items.order_by("pk").values_list(*fields))
    recomputation.recompute_after_change(project)
    assert list(project.items.order_by("pk").values_list(*fields)) == before
    assert not first.answers.filter(aside__isnull=False).exists()


def next_of(project: Project, user: User) -> Lease | None:
    """None also while their work is paused."""
    try:
        return leases.lease_next(project, user)
    except NotAllowed:
        return None
