"""Calls after labels or the rule changed compare only answers first given under the present ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from itertools import product
from typing import Any
from uuid import uuid4

import pytest
from django.apps import apps

from annotation import projects
from annotation.consensus.rules import Rules
from annotation.models import Answer, Item, Project
from annotation.ontology import guideline_versions, inventory
from annotation.queue import leases, quality_settings, votes
from evalsvc.core.accounts.models import User
from tests.cast.projects import (
    annotators,
    answer_item,
    answered_item,
    create_project,
    curator,
    import_lines,
    project_with_items,
)

pytestmark = pytest.mark.django_db

TEXT = "Ada was seen in Turin, s{}."


def _payload(*spans: Any, relations: tuple[Any, ...] = ()) -> dict[str, Any]:
    return {"spans": [*spans], "relations": [*relations]}


# kind, labels by part, and an answer with a label; in answers of spans, another mark stays without it
FORMS: dict[str, tuple[str, Mapping[str, str], Callable[[str], dict[str, Any]]]] = {
    "relations": ("relations", {"relation": "ABC"}, lambda label: _payload(relations=(label,))),
    "entities": ("entities", {"entity": "ABCP"}, lambda label: _payload([0, 3, "P"], [16, 21, label])),
    "relations of spans": (
        "joint",
        {"entity": "P", "relation": "ABC"},
        lambda label: _payload([0, 3, "P"], [16, 21, "P"], relations=([0, label, 1],)),
    ),
    "spans with relations": (
        "joint",
        {"entity": "ABCP", "relation": "R"},
        lambda label: _payload([0, 3, "P"], [16, 21, label]),
    ),
}
CHANGES: dict[str, Callable[[Project], object]] = {
    "a deletion": lambda project: inventory.delete(project, ["B"], by=curator()),
    "a merge": lambda project: inventory.merge(project, ["B", "C"], target="C", by=curator()),
    "another rule": lambda project: projects.set_policy(project, policy="majority-na", by=curator()),
}


def _project(kind: str, labels: Mapping[str, str], n: int, **options: Any) -> Project:
    project = create_project(kind, labels=[], policy="majority", **options)
    for part, names in labels.items():
        inventory.add_labels(project, [*names], by=curator(), part=part)
    ends = {"h": {"name": "Ada", "pos": [0, 3]}, "t": {"name": "Turin", "pos": [16, 21]}}
    lines = [{"id": f"s{at}", "text": TEXT.format(at)} for at in range(n)]
    import_lines(project, [line | ends for line in lines] if kind == "relations" else lines)
    projects.open_for_work(project, by=curator())
    return quality_settings.set_quality_options(project, by=curator(), calls_extra=True)


def _vote(item: Item, user: User, payload: dict[str, Any]) -> None:
    votes.answer(item, user, client_id=uuid4(), payload=payload)


def _came(project: Project, user: User) -> list[str]:
    held = leases.lease_several(project, user, n=20)
    return [lease.item.external_id for lease in held]


def _extra(item: Item) -> int:
    item.refresh_from_db()
    return item.extra


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("change", CHANGES)
def test_after_a_change_no_call_shows_which_labels_others_had_given(change: str, form: str, k: int) -> None:
    """Two who compare notes learned from what came, or did not come, who had given a deleted label."""
    kind, labels, payload = FORMS[form]
    worlds = [*product(product("AB", repeat=k - 1), "AC")]
    project = _project(kind, labels, len(worlds), k=k)
    *others, bea, dan = annotators(project, k + 1)
    items = [*project.items.order_by("rank")]
    for item, (given, _) in zip(items, worlds, strict=True):
        for user, label in zip(others, given, strict=True):
            _vote(item, user, payload(label))
    CHANGES[change](project)
    for item, (_, own) in zip(items, worlds, strict=True):
        _vote(item, bea, payload(own))
    assert _came(project, dan) == []


@pytest.mark.parametrize("raises", [False, True])
@pytest.mark.parametrize("change", CHANGES)
def test_calls_switched_off_and_on_after_a_merge_show_no_labels_that_it_joined(
    change: str, raises: bool
) -> None:
    """What came no more were the disputes that the merge had settled."""
    project = _project("relations", {"relation": "ABC"}, 4, k=2)
    vic, wim, bea = annotators(project, 3)
    pairs = zip(project.items.order_by("rank"), ["BC", "AB", "AC"], strict=False)
    for item, labels in pairs:
        for user, label in zip((vic, wim), labels, strict=True):
            _vote(item, user, _payload(relations=(label,)))
    assert _came(project, bea) == ["s0", "s1", "s2", "s3"]
    CHANGES[change](project)
    quality_settings.set_quality_options(project, by=curator(), calls_extra=False)
    if raises:
        quality_settings.set_quality_options(project, by=curator(), most_extra=3)
    quality_settings.set_quality_options(project, by=curator(), calls_extra=True)
    for user, label in ((vic, "A"), (wim, "C")):
        _vote(project.items.get(external_id="s3"), user, _payload(relations=(label,)))
    called = project.items.filter(called__gt=0).values_list("external_id", flat=True)
    assert [*called] == ["s3"]


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("kind", ["entities", "joint"])
def test_once_spans_may_overlap_no_more_no_call_shows_which_spans_overlapped(kind: str, k: int) -> None:
    project = _project(kind, {"entity": "ABC"}, 2, k=k)
    projects.set_overlap(project, may_overlap=True, by=curator())
    *others, bea, dan = annotators(project, k + 1)
    for item, second in zip(project.items.order_by("rank"), ([0, 21, "B"], [16, 21, "B"]), strict=True):
        for user in others:
            _vote(item, user, _payload([0, 3, "A"], second))
    projects.set_overlap(project, may_overlap=False, by=curator())
    for item in project.items.order_by("rank"):
        _vote(item, bea, _payload([0, 3, "C"]))
    assert _came(project, dan) == []


@pytest.mark.parametrize("form", FORMS)
def test_answers_given_after_a_change_call_one_more(form: str) -> None:
    kind, labels, payload = FORMS[form]
    project = _project(kind, labels, 1)
    CHANGES["a deletion"](project)
    first, second, third = annotators(project, 3)
    _vote(project.items.get(), first, payload("A"))
    _vote(project.items.get(), second, payload("C"))
    assert _came(project, third) == ["s0"]


@pytest.mark.parametrize("label", ["A", "B"])
@pytest.mark.parametrize("puts_off", [False, True])
def test_an_answer_that_a_split_asks_again_calls_nobody_when_it_is_given_again(
    label: str, puts_off: bool
) -> None:
    """Else a call about it showed that it had the label that was split, as the others call nobody."""
    project = project_with_items(1, k=2)
    quality_settings.set_quality_options(project, by=curator(), calls_extra=True)
    item = answered_item(project, [label])
    vic, bea = annotators(project, 2)
    inventory.split(project, "B", targets=["B1", "B2"], by=curator())
    if label == "B":
        if puts_off:
            votes.skip(item, vic, client_id=uuid4(), reason="later", base=1)
        answer_item(item, vic, "B1", base=1 + puts_off)
    answer_item(item, bea, "C")
    assert _extra(item) == 0


@pytest.mark.parametrize("others", [["A", "A"], ["A", "B"]])
def test_answers_that_were_asked_again_call_nobody(others: list[str]) -> None:
    project = project_with_items(1, k=2)
    quality_settings.set_quality_options(project, by=curator(), calls_extra=True)
    item = answered_item(project, ["A"], ["A"])
    projects.set_guideline(project, guideline="Second", by=curator())
    guideline_versions.ask_again(project, 1, by=curator())
    for user, label in zip(annotators(project, 2), others, strict=True):
        answer_item(item, user, label, base=1)
    assert _extra(item) == 0


@pytest.mark.parametrize("label", ["A", "B"])
def test_a_deletion_that_is_undone_makes_no_former_answer_comparable(label: str) -> None:
    project = project_with_items(1, k=2)
    quality_settings.set_quality_options(project, by=curator(), calls_extra=True)
    item = answered_item(project, [label])
    inventory.undo(inventory.delete(project, ["B"], by=curator()), by=curator())
    answer_item(item, annotators(project, 2)[1], "C")
    assert _extra(item) == 0


def test_once_a_former_rule_is_back_answers_of_its_time_are_compared_again() -> None:
    project = project_with_items(2, k=2)
    quality_settings.set_quality_options(project, by=curator(), calls_extra=True)
    before, between = answered_item(project, ["A"]), project.items.get(external_id="s1")
    first, second = annotators(project, 2)
    projects.set_policy(project, policy="majority-na", by=curator())
    answer_item(between, first, "A")
    projects.set_policy(project, policy="majority", by=curator())
    for item in (before, between):
        answer_item(item, second, "B")
    assert (_extra(before), _extra(between)) == (1, 0)


@pytest.mark.parametrize("label", ["A", "B"])
def test_an_answer_that_was_withdrawn_and_given_again_calls_nobody(label: str) -> None:
    """Nobody knows any more under which labels it was first given."""
    project = project_with_items(1, k=2)
    quality_settings.set_quality_options(project, by=curator(), calls_extra=True)
    item = answered_item(project, [label])
    vic, bea = annotators(project, 2)
    votes.skip(item, vic, client_id=uuid4(), reason="broken", base=1)
    answer_item(item, vic, label, base=2)
    answer_item(item, bea, "B")
    assert _extra(item) == 0


def test_a_sentence_put_off_before_its_first_answer_calls_one_more() -> None:
    project = project_with_items(1, k=2)
    quality_settings.set_quality_options(project, by=curator(), calls_extra=True)
    item = answered_item(project, ["A"])
    bea = annotators(project, 2)[1]
    leases.lease_next(project, bea)
    votes.skip(item, bea, client_id=uuid4(), reason="later")
    answer_item(item, bea, "B", base=1)
    assert _extra(item) == 1


@pytest.mark.parametrize("label", ["A", "B"])
def test_a_first_answer_beside_an_imported_one_calls_nobody(label: str) -> None:
    """Under which labels a file's answers were given is unknown."""
    project = project_with_items(1, k=2)
    quality_settings.set_quality_options(project, by=curator(), calls_extra=True)
    vote = {"item": "s0", "annotator": "w1", "labels": [label]}
    import_lines(project, [vote], what="votes", k=2)
    item = project.items.get()
    answer_item(item, annotators(project, 1)[0], "A")
    assert (item.answers.count(), _extra(item)) == (2, 0)


@pytest.mark.django_db(transaction=True)
def test_answers_of_an_earlier_build_are_compared_if_nothing_changed_since(either_database: str) -> None:
    project = project_with_items(4)
    old, changed, renewed, new = project.items.order_by("rank")
    (user,) = annotators(project, 1)
    for item in (old, changed, renewed):
        answer_item(item, user, "A")
    answer_item(changed, user, "C", base=1)
    inventory.delete(project, ["B"], by=curator())
    votes.skip(renewed, user, client_id=uuid4(), reason="broken", base=1)
    answer_item(renewed, user, "C", base=2)
    answer_item(new, user, "A")
    answer_item(new, user, "C", base=1)
    untouched = project_with_items(1)
    answered_item(untouched, ["A"])
    stored = list(Answer.objects.order_by("pk").values_list("first_rules", flat=True))
    Answer.objects.update(first_rules="")
    import_module("annotation.migrations.0043_rules_of_first_answers").store(apps, None)
    key = Rules(Project.objects.get(pk=project.pk)).key
    kept = dict(Answer.objects.values_list("item", "first_rules"))
    assert kept.pop(untouched.items.get().pk) == Rules(Project.objects.get(pk=untouched.pk)).key == stored[-1]
    assert kept == {old.pk: "", changed.pk: "", renewed.pk: "", new.pk: key}
