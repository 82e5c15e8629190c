"""Leases: exactly k people per item, nobody twice, nothing lost to whoever goes away."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from itertools import count
from threading import Event
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection, transaction
from django.db.models.functions import Now
from django.http import Http404
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotation import projects
from annotation.api import labelling
from annotation.models import Annotator, Item, Lease, Project
from annotation.queue import lease_endings, leases, participants, search, votes
from annotation.queue.available_items import assignable_items
from annotation.reports.progress import progress_of
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import Conflict, NotAllowed
from tests.cast.basics import person, sentence
from tests.cast.projects import annotators, answer_item, curator, import_lines, is_surplus, project_with_items
from tests.errors import code
from tests.places.postgres import in_threads, is_any_lock_awaited, until


def run_out(lease: Lease) -> None:
    Lease.objects.filter(pk=lease.pk).update(expires_at=Now() - timedelta(seconds=1))


def take(project: Project, user: User, *, current_leases: tuple[int, ...] = ()) -> Lease:
    lease = leases.lease_next(project, user, current_leases=current_leases)
    assert lease is not None
    return lease


@pytest.mark.django_db
def test_items_are_leased_in_order_and_never_twice() -> None:
    project = project_with_items(3)
    user = annotators(project, 1)[0]
    seen = []
    for _ in range(3):
        lease = take(project, user)
        seen.append(lease.item.external_id)
        answer_item(lease.item, user, "A")
    assert seen == ["s0", "s1", "s2"]
    assert leases.lease_next(project, user) is None


@pytest.mark.django_db
def test_an_item_leased_to_k_people_is_handed_to_no_other() -> None:
    project = project_with_items(1, k=2)
    people = annotators(project, 3)
    assert [bool(leases.lease_next(project, user)) for user in people] == [True, True, False]


@pytest.mark.django_db
def test_a_reloaded_page_gets_its_item_back_and_a_prefetch_gets_the_next() -> None:
    project = project_with_items(3)
    user = annotators(project, 1)[0]
    first = take(project, user)
    assert take(project, user).pk == first.pk
    second = take(project, user, current_leases=(first.pk,))
    assert second.item.external_id == "s1"


@pytest.mark.django_db
def test_an_expired_lease_frees_its_item() -> None:
    project = project_with_items(1, k=1)
    away, next_one = annotators(project, 2)
    lease = take(project, away)
    assert leases.lease_next(project, next_one) is None
    run_out(lease)
    assert take(project, next_one).item == lease.item


@pytest.mark.django_db
def test_an_annotator_can_lease_an_item_again_after_expiry() -> None:
    project = project_with_items(1, k=1)
    user = annotators(project, 1)[0]
    lease = take(project, user)
    run_out(lease)
    again = take(project, user)
    assert (again.item, again.pk != lease.pk) == (lease.item, True)


@pytest.mark.django_db
def test_a_late_answer_counts_if_it_is_among_the_first_k() -> None:
    project = project_with_items(1, k=1)
    late, other = annotators(project, 2)
    lease = take(project, late)
    run_out(lease)
    taken = take(project, other)
    answer_item(lease.item, late, "A")
    answer_item(taken.item, other, "B")
    assert [is_surplus(lease.item, user) for user in (late, other)] == [False, True]
    assert Item.objects.get().gold["relations"] == ["A"]


@pytest.mark.django_db
def test_a_heartbeat_renews_an_active_lease_only() -> None:
    project = project_with_items(1)
    user = annotators(project, 1)[0]
    lease = take(project, user)
    Lease.objects.filter(pk=lease.pk).update(expires_at=Now() + timedelta(seconds=60))
    soon = Lease.objects.get(pk=lease.pk).expires_at
    assert lease_endings.heartbeat(lease.pk, user).expires_at > soon
    run_out(lease)
    with pytest.raises(Conflict, check=code("lease_ended")):
        lease_endings.heartbeat(lease.pk, user)


@pytest.mark.django_db
def test_a_returned_item_is_leased_to_others() -> None:
    project = project_with_items(1, k=1)
    one, other = annotators(project, 2)
    lease_endings.return_lease(take(project, one).pk, one)
    assert take(project, other).item == Item.objects.get()


@pytest.mark.django_db
def test_a_lease_belongs_to_its_person() -> None:
    project = project_with_items(1)
    one, other = annotators(project, 2)
    with pytest.raises(Http404):
        lease_endings.return_lease(take(project, one).pk, other)


@pytest.mark.django_db
def test_non_members_get_404_and_closed_projects_lease_nothing() -> None:
    with pytest.raises(Http404):
        leases.lease_next(project_with_items(1), person("stranger"))
    project = project_with_items(1, opened=False)
    with pytest.raises(Conflict, check=code("project_not_open")):
        leases.lease_next(project, annotators(project, 1)[0])


@pytest.mark.django_db
def test_a_person_cannot_lease_a_whole_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "MAX_LEASES", 2)
    project = project_with_items(3)
    user = annotators(project, 1)[0]
    held = take(project, user).pk
    both = (held, take(project, user, current_leases=(held,)).pk)
    with pytest.raises(Conflict, check=code("too_many_leases")):
        leases.lease_next(project, user, current_leases=both)


@pytest.mark.django_db
def test_progress_counts_own_answers_skips_and_remaining_items() -> None:
    project = project_with_items(3)
    user = annotators(project, 1)[0]
    answer_item(take(project, user).item, user, "A", milliseconds=3000)
    votes.skip(take(project, user).item, user, client_id=uuid4(), reason="undecided", milliseconds=9000)
    progress = progress_of(project, user)
    wanted = {"answered": 1, "skipped": 1, "waiting": 1, "total": 3, "today": 1, "median_seconds": 3.0}
    assert {name: progress[name] for name in wanted} == wanted


@pytest.mark.django_db
def test_the_next_item_is_found_by_an_index(django_assert_max_num_queries) -> None:
    project = project_with_items(3)
    user = annotators(project, 1)[0]
    wanting = assignable_items(project, participants.annotator_of(project, user)).filter(rank__gt=1)
    assert "item_wanting" in wanting[:1].explain() or connection.vendor == "postgresql"
    with django_assert_max_num_queries(14):
        take(project, user)


def work_through(project: Project, user: User, *, steps: int) -> list[tuple[int, int]]:
    """Answer, drop, or answer twice, by turns, until nothing is left."""
    done = []
    for turn, _ in zip(count(user.pk), range(steps), strict=False):
        lease = leases.lease_next(project, user)
        if lease is None:
            break
        if turn % 5 == 0:
            lease_endings.return_lease(lease.pk, user)
            continue
        name = uuid4()
        answer = {"spans": [], "relations": ["AB"[turn % 2]]}
        for _ in range(1 + (turn % 3 == 0)):
            votes.answer(lease.item, user, client_id=name, payload=answer)
        done.append((lease.item_id, user.pk))
    return done


def test_many_people_at_once_give_every_item_exactly_k_answers(either_database: str) -> None:
    items, k = (12, 3) if either_database == "postgres" else (6, 2)
    project = project_with_items(items, k=k)
    people = annotators(project, 8 if either_database == "postgres" else 4)
    done = [
        pair
        for part in in_threads(len(people), lambda i: work_through(project, people[i], steps=60))
        for pair in part
    ]
    answers = Counter(item for item, _ in done)
    assert len(done) == len(set(done))
    assert answers == dict.fromkeys(project.items.values_list("pk", flat=True), k)
    assert not project.items.filter(state=Item.State.OPEN).exists()
    assert Item.objects.filter(project=project).exclude(free=0).count() == 0
    assert all(item.answers.count() == k for item in project.items.all())


@pytest.mark.postgres
def test_a_lease_waits_for_the_last_item_while_it_is_locked(
    postgres: dict[str, Any],
) -> None:
    project = project_with_items(1, k=2)
    first, second = annotators(project, 2)

    held = Event()

    def take_or_hold(i: int) -> Lease | None:
        if i:
            assert held.wait(120)
            return leases.lease_next(project, second)
        with transaction.atomic():
            lease = leases.lease_next(project, first)
            held.set()
            until(is_any_lock_awaited)
            return lease

    assert all(in_threads(2, take_or_hold))


@pytest.mark.postgres
@pytest.mark.parametrize("kind", ["new", "freed", "deferred"])
def test_a_lease_holds_nothing_while_it_waits_for_an_item(postgres: dict[str, Any], kind: str) -> None:
    project = project_with_items(2, k=2)
    (user,) = annotators(project, 1)
    answer_item(project.items.get(external_id="s1"), user, "A")
    item = project.items.get(external_id="s0")
    if kind == "deferred":
        votes.skip(item, user, client_id=uuid4(), reason="later")
    elif kind == "freed":
        project.items.filter(pk=item.pk).update(free=0)
        assert leases.lease_next(project, user) is None
        project.items.filter(pk=item.pk).update(free=2, freed_at=Now())
    held = Event()

    def lease_or_exclude(i: int) -> Lease | None:
        if i:
            assert held.wait(120)
            return leases.lease_next(project, user)
        with transaction.atomic():  # items before annotators, as votes, imports and exclusions lock them
            Item.objects.select_for_update(no_key=True).get(pk=item.pk)
            held.set()
            until(is_any_lock_awaited)
            Annotator.objects.select_for_update().get(project=project, user=user)
        return None

    _, lease = in_threads(2, lease_or_exclude)
    assert lease.item == item


def test_one_person_in_many_tabs_writes_one_answer(either_database: str) -> None:
    project = project_with_items(1, k=2)
    user = annotators(project, 1)[0]
    item, name = project.items.get(), uuid4()

    def send(_: int) -> bool:
        return votes.answer(item, user, client_id=name, payload={"relations": ["A"]}).repeated

    assert sorted(in_threads(4, send)) == [False, True, True, True]
    assert item.votes.count() == 1


def test_independent_tabs_conflict_and_lose_no_answer(either_database: str) -> None:
    project = project_with_items(1, k=2)
    user = annotators(project, 1)[0]
    item = project.items.get()

    def send(i: int) -> str:
        try:
            answer_item(item, user, "AB"[i % 2])
        except Conflict as conflict:
            return conflict.code
        return "written"

    assert Counter(in_threads(4, send)) == {"written": 1, "answered_elsewhere": 3}


@pytest.mark.django_db
def test_a_sentence_answered_in_one_tab_while_another_asks_for_it_is_not_answered_again_unawares() -> None:
    project = project_with_items(1)
    (user,) = annotators(project, 1)
    take(project, user)
    other = take(project, user)
    answer_item(other.item, user, "A")
    assert labelling._lease_body(other, project)["base"] == 0
    with pytest.raises(Conflict, check=code("answered_elsewhere")):
        answer_item(other.item, user, "B", base=0)


@pytest.mark.django_db
def test_leasing_needs_the_role_of_an_annotator() -> None:
    project = project_with_items(1)
    projects.set_member(project, user=person("looker"), role="viewer", by=curator())
    with pytest.raises(NotAllowed):
        leases.lease_next(project, person("looker"))


@pytest.mark.django_db
def test_deferred_items_come_last_the_longest_deferred_first() -> None:
    project = project_with_items(3, k=1)
    user = annotators(project, 1)[0]
    for name in ("s1", "s0"):
        item = project.items.get(external_id=name)
        votes.skip(item, user, client_id=uuid4(), reason="later")
    assert progress_of(project, user)["waiting"] == 3
    seen = []
    while (lease := leases.lease_next(project, user)) is not None:
        seen.append(lease.item.external_id)
        votes.answer(lease.item, user, client_id=uuid4(), base=lease.base, payload={"relations": []})
    assert seen == ["s2", "s1", "s0"]


@pytest.mark.django_db
def test_a_skipped_item_is_not_leased_to_the_same_person_again() -> None:
    project = project_with_items(1, k=1)
    user = annotators(project, 1)[0]
    votes.skip(project.items.get(), user, client_id=uuid4(), reason="later")
    votes.skip(project.items.get(), user, client_id=uuid4(), reason="undecided", base=1)
    assert leases.lease_next(project, user) is None


@pytest.mark.django_db
def test_whoever_answered_everything_is_asked_for_what_was_freed_since() -> None:
    project = project_with_items(6, k=2)
    ann, bob = annotators(project, 2)
    held = leases.lease_next(project, bob)
    assert held is not None
    for item in project.items.all():
        answer_item(item, ann, "A")
    assert leases.lease_next(project, ann) is None
    for _ in range(2):
        with CaptureQueriesContext(connection) as queries:
            assert leases.lease_next(project, ann) is None
        searches = [query["sql"] for query in queries if "FROM annotation_item item" in query["sql"]]
        assert len(searches) == 2  # those not locked, then all
        assert all("freed_at >=" in search for search in searches)
    import_lines(project, [sentence(6)])
    fresh = leases.lease_next(project, ann)
    assert fresh is not None
    assert fresh.item.external_id == "s6"
    lease_endings.return_lease(fresh.pk, ann)
    again = leases.lease_next(project, ann)
    assert again is not None
    assert again.item == fresh.item


@pytest.mark.django_db
def test_all_items_are_searched_again_after_some_hours() -> None:
    project = project_with_items(2, k=2)
    (ann,) = annotators(project, 1)
    answer_item(project.items.get(external_id="s0"), ann, "A")
    project.items.filter(external_id="s1").update(free=0)
    assert leases.lease_next(project, ann) is None
    project.items.filter(external_id="s1").update(free=2)  # by a way that says nothing
    assert leases.lease_next(project, ann) is None
    project.annotators.update(searched_at=Now() - search.SEARCHES_HOLD)
    assert leases.lease_next(project, ann) is not None


@pytest.mark.django_db
def test_a_long_search_goes_on_with_the_next_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "SLICE", 3)
    project = project_with_items(8, k=2)
    ann, bob = annotators(project, 2)
    for item in project.items.exclude(external_id="s7"):
        answer_item(item, ann, "A")
    for _ in range(2):
        with pytest.raises(search.StillSearching):
            leases.lease_next(project, ann)
    last = take(project, ann)
    assert last.item.external_id == "s7"
    answer_item(last.item, ann, "A")
    for _ in range(2):  # from the first item on
        with pytest.raises(search.StillSearching):
            leases.lease_several(project, ann, n=2)
    assert leases.lease_next(project, ann) is None
    with CaptureQueriesContext(connection) as queries:
        assert leases.lease_next(project, ann) is None
    assert not any(" rank BETWEEN " in query["sql"] for query in queries)
    import_lines(project, [sentence(n) for n in range(8, 13)])  # more than one slice is free again
    found = set()
    for _ in range(5):
        while True:
            try:
                lease = take(project, ann)
                break
            except search.StillSearching:
                pass
        found.add(lease.item.external_id)
        answer_item(lease.item, ann, "A")
    assert found == {f"s{n}" for n in range(8, 13)}
    assert take(project, bob).item.external_id == "s0"


@pytest.mark.django_db
def test_the_api_says_that_a_search_goes_on(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "SLICE", 1)
    project = project_with_items(2, k=2)
    (ann,) = annotators(project, 1)
    for item in project.items.all():
        answer_item(item, ann, "A")
    client.force_login(ann)
    for path, body in (("lease", {"holding": []}), ("reserve", {"holding": [], "n": 2}), ("lease", {})):
        reply = client.post(f"/api/v1/projects/{project.slug}/{path}", body, "application/json")
        if path == "lease" and not body:
            assert reply.status_code == 204
        else:
            assert (reply.status_code, reply.json()) == (202, {"searching": True, "wait": 0, "reason": ""})
