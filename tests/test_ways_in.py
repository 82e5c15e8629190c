"""Every form of predictions, sent raw, gzipped, in a form, in a form gzipped."""

from __future__ import annotations

import gzip
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from evalsvc.core.accounts.tokens import issue
from evalsvc.core.jobs.models import Job
from evalsvc.evaluation.models import Benchmark, PredictionFile, Submission
from tests.cast.basics import jsonl
from tests.cast.benchmarks import ENTITY_GOLD, RELATION_GOLD, BenchmarkCast, freeze
from tests.corpus.broken import CONLL, PAIR, WHOLE, npy

IDS = [line["id"] for line in RELATION_GOLD]
FORMS: dict[str, tuple[str, str, str, bytes]] = {
    "labels": ("rel", "jsonl-predictions", "label", WHOLE),
    "sets of labels": (
        "rel", "jsonl-predictions", "labels", jsonl({"id": name, "labels": ["born_in"]} for name in IDS),
    ),
    "scores": (
        "rel", "jsonl-predictions", "scores", jsonl({"id": name, "scores": {"born_in": 0.5}} for name in IDS),
    ),
    "scored triples": ("bags", "jsonl-predictions", "bag", PAIR),
    "OpenNRE results": (
        "bags", "opennre-results", "bag", b'{"entpair":["Q1","Q2"],"relation":"born_in","score":0.5}\n',
    ),
    "SemEval answers": ("answers", "semeval-answers", "label", b"1\tborn_in\n2\tN/A\n"),
    "an array": ("rel", "npy", "scores", npy()),
    "CoNLL columns": ("ner", "conll", "tags", CONLL),
    "spans": (
        "ner", "jsonl-predictions", "spans", jsonl({"id": doc["id"], "spans": []} for doc in ENTITY_GOLD),
    ),
    "tags": (
        "ner", "jsonl-predictions", "tags",
        jsonl({"id": doc["id"], "tags": ["O"] * len(doc["tokens"])} for doc in ENTITY_GOLD),
    ),
}  # fmt: skip
WAYS = ("raw", "raw, gzip", "a form", "a form, gzip")


@pytest.fixture
def bearer(db: None, settings: Any, tmp_path: Any) -> dict[str, str]:
    """Kim's token; there is a benchmark for each kind of gold."""
    settings.MEDIA_ROOT = tmp_path / "files"
    cast = BenchmarkCast.create()
    cast.relations()
    cast.entities(options={"scheme": "IOB2"})
    bags = freeze("gold-bags", RELATION_GOLD, by=cast.olga)
    cast.benchmark("bags", settings=[("main", bags, "bag", "micro_f1")])
    numbered = [line | {"id": str(n)} for n, line in enumerate(RELATION_GOLD[:2], 1)]
    cast.benchmark(
        "answers", settings=[("main", freeze("n", numbered, by=cast.olga), "sentence", "micro_f1")]
    )
    return {"Authorization": f"Bearer {issue(cast.kim, name='cluster', team=cast.kelpie)[1]}"}


def send(way: str, board: str, content: bytes, bearer: dict[str, str], *, act: str, run: str) -> Any:
    sent = gzip.compress(content) if way.endswith("gzip") else content
    address = f"/api/v1/benchmarks/{board}/{act}"
    if way.startswith("raw"):
        address += f"?system=Net&run={run}"
        return Client().post(address, sent, "application/octet-stream", headers=bearer)
    reply = {"system": "Net", "run": run, "file": SimpleUploadedFile("net", sent)}
    return Client().post(address, reply, headers=bearer)


@pytest.mark.parametrize("name", FORMS)
def test_a_file_is_stored_once_however_it_is_sent(name: str, bearer: dict[str, str]) -> None:
    board, format, form, content = FORMS[name]
    for way in WAYS:
        checked = send(way, board, content, bearer, act="check", run="").json()
        assert checked["errors"] == [], way
        assert (checked["fits"], checked["format"], checked["form"]) == (True, format, form), way
    assert not Submission.objects.exists()
    answers = [send(way, board, content, bearer, act="submissions", run=way) for way in WAYS]
    assert [answer.status_code for answer in answers] == [202] * len(WAYS)
    assert {(each["format"], each["form"]) for each in (a.json() for a in answers)} == {(format, form)}
    assert PredictionFile.objects.count() == 1


def test_twenty_problems_are_listed_and_all_are_counted(bearer: dict[str, str]) -> None:
    lines = jsonl({"id": name, "label": "born-in"} for name in IDS * 50)
    for act, status in (("check", 200), ("submissions", 422)):
        answer = send("raw", "rel", lines, bearer, act=act, run="1")
        reply = answer.json()
        assert (answer.status_code, len(reply["errors"]), reply["error_count"]) == (status, 20, 594)
        assert reply["errors_by_code"] == {"near_label": 300, "duplicate_id": 294}


def test_invalid_files_and_checks_use_no_quota_and_no_job(bearer: dict[str, str]) -> None:
    Benchmark.objects.filter(slug="rel").update(per_day=1, in_total=1, at_once=1)
    for _ in range(3):
        assert send("raw", "rel", b"{", bearer, act="submissions", run="1").status_code == 422
        assert send("raw", "rel", WHOLE, bearer, act="check", run="1").json()["fits"]
    assert not Job.objects.exists()
    assert send("raw", "rel", WHOLE, bearer, act="submissions", run="1").status_code == 202
    reply = send("raw", "rel", WHOLE, bearer, act="submissions", run="2")
    assert reply.status_code == 429
    assert reply.json()["code"].startswith("quota_")
    assert int(reply.headers["Retry-After"]) > 0


@pytest.mark.parametrize("way", WAYS)
def test_a_file_over_the_limit_is_answered_with_the_documented_limit(
    way: str, bearer: dict[str, str], settings: Any
) -> None:
    settings.UPLOAD_MAX_BYTES = 1_000_000
    limits = Client().get("/api/v1/benchmarks/rel/limits", headers=bearer).json()
    content = b"".join(b'{"id": "%032x", "label": "%064x"}\n' % (n, n * n) for n in range(40_000))
    settings.UPLOAD_MAX_BYTES = limits["upload_bytes"] // 10
    limits = Client().get("/api/v1/benchmarks/rel/limits", headers=bearer).json()
    answer = send(way, "rel", content, bearer, act="submissions", run="1")
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
    assert answer.json()["limit"] == limits["upload_bytes"]
    assert answer.headers["Content-Type"] == "application/problem+json"
