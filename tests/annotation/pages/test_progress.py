"""The progress page says what the figures say: days, people, pace, disputes, the other rule."""

from __future__ import annotations

import csv
import io
import re
from datetime import UTC, date, datetime, timedelta
from html import unescape
from uuid import uuid4
from xml.etree import ElementTree

import pytest
from django.db.models.functions import Now
from django.test import Client
from django.urls import reverse

from annotation import projects
from annotation.models import Annotator, Project, Vote
from annotation.pages import progress_view
from annotation.pages.daily_chart import both, calendar, days_svg
from annotation.queue import assignment, gold_questions, votes
from annotation.reports import project_stats, workload
from annotation.reports.project_stats import Day, Label
from annotation.reports.workload import Outlook
from tests.annotation.reports.test_project_stats import labelled
from tests.cast.basics import person
from tests.cast.projects import annotators, answer_item, curator, import_lines, project_with_items

pytestmark = pytest.mark.django_db


def seen(of: Project, name: str = "progress", user: str = "curator", **query: str) -> str:
    browser = Client()
    browser.force_login(person(user))
    response = browser.get(reverse(name, args=[of.slug]), query)
    assert response.status_code == 200
    return unescape(response.content.decode())


def test_the_first_sentence_says_what_is_left_and_how_long_it_takes() -> None:
    of = labelled()
    page = seen(of)
    assert "1 of 3 sentences is decided and 1 waits for a decision. 2 answers are still wanted" in page
    assert "about 3 days more at the pace of the last 7 days" in page


def test_without_answers_in_seven_days_no_pace_is_made_up() -> None:
    of = labelled()
    Vote.objects.update(at=Now() - timedelta(days=8))
    assert "and nobody answered in the last 7 days." in seen(of)


def test_what_is_handed_out_counts_as_wanted_still() -> None:
    of = project_with_items(3, k=2)
    assignment.lease_next(of, annotators(of, 2)[0])
    told = workload.outlook(of, for_user=curator())
    assert (told.wanted, told.days_left) == (6, None)
    held = workload.handed_out(of, for_user=curator())
    assert (held.items, held.people) == (1, 1)
    assert "to 1 person; the first until" in seen(of)


def test_the_days_are_drawn_and_stand_in_a_table() -> None:
    of = labelled()
    page = seen(of)
    assert 'role="img" aria-label="Answers by day"' in page
    assert "Most on" in page
    assert "5 answers and 1 skip by 3 people" in page
    rows = list(csv.DictReader(io.StringIO(seen(of, "progress-days-csv"))))
    assert [(row["answers"], row["skips"], row["annotators"]) for row in rows] == [("5", "1", "3")]
    drawn = ElementTree.fromstring(seen(of, "progress-days-svg"))
    assert not [each for each in drawn.iter() if "class" in each.attrib]


def test_imported_answers_have_no_day_and_no_time() -> None:
    of = project_with_items(1, k=1)
    import_lines(of, [{"item": "s0", "annotator": "x", "labels": ["A"]}], what="votes")
    page = seen(of)
    assert "Imported answers have no day of their own" in page
    assert "All answers came by import" in page
    browser = Client()
    browser.force_login(curator())
    assert browser.get(reverse("progress-days-svg", args=[of.slug])).status_code == 404


def test_the_bound_of_rushed_answers_is_stated_in_seconds() -> None:
    page = seen(labelled())
    assert "under 3.0 s, a third of the median" in page
    assert "100.0 %" in page


def test_where_everybody_rushes_reading_sets_the_bound() -> None:
    of = project_with_items(2, k=1)
    of.items.update(text="Ada was born in Turin. " + "x" * 157)  # 180 letters: three seconds at the least
    for item, ms in zip(of.items.all(), (800, 3_400), strict=True):
        votes.answer(
            item, annotators(of, 1)[0], client_id=uuid4(), payload={"relations": []}, milliseconds=ms
        )
    pace = project_stats.pace(of, for_user=curator())
    assert (pace.bound, pace.rushed) == (project_stats.Bound(3.0, 180), 0.5)
    assert [one.rushed for one in project_stats.by_annotator(of, for_user=curator())] == [0.5]
    page = seen(of)
    assert "under 3.0 s: too short to read 180 letters" in page
    assert "a sentence has 180 letters on average, and nobody reads 60 of them a second." in page


def test_people_are_in_the_table_and_in_the_file() -> None:
    of = labelled()
    rows = {row["name"]: row for row in csv.DictReader(io.StringIO(seen(of, "progress-people-csv")))}
    assert (rows["ann2"]["surplus"], rows["ann2"]["skips"], rows["ann0"]["counted"]) == ("1", "1", "2")


def test_whoever_only_looks_on_sees_numbers_for_names() -> None:
    of = labelled()
    projects.set_member(of, user=person("vera"), role="viewer", by=curator())
    for name in ("progress", "progress-people-csv"):
        page = seen(of, name, "vera")
        assert "ann1" not in page
        assert "Annotator 2" in page


def test_who_is_idle_is_named_with_since_when() -> None:
    of = labelled()
    Vote.objects.filter(annotator__name="ann1").update(at=datetime(2020, 5, 4, 10, tzinfo=UTC))
    projects.set_member(of, user=person("newcomer"), role="annotator", by=curator())
    assert "Idle: newcomer (never began) and ann1 (since 4 May 2020, 10:00)." in seen(of)


def test_who_is_paused_or_left_or_has_nothing_to_do_is_not_idle() -> None:
    of = labelled()
    Vote.objects.update(at=datetime(2020, 5, 4, 10, tzinfo=UTC))
    gold_questions.pause(Annotator.objects.get(project=of, name="ann0"), by=curator())
    projects.remove_member(of, user=person("ann1"), by=curator())
    assert [one.name for one in workload.idle(of, for_user=curator())] == ["ann2"]
    projects.close(of, by=curator())
    assert workload.idle(of, for_user=curator()) == []


def test_the_disputed_share_has_its_interval() -> None:
    low, high = Label("A", 20, 5).interval or (0, 0)
    assert (low, high) == (pytest.approx(0.1119, abs=1e-4), pytest.approx(0.4687, abs=1e-4))
    assert Label("A", 0, 0).interval is None
    assert Label("A", 3, 0).interval == (pytest.approx(0.0), pytest.approx(0.5615, abs=1e-4))
    rows = list(csv.DictReader(io.StringIO(seen(labelled(), "progress-labels-csv"))))
    assert {row["relation"]: row["share"] for row in rows} == {"A": "0.5", "B": "0.5", "C": "1.0"}


def test_most_disputed_or_most_frequent_comes_first() -> None:
    labels = [Label("rare", 12, 6), Label("common", 50, 5), Label("few", 2, 2), Label("none", 0, 0)]
    for frequent, names in ((False, ["rare", "common", "few"]), (True, ["common", "rare", "few"])):
        table = progress_view.disputed(labels, {}, frequent=frequent)
        assert table is not None
        assert [row[0] for row in table.rows] == names


def disagreeing() -> Project:
    """Two say N/A and one a relation: disputed by majority, N/A by the other rule."""
    of = project_with_items(2, k=3)
    for user, labels in zip(annotators(of, 3), ([], [], ["A"]), strict=True):
        answer_item(of.items.get(external_id="s0"), user, *labels)
    return of


def test_what_the_other_rule_would_decide_is_listed() -> None:
    of = disagreeing()
    assert "Rule <b>majority-na</b> would decide 1 sentence otherwise" in seen(of)
    page = seen(of, "otherwise")
    assert "By rule majority-na 1 sentence would be decided otherwise" in page
    assert re.search(r">disputed</td><td[^>]*>N/A</td>", page)


def test_nothing_is_changed_by_looking_at_the_other_rule() -> None:
    of = disagreeing()
    before = list(of.items.values())
    seen(of, "otherwise")
    assert list(of.items.values()) == before


def test_an_empty_project_says_so() -> None:
    from tests.cast.projects import create_project

    page = seen(create_project())
    assert "No sentences yet." in page
    assert "Nobody answered, skipped or holds anything yet" in page


def day(at: int, answers: int = 1) -> Day:
    return Day(date(2026, 3, 1) + timedelta(days=at), answers, 0, 1)


def test_days_without_answers_are_drawn_too_and_ninety_at_most() -> None:
    assert [one.answers for one in calendar([day(0), day(3)], until=date(2026, 3, 5))] == [1, 0, 0, 1, 0]
    assert len(calendar([day(0), day(200)], until=date(2026, 1, 1))) == 90
    long_ago = calendar([day(0), day(1)], until=date(2026, 12, 31))
    assert [one.day for one in long_ago] == [date(2026, 3, 1), date(2026, 3, 2)]


@pytest.mark.parametrize("most", [1, 7, 40, 1_000, 123_456])
def test_every_bar_stands_within_the_drawing(most: int) -> None:
    days = [day(at, most if at == 3 else 0) for at in range(90)]
    drawn = ElementTree.fromstring(str(days_svg(days)))
    for bar in drawn.iter("rect"):
        left, top = float(bar.get("x", 0)), float(bar.get("y", 0))
        assert 0 <= left <= left + float(bar.get("width", 0)) <= 1080
        assert 0 <= top <= top + float(bar.get("height", 0)) <= 220


@pytest.mark.parametrize("width", [1080, 290])
def test_a_single_day_stands_at_the_end_of_a_week(width: int) -> None:
    drawn = ElementTree.fromstring(str(days_svg([day(6, 5)], width=width)))
    bars = list(drawn.iter("rect"))
    assert [float(bar.get("height", 0)) > 0 for bar in bars] == [False] * 6 + [True]
    assert float(bars[-1].get("x", 0)) > width * 0.8
    dates = [text.text for text in drawn.iter("text") if "Mar" in (text.text or "")]
    assert dates[0] == "1 Mar"


def test_the_finding_over_the_days_compares_weeks_once_there_are_two() -> None:
    assert progress_view.finding([day(at, 2) for at in range(7)] + [day(at, 3) for at in range(7, 14)]) == (
        "21 answers in the last 7 days shown, 50 % more than in the 7 before"
    )
    assert progress_view.finding([day(0, 5)]) == "Most on 1 Mar: 5 answers by 1 person"


def test_the_pace_says_nothing_when_all_is_done() -> None:
    counts = {"all": 1, "open": 0, "disputed": 0, "settled": 1}
    assert (
        progress_view.lead(counts, Outlook(0, 4, 0, 1))
        == "1 of 1 sentence is decided. No answer is wanted any more."
    )


def test_an_own_answer_changed_later_counts_once_among_the_people() -> None:
    of = project_with_items(1, k=1)
    (user,) = annotators(of, 1)
    cast = answer_item(of.items.get(), user, "A")
    votes.answer(of.items.get(), user, client_id=uuid4(), payload={"relations": ["B"]}, base=cast.vote.number)
    rows = list(csv.DictReader(io.StringIO(seen(of, "progress-people-csv"))))
    assert [row["answers"] for row in rows] == ["1"]


def test_too_many_answers_are_not_counted_while_is_any_lock_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("annotation.pages.progress.LIVE", 1)
    of = labelled()
    assert "There are too many answers to count while you wait." in seen(of)
    assert len(seen(of, "progress-labels-csv").splitlines()) == 4


def test_a_phone_gets_a_drawing_of_the_last_days() -> None:
    wide, narrow = ElementTree.fromstring(f"<both>{both([day(at) for at in range(40)])}</both>")
    assert [svg.get("class") for svg in (wide, narrow)] == ["wide-only", "narrow-only"]
    assert [len(svg.findall("g")) for svg in (wide, narrow)] == [40, 14]
    assert max(float(bar.get("x", 0)) + float(bar.get("width", 0)) for bar in narrow.iter("rect")) <= 290
    assert both([]) == ""
