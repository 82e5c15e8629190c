"""Saved views: a board's query under a name and an address."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import Conflict, NotAllowed
from evalsvc.evaluation.benchmarks import saved_views
from evalsvc.evaluation.models import Benchmark, SavedView
from tests.cast.basics import person
from tests.cast.benchmarks import BenchmarkCast
from tests.evalsvc.evaluation.test_leaderboard import scored

pytestmark = pytest.mark.django_db
MACRO = "setting=main&columns=main:macro_f1&team=kelpie&order=macro_f1"


@pytest.fixture
def board(cast: BenchmarkCast) -> Benchmark:
    benchmark = cast.relations()
    scored(cast, benchmark, "Net", 5)
    return benchmark


def saved(benchmark: Benchmark, by: User, title: str = "By macro", *, shared: bool = False) -> SavedView:
    return saved_views.save(benchmark, title=title, query=MACRO, by=by, shared=shared)


def test_an_organiser_saves_the_view_on_screen_for_everybody(
    client: Client, cast: BenchmarkCast, board: Benchmark
) -> None:
    client.force_login(cast.olga)
    page = client.get(reverse("board", args=["rel"]) + "?" + MACRO)
    link = reverse("board-views", args=["rel"]) + f"?{page.context['saved_query']}"
    assert link.replace("&", "&amp;") in page.content.decode()
    query = client.get(link).context["form"]["query"].value()
    sent = {"action": "save", "title": "By macro", "query": query, "shared": "on"}
    address = client.post(reverse("board-views", args=["rel"]), sent)["Location"]
    client.logout()
    opened = client.get(address, follow=True)
    assert opened.redirect_chain == [(f"{reverse('board', args=['rel'])}?{MACRO}", 302)]
    assert f'<a href="{address}" aria-current="true">By macro</a>' in " ".join(
        opened.content.decode().split()
    )


def test_own_views_are_seen_by_nobody_else(client: Client, cast: BenchmarkCast, board: Benchmark) -> None:
    view = saved(board, cast.kim)
    address = reverse("board-saved-view", args=["rel", view.pk])
    for reader, seen in ((None, False), (cast.olga, False), (cast.kim, True)):
        client.logout()
        if reader:
            client.force_login(reader)
            listed = client.get(reverse("api-saved-views", args=["rel"])).json()
            assert [each["title"] for each in listed] == ["By macro"] * seen
        assert (address in client.get(reverse("board", args=["rel"])).content.decode()) is seen
        assert client.get(address).status_code == (302 if seen else 404)


def test_views_for_everybody_cost_visitors_no_query(
    client: Client, cast: BenchmarkCast, board: Benchmark
) -> None:
    counts: list[int] = []
    for title in ("", "One", "Two"):
        if title:
            saved(board, cast.olga, title, shared=True)
        with CaptureQueriesContext(connection) as queries:
            assert client.get(reverse("board", args=["rel"])).content.decode().count("/views/") == len(counts)
        counts.append(len(queries))
    assert len(set(counts)) == 1


def test_a_view_is_renamed_and_deleted_by_whoever_may(
    client: Client, cast: BenchmarkCast, board: Benchmark
) -> None:
    own, shared = saved(board, cast.kim), saved(board, cast.olga, shared=True)
    client.force_login(cast.kim)
    url = reverse("board-views", args=["rel"])
    client.post(url, {"rename": own.pk, "title": "Mine"})
    assert SavedView.objects.get(pk=own.pk).title == "Mine"
    assert client.post(url, {"rename": shared.pk, "title": "Mine"}).status_code == 403
    with pytest.raises(NotAllowed):
        saved_views.remove(shared, by=cast.kim)
    client.post(url, {"remove": own.pk, "title": own.title})
    assert list(SavedView.objects.all()) == [shared]
    client.force_login(cast.olga)
    renamed = client.post(
        reverse("api-saved-view", args=["rel", shared.pk]), {"title": "Ours"}, "application/json"
    )
    assert (
        renamed.json()["address"]
        == f"http://testserver{reverse('board-saved-view', args=['rel', shared.pk])}"
    )
    assert client.get(reverse("board", args=["rel"])).context["saved_views"][0]["title"] == "Ours"
    assert client.post(reverse("api-saved-view-remove", args=["rel", shared.pk])).status_code == 204
    assert not client.get(reverse("board", args=["rel"])).context["saved_views"]


def test_a_name_is_used_once_and_the_query_must_be_one_of_the_board(
    client: Client, cast: BenchmarkCast, board: Benchmark
) -> None:
    saved(board, cast.kim)
    with pytest.raises(Conflict, match="another saved view"):
        saved(board, cast.kim)
    saved(board, person("mia"))
    client.force_login(cast.kim)
    for query, word in (
        ("colums=main:macro_f1", "columns"),
        ("setting=none", "setting"),
        ("columns=main:nothing", "column"),
        ("order=nothing", "column"),
    ):
        sent = {"title": "Other", "query": query}
        answer = client.post(reverse("api-saved-views", args=["rel"]), sent, "application/json")
        assert (answer.status_code, word in answer.json()["detail"]) == (400, True), query
        page = client.post(reverse("board-views", args=["rel"]), {"action": "save", **sent})
        assert page.status_code == 400
    assert SavedView.objects.count() == 2


def test_a_saved_view_keeps_no_version(client: Client, cast: BenchmarkCast, board: Benchmark) -> None:
    client.force_login(cast.kim)
    sent = {"title": "Newest", "query": f"?{MACRO}&version=1&page=2"}
    made = client.post(reverse("api-saved-views", args=["rel"]), sent, "application/json").json()
    assert made["query"] == MACRO
