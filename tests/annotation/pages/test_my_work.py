"""A person's own page: progress, pace and answers, and nothing of others."""

from __future__ import annotations

import re
from functools import partial
from uuid import uuid4

import pytest
from django.urls import reverse

from annotation import projects
from annotation.models import Annotator, Project
from annotation.queue import pauses, quality_settings, votes
from annotation.reports import progress as progress_reports
from tests.cast.basics import person, sentence
from tests.cast.projects import (
    annotators,
    create_project,
    curator,
    import_lines,
    project_with_items,
    response_of,
    seen,
)

pytestmark = pytest.mark.django_db


def answer(
    project: Project, who: str, item: str, *labels: str, ms: int = 4_000, base: int = 0, **more: str
) -> None:
    fields = {"payload": {"relations": list(labels)}, "milliseconds": ms, "base": base} | more
    votes.answer(project.items.get(external_id=item), person(who), client_id=uuid4(), **fields)


def worked_on() -> Project:
    project = project_with_items(4, k=3)
    annotators(project, 2)
    answer(project, "ann0", "s0", "A")
    answer(project, "ann0", "s1", "B", ms=8_000, comment="not sure of it")
    votes.skip(project.items.get(external_id="s2"), person("ann0"), client_id=uuid4(), reason="broken")
    answer(project, "ann1", "s0", "C", comment="a word of another")
    return project


mine = partial(response_of, name="mine", user="ann0")
text_of_mine = partial(seen, name="mine", user="ann0")


def test_the_page_of_own_work_shows_progress_and_pace() -> None:
    response = mine(worked_on())
    figures = [stat.figure for stat in response.context["stats"]]
    assert figures == ["2", "1", "1", "6.0 s"]
    assert re.findall(r"\d+", response.context["lead"]) == ["2", "1", "1"]


@pytest.mark.parametrize("kind", ["entities", "joint"])
def test_annotators_of_texts_get_from_their_page_to_the_form(kind: str) -> None:
    project = create_project(kind, labels=["A"])
    import_lines(project, [{"id": "d0", "text": "Ada saw"}])
    projects.open_for_work(project, by=curator())
    annotators(project, 1)
    assert f'href="{reverse("label", args=[project.slug])}"' in text_of_mine(project)


def test_todays_answers_are_counted_without_skips() -> None:
    project = worked_on()
    counts = progress_reports.progress_of(project, person("ann0"))
    assert (counts["answered"], counts["skipped"], counts["today"]) == (2, 1, 2)


def test_every_sentence_is_listed_once_with_the_last_answer() -> None:
    project = worked_on()
    answer(project, "ann0", "s0", base=1)
    page = text_of_mine(project)
    table = page.split('id="history"')[1]
    assert table.count('<th scope="row">') == 3
    assert table.index("N/A") < table.index("Skipped: The sentence is broken") < table.index("not sure of it")


def test_nothing_of_others_is_shown() -> None:
    page = text_of_mine(worked_on())
    for secret in ("ann1", "a word of another", ">C<", "disputed", "settled"):
        assert secret not in page


def test_a_hidden_check_looks_like_any_other_sentence() -> None:
    project = project_with_items(1, k=2)
    (user,) = annotators(project, 1)
    import_lines(project, [sentence("check")])
    item = project.items.get(external_id="check")
    quality_settings.make_gold_question(item, payload={"relations": ["A"]}, use="check", by=curator())
    answer(project, "ann0", "check", "B")
    page = text_of_mine(project)
    assert "check" in page.split('id="history"')[1]
    for hint in ("right", "wrong", "known", "gold"):
        assert hint not in page.split('id="history"')[1].split("</section>")[0]
    assert progress_reports.own_history(project, user).count() == 1


def test_a_paused_annotator_sees_the_reason_on_the_page() -> None:
    project = worked_on()
    pauses.pause(
        Annotator.objects.get(project=project, name="ann0"), by=curator(), reason="Read the guideline again."
    )
    page = text_of_mine(project).split('id="paused"')[1]
    assert "Read the guideline again." in page.split("</p>")[0]


def test_the_page_of_the_project_is_the_same_for_annotators() -> None:
    project = worked_on()
    assert 'id="history"' in text_of_mine(project, name="project")


def test_a_curator_who_labels_has_a_page_of_own_work() -> None:
    project = worked_on()
    assert [stat.figure for stat in mine(project, user="curator").context["stats"][:3]] == ["0", "0", "4"]


def test_ones_own_days_can_be_downloaded() -> None:
    assert text_of_mine(worked_on(), name="mine-csv").splitlines()[1].endswith(",2,1")
    assert text_of_mine(worked_on(), name="mine-svg").startswith("<svg xmlns")


def test_recent_and_earlier_answer_times_are_separate() -> None:
    project = project_with_items(progress_reports.RECENT_ANSWERS + 2, k=1)
    (user,) = annotators(project, 1)
    for at in range(progress_reports.RECENT_ANSWERS + 2):
        answer(project, "ann0", f"s{at}", "A", ms=9_000 if at < 2 else 3_000)
    assert progress_reports.own_times(project, user) == progress_reports.OwnAnswerTimes(
        recent=3.0, earlier=9.0
    )
    assert "9.0 s" in mine(project).context["stats"][3].detail


def test_a_long_history_is_paginated() -> None:
    project = project_with_items(30, k=1)
    annotators(project, 1)
    for at in range(30):
        answer(project, "ann0", f"s{at}", "A")
    pages = mine(project).context["pages"]
    assert (pages.number, pages.paginator.num_pages) == (1, 2)
    assert text_of_mine(project, page="2").split('id="history"')[1].count('<th scope="row">') == 5
