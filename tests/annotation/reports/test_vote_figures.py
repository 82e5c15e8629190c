"""Stored figures of large projects, against computed ones."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import Answer, Project, ProjectFigures
from annotation.reports import project_stats, vote_figures, workload
from evalsvc.core.jobs.models import Job
from tests.annotation.reports.test_project_stats import labelled
from tests.cast.basics import run_job
from tests.cast.periodic import look
from tests.cast.projects import annotators, answer_item, curator, response_of, seen

pytestmark = pytest.mark.django_db


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setattr(vote_figures, "LARGE", 1)
    return labelled()


def queued() -> int:
    look(vote_figures)
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


@pytest.fixture
def stored(large: Project) -> Project:
    queued()
    run_job(vote_figures.KIND, large.pk)
    ProjectFigures.objects.update(seconds=0)
    return large


def test_figures_of_the_last_week_are_computed_again_the_next_day(
    stored: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    tomorrow = timezone.now() + timedelta(days=1)
    monkeypatch.setattr(vote_figures.timezone, "now", lambda: tomorrow)
    assert vote_figures.figures_of(stored).computed_at is not None
    assert queued() == 1


def test_an_exclusion_in_place_of_another_outdates_the_figures(stored: Project) -> None:
    first, *others = Answer.objects.filter(annotator__project=stored).order_by("pk")
    other = next(each for each in others if each.annotator_id != first.annotator_id)
    Answer.objects.filter(pk=first.pk).update(set_aside=True)
    queued()
    run_job(vote_figures.KIND, stored.pk)
    assert vote_figures.figures_of(stored).computed_at is None
    Answer.objects.filter(pk=first.pk).update(set_aside=False)
    Answer.objects.filter(pk=other.pk).update(set_aside=True)
    assert vote_figures.figures_of(stored).computed_at is not None


def test_figures_of_a_project_that_is_no_longer_large_are_computed_when_shown(
    stored: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vote_figures, "LARGE", 10_000)
    answer_item(stored.items.get(external_id="s2"), annotators(stored, 1)[0], "A")
    assert queued() == 0
    fresh = vote_figures.VoteFigures(stored)
    assert vote_figures.figures_of(stored)["answers"] == fresh["answers"]


def test_a_large_project_without_stored_figures_waits_for_the_job(
    stored: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vote_figures, "INLINE", 1)
    ProjectFigures.objects.update(format=vote_figures.FORMAT - 1)
    browser = Client(raise_request_exception=False)
    browser.force_login(curator())
    waiting = browser.get(reverse("progress", args=[stored.slug]))
    assert (waiting.status_code, waiting["Retry-After"]) == (503, "30")
    assert "figures_computing" in waiting.content.decode()
    assert "answers are being counted" in seen(stored, "project")
    assert '<td class="fig">–</td>' in seen(stored, "ontology")
    assert '<td class="fig">being counted</td>' in seen(stored, "project-guideline")
    assert browser.get(reverse("api-guidelines", args=[stored.slug])).json()[0]["answers"] is None
    job = Job.objects.get(kind=vote_figures.KIND, state="queued")
    run_job(vote_figures.KIND, job.subject)
    assert "answers are being counted" not in seen(stored, "project")
    assert "being counted" not in seen(stored, "project-guideline")
    assert response_of(stored, "progress").context["computed_at"] is None


def test_failed_figures_are_tried_again_after_a_pause_that_doubles(large: Project) -> None:
    for minutes in (1, 2, 4):
        assert queued() == 1
        ended = timezone.now() - timedelta(minutes=minutes, seconds=-30)
        Job.objects.filter(state="queued").update(state="failed", ended_at=ended)
        assert queued() == 0
        newest = Job.objects.order_by("-pk")[:1].values("pk")
        Job.objects.filter(pk__in=newest).update(ended_at=ended - timedelta(minutes=1))


def test_a_page_without_figures_names_the_job_that_failed(
    stored: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vote_figures, "INLINE", 1)
    ProjectFigures.objects.update(format=vote_figures.FORMAT - 1)
    assert queued() == 1
    Job.objects.filter(state="queued").update(state="failed", ended_at=timezone.now())
    browser = Client(raise_request_exception=False)
    browser.force_login(curator())
    page = browser.get(reverse("progress", args=[stored.slug])).content.decode()
    failed = Job.objects.filter(kind=vote_figures.KIND, state="failed").latest("pk")
    assert f"Job {failed.pk} failed; it is tried again within the hour." in page
