"""Answers in that were given elsewhere: one vote each, and k is what came."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Event
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation import projects
from annotation.adjudication import decisions
from annotation.consensus import recomputation
from annotation.imports import batches
from annotation.imports import votes as import_votes
from annotation.models import Adjudication, Annotator, Answer, Item, Project, Vote
from annotation.ontology import inventory
from annotation.queue import exclusions, quality_settings
from tests.cast.basics import run_job, sentence
from tests.cast.projects import (
    annotators,
    answer_item,
    answered_item,
    create_project,
    curator,
    import_lines,
    jsonl_file,
    project_with_items,
)
from tests.places.postgres import in_threads, is_any_lock_awaited, until

pytestmark = pytest.mark.django_db


def vote(item: str, annotator: str, *labels: str, **more: Any) -> dict[str, Any]:
    answer = {"labels": list(labels)} if labels else {"na": True}
    return {"item": item, "annotator": annotator} | (more or answer)


def with_items(n: int = 3, **more: Any) -> Project:
    project = create_project(**more)
    import_lines(project, [sentence(f"s{at}") for at in range(n)])
    return project


def test_imported_answers_set_k_to_their_number_and_settle_the_item() -> None:
    project = with_items()
    votes = [vote("s0", "w1", "A"), vote("s0", "w2", "A"), vote("s0", "w3"), vote("s1", "w1", "B")]
    batch = import_lines(project, votes, what="votes")
    assert (batch.state, batch.counts["answers"], batch.counts["annotators"]) == ("done", 4, 3)
    found = {item.external_id: (item.state, item.k, item.gold) for item in project.items.live()}
    assert found["s0"] == ("settled", 3, {"spans": [], "relations": ["A"]})
    assert found["s1"][:2] == ("settled", 1)
    assert found["s2"] == ("open", None, None)


def test_disputes_of_imported_answers_call_one_more_once_the_option_is_switched_on() -> None:
    project = with_items(1)
    quality_settings.set_quality_options(project, by=curator(), calls_extra=True)
    import_lines(project, [vote("s0", "w1", "A"), vote("s0", "w2", "B")], what="votes")
    item = project.items.get()
    assert (item.state, item.extra) == ("disputed", 0)
    for calls in (False, True):
        quality_settings.set_quality_options(project, by=curator(), calls_extra=calls)
    item.refresh_from_db()
    assert (item.state, item.extra, item.free) == ("open", 1, 1)


@pytest.mark.parametrize(("most_extra", "state", "free"), [(1, "disputed", 0), (2, "open", 1)])
def test_imported_answers_leave_answered_calls_answered(most_extra: int, state: str, free: int) -> None:
    project = project_with_items(1, k=2)
    quality_settings.set_quality_options(project, by=curator(), calls_extra=True, most_extra=most_extra)
    item = answered_item(project, ["A"], ["B"])
    answer_item(item, annotators(project, 3)[2], "C")
    item.refresh_from_db()
    assert (item.state, item.extra, item.free) == (state, most_extra, free)
    for worker in ("w1", "w2"):
        import_lines(project, [vote("s0", worker, "C" if worker == "w2" else "B")], what="votes")
        item.refresh_from_db()
        assert (item.state, item.k, item.extra, item.free) == ("disputed", None, most_extra, 0)


def test_an_imported_answer_fills_a_call_that_waits_and_changes_no_k() -> None:
    """As for a sentence on which people agreed, where it is surplus: k would tell which is which."""
    project = project_with_items(2, k=2)
    quality_settings.set_quality_options(project, by=curator(), calls_extra=True, most_extra=1)
    agreed, disputed = answered_item(project, ["A"], ["A"]), answered_item(project, ["A"], ["B"], item="s1")
    disputed.refresh_from_db()
    assert (disputed.state, disputed.free) == ("open", 1)
    votes = [vote(name, worker, "A") for name in ("s0", "s1") for worker in ("w1", "w2")]
    batch = import_lines(project, votes, what="votes")
    assert batch.counts["surplus_answers"] == 3
    for item, extra in ((agreed, 0), (disputed, 1)):
        item.refresh_from_db()
        assert (item.state, item.k, item.extra, item.free) == ("settled", None, extra, 0)


def test_a_label_of_an_undone_step_is_an_unknown_label() -> None:
    project = with_items()
    step = inventory.merge(project, ["A", "B"], target="AB", by=curator())
    assert import_lines(project, [vote("s0", "w1", "AB")], what="votes").refused == 0
    Answer.objects.all().delete()
    Vote.objects.all().delete()
    inventory.undo(step, by=curator())
    batch = import_lines(project, [vote("s0", "w2", "AB"), vote("s0", "w3", "A")], what="votes")
    assert (batch.refused, batch.problems[0]["code"]) == (1, "unknown_label")


@pytest.mark.postgres
def test_storing_an_import_and_changing_labels_exclude_each_other(
    postgres: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = with_items()
    batch = batches.receive(
        content="votes",
        upload=jsonl_file([vote("s0", "w1", "A")]),
        filename="votes.jsonl",
        options={"labels": "add"},
        by=curator(),
        project=project,
    )
    ending, add_labels, boss = Event(), import_votes._Staging.add_labels, curator()

    def slowly(staging: Any) -> Any:
        ending.set()
        until(is_any_lock_awaited)
        return add_labels(staging)

    def act(at: int) -> str:
        if at == 0:
            return run_job("import", batch.pk).state
        assert ending.wait(120)
        return inventory.merge(project, ["A", "B"], target="AB", by=boss).target

    monkeypatch.setattr(import_votes._Staging, "add_labels", slowly)
    assert in_threads(2, act) == ["done", "AB"]
    assert project.items.get(external_id="s0").gold == {"spans": [], "relations": ["AB"]}


def test_a_stated_k_leaves_items_with_fewer_answers_open() -> None:
    project = with_items()
    import_lines(
        project, [vote("s0", "w1", "A"), vote("s1", "w1", "A"), vote("s1", "w2", "A")], what="votes", k=2
    )
    assert [item.state for item in project.items.live()[:2]] == ["open", "settled"]


@pytest.mark.parametrize(("options", "below"), [({}, 1), ({"k": 4}, 0)])
def test_items_that_an_import_settles_with_fewer_answers_are_counted(
    options: dict[str, int], below: int
) -> None:
    project = project_with_items(2, k=4)
    batch = import_lines(project, [vote("s0", "w1", "A")], what="votes", **options)
    assert batch.counts["items_below_k"] == below
    assert project.items.live().filter(state="settled").count() == below


def test_unknown_items_and_labels_are_rejected_by_line() -> None:
    project = with_items()
    batch = import_lines(
        project, [vote("s0", "w1", "A"), vote("nope", "w1", "A"), vote("s1", "w1", "a")], what="votes"
    )
    assert [(p["line"], p["code"]) for p in batch.problems] == [(2, "unknown_id"), (3, "unknown_label")]
    assert Vote.objects.count() == 1


def test_an_empty_ontology_gets_the_labels_of_imported_answers() -> None:
    project = with_items(labels=())
    import_lines(project, [vote("s0", "w1", "Y"), vote("s0", "w2", "Y"), vote("s1", "w1", "X")], what="votes")
    assert [label.name for label in project.labels.all()] == ["X", "Y"]
    assert project.items.first().gold["relations"] == ["Y"]


def test_repeated_answers_are_counted_and_different_ones_rejected() -> None:
    project = with_items()
    votes = [vote("s0", "w1", "A"), vote("s0", "w2", "B")]
    import_lines(project, votes, what="votes")
    again = import_lines(project, [*votes, vote("s0", "w3", "A")], what="votes")
    assert (again.counts["answers"], again.counts["repeated_answers"]) == (1, 2)
    changed = import_lines(project, [vote("s0", "w1", "C")], what="votes")
    assert (changed.state, changed.problems[0]["code"]) == ("refused", "duplicate_vote")
    assert Answer.objects.count() == 3


def test_the_answers_of_all_imports_to_an_item_have_a_bound_of_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_votes, "MOST_MARKS_OF_ITEM", 3)
    project = with_items()
    first = [vote("s0", "w1", "A"), vote("s0", "w2", "A"), vote("s1", "w1", "A")]
    import_lines(project, first, what="votes")
    fitting = [vote("s1", "w2", "A"), vote("s0", "w3", "A"), *first, vote("s0", "w4")]
    assert import_lines(project, fitting, what="votes").state == "done"
    batch = import_lines(project, [vote("s1", "w3", "A"), vote("s0", "w5", "A")], what="votes")
    assert [(p["line"], p["code"], p["found"]) for p in batch.problems] == [(2, "too_many_in_line", "4")]


def test_an_item_takes_no_more_answers_than_a_line_of_a_release(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each further answer to an item looks at all before it."""
    monkeypatch.setattr(import_votes, "MOST_ANSWERS_OF_ITEM", 3)
    project = with_items()
    assert import_lines(project, [vote("s0", "w1"), vote("s0", "w2")], what="votes").state == "done"
    batch = import_lines(project, [vote("s0", f"w{n}") for n in range(5)], what="votes")
    assert [(p["line"], p["code"], p["found"]) for p in batch.problems] == [
        (4, "too_many_in_line", "4"),
        (5, "too_many_in_line", "5"),
    ]


JUDGMENTS = [
    "unit\tworker\trelations",
    "s0\tw1\tA",
    "s0\tw2\t",
    "s1\tw1\tNONE",
    "s1\tw2\tA|B",
    "s1\tw3\tNONE|A",
]


@pytest.mark.parametrize(("empty", "k", "state"), [("no-vote", 1, "settled"), ("no-label", 2, "disputed")])
def test_an_empty_cell_is_no_answer_or_an_answer_without_a_label(empty: str, k: int, state: str) -> None:
    project = with_items()
    batch = import_lines(project, JUDGMENTS, what="votes", empty=empty)
    item = project.items.get(external_id="s0")
    assert (item.k, item.state) == (k, state)
    assert batch.counts["empty_cells_left_out"] == (empty == "no-vote")
    assert [p["code"] for p in batch.problems] == ["negative_with_label"]


def test_an_answer_without_a_label_does_not_count_as_na() -> None:
    project = with_items(policy="majority-na")
    cells = ["unit\tworker\trelations", "s0\tw1\tA", "s0\tw2\t", "s0\tw3\tNONE"]
    import_lines(project, cells, what="votes", empty="no-label")
    assert project.items.get(external_id="s0").state == "disputed"


def test_a_span_outside_its_text_is_rejected_and_the_others_settle_the_item() -> None:
    project = create_project("entities", labels=["person"])
    import_lines(project, [{"id": "s0", "tokens": ["Ada", "saw", "Turin"]}])
    spans = [[0, 1, "person"]]
    votes = [vote("s0", f"w{n}", spans=spans) for n in range(3)] + [
        vote("s0", "w9", spans=[[2, 4, "person"]])
    ]
    batch = import_lines(project, votes, what="votes")
    assert [(p["line"], p["code"]) for p in batch.problems] == [(4, "bad_span")]
    assert project.items.get().gold == {"spans": spans, "relations": []}


def test_imported_answers_count_together_with_answers_given_here() -> None:
    project = project_with_items(k=2)
    answer_item(project.items.get(external_id="s0"), annotators(project, 1)[0], "A")
    import_lines(project, [vote("s0", "w1", "A"), vote("s0", "w2", "B")], what="votes")
    item = project.items.get(external_id="s0")
    assert (item.k, item.state, item.gold["relations"]) == (3, "settled", ["A"])
    assert Annotator.objects.filter(project=project, user=None).count() == 2
    assert curator() not in [a.user for a in Annotator.objects.all()]


def test_answers_imported_for_a_settled_item_are_counted_as_surplus() -> None:
    project = project_with_items(k=2)
    answered_item(project, ["A"], ["A"])
    batch = import_lines(
        project, [vote("s0", "w1", "B"), vote("s0", "w2", "B"), vote("s1", "w1", "B")], what="votes"
    )
    item = project.items.get(external_id="s0")
    assert (item.k, item.state, item.gold["relations"]) == (None, "settled", ["A"])
    assert item.answers.active().count() == 4
    assert (batch.counts["answers"], batch.counts["surplus_answers"]) == (3, 2)
    assert project.items.get(external_id="s1").k == 1


ONE_EACH = [vote("s0", "w1", "B"), vote("s1", "w1", "B"), vote("s2", "w1", "B")]


def states_of(project: Project) -> list[tuple[Any, ...]]:
    return list(project.items.live().values_list("state", "k", "extra", "free", "gold", "votes_key"))


def settled_by_people(project: Project) -> None:
    answered_item(project, ["A"], ["A"])


def settled_by_a_call(project: Project) -> None:
    quality_settings.set_quality_options(project, by=curator(), calls_extra=True)
    item = answered_item(project, ["A"], ["B"])
    answer_item(item, annotators(project, 3)[2], "A")


def settled_by_an_import_with_a_stated_k(project: Project) -> None:
    import_lines(project, [vote("s0", f"v{n}", "A" if n == 1 else "B") for n in (1, 2, 3)], what="votes", k=1)


def decided_by_an_adjudicator(project: Project) -> None:
    item = answered_item(project, ["A"], ["B"])
    decision = {"payload": {"relations": ["C"]}, "votes_key": item.votes_key, "client_id": uuid4()}
    decisions.decide(item, by=curator(), **decision)


SETTLED_BEFORE = (
    settled_by_people,
    settled_by_a_call,
    settled_by_an_import_with_a_stated_k,
    decided_by_an_adjudicator,
)


@pytest.mark.parametrize("again", [{}, {"k": 1}, {"k": 3}])
@pytest.mark.parametrize("first", [{}, {"k": 1}])
@pytest.mark.parametrize("prepare", SETTLED_BEFORE)
def test_importing_the_same_answers_again_changes_no_item(
    prepare: Callable[[Project], None], first: dict[str, int], again: dict[str, int]
) -> None:
    project = project_with_items(3, k=2)
    answer_item(project.items.get(external_id="s1"), annotators(project, 1)[0], "A")
    prepare(project)
    settled = states_of(project)[0]
    import_lines(project, ONE_EACH, what="votes", **first)
    assert states_of(project)[0] == settled
    before = states_of(project)
    batch = import_lines(project, ONE_EACH, what="votes", **again)
    assert (batch.counts["answers"], batch.counts["items_below_k"]) == (0, 0)
    assert states_of(project) == before


@pytest.mark.parametrize("again", [{}, {"k": 3}])
def test_a_file_with_a_conflicting_line_changes_only_items_with_new_answers(again: dict[str, int]) -> None:
    project = project_with_items(3, k=2)
    settled_by_people(project)
    import_lines(project, ONE_EACH[:2], what="votes")
    before = states_of(project)
    batch = import_lines(project, [vote("s0", "w1", "C"), *ONE_EACH[1:]], what="votes", **again)
    assert [problem["code"] for problem in batch.problems] == ["duplicate_vote"]
    assert states_of(project)[:2] == before[:2]
    assert project.items.get(external_id="s2").k == again.get("k", 1)


@pytest.mark.parametrize("stays_excluded", [False, True])
def test_importing_answers_of_an_excluded_annotator_again_changes_nothing(stays_excluded: bool) -> None:
    project = project_with_items(3, k=3)
    answer_item(project.items.get(external_id="s1"), annotators(project, 1)[0], "A")
    votes = [*ONE_EACH, vote("s0", "w2", "A"), vote("s1", "w2", "A")]
    import_lines(project, votes, what="votes")
    once = states_of(project)
    exclusions.exclude_annotator(project.annotators.get(name="w1"), by=curator())
    if stays_excluded:
        before = states_of(project)
        import_lines(project, votes, what="votes")
        assert states_of(project) == before
    exclusions.include_annotator(project.annotators.get(name="w1"), by=curator())
    import_lines(project, votes, what="votes", k=1)
    assert states_of(project) == once


def test_importing_answers_again_after_a_step_was_undone_changes_nothing() -> None:
    project = project_with_items(3, k=2)
    settled_by_people(project)
    import_lines(project, ONE_EACH, what="votes")
    before = states_of(project)
    step = inventory.merge(project, ["A", "B"], target="AB", by=curator())
    import_lines(project, ONE_EACH, what="votes")
    inventory.undo(step, by=curator())
    import_lines(project, ONE_EACH, what="votes")
    assert states_of(project) == before


@pytest.mark.parametrize(("options", "k"), [({}, 2), ({"k": 1}, 1), ({"k": 3}, 3)])
def test_a_further_answer_counts_where_all_imported_ones_do(options: dict[str, int], k: int) -> None:
    project = with_items(1)
    import_lines(project, [vote("s0", "w1", "A")], what="votes")
    batch = import_lines(project, [vote("s0", "w2", "B")], what="votes", **options)
    item = project.items.get()
    assert (item.state, item.k) == ({1: "settled", 2: "disputed", 3: "open"}[k], k)
    assert batch.counts["surplus_answers"] == (k == 1)


@pytest.mark.parametrize("labels", [("A", "A"), ("A", "B")])
def test_a_stated_k_takes_no_answer_out_of_the_count(labels: Sequence[str]) -> None:
    project = project_with_items(1, k=2)
    item = answered_item(project, *[[label] for label in labels])
    before = states_of(project)
    import_lines(project, [vote("s0", "w1", "C")], what="votes", k=1)
    assert states_of(project) == before
    assert item.answers.count() == 3


def test_answers_given_while_a_file_is_read_settle_before_imported_ones(
    either_database: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    project = project_with_items(1, k=2)
    take = import_votes._Staging.take

    def and_then_people_answer(staging: Any, chunk: Any) -> None:
        take(staging, chunk)
        answered_item(project, ["A"], ["A"])

    monkeypatch.setattr(import_votes._Staging, "take", and_then_people_answer)
    batch = import_lines(project, [vote("s0", "w1", "B"), vote("s0", "w2", "B")], what="votes")
    item = project.items.get()
    assert (item.state, item.k, item.gold["relations"]) == ("settled", None, ["A"])
    assert batch.counts["surplus_answers"] == 2
    monkeypatch.undo()
    before = states_of(project)
    import_lines(project, [vote("s0", "w1", "B"), vote("s0", "w2", "B")], what="votes")
    assert states_of(project) == before


@pytest.mark.parametrize("options", [{}, {"k": 3}])
def test_k_and_who_is_asked_after_an_import_do_not_tell_whether_people_agreed(
    options: dict[str, int],
) -> None:
    project = project_with_items(2, k=2)
    people = annotators(project, 2)
    for item, labels in zip(project.items.order_by("rank"), ("AA", "AB"), strict=True):
        for person, label in zip(people, labels, strict=True):
            answer_item(item, person, label)
    items = project.items.order_by("rank")
    assert [item.state for item in items] == ["settled", "disputed"]
    import_lines(project, [vote(item.external_id, "w1", "A") for item in items], what="votes", **options)
    assert [(item.state, item.k) for item in items.all()] == [("settled", None), ("disputed", None)]
    exclusions.exclude_annotator(Annotator.objects.get(project=project, user=people[1]), by=curator())
    assert [item.free for item in items.all()] == [0, 0]
    projects.set_k(project, k=4, by=curator())
    assert [item.free for item in items.all()] == [2, 2]


def test_an_answer_imported_for_an_adjudicated_item_keeps_the_decision() -> None:
    project = project_with_items(k=2)
    item = answered_item(project, ["A"], ["B"])
    decision = {"payload": {"relations": ["C"]}, "votes_key": item.votes_key, "client_id": uuid4()}
    decisions.decide(item, by=curator(), **decision)
    import_lines(project, [vote("s0", "w1", "B")], what="votes")
    item.refresh_from_db()
    assert (item.state, item.gold["relations"]) == ("adjudicated", ["C"])


def reopen_it(project: Project) -> None:
    decisions.reopen(Adjudication.objects.get(item__project=project).item, by=curator())


def undo_all(project: Project) -> None:
    projects.set_k(project, k=project.k, reopens=True, by=curator())


@pytest.mark.parametrize(("undo", "at_once"), [(reopen_it, 1_000), (undo_all, 1_000), (undo_all, 0)])
def test_decisions_undone_before_a_further_file_leave_no_trace_in_k(
    undo: Callable[[Project], None], at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if their states are recomputed after the file is read, as in large projects."""
    project = with_items(2)
    first = [vote("s0", "w1", "A"), vote("s0", "w2", "B"), vote("s1", "w1", "A"), vote("s1", "w2", "A")]
    import_lines(project, first, what="votes")
    disputed = project.items.get(state="disputed")
    decision = {"payload": {"relations": ["C"]}, "votes_key": disputed.votes_key, "client_id": uuid4()}
    decisions.decide(disputed, by=curator(), **decision)
    monkeypatch.setattr(recomputation, "RECOMPUTE_AT_ONCE", at_once)
    undo(project)
    import_lines(project, [vote("s0", "w3", "A"), vote("s1", "w3", "B")], what="votes")
    recomputation.recompute(project)
    assert {(item.k, item.free) for item in project.items.all()} == {(3, 0)}


@pytest.mark.parametrize("lapses", [False, True])
def test_whether_a_decision_lapsed_with_its_label_makes_no_difference_to_a_further_file(lapses: bool) -> None:
    project = with_items(2)
    import_lines(project, [vote(item, who, who) for item in ("s0", "s1") for who in ("A", "B")], what="votes")
    for item, label in zip(project.items.order_by("rank"), ("A", "B"), strict=True):
        decision = {"payload": {"relations": [label]}, "votes_key": item.votes_key, "client_id": uuid4()}
        decisions.decide(item, by=curator(), **decision)
    if lapses:
        inventory.delete(project, ["B"], by=curator())
    import_lines(project, [vote(item, "w3", "A") for item in ("s0", "s1")], what="votes")
    assert {item.k for item in project.items.all()} == {2}


def test_a_rejected_file_stores_no_answers() -> None:
    project = with_items()
    batch = import_lines(project, [vote("s0", "w1", "A"), "{"], what="votes", on_error="refuse-file")
    assert batch.state == "refused"
    assert not Answer.objects.active().exists()
    assert Item.objects.get(external_id="s0").state == "open"


def test_answers_given_during_an_import_count_together_with_imported_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    project = project_with_items(1, k=4)
    here = annotators(project, 1)[0]
    take, item = import_votes._Staging.take, project.items.get()

    def and_then_somebody_answers(staging: Any, chunk: Any) -> None:
        take(staging, chunk)
        if item.answers.active().filter(annotator__user=here).first() is None:
            answer_item(item, here, "B")

    monkeypatch.setattr(import_votes, "CHUNK", 1)
    monkeypatch.setattr(import_votes._Staging, "take", and_then_somebody_answers)
    batch = import_lines(project, [vote("s0", "w1", "A"), vote("s0", "w2", "A")], what="votes")
    assert (batch.state, batch.reason) == ("done", "")
    assert sorted(item.answers.values_list("position", flat=True)) == [1, 2, 3]


def test_an_annotator_in_a_file_is_never_mapped_to_a_user() -> None:
    project = project_with_items(2, k=3)
    here = annotators(project, 1)[0]
    answer_item(project.items.get(external_id="s0"), here, "A")
    votes = [vote("s0", here.username, "A"), vote("s1", here.username, "B")]
    batch = import_lines(project, votes, what="votes")
    assert (batch.counts["repeated_answers"], batch.counts["answers"]) == (1, 1)
    brought_in = Answer.objects.get(item__external_id="s1").annotator
    assert (brought_in.name, brought_in.user) == (f"{here.username} (file)", None)


def test_of_sentences_that_a_namesake_answered_here_equal_and_different_answers_change_none() -> None:
    project = project_with_items(3)
    people = annotators(project, 2)
    for item in project.items.order_by("rank")[:2]:
        for person in people:
            answer_item(item, person, "A")
    before = states_of(project)
    votes = [vote(f"s{n}", people[0].username, label) for n, label in enumerate("ABA")]
    batch = import_lines(project, votes, what="votes")
    assert (batch.counts["answers"], batch.counts["repeated_answers"]) == (1, 1)
    assert [(row["code"], row["line"]) for row in batch.problems] == [("duplicate_vote", 2)]
    assert "change the name in the file" in batch.problems[0]["hint"]
    assert states_of(project)[:2] == before[:2]


def test_relations_between_spans_are_imported_without_the_negative_class() -> None:
    project = create_project("joint", labels=())
    inventory.add_labels(project, ["PER", "LOC"], by=curator(), part="entity")
    inventory.add_labels(project, ["in", "near"], by=curator(), part="relation")
    import_lines(project, [{"id": "s0", "text": "Ada saw Turin"}])
    spans = [[0, 3, "PER"], [8, 13, "LOC"]]
    links = [[0, "in", 1], [1, "none", 0]]
    lines = [vote("s0", who, spans=spans, relations=links) for who in ("x", "y")]
    batch = import_lines(project, lines, what="votes", negative=["none"])
    assert (batch.state, batch.problems) == ("done", [])
    item = project.items.get()
    assert (item.state, item.gold) == ("settled", {"spans": spans, "relations": [[0, "in", 1]]})


def test_the_queries_of_an_import_of_answers_do_not_grow_with_its_sentences() -> None:
    project, counts = with_items(40), []
    for first, n in ((0, 4), (4, 36)):
        votes = [vote(f"s{at}", "w1", "A") for at in range(first, first + n)]
        with CaptureQueriesContext(connection) as queries:
            import_lines(project, votes, what="votes", labels="add")
        counts.append(len(queries))
    assert abs(counts[1] - counts[0]) < 8
