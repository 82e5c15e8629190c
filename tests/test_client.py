"""The command-line client against a running service, and each of its exit codes."""

from __future__ import annotations

import gzip
import json
import os
import re
import socket
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from urllib.request import urlopen

import numpy as np
import pytest

from evalsvc import client as program
from evalsvc.client import Client, ServiceError, ServiceUnreachable
from evalsvc.core.accounts.models import Team, User
from evalsvc.core.accounts.tokens import issue
from evalsvc.evaluation.benchmarks import creation
from evalsvc.evaluation.comparison import compared
from evalsvc.evaluation.models import Setting, Submission
from evalsvc.openapi import Generator
from tests.cast.basics import jsonl, sentence
from tests.cast.benchmarks import RELATION_GOLD, BenchmarkCast, freeze
from tests.cast.projects import ProjectCast
from tests.conftest import StartWorker
from tests.workers.handlers.test_score import LABEL_LINES
from workers.runner import run_next

BROKEN = jsonl([*LABEL_LINES[:5], {"id": "s6", "label": "part_off"}])


@pytest.fixture
def token(live: str) -> str:
    """A token of Kim, whose team may submit to the benchmark `rel`."""
    cast = BenchmarkCast.create()
    cast.relations(title="Port news")
    return of_kim()


def of_kim(*, scope: str = "submit") -> str:
    kim, team = User.objects.get(username="kim"), Team.objects.get(slug="kelpie")
    return issue(kim, name=scope, team=team, scope=scope)[1]


@pytest.fixture
def run_file(tmp_path: Path) -> Path:
    path = tmp_path / "net.jsonl"
    path.write_bytes(jsonl(LABEL_LINES))
    return path


def run(url: str, token: str, folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    """Run the downloaded file, by a Python without installed packages."""
    script = folder / "evalsvc_client.py"
    if not script.exists():
        script.write_bytes(urlopen(f"{url}/client/evalsvc_client.py").read())
    env = {"PATH": os.environ["PATH"], "EVALSVC_URL": url, "EVALSVC_TOKEN": token}
    command = [sys.executable, "-I", "-S", str(script), *map(str, words)]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)


def test_a_problem_of_many_lines_is_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    near = [
        program.FileProblem(code="near_label", line=n, message=f"Line {n:,}, field label: NA")
        for n in range(1, 9)
    ]
    other: program.FileProblem = {"code": "missing_id", "message": "One id is missing.", "example": "{}"}
    program.show_problems([*near[:2], other, *near[2:]], 300)
    assert capsys.readouterr().out.splitlines() == [
        "near_label: Line 1, field label: NA",
        "    also in lines 2, 3, 4, 5, 6 and 2 more",
        "missing_id: One id is missing.",
        "    example: {}",
        "… and 291 more.",
    ]


@pytest.mark.worker
def test_a_run_is_validated_submitted_watched_and_its_scores_printed(
    live: str, token: str, run_file: Path, tmp_path: Path, worker: StartWorker
) -> None:
    worker()
    checked = run(live, token, tmp_path, "validate", "rel", run_file)
    assert (checked.returncode, checked.stderr) == (0, "")
    assert "jsonl-predictions, label; 6 lines" in checked.stdout
    sent = run(live, token, tmp_path, "submit", "rel", run_file, "--system", "Net", "--run", 1, "--watch")
    assert (sent.returncode, sent.stderr) == (0, "")
    submission = Submission.objects.get()
    assert f"Submission {submission.pk}: scored" in sent.stdout
    assert (submission.state, submission.filename) == ("scored", "net.jsonl")
    seen = run(live, token, tmp_path, "status", submission.pk, "--watch")
    assert seen.returncode == 0
    scores = json.loads(run(live, token, tmp_path, "scores", submission.pk, "--json").stdout)
    assert scores["evaluations"][0]["scores"]["micro_f1"]["value"] == 0.5
    assert (
        f"{'micro_f1':<28} 0.5        micro F1\n"
        in run(live, token, tmp_path, "scores", submission.pk).stdout
    )


def test_scores_of_an_earlier_version_are_printed_on_request(
    live: str, token: str, run_file: Path, tmp_path: Path, broker: object
) -> None:
    setting, olga = Setting.objects.get(), User.objects.get(username="olga")
    sent = Client(live, token).submit("rel", run_file, system="Net", run="1")
    while run_next("score"):
        pass
    assert "main\n" in run(live, token, tmp_path, "scores", sent["id"]).stdout
    creation.revise_setting(setting, test_set=freeze("fewer", RELATION_GOLD[:5], by=olga), by=olga)
    while run_next("score"):
        pass
    for words, number in (([], 2), (["--version", 1], 1)):
        shown = run(live, token, tmp_path, "scores", sent["id"], *words).stdout
        assert f"main (version {number}; available: 1, 2)\n" in shown
    assert Client(live, token).scores(sent["id"], version=1)["evaluations"][0]["versions"] == [1]


def test_a_measure_is_proposed_admitted_listed_and_retired(
    live: str, token: str, run_file: Path, tmp_path: Path, broker: object
) -> None:
    Client(live, token).submit("rel", run_file, system="Net", run="1")
    while run_next("score"):
        pass
    parts = '{"base": "classification", "beta": 2}'
    of_runs = run(live, token, tmp_path, "propose", "rel", "micro_f2", parts, "--title", "own F2")
    assert (of_runs.returncode, "scope" in of_runs.stderr) == (3, True)
    token = of_kim(scope="full")
    proposed = run(live, token, tmp_path, "propose", "rel", "micro_f2", parts, "--title", "own F2")
    assert proposed.stdout.startswith("micro_f2 1: own F2 (proposed)\n  mean of F2"), proposed.stderr
    refused = run(live, token, tmp_path, "admit", "rel", "micro_f2")
    assert (refused.returncode, refused.stderr.partition(":")[0]) == (3, "needs_own_token")
    organiser = issue(User.objects.get(username="olga"), name="desk", scope="full")[1]
    assert "(admitted, 0 of 1 scored)" in run(live, organiser, tmp_path, "admit", "rel", "micro_f2").stdout
    assert run_next("score")
    assert "micro_f2 1: own F2 (admitted)\n" in run(live, token, tmp_path, "measures", "rel").stdout
    retired = run(live, organiser, tmp_path, "retire", "rel", "micro_f2", "--version", 1)
    assert "(retired)" in retired.stdout
    listed = json.loads(run(live, token, tmp_path, "measures", "rel", "--json").stdout)
    assert [(each["key"], each["state"]) for each in listed] == [("own_micro_f2_v1", "retired")]
    broken = run(live, token, tmp_path, "propose", "rel", "x", "{base}")
    assert (broken.returncode, "is not JSON" in broken.stderr) == (2, True)


def test_an_invalid_file_exits_with_1_and_names_the_line(live: str, token: str, tmp_path: Path) -> None:
    file = tmp_path / "broken.jsonl"
    file.write_bytes(BROKEN)
    for words in (["validate", "rel", file], ["submit", "rel", file, "--system", "Net", "--run", 1]):
        ended = run(live, token, tmp_path, *words)
        assert ended.returncode == 1
        assert "near_label: Line 6, field label:" in ended.stdout
        assert 'example: {"id": "s1", "label": "part_of"}' in ended.stdout
    assert not Submission.objects.exists()


def test_a_rejected_request_exits_with_3(live: str, token: str, run_file: Path, tmp_path: Path) -> None:
    ended = run(live, "evs_wrong", tmp_path, "status", 1)
    assert (ended.returncode, ended.stderr.partition(":")[0]) == (3, "bad_token")
    ended = run(live, token, tmp_path, "scores", 999)
    assert (ended.returncode, ended.stderr.partition(":")[0]) == (3, "not_found")


def test_wrong_arguments_exit_with_2(capsys: Any) -> None:
    assert program.main(["--url", "ftp://somewhere", "status", "1"]) == 2
    assert program.main(["--url", "http://127.0.0.1:1", "validate", "rel", "no-such-file"]) == 2
    with pytest.raises(SystemExit) as ended:
        program.main(["submit", "rel"])
    assert ended.value.code == 2


def test_submitting_again_with_the_same_key_returns_the_same_submission(
    live: str, token: str, run_file: Path, broker: object
) -> None:
    client = Client(live, token)
    first = client.submit("rel", run_file, system="Net", run="1", key="nightly")
    again = client.submit("rel", run_file, system="Net", run="1", key="nightly")
    assert first["id"] == again["id"]
    with pytest.raises(ServiceError) as refused:
        client.submit("rel", run_file, system="Net", run="2", key="nightly")
    assert (refused.value.status, refused.value.code) == (409, "key_reused")


def test_a_gzip_file_is_sent_unchanged(live: str, token: str, tmp_path: Path) -> None:
    file = tmp_path / "net.jsonl.gz"
    file.write_bytes(gzip.compress(jsonl(LABEL_LINES)))
    with program.gzipped(file) as sent:
        sent.seek(0)
        assert sent.read() == file.read_bytes()
    assert Client(live, token).validate("rel", file)["fits"]


# ---- transient failures ------------------------------------------------------------------
class FailingService(BaseHTTPRequestHandler):
    """Gives the listed answers in order and records each request."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        server: Any = self.server
        packed = body.startswith(b"\x1f\x8b")
        server.seen.append((dict(self.headers), gzip.decompress(body) if packed else body, self.path))
        status, headers = server.answers[min(len(server.seen), len(server.answers)) - 1]
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(server.content)

    do_GET = do_POST

    def log_message(self, *args: Any) -> None:
        return


@contextmanager
def failing_service(
    *answers: tuple[int, dict[str, str]], content: bytes = b'{"id": 5, "state": "queued"}'
) -> Iterator[Any]:
    with HTTPServer(("127.0.0.1", 0), FailingService) as server:
        fake: Any = server
        fake.answers, fake.seen, fake.content = answers, [], content
        fake.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield fake
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds the client would have slept."""
    slept: list[float] = []
    monkeypatch.setattr(program.time, "sleep", slept.append)
    return slept


def submit(url: str, file: Path) -> Any:
    return Client(url, "evs_t").submit("rel", file, system="Net", run="1")


def test_a_transient_failure_is_retried_with_the_same_request(run_file: Path, pauses: list[float]) -> None:
    with failing_service((503, {}), (429, {"Retry-After": "7"}), (202, {})) as service:
        assert submit(service.url, run_file)["id"] == 5
    assert pauses == [0.5, 7.0]
    assert len({headers["Idempotency-Key"] for headers, _, _ in service.seen}) == 1
    assert {body for _, body, _ in service.seen} == {run_file.read_bytes()}
    assert {path for _, _, path in service.seen} == {
        "/api/v1/benchmarks/rel/submissions?system=Net&run=1&filename=net.jsonl"
    }


def test_a_long_retry_after_is_reported_instead_of_waited_for(run_file: Path, pauses: list[float]) -> None:
    with failing_service((429, {"Retry-After": "40000"})) as service, pytest.raises(ServiceError) as refused:
        submit(service.url, run_file)
    assert (refused.value.status, refused.value.retry_after, pauses) == (429, 40_000, [])


def test_retries_are_limited(run_file: Path, pauses: list[float]) -> None:
    with failing_service((502, {})) as service, pytest.raises(ServiceError):
        submit(service.url, run_file)
    assert len(service.seen) == program.TRIES
    assert pauses == [0.5, 1, 2, 4, 8]


@pytest.mark.parametrize("status", [502, 504, 200])
def test_a_change_whose_reply_is_lost_is_not_sent_again(status: int, pauses: list[float]) -> None:
    """It was made twice, or reported as rejected though it was made."""
    lost = {"Content-Length": "100"} if status == 200 else {}
    changes = (
        lambda client: client.announce("rel", "Open", "The test phase is open."),
        lambda client: client.cancel(5),
    )
    for change in changes:
        with failing_service((status, lost)) as service:
            with pytest.raises((ServiceError, ServiceUnreachable)) as failed:
                change(Client(service.url, "evs_t"))
            assert len(service.seen) == 1
        assert status != 200 or "may have been carried out" in str(failed.value)
    with failing_service((503, {}), (200, {})) as service:  # rejected before it began
        Client(service.url, "evs_t").cancel(5)
    assert pauses == [0.5]


def test_a_token_does_not_follow_a_redirect(run_file: Path, pauses: list[float]) -> None:
    with (
        failing_service((202, {})) as other,
        failing_service((302, {"Location": f"{other.url}/x"})) as service,
    ):
        with pytest.raises(ServiceError):
            submit(service.url, run_file)
        assert other.seen == []


ODD = "\x1b]0;a\x07\x1b[2J\x9b31m\u202eb\u2066\u061c\u200e\u200f"


def test_texts_of_the_service_are_printed_without_control_characters(capsys: Any) -> None:
    odd = f"{ODD}\ud800"  # half of a pair, which JSON can hold and no terminal prints
    problem = {"code": odd, "detail": odd, "errors": [{"code": odd, "message": odd}]}
    for status in (400, 422):
        with failing_service((status, {}), content=json.dumps(problem).encode()) as service:
            assert program.main(["--url", service.url, "status", "1"]) in (1, 3)
        printed = "".join(capsys.readouterr())
        assert not program.HIDDEN.search(printed)
        assert "]0;a[2J31mb: ]0;a[2J31mb" in printed
    with failing_service((200, {}), content=json.dumps({odd: odd}).encode()) as service:
        assert program.main(["--url", service.url, "limits", "rel"]) == 0
    shown = capsys.readouterr().out
    assert not program.HIDDEN.search(shown)
    assert json.loads(shown) == {odd: odd}


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n", "\x0b", "\x0c", "\x85", "\u2028", "\u2029"])
def test_a_text_of_the_service_ends_no_line(end: str, capsys: Any) -> None:
    text = f"one{end}two"
    problem = {"code": text, "detail": text, "errors": [{"code": text, "message": text, "example": text}]}
    with failing_service((422, {}), content=json.dumps(problem).encode()) as service:
        assert program.main(["--url", service.url, "status", "1"]) == 1
    printed = capsys.readouterr()
    assert printed.err == "one two: one two\n"
    assert printed.out == "one two: one two\n    example: one two\n"
    with failing_service((200, {}), content=json.dumps({"a": text}).encode()) as service:
        assert program.main(["--url", service.url, "limits", "rel"]) == 0
    shown = capsys.readouterr().out
    assert len(shown.splitlines()) == 3
    assert json.loads(shown) == {"a": text}


def test_inputs_are_printed_on_a_terminal_without_control_characters(
    monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr(program.sys.stdout, "isatty", lambda: True)
    with failing_service((200, {}), content=ODD.encode()) as service:
        assert program.main(["--url", service.url, "inputs", "rel"]) == 0
    assert capsys.readouterr().out == "]0;a[2J31mb\n"


@pytest.mark.parametrize(
    "content",
    [b"[" * 500_000, b"<html>", b"\xff", b'{"id": ' + b"9" * 10_000 + b"}", b"[]", b"null", b'{"state": []}'],
)
def test_an_unexpected_reply_exits_with_4_and_one_line(content: bytes, capsys: Any) -> None:
    with failing_service((200, {}), content=content) as service:
        assert program.main(["--url", service.url, "status", "1"]) == 4
    printed = capsys.readouterr()
    assert printed.out == ""
    assert re.fullmatch("The reply of the service is .+\n", printed.err)


@pytest.mark.parametrize(
    "content",
    [
        b'{"errors": [1]}',
        b'{"errors": [], "error_count": "9"}',
        b'{"errors": [{"code": "a", "message": "a", "line": "9"}]}',
    ],
)
def test_an_unexpected_list_of_errors_exits_with_4(content: bytes, capsys: Any) -> None:
    with failing_service((422, {}), content=content) as service:
        assert program.main(["--url", service.url, "status", "1"]) == 4
    assert "Traceback" not in capsys.readouterr().err


def test_a_text_in_place_of_a_number_exits_with_4(run_file: Path, capsys: Any) -> None:
    result = {
        "errors": [],
        "error_count": 0,
        "fits": True,
        "counts": {"labels": "9"},
        "format": "a",
        "form": "b",
    }
    with failing_service((200, {}), content=json.dumps(result).encode()) as service:
        assert program.main(["--url", service.url, "validate", "rel", str(run_file)]) == 4
    assert capsys.readouterr().err == "The reply of the service is unexpected (ValueError).\n"


def test_a_token_that_no_header_can_hold_exits_with_2(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setenv("EVALSVC_TOKEN", "evs_a\n")
    with failing_service((200, {})) as service:
        assert program.main(["--url", service.url, "status", "1"]) == 2
    assert "Invalid header value" in capsys.readouterr().err


def test_a_reply_without_an_end_is_read_up_to_a_bound() -> None:
    class Endless:
        reads = 0

        def read(self, size: int) -> bytes:
            self.reads += 1
            return b"a" * size

    answer = Endless()
    with pytest.raises(program.UnexpectedReply, match="1,000,000 bytes"):
        program._content(answer, 1_000_000)
    assert answer.reads == 16
    with pytest.raises(program.UnexpectedReply, match="100,000,000 bytes"):
        program._json(answer)


def test_a_download_that_ends_early_is_not_taken_for_all_of_it(tmp_path: Path, pauses: list[float]) -> None:
    with failing_service((200, {"Content-Length": "100"}), content=b"half") as service:
        client = Client(service.url)
        for download in (
            lambda: client.inputs("rel"),
            lambda: client.archive("rel", tmp_path / "runs.zip"),
            lambda: client.status(1),
        ):
            with pytest.raises(ServiceUnreachable):
                download()
    assert not (tmp_path / "runs.zip").exists()


def test_an_unreachable_service_exits_with_4(pauses: list[float], capsys: Any) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(ServiceUnreachable):
            Client(url).status(1)
        assert program.main(["--url", url, "status", "1"]) == 4
    assert url in capsys.readouterr().err


# ---- everything that the API takes -------------------------------------------------------
def described(operation: str) -> set[str]:
    """The names of the fields and headers of an endpoint, as in OpenAPI."""
    paths = Generator().get_schema()["paths"]
    (found,) = (each for path in paths.values() for each in path.values() if each["operationId"] == operation)
    return {each["name"] for each in found["parameters"] if each["in"] != "path"}


@pytest.mark.parametrize(
    ("operation", "flags"), [("submissions_create", []), ("models_create", ["--model"]), ("check", [])]
)
def test_every_option_of_a_submission_can_be_given(
    tmp_path: Path, run_file: Path, operation: str, flags: list[str]
) -> None:
    names = tmp_path / "labels.txt"
    names.write_text("born_in\nworks_for\n")
    given = {
        "system": "Net",
        "run": "1",
        "team": "kelpie",
        "aggregate": "AVG",
        "columns": names,
        "na": "last",
    }
    given |= {"phase": "dev", "tags": '{"pretrained": true}', "key": "nightly"}
    command, taken = "submit", described(operation)
    if operation == "check":  # it ignores the others, so that the same request can be tried
        command, taken = "validate", {"columns", "na", "phase"}
        del given["key"]
    words = [word for name in given if name in {*taken, "key"} for word in (f"--{name}", given[name])]
    with failing_service((202, {})) as service, suppress(KeyError):  # its answer is no report
        program.main(["--url", service.url, command, "rel", str(run_file), *flags, *map(str, words)])
    headers, body, path = service.seen[0]
    parts = {name.decode() for name in re.findall(rb'; name="(\w+)"', body)}
    assert taken <= {*parse_qs(urlsplit(path).query), *parts, *headers}


def test_columns_are_sent_beside_the_file(live: str, token: str, tmp_path: Path) -> None:
    scores, names = tmp_path / "scores.npy", tmp_path / "labels.txt"
    np.save(scores, np.full((6, 3), 0.5, dtype="f4"))
    names.write_text("works_for\nborn_in\npart_of\n")
    assert Client(live, token).validate("rel", scores, columns=names)["fits"]
    names.write_text("works_for\nborn_in\npart_off\n")
    rejected = Client(live, token).validate("rel", scores, columns=names)
    assert "part_off" in rejected["errors"][0]["message"]


def test_inputs_are_downloaded_and_runs_cancelled_and_withdrawn(
    live: str, token: str, run_file: Path, capfdbinary: Any, broker: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVALSVC_TOKEN", token)
    assert program.main(["--url", live, "inputs", "rel"]) == 0
    inputs = capfdbinary.readouterr().out.splitlines()
    assert [json.loads(line)["id"] for line in inputs] == [line["id"] for line in RELATION_GOLD]
    assert not any(b"relation" in line for line in inputs)
    client = Client(live, token)
    first = client.submit("rel", run_file, system="Net", run="1")
    for change, state in (("cancel", "cancelled"), ("withdraw", "cancelled")):
        assert program.main(["--url", live, change, str(first["id"])]) == 0
        assert f"{first['id']}: {state}" in capfdbinary.readouterr().out.decode()
    assert program.main(["--url", live, "retry", str(first["id"])]) == 3


def test_a_shared_task_is_run_by_the_client(
    live: str, token: str, run_file: Path, tmp_path: Path, capsys: Any, broker: object,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    organiser = issue(User.objects.get(username="olga"), name="desk", scope="full")[1]

    def say(who: str, *words: object) -> str:
        monkeypatch.setenv("EVALSVC_TOKEN", who)
        code = program.main(["--url", live, *map(str, words)])
        shown = capsys.readouterr()
        return str(shown.out if code == 0 else f"{code} {shown.err or shown.out}")

    terms = tmp_path / "terms.md"
    terms.write_text("Be *fair*, \x1b[2Jétudiants.", encoding="utf-8")
    assert say(token, "terms", "rel", terms).startswith("3 needs_own_token")
    assert say(organiser, "terms", "rel", terms, "--approval", "yes") == (
        "Terms: version 1. Teams are approved: yes.\n"
    )
    submit = ("submit", "rel", run_file, "--system", "Net", "--run", 1)
    assert say(token, *submit).startswith("3 team_terms_not_accepted")
    assert "*fair*, [2Jétudiants" in say(token, "enter", "rel")  # nothing that rewrites a terminal
    assert "scope" in say(token, "enter", "rel", "--accept", 1)
    full = of_kim(scope="full")
    assert say(organiser, "announce", "rel", "x" * 121).startswith("3 invalid_input: title: ")
    assert say(full, "enter", "rel", "--accept", 1) == "kelpie: waits for the organisers.\n"
    assert say(token, *submit).startswith("3 not_approved")
    assert say(organiser, "turn-down", "rel", "kelpie", "--reason", "Who are you?") == (
        "kelpie: declined. Who are you?\n"
    )
    assert say(token, "enter", "rel") == "kelpie: declined. Who are you?\n"
    assert say(full, "enter", "rel", "--accept", 1) == "kelpie: waits for the organisers.\n"
    assert say(organiser, "approve", "rel", "lugworm").startswith("3 not_entered")
    assert [each["team"] for each in json.loads(say(organiser, "entrants", "rel", "--state", "asked"))] == [
        "kelpie"
    ]
    assert say(organiser, "approve", "rel", "kelpie") == "kelpie: approved.\n"
    assert "queued" in say(token, *submit)
    assert run_next("score")
    Setting.objects.update(row_rule="final")
    assert say(token, "final", Submission.objects.get().pk).endswith(": scored, final run\n")
    assert [run["run"] for run in json.loads(say(organiser, "runs", "rel", "--team", "kelpie"))] == ["1"]
    assert json.loads(say(organiser, "runs", "rel", "--state", "failed")) == []
    assert say(organiser, "runs", "rel", "--since", "yesterday").count("yesterday") == 1
    assert "Dev closes" in say(organiser, "announce", "rel", "Dev closes", "--text", "At *noon*.")
    assert json.loads(say(token, "announcements", "rel"))[0]["text"] == "At *noon*."
    assert json.loads(say(token, "limits", "rel", "--team", "kelpie"))
    assert json.loads(say(token, "board", "rel", "--setting", "main"))["rows"][0]["system"] == "Net"
    query = "?setting=main&order=macro_f1&columns=accuracy"
    assert say(token, "save-view", "rel", "By macro F1", query).startswith("3 ")  # a token for submissions
    saved = re.fullmatch(r"View (\d+): \S+\n", say(organiser, "save-view", "rel", "By macro F1", query))
    assert saved is not None
    assert json.loads(say(organiser, "views", "rel"))[0]["title"] == "By macro F1"
    assert json.loads(say(organiser, "open-view", "rel", saved[1]))["rows"][0]["system"] == "Net"
    assert say(token, "open-view", "rel", saved[1]).startswith("3 not_found")
    assert say(organiser, "delete-view", "rel", saved[1]) == f"View {saved[1]} is deleted.\n"
    assert json.loads(say(organiser, "views", "rel")) == []
    packed = tmp_path / "all.zip"
    assert say(token, "archive", "rel", packed).startswith("3 needs_own_token")
    assert say(organiser, "archive", "rel", packed) == ""
    with zipfile.ZipFile(packed) as archive:
        assert {"rel-archive/runs.jsonl", "rel-archive/SHA256SUMS"} <= set(archive.namelist())
    assert not list(tmp_path.glob("*.part"))


def test_items_of_a_project_are_changed_together(live: str) -> None:
    cast = ProjectCast.create()
    cast.import_lines(sentence(1), sentence(2))
    cast.open()
    curator = Client(live, issue(cast.curator, name="desk", scope="full")[1])
    only = {"q": "s2"}
    seen = curator.change_items("harbour", "exclude", all=True, filters=only, preview=True)
    assert (seen["changed"], cast.item(2).state) == (1, "open")
    values = {"finding": "broken", "key": seen["key"]}
    made = curator.change_items("harbour", "exclude", all=True, filters=only, **values)
    assert (made["changed"], cast.item(1).state, cast.item(2).state) == (1, "open", "unusable")
    back = curator.change_items("harbour", "include", items=[str(cast.item(2).key)])
    assert (back["changed"], cast.item(2).state) == (1, "open")


def test_systems_are_compared_and_the_tests_waited_for(
    live: str, token: str, run_file: Path, capsys: Any, broker: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVALSVC_TOKEN", token)
    client = Client(live, token)
    other = run_file.with_name("tree.jsonl")
    other.write_bytes(jsonl([*LABEL_LINES[:5], {"id": "s6", "label": "part_of"}]))
    client.submit("rel", run_file, system="Net", run="1")
    client.submit("rel", other, system="Tree", run="1")
    while run_next("score"):
        pass
    monkeypatch.setattr(compared, "REPLICATES", 19)
    monkeypatch.setattr(program.time, "sleep", lambda seconds: run_next("heavy"))
    systems = ["kelpie/Net", "kelpie/Tree"]
    assert program.main(["--url", live, "compare", "rel", *systems]) == 0
    printed = capsys.readouterr().out
    assert "could be shown" in printed
    assert "p (Holm) 1.000" in printed
    assert program.main(["--url", live, "compare", "rel", *systems, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["state"] == "done"
    assert program.main(["--url", live, "compare", "rel", "kelpie/Net"]) == 3


# ---- other endings -----------------------------------------------------------------------
def test_a_missing_file_is_named(live: str, token: str, tmp_path: Path) -> None:
    ended = run(live, token, tmp_path, "validate", "rel", "nowhere.jsonl")
    assert (ended.returncode, ended.stderr) == (2, "There is no file nowhere.jsonl.\n")


def test_an_unreachable_address_is_reported_with_the_reason(pauses: list[float], capsys: Any) -> None:
    assert program.main(["--url", "http://127.0.0.1:1", "status", "1"]) == 4
    assert capsys.readouterr().err == "Cannot reach http://127.0.0.1:1: connection refused.\n"


def test_an_interrupted_watch_prints_how_to_continue(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    def stopped(*args: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(program.Client, "status", stopped)
    assert program.main(["status", "5", "--watch"]) == 130
    assert "status ID --watch" in capsys.readouterr().err


def test_a_closed_pipe_gives_no_traceback(live: str, token: str, run_file: Path) -> None:
    env = {"PATH": os.environ["PATH"], "EVALSVC_URL": live, "EVALSVC_TOKEN": token}
    words = [sys.executable, "-I", "-S", program.__file__, "validate", "rel", str(run_file)]
    reader, writer = os.pipe()
    os.close(reader)
    ended = subprocess.run(words, env=env, stdout=writer, stderr=subprocess.PIPE, text=True, timeout=120)
    os.close(writer)
    assert (ended.returncode, ended.stderr) == (141, "")


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
def test_another_encoding_is_reported_with_the_command_that_converts_it(
    live: str, token: str, tmp_path: Path, encoding: str
) -> None:
    file = tmp_path / "net.jsonl"
    file.write_bytes('{"id": "s1", "label": "né"}\n'.encode(encoding))
    ended = run(live, token, tmp_path, "validate", "rel", file)
    assert ended.returncode == 1
    assert "not_utf8: Line 1" in ended.stdout
    assert "example: iconv -f" in ended.stdout


@pytest.mark.parametrize("line_end", [b"\r\n", b"\n\n"])
def test_windows_line_ends_and_empty_lines_are_accepted(
    live: str, token: str, tmp_path: Path, line_end: bytes
) -> None:
    file = tmp_path / "net.jsonl"
    file.write_bytes(b"\xef\xbb\xbf" + jsonl(LABEL_LINES).replace(b"\n", line_end))
    assert run(live, token, tmp_path, "validate", "rel", file).returncode == 0
