"""Dates in the time zone of a benchmark."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from evalsvc.core.errors.exceptions import QuotaExceeded
from evalsvc.evaluation.dates import ANYWHERE, stated
from evalsvc.evaluation.disclosure.policy import Policy
from evalsvc.evaluation.models import Benchmark, Setting, SettingVersion, Submission
from tests.cast.benchmarks import RELATION_GOLD, BenchmarkCast
from tests.workers.handlers.test_score import LABEL_LINES

END = datetime(2031, 12, 2, 11, 59, tzinfo=UTC)


@pytest.mark.parametrize(
    ("zone", "text"),
    [
        ("UTC", "2031-12-02 11:59 UTC"),
        (ANYWHERE, "2031-12-01 23:59 AoE (2031-12-02 11:59 UTC)"),
        ("Asia/Kathmandu", "2031-12-02 17:44 Asia/Kathmandu (2031-12-02 11:59 UTC)"),
    ],
)
def test_a_moment_is_stated_in_the_zone_of_the_benchmark_and_in_utc(zone: str, text: str) -> None:
    benchmark = Benchmark(time_zone=zone)
    assert stated(END, benchmark) == text
    policy = Policy(Setting(benchmark=benchmark, closes_at=END), True, SettingVersion())
    assert policy.until == f"until {text}"


@pytest.mark.django_db
def test_forms_take_and_show_dates_in_the_zone_of_the_benchmark(client: Client, cast: BenchmarkCast) -> None:
    benchmark = cast.relations()
    Benchmark.objects.update(time_zone=ANYWHERE)
    client.force_login(cast.olga)
    address = reverse("setting-change", args=[benchmark.slug, "main"])
    page = client.get(address).content.decode()
    assert "Closes, AoE" in page
    assert client.post(address, fields(closes_at="2031-12-01T23:59")).status_code == 302
    assert Setting.objects.get().closes_at == END
    assert 'value="2031-12-01T23:59"' in client.get(address).content.decode()
    organised = client.get(reverse("board-organise", args=[benchmark.slug])).content.decode()
    setting = client.get(reverse("setting", args=[benchmark.slug, "main"])).content.decode()
    assert "2031-12-01 23:59 AoE (2031-12-02 11:59 UTC)" in organised
    assert "2031-12-01 23:59 AoE (2031-12-02 11:59 UTC)" in setting


@pytest.mark.django_db
def test_the_board_and_the_form_for_runs_state_when_a_setting_closes(
    client: Client, cast: BenchmarkCast
) -> None:
    cast.relations(time_zone=ANYWHERE)
    Setting.objects.update(closes_at=END)
    client.force_login(cast.kim)
    for name in ("board", "submit"):
        page = client.get(reverse(name, args=["rel"])).content.decode()
        assert "2031-12-01 23:59 AoE (2031-12-02 11:59 UTC)" in page


@pytest.mark.django_db
def test_lists_of_runs_have_the_date_by_which_organisers_filter(client: Client, cast: BenchmarkCast) -> None:
    benchmark = cast.relations(time_zone=ANYWHERE)
    run = cast.submit(benchmark, [{"id": line["id"], "label": "born_in"} for line in RELATION_GOLD])
    Submission.objects.update(created_at="2026-11-28T01:01Z")
    client.force_login(cast.olga)
    address = reverse("board-runs", args=[benchmark.slug])
    page = " ".join(client.get(address, {"until": "2026-11-27"}).content.decode().split())
    assert "28 Nov, 01:01</time> UTC<br><small>2026-11-27 13:01 AoE</small>" in page.replace(" 2026,", ",")
    assert f"/{run.pk}/" not in client.get(address, {"since": "2026-11-28"}).content.decode()
    Benchmark.objects.update(time_zone="UTC")
    assert "</time> UTC" not in client.get(address).content.decode()


@pytest.mark.django_db
def test_a_new_closing_date_that_has_passed_is_questioned(client: Client, cast: BenchmarkCast) -> None:
    benchmark = cast.relations()
    client.force_login(cast.olga)
    address = reverse("setting-change", args=[benchmark.slug, "main"])
    past = fields(closes_at="2020-01-01T00:00")
    question = client.post(address, past)
    assert question.status_code == 400
    assert "Is it meant?" in question.content.decode()
    assert Setting.objects.get().closes_at is None
    assert client.post(address, past | {"past_meant": "on"}).status_code == 302
    assert client.post(address, past | {"title": "Over"}).status_code == 302  # the date is not new


@pytest.mark.django_db
def test_the_api_reads_dates_in_the_zone_of_the_benchmark_and_questions_past_ones(
    client: Client, cast: BenchmarkCast
) -> None:
    cast.relations()
    client.force_login(cast.olga)

    def patch(name: str, *key: str, **body: Any) -> Any:
        address = reverse(name, args=["rel", *key])
        return client.patch(address, body, content_type="application/json")

    assert patch("api-benchmark", time_zone="AoE").json()["time_zone"] == "AoE"
    assert Benchmark.objects.get().time_zone == ANYWHERE
    assert (
        patch("api-setting", "main", closes_at="2031-12-01T23:59").json()["closes_at"]
        == "2031-12-02T11:59:00Z"
    )
    assert patch("api-setting", "main", closes_at="2031-12-01T23:59+01:00").status_code == 200
    question = patch("api-setting", "main", closes_at="2020-01-01T00:00")
    assert (question.status_code, question.json()["code"]) == (400, "past_closing")
    assert "2020-01-01 00:00 AoE" in question.json()["detail"]
    assert patch("api-setting", "main", closes_at="2020-01-01T00:00", past_meant=True).status_code == 200
    assert patch("api-setting", "main", closes_at="2020-01-01T00:00", title="Over").status_code == 200
    assert Setting.objects.get().closes_at == datetime(2020, 1, 1, 12, tzinfo=UTC)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("zone", "at"), [("Asia/Kathmandu", "0001-01-01T00:00"), (ANYWHERE, "9999-12-31T23:59")]
)
def test_dates_without_a_date_in_another_zone_are_rejected(
    client: Client, cast: BenchmarkCast, zone: str, at: str
) -> None:
    cast.relations(time_zone=zone)
    client.force_login(cast.olga)
    body = {"closes_at": at, "past_meant": True}
    answer = client.patch(reverse("api-setting", args=["rel", "main"]), body, content_type="application/json")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "closes_at")
    page = client.post(reverse("setting-change", args=["rel", "main"]), fields(**body))
    assert "Enter a day and a time" in page.content.decode()


@pytest.mark.django_db
def test_quotas_renew_in_the_zone_of_the_benchmark_under_its_short_name(
    client: Client, cast: BenchmarkCast
) -> None:
    benchmark = cast.relations(time_zone=ANYWHERE, per_day=1)
    cast.submit(benchmark, LABEL_LINES)
    client.force_login(cast.kim)
    assert "renews at 00:00 AoE" in client.get(reverse("submit", args=["rel"])).content.decode()
    with pytest.raises(QuotaExceeded, match=r"allowed at .* 00:00 AoE \("):
        cast.submit(benchmark, LABEL_LINES[:1], system="Other")


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("query", "n"),
    [
        ({"until": "2031-12-01"}, 1), ({"since": "2031-12-02"}, 0), ({"since": "2031-12-01"}, 1),
        ({"until": "2031-11-30"}, 0), ({"since": "0001-01-01", "until": "9999-12-31"}, 1),
    ],
)  # fmt: skip
def test_runs_are_filtered_by_days_in_the_zone_of_the_benchmark(
    client: Client, cast: BenchmarkCast, query: dict[str, str], n: int
) -> None:
    benchmark = cast.relations(time_zone=ANYWHERE)
    cast.submit(benchmark, LABEL_LINES)
    Submission.objects.update(created_at=END)
    client.force_login(cast.olga)
    assert f"{n} run" in client.get(reverse("board-runs", args=["rel"]), query).content.decode()
    listed = client.get(reverse("api-submissions", args=["rel"]), query).json()["results"]
    assert len(listed) == n


@pytest.mark.django_db
@pytest.mark.parametrize("day", ["yesterday", "20311201", "2031-12-32"])
def test_a_filter_that_is_no_date_is_rejected(client: Client, cast: BenchmarkCast, day: str) -> None:
    cast.relations()
    client.force_login(cast.olga)
    response = client.get(reverse("api-submissions", args=["rel"]), {"since": day})
    assert response.status_code == 400
    assert response.json()["errors"][0]["field"] == "since"


def fields(**more: Any) -> dict[str, Any]:
    return {"title": "Main", "main": "micro_f1", **more}
