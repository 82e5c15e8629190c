"""Settled items by number of labels, and answers per item, on both databases."""

from __future__ import annotations

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from annotation.freezing import builder
from annotation.models import Project
from annotation.releases.composition import Composition
from tests.cast.basics import run_job
from tests.cast.projects import (
    annotators,
    answer_item,
    answered_item,
    curator,
    import_lines,
    project_with_items,
)


def several() -> Project:
    """One settled with a label, one with two, one N/A, one disputed, one open."""
    project = project_with_items(5, k=2)
    for user in annotators(project, 2):
        for at, labels in enumerate((["A"], ["A", "B"], [], [(user.username == "ann0" and "A") or "B"])):
            answer_item(project.items.get(external_id=f"s{at}"), user, *labels)
    return project


def test_settled_items_are_counted_by_number_of_labels(either_database: str) -> None:
    assert builder.settled_by_label_count(several()) == {"1 label": 1, "2 labels": 1, "N/A": 1}


@pytest.mark.django_db
def test_the_project_page_counts_settled_items_by_labels() -> None:
    browser = Client()
    browser.force_login(curator())
    response = browser.get(reverse("project", args=[several().slug]))
    assert "1 label: 1, 2 labels: 1, N/A: 1" in response.content.decode()
    assert (response.context["ended"], response.context["counts"]["all"]) == (4, 5)
    assert (response.context["answers_each"], response.context["varying"]) == ("2", False)


def imported() -> Project:
    """Three imported answers on one item, five on another: each sets its own k."""
    project = project_with_items(2)
    answers = [{"item": "s0", "annotator": f"a{at}", "labels": ["A"]} for at in range(3)]
    import_lines(
        project,
        [*answers, *({"item": "s1", "annotator": f"a{at}", "labels": ["A"]} for at in range(5))],
        what="votes",
    )
    return project


@pytest.mark.django_db
def test_the_page_shows_the_range_of_imported_answers_per_item() -> None:
    project = imported()
    assert builder.answers_per_item(project) == (3, 5)
    browser = Client()
    browser.force_login(curator())
    response = browser.get(reverse("project", args=[project.slug]))
    assert response.context["varying"] is True
    assert "3 to 5 answers" in response.content.decode()


@pytest.mark.django_db
def test_a_frozen_set_shows_the_range_of_answers_per_sentence() -> None:
    made = builder.freeze(imported(), name="Trial", version="1.0", by=curator())
    run_job("freeze", made.pk)
    made.refresh_from_db()
    assert made.manifest["k_of_items"] == [3, 5]
    assert "3 to 5 people" in Composition(made).lead


@pytest.mark.django_db
def test_the_command_counts_settled_items_by_labels(capsys: pytest.CaptureFixture[str]) -> None:
    from evalsvc.core.accounts.models import User

    project = project_with_items(1, k=2)
    answered_item(project, ["A"], ["A"])
    User.objects.filter(pk=curator().pk).update(is_superuser=True)
    call_command("recompute", project.slug)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines if line.strip().endswith((" settled", "1 label"))] == ["1", "1"]


@pytest.mark.django_db
def test_missing_annotators_are_reported_only_while_answers_are_needed() -> None:
    browser = Client()
    browser.force_login(curator())
    missing = 'id="too-few"'
    assert missing not in browser.get(reverse("project", args=[imported().slug])).content.decode()
    assert missing in browser.get(reverse("project", args=[project_with_items(1, k=3).slug])).content.decode()
