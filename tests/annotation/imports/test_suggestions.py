"""Predictions as first answers: off until somebody says so, and recorded on every vote made under them."""

from __future__ import annotations

from typing import Any

import pytest
from django.db.models.signals import post_init
from django.test import Client

from annotation import projects
from annotation.models import Project, Suggestion, Vote
from annotation.ontology import inventory
from annotation.queue import lease_endings, leases, quality_settings, shown_predictions
from tests.cast.basics import sentence
from tests.cast.projects import (
    annotators,
    answer_item,
    create_project,
    curator,
    import_lines,
    project_with_items,
    seen,
)

pytestmark = pytest.mark.django_db


def predicted(*, on: bool, lines: list[dict] | None = None) -> Project:
    project = project_with_items(2, k=1)
    lines = lines or [{"id": "s0", "label": "B"}, {"id": "s1", "label": "NA"}]
    batch = import_lines(project, lines, what="suggestions")
    assert batch.state == "done", batch.problems
    quality_settings.set_quality_options(project, by=curator(), suggests=on)
    return project


def handed(project: Project, client: Client) -> dict:
    client.force_login(annotators(project, 1)[0])
    address = f"/api/v1/projects/{project.slug}/lease"
    return client.post(address, {"holding": []}, content_type="application/json").json()


def test_predictions_are_hidden_until_a_curator_shows_them(client: Client) -> None:
    assert handed(predicted(on=False), client)["suggestion"] is None


def test_a_vote_records_the_prediction_that_was_shown(client: Client) -> None:
    project = predicted(on=True)
    assert handed(project, client)["suggestion"] == {"spans": [], "relations": ["B"]}
    answer_item(project.items.get(external_id="s0"), annotators(project, 1)[0], "A")
    assert Vote.objects.get().shown == Suggestion.objects.get(item__external_id="s0").batch


def test_storing_predictions_makes_no_object_for_each_as_others_wait() -> None:
    made: list[Suggestion] = []

    def note(instance: Suggestion, **_: Any) -> None:
        made.append(instance)

    post_init.connect(note, sender=Suggestion)
    project = predicted(on=False)
    import_lines(project, [{"id": "s0", "label": "A"}], what="suggestions")
    post_init.disconnect(note, sender=Suggestion)
    assert made == []
    stored = Suggestion.objects.values_list("item__external_id", "payload__relations")
    assert sorted(stored) == [("s0", ["A"]), ("s1", [])]


@pytest.mark.parametrize(("target", "shown"), [("A", {"spans": [], "relations": ["A"]}), ("", None)])
def test_a_prediction_follows_a_merged_or_deleted_label(client: Client, target: str, shown: object) -> None:
    project = predicted(on=True)
    if target:
        inventory.merge(project, ["B", "A"], target=target, by=curator())
    else:
        inventory.delete(project, ["B"], by=curator())
    assert handed(project, client)["suggestion"] == shown


def test_a_vote_without_a_shown_prediction_records_none() -> None:
    project = predicted(on=False)
    lease = leases.lease_next(project, annotators(project, 1)[0])
    answer_item(lease.item, annotators(project, 1)[0], "A")
    assert Vote.objects.get().shown is None


def test_a_vote_after_its_lease_records_the_prediction_that_was_shown() -> None:
    project, user = predicted(on=True), annotators(project_with_items(1), 1)[0]
    annotators(project, 1)
    lease = leases.lease_next(project, user)
    lease_endings.return_lease(lease.pk, user)
    quality_settings.set_quality_options(project, by=curator(), suggests=False)
    answer_item(lease.item, user, "A")
    assert Vote.objects.get().shown_id == lease.shown_id


def test_scores_of_a_half_or_more_become_labels_and_a_later_file_replaces_them() -> None:
    project = predicted(on=True, lines=[{"id": "s0", "scores": {"A": 0.9, "B": 0.2, "C": 0.5}}])
    assert Suggestion.objects.get().payload["relations"] == ["A", "C"]
    import_lines(project, [{"id": "s0", "labels": ["B"]}], what="suggestions")
    assert Suggestion.objects.get().payload["relations"] == ["B"]


def test_a_hidden_check_has_a_prediction_like_any_other_item(client: Client) -> None:
    """Without one it would stand out among those that have one."""
    project = project_with_items(2, k=1)
    import_lines(project, [sentence("check", relations=["A"])], known="check")
    predictions = [{"id": "s0", "label": "B"}, {"id": "s1", "label": "B"}, {"id": "check", "label": "C"}]
    assert import_lines(project, predictions, what="suggestions").counts["suggestions"] == 3
    quality_settings.set_quality_options(project, by=curator(), suggests=True, check_every=1)
    client.force_login(annotators(project, 1)[0])
    address = f"/api/v1/projects/{project.slug}/reserve"
    leases = client.post(address, {"holding": [], "n": 3}, content_type="application/json").json()["leases"]
    shown = {lease["item"]["text"]: lease["suggestion"]["relations"] for lease in leases}
    assert shown[sentence("check")["text"]] == ["C"]
    assert len(shown) == 3


def test_no_prediction_is_shown_while_a_hidden_check_lacks_one(client: Client) -> None:
    project = project_with_items(2, k=1)
    import_lines(project, [sentence("check", relations=["A"])], known="check")
    predictions = [{"id": "s0", "label": "B"}, {"id": "s1", "label": "B"}]
    import_lines(project, predictions, what="suggestions")
    quality_settings.set_quality_options(project, by=curator(), suggests=True, check_every=1)
    client.force_login(annotators(project, 1)[0])
    address = f"/api/v1/projects/{project.slug}/reserve"
    held = client.post(address, {"holding": [], "n": 3}, content_type="application/json").json()["leases"]
    assert [lease["suggestion"] for lease in held] == [None] * 3
    assert "hidden: 1 hidden check has none" in " ".join(seen(project, "project-quality").split())
    import_lines(project, [{"id": "check", "label": "B"}], what="suggestions")
    assert "shown as initial answers" in seen(project, "project-quality")
    assert shown_predictions.checks_without_prediction(project) == 0


def test_no_prediction_is_shown_while_a_newer_file_left_a_hidden_check_out(client: Client) -> None:
    """Its prediction would stay as it was, whereas those of sentences are replaced."""
    project = project_with_items(2, k=1)
    import_lines(project, [sentence("check", relations=["A"])], known="check")
    predictions = [{"id": each, "label": "B"} for each in ("s0", "s1", "check")]
    import_lines(project, predictions, what="suggestions")
    quality_settings.set_quality_options(project, by=curator(), suggests=True, check_every=1)
    client.force_login(annotators(project, 1)[0])

    def shown() -> list[dict | None]:
        address = f"/api/v1/projects/{project.slug}/reserve"
        held = client.post(address, {"holding": [], "n": 3}, content_type="application/json").json()["leases"]
        return [lease["suggestion"] for lease in held]

    assert shown() == [{"spans": [], "relations": ["B"]}] * 3
    newer = import_lines(
        project, [{"id": "s0", "label": "C"}, {"id": "s1", "label": "B"}], what="suggestions"
    )
    assert newer.counts["replaced"] == 2
    assert shown() == [None] * 3
    assert "hidden: 1 hidden check has none" in " ".join(seen(project, "project-quality").split())
    import_lines(project, [{"id": "check", "label": "A"}], what="suggestions")
    assert shown() == [None] * 3  # also with the lease of s1, whose prediction stays
    assert shown_predictions.checks_without_prediction(project) == 0


def test_a_prediction_with_an_unknown_id_or_label_is_rejected() -> None:
    project = project_with_items(1)
    batch = import_lines(
        project, [{"id": "s0", "label": "Z"}, {"id": "zz", "label": "A"}], what="suggestions"
    )
    assert (batch.state, batch.refused) == ("refused", 2)


def test_a_prediction_with_spans_that_the_project_refuses_is_rejected_by_line() -> None:
    project = create_project(kind="joint", labels=["P"], k=1)
    inventory.add_labels(project, ["by"], by=curator(), part="relation")
    import_lines(project, [{"id": f"s{at}", "text": "Port of Varde"} for at in range(3)])
    nested = [[8, 13, "P"], [0, 13, "P"]]
    lines = [
        {"id": "s0", "spans": nested, "relations": [[0, "by", 1]]},
        {"id": "s1", "spans": [[8, 13, "P"], [0, 4, "P"]], "relations": [[0, "by", 1]]},
        {"id": "s2", "spans": [[0, 4, "P"]], "relations": [[0, "by", 0]] * 2},
    ]
    batch = import_lines(project, lines, what="suggestions")
    assert [(p["line"], p["code"], p["found"]) for p in batch.problems] == [
        (1, "overlapping_spans", "[0, 13) P and [8, 13) P")
    ]
    stored = Suggestion.objects.get(item__external_id="s1").payload
    assert stored == {"spans": [[0, 4, "P"], [8, 13, "P"]], "relations": [[1, "by", 0]]}
    projects.set_overlap(project, may_overlap=True, by=curator())
    assert import_lines(project, lines, what="suggestions").refused == 0


@pytest.mark.parametrize("spelled", ["NA", "N/A", "no_relation", "Other"])
def test_the_negative_class_is_recognised_by_usual_or_stated_names(spelled: str) -> None:
    project = project_with_items(3, k=1)
    lines = [{"id": "s0", "label": spelled}, {"id": "s1", "label": "B"}]
    options = {"negative": spelled} if spelled == "Other" else {}
    batch = import_lines(project, lines, what="suggestions", **options)
    assert (batch.state, batch.refused, batch.counts["suggestions"]) == ("done", 0, 2)
    assert batch.counts["lines"] == 2
    payloads = dict(Suggestion.objects.values_list("item__external_id", "payload"))
    assert payloads["s0"]["relations"] == []
