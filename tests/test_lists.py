"""Paging and filters of the API's lists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from annotation.models import Project
from annotation.testset import TestSet
from evalsvc.evaluation.models import Benchmark, Submission
from tests.cast.service import ServiceCast
from tests.permissions.requester import Requester, rolled_back

LISTS = {
    "/api/v1/projects": ("state", "kind"),
    "/api/v1/projects/harbour/imports": ("state", "what"),
    "/api/v1/test-sets": ("state", "kind", "origin"),
    "/api/v1/benchmarks": ("task",),
    "/api/v1/benchmarks/tides/submissions": ("state", "phase"),
}


@pytest.fixture
def cast(requester: Requester) -> Iterator[ServiceCast]:
    with rolled_back():
        yield requester.cast


@pytest.fixture
def root(client: Client, cast: ServiceCast) -> Client:
    client.force_login(cast["root"])
    return client


def rows(client: Client, address: str, **query: Any) -> list[dict[str, Any]]:
    answer = client.get(address, query)
    assert answer.status_code == 200, answer.content
    return list(answer.json()["results"])


@pytest.mark.parametrize("address", [*LISTS, "/api/v1/projects/harbour/disputes"])
def test_pages_of_one_row_add_up_to_the_list(root: Client, address: str) -> None:
    all_rows = rows(root, address)
    seen, at = [], f"{address}?page_size=1"
    while at:
        page = root.get(at).json()
        assert len(page["results"]) <= 1
        seen += page["results"]
        at = page["next"]
    assert seen == all_rows
    assert all_rows


def test_a_new_row_does_not_shift_the_next_page(root: Client, cast: ServiceCast) -> None:
    first = root.get("/api/v1/benchmarks?page_size=1").json()
    before = [row["slug"] for row in rows(root, "/api/v1/benchmarks")]
    Benchmark.objects.create(
        slug="aaa-earlier", title="Earlier", task="relations", labels=[], created_by=cast["root"]
    )
    second = root.get(first["next"]).json()
    assert [second["results"][0]["slug"]] == before[1:2]


@pytest.mark.parametrize(("address", "name"), [(at, name) for at, names in LISTS.items() for name in names])
def test_a_filter_returns_exactly_the_matching_rows(root: Client, address: str, name: str) -> None:
    all_rows = rows(root, address)
    words = {row[name] for row in all_rows if row[name]}
    for word in words:
        assert rows(root, address, **{name: word}) == [row for row in all_rows if row[name] == word]
    refused = root.get(address, {name: "nonsense"})
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_input")
    assert refused.json()["errors"][0]["field"] == name


def test_lists_are_filtered_by_name(root: Client) -> None:
    submission = Submission.objects.select_related("system").filter(benchmark__slug="tides").first()
    assert submission is not None
    at = "/api/v1/benchmarks/tides/submissions"
    for name, word in (("system", submission.system.name), ("run", submission.run), ("team", "kelpie")):
        all_rows = rows(root, at)
        assert rows(root, at, **{name: word}) == [row for row in all_rows if row[name] == word]
        assert rows(root, at, **{name: "nobody's"}) == []
    project = Project.objects.get(slug="harbour")
    frozen = TestSet.objects.filter(project=project).count()
    assert len(rows(root, "/api/v1/test-sets", project="harbour")) == frozen > 0
