"""Lists of the API: a page at a time without a row lost or doubled, and filtered by what their rows say."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from annotation.models import Project
from annotation.testset import TestSet
from evalsvc.evaluation.models import Benchmark, Submission
from tests.cast.service import ServiceCast

LISTS = {
    "/api/v1/projects": ("state", "kind"),
    "/api/v1/projects/harbour/imports": ("state", "what"),
    "/api/v1/test-sets": ("state", "kind", "origin"),
    "/api/v1/benchmarks": ("task",),
    "/api/v1/benchmarks/tides/submissions": ("state", "phase"),
}


@pytest.fixture
def cast(db: None) -> ServiceCast:
    return ServiceCast.create()


@pytest.fixture
def root(client: Client, cast: ServiceCast) -> Client:
    client.force_login(cast["root"])
    return client


def rows(client: Client, address: str, **asked: Any) -> list[dict[str, Any]]:
    answer = client.get(address, asked)
    assert answer.status_code == 200, answer.content
    return list(answer.json()["results"])


@pytest.mark.parametrize("address", [*LISTS, "/api/v1/projects/harbour/disputes"])
def test_pages_of_one_row_are_together_the_whole_list(root: Client, address: str) -> None:
    whole = rows(root, address)
    found, at = [], f"{address}?page_size=1"
    while at:
        page = root.get(at).json()
        assert len(page["results"]) <= 1
        found += page["results"]
        at = page["next"]
    assert found == whole
    assert whole


def test_a_row_that_comes_meanwhile_shifts_no_page(root: Client, cast: ServiceCast) -> None:
    first = root.get("/api/v1/benchmarks?page_size=1").json()
    before = [row["slug"] for row in rows(root, "/api/v1/benchmarks")]
    Benchmark.objects.create(
        slug="aaa-earlier", title="Earlier", task="relations", labels=[], created_by=cast["root"]
    )
    second = root.get(first["next"]).json()
    assert [second["results"][0]["slug"]] == before[1:2]


@pytest.mark.parametrize(("address", "name"), [(at, name) for at, names in LISTS.items() for name in names])
def test_a_filter_keeps_the_rows_that_say_so_and_no_other(root: Client, address: str, name: str) -> None:
    whole = rows(root, address)
    words = {row[name] for row in whole if row[name]}
    for word in words:
        assert rows(root, address, **{name: word}) == [row for row in whole if row[name] == word]
    refused = root.get(address, {name: "nonsense"})
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_input")
    assert refused.json()["errors"][0]["field"] == name
    assert "none of" in refused.json()["detail"]


def test_names_filter_too(root: Client) -> None:
    submission = Submission.objects.select_related("system").filter(benchmark__slug="tides").first()
    assert submission is not None
    at = "/api/v1/benchmarks/tides/submissions"
    for name, word in (("system", submission.system.name), ("run", submission.run), ("team", "kelpie")):
        whole = rows(root, at)
        assert rows(root, at, **{name: word}) == [row for row in whole if row[name] == word]
        assert rows(root, at, **{name: "nobody's"}) == []
    project = Project.objects.get(slug="harbour")
    frozen = TestSet.objects.filter(project=project).count()
    assert len(rows(root, "/api/v1/test-sets", project="harbour")) == frozen > 0
