"""Every way in which a prediction file can be wrong, and the answer word for word the same each time."""

from __future__ import annotations

import re
import socket
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.test import Client

from evalsvc.core.accounts.tokens import issue
from evalsvc.core.formats.problem_kinds import KINDS
from evalsvc.core.jobs.models import Job
from evalsvc.evaluation.models import Submission
from tests.cast.basics import jsonl
from tests.cast.benchmarks import RELATION_GOLD, BenchmarkCast, freeze
from tests.corpus.broken import BROKEN, ELSEWHERE, ROOM, TOO_LARGE, Broken

SOFTWARE = re.compile(r"\b(str|int|float|bool|dict|None|NoneType|Error|Traceback)\b")


SCORES = jsonl({"id": f"s{n}", "scores": {"born_in": 0.5}} for n in range(1, 7))


@pytest.fixture
def cast(request: pytest.FixtureRequest, settings: Any, tmp_path: Any) -> BenchmarkCast:
    """The boards `rel`, `bags` and `ner`."""
    if "live" not in request.fixturenames:
        request.getfixturevalue("db")
    settings.MEDIA_ROOT = tmp_path / "files"
    cast = BenchmarkCast.create()
    cast.relations()
    cast.entities(options={"scheme": "IOB2"})
    step = {"operation": "split", "sources": ["job"], "target": "", "targets": ["works_for", "part_of"]}
    gold = freeze("gold-bags", RELATION_GOLD, by=cast.olga, steps=[step])
    bags = [("main", gold, "bag", "micro_f1")]
    cast.benchmark("bags", settings=bags, options={"map_old_labels": True})
    return cast


@pytest.fixture
def bearer(cast: BenchmarkCast) -> dict[str, str]:
    """Kim's token."""
    return {"Authorization": f"Bearer {issue(cast.kim, name='cluster', team=cast.kelpie)[1]}"}


@pytest.fixture
def little_room(settings: Any) -> None:
    settings.UPLOAD_MAX_LINES, settings.UPLOAD_MAX_LINE_BYTES = ROOM["lines"], ROOM["line"]
    settings.UPLOAD_MAX_UNPACKED_BYTES, settings.UPLOAD_MAX_BYTES = ROOM["unpacked"], ROOM["sent"]


def send(address: str, content: bytes, bearer: dict[str, str]) -> Any:
    address = f"/api/v1/benchmarks/{address}"
    return Client().post(address, content, "application/octet-stream", headers=bearer)


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: f"{broken.board}: {broken.name}")
@pytest.mark.usefixtures("little_room")
def test_a_broken_file_gets_the_codes_of_the_table_and_an_example_that_fits(
    broken: Broken, bearer: dict[str, str]
) -> None:
    checked = send(f"{broken.board}/check", broken.content, bearer)
    reply = checked.json()
    assert checked.status_code == 200
    first = reply["errors"][0]
    assert (first["code"], first.get("line"), reply["errors_by_code"]) == (
        broken.code,
        broken.line,
        broken.counts,
    )
    assert reply["error_count"] == sum(broken.counts.values())
    assert first["message"]
    assert [key for key in ("found", "expected", "example") if not first.get(key)] == []
    assert not SOFTWARE.search(first["message"])
    if KINDS[broken.code].use_file_line and broken.code != "wrong_columns":
        again = send(f"{broken.board}/check", f"{first['example']}\n".encode(), bearer).json()
        columns = "\t" in first["example"]  # one word stands for a sentence there
        assert again["errors_by_code"].keys() <= {"missing_id"} | ({"token_mismatch"} if columns else set())
    refused = send(f"{broken.board}/submissions?system=Net&run=1", broken.content, bearer)
    assert (refused.status_code, refused.json()["errors"]) == (422, reply["errors"])
    assert not Submission.objects.exists()
    assert not Job.objects.exists()


@pytest.mark.parametrize("left", [1, 60, 300])
@pytest.mark.parametrize("form", [False, True])
def test_a_truncated_body_makes_no_submission(live: str, cast: BenchmarkCast, left: int, form: bool) -> None:
    """Its half reads well: where silence is an answer, half a file would be taken for a whole one."""
    secret = issue(cast.kim, name="cluster", team=cast.kelpie)[1]
    content, kind = SCORES, "application/x-ndjson"
    if form:
        kind = "multipart/form-data; boundary=bound"
        head = b'--bound\r\nContent-Disposition: form-data; name="file"; filename="net.jsonl"\r\n\r\n'
        content = head + content + b"\r\n--bound--\r\n"
    reply = [
        "POST /api/v1/benchmarks/rel/submissions?system=Net&run=1 HTTP/1.1",
        f"Host: {urlsplit(live).netloc}",
        f"Authorization: Bearer {secret}",
        f"Content-Type: {kind}",
        f"Content-Length: {len(content)}",
    ]
    with socket.create_connection((urlsplit(live).hostname or "", urlsplit(live).port or 0), 60) as line:
        line.sendall("\r\n".join([*reply, "", ""]).encode() + content[:-left])
        line.shutdown(socket.SHUT_WR)
        answer = line.makefile("rb").read()
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b'"cut_short"' in answer
    assert not Submission.objects.exists()


@pytest.mark.parametrize(
    "content", [content for _, content in TOO_LARGE], ids=[name for name, _ in TOO_LARGE]
)
@pytest.mark.usefixtures("little_room")
def test_a_file_over_the_limit_is_answered_with_the_limit(content: bytes, bearer: dict[str, str]) -> None:
    for address in ("rel/check", "rel/submissions?system=Net&run=1"):
        answer = send(address, content, bearer)
        assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
        assert answer.json()["limit"] in (ROOM["sent"], ROOM["unpacked"])


def test_the_table_has_every_code_that_a_prediction_file_can_have() -> None:
    seen = {code for broken in BROKEN for code in broken.counts}
    assert seen == {code for code, kind in KINDS.items() if not kind.warning} - ELSEWHERE
