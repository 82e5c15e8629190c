"""Memory of the web process while it receives a large file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from evalsvc.core.accounts.tokens import issue
from evalsvc.evaluation.models import Submission
from evalsvc.local.embedded_broker import EmbeddedBroker
from tests.cast.benchmarks import BenchmarkCast, freeze, gold_sentence
from tests.places.web import Web

SENTENCES, LABELS = 7_000, [f"relation_{n}" for n in range(120)]
MEGABYTES, GROWTH = 30, 20


@pytest.fixture
def web(sqlite: None, broker: EmbeddedBroker, tmp_path: Path) -> Iterator[Web]:
    started = Web(broker_url=broker.url, log=tmp_path / "web.log")
    yield started.wait_until_ready()
    started.stop()


@pytest.fixture
def token(sqlite: None) -> str:
    """A token for the benchmark `rel`, which takes a score per label and sentence."""
    cast = BenchmarkCast.create()
    gold = freeze(
        "gold", (gold_sentence(f"s{n}", "Q1", "Q2") for n in range(SENTENCES)), by=cast.olga, labels=LABELS
    )
    cast.benchmark(labels=LABELS, settings=[("main", gold, "sentence", "ap")])
    return issue(cast.kim, name="cluster", team=cast.kelpie)[1]


def scores(path: Path, *, seed: int) -> Path:
    """Write every score of every sentence."""
    with path.open("w") as file:
        for n in range(SENTENCES):
            line = {label: 1 / (seed + 1 + (n * 7 + at) % 1_000) for at, label in enumerate(LABELS)}
            file.write(json.dumps({"id": f"s{n}", "scores": line}) + "\n")
    return path


def raw(path: Path) -> tuple[str, Iterable[bytes], int]:
    return "application/x-ndjson", pieces(path), path.stat().st_size


def form(path: Path) -> tuple[str, Iterable[bytes], int]:
    """The file as the part of a form that browsers and `curl -F` send."""
    head = b'--edge\r\nContent-Disposition: form-data; name="file"; filename="net.jsonl"\r\n\r\n'
    foot = b"\r\n--edge--\r\n"

    def whole() -> Iterator[bytes]:
        yield head
        yield from pieces(path)
        yield foot

    length = len(head) + path.stat().st_size + len(foot)
    return "multipart/form-data; boundary=edge", whole(), length


def pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        yield from iter(lambda: file.read(1 << 16), b"")


def send(web: Web, token: str, run: str, body: tuple[str, Iterable[bytes], int]) -> dict[str, Any]:
    kind, content, length = body
    headers = {"Authorization": f"Bearer {token}", "Content-Type": kind, "Content-Length": str(length)}
    address = f"{web.url}/api/v1/benchmarks/rel/submissions?system=Net&run={run}"
    with urlopen(Request(address, data=content, headers=headers), timeout=120) as answer:
        reply: dict[str, Any] = json.load(answer)
        return reply


def test_thirty_megabytes_grow_the_web_process_by_less_than_twenty(
    web: Web, token: str, tmp_path: Path
) -> None:
    path = tmp_path / "net.jsonl"
    send(web, token, "warm", raw(scores(path, seed=0)))
    for seed, way in enumerate((raw, form), 1):
        body = way(scores(path, seed=seed))
        assert path.stat().st_size > MEGABYTES * 1_000_000
        web.reset_peak()
        before = web.megabytes("VmRSS")
        reply = send(web, token, way.__name__, body)
        grown = web.megabytes("VmHWM") - before
        assert Submission.objects.get(pk=reply["id"]).counts["claims"] == SENTENCES * len(LABELS)
        assert grown < GROWTH, (way, web.log_text())
