"""The effect of a change: counted before it is made, and nothing is kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from annotation import projects
from annotation.adjudication import decisions
from annotation.consensus import effects, recomputation
from annotation.consensus.effects import preview
from annotation.models import Item, OntologyStep, Oversight, Project
from annotation.ontology import inventory
from annotation.queue import exclusions
from annotation.reports.plan_effects import Snapshot
from evalsvc.core.activity.models import entries
from tests.cast.projects import answered_item, curator, project_with_items

pytestmark = pytest.mark.django_db
COUNTS = ("reopened", "ended", "changed", "decisions_lapsed", "decisions_restored", "decisions_dropped")


def two_items() -> Project:
    """A project with a decided dispute of A and B, and a settled item."""
    project = project_with_items(2, k=2)
    item = answered_item(project, ["A"], ["B"])
    values: dict[str, Any] = {"payload": {"relations": ["C"]}, "votes_key": item.votes_key}
    decisions.decide(item, by=curator(), client_id=uuid4(), **values)
    answered_item(project, ["A"], ["A"], item="s1")
    return project


def merge(project: Project) -> None:
    inventory.merge(project, ["A", "B"], target="AB", by=curator())


def exclude(project: Project) -> None:
    exclusions.exclude_annotator(project.annotators.get(name="ann0"), by=curator())


def raise_k(project: Project) -> None:
    projects.set_k(project, k=3, by=curator())


@pytest.mark.parametrize("change", [merge, exclude, raise_k])
def test_nothing_is_decided_while_others_have_to_wait(
    monkeypatch: pytest.MonkeyPatch, change: Callable[[Project], None]
) -> None:
    """On SQLite a transaction keeps all writers waiting."""
    project, outside, depths = two_items(), len(connection.savepoint_ids), list[int]()

    def decide(*values: Any) -> None:
        depths.append(len(connection.savepoint_ids) - outside)

    for module in (effects, recomputation):
        monkeypatch.setattr(module, "derive_state", decide)
    preview(project, change)
    assert depths == [0, 0]


@pytest.mark.parametrize(
    ("change", "short"),
    [(raise_k, 1), (merge, 0), (lambda project: projects.set_k(project, k=1, by=curator()), 0)],
)
def test_decisions_for_which_a_raised_k_asks_nobody_are_counted(
    change: Callable[[Project], None], short: int
) -> None:
    effect = preview(two_items(), change)
    assert effect.decided_short == short
    assert ("Ask about decided sentences, too" in str(effect)) == bool(short)


@pytest.mark.parametrize("at_once", [0, 1_000], ids=["by a job", "at once"])
@pytest.mark.parametrize(
    ("change", "counts"),
    [(merge, (0, 0, 2, 1, 0, 0)), (exclude, (2, 0, 0, 1, 0, 0)), (raise_k, (1, 0, 0, 0, 0, 0))],
)
def test_a_preview_counts_what_a_change_would_do_and_keeps_nothing(
    monkeypatch: pytest.MonkeyPatch, change: Callable[[Project], None], counts: tuple[int, ...], at_once: int
) -> None:
    monkeypatch.setattr(recomputation, "RECOMPUTE_AT_ONCE", at_once)
    project = two_items()
    before = list(project.items.order_by("pk").values()), entries(project).count()
    effect = preview(project, change)
    assert tuple(getattr(effect, name) for name in COUNTS) == counts
    assert (effect.items, effect.of) == (2, 2)
    assert (list(project.items.order_by("pk").values()), entries(project).count()) == before
    assert not OntologyStep.objects.exists()
    assert not Oversight.objects.exists()


def test_the_pages_and_the_api_show_an_effect_without_making_the_change(client: Client) -> None:
    project = two_items()
    client.force_login(curator())
    annotator = project.annotators.get(name="ann0")
    step = {"action": "step", "operation": "merge", "sources": ["A", "B"], "target": "AB", "do": "show"}
    pages = {
        reverse("ontology", args=[project.slug]): step,
        reverse("project", args=[project.slug]): {"k": 3, "policy": "majority", "do": "show"},
        reverse("annotator", args=[project.slug, annotator.pk]): {
            "action": "set-aside",
            "reason": "Hasty.",
            "do": "show",
        },
    }
    batch = project.batches.get()
    pages[reverse("import", args=[batch.pk])] = {"action": "show-merge", "name": "A", "like": "B"}
    shown = [client.post(address, pages[address], follow=True).content.decode() for address in pages]
    assert all("Reopens" in page and "Nothing has changed yet." in page for page in shown)
    assert '<details class="section" open>' in shown[1]  # the rule chosen, to be saved or changed
    assert 'value="Hasty."' in shown[2]
    address = reverse("api-project-effects", args=[project.slug])
    body = {"change": "exclude", "annotator": annotator.pk}
    effect = client.post(address, body, content_type="application/json").json()
    assert (effect["reopened"], effect["decisions_lapsed"]) == (2, 1)
    other = client.post(address, {"change": "k", "k": 3, "target": "A"}, content_type="application/json")
    assert [error["field"] for error in other.json()["errors"]] == ["target"]
    incomplete = client.post(address, {"change": "merge"}, content_type="application/json")
    assert incomplete.status_code == 400
    project.refresh_from_db()
    assert (project.k, project.steps.count(), Oversight.objects.count()) == (2, 0, 0)


def test_the_form_of_the_rule_reopens_decisions_with_or_without_another_k(client: Client) -> None:
    project = two_items()
    client.force_login(curator())
    address = reverse("project", args=[project.slug])
    values = {"k": 2, "policy": "majority", "reopens": "on"}
    shown = client.post(address, values | {"k": 3, "do": "show"}, follow=True).content.decode()
    assert "Reopens 2 and" in shown
    assert "choose “Ask about" not in shown
    client.post(address, values)
    assert sorted(project.items.values_list("state", flat=True)) == ["disputed", "settled"]


def test_a_preview_of_a_large_project_counts_a_sample_of_its_whole_order_decided_sentences_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(effects, "MAX_ITEMS", 4)
    project = project_with_items(8, k=2)
    for name in ("s6", "s7"):
        item = answered_item(project, ["A"], ["B"], item=name)
        values: dict[str, Any] = {"payload": {"relations": ["C"]}, "votes_key": item.votes_key}
        decisions.decide(item, by=curator(), client_id=uuid4(), **values)
    counted: list[list[str]] = []

    def look(state: Project, keys: Sequence[int]) -> Snapshot:
        counted.append([Item.objects.get(pk=pk).external_id for pk in keys])
        return Snapshot(state, set())

    effect = preview(project, lambda copy: None, look)
    assert counted[0] == ["s6", "s7", "s0", "s3"]
    assert "a sample of 4 of 8 sentences" in str(effect)
    monkeypatch.setattr(recomputation, "MOST_IN_REQUEST", 1)  # as with many spans
    assert "a sample of 1 of 8 sentences" in str(preview(project, lambda copy: None))
