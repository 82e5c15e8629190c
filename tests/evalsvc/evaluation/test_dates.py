"""Dates in the time zone of a benchmark."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from evalsvc.evaluation.dates import ANYWHERE, stated
from evalsvc.evaluation.models import Benchmark, Setting
from tests.cast.benchmarks import BenchmarkCast

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
    assert stated(END, Benchmark(time_zone=zone)) == text


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


def fields(**more: Any) -> dict[str, Any]:
    return {"title": "Main", "main": "micro_f1", **more}
