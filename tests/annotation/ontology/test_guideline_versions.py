"""Versions of the guideline: answers know theirs, and those of an old one can be asked again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from annotation import projects
from annotation.freezing import builder
from annotation.models import Annotator, Item, OntologyStep, Project, Vote
from annotation.ontology import inventory
from annotation.ontology.guideline_versions import answers_by_version, ask_again, versions
from annotation.queue import leases, votes
from annotation.reports import vote_log
from annotation.testset import provenance_lines
from evalsvc.core.errors.exceptions import DomainError
from tests.cast.basics import person, run_job
from tests.cast.projects import (
    annotators,
    answer_item,
    answered_item,
    curator,
    project_with_items,
    response_of,
    seen,
)


@pytest.fixture
def project(db: None) -> Project:
    return project_with_items(2, k=2)


def write(project: Project, text: str) -> None:
    projects.set_guideline(project, guideline=text, by=curator())


def numbers(project: Project) -> list[tuple[int, str, int]]:
    project.refresh_from_db()
    counts = answers_by_version(project)
    return [
        (each.number, each.text, each.answers) for each in versions(project, answers=counts, by=curator())
    ]


def read(item: Item) -> tuple[str, int]:
    item.refresh_from_db()
    return item.state, item.free


def test_each_text_is_a_version_once_the_project_was_opened(db: None) -> None:
    project = project_with_items(2, k=2, opened=False)
    assert numbers(project) == [(1, "", 0)]
    write(project, "First draft")
    write(project, "First")
    assert numbers(project) == [(1, "First", 0)]
    projects.open_for_work(project, by=curator())
    item = answered_item(project, ["A"], ["A"])
    write(project, "Second")
    write(project, "Second")
    assert numbers(project) == [(2, "Second", 0), (1, "First", 2)]
    answer_item(project.items.get(external_id="s1"), person("ann0"), "B")
    assert numbers(project) == [(2, "Second", 1), (1, "First", 2)]
    assert item.answers.values_list("guideline", flat=True)[0] == 1


def test_an_answer_has_the_text_that_its_page_showed_if_nobody_had_answered_under_it(
    project: Project,
) -> None:
    write(project, "As shown")
    project.refresh_from_db()
    shown, item = project.guideline_version, project.items.get(external_id="s0")
    write(project, "Corrected at once")
    answer_item(item, annotators(project, 1)[0], "A", guideline=shown)
    assert [row[1] for row in numbers(project) if row[2]] == ["As shown"]
    ask_again(project, shown, by=curator())
    assert item.answers.get().again


def test_an_answer_has_the_version_that_its_page_showed(project: Project) -> None:
    item = answered_item(project, ["A"])
    write(project, "Second")
    person_, other = person("ann1"), project.items.get(external_id="s1")
    projects.set_member(project, user=person_, role="annotator", by=curator())
    answer_item(item, person_, "A", guideline=1)
    answer_item(other, person_, "A", guideline=99)  # no such version yet: the current one
    assert list(Vote.objects.order_by("pk").values_list("guideline", flat=True)) == [1, 1, 2]
    acts = list(vote_log.rows(project, by=curator()))
    assert [act["guideline"] for act in acts] == [1, 1, 2]


def test_answers_under_an_old_guideline_are_asked_again_and_can_count_again(project: Project) -> None:
    item = answered_item(project, ["A"], ["A"])
    write(project, "Second")
    ask_again(project, 1, by=curator())
    assert read(item) == ("open", 2)
    user = Annotator.objects.get(project=project, answers__item=item, answers__position=1).user
    assert user is not None
    (first,) = leases.lease_several(project, user, n=2)  # what is new comes first
    (lease,) = leases.lease_several(project, user, n=2, current_leases=[first.pk])
    assert (first.item.external_id, lease.item) == ("s1", item)
    sent = {"client_id": uuid4(), "base": lease.base, "require_lease": True}
    votes.answer(item.key, user, payload={"relations": ["B"]}, **sent)
    assert read(item) == ("open", 1)
    ask_again(project, 1, again=False, by=curator())
    assert read(item) == ("disputed", 0)


def test_only_answers_with_the_label_of_the_changed_section_are_asked_again(project: Project) -> None:
    with_a = answered_item(project, ["A"], ["A", "B"])
    without = answered_item(project, ["C"], ["C"], item="s1")
    write(project, "Second")
    ask_again(project, 1, labels=["A"], by=curator())
    assert (read(with_a), read(without)) == (("open", 2), ("settled", 0))


Step = Callable[[Project], OntologyStep]
STEPS: dict[str, Step] = {
    "merge into it": lambda project: inventory.merge(project, ["A", "C"], target="A", by=curator()),
    "merge": lambda project: inventory.merge(project, ["A", "C"], target="C", by=curator()),
    "rename": lambda project: inventory.rename(project, "A", target="Z", by=curator()),
    "delete": lambda project: inventory.delete(project, ["A"], by=curator()),
}


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_what_is_asked_again_by_a_label_stays_the_same_through_later_steps(
    project: Project, step: Step
) -> None:
    with_a = answered_item(project, ["A"], ["A", "B"])
    without = answered_item(project, ["C"], ["C"], item="s1")
    write(project, "Second")
    ask_again(project, 1, labels=["A"], by=curator())
    made = step(project)
    assert (read(with_a), read(without)) == (("open", 2), ("settled", 0))
    inventory.undo(made, by=curator())
    assert (read(with_a), read(without)) == (("open", 2), ("settled", 0))
    ask_again(project, 1, again=False, by=curator())
    assert read(with_a) == ("settled", 0)


def test_answers_with_labels_that_were_merged_before_are_asked_again_by_the_new_name(
    project: Project,
) -> None:
    item = answered_item(project, ["A"], ["A"])
    other = answered_item(project, ["C"], ["C"], item="s1")
    inventory.merge(project, ["A", "B"], target="AB", by=curator())
    write(project, "Second")
    ask_again(project, 1, labels=["AB"], by=curator())
    assert (read(item), read(other)) == (("open", 2), ("settled", 0))
    shown = versions(project, answers=None, by=curator())[-1]
    assert shown.labels == ["AB"]
    inventory.rename(project, "AB", target="Z", by=curator())
    assert versions(project, answers=None, by=curator())[-1].labels == ["Z"]


@pytest.mark.parametrize("orders", [(["A"], ["C"]), (["C"], []), ([], ["C"])])
def test_a_further_order_takes_no_earlier_one_back(
    project: Project, orders: tuple[list[str], list[str]]
) -> None:
    items = [answered_item(project, ["A"], ["A"]), answered_item(project, ["C"], ["C"], item="s1")]
    write(project, "Second")
    for labels in orders:
        ask_again(project, 1, labels=labels, by=curator())
    assert [read(item) for item in items] == [("open", 2), ("open", 2)]
    ask_again(project, 1, again=False, by=curator())
    assert [read(item) for item in items] == [("settled", 0), ("settled", 0)]


@pytest.mark.parametrize(("number", "labels"), [(1, []), (7, []), (1, ["nobody"])])
def test_only_earlier_versions_and_current_labels_are_asked_again(
    project: Project, number: int, labels: list[str]
) -> None:
    if labels:
        answered_item(project, ["A"])
        write(project, "Second")
    with pytest.raises(DomainError):
        ask_again(project, number, labels=labels, by=curator())


def test_a_release_states_the_version_of_its_guideline_and_of_every_answer(project: Project) -> None:
    answered_item(project, ["A"], ["A"])
    write(project, "Second")
    test_set = builder.freeze(project, name="One", version="1.0", leave_out=True, by=curator())
    run_job("freeze", test_set.pk)
    test_set.refresh_from_db()
    assert test_set.manifest["guideline_version"] == 2
    assert {row["guideline"] for row in json.loads(next(provenance_lines(test_set)))["answers"]} == {1}


def test_page_api_and_command_show_versions_and_ask_again(
    project: Project, client: Client, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    item = answered_item(project, ["A"], ["A"])
    client.force_login(curator())
    page, api = (
        reverse("project-guideline", args=[project.slug]),
        f"/api/v1/projects/{project.slug}/guidelines",
    )
    assert client.post(api, {"text": "Second"}, content_type="application/json").json()[0]["number"] == 2
    values = {"action": "again", "version": "1", "again": "yes"}
    assert "Reopens 1" in client.post(page, values | {"do": "show"}).content.decode()
    assert read(item) == ("settled", 0)
    assert client.post(page, values).status_code == 302
    assert read(item) == ("open", 2)
    assert response_of(project, "project-guideline").context["versions"][1][0].asked_again_at
    asked = client.post(f"{api}/1/again", {"again": False}, content_type="application/json").json()
    assert [row["asked_again_at"] for row in asked] == [None, None]
    effect = {"change": "ask_again", "guideline": 1, "labels": ["A"], "again": True}
    url = f"/api/v1/projects/{project.slug}/effects"
    assert client.post(url, effect, content_type="application/json").json()["reopened"] == 1
    words = ("guideline", project.slug, "--by", curator().username)
    call_command(*words, "--ask-again", "1", "--preview")
    assert "Reopens 1" in capsys.readouterr().out
    file = tmp_path / "guideline.md"
    file.write_text("Second, in other words")
    call_command(*words, "--text", str(file))
    call_command(*words, "--ask-again", "1", "--label", "A")
    assert "version 1: 2 answers asked again" in capsys.readouterr().out
    assert read(item) == ("open", 2)
    log = seen(project, "project-log-csv")
    assert log.splitlines()[0] == "at,by,action,about,before,after"
    assert "answers asked again,guideline version 1,,A" in log
    assert versions(project, answers={}, by=curator())[0].text == "Second, in other words"


def test_two_texts_are_compared_and_an_earlier_one_is_restored_as_a_new_version(
    project: Project, client: Client
) -> None:
    write(project, "# One\nFirst\nSame")
    item = answered_item(project, ["A"], ["A"])
    write(project, "# One\nSecond\nSame")
    client.force_login(curator())
    page = reverse("project-guideline", args=[project.slug])
    shown = client.get(page, {"version": 2})
    assert shown.context["differences"][1:] == [("", "# One"), ("−", "First"), ("+", "Second"), ("", "Same")]
    assert "Not saved yet" in shown.content.decode()
    assert client.get(page, {"version": 3, "with": 2}).context["differences"][2] == ("−", "Second")
    answer_item(project.items.get(external_id="s1"), person("ann0"), "B")
    client.post(page, shown.context["form"].initial | {"action": "keep"})
    assert [row[:2] for row in numbers(project)] == [
        (4, "# One\nFirst\nSame"), (3, "# One\nSecond\nSame"), (2, "# One\nFirst\nSame"), (1, ""),
    ]  # fmt: skip
    assert read(item) == ("settled", 0)
