"""The log of a project: each change with its person and the values before and after."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from annotation import projects
from annotation.adjudication import bulk_actions
from annotation.models import Project
from annotation.ontology import inventory
from annotation.queue import exclusions, quality_settings
from evalsvc.core.activity.models import entries
from tests.cast.basics import person
from tests.cast.projects import answered_item, create_project, curator, project_with_items, seen

pytestmark = pytest.mark.django_db


def changes(project: Project) -> list[tuple[object, ...]]:
    """The entries, oldest first, without those of the setting up."""
    fields = ("action", "about", "before", "after", "by__username")
    return list(entries(project).order_by("pk").values_list(*fields))


def test_changes_of_members_rules_state_and_guideline_are_logged() -> None:
    project = project_with_items(1, k=2)
    n = len(changes(project))
    projects.set_member(project, user=person("ann"), role="annotator", by=curator())
    projects.set_member(project, user=person("ann"), role="annotator", by=curator())
    projects.set_k(project, k=3, by=curator())
    projects.set_policy(project, policy="majority-na", by=curator())
    projects.set_guideline(project, guideline="Be brief.", by=curator())
    projects.close(project, by=curator())
    projects.remove_member(project, user=person("ann"), by=curator())
    quality_settings.set_quality_options(project, by=curator(), most_extra=1, calls_extra=False)
    assert changes(project)[n:] == [
        ("role", "ann", "", "annotator", "curator"),
        ("answers per sentence", "", 2, 3, "curator"),
        ("rule", "", "majority", "majority-na", "curator"),
        ("guideline", "", {"guideline": ""}, {"guideline": "Be brief."}, "curator"),
        ("state", "", "open", "closed", "curator"),
        ("member removed", "ann", "annotator", "", "curator"),
        (
            "quality settings",
            "",
            {"most_extra": 3, "calls_extra": False},
            {"most_extra": 1, "calls_extra": False},
            "curator",
        ),
    ]
    assert entries(project)[0].after_text == "most extra: 1; calls extra: no"


def test_ontology_steps_and_exclusions_are_logged() -> None:
    project = project_with_items(1, k=1)
    answered_item(project, ["A"])
    n = len(changes(project))
    inventory.undo(inventory.merge(project, ["A", "B"], target="AB", by=curator()), by=curator())
    exclusions.exclude_annotator(project.annotators.get(), by=curator(), reason="Hasty.")
    assert changes(project)[n:][:3] == [
        ("merge", "step 1", ["A", "B"], "AB", "curator"),
        ("merge undone", "step 1", "AB", ["A", "B"], "curator"),
        (
            "answers of a person",
            "ann0",
            {"answers": "counted"},
            {"answers": "excluded", "n": 1, "reason": "Hasty."},
            "curator",
        ),
    ]
    assert [row[0] for row in changes(project)[n:][3:]] == ["pause"]


def test_gold_questions_are_logged_once_each_or_once_for_a_selection() -> None:
    project = project_with_items(3, k=1)
    first, *others = project.items.order_by("rank")
    n = len(changes(project))
    answer = {"spans": [], "relations": ["A"]}
    quality_settings.make_gold_question(first, payload=answer, use="check", by=curator())
    first.refresh_from_db()
    quality_settings.make_ordinary_item(first, by=curator())
    keys = [item.key for item in others]
    bulk_actions.apply(project, keys, "gold", by=curator(), use="qualify", payload=answer)
    work, check = {"use": "work"}, {"use": "check", "answer": answer}
    assert changes(project)[n:] == [
        ("gold questions", "s0", work, check, "curator"),
        ("gold questions", "s0", check, work, "curator"),
        ("gold questions", "2 of 2 selected: qualify", {"open": 2}, ["s1", "s2"], "curator"),
    ]


def test_curators_read_the_log_on_a_page_and_by_the_api(client: Client) -> None:
    project, other = create_project(), create_project()
    projects.set_k(project, k=5, by=curator())
    projects.set_k(other, k=7, by=curator())
    assert "answers per sentence" in seen(project, "project-log")
    client.force_login(curator())
    newest = client.get(reverse("api-project-log", args=[project.slug])).json()["results"][0]
    logged = {name: newest[name] for name in ("action", "by", "before", "after")}
    assert logged == {"action": "answers per sentence", "by": "curator", "before": 2, "after": 5}
