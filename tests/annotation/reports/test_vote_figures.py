"""Stored figures of large projects, against computed ones."""

from __future__ import annotations

from typing import Any

import pytest

from annotation.models import Project, ProjectFigures
from annotation.reports import project_stats, vote_figures, workload
from evalsvc.core.jobs.models import Job
from tests.annotation.reports.test_project_stats import labelled
from tests.cast.basics import run_job
from tests.cast.projects import annotators, answer_item, curator, response_of, seen

pytestmark = pytest.mark.django_db


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setattr(vote_figures, "LARGE", 1)
    return labelled()


def queued() -> int:
    vote_figures._next_look = 0.0
    vote_figures.queue_outdated()
    return Job.objects.filter(kind=vote_figures.KIND, state="queued").count()


def statistics(project: Project) -> list[Any]:
    functions = (
        *(project_stats.by_day, project_stats.by_annotator, project_stats.answer_times),
        *(project_stats.by_label, project_stats.overview, workload.workload),
    )
    return [function(project, for_user=curator()) for function in functions]


def test_stored_figures_are_the_computed_ones(large: Project) -> None:
    computed = statistics(large)
    assert queued() == 1
    assert run_job(vote_figures.KIND, large.pk).state == "done"
    figures = vote_figures.figures_of(large)
    assert figures._known.keys() == vote_figures.COMPUTED.keys()
    assert figures.computed_at is None
    assert statistics(large) == computed


def test_figures_are_computed_again_once_newer_votes_have_come(large: Project) -> None:
    queued()
    run_job(vote_figures.KIND, large.pk)
    assert queued() == 0
    answer_item(large.items.get(external_id="s2"), annotators(large, 1)[0], "A")
    assert "newer votes are being counted" in seen(large, "progress")
    assert response_of(large, "progress").context["people"][0][0].answers == 2
    ProjectFigures.objects.update(seconds=0)
    assert queued() == 1
    run_job(vote_figures.KIND, large.pk)
    assert response_of(large, "progress").context["people"][0][0].answers == 3
    assert "newer votes" not in seen(large, "progress")


def test_figures_of_small_projects_are_not_stored() -> None:
    labelled()
    assert queued() == 0
