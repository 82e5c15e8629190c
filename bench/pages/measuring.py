"""CPU time and queries of each page, in this process."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.conf import settings
from django.db import connection
from django.http.response import HttpResponseBase
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.models import Annotator, Item, Project
from evalsvc.core.accounts.models import User
from evalsvc.evaluation.models import Submission, System
from evalsvc.evaluation.pages import boards

ROUNDS, LONG = 5, 1.0  # a page that takes longer is measured twice


class Page(NamedTuple):
    """A route as a person requests it; nobody is logged in as ""."""

    title: str
    who: str
    address: str


class Measured(NamedTuple):
    page: Page
    milliseconds: float
    queries: int
    kilobytes: int


def pages() -> Iterator[Page]:
    """The pages and lists, as those see them who see most."""
    yield from _lists()
    yield from _board_pages()
    yield from _organiser_pages()
    yield from _project_pages()
    yield from _test_set_pages()


def _each(who: str, *names: str, query: str = "", **fields: Any) -> Iterator[Page]:
    for name in names:
        yield Page(f"{name}{query}", who, reverse(name, kwargs=fields) + query)


def _lists() -> Iterator[Page]:
    yield from _each("", "home", "boards", "releases", "status", "api-status")
    yield from _each("kim", "home", "api-benchmarks", "submissions", "account")
    yield from _each("kim", "team", slug="kelpie")
    yield from _each("curator", "home", "label-index", "projects", "test-sets")
    yield from _each("curator", "api-projects", "api-test-sets")
    yield from _each("ann", "home", "label-index", "projects")
    yield from _each("olga", "board-new", "project-new", "release-check", "test-set-import")


def _board_pages() -> Iterator[Page]:
    big, run = {"slug": "big"}, Submission.objects.filter(benchmark__slug="big").latest("pk")
    yield from _each("", "board", "board-ranks", "board-feed", **big)
    last = -(-System.objects.filter(benchmark__slug="big").count() // boards.ROWS)
    for query in (f"?page={min(last, 2)}", "?setting=k1&order=accuracy", f"?{COLUMNS}&team=kelpie"):
        yield from _each("", "board", query=query, **big)
    yield from _each("", "board", slug="b0")
    yield from _each("", "setting", **big, key="k0")
    yield from _each("", "system", **big, pk=run.system_id)
    yield from _each("kim", "api-system", **big, pk=run.system_id)
    yield from _each("kim", "api-board-view", "board-errors", "board-take-part", **big)
    yield from _each("kim", "board-announcements", "board-measures", "api-announcements", "api-entry", **big)
    yield from _each("kim", "board-views", "api-saved-views", **big)
    yield from _each("kim", "api-benchmark-measures", "submit", "api-submissions", "api-benchmark", **big)
    yield from _each("kim", "api-benchmark-limits", query="?team=kelpie", **big)
    systems = System.objects.filter(benchmark__slug="big").select_related("team").order_by("pk")[:2]
    two = "?" + urlencode({"systems": [f"{each.team.slug}/{each.name}" for each in systems]}, doseq=True)
    yield from _each("kim", "board-compare", "api-compare", query=two, **big)
    yield from _each("kim", "submission", "submission-state", "api-submission", "api-scores", pk=run.pk)


def _organiser_pages() -> Iterator[Page]:
    big = {"slug": "big"}
    yield from _each(
        "olga", "board", "board-organise", "board-ledger", "board-log", "board-change", "setting-new", **big
    )
    yield from _each("olga", "api-ledger", "api-benchmark-log", "board-runs", "board-entrants", **big)
    yield from _each("olga", "board-people", "api-entrants", "api-old-names", **big)
    of_setting = {**big, "key": "k0"}
    yield from _each("olga", "setting-change", "setting-revise", "setting-reported", **of_setting)
    yield from _each("olga", "api-reported", "api-versions", **of_setting)


def _project_pages() -> Iterator[Page]:
    huge, of = Project.objects.get(slug="huge"), {"slug": "huge"}
    disputed = Item.objects.filter(project=huge, state="disputed").earliest("rank")
    busy = Annotator.objects.filter(project=huge).earliest("pk")
    batch, label = huge.batches.earliest("pk"), huge.labels.earliest("rank")
    yield from _each("curator", "project", "progress", "project-quality", "project-members", "ontology", **of)
    yield from _each("curator", "disputes", "comments", "otherwise", "agreement", "freeze", **of)
    yield from _each("curator", "project-import", "project-log", "project-guideline", "candidates", **of)
    yield from _each("curator", "progress-days-csv", "progress-days-svg", "progress-people-csv", **of)
    yield from _each("curator", "progress-labels-csv", "api-project", "api-insight", "api-disputes", **of)
    yield from _each("curator", "api-ontology", "api-comments", "api-quality", "sentences", "api-items", **of)
    yield from _each("curator", "disputes-bulk", **of, query=f"?{urlencode({'pattern': disputed.pattern})}")
    yield from _each("curator", "ontology-order", "api-imports", "api-ontology-steps", **of)
    yield from _each("curator", "api-project-log", "ontology-plan", "api-guidelines", "api-members", **of)
    yield from _each("curator", "ontology-versions", "api-ontology-versions", **of)
    yield from _each("curator", "api-ontology-version", **of, number=2)
    yield from _each("curator", "api-candidates", **of)
    yield from _each("curator", "second-readings", "api-second-readings", **of)
    for query in (
        "?label=A&q=nowhere",
        *(f"?order={order}" for order in ORDERS),
    ):
        yield from _each("curator", "sentences", **of, query=query)
    yield from _each("curator", "sentence", "dispute", **of, key=disputed.key)
    yield from _each("curator", "api-dispute", id=disputed.key)
    yield from _each("curator", "ontology-label", "api-ontology-label", **of, pk=label.pk)
    yield from _each("curator", "annotator", **of, pk=busy.pk)
    yield from _each("curator", "import", "api-import", pk=batch.pk)
    yield from _each("ann", "project", "label", "mine", "mine-svg", "api-project", "api-history", **of)
    yield from _each("vera", "progress", **of)


def _test_set_pages() -> Iterator[Page]:
    first = {"slug": "set-1"}
    yield from _each("olga", "test-set", "api-test-set", "test-set-publish", "test-set-companions", **first)
    yield from _each(
        "olga", "test-set-card", "test-set-export", "test-set-split", "test-set-mapping", **first
    )
    yield from _each("olga", "test-set-leakage", "api-test-set-card", "api-test-set-companions", **first)
    yield from _each("olga", "api-test-set-downloads", "api-test-set-releases", "api-test-set-log", **first)
    yield from _each("", "release", **first)
    yield from _each("kim", "api-release", **first)


COLUMNS = "columns=k0:micro_f1&columns=k1:accuracy"
ORDERS = ("id", "split", "answered", "answered&state=disputed")


def measure(page: Page) -> Measured:
    """The median of several requests after a first one."""
    settings.ALLOWED_HOSTS = ["*"]
    client = Client()
    if page.who:
        client.force_login(User.objects.get(username=page.who))
    with CaptureQueriesContext(connection) as queries:
        seconds, size = _request(client, page)
    n_queries = len(queries)
    gc.collect()
    gc.freeze()  # as web processes do with what is loaded
    rounds = []
    for _ in range(1 if seconds > LONG else ROUNDS):
        seconds, size = _request(client, page)
        rounds.append(seconds)
    return Measured(page, 1_000 * statistics.median(rounds), n_queries, size // 1_000)


def _request(client: Client, page: Page) -> tuple[float, int]:
    begun = time.process_time()
    response: HttpResponseBase = client.get(page.address)
    body = b"".join(response.streaming_content) if response.streaming else response.content
    seconds = time.process_time() - begun
    if response.status_code != 200:
        raise RuntimeError(f"{page.address} as {page.who or 'nobody'}: {response.status_code}")
    return seconds, len(body)
