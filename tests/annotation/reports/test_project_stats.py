"""Statistics of a project: counts that add up to the log, and agreement."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from contextlib import nullcontext
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.db.models import F
from django.db.models.functions import Now
from django.test import Client
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from annotation import projects
from annotation.models import Annotator, Item, Project, Vote
from annotation.ontology import guideline_versions, plans
from annotation.queue import exclusions, leases, quality_settings, votes
from annotation.reports import agreement, project_stats, vote_log
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import Conflict, NotAllowed, QuotaExceeded
from evalsvc.core.jobs.models import Job
from tests.cast.basics import compute_agreement, person, run_job
from tests.cast.projects import (
    annotators,
    answer_item,
    create_project,
    curator,
    import_lines,
    is_surplus,
    project_with_items,
    seen,
)
from tests.cast.replay import replayed

pytestmark = pytest.mark.django_db


@replayed
def labelled() -> Project:
    """Three people on three items: agreement on s0, a dispute on s1, a late third answer on s0."""
    project = project_with_items(3, k=2)
    first, second, third = annotators(project, 3)
    s0, s1, _ = project.items.all()
    for user, item, names, ms in (
        (first, s0, ["A"], 9_000),
        (second, s0, ["A"], 9_000),
        (third, s0, ["B"], 500),
        (first, s1, ["A"], 9_000),
        (second, s1, ["B", "C"], 9_000),
    ):
        payload = {"relations": names}
        votes.answer(item, user, client_id=uuid4(), payload=payload, milliseconds=ms, flagged=ms == 500)
    votes.skip(s1, third, client_id=uuid4(), reason="broken")
    return project


def test_counts_by_annotator_add_up_to_the_log() -> None:
    project = labelled()
    people = {one.name: one for one in project_stats.by_annotator(project, for_user=curator())}
    counts = {
        name: (one.answers, one.counted, one.surplus, one.skips, one.flags) for name, one in people.items()
    }
    assert counts == {"ann0": (2, 2, 0, 0, 0), "ann1": (2, 2, 0, 0, 0), "ann2": (1, 0, 1, 1, 1)}


@pytest.mark.parametrize("role", ["curator", "viewer"])
def test_a_person_who_begins_while_names_are_read_is_listed(
    role: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, read = labelled(), project_stats.figures_of
    viewer = person("vera")
    projects.set_member(project, user=viewer, role="viewer", by=curator())

    def begin(of: Project) -> Any:
        Annotator.objects.create(project=of, name="late")
        return read(of)

    monkeypatch.setattr(project_stats, "figures_of", begin)
    people = project_stats.by_annotator(project, for_user=curator() if role == "curator" else viewer)
    assert len(people) == 4
    assert people[-1].name == people[-1].display_name == ("late" if role == "curator" else "Annotator")


def test_answers_with_spans_are_read_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vote_log, "ROWS_OF_SPANS", 2)
    project = create_project("entities", labels=["P"])
    import_lines(project, [{"id": f"s{at}", "text": f"Ada saw Turin, {at}."} for at in range(5)])
    answers = [{"item": f"s{at}", "annotator": "w", "spans": [[0, 3, "P"]]} for at in range(5)]
    import_lines(project, answers, what="votes")
    with CaptureQueriesContext(connection) as queries:
        rows = list(vote_log.rows(project, by=curator()))
    assert [row["item"] for row in rows] == ["s0", "s1", "s2", "s3", "s4"]
    assert sum('"annotation_vote"."payload"' in query["sql"] for query in queries) == 3


def test_answers_under_a_third_of_the_median_time_are_rushed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(project_stats, "LEAST_TIMED", 1)
    people = {one.name: one for one in project_stats.by_annotator(labelled(), for_user=curator())}
    assert (people["ann0"].rushed, people["ann2"].rushed) == (0.0, 1.0)
    assert people["ann0"].median_seconds == pytest.approx(9, abs=0.25)


def test_days_count_votes_and_annotators() -> None:
    project = labelled()
    Vote.objects.filter(annotator__name="ann2").update(at=Now() - timedelta(days=1))
    days = project_stats.by_day(project, for_user=curator())
    assert [(day.answers, day.skips, day.annotators) for day in days] == [(1, 1, 1), (4, 0, 2)]


def test_disputes_are_counted_for_each_chosen_relation() -> None:
    labels = {one.name: one for one in project_stats.by_label(labelled(), for_user=curator())}
    assert {name: (one.items, one.disputed) for name, one in labels.items()} == {
        "A": (2, 1),
        "B": (2, 1),
        "C": (1, 1),
    }
    assert labels["A"].share == 0.5


def test_annotators_without_recent_votes_or_leases_are_idle() -> None:
    project = labelled()
    Vote.objects.filter(annotator__name__in=["ann1", "ann2"]).update(at=Now() - timedelta(days=9))
    leases.lease_next(project, annotators(project, 2)[1])
    assert project_stats.overview(project, for_user=curator())["idle"] == ["ann2"]


def test_the_overview_counts_states_skips_flags_and_policy_changes() -> None:
    overview = project_stats.overview(labelled(), for_user=curator())
    assert overview["states"] == {"settled": 1, "disputed": 1, "open": 1}
    assert (overview["reasons"], overview["flagged"], overview["other_policy_changes"]) == (
        {"broken": 1},
        1,
        0,
    )


def test_annotators_cannot_read_statistics() -> None:
    project = labelled()
    user = annotators(project, 1)[0]
    for read in (
        project_stats.by_day,
        project_stats.by_annotator,
        project_stats.by_label,
        project_stats.overview,
    ):
        with pytest.raises(NotAllowed):
            read(project, for_user=user)
    with pytest.raises(NotAllowed):
        agreement.request_report(project, by=user)
    with pytest.raises(NotAllowed):
        agreement.judgments(project, by=user)


def reported(project: Project) -> dict:
    job = compute_agreement(project, by=curator())
    report = project.agreements.get(pk=job.subject)
    assert report.state == "done", report.reason
    return report.figures


def test_the_agreement_is_computed_by_a_job_and_stored() -> None:
    figures = reported(labelled())
    assert figures["annotators"] == ["ann0", "ann1", "ann2"]
    assert [(one["first"], one["second"], one["common"]) for one in figures["pairs"]] == [
        (0, 1, 2),
        (0, 2, 1),
        (1, 2, 1),
    ]
    assert figures["pairs"][0]["observed"] == 0.5
    assert " 10 " in figures["pairs"][0]["reason"]
    assert figures["relations"]["C"]["observed"]["value"] == 0.5
    assert figures["relations"]["C"]["observed"]["low"] == 0.0


def test_intervals_do_not_depend_on_the_batch_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    project = labelled()
    together = reported(project)
    monkeypatch.setattr("workers.scoring.agreement.CELLS_AT_ONCE", 1)
    alone = reported(project)
    for part in ("relations", "na", "overall"):
        assert alone[part] == together[part]


def test_a_report_on_excluded_answers_only_is_empty() -> None:
    project = labelled()
    report = agreement.request_report(project, by=curator())
    for who in project.annotators.all():
        exclusions.exclude_annotator(who, by=curator(), reason="a test")
    run_job("agreement", report.pk)
    report.refresh_from_db()
    assert (report.state, report.figures["answers"], report.figures["pairs"]) == ("done", 0, [])
    assert report.figures["overall"]["alpha"]["value"] is None


def test_agreement_on_a_single_category_is_one_without_kappa() -> None:
    project = project_with_items(3, k=2)
    people = annotators(project, 2)
    for item in project.items.all():
        for user in people:
            answer_item(item, user, "A")
    figures = reported(project)
    assert figures["overall"]["observed"]["value"] == 1.0
    assert figures["overall"]["fleiss"]["value"] is None
    assert "same" in figures["overall"]["fleiss"]["reason"]


def test_the_agreement_of_spans_is_their_f1() -> None:
    from tests.cast.projects import create_project

    project = create_project("entities", labels=["P"])
    import_lines(project, [{"id": "s0", "text": "Ada saw Turin"}])
    projects.open_for_work(project, by=curator())
    item = project.items.get()
    for user, spans in zip(annotators(project, 2), ([[0, 3, "P"]], [[0, 3, "P"], [8, 13, "P"]]), strict=True):
        votes.answer(item, user, client_id=uuid4(), payload={"spans": spans})
    assert reported(project)["pairs"][0]["value"] == pytest.approx(2 / 3)


def test_a_running_report_is_reused_and_an_empty_project_has_none() -> None:
    project = labelled()
    assert (
        agreement.request_report(project, by=curator()).pk
        == agreement.request_report(project, by=curator()).pk
    )
    with pytest.raises(Conflict, match="no answers"):
        agreement.request_report(project_with_items(1), by=curator())


@pytest.mark.parametrize(("took", "waits"), [(4, False), (70, True)])
def test_reports_that_take_long_are_computed_for_a_tenth_of_the_time(took: int, waits: bool) -> None:
    project = labelled()
    reported(project)
    Job.objects.update(started_at=F("ended_at") - timedelta(seconds=took))
    with pytest.raises(QuotaExceeded) if waits else nullcontext():
        agreement.request_report(project, by=curator())
    Job.objects.update(
        started_at=F("started_at") - timedelta(hours=1), ended_at=F("ended_at") - timedelta(hours=1)
    )
    assert agreement.request_report(project, by=curator())


def test_the_raw_judgments_can_be_imported_again() -> None:
    lines = [json.loads(line) for line in agreement.judgments(labelled(), by=curator())]
    assert lines[0] == {"item": "s0", "annotator": "ann0", "labels": ["A"]}
    other = project_with_items(3)
    batch = import_lines(other, lines, what="votes")
    assert (batch.state, batch.counts["answers"]) == ("done", 5)
    assert list(agreement.judgments(other, by=curator())) == list(
        agreement.judgments(Project.objects.order_by("pk").first(), by=curator())
    )


def test_the_log_of_votes_has_all_acts_without_names_and_can_be_imported() -> None:
    project = labelled()
    user = annotators(project, 1)[0]
    s1 = project.items.get(external_id="s1")
    payload = {"relations": ["B"]}
    votes.answer(s1, user, client_id=uuid4(), payload=payload, base=1, comment="=2+2")
    lines = list(vote_log.lines(project, by=curator()))
    acts = [json.loads(line) for line in lines]
    shown = [(act["item"], act["annotator"], act["act"], act["current"], act.get("order")) for act in acts]
    assert shown == [
        ("s0", "Annotator 1", "answer", True, 1),
        ("s0", "Annotator 2", "answer", True, 2),
        ("s0", "Annotator 3", "answer", True, 3),
        ("s1", "Annotator 1", "answer", False, None),
        ("s1", "Annotator 2", "answer", True, 2),
        ("s1", "Annotator 3", "skip", False, None),
        ("s1", "Annotator 1", "answer", True, 1),
    ]
    assert (acts[2]["flagged"], acts[5]["reason"], acts[6]["number"]) == (True, "broken", 2)
    assert b"ann0" not in b"".join(lines)
    rows = [dict(zip(vote_log.COLUMNS, row, strict=True)) for row in vote_log.table(project, by=curator())]
    assert (rows[6]["answer"], rows[6]["comment"], rows[5]["answer"]) == ('{"labels":["B"]}', "=2+2", "")
    batch = import_lines(project_with_items(3), acts, what="votes")
    assert (batch.state, batch.counts["answers"], batch.counts["annotators"]) == ("done", 5, 3)


def test_an_answer_without_a_label_differs_from_na() -> None:
    project = project_with_items(3)
    answers = [{"item": f"s{at}", "annotator": who, "na": True} for at in range(3) for who in ("x", "y")]
    answers[0] = {"item": "s0", "annotator": "x", "labels": []}
    assert import_lines(project, answers, what="votes").counts["answers"] == 6
    figures = reported(project)
    assert figures["overall"]["observed"]["value"] == pytest.approx(2 / 3)
    assert figures["overall"]["alpha_masi"]["value"] == pytest.approx(0.0)
    assert (figures["na"]["answers"], figures["na"]["observed"]["value"]) == (5, pytest.approx(2 / 3))


def test_each_annotator_has_an_na_share_and_an_agreement_with_the_others() -> None:
    project = project_with_items(12, k=3)
    people = annotators(project, 3)
    for at, item in enumerate(project.items.all()):
        for user, labels in zip(people, (["A"], ["A"] if at % 2 else ["B"], []), strict=True):
            answer_item(item, user, *labels)
    people = {row["name"]: row for row in reported(project)["people"]}
    assert {name: (one["answers"], one["na"]) for name, one in people.items()} == {
        "ann0": (12, 0.0),
        "ann1": (12, 0.0),
        "ann2": (12, 1.0),
    }
    assert (people["ann0"]["agrees"], people["ann2"]["agrees"]) == (0.25, 0.0)


def test_pairs_are_limited_to_the_forty_annotators_with_most_answers() -> None:
    project = project_with_items(2)
    answers = [{"item": "s0", "annotator": f"a{at:02}", "labels": ["A"]} for at in range(45)]
    answers += [{"item": "s1", "annotator": f"a{at:02}", "labels": ["A"]} for at in range(5, 45)]
    import_lines(project, answers, what="votes")
    figures = reported(project)
    assert len(figures["people"]) == len(figures["annotators"]) == 45
    seen = {figures["annotators"][pair[side]] for pair in figures["pairs"] for side in ("first", "second")}
    assert seen == {f"a{at:02}" for at in range(5, 45)}


@pytest.mark.parametrize("state", ["setup", "open"])
@pytest.mark.parametrize("role", ["viewer", "adjudicator"])
def test_until_a_project_is_closed_only_curators_read_counts_of_labels(
    client: Client, role: str, state: str
) -> None:
    """By watching them, whoever knows the order of work would read each answer, and the gold."""
    project = labelled()
    reported(project)
    projects.set_member(project, user=person("vera"), role=role, by=curator())
    Project.objects.filter(pk=project.pk).update(state=state)
    api, pages = f"/api/v1/projects/{project.slug}", f"/projects/{project.slug}"

    def read(user: User) -> list[Any]:
        client.force_login(user)
        agreement = client.get(f"{api}/agreement")
        progress, page = client.get(f"{pages}/progress/").content.decode(), client.get(f"{pages}/")
        insight = client.get(f"{api}/insight").json()
        return [
            [insight[name] is None for name in ("labels", "other_policy_changes")],
            client.get(f"{pages}/otherwise/").status_code,
            (agreement.status_code, agreement.json().get("code", "")),
            "Disputes by relation" in progress,
            "Other rule" in progress,
            "Agreement</a>" in page.content.decode(),
            "would change the outcome" in page.content.decode(),
        ]

    allowed = 200 if role == "adjudicator" else 403
    assert read(curator()) == [[False] * 2, 200, (200, ""), *[True] * 4]
    refused = 409 if role == "adjudicator" else 403
    assert read(person("vera")) == [[True] * 2, refused, (409, "project_not_closed"), *[False] * 4]
    Project.objects.filter(pk=project.pk).update(state="closed")
    assert read(person("vera")) == [[False] * 2, allowed, (200, ""), *[True] * 4]


def withdraw(item: Item, user: User) -> None:
    votes.skip(item, user, client_id=uuid4(), reason="broken", base=1)


def exclude(item: Item, user: User) -> None:
    exclusions.exclude_answer(item.answers.get(annotator__user=user), by=curator())


def ask_again(item: Item, user: User) -> None:
    guideline_versions.set_text(item.project, "Another.", by=curator())
    guideline_versions.ask_again(item.project, 1, by=curator())


def raise_k(item: Item, user: User) -> None:
    projects.set_k(item.project, k=3, by=curator())


def seen_by_a_viewer(
    client: Client, label: str, *, calls: str, change: Callable[[Item, User], None] | None
) -> tuple[Project, list[Any]]:
    """Return the counts that a viewer sees once two people have answered, one with A and one with `label`."""
    project = project_with_items(1, k=2)
    quality_settings.set_quality_options(project, calls_extra=calls != "none", by=curator())
    people = annotators(project, 3)
    for member, chosen in zip(people, ("A", label), strict=False):
        answer_item(project.items.get(), member, chosen)
    if calls == "filled" and label == "B":
        answer_item(project.items.get(), people[2], "C")
    if change:
        change(project.items.get(), people[0])
    viewer = person(f"viewer-{label}")
    projects.set_member(project, user=viewer, role="viewer", by=curator())
    client.force_login(viewer)
    api, pages = f"/api/v1/projects/{project.slug}", f"/projects/{project.slug}"
    shown: list[Any] = [client.get(f"{api}{path}").json()["states"] for path in ("", "/insight")]
    for path in ("/projects/", f"{pages}/"):
        main = client.get(path).content.decode().partition("<main")[2]
        shown.append(main.replace(project.slug, ""))
    progress = client.get(f"{pages}/progress/").content.decode()
    shown.append(re.findall(r'class="lead">([^<]*)', progress))
    return project, shown


@pytest.mark.parametrize("calls", ["none", "waiting"])
def test_until_a_project_is_closed_viewers_count_no_outcomes(client: Client, calls: str) -> None:
    """An annotator beside a viewer tried labels until the number of settled sentences rose."""
    settled, replies = seen_by_a_viewer(client, "A", calls=calls, change=None)
    disputed, others = seen_by_a_viewer(client, "B", calls=calls, change=None)
    state = "disputed" if calls == "none" else "open"
    assert [each.items.get().state for each in (settled, disputed)] == ["settled", state]
    assert replies == others
    assert replies[:2] == [{"all": 1}, {"all": 1}]
    Project.objects.filter(pk=disputed.pk).update(state="closed")
    closed = client.get(f"/api/v1/projects/{disputed.slug}").json()["states"]
    assert closed[state] == 1


@pytest.mark.parametrize("calls", ["none", "waiting", "filled"])
@pytest.mark.parametrize("change", [withdraw, exclude, ask_again, raise_k])
def test_a_viewer_counts_no_items_that_lack_answers(
    client: Client, change: Callable[[Item, User], None], calls: str
) -> None:
    """By withdrawing answers an annotator beside a viewer saw about which sentences others were called."""
    _, replies = seen_by_a_viewer(client, "A", calls=calls, change=change)
    _, others = seen_by_a_viewer(client, "B", calls=calls, change=change)
    if calls == "filled":  # the number of answers tells that there was a call
        replies, others = (
            [re.sub(r"\d answers?<", "", str(each)) for each in side] for side in (replies, others)
        )
    assert replies == others


def split_label(project: Project) -> None:
    plans.apply_plan(
        project,
        plans.planned([{"operation": "split", "sources": ["B"], "targets": ["B1", "B2"]}]),
        by=curator(),
    )


def ask_label_again(project: Project) -> None:
    guideline_versions.set_text(project, "Another.", by=curator())
    guideline_versions.ask_again(project, 1, labels=["B"], by=curator())


def people_shown(
    client: Client, role: str, label: str, step: Callable[[Project], None] | None
) -> tuple[bool, list[Any]]:
    """Return whether a late answer counts, and what is shown by annotator; without a step others are called.

    Two people answer with A and with `label`, as k says; the third reserved the sentence before.
    """
    project = project_with_items(1, k=3)
    people, item = annotators(project, 3), project.items.get()
    leases.lease_next(project, people[2])
    projects.set_k(project, k=2, by=curator())
    quality_settings.set_quality_options(project, calls_extra=step is None, by=curator())
    for member, chosen in zip(people, ("A", label, "A"), strict=True):
        answer_item(item, member, chosen)
    if step:
        step(project)
    reader = curator() if role == "curator" else person(f"{role}-{label}")
    projects.set_member(project, user=reader, role=role, by=curator())
    client.force_login(reader)
    insight = client.get(f"/api/v1/projects/{project.slug}/insight").json()["annotators"]
    page = client.get(f"/projects/{project.slug}/progress/").content.decode()
    download = client.get(f"/projects/{project.slug}/progress/people.csv").content.decode()
    shown: list[Any] = [{**row, "annotator": 0, "last_at": ""} for row in insight]
    shown.append(re.findall(r'<t[hd][^>]*class="fig[^>]*>([^<]*)', page))
    shown += [{**row, "last_at": ""} for row in csv.DictReader(io.StringIO(download))]
    item.refresh_from_db()
    return not is_surplus(item, people[2]), shown


@pytest.mark.parametrize("step", [split_label, ask_label_again, None])
@pytest.mark.parametrize("role", ["viewer", "adjudicator", "curator"])
def test_until_a_project_is_closed_only_curators_read_whose_answers_count(
    client: Client, role: str, step: Callable[[Project], None] | None
) -> None:
    """An annotator with surplus answers beside a viewer read from the two columns what others answered."""
    counts, replies = people_shown(client, role, "B", step)
    counted, others = people_shown(client, role, "A", step)
    assert (counts, counted) == (True, False)
    assert (replies == others) == (role != "curator")
    assert {"Counted", "Surplus"}.isdisjoint(others[3]) == (role != "curator")
    assert (others[0]["counted"], others[0]["surplus"]) == ((1, 0) if role == "curator" else (None, None))


def test_answers_that_are_asked_again_do_not_count() -> None:
    project = labelled()
    shown = project_stats.by_annotator(project, for_user=curator())
    assert [(row.counted, row.surplus) for row in shown] == [(2, 0), (2, 0), (0, 1)]
    projects.set_guideline(project, guideline="Only what the sentence states.", by=curator())
    guideline_versions.ask_again(project, 1, by=curator())
    asked = project_stats.by_annotator(project, for_user=curator())
    assert [(row.answers, row.counted, row.surplus) for row in asked] == [(2, 0, 0), (2, 0, 0), (1, 0, 0)]


def test_once_a_project_is_closed_viewers_read_whose_answers_count(client: Client) -> None:
    project = labelled()
    projects.set_member(project, user=person("vera"), role="viewer", by=curator())
    projects.close(project, by=curator())
    page = seen(project, "progress", user="vera")
    assert all(f">{head}</th>" in page for head in ("Counted", "Surplus"))
    assert "counted,surplus" in seen(project, "progress-people-csv", user="vera")
    rows = project_stats.by_annotator(project, for_user=person("vera"))
    assert [(row.counted, row.surplus) for row in rows] == [(2, 0), (2, 0), (0, 1)]


def test_viewers_get_numbers_instead_of_names_from_the_api() -> None:
    project = labelled()
    reported(project)
    projects.set_member(project, user=person("vera"), role="viewer", by=curator())
    client = APIClient()
    client.force_login(person("vera"))
    Project.objects.filter(pk=project.pk).update(state="closed")
    for part in ("insight", "agreement"):
        body = client.get(f"/api/v1/projects/{project.slug}/{part}").json()
        assert "ann0" not in json.dumps(body)
        assert "Annotator 1" in json.dumps(body)
    client.force_login(curator())
    assert "ann0" in json.dumps(client.get(f"/api/v1/projects/{project.slug}/agreement").json())
