"""CPU time and queries of each page, in this process."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from django.conf import settings
from django.db import connection
from django.http.response import HttpResponseBase
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.models import Annotator, Item, Project
from evalsvc.core.accounts.models import User
from evalsvc.evaluation.models import Submission

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
    huge = Project.objects.get(slug="huge")
    disputed = Item.objects.filter(project=huge, state="disputed").earliest("rank")
    busy = Annotator.objects.filter(project=huge).earliest("pk")
    run = Submission.objects.filter(benchmark__slug="big").latest("pk")
    label = huge.labels.earliest("rank")

    def each(who: str, *names: str, query: str = "", **fields: Any) -> Iterator[Page]:
        for name in names:
            yield Page(f"{name}{query}", who, reverse(name, kwargs=fields) + query)

    yield from each("", "home", "boards")
    yield from each("kim", "home", "api-benchmarks", "submissions", "account")
    yield from each("curator", "home")
    yield from each("ann", "home", "label-index", "projects")
    big = {"slug": "big"}
    yield from each("", "board", **big)
    yield from each("", "board", query="?page=2", **big)
    yield from each("", "board", slug="b0")
    yield from each("", "board-ranks", **big)
    yield from each("", "setting", **big, key="k0")
    yield from each("kim", "submit", "api-submissions", "api-benchmark", **big)
    yield from each("olga", "board", "board-organise", "board-ledger", "board-change", "setting-new", **big)
    yield from each("olga", "api-ledger", "api-benchmark-log", **big)
    yield from each("kim", "submission", "api-submission", "api-scores", pk=run.pk)
    yield from each("kim", "submissions", query=f"?ids={run.pk},{run.pk - RUNS_APART}")
    yield from each("kim", "team", slug="kelpie")
    yield from each("", "status", "api-status")
    yield from each("curator", "label-index", "projects", "test-sets", "api-projects", "api-test-sets")
    of = {"slug": "huge"}
    yield from each("curator", "project", "progress", "project-quality", "project-members", "ontology", **of)
    yield from each("curator", "disputes", "comments", "otherwise", "agreement", "freeze", **of)
    yield from each("curator", "project-import", "project-log", "project-guideline", **of)
    yield from each("curator", "progress-days-csv", "progress-days-svg", "progress-people-csv", **of)
    yield from each("curator", "progress-labels-csv", "api-project", "api-insight", "api-disputes", **of)
    yield from each("curator", "api-ontology", "api-comments", "api-quality", **of)
    yield from each("curator", "sentences", "api-items", **of)
    yield from each("curator", "sentences", **of, query="?label=A&q=nowhere")
    for order in ("id", "split", "answered", "answered&state=disputed"):
        yield from each("curator", "sentences", **of, query=f"?order={order}")
    yield from each("curator", "sentence", **of, key=disputed.key)
    yield from each("curator", "ontology-label", **of, pk=label.pk)
    yield from each("curator", "annotator", **of, pk=busy.pk)
    yield from each("curator", "dispute", **of, key=disputed.key)
    yield from each("curator", "api-dispute", id=disputed.key)
    yield from each("ann", "project", "label", "mine", "mine-svg", "api-project", "api-history", **of)
    yield from each("vera", "progress", **of)
    yield from each("olga", "test-set", "api-test-set", slug="set-1")


RUNS_APART = 5  # the last run of the system before


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
