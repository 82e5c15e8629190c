"""Progress page: days, people, pace, disputes and the other policy."""

from __future__ import annotations

import csv
import io
import re
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import uuid4
from xml.etree import ElementTree

import pytest
from django.db.models.functions import Now
from django.test import Client
from django.urls import reverse

from annotation import projects
from annotation.models import Annotator, Project, Vote
from annotation.models.project import RULE_TITLES
from annotation.pages import progress_view
from annotation.pages.daily_chart import calendar, days_svg, responsive_chart
from annotation.queue import leases, pauses, votes
from annotation.reports import project_stats, workload
from annotation.reports.progress import WorkDay
from annotation.reports.project_stats import LabelStats
from annotation.reports.workload import Workload
from tests.annotation.reports.test_project_stats import labelled
from tests.cast.basics import person
from tests.cast.projects import (
    annotators,
    answer_item,
    curator,
    import_lines,
    project_with_items,
    response_of,
    seen,
)
from tests.cast.replay import replayed

pytestmark = pytest.mark.django_db


def stats(project: Project) -> dict[str, Any]:
    """Return the figures at the top of the page by name."""
    return {stat.name: stat for stat in response_of(project, "progress").context["stats"]}


def numbers(text: str) -> list[str]:
    return re.findall(r"\d+(?:\.\d+)?", text)


@pytest.fixture
def few_answers_suffice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workload, "LEAST_FOR_PACE", 1)
    monkeypatch.setattr(project_stats, "LEAST_TIMED", 1)


def test_a_few_answers_tell_neither_a_pace_nor_a_share_of_rushed_ones() -> None:
    project = labelled()
    response = response_of(project, "progress")
    # sentences with an outcome, all, to decide, answers needed
    assert numbers(response.context["lead"]) == ["1", "3", "1", "2"]
    assert {stat.name: stat for stat in response.context["stats"]}["Rushed"].figure == "–"
    assert {row[1] for row in response.context["people"]} == {"–"}


@pytest.mark.usefixtures("few_answers_suffice")
def test_the_summary_counts_remaining_answers_and_estimates_days() -> None:
    project = labelled()
    Vote.objects.update(at=Now() - timedelta(days=2))
    # decided, all, to decide, answers needed, days left (at 5 in 2 days), days looked at
    assert numbers(response_of(project, "progress").context["lead"]) == ["1", "3", "1", "2", "1", "2"]


@pytest.mark.usefixtures("few_answers_suffice")
def test_a_day_that_has_not_ended_tells_no_pace() -> None:
    project = labelled()
    assert numbers(response_of(project, "progress").context["lead"]) == ["1", "3", "1", "2"]
    Vote.objects.filter(act="skip").update(at=Now() - timedelta(days=30))
    work = workload.workload(project, for_user=curator())
    assert (work.days, work.in_days, work.days_left) == (7, 0, None)


def test_without_answers_in_seven_days_there_is_no_estimate() -> None:
    project = labelled()
    Vote.objects.update(at=Now() - timedelta(days=8))
    assert numbers(response_of(project, "progress").context["lead"]) == ["1", "3", "1", "2", "7"]


def test_leased_items_still_need_answers() -> None:
    project = project_with_items(3, k=2)
    leases.lease_next(project, annotators(project, 2)[0])
    work = workload.workload(project, for_user=curator())
    assert (work.needed, work.days_left) == (6, None)
    active = workload.active_leases(project, for_user=curator())
    assert (active.items, active.people) == (1, 1)
    assert stats(project)["Reserved"].figure == "1"


def test_days_are_shown_as_a_chart_and_as_a_table() -> None:
    project = labelled()
    page = seen(project, "progress")
    assert 'role="img" aria-label="Answers by day"' in page
    assert numbers(response_of(project, "progress").context["finding"])[-2:] == ["5", "3"]
    assert "5 answers and 1 skip by 3 people" in page
    rows = list(csv.DictReader(io.StringIO(seen(project, "progress-days-csv"))))
    assert [(row["answers"], row["skips"], row["annotators"]) for row in rows] == [("5", "1", "3")]
    drawn = ElementTree.fromstring(seen(project, "progress-days-svg"))
    assert not [each for each in drawn.iter() if "class" in each.attrib]


def test_imported_answers_have_no_day_and_no_time() -> None:
    project = project_with_items(1, k=1)
    import_lines(project, [{"item": "s0", "annotator": "x", "labels": ["A"]}], what="votes")
    context = response_of(project, "progress").context
    assert (context["days"], context["rushed_note"]) == ([], "")
    browser = Client()
    browser.force_login(curator())
    assert browser.get(reverse("progress-days-svg", args=[project.slug])).status_code == 404


@pytest.mark.usefixtures("few_answers_suffice")
def test_the_limit_for_rushed_answers_is_shown_in_seconds() -> None:
    project = labelled()
    assert numbers(stats(project)["Rushed"].detail) == ["3.0"]
    assert "100.0 %" in [row[1] for row in response_of(project, "progress").context["people"]]


@pytest.mark.usefixtures("few_answers_suffice")
def test_reading_time_limits_rushed_answers_when_everybody_rushes() -> None:
    project = project_with_items(2, k=1)
    project.items.update(
        text="Ada was born in Turin. " + "x" * 157
    )  # 180 letters: three seconds at the least
    for item, ms in zip(project.items.all(), (800, 3_400), strict=True):
        votes.answer(
            item, annotators(project, 1)[0], client_id=uuid4(), payload={"relations": []}, milliseconds=ms
        )
    times = project_stats.answer_times(project, for_user=curator())
    assert (times.bound, times.rushed) == (project_stats.RushedBound(3.0, 180), 0.5)
    assert [row.rushed for row in project_stats.by_annotator(project, for_user=curator())] == [0.5]
    assert numbers(stats(project)["Rushed"].detail) == ["3.0", "180"]
    assert numbers(response_of(project, "progress").context["rushed_note"]) == ["10", "3.0", "180", "60"]


def test_annotators_are_in_the_table_and_in_the_download() -> None:
    project = labelled()
    rows = {row["name"]: row for row in csv.DictReader(io.StringIO(seen(project, "progress-people-csv")))}
    assert (rows["ann2"]["surplus"], rows["ann2"]["skips"], rows["ann0"]["counted"]) == ("1", "1", "2")


def test_viewers_see_numbers_instead_of_names_on_the_page() -> None:
    project = labelled()
    projects.set_member(project, user=person("vera"), role="viewer", by=curator())
    for name in ("progress", "progress-people-csv"):
        page = seen(project, name, user="vera")
        assert "ann1" not in page
        assert "Annotator 2" in page


def test_idle_annotators_are_named_with_their_last_activity() -> None:
    project = labelled()
    Vote.objects.filter(annotator__name="ann1").update(at=datetime(2020, 5, 4, 10, tzinfo=UTC))
    projects.set_member(project, user=person("newcomer"), role="annotator", by=curator())
    idle = response_of(project, "progress").context["idle"]
    assert idle.index("newcomer") < idle.index("ann1") < idle.index("4 May 2020, 10:00")


def test_paused_former_and_finished_annotators_are_not_idle() -> None:
    project = labelled()
    Vote.objects.update(at=datetime(2020, 5, 4, 10, tzinfo=UTC))
    pauses.pause(Annotator.objects.get(project=project, name="ann0"), by=curator())
    projects.remove_member(project, user=person("ann1"), by=curator())
    assert [row.name for row in workload.idle_annotators(project, for_user=curator())] == ["ann2"]
    projects.close(project, by=curator())
    assert workload.idle_annotators(project, for_user=curator()) == []


def test_the_disputed_share_has_its_interval() -> None:
    low, high = LabelStats("A", 20, 5).interval or (0, 0)
    assert (low, high) == (pytest.approx(0.1119, abs=1e-4), pytest.approx(0.4687, abs=1e-4))
    assert LabelStats("A", 0, 0).interval is None
    assert LabelStats("A", 3, 0).interval == (pytest.approx(0.0), pytest.approx(0.5615, abs=1e-4))
    rows = list(csv.DictReader(io.StringIO(seen(labelled(), "progress-labels-csv"))))
    assert {row["relation"]: row["share"] for row in rows} == {"A": "0.5", "B": "0.5", "C": "1.0"}


def test_labels_are_sorted_by_disputes_or_frequency() -> None:
    labels = [
        LabelStats("rare", 12, 6),
        LabelStats("common", 50, 5),
        LabelStats("few", 2, 2),
        LabelStats("none", 0, 0),
    ]
    for by_frequency, names in ((False, ["rare", "common", "few"]), (True, ["common", "rare", "few"])):
        table = progress_view.disputed_labels(labels, {}, by_frequency=by_frequency)
        assert table is not None
        assert [row[0] for row in table.rows] == names


@replayed
def disagreeing() -> Project:
    """Two say N/A and one a relation: disputed by majority, N/A by the other rule."""
    project = project_with_items(2, k=3)
    for user, labels in zip(annotators(project, 3), ([], [], ["A"]), strict=True):
        answer_item(project.items.get(external_id="s0"), user, *labels)
    return project


def test_outcomes_under_the_other_policy_are_listed() -> None:
    project = disagreeing()
    context = response_of(project, "progress").context
    assert (context["other"], context["changes"]) == (RULE_TITLES["majority-na"], 1)
    context = response_of(project, "otherwise").context
    assert context["shown"].paginator.count == 1
    assert [row[1:] for row in context["rows"]] == [("disputed", "N/A")]


def test_comparing_policies_changes_nothing() -> None:
    project = disagreeing()
    before = list(project.items.values())
    seen(project, "otherwise")
    assert list(project.items.values()) == before


def test_an_empty_project_has_no_figures() -> None:
    from tests.cast.projects import create_project

    context = response_of(create_project(), "progress").context
    assert (numbers(context["lead"]), context["people"]) == ([], [])


def day(at: int, answers: int = 1) -> WorkDay:
    return WorkDay(date(2026, 3, 1) + timedelta(days=at), answers, 0, 1)


def test_the_chart_shows_days_without_answers_and_ninety_at_most() -> None:
    assert [one.answers for one in calendar([day(0), day(3)], until=date(2026, 3, 5))] == [1, 0, 0, 1, 0]
    assert len(calendar([day(0), day(200)], until=date(2026, 1, 1))) == 90
    long_ago = calendar([day(0), day(1)], until=date(2026, 12, 31))
    assert [one.day for one in long_ago] == [date(2026, 3, 1), date(2026, 3, 2)]


@pytest.mark.parametrize("most", [1, 7, 40, 1_000, 123_456])
def test_every_bar_is_within_the_chart(most: int) -> None:
    days = [day(at, most if at == 3 else 0) for at in range(90)]
    drawn = ElementTree.fromstring(str(days_svg(days)))
    bars = list(drawn.iter("rect"))
    assert bars
    for bar in bars:
        left, top = float(bar.get("x", 0)), float(bar.get("y", 0))
        assert 0 <= left <= left + float(bar.get("width", 0)) <= 1080
        assert 0 <= top <= top + float(bar.get("height", 0)) <= 220


@pytest.mark.parametrize("width", [1080, 290])
def test_a_single_day_is_drawn_at_the_end_of_a_week(width: int) -> None:
    drawn = ElementTree.fromstring(str(days_svg([day(6, 5)], width=width)))
    bars = list(drawn.iter("rect"))
    assert [float(bar.get("height", 0)) > 0 for bar in bars] == [False] * 6 + [True]
    assert float(bars[-1].get("x", 0)) > width * 0.8
    dates = [text.text for text in drawn.iter("text") if "Mar" in (text.text or "")]
    assert dates[0] == "1 Mar"


def test_the_chart_title_compares_weeks_once_there_are_two() -> None:
    finding = progress_view.days_finding([day(at, 2 if at < 7 else 3) for at in range(14)])
    assert numbers(finding) == ["21", "7", "50", "7"]
    assert numbers(progress_view.days_finding([day(0, 5)])) == ["1", "5", "1"]


def test_a_finished_project_has_no_estimate() -> None:
    counts = {"all": 1, "open": 0, "disputed": 0, "settled": 1}
    assert numbers(progress_view.lead(counts, Workload(0, 4, 0, 1, 7, 4))) == ["1", "1"]


def test_a_changed_answer_counts_once_per_annotator() -> None:
    project = project_with_items(1, k=1)
    (user,) = annotators(project, 1)
    cast = answer_item(project.items.get(), user, "A")
    votes.answer(
        project.items.get(), user, client_id=uuid4(), payload={"relations": ["B"]}, base=cast.vote.number
    )
    rows = list(csv.DictReader(io.StringIO(seen(project, "progress-people-csv"))))
    assert [row["answers"] for row in rows] == ["1"]


def test_a_phone_gets_a_chart_of_the_last_days() -> None:
    wide, narrow = ElementTree.fromstring(f"<both>{responsive_chart([day(at) for at in range(40)])}</both>")
    assert [svg.get("class") for svg in (wide, narrow)] == ["wide-only", "narrow-only"]
    assert [len(svg.findall("g")) for svg in (wide, narrow)] == [40, 14]
    assert max(float(bar.get("x", 0)) + float(bar.get("width", 0)) for bar in narrow.iter("rect")) <= 290
    assert responsive_chart([]) == ""
