"""Gold follows from votes, rule, ontology, decisions and exclusions, in whatever order they came."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any
from uuid import uuid4

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotation import projects
from annotation.adjudication import bulk_actions, bulk_decisions, decisions, dispute_list, second_readings
from annotation.consensus import applied_decisions, majority
from annotation.consensus.rules import label_names
from annotation.models import Adjudication, Answer, Item, Project
from annotation.ontology import guideline_versions, inventory, plans, versions
from annotation.queue import exclusions
from evalsvc.core.errors.exceptions import Conflict, DomainError
from evalsvc.core.formats.label_mapping import LabelMapping, Payload
from tests.cast.basics import person, sentence
from tests.cast.projects import answer_item, answered_item, create_project, curator, import_lines
from tests.cast.replay import replayed

ANSWERS: dict[str, tuple[list[str], ...]] = {
    "s0": (["A"], ["A"], ["B"]),
    "s1": (["A"], ["B"], []),
    "s2": (["C"], [], []),
}
POSITIONS = st.tuples(st.sampled_from(sorted(ANSWERS)), st.integers(0, 2))
EVENTS = st.one_of(
    st.tuples(st.just("exclude"), POSITIONS),
    st.tuples(st.just("include"), POSITIONS),
    st.tuples(st.just("policy"), st.sampled_from(["majority", "majority-na"])),
    st.tuples(st.just("k"), st.sampled_from([2, 3])),
    st.tuples(st.just("merge"), st.just(("A", "B"))),
    st.tuples(st.just("delete"), st.just(("C",))),
    st.tuples(st.just("split"), st.sampled_from(["A", "C"])),
    st.tuples(st.just("undo"), st.integers(0, 3)),
    st.tuples(st.just("ask again"), st.sampled_from([[], ["B"]])),
    st.tuples(st.just("count again"), st.none()),
    st.tuples(st.just("decide"), st.tuples(st.sampled_from(sorted(ANSWERS)), st.sampled_from(["A", "C"]))),
    st.tuples(st.just("exclude person"), st.integers(0, 2)),
    st.tuples(st.just("include person"), st.integers(0, 2)),
    st.tuples(st.just("exclude item"), st.sampled_from(sorted(ANSWERS))),
    st.tuples(st.just("plan"), st.sampled_from([("A", "B"), ("B", "C")])),
    st.tuples(st.just("undo plan"), st.integers(0, 2)),
    st.tuples(st.just("restore"), st.integers(1, 5)),
    st.tuples(st.just("reopen"), st.sampled_from(sorted(ANSWERS))),
    st.tuples(st.just("map"), st.sampled_from([("A", "B"), ("both", "C"), ("one", "A")])),  # a renaming
    st.tuples(st.just("answer again"), st.tuples(POSITIONS, st.sampled_from([[], ["A"], ["C"]]))),
    st.tuples(st.just("one more"), st.sampled_from(sorted(ANSWERS))),
    st.tuples(st.just("none more"), st.sampled_from(sorted(ANSWERS))),
    st.tuples(st.just("decide all"), st.sampled_from(bulk_decisions.ANSWERS)),
    st.tuples(st.just("undo all"), st.none()),
    st.tuples(st.just("act on all"), st.sampled_from(["exclude", "include", "reopen"])),
    st.tuples(st.just("read again"), st.sampled_from([[], ["A"], ["C"]])),
)


@replayed
def answered() -> Project:
    project = create_project(k=3)
    import_lines(project, [sentence(name) for name in ANSWERS])
    projects.open_for_work(project, by=curator())
    for name, answers in ANSWERS.items():
        answered_item(project, *answers, item=name)
    projects.set_guideline(project, guideline="In other words", by=curator())
    return project


def happen(project: Project, event: str, value: Any) -> None:
    """Let an event happen, if it can."""
    project.refresh_from_db()
    by = curator()
    if event in ("exclude", "include"):
        answer = project.items.get(external_id=value[0]).answers.order_by("position")[value[1]]
        exclusions.exclude_answer(answer, excluded=event == "exclude", by=by)
    elif event == "policy":
        projects.set_policy(project, policy=value, by=by)
    elif event == "k":
        projects.set_k(project, k=value, by=by)
    elif event in ("merge", "delete"):
        if {*value} <= {choice.name for choice in inventory.inventory(project, "relation")}:
            act = inventory.merge if event == "merge" else inventory.delete
            act(project, value, by=by, **({"target": "A"} if event == "merge" else {}))
    elif event == "split":
        if value in label_names(project):
            inventory.split(project, value, targets=[f"{value}1", f"{value}2"], by=by)
    elif event == "undo":
        if (steps := list(project.steps.filter(undone_at=None))) and value < len(steps):
            with suppress(Conflict):  # a later step needs it
                inventory.undo(steps[value], by=by)
    elif event in ("ask again", "count again"):
        if set(value or ()) <= label_names(project):
            again = event == "ask again"
            guideline_versions.ask_again(project, 1, labels=value or (), again=again, by=by)
    elif event == "decide":
        item, payload = project.items.get(external_id=value[0]), {"relations": [value[1]]}
        known = value[1] in label_names(project)
        if item.state == Item.State.DISPUTED and known:
            write = {"by": by, "client_id": uuid4(), "votes_key": item.votes_key}
            decisions.decide(item, payload=payload, **write)
    elif event in ("exclude person", "include person"):
        act = exclusions.exclude_annotator if event == "exclude person" else exclusions.include_annotator
        with suppress(Conflict):
            act(project.annotators.get(user=person(f"ann{value}")), by=by)
    elif event == "exclude item":
        with suppress(Conflict):  # it is excluded
            decisions.exclude_item(project.items.get(external_id=value), finding="broken", by=by)
    elif event in ("plan", "undo plan", "restore", "map"):
        change_labels(project, event, value)
    elif event in MORE:
        with suppress(Conflict, DomainError):  # it isn't possible now
            MORE[event](project, value)
    else:
        item = project.items.get(external_id=value)
        if item.state in Item.DECIDED:
            decisions.reopen(item, by=by)


def change_labels(project: Project, event: str, value: Any) -> None:
    """Make a plan of two steps, undo one, or restore an earlier version, if that is possible."""
    with suppress(Conflict, DomainError):
        if event == "plan":
            merge = {"operation": "merge", "sources": [*value], "target": "both"}
            steps = plans.planned([merge, {"operation": "rename", "sources": ["both"], "target": "one"}])
            plans.apply_plan(project, steps, by=curator())
        elif event == "undo plan":
            numbers = sorted({step.plan or step.number for step in project.steps.all()})
            plans.undo_plan(project, numbers[value % len(numbers)] if numbers else 0, by=curator())
        elif event == "map":
            inventory.rename(project, value[0], target=f"{value[1]} renamed", by=curator())
        else:
            versions.restore(project, value, by=curator())


def answer_again(project: Project, value: Any) -> None:
    (name, at), relations = value
    item = project.items.get(external_id=name)
    answer = item.answers.order_by("position")[at]
    answer_item(item, answer.annotator.user, *relations, base=answer.vote.number)


def decide_all(project: Project, answer: str) -> None:
    """Decide all disputes of the most frequent pattern."""
    pattern = next(iter(dispute_list.count_by_pattern(project)), "")
    of_pattern = (project, dispute_list.DisputeFilters(pattern=pattern), answer)
    key = bulk_decisions.preview(*of_pattern, by=curator()).key
    bulk_decisions.decide_all(*of_pattern, reason="all alike", key=key, client_id=uuid4(), by=curator())


def undo_all(project: Project, _: Any) -> None:
    last = Adjudication.objects.filter(item__project=project).exclude(bulk=None).order_by("-pk").first()
    bulk_decisions.undo(project, last.bulk if last and last.bulk else uuid4(), by=curator())


def act_on_all(project: Project, action: str) -> None:
    values = {"finding": "broken"} if action == "exclude" else {}
    keys = list(project.items.values_list("key", flat=True))
    bulk_actions.apply(project, keys, action, by=curator(), **values)


def read_again(project: Project, relations: list[str]) -> None:
    """A second reader decides otherwise: the gold stays."""
    reader = person("judy")
    projects.set_member(project, user=reader, role="adjudicator", by=curator())
    second_readings.ask(project, n=2, seed="x", by=curator())
    for reading in second_readings.waiting(project, reader):
        second_readings.read(reading.decision.item, payload={"relations": relations}, by=reader)


def of_item(act: Callable[..., object]) -> Callable[[Project, str], object]:
    return lambda project, name: act(project.items.get(external_id=name), by=curator())


MORE: dict[str, Callable[[Project, Any], object]] = {
    "answer again": answer_again,
    "one more": of_item(decisions.ask_one_more),
    "none more": of_item(decisions.cancel_one_more),
    "decide all": decide_all,
    "undo all": undo_all,
    "act on all": act_on_all,
    "read again": read_again,
}


def expected(item: Item, project: Project) -> tuple[str, Payload | None]:
    """State and gold from the rows alone, without any history."""
    mapping = LabelMapping.from_steps(project.steps.filter(undone_at=None))
    asked = project.guideline_versions.filter(asked_again_at__isnull=False).first()

    def counts(answer: Answer) -> bool:
        mapped = mapping.payload(answer.payload)
        labels = set(mapped.payload["relations"])
        again = asked is not None and (not asked.asked_labels or bool(labels & set(asked.asked_labels)))
        return not (answer.set_aside or mapped.unclear or again)

    k = project.k + item.asked
    raw = [a.payload for a in item.answers.order_by("position") if counts(a)][:k]
    mapped = [mapping.payload(payload).payload for payload in raw]
    verdict = majority.decide(mapped, kind="relations", policy=project.policy, k=k)
    key = applied_decisions.votes_digest(raw, mapped) if raw else ""
    names = {choice.name for choice in inventory.inventory(project, "relation")}
    for decision in item.adjudications.applicable():
        decided = mapping.payload(decision.payload)
        if decision.is_exclusion:
            return "unusable", None
        known = not decided.unclear and set(decided.payload["relations"]) <= names
        if decision.votes_key == key and known:
            return "adjudicated", decided.payload
    return verdict.state, verdict.gold


@pytest.mark.django_db
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(EVENTS, min_size=3, max_size=8))
def test_gold_follows_from_votes_rule_ontology_decisions_and_exclusions_alone(
    events: list[tuple[str, Any]],
) -> None:
    with transaction.atomic():
        project = answered()
        for event, value in events:
            happen(project, event, value)
        project.refresh_from_db()
        for item in project.items.all():
            assert (item.state, item.gold) == expected(item, project), (item, events)
        transaction.set_rollback(True)
