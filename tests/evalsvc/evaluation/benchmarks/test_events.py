"""The Atom feed of a benchmark: what happened, without figures and sealed runs."""

from __future__ import annotations

from datetime import timedelta
from xml.etree import ElementTree as ET

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from evalsvc.core.accounts.models import Team
from evalsvc.evaluation.benchmarks import events, versions
from evalsvc.evaluation.models import Benchmark, Setting, Submission
from evalsvc.evaluation.reported import entries
from tests.cast.basics import person
from tests.cast.benchmarks import RELATION_GOLD, BenchmarkCast
from workers.runner import run_next

ATOM = {"a": "http://www.w3.org/2005/Atom"}
LINES = [{"id": line["id"], "label": "born_in"} for line in RELATION_GOLD]


@pytest.fixture
def board(cast: BenchmarkCast) -> Benchmark:
    """One system with two scored runs, a table of a paper, and a second version."""
    benchmark = cast.relations()
    setting = benchmark.settings.get()
    for run in ("1", "2"):
        cast.submit(benchmark, LINES, run=run)
    while run_next("score"):
        pass
    printed = {"PTR": {"micro_f1": "72.5"}, "RECENT": {"micro_f1": "71.5"}}
    entries.add(setting, by=cast.olga, paper="A & B", table="Table 3", systems=printed)
    versions.begin(setting, by=cast.olga, note="Mended <twice>.")
    return benchmark


def titles(benchmark: Benchmark) -> list[str]:
    return [event.title for event in events.events(benchmark)]


def test_a_feed_lists_versions_papers_and_first_scores_newest_first(board: Benchmark) -> None:
    assert titles(board) == [
        "Version 2 of “main”",
        "Figures from A & B, Table 3",
        "“Net” (team kelpie)",
    ]


def test_a_setting_that_opened_and_closed_is_listed_once_it_has(board: Benchmark) -> None:
    hour, now = timedelta(hours=1), timezone.now()
    Setting.objects.update(opens_at=now - 2 * hour, closes_at=now + hour)
    assert "“main” opened" in titles(board)
    assert "“main” closed" not in titles(board)
    assert "“main” closed" in [event.title for event in events.events(board, now + 2 * hour)]


def test_runs_under_sealed_settings_and_withdrawn_ones_are_not_told(board: Benchmark) -> None:
    Setting.objects.update(sealed=True, closes_at=timezone.now() + timedelta(hours=1))
    assert "“Net” (team kelpie)" not in titles(board)
    Setting.objects.update(sealed=False)
    assert "“Net” (team kelpie)" in titles(board)
    Submission.objects.update(withdrawn_at=timezone.now())
    assert "“Net” (team kelpie)" not in titles(board)


def test_a_reader_finds_the_feed_on_the_board_and_reads_it(client: Client, board: Benchmark) -> None:
    page = client.get("/boards/rel/").content.decode()
    assert '<link rel="alternate" type="application/atom+xml" href="/boards/rel/feed.atom">' in page
    assert '<a href="/boards/rel/feed.atom">' in page
    answer = client.get("/boards/rel/feed.atom")
    assert answer.headers["Content-Type"] == "application/atom+xml; charset=utf-8"
    feed = ET.fromstring(answer.content)
    assert feed.find("a:author/a:name", ATOM) is not None  # without one no reader finds the feed valid
    summaries = [each.text for each in feed.findall("a:entry/a:summary", ATOM)]
    assert summaries == [
        "Mended &lt;twice&gt;.",
        "2 systems shown beside those scored here, unranked, under “main”.",
        "Its first run was scored.",
    ]
    ids = [each.text for each in feed.findall("a:entry/a:id", ATOM)]
    assert len(set(ids)) == 3
    links = [each.attrib["href"] for each in feed.findall("a:entry/a:link", ATOM)]
    assert links[0] == "http://testserver/boards/rel/settings/main/versions/2/"
    assert client.get("/boards/rel/feed.atom").content == answer.content


def test_control_characters_do_not_break_the_feed(client: Client, board: Benchmark) -> None:
    board.settings.get().versions.filter(number=2).update(note="Bell \x07.")
    ET.fromstring(client.get("/boards/rel/feed.atom").content)


def test_the_feed_and_the_home_page_tell_two_systems_apart_whose_words_with_their_teams_are_the_same(
    cast: BenchmarkCast, client: Client
) -> None:
    benchmark, kelpie, lugworm = cast.relations(), cast.kelpie, cast.lugworm
    Team.objects.filter(pk=lugworm.pk).update(name=f"Experts of {kelpie}")
    cast.submit(benchmark, LINES, system="Mixture", team=lugworm, by=cast.lars)
    cast.submit(benchmark, LINES, system="Mixture of Experts", team=kelpie, by=cast.kim)
    while run_next("score"):
        pass
    shown = [f"“Mixture” (team {lugworm.slug})", f"“Mixture of Experts” (team {kelpie.slug})"]
    assert sorted(titles(benchmark)) == sorted(shown)
    page = client.get("/").content.decode()
    assert [page.count(title) for title in shown] == [1, 1]


@pytest.mark.parametrize("systems", [1, 3])
def test_the_number_of_queries_does_not_grow_with_systems(
    cast: BenchmarkCast, django_assert_num_queries: object, systems: int
) -> None:
    benchmark = cast.relations()
    for system in range(systems):
        cast.submit(benchmark, LINES, system=f"Net {system}")
    while run_next("score"):
        pass
    with django_assert_num_queries(5):  # type: ignore[operator]
        assert len(events.events(benchmark)) == systems


def test_the_home_page_has_the_events_of_public_boards_in_a_constant_number_of_queries(
    client: Client, cast: BenchmarkCast, board: Benchmark
) -> None:
    page = client.get("/").content.decode()
    assert [title in page for title in ("Version 2 of “main”", "“Net” (team kelpie)")] == [True, True]
    other = cast.benchmark(slug="other")
    counts = []
    for benchmarks in ([board], [board, other]):
        with CaptureQueriesContext(connection) as queries:
            found = events.events_of(benchmarks)
        assert [each.title for each in found] == titles(board)
        counts.append(len(queries))
    assert counts[0] == counts[1]
    Benchmark.objects.update(public=False)
    for user, shown in ((cast.olga, True), (person("stranger"), False)):
        client.force_login(user)
        assert ("“Net” (team kelpie)" in client.get("/").content.decode()) is shown
