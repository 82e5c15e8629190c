"""Organisers alone name baselines."""

from __future__ import annotations

from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from evalsvc.core.accounts.models import Team
from evalsvc.evaluation.models import Benchmark, System
from tests.cast.benchmarks import BenchmarkCast
from tests.evalsvc.evaluation.test_leaderboard import answers, scored
from workers.runner import run_next

CHIP = '<span class="chip chip--base">baseline</span>'


def board_page(client: Client) -> str:
    return client.get(reverse("board", args=["rel"])).content.decode()


def change(client: Client, *baselines: dict[str, Any]) -> HttpResponse:
    return client.patch(
        "/api/v1/benchmarks/rel", {"baselines": list(baselines)}, content_type="application/json"
    )


def two_systems(cast: BenchmarkCast) -> Benchmark:
    benchmark = cast.relations()
    scored(cast, benchmark, "Majority", 2)
    scored(cast, benchmark, "Net", 4)
    return benchmark


def test_a_team_cannot_tag_its_system_as_a_baseline(client: Client, cast: BenchmarkCast) -> None:
    benchmark = cast.relations()
    cast.submit(benchmark, answers(3), tags={"baseline": True, "pre-trained": True})
    run_next("score")
    page = board_page(client)
    assert "pre-trained" in page
    assert "baseline" not in page
    (row,) = client.get("/boards/rel/board.json").json()["rows"]
    assert (row["baseline"], row["tags"]) == (False, {"pre-trained": True})


def test_organisers_mark_baselines_on_their_page(client: Client, cast: BenchmarkCast) -> None:
    two_systems(cast)
    majority, net = System.objects.order_by("name")
    client.force_login(cast.olga)
    address = reverse("board-organise", args=["rel"])
    assert '<option value="Majority, Kelpie">' in client.get(address).content.decode()
    assert client.post(address, {"system": "Majority"}).status_code == 302
    assert board_page(client).count(CHIP) == 1
    form = client.get(address).context["form"]
    assert [choice.choice_label for choice in form["baselines"]] == ["Majority, Kelpie"]
    client.post(address, {"baselines": [majority.pk], "system": f"{net}, {net.team}"})
    assert System.objects.filter(baseline=True).count() == 2
    client.post(address, {"baselines": [net.pk]})
    assert list(System.objects.filter(baseline=True)) == [net]
    client.post(address, {})
    assert not System.objects.filter(baseline=True).exists()


@pytest.mark.parametrize("sent", [{"baselines": [0]}, {"system": "Else"}, {"system": "Majority"}])
def test_a_system_of_another_benchmark_or_an_ambiguous_name_is_no_choice(
    client: Client, cast: BenchmarkCast, sent: dict[str, Any]
) -> None:
    two_systems(cast)
    other = System.objects.create(benchmark=cast.benchmark("other"), team=cast.kelpie, name="Else")
    another_team = Team.objects.create(name="Sole", slug="sole")
    System.objects.create(benchmark=Benchmark.objects.get(slug="rel"), team=another_team, name="Majority")
    client.force_login(cast.olga)
    sent = {"baselines": [other.pk]} if "baselines" in sent else sent
    assert client.post(reverse("board-organise", args=["rel"]), sent).status_code == 400
    assert not System.objects.filter(baseline=True).exists()


def test_the_api_replaces_the_list_of_baselines(client: Client, cast: BenchmarkCast) -> None:
    two_systems(cast)
    client.force_login(cast.olga)
    assert change(client, {"team": "kelpie", "system": "Majority"}).status_code == 200
    rows = client.get("/boards/rel/board.json").json()["rows"]
    assert {row["system"]: row["baseline"] for row in rows} == {"Majority": True, "Net": False}
    unknown = change(client, {"team": "kelpie", "system": "Nothing"})
    assert (unknown.status_code, unknown.json()["code"]) == (400, "unknown_system")
    assert System.objects.get(baseline=True).name == "Majority"
    assert change(client).status_code == 200
    assert not System.objects.filter(baseline=True).exists()


def test_a_team_names_no_baseline_by_api(client: Client, cast: BenchmarkCast) -> None:
    two_systems(cast)
    client.force_login(cast.kim)
    assert change(client, {"team": "kelpie", "system": "Net"}).status_code == 403
    assert client.post(reverse("board-organise", args=["rel"]), {}).status_code == 403
