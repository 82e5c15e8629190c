"""The API has the tables of the pages, with a token and by the same rules."""

from __future__ import annotations

from typing import Any

from django.test import Client
from django.urls import reverse

from evalsvc.core.accounts.tokens import issue
from evalsvc.evaluation.models import Benchmark, Setting, System
from tests.cast.benchmarks import BenchmarkCast


def ask(client: Client, cast: BenchmarkCast, name: str, *args: Any, **query: Any) -> Any:
    token = issue(cast.kim, name="t", team=cast.kelpie)[1]
    address = reverse(name, args=["rel", *args], query=query)
    return client.get(address, headers={"Authorization": f"Bearer {token}"})


def test_a_token_reads_the_tables_that_the_pages_show(
    client: Client, cast: BenchmarkCast, benchmark: Benchmark
) -> None:
    net = System.objects.get(benchmark=benchmark, name="Net").pk
    client.force_login(cast.kim)
    for name, page, args, query in (
        ("api-board-view", "board-view-file", (), {"columns": "macro_f1", "table": "systems"}),
        ("api-board-view", "board-view-file", (), {"table": "runs"}),
        ("api-system", "system-file", (net,), {"table": "runs"}),
        ("api-errors", "board-errors-file", (), {"a": "kelpie/Net"}),
    ):
        shown = client.get(reverse(page, args=["rel", *args, "json"], query=query)).json()
        found = ask(Client(), cast, name, *args, **query)
        assert (found.status_code, found.json()) == (200, shown)
        assert shown["rows"]
        assert "Missing predictions: " in shown["caption"], (name, query)


def test_wrong_choices_are_named(client: Client, cast: BenchmarkCast, benchmark: Benchmark) -> None:
    for name, query, status in (
        ("api-board-view", {"columns": "bleu"}, 400),
        ("api-board-view", {"column": "macro_f1"}, 400),
        ("api-board-view", {"since": "monday"}, 400),
        ("api-board-view", {"table": "claims"}, 404),
        ("api-errors", {"kind": "typo"}, 400),
        ("api-errors", {"order": "best"}, 400),
        ("api-errors", {"low": "high"}, 400),
        ("api-errors", {"a": "kelpie/Nobody"}, 404),
        ("api-errors", {"version": "1"}, 400),
    ):
        assert ask(client, cast, name, **query).status_code == status, query


def test_hidden_gold_gives_no_errors_by_the_api(
    client: Client, cast: BenchmarkCast, benchmark: Benchmark
) -> None:
    Setting.objects.filter(benchmark=benchmark).update(disclosure=Setting.Disclosure.HIDDEN)
    assert ask(client, cast, "api-errors").status_code == 404
