"""Imported gold under new names of its labels, and sets combined into one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from annotation.releases.folder import release_manifest
from annotation.splits import mapping
from annotation.splits.mapping import MappingPlan
from annotation.testset import Origin, TestSet, read_rows
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import Conflict, DomainError, NotAllowed
from tests.cast.basics import person, run_job, sentence
from tests.cast.projects import import_lines
from tests.cast.service import ServiceCast

DIRECTED = [
    ["Cause(e1,e2)"],
    ["Cause(e2,e1)"],
    ["Part(e1,e2)"],
    ["Odd"],
    [],
    ["Cause(e1,e2)", "Cause(e2,e1)"],
]
NAMES = {"Cause(e1,e2)": "Cause", "Cause(e2,e1)": "Cause", "Odd": None}


@pytest.fixture
def by(db: None) -> User:
    return person("olga", may_organise=True)


def imported(by: User, lines: list[dict[str, Any]], name: str = "Whole", **options: Any) -> TestSet:
    batch = import_lines(None, lines, what="gold", by=by, **{"name": name, "version": "1"} | options)
    test_set = TestSet.objects.get(batch=batch)
    assert test_set.state == TestSet.State.FROZEN, test_set.reason
    run_job("describe", test_set.pk)
    return test_set


def relations(*labels: list[str], first: int = 0) -> list[dict[str, Any]]:
    return [{**sentence(f"s{first + at}"), "relations": names} for at, names in enumerate(labels)]


@pytest.fixture
def whole(by: User) -> TestSet:
    return imported(by, relations(*DIRECTED))


def made(plan: MappingPlan, by: User, **named: str) -> TestSet:
    test_set = mapping.make(plan, **{"name": "Undirected", "version": "1"} | named, by=by)
    run_job(mapping.KIND, test_set.pk)
    test_set.refresh_from_db()
    return test_set


def test_labels_with_one_new_name_become_one_and_deleted_ones_count_as_na(whole: TestSet, by: User) -> None:
    plan = MappingPlan.of(whole, names=NAMES, by=by)
    counts = mapping.preview(plan)
    assert (counts.items, counts.emptied) == (6, 1)
    assert counts.after == {"Cause": 3, "Part(e1,e2)": 1}
    undirected = made(plan, by)
    assert undirected.state == TestSet.State.FROZEN
    assert [row["relations"] for row in read_rows(undirected)] == [
        ["Cause"],
        ["Cause"],
        ["Part(e1,e2)"],
        [],
        [],
        ["Cause"],
    ]
    assert [label["name"] for label in undirected.labels] == ["Cause", "Part(e1,e2)"]
    assert undirected.manifest["mapped"] == {
        "of": [{"slug": whole.slug, "sha256": whole.sha256}],
        "names": NAMES,
    }
    assert undirected.manifest["counts"] == {"labels_emptied_by_deletion": 1}
    whole.verify()
    run_job("describe", undirected.pk)
    undirected.refresh_from_db()
    assert undirected.statistics["labels"] == {"Cause": 3, "Part(e1,e2)": 1}


def test_the_manifest_of_a_set_mapped_again_has_the_earlier_names_too(whole: TestSet, by: User) -> None:
    undirected = made(MappingPlan.of(whole, names=NAMES, by=by), by)
    again = made(MappingPlan.of(undirected, names={"Cause": "Effect"}, by=by), by, name="Again")
    combined = made(MappingPlan.of(again, others=[undirected], names={"Effect": "E"}, by=by), by, name="Both")
    first = {"set": undirected.slug, "of": [whole.slug], "names": NAMES}
    second = {"set": again.slug, "of": [undirected.slug], "names": {"Cause": "Effect"}}
    assert again.manifest["mapped"]["earlier"] == [first]
    assert combined.manifest["mapped"]["earlier"] == [first, second]
    assert release_manifest(combined)["mapped"] == {
        "of": [again.slug, undirected.slug], "names": {"Effect": "E"}, "earlier": [first, second],
    }  # fmt: skip


def test_names_may_be_exchanged(whole: TestSet, by: User) -> None:
    plan = MappingPlan.of(whole, names={"Cause(e1,e2)": "Odd", "Odd": "Cause(e1,e2)"}, by=by)
    rows = [row["relations"] for row in read_rows(made(plan, by))]
    assert rows[0] == ["Odd"]
    assert rows[3] == ["Cause(e1,e2)"]


def test_types_and_relations_of_joint_gold_are_mapped_apart(by: User) -> None:
    line = {
        "id": "d",
        "text": "Ann met Bo",
        "spans": [[0, 3, "PER"], [8, 10, "GPE"]],
        "relations": [[0, "met", 1]],
    }
    joint = imported(by, [line], kind="joint")
    with pytest.raises(DomainError, match="an entity type and a relation"):
        MappingPlan.of(joint, names={"GPE": "met"}, by=by)
    (row,) = read_rows(made(MappingPlan.of(joint, names={"GPE": None, "PER": "person"}, by=by), by))
    assert (row["spans"], row["relations"]) == ([[0, 3, "person"]], [])


def test_sets_are_combined_with_their_source_labels(whole: TestSet, by: User) -> None:
    more = imported(by, relations(["New"], [], first=6), "More")
    for each, labels in ((whole, DIRECTED), (more, [["New"], ["New"]])):
        first = 0 if each is whole else 6
        source = imported(by, relations(*labels, first=first), each.name, source_of=each.slug)
        assert source.origin == Origin.SOURCE
    both = made(MappingPlan.of(whole, others=[more], names={"New": "Odd"}, by=by), by, name="Both")
    assert (both.rows, [row["relations"] for row in read_rows(both)][-2:]) == (8, [["Odd"], []])
    twin = TestSet.objects.frozen().get(twin=both)
    assert [row["relations"] for row in read_rows(twin)][-2:] == [["Odd"], ["Odd"]]


def test_an_item_that_two_sets_have_is_one_line_with_the_relations_of_both(by: User) -> None:
    first, second = (
        imported(by, relations(["A"], ["B"], [])),
        imported(by, relations(["C"], ["B"]), name="More"),
    )
    plan = MappingPlan.of(first, others=[second], by=by)
    assert mapping.preview(plan).items == 3
    both = made(plan, by)
    assert [(row["id"], row["relations"]) for row in read_rows(both)] == [
        ("s0", ["A", "C"]), ("s1", ["B"]), ("s2", []),
    ]  # fmt: skip


def test_other_items_of_one_id_are_not_combined(whole: TestSet, by: User) -> None:
    more = imported(by, [relations(["New"], first=6)[0] | {"id": "s5"}], "More")
    plan = MappingPlan.of(whole, others=[more], by=by)
    with pytest.raises(Conflict, match="id s5"):
        mapping.preview(plan)
    with pytest.raises(Conflict, match="id s5"):
        mapping.make(plan, name="Both", version="1", by=by)


def test_an_invalid_mapping_says_what_is_wrong(whole: TestSet, by: User) -> None:
    with pytest.raises(DomainError, match="not a label") as unknown:
        MappingPlan.of(whole, names={"Cause(e1,e3)": "Cause"}, by=by)
    assert "Cause(e1,e2)" in unknown.value.hint
    with pytest.raises(DomainError, match="Nothing to do"):
        MappingPlan.of(whole, names={"Odd": "Odd"}, by=by)
    with pytest.raises(DomainError, match="Unknown preset"):
        MappingPlan.of(whole, preset="none", by=by)
    with pytest.raises(DomainError, match="201 characters"):
        MappingPlan.of(whole, names={"Odd": "x" * 201}, by=by)
    with pytest.raises(NotAllowed):
        MappingPlan.of(whole, names=NAMES, by=person("other", may_organise=True))
    cast = ServiceCast.create()
    with pytest.raises(Conflict, match="not imported gold"):
        MappingPlan.of(cast.test_set, names=NAMES, by=cast.test_set.by)


def test_a_preset_maps_the_names_that_there_are(by: User) -> None:
    raw = ["/location/us_state/capital", "/location/fr_region/capital", "/people/person/place_lived"]
    found = imported(by, relations(*[[name] for name in raw]))
    plan = MappingPlan.of(found, preset="nyt10", names={raw[2]: "lived in"}, by=by)
    target = "/location/region/capital"
    assert plan.names == {raw[0]: target, raw[1]: target, raw[2]: "lived in"}


def test_a_set_is_mapped_on_its_page(client: Client, whole: TestSet, by: User) -> None:
    client.force_login(by)
    url = reverse("test-set-mapping", args=[whole.slug])
    labels = [label["name"] for label in whole.labels]
    assert f'aria-label="New name of {labels[0]}"' in client.get(url).content.decode()
    new = {f"new_{labels.index(name)}": "Cause" for name in labels if name.startswith("Cause")}
    form = {"name": "Undirected", "version": "1", **new, f"delete_{labels.index('Odd')}": "on"}
    shown = client.post(url, form | {"action": "preview"}).content.decode()
    assert "6 lines; 1 line without a label by deletion" in shown
    assert not TestSet.objects.filter(name="Undirected").exists()
    assert "Nothing to do" in client.post(url, {"name": "Undirected", "version": "1"}).content.decode()
    assert client.post(url, form | {"action": "make"}).status_code == 302
    test_set = TestSet.objects.get(name="Undirected")
    assert client.get(reverse("test-set", args=[test_set.slug])).status_code == 200
    run_job(mapping.KIND, test_set.pk)
    assert (
        "3 labels renamed, merged or deleted"
        in client.get(reverse("test-set", args=[test_set.slug])).content.decode()
    )
    assert "already exists" in client.post(url, form | {"action": "make"}).content.decode()


def test_the_api_maps_a_set(client: Client, whole: TestSet, by: User) -> None:
    client.force_login(by)
    url, body = (
        f"/api/v1/test-sets/{whole.slug}/mapping",
        {"name": "Undirected", "version": "1", "names": NAMES},
    )
    shown = client.post(url, body | {"preview": True}, content_type="application/json")
    assert (shown.status_code, shown.json()["after"]) == (200, {"Cause": 3, "Part(e1,e2)": 1})
    stored = client.post(url, body, content_type="application/json")
    assert (stored.status_code, stored.json()["labels"]) == (202, ["Cause", "Part(e1,e2)"])
    run_job(mapping.KIND, TestSet.objects.get(slug=stored.json()["slug"]).pk)
    assert client.get(f"/api/v1/test-sets/{stored.json()['slug']}").json()["state"] == "frozen"


def test_the_command_maps_a_set(
    whole: TestSet, by: User, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "names.json").write_text(json.dumps(NAMES))
    words = ("--name", "Undirected", "--set-version", "1", "--by", by.username)
    call_command("map_labels", whole.slug, "--names", str(tmp_path / "names.json"), *words, "--preview")
    assert "Odd: 1 -> deleted" in capsys.readouterr().out
    call_command("map_labels", whole.slug, "--names", str(tmp_path / "names.json"), *words)
    assert "undirected-1: 6 lines" in capsys.readouterr().out
    (tmp_path / "names.json").write_text("[]")
    with pytest.raises(CommandError, match="not a JSON object of names"):
        call_command("map_labels", whole.slug, "--names", str(tmp_path / "names.json"), *words)
