"""What settled items came to, and how many answers stand behind them, on both databases."""

from __future__ import annotations

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from annotation.freezing import builder
from annotation.models import Project
from annotation.pages.testset_composition import composition
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
    of = project_with_items(5, k=2)
    for user in annotators(of, 2):
        for at, labels in enumerate((["A"], ["A", "B"], [], [(user.username == "ann0" and "A") or "B"])):
            answer_item(of.items.get(external_id=f"s{at}"), user, *labels)
    return of


def test_settled_items_are_told_apart_by_their_labels(either_database: str) -> None:
    assert builder.settled_by_label_count(several()) == {"1 label": 1, "2 labels": 1, "N/A": 1}


@pytest.mark.django_db
def test_the_projects_page_says_what_settled_items_came_to() -> None:
    browser = Client()
    browser.force_login(curator())
    page = browser.get(reverse("project", args=[several().slug])).content.decode()
    assert "1 label: 1, 2 labels: 1, N/A: 1" in page
    assert "4 of 5 sentences have 2 answers" in page


def imported() -> Project:
    """Three answers on one item, five on another: the import says how many an item gets."""
    of = project_with_items(2)
    said = [{"item": "s0", "annotator": f"a{at}", "labels": ["A"]} for at in range(3)]
    import_lines(
        of,
        [*said, *({"item": "s1", "annotator": f"a{at}", "labels": ["A"]} for at in range(5))],
        what="votes",
    )
    return of


@pytest.mark.django_db
def test_where_an_import_brought_more_answers_the_page_says_how_many() -> None:
    of = imported()
    assert builder.answers_per_item(of) == (3, 5)
    browser = Client()
    browser.force_login(curator())
    page = browser.get(reverse("project", args=[of.slug])).content.decode()
    assert "2 of 2 sentences have their 3 to 5 answers" in page
    assert "more than half of its 3 to 5 answers" in page


@pytest.mark.django_db
def test_a_frozen_set_says_how_many_people_read_each_sentence() -> None:
    from annotation.freezing import builder

    made = builder.freeze(imported(), name="Trial", version="1.0", by=curator())
    run_job("freeze", made.pk)
    made.refresh_from_db()
    assert made.manifest["k_of_items"] == [3, 5]
    assert "each read by 3 to 5 people" in composition(made)["lead"]


@pytest.mark.django_db
def test_the_command_says_what_settled_items_came_to(capsys: pytest.CaptureFixture[str]) -> None:
    from evalsvc.core.accounts.models import User

    of = project_with_items(1, k=2)
    answered_item(of, ["A"], ["A"])
    User.objects.filter(pk=curator().pk).update(is_superuser=True)
    call_command("recompute", of.slug)
    told = capsys.readouterr().out
    assert "1  settled" in told
    assert "1  settled with 1 label" in told


@pytest.mark.django_db
def test_nobody_is_called_for_where_every_sentence_has_its_answers() -> None:
    browser = Client()
    browser.force_login(curator())
    asked = "can label.</b> No sentence would get enough"
    assert asked not in browser.get(reverse("project", args=[imported().slug])).content.decode()
    assert asked in browser.get(reverse("project", args=[project_with_items(1, k=3).slug])).content.decode()
