"""Every request on a hidden check runs the statements of one on a sentence."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation import projects
from annotation.adjudication import decisions
from annotation.consensus import item_state, recomputation
from annotation.models import Item, Lease, Project
from annotation.ontology import guideline_versions, inventory
from annotation.queue import lease_endings, leases, own_votes, quality_settings, votes
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import Conflict
from tests.cast.basics import sentence
from tests.cast.projects import (
    annotators,
    answer_item,
    create_project,
    curator,
    import_lines,
    project_with_items,
)
from tests.errors import code

pytestmark = pytest.mark.django_db

SPANS = [[0, 3, "P"], [16, 21, "P"]]
PAYLOADS: dict[str, dict[str, Any]] = {
    "relations": {"spans": [], "relations": ["A"]},
    "entities": {"spans": SPANS, "relations": []},
    "joint": {"spans": SPANS, "relations": [[0, "A", 1]]},
}
PARTS = {"relation": "relations", "entity": "entities"}
VALUES = re.compile(r"'(?:[^']|'')*'|(?<![\w\"])\d[\d.]*|s\d+_x\d+|NULL|(?:\?, )+\?")


@pytest.fixture(params=PAYLOADS)
def project(request: pytest.FixtureRequest) -> Project:
    """Twelve items, every other one a hidden check."""
    kind = request.param
    made = create_project(kind, labels=[])
    for name, part in (("A", "relation"), ("P", "entity")):
        if kind in ("joint", PARTS[part]):
            inventory.add_labels(made, [name], by=curator(), part=part)
    lines = [sentence(at) for at in range(12)]
    if kind != "relations":
        lines = [{"id": line["id"], "text": line["text"]} for line in lines]
    import_lines(made, lines)
    made = projects.open_for_work(made, by=curator())
    for item in made.items.order_by("rank")[::2]:
        quality_settings.make_gold_question(item, payload=PAYLOADS[kind], use="check", by=curator())
    return quality_settings.set_quality_options(made, by=curator(), check_every=1, least_checks=1_000)


Step = Callable[[Lease, User, int], Any]


def loaded(lease: Lease) -> Lease:
    """Return a lease whose rows are read no more."""
    return Lease.objects.select_related("item__project", "annotator__project").get(pk=lease.pk)


def answer(lease: Lease, user: User, base: int, **values: Any) -> None:
    payload = PAYLOADS[lease.annotator.project.kind]
    votes.answer(lease.item.key, user, client_id=uuid4(), base=base, payload=payload, **values)


def answer_nothing(lease: Lease, user: User, base: int) -> None:
    payload: dict[str, Any] = {"spans": [], "relations": []}
    votes.answer(lease.item.key, user, client_id=uuid4(), base=base, payload=payload)


def skip(reason: str) -> Step:
    def skipped(lease: Lease, user: User, base: int) -> None:
        votes.skip(lease.item.key, user, client_id=uuid4(), base=base, reason=reason)

    skipped.__name__ = reason
    return skipped


def repeat(lease: Lease, user: User, base: int) -> None:
    vote = lease.item.votes.get(annotator=lease.annotator, number=base)
    again = votes.skip if vote.reason else votes.answer
    values = {"reason": vote.reason} if vote.reason else {"payload": vote.payload}
    assert again(lease.item.key, user, client_id=vote.client_id, **values).repeated


def heartbeat(lease: Lease, user: User, base: int) -> None:
    lease_endings.heartbeat(lease.pk, user)


def give_back(lease: Lease, user: User, base: int) -> None:
    lease_endings.return_lease(lease.pk, user)


def lease_again(lease: Lease, user: User, base: int) -> None:
    held = list(Lease.objects.filter(annotator=lease.annotator, ending="").values_list("pk", flat=True))
    again = leases.lease_next(lease.item.project, user, current_leases=held)
    assert again is not None
    assert again.item_id == lease.item_id


later, broken = skip("later"), skip("broken")
VOTES = (answer, answer_nothing, later, broken)


def statements(step: Callable[[], Any]) -> tuple[tuple[str, int], ...]:
    """Return which statements run, without their values, and how many of each."""
    with CaptureQueriesContext(connection) as queries:
        step()
    return tuple(sorted(Counter(VALUES.sub("?", query["sql"]) for query in queries).items()))


@pytest.mark.parametrize(
    "steps",
    [
        (answer, repeat, answer_nothing, later, lease_again, answer, broken, answer),
        (heartbeat, give_back, lease_again, later, repeat, lease_again, later, later, answer, later, answer),
        (give_back, later, broken, repeat, later, lease_again, broken, answer_nothing),
    ],
    ids=("answered", "put off", "skipped"),
)
def test_each_step_on_a_check_runs_the_statements_of_one_on_a_sentence(
    project: Project, steps: tuple[Step, ...]
) -> None:
    """Each statement more is a wait, and its time tells a check once it is repeated."""
    user, other = annotators(project, 2)
    held = [loaded(lease) for lease in leases.lease_several(project, user, n=12)]
    assert len({lease.item.use for lease in held}) == 2
    for lease in held[::4] + held[1::4]:
        leases.lease_next(project, other)
        answer(lease, other, 0)
    assert leases.lease_next(project, user, current_leases=[lease.pk for lease in held]) is None
    found: dict[str, set[Any]] = {Item.Use.CHECK: set(), Item.Use.WORK: set()}
    for lease in held:
        base = 0
        for at, step in enumerate(steps):
            found[lease.item.use].add((at, step.__name__, statements(partial(step, lease, user, base))))
            base += step in VOTES
    assert found[Item.Use.CHECK] == found[Item.Use.WORK]


def test_while_changed_labels_wait_for_a_job_a_check_is_answered_by_the_statements_of_a_sentence(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The digest of its known answer was renewed by the reply."""
    (user,) = annotators(project, 1)
    held = [loaded(lease) for lease in leases.lease_several(project, user, n=12)]
    monkeypatch.setattr(recomputation, "RECOMPUTE_AT_ONCE", 0)
    inventory.rename(project, "P" if project.kind == "entities" else "A", target="Z", by=curator())
    found: dict[str, set[Any]] = {Item.Use.CHECK: set(), Item.Use.WORK: set()}
    answer_nothing(held.pop(), user, 0)  # reads the labels, which are kept
    for lease in held:
        found[lease.item.use].add(statements(partial(answer_nothing, lease, user, 0)))
    assert found[Item.Use.CHECK] == found[Item.Use.WORK] != set()


def test_no_statement_lists_the_sentences_beside_the_candidates_of_a_project_that_waits_for_a_job(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a million of them, a statement that listed them would be rejected by the database."""
    monkeypatch.setattr(recomputation, "RECOMPUTE_AT_ONCE", 0)
    recomputation.recompute_after_change(project)
    lengths = list[int]()
    for use in (Item.Use.WORK, Item.Use.CORPUS):
        project.items.filter(use=Item.Use.WORK).update(use=use)
        with CaptureQueriesContext(connection) as queries:
            recomputation.recompute_after_change(project)
        lengths.append(sum(len(query["sql"]) for query in queries))
    assert lengths[0] == lengths[1]


def test_a_new_check_is_leased_by_the_statements_of_a_new_sentence(project: Project) -> None:
    (user,) = annotators(project, 1)
    leases.lease_next(project, user)  # makes the row of the annotator
    found: dict[str, set[Any]] = {}
    held: list[int] = list(Lease.objects.values_list("pk", flat=True))

    def lease_new() -> None:
        new = leases.lease_next(project, user, current_leases=held)
        assert new is not None
        held.append(new.pk)

    for _ in range(9):
        done = statements(lease_new)
        use = Lease.objects.select_related("item").get(pk=held[-1]).item.use
        found.setdefault(use, set()).add(done)
    assert len(found) == 2
    assert found[Item.Use.CHECK] == found[Item.Use.WORK]


@pytest.mark.parametrize(
    "steps", [(later, later, answer, answer, answer_nothing, later), (broken, later, answer, broken, later)]
)
def test_a_vote_changes_the_indexed_columns_of_a_check_that_it_changes_in_a_sentence(
    project: Project, steps: tuple[Step, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row is written in half the time if no indexed column changes."""
    names = sorted(set(item_state.FIELDS) - {"gold", "votes_key"})
    user, other = annotators(project, 2)
    held = [loaded(lease) for lease in leases.lease_several(project, user, n=12)]
    for lease in held[::4] + held[1::4]:
        answer(lease, other, 0)
    written: list[list[str]] = []
    save = item_state.save_states

    def noting(items: Sequence[Item]) -> None:
        stored = Item.objects.values(*names).get(pk=items[0].pk)
        written.append([name for name in names if getattr(items[0], name) != stored[name]])
        save(items)

    monkeypatch.setattr(item_state, "save_states", noting)
    found: dict[str, set[Any]] = {Item.Use.CHECK: set(), Item.Use.WORK: set()}
    for lease in held:
        written.clear()
        for base, step in enumerate(steps):
            step(lease, user, base)
        found[lease.item.use].add(tuple(sorted(map(tuple, written))))
    assert found[Item.Use.CHECK] == found[Item.Use.WORK]


def test_requests_of_annotators_read_no_outcome_as_a_check_has_none(project: Project) -> None:
    """Decoding one of a thousand spans takes longer than reading none."""
    user, other = annotators(project, 2)
    for lease in leases.lease_several(project, other, n=3):
        answer(lease, other, 0)
    lease, *held = leases.lease_several(project, user, n=3)
    answer(lease, user, 0)
    with CaptureQueriesContext(connection) as queries:
        with pytest.raises(Conflict, check=code("answered_elsewhere")):
            answer(lease, user, 9)
        answer(lease, user, 1)
        lease_endings.heartbeat(held[0].pk, user)
        lease_endings.return_lease(lease.pk, user)  # it has ended
        assert [vote.item for vote in own_votes.last_votes(project, user)] == [lease.item]
        leases.lease_several(project, user, n=2)
    read = [query["sql"] for query in queries if re.match(r"\s*SELECT", query["sql"])]
    assert not [sql for sql in read if re.search(r'"gold"|item\.\*', sql)]


def test_a_known_answer_is_compared_by_its_digest_so_that_its_marks_take_no_time(project: Project) -> None:
    """To read and compare one of a thousand marks takes a quarter of the time of a reply."""
    (user,) = annotators(project, 1)
    for lease in leases.lease_several(project, user, n=12):
        for base, step in enumerate((later, answer, answer_nothing, broken, later, answer)):
            with CaptureQueriesContext(connection) as queries:
                step(lease, user, base)
            reads = [query["sql"] for query in queries if "annotation_knownanswer" in query["sql"]]
            assert len(reads) == (base == 1)
            assert not [sql for sql in reads if "payload" in sql]
    assert set(project.items.filter(use="check").values_list("marks__right", flat=True)) == {True}


def test_nobody_answers_an_item_hundreds_of_times(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many replies tell checks by a difference of a hundredth of their time."""
    monkeypatch.setattr(votes, "MOST_VOTES", 3)
    (user,) = annotators(project, 1)
    for lease in leases.lease_several(project, user, n=8):
        for base in range(3):
            answer(lease, user, base)
        with pytest.raises(Conflict, check=code("answered_too_often")):
            answer(lease, user, 3)
    projects.set_guideline(project, guideline="Second", by=curator())
    guideline_versions.ask_again(project, 1, by=curator())  # else the first would come for ever
    with pytest.raises(Conflict, check=code("answered_too_often")):
        answer(lease, user, 3, guideline=1)
    answer(lease, user, 3)


def test_each_column_of_a_check_has_a_value_where_that_of_a_sentence_has_one(project: Project) -> None:
    """A time takes ten microseconds more to read than none."""
    if project.kind == "relations":
        import_lines(project, [sentence("imported", relations=["A"])], known="check")
    empty: dict[str, set[str]] = {}
    for row in project.items.values():
        empty.setdefault(row["use"], set()).update(name for name, value in row.items() if value is None)
    assert set(empty) == {Item.Use.WORK, Item.Use.CHECK}
    assert empty[Item.Use.WORK] == empty[Item.Use.CHECK]


def test_nobody_defers_or_returns_an_item_hundreds_of_times(project: Project) -> None:
    (user,) = annotators(project, 1)
    for lease in leases.lease_several(project, user, n=2):
        for base in range(lease_endings.MOST_TIMES):
            later(lease, user, base)
        with pytest.raises(Conflict, check=code("put_off_too_often")):
            later(lease, user, lease_endings.MOST_TIMES)
        answer(lease, user, lease_endings.MOST_TIMES)
    lease, *others = leases.lease_several(project, user, n=12)
    for _ in range(lease_endings.MOST_TIMES):
        give_back(lease, user, 0)
        (lease,) = leases.lease_several(project, user, n=1, current_leases=[other.pk for other in others])
    with pytest.raises(Conflict, check=code("put_off_too_often")):
        give_back(lease, user, 0)


def test_changes_of_an_answer_run_as_many_statements_whether_the_dispute_is_decided() -> None:
    """Each ends a decision or brings it back, whose time would tell that the others disagreed."""
    project = project_with_items(2)
    user, other = annotators(project, 2)
    found = []
    for item in project.items.order_by("rank"):
        answer_item(item, user, "A")
        answer_item(item, other, "B")
        item.refresh_from_db()
        if found:
            payload = {"relations": ["A"]}
            decisions.decide(item, by=curator(), client_id=uuid4(), votes_key=item.votes_key, payload=payload)
        found.append(
            [
                statements(partial(answer_item, item, user, name, base=base))
                for base, name in enumerate("BABA", 1)
            ]
        )
    assert item.adjudications.filter(lapsed=False).exists()
    assert found[0] == found[1]
