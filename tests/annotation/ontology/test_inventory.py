"""The inventory of labels, and steps that can be undone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from annotation.consensus import pending_recomputation, recomputation
from annotation.imports import batches, imported_labels
from annotation.models import Item, OntologyLabel, Project
from annotation.ontology import inventory
from annotation.ontology.presets import PRESETS
from annotation.queue import quality_settings
from evalsvc.core.errors.exceptions import Conflict, DomainError, NotAllowed
from tests.cast.basics import run_job, sentence
from tests.cast.projects import (
    annotators,
    answer_item,
    answered_item,
    create_project,
    curator,
    import_lines,
    jsonl_file,
    label_names,
    project_with_items,
)
from tests.errors import code

pytestmark = pytest.mark.django_db


def test_labels_get_keys_in_their_order() -> None:
    project = create_project(labels=[f"r{n}" for n in range(32)])
    keys = [choice.key for choice in inventory.inventory(project)]
    assert (keys[0], keys[9], keys[10], keys[29], keys[30]) == ("1", "0", "⇧1", "⌥0", "")


def test_keys_follow_the_groups_of_the_form() -> None:
    labels = [{"name": name, "group": group} for name, group in (("a", "x"), ("b", "y"), ("c", "x"))]
    choices = inventory.inventory(create_project(labels=labels))
    assert {choice.name: choice.key for choice in choices} == {"a": "1", "c": "2", "b": "3"}


def test_a_saved_order_sets_the_keys_and_outlasts_imports_and_an_undone_merge() -> None:
    project = create_project(labels=["a", "b", "c", "d"])
    step = inventory.merge(project, ["b", "c"], target="c", by=curator())
    rows = {choice.name: choice.row for choice in inventory.inventory(project)}
    ordered = inventory.set_order(project, [rows[x] for x in "dca"], part="relation", by=curator())
    assert [(choice.name, choice.key) for choice in ordered] == [("d", "1"), ("c", "2"), ("a", "3")]
    project.refresh_from_db()
    inventory.add_labels(project, ["new"], by=curator())
    assert label_names(project) == ["d", "c", "a", "new"]
    inventory.undo(step, by=curator())
    assert label_names(project) == ["d", "c", "b", "a", "new"]
    with pytest.raises(Conflict, match="while you ordered"):
        inventory.set_order(project, [rows["a"]], part="relation", by=curator())


def test_the_nyt10_preset_leaves_24_of_52_relations() -> None:
    project = create_project(labels=())
    choices = inventory.apply_preset(project, "nyt10", by=curator())
    assert len(choices) == 24
    assert project.labels.filter(derived=False).count() == 52
    mapping = inventory.mapping_of(project)
    merged = [r for r in PRESETS["nyt10"].raw_names if mapping.label(r) is not None]
    assert len(merged) == 15
    assert mapping.label("/location/us_state/capital") == "/location/region/capital"
    assert mapping.label("/sports/sports_team/location") == "/business/location"
    assert mapping.label("/people/family/members") is None


@pytest.mark.parametrize("key", sorted(PRESETS))
def test_a_preset_can_be_applied_and_names_each_label_once(key: str) -> None:
    preset = PRESETS[key]
    kind = "relations" if preset.part == "relation" else "entities"
    choices = inventory.apply_preset(create_project(kind=kind, labels=()), key, by=curator())
    assert sorted(choice.name for choice in choices) == sorted(label.name for label in preset.entries)
    assert len({choice.title for choice in choices}) == len(choices) or key == "tacred"
    assert all(choice.title and choice.definition for choice in choices)


@pytest.mark.parametrize(
    ("key", "labels"), [("tacred", 41), ("semeval2010", 18), ("semeval2010-undirected", 9), ("ontonotes", 18)]
)
def test_a_preset_has_every_label_of_its_data(key: str, labels: int) -> None:
    assert len(PRESETS[key].entries) == labels


def test_the_undirected_preset_merges_both_directions_of_every_relation() -> None:
    directed = {label.name for label in PRESETS["semeval2010"].entries}
    merges = PRESETS["semeval2010-undirected"].merges
    assert {name for sources, _ in merges for name in sources} == directed
    assert all({name.partition("(")[0] for name in sources} == {target} for sources, target in merges)


def test_every_relation_of_the_preset_has_distinct_texts() -> None:
    choices = inventory.apply_preset(create_project(labels=()), "nyt10", by=curator())
    assert all(
        c.title and c.phrase and c.group and c.definition and c.head_type and c.tail_type for c in choices
    )
    assert all(c.choose and c.avoid for c in choices)
    assert len({c.title for c in choices}) == len({c.phrase for c in choices}) == 24


def test_labels_of_one_last_part_get_titles_that_tell_them_apart() -> None:
    names = ["/location/country/capital", "/location/us_state/capital", "/location/location/contains"]
    project = create_project(labels=names)
    assert [choice.title for choice in inventory.inventory(project)] == [
        *("country capital", "us state capital", "contains")
    ]


def test_a_preset_adds_only_missing_labels() -> None:
    project = create_project(labels=["/location/location/contains", "/location/us_state/capital"])
    inventory.apply_preset(project, "nyt10", by=curator())
    inventory.apply_preset(project, "nyt10", by=curator())
    assert len(label_names(project)) == 24
    assert project.steps.count() == 3


def test_a_preset_of_entities_is_rejected_by_a_relation_project() -> None:
    with pytest.raises(DomainError, check=code("wrong_preset")):
        inventory.apply_preset(create_project(), "conll2003", by=curator())


@pytest.mark.parametrize(
    "step",
    [
        lambda project: inventory.merge(project, ["A", "B"], target="B", by=curator()),
        lambda project: inventory.delete(project, ["A"], by=curator()),
        lambda project: inventory.split(project, "A", targets=["A1", "A2"], by=curator()),
    ],
    ids=("merged", "deleted", "split"),
)
def test_a_label_that_a_step_took_away_is_not_added_without_a_word(step: Callable[[Project], Any]) -> None:
    project = create_project(labels=["A", "B"])
    step(project)
    with pytest.raises(Conflict, check=code("name_taken")):
        inventory.add_labels(project, ["C", "A"], by=curator())
    assert not project.labels.filter(name="C").exists()


def test_a_merge_settles_a_dispute_and_undoing_it_restores_the_dispute() -> None:
    project = project_with_items()
    item = answered_item(project, ["A"], ["B"])
    assert item.state == Item.State.DISPUTED
    step = inventory.merge(project, ["A", "B"], target="AB", by=curator())
    item.refresh_from_db()
    assert (item.state, item.gold["relations"]) == ("settled", ["AB"])
    assert sorted(label_names(project)) == ["AB", "C"]
    inventory.undo(step, by=curator())
    item.refresh_from_db()
    assert (item.state, label_names(project)) == ("disputed", ["A", "B", "C"])


def test_answers_emptied_by_a_deletion_become_na_and_are_counted() -> None:
    project = project_with_items()
    item = answered_item(project, ["A"], [])
    assert item.state == "disputed"
    inventory.delete(project, ["A"], by=curator())
    item.refresh_from_db()
    assert (item.state, item.gold["relations"], item.emptied) == ("settled", [], 1)
    assert (inventory.answers_emptied(project), inventory.source_labels_emptied(project)) == (1, 0)


def test_source_labels_emptied_by_a_deletion_are_counted() -> None:
    project = create_project()
    import_lines(project, [sentence("s0", relations=["A"]), sentence("s1", relations=["A", "B"])])
    inventory.delete(project, ["A"], by=curator())
    assert inventory.source_labels_emptied(project) == 1


def test_a_rename_keeps_label_texts_and_votes() -> None:
    project = project_with_items()
    OntologyLabel.objects.filter(project=project, name="A").update(phrase="was born in")
    item = answered_item(project, ["A"], ["A"])
    inventory.rename(project, "A", target="birthplace", by=curator())
    item.refresh_from_db()
    assert item.gold["relations"] == ["birthplace"]
    assert {c.name: c.phrase for c in inventory.inventory(project)}["birthplace"] == "was born in"


def test_a_step_whose_new_label_was_chosen_cannot_be_undone() -> None:
    project = project_with_items()
    step = inventory.merge(project, ["A", "B"], target="AB", by=curator())
    answer_item(project.items.first(), annotators(project, 1)[0], "AB")
    with pytest.raises(Conflict, check=code("target_in_use")):
        inventory.undo(step, by=curator())


@pytest.mark.parametrize("what", ["votes", "items"])
def test_a_label_stays_while_a_file_that_may_use_it_is_imported(what: str) -> None:
    project = project_with_items(1, k=1)
    step = inventory.merge(project, ["A", "B"], target="AB", by=curator())
    line = {"item": "s0", "annotator": "w1", "labels": ["AB"]} if what == "votes" else sentence(1)
    upload = jsonl_file([line])
    batch = batches.receive(content=what, upload=upload, filename="f.jsonl", by=curator(), project=project)
    with pytest.raises(Conflict, check=code("import_running")):
        inventory.undo(step, by=curator())
    with pytest.raises(Conflict, check=code("import_running")):
        imported_labels.remove_labels(project, ["C"], part="relation", by=curator())
    run_job("import", batch.pk)
    if what == "votes":
        with pytest.raises(Conflict, check=code("target_in_use")):
            inventory.undo(step, by=curator())
    else:
        inventory.undo(step, by=curator())


def test_a_step_whose_new_label_answers_a_gold_question_cannot_be_undone() -> None:
    project = project_with_items()
    step = inventory.merge(project, ["A", "B"], target="AB", by=curator())
    quality_settings.make_gold_question(
        project.items.first(), payload={"relations": ["AB"]}, use="check", by=curator()
    )
    with pytest.raises(Conflict, check=code("target_in_use")):
        inventory.undo(step, by=curator())


@pytest.mark.parametrize("name", ["Zürich–Ost", 'a "b" 100% \\ _'])
def test_a_step_whose_new_label_has_special_characters_is_protected_too(name: str) -> None:
    project = project_with_items()
    step = inventory.merge(project, ["A", "B"], target=name, by=curator())
    answer_item(project.items.first(), annotators(project, 1)[0], name, "C")
    with pytest.raises(Conflict, check=code("target_in_use")):
        inventory.undo(step, by=curator())


def test_a_step_is_undone_in_any_order_that_later_steps_allow() -> None:
    project = create_project()
    merged = inventory.merge(project, ["A", "B"], target="AB", by=curator())
    deleted = inventory.delete(project, ["C"], by=curator())
    renamed = inventory.rename(project, "AB", target="D", by=curator())
    with pytest.raises(Conflict, check=code("not_the_last_step")):
        inventory.undo(merged, by=curator())
    inventory.undo(deleted, by=curator())
    assert {choice.name for choice in inventory.inventory(project)} == {"C", "D"}
    inventory.undo(renamed, by=curator())
    inventory.undo(merged, by=curator())
    assert {choice.name for choice in inventory.inventory(project)} == {"A", "B", "C"}
    with pytest.raises(Conflict, check=code("already_undone")):
        inventory.undo(merged, by=curator())


def test_a_step_whose_old_name_a_later_one_took_is_undone_after_it() -> None:
    project = create_project()
    deleted = inventory.delete(project, ["C"], by=curator())
    first = inventory.rename(project, "A", target="A1", by=curator())
    back = inventory.rename(project, "A1", target="A", by=curator())
    with pytest.raises(Conflict, check=code("not_the_last_step")):
        inventory.undo(first, by=curator())
    inventory.undo(deleted, by=curator())
    inventory.undo(back, by=curator())
    assert {choice.name for choice in inventory.inventory(project)} == {"A1", "B", "C"}


@pytest.mark.parametrize(
    ("sources", "target"), [(["A"], "A"), (["A", "nope"], "X"), ([], "X"), (["A", "B"], "")]
)
def test_an_invalid_merge_is_rejected(sources: list[str], target: str) -> None:
    with pytest.raises(DomainError):
        inventory.merge(create_project(), sources, target=target, by=curator())


def test_the_former_name_of_a_label_cannot_be_reused() -> None:
    project = create_project()
    inventory.rename(project, "A", target="A1", by=curator())
    with pytest.raises(Conflict, check=code("name_taken")):
        inventory.rename(project, "B", target="A", by=curator())


def test_only_a_curator_changes_the_ontology() -> None:
    project = create_project()
    user = annotators(project, 1)[0]
    with pytest.raises(NotAllowed):
        inventory.add_labels(project, ["D"], by=user)


def test_a_large_project_is_recomputed_by_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recomputation, "RECOMPUTE_AT_ONCE", 1)
    project = project_with_items()
    inventory.delete(project, ["A"], by=curator())
    assert pending_recomputation.is_recomputing(project)
    assert run_job("recompute", project.pk).state == "done"
    assert not pending_recomputation.is_recomputing(project)
