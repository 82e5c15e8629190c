"""Hidden checks behave like sentences, whatever others have answered meanwhile."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.db.models import F
from django.db.models.functions import Now
from django.http import Http404
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation import projects
from annotation.consensus import majority, recomputation
from annotation.consensus.majority import decide
from annotation.consensus.rules import Rules, label_names
from annotation.imports import undoing
from annotation.models import Annotator, Answer, Item, KnownAnswer, Lease, Mark, Project
from annotation.ontology import guideline_versions, inventory
from annotation.queue import (
    exclusions,
    gold_questions,
    lease_endings,
    leases,
    own_votes,
    quality_settings,
    votes,
)
from annotation.queue.search import StillSearching
from annotation.reports import agreement, item_history, vote_log
from annotation.reports.progress import COUNT_HOLDS, answers_needed, progress_of
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import Conflict
from evalsvc.core.jobs.models import Job
from tests.cast.basics import run_job, sentence
from tests.cast.projects import annotators, answer_item, curator, import_lines, project_with_items
from tests.cast.replay import replayed
from tests.errors import code

pytestmark = pytest.mark.django_db

SENTENCES, CHECKS = 6, 2


@pytest.fixture
@replayed
def project() -> Project:
    """A check with every three sentences; two answers decide a sentence."""
    project = project_with_items(SENTENCES, k=2)
    import_lines(project, [sentence(f"c{at}", relations=["A"]) for at in range(CHECKS)], known="check")
    return quality_settings.set_quality_options(project, by=curator(), check_every=3, least_checks=1_000)


@pytest.fixture
def people(project: Project) -> list[User]:
    return annotators(project, 3)


def finish(project: Project, *users: User) -> None:
    """Let these people answer all that they are given, then the sentences that another person holds."""
    for user in users:
        while lease := leases.lease_next(project, user):
            answer_item(lease.item, user, "A", base=lease.base)
        for item in project.items.live().exclude(votes__annotator__user=user):
            answer_item(item, user, "A")
    assert project.items.live().filter(state=Item.State.SETTLED).count() == SENTENCES


def reserve(project: Project, user: User) -> list[Lease]:
    held = leases.lease_several(project, user, n=SENTENCES + CHECKS)
    assert len(held) == SENTENCES + CHECKS
    return held


def defer(lease: Lease, user: User) -> None:
    votes.skip(lease.item, user, client_id=uuid4(), reason="later")


def give_back(lease: Lease, user: User) -> None:
    lease_endings.return_lease(lease.pk, user)


def lose(lease: Lease, user: User) -> None:
    Lease.objects.filter(pk=lease.pk).update(expires_at=Now() - timedelta(seconds=1))
    lease_endings.expire_overdue()


def test_an_import_is_not_undone_once_people_hold_its_sentences_among_checks(
    project: Project, people: list[User]
) -> None:
    """They would lose the sentences, and keep the checks."""
    sentences, checks = project.batches.order_by("pk")
    for lease in reserve(project, people[0]):
        give_back(lease, people[0])
    projects.close(project, by=curator())
    for batch in (sentences, checks):
        assert not undoing.may_undo(batch, once_closed=True)
        with pytest.raises(Conflict, match="hidden checks"):
            undoing.undo(batch, by=curator())


def test_the_reserve_is_renewed_for_checks_and_for_sentences_that_others_filled(
    project: Project, people: list[User]
) -> None:
    held = reserve(project, people[0])
    finish(project, *people[1:])
    for lease in held:
        lease_endings.heartbeat(lease.pk, people[0])
    again = leases.lease_several(project, people[0], n=60)
    assert [lease.pk for lease in again] == [lease.pk for lease in held]


@pytest.mark.parametrize("part_with", [give_back, defer, lose])
def test_what_a_person_parted_with_comes_again_in_that_order_though_others_filled_it(
    project: Project, people: list[User], part_with: Callable[[Lease, User], None]
) -> None:
    held = reserve(project, people[0])
    for lease in held:
        part_with(lease, people[0])
    finish(project, *people[1:])
    assert progress_of(project, people[0])["waiting"] == len(held)
    order = []
    while again := leases.lease_next(project, people[0]):
        order.append(again.item.external_id)
        answer_item(again.item, people[0], "A", base=again.base)
    assert order == [lease.item.external_id for lease in held]


@pytest.mark.parametrize("part_with", [give_back, defer, lose])
def test_after_checks_are_switched_off_sentences_and_checks_come_again_alike(
    project: Project, people: list[User], part_with: Callable[[Lease, User], None]
) -> None:
    """Checks came after all sentences, and of those that others had filled they alone."""
    held = reserve(project, people[0])
    for lease in held:
        part_with(lease, people[0])
    before = progress_of(project, people[0])
    quality_settings.set_quality_options(project, by=curator(), check_every=0)
    project.refresh_from_db()
    assert progress_of(project, people[0]) == before
    finish(project, *people[1:])
    assert progress_of(project, people[0]) == before
    came = []
    while again := leases.lease_next(project, people[0]):
        came.append(again.item.external_id)
        answer_item(again.item, people[0], "A", base=again.base)
    assert came == [lease.item.external_id for lease in held]
    assert progress_of(project, people[0])["skipped"] == 0


def test_after_checks_are_switched_off_a_reserve_is_left_to_its_person(
    project: Project, people: list[User]
) -> None:
    """Sentences were taken back from it for others, and checks were not."""
    held = reserve(project, people[0])
    switch_checks_off(project)
    project.refresh_from_db()
    finish(project, *people[1:])
    assert Lease.objects.filter(pk__in=[lease.pk for lease in held], ending="").count() == len(held)


def test_sentences_given_back_come_after_all_new_ones_like_checks(
    project: Project, people: list[User]
) -> None:
    given_back = leases.lease_several(project, people[0], n=4)
    for lease in given_back:
        give_back(lease, people[0])
    order = []
    while new := leases.lease_next(project, people[0]):
        order.append(new.item.external_id)
        answer_item(new.item, people[0], "A")
    assert order[4:] == [lease.item.external_id for lease in given_back]


def test_giving_one_sentence_back_again_and_again_brings_no_check(
    project: Project, people: list[User], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gold_questions, "check_place", lambda annotator, block, every: every)
    import_lines(project, [sentence(f"more{at}", relations=["A"]) for at in range(3)], known="check")
    held = reserve(project, people[0])[:1]
    finish(project, *people[1:])
    give_back(held[0], people[0])
    others = list(Lease.objects.filter(annotator=held[0].annotator, ending="").values_list("pk", flat=True))
    for _ in range(8):
        lease = leases.lease_next(project, people[0], current_leases=others)
        assert lease is not None
        assert lease.item == held[0].item
        give_back(lease, people[0])


def test_leases_of_one_request_expire_at_one_moment(project: Project, people: list[User]) -> None:
    held = reserve(project, people[0])
    assert len({lease.expires_at for lease in held}) == 1
    stored = Lease.objects.filter(pk__in=[lease.pk for lease in held])
    assert set(stored.values_list("expires_at", flat=True)) == {held[0].expires_at}


def test_sentences_that_others_hold_come_to_nobody_whose_count_would_tell_checks_from_them(
    project: Project, people: list[User]
) -> None:
    """The count has the check that is due and no sentence of others: 1 before a check, 0 before the rest."""
    for user in people[:2]:
        reserve(project, user)
    came, waiting = [], progress_of(project, people[2])["waiting"]
    while lease := leases.lease_next(project, people[2]):
        came.append(lease.item.use)
        answer_item(lease.item, people[2], "A")
    assert len(came) == waiting <= 1
    assert not Lease.objects.filter(ending=Lease.Ending.TAKEN_BACK).exists()


def test_the_count_does_not_follow_what_others_get_item_by_item(project: Project, people: list[User]) -> None:
    """Else an item that another person got would be a check if the count stayed as it was."""
    watching, getting, before = people
    for item in project.items.live():
        answer_item(item, before, "A")
    counts, uses = {progress_of(project, watching)["waiting"]}, set[str]()
    for _ in range(4):
        lease = leases.lease_next(project, getting)
        assert lease is not None
        uses.add(lease.item.use)
        counts.add(progress_of(project, watching)["waiting"])
        answer_item(lease.item, getting, "A")
    assert (uses, counts) == ({"", "check"}, {SENTENCES + CHECKS})

    project.members.update(expected_at=Now() - COUNT_HOLDS)
    later = progress_of(project, watching)["waiting"]
    assert later < SENTENCES
    for own in range(2):
        lease = leases.lease_next(project, watching)
        assert lease is not None
        assert progress_of(project, watching)["waiting"] == later - own
        answer_item(lease.item, watching, "A")
        assert progress_of(project, watching)["waiting"] == later - own - 1


def test_the_count_is_exact_when_nothing_is_left(project: Project, people: list[User]) -> None:
    watching, *others = people
    assert progress_of(project, watching)["waiting"] == SENTENCES + CHECKS
    finish(project, *others)
    while lease := leases.lease_next(project, watching):
        answer_item(lease.item, watching, "A")
    assert progress_of(project, watching)["waiting"] == 0
    import_lines(project, [sentence("later", relations=["A"])])
    assert progress_of(project, watching)["waiting"] in (1, 2)  # with a check, if it is due


@pytest.mark.parametrize("part_with", [None, lose])
def test_late_answers_get_the_same_reply_and_change_counts_alike(
    project: Project, people: list[User], part_with: Callable[[Lease, User], None] | None
) -> None:
    held = reserve(project, people[0])
    if part_with:
        for lease in held:
            part_with(lease, people[0])
    finish(project, *people[1:])
    browser = Client()
    browser.force_login(people[0])
    replies, changes = set(), set()
    for lease in held:
        before = progress_of(project, people[0])
        reply = browser.post(
            f"/api/v1/items/{lease.item.key}/answer",
            {"client_id": str(uuid4()), "payload": {"spans": [], "relations": ["A"]}},
            content_type="application/json",
        )
        after = progress_of(project, people[0])
        replies.add((reply.status_code, reply.content, reply.headers.get("Content-Length")))
        changes.add(tuple(after[name] - before[name] for name in ("total", "waiting", "answered", "skipped")))
    assert (len(replies), changes) == (1, {(0, -1, 1, 0)})


def test_the_total_is_the_sum_of_own_counts_and_not_the_number_of_sentences(
    project: Project, people: list[User]
) -> None:
    for _ in range(SENTENCES + CHECKS):
        progress = progress_of(project, people[0])
        assert progress["total"] == progress["answered"] + progress["waiting"] == SENTENCES + CHECKS
        lease = leases.lease_next(project, people[0])
        assert lease is not None
        answer_item(lease.item, people[0], "A")


def test_the_list_of_projects_states_sizes_to_overseers_alone(
    client: Client, project: Project, people: list[User]
) -> None:
    """Beside the own total, the number of sentences is that of the checks."""
    rows = {}
    for person in (people[0], curator()):
        client.force_login(person)
        body = client.get("/projects/").content.decode().partition("<tbody>")[2]
        rows[person.username] = re.findall(r'<td class="fig[ a-z]*">(.*?)</td>', body)
    mine, whole = rows.values()
    assert (set(mine), whole[0]) == ({"–"}, str(project.items.live().count()))


def test_an_answer_to_a_check_is_decided_like_one_to_a_sentence_so_that_neither_reply_is_faster(
    project: Project, people: list[User], monkeypatch: pytest.MonkeyPatch
) -> None:
    held = {lease.item: lease for user in people[:2] for lease in reserve(project, user)}
    decided: list[int] = []

    def counting(payloads: list[Any], **rules: Any) -> Any:
        decided.append(len(payloads))
        return decide(payloads, **rules)

    monkeypatch.setattr(majority, "decide", counting)
    work = {}
    for item in held:
        decided.clear()
        answer_item(item, people[0], "A")
        give_back(held[item], people[1])
        answer_item(item, people[1], "A")
        work.setdefault(item.use, set()).add(tuple(decided))
    assert len(work[Item.Use.CHECK]) == 1
    assert work[Item.Use.CHECK] == work[Item.Use.WORK]


@pytest.mark.parametrize(("again", "off"), [(False, False), (False, True), (True, False), (True, True)])
def test_answers_to_checks_and_to_sentences_write_and_read_as_much(
    project: Project, people: list[User], again: bool, off: bool
) -> None:
    """A sentence is graded, and a check decided, within a savepoint that is rolled back."""
    kinds = r"SAVEPOINT|RELEASE|ROLLBACK|INSERT INTO \S+|UPDATE \S+|SELECT"
    statements: dict[str, set[tuple[tuple[str, int], ...]]] = {}
    held = reserve(project, people[0])
    if again:
        for lease in held:
            answer_item(lease.item, people[0], "A")
        inventory.split(project, "A", targets=["A1", "A2"], by=curator())
    if off:
        switch_checks_off(project)
    label = "A1" if again else "A"
    assert label_names(Rules(project.pk).project, "relation")  # read once for all
    for lease in held:
        with CaptureQueriesContext(connection) as queries:
            answer_item(lease.item, people[0], label, base=own_votes.last_vote_number(lease))
        found = Counter(re.search(kinds, query["sql"]).group() for query in queries)  # type: ignore[union-attr]
        statements.setdefault(lease.item.use, set()).add(tuple(sorted(found.items())))
    assert len(statements) == 2
    assert statements[Item.Use.CHECK] == statements[Item.Use.WORK]
    assert len(statements[Item.Use.CHECK]) == 1


def ask_with_the_label(project: Project) -> str:
    projects.set_guideline(project, guideline="Second", by=curator())
    guideline_versions.ask_again(project, 1, labels=["A"], by=curator())
    return "B"


def ask_all(project: Project) -> str:
    projects.set_guideline(project, guideline="Second", by=curator())
    guideline_versions.ask_again(project, 1, by=curator())
    return "B"


def split_the_label(project: Project) -> str:
    inventory.split(project, "A", targets=["A1", "A2"], by=curator())
    return "A1"


def skip_it(item: Item, user: User, number: int) -> None:
    votes.skip(item, user, client_id=uuid4(), reason="broken", base=number)


def put_it_off(item: Item, user: User, number: int) -> None:
    votes.skip(item, user, client_id=uuid4(), reason="later", base=number)


def state_a_guideline_that_is_asked_again(item: Item, user: User, number: int) -> None:
    answer_item(item, user, "B", base=number, guideline=1)


def change_it_while_paused(item: Item, user: User, number: int) -> None:
    Annotator.objects.filter(user=user).update(paused_at=Now())
    answer_item(item, user, "B", base=number)
    Annotator.objects.filter(user=user).update(paused_at=None)


WITHDRAW = [skip_it, put_it_off, state_a_guideline_that_is_asked_again, change_it_while_paused]
Withdraw = Callable[[Item, User, int], None]


def an_hour_passes() -> None:
    Lease.objects.filter(ending="withdrawn").update(expires_at=F("expires_at") - timedelta(hours=1))
    lease_endings.expire_overdue()


@pytest.fixture
def idle(project: Project, people: list[User]) -> User:
    """Somebody who has nothing left, in a project that the others have finished."""
    finish(project, *people[:2])
    projects.set_guideline(project, guideline="Second", by=curator())
    guideline_versions.ask_again(project, 1, labels=["B"], by=curator())
    while lease := leases.lease_next(project, people[2]):
        answer_item(lease.item, people[2], "A")
    return people[2]


@pytest.mark.parametrize("withdraw", WITHDRAW)
def test_whoever_withdraws_an_answer_shows_nobody_at_once_whether_others_can_fill_it(
    project: Project, people: list[User], idle: User, withdraw: Withdraw
) -> None:
    for item in project.items.order_by("rank"):
        withdraw(item, people[0], 1)
        assert progress_of(project, idle)["waiting"] == 0
        assert leases.lease_next(project, idle) is None
        if withdraw != change_it_while_paused:
            answer_item(item, people[0], "A", base=2)
    if withdraw != change_it_while_paused:
        an_hour_passes()
        assert leases.lease_next(project, idle) is None


@pytest.mark.parametrize("withdraw", WITHDRAW)
def test_of_the_answers_that_a_person_withdraws_one_an_hour_is_left_to_others(
    project: Project, people: list[User], idle: User, withdraw: Withdraw
) -> None:
    items, checks = list(project.items.order_by("?")), set(project.items.filter(use=Item.Use.CHECK))
    for item in items:
        withdraw(item, people[0], 1)
    for item in items:
        an_hour_passes()
        came = {lease.item for lease in leases.lease_several(project, idle, n=60)}
        assert came - checks == {item} - checks
        for each in came:
            answer_item(each, idle, "A")


def raise_k(project: Project) -> None:
    projects.set_k(project, k=3, reopens=True, by=curator())


def give_it_again(item: Item, user: User, number: int) -> None:
    answer_item(item, user, "B", base=number)


def seen_by(project: Project, user: User) -> Any:
    """What a person gets to see: counts, own work, and what comes; `None` is nothing."""
    try:
        came = leases.lease_next(project, user)
    except StillSearching as searching:
        came = searching.reason
    return progress_of(project, user), list(own_votes.history(project, user)), came


CHANGES = [split_the_label, ask_all, ask_with_the_label, raise_k]
ACTS = [skip_it, put_it_off, give_it_again, change_it_while_paused]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("act", ACTS)
def test_while_a_recomputation_waits_no_act_of_others_shows(
    project: Project,
    people: list[User],
    idle: User,
    change: Callable[[Project], Any],
    act: Callable[[Item, User, int], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A sentence came to somebody who had nothing left at once, a check never; so did answers asked again."""
    monkeypatch.setattr(recomputation, "RECOMPUTE_AT_ONCE", 0)
    change(project)
    before = seen_by(project, idle)
    for item in project.items.order_by("rank"):
        act(item, people[0], 1)
        assert seen_by(project, idle) == before
    run_job("recompute", project.pk)
    came = leases.lease_several(project, idle, n=60)
    assert sum(not lease.item.use for lease in came) == SENTENCES
    assert not progress_of(project, idle)["recomputing"]


@pytest.mark.parametrize("change", CHANGES)
def test_a_vote_runs_as_many_statements_whether_answers_of_others_wait_to_be_asked_again(
    project: Project,
    people: list[User],
    change: Callable[[Project], Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first on a sentence or check marked them: one statement more showed another's label."""
    monkeypatch.setattr(recomputation, "RECOMPUTE_AT_ONCE", 0)
    finish(project, *people[:2])
    for item in project.items.order_by("rank")[::2]:
        answer_item(item, people[1], "C", base=1)
    change(project)
    assert label_names(Rules(project.pk).project, "relation")  # read once for all
    found = defaultdict[str, set[int]](set)
    for item in project.items.order_by("rank"):
        with CaptureQueriesContext(connection) as queries:
            answer_item(item, people[0], "C", base=1)
        found[item.use].add(len(queries))
    assert [len(numbers) for numbers in found.values()] == [1, 1]


def test_no_act_of_others_shows_by_whether_an_answer_given_too_often_may_be_changed(
    project: Project, people: list[User], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recomputation, "RECOMPUTE_AT_ONCE", 0)
    monkeypatch.setattr(votes, "MOST_VOTES", 1)
    finish(project, *people[:2])
    ask_all(project)
    touched, *others = project.items.order_by("rank")
    give_it_again(touched, people[1], 1)
    for item in (touched, *others):
        answer_item(item, people[0], "B", base=1)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("act", ACTS)
def test_acts_while_a_recomputation_waits_leave_the_states_of_a_fresh_one(
    project: Project,
    people: list[User],
    idle: User,
    change: Callable[[Project], Any],
    act: Callable[[Item, User, int], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also behind the job, which does not come back to the items that it has passed."""
    monkeypatch.setattr(recomputation, "RECOMPUTE_AT_ONCE", 0)
    monkeypatch.setattr(recomputation, "CHUNK", 3)
    change(project)
    items, recompute = list(project.items.order_by("rank")), recomputation.recompute_items

    def interrupted(*args: Any) -> list[Item]:
        done = recompute(*args)
        for item in items[:3]:
            act(item, people[0], 1)
        del items[:3]
        return done

    monkeypatch.setattr(recomputation, "recompute_items", interrupted)
    run_job("recompute", project.pk)
    assert not items
    stored = list(project.items.order_by("pk").values("state", "free", "gold", "extra"))
    monkeypatch.setattr(recomputation, "recompute_items", recompute)
    recomputation.recompute(project)
    assert stored == list(project.items.order_by("pk").values("state", "free", "gold", "extra"))
    rules = Rules(project.pk)
    for answer in Answer.objects.filter(item__project=project):
        assert answer.again == rules.is_asked_again(answer.payload, answer.guideline)


def test_curators_read_which_answers_count_by_the_rules_while_a_recomputation_waits(
    project: Project, people: list[User], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A vote decides by them, but stores no marks of answers of others."""
    finish(project, *people[:2])
    monkeypatch.setattr(recomputation, "RECOMPUTE_AT_ONCE", 0)
    ask_all(project)
    item = project.items.live().first()
    answer_item(item, people[0], "B", base=1)
    project.refresh_from_db()
    answers = {each.name: each.counted for each in item_history.answers_of(project, [item])[item.pk]}
    assert answers == {people[0].username: True, people[1].username: False}
    assert [row["labels"] for row in vote_log.rows(project, by=curator()) if row["counted"]] == [["B"]]
    lines = [json.loads(line) for line in agreement.judgments(project, by=curator())]
    assert [(line["annotator"], line["labels"]) for line in lines] == [(people[0].username, ["B"])]


PAGES = ("project", "disputes", "sentences", "project-quality", "progress", "agreement", "freeze", "ontology")


@pytest.mark.parametrize("state", ["queued", "failed"])
def test_every_page_of_a_project_states_that_it_is_being_recomputed(
    state: str, project: Project, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts and states of the former rules stood beside those of the present ones without a word."""
    client.force_login(curator())

    def noted() -> set[str]:
        texts = {name: client.get(reverse(name, args=[project.slug])).content.decode() for name in PAGES}
        return {name for name, text in texts.items() if 'id="recomputing"' in text}

    assert noted() == set()
    monkeypatch.setattr(recomputation, "RECOMPUTE_AT_ONCE", 0)
    ask_all(project)
    Job.objects.filter(kind="recompute").update(
        state=state, ended_at=Now() if state == Job.State.FAILED else None
    )
    assert noted() == set(PAGES)
    assert client.get(f"/api/v1/projects/{project.slug}/insight").json()["recomputing"]
    client.force_login(annotators(project, 1)[0])
    assert 'id="recomputing"' in client.get(reverse("mine", args=[project.slug])).content.decode()


def test_nobody_is_leased_anything_while_a_recomputation_waits_but_keeps_what_they_had(
    project: Project, people: list[User], client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = leases.lease_next(project, people[0])
    assert held is not None
    monkeypatch.setattr(recomputation, "RECOMPUTE_AT_ONCE", 0)
    split_the_label(project)
    client.force_login(people[0])
    lease = partial(client.post, f"/api/v1/projects/{project.slug}/lease", {}, "application/json")
    assert lease().json()["item"]["id"] == str(held.item.key)
    answer_item(held.item, people[0], "A1")
    reply = lease()
    assert reply.status_code == 202
    assert (reply.json()["wait"], reply.json()["reason"]) == (
        3,
        "The sentences of this project are being recomputed.",
    )
    Job.objects.filter(kind="recompute").update(state=Job.State.FAILED, ended_at=Now())
    reply = lease()
    assert (reply.status_code, reply.json()["code"]) == (409, "recomputing")
    assert f"manage.py recompute {project.slug}" in reply.json()["hint"]


def test_who_withdraws_answers_and_takes_them_back_delays_others_by_few_hours(
    project: Project, people: list[User], idle: User
) -> None:
    first, second = project.items.live().order_by("rank")[:2]
    skip_it(first, people[0], 1)
    skip_it(second, people[0], 1)
    for base in range(2, 20, 2):
        for item in (first, second):
            answer_item(item, people[0], "A", base=base)
            skip_it(item, people[0], base + 1)
    for _ in range(4):
        an_hour_passes()
    assert not Lease.objects.filter(ending="withdrawn").exists()


def test_who_takes_a_withdrawn_sentence_again_and_returns_it_frees_it_no_sooner(
    project: Project, people: list[User], idle: User
) -> None:
    for item in project.items.order_by("rank"):
        put_it_off(item, people[0], 1)
        lease = leases.lease_next(project, people[0])
        assert lease is not None
        give_back(lease, people[0])
        with pytest.raises(Http404):
            lease_endings.return_lease(Lease.objects.get(item=item, ending="withdrawn").pk, people[0])
        assert leases.lease_next(project, idle) is None
        answer_item(item, people[0], "A", base=2)


def test_who_takes_a_withdrawn_sentence_again_takes_nobody_elses_place(
    project: Project, people: list[User], idle: User
) -> None:
    item = project.items.live().first()
    put_it_off(item, people[0], 1)
    projects.set_k(project, k=3, by=curator())
    lease = leases.lease_next(project, people[0])
    assert lease is not None
    item.refresh_from_db()
    assert (lease.item, item.free) == (item, 1)


def test_what_a_person_withdrew_is_left_to_others_at_once_when_their_answers_are_excluded(
    project: Project, people: list[User], idle: User
) -> None:
    for item in project.items.order_by("rank"):
        skip_it(item, people[0], 1)
    assert answers_needed(project) == SENTENCES
    exclusions.exclude_annotator(Annotator.objects.get(user=people[0]), by=curator())
    came = leases.lease_several(project, idle, n=60)
    assert sum(not lease.item.use for lease in came) == SENTENCES


def switch_checks_off(project: Project) -> None:
    quality_settings.set_quality_options(project, by=curator(), check_every=0)


ASK_AGAIN = [ask_with_the_label, ask_all, split_the_label]
Change = Callable[[Project], Any]


@pytest.mark.parametrize("after", [None, switch_checks_off])
@pytest.mark.parametrize("change", ASK_AGAIN)
def test_answers_to_checks_are_asked_again_in_the_order_of_those_to_sentences(
    project: Project, people: list[User], change: Change, after: Change | None
) -> None:
    """Whatever a person was not asked again would be a check, and whatever others cannot fill."""
    first = [lease.item.external_id for lease in reserve(project, people[0])]
    finish(project, *people[:2])
    marks = list(Mark.objects.order_by("pk").values())
    label = change(project)
    if after:
        after(project)
    project.refresh_from_db()
    for user in people[1:]:
        while lease := leases.lease_next(project, user):
            answer_item(lease.item, user, label, base=lease.base)
    order, waiting = [], [progress_of(project, people[0])["waiting"]]
    while lease := leases.lease_next(project, people[0]):
        order.append(lease.item.external_id)
        answer_item(lease.item, people[0], label, base=lease.base)
        waiting.append(progress_of(project, people[0])["waiting"])
    assert order == first
    assert waiting == [*range(len(first), -1, -1)]
    assert {vote.number for vote in own_votes.history(project, people[0])} == {2}
    mine = Mark.objects.filter(annotator__user__in=people[:2]).order_by("pk")
    assert list(mine.values()) == marks


@pytest.mark.parametrize("change", ASK_AGAIN)
def test_excluded_answers_bring_no_sentence_again_before_the_checks(
    project: Project, people: list[User], change: Change, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a job had yet to ask all again, those on ordinary sentences were asked again at once."""
    finish(project, *people[:2])
    monkeypatch.setattr(recomputation, "RECOMPUTE_AT_ONCE", 0)
    change(project)
    excluded = Annotator.objects.get(project=project, user=people[1])
    answer = excluded.answers.filter(item__use=Item.Use.WORK).first()
    assert answer is not None
    exclusions.exclude_answer(answer, by=curator())
    exclusions.exclude_annotator(excluded, by=curator())
    with pytest.raises(StillSearching):
        leases.lease_next(project, people[0])
    run_job("recompute", project.pk)
    assert progress_of(project, people[0])["waiting"] == SENTENCES + CHECKS


def test_a_job_that_asks_answers_again_reaches_sentences_and_checks_in_any_order(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders = list[list[int]]()
    monkeypatch.setattr(recomputation, "recompute_items", lambda _, keys: orders.append(list(keys)))
    for _ in range(4):
        recomputation.recompute(project)
    ranked = list(project.items.live().order_by("rank").values_list("pk", flat=True))
    assert [sorted(order) for order in orders] == [sorted(project.items.values_list("pk", flat=True))] * 4
    assert any([key for key in order if key in ranked] != ranked for order in orders)  # all: once in 10^11


@pytest.mark.parametrize("done", [2, 5, 8])
def test_remaining_sentences_are_those_that_come_when_some_come_again(
    project: Project, people: list[User], done: int
) -> None:
    for _ in range(done):
        lease = leases.lease_next(project, people[0])
        assert lease is not None
        answer_item(lease.item, people[0], "A")
    split_the_label(project)
    waiting, came = progress_of(project, people[0])["waiting"], 0
    while lease := leases.lease_next(project, people[0]):
        answer_item(lease.item, people[0], "A2", base=lease.base)
        came += 1
    assert waiting == came == SENTENCES + CHECKS


def test_late_answers_under_a_guideline_that_is_asked_again_change_counts_alike(
    project: Project, people: list[User]
) -> None:
    held = reserve(project, people[0])
    answer_item(held[0].item, people[0], "C")
    ask_all(project)
    changes = set()
    for lease in held[1:]:
        before = progress_of(project, people[0])
        answer_item(lease.item, people[0], "A", guideline=1)
        after = progress_of(project, people[0])
        changes.add(tuple(after[name] - before[name] for name in ("total", "waiting", "answered", "skipped")))
    assert len(changes) == 1
    assert Answer.objects.filter(again=True).count() == len(held)


def test_any_part_of_a_split_label_is_right_in_a_check(project: Project, people: list[User]) -> None:
    split_the_label(project)
    check = project.items.get(external_id="c0")
    for user, label in zip(people, ("A1", "A2", "B"), strict=True):
        answer_item(check, user, label)
    assert list(Mark.objects.order_by("pk").values_list("right", flat=True)) == [True, True, False]


def test_answers_are_compared_in_current_labels_whatever_was_stored(
    project: Project, people: list[User]
) -> None:
    """As of checks stored before digests were, or until the job of a large project ends."""
    check = project.items.get(external_id="c0")
    KnownAnswer.objects.update(digest="")
    answer_item(check, people[0], "A")
    inventory.rename(project, "A", target="Z", by=curator())
    KnownAnswer.objects.update(digest="0" * 80)
    answer_item(check, people[1], "Z")
    answer_item(check, people[2], "B")
    assert list(Mark.objects.order_by("pk").values_list("right", flat=True)) == [True, True, False]


def test_a_label_in_the_qualification_round_is_not_split(project: Project) -> None:
    """Its answers are known to annotators; the rejection would show whether a check has the label."""
    import_lines(project, [sentence("q", relations=["B"])], known="qualify")
    with pytest.raises(Conflict, check=code("label_in_gold_question")):
        inventory.split(project, "B", targets=["B1", "B2"], by=curator())


@pytest.mark.parametrize("how", ["paused", "expired"])
def test_leases_that_end_together_end_in_the_order_they_were_given(
    project: Project, people: list[User], monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    given = [lease.pk for lease in leases.lease_several(project, people[0], n=8)]
    by_item = sorted(given, key=lambda pk: Lease.objects.get(pk=pk).item_id)
    assert by_item != sorted(given)  # as the checks were imported last
    ended = list[int]()

    def end(lease: Lease, ending: str) -> bool:
        ended.append(lease.pk)
        return True

    monkeypatch.setattr(lease_endings, "_end", end)
    if how == "paused":
        lease_endings.return_all(project.annotators.get(user=people[0]))
    else:
        Lease.objects.update(expires_at=Now() - timedelta(minutes=1))
        assert lease_endings.expire_overdue() == len(given)
    assert ended == sorted(given)


def test_whether_a_project_has_checks_is_read_from_stored_counts(project: Project) -> None:
    without = project_with_items(1)
    with CaptureQueriesContext(connection) as queries:
        assert gold_questions.has_checks(project)
        assert not gold_questions.has_checks(without)
    reads = [each["sql"] for each in queries if "'check'" in each["sql"]]
    assert len(reads) == 2
    assert not any('FROM "annotation_item"' in sql for sql in reads)  # a look at each sentence
