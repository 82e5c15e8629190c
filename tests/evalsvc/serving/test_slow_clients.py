"""Clients that never finish a request, or never read the answer, against a real web server."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from select import select
from struct import pack
from typing import Any
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest

from tests.places.web import Web

PATIENCE_SECONDS = 60
HEAD = b"Host: 127.0.0.1\r\nContent-Type: application/x-www-form-urlencoded\r\n"
UNFINISHED = {
    "nothing": b"",
    "a head": b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: b",
    "a body": b"POST /api/v1/projects HTTP/1.1\r\n" + HEAD + b"Content-Length: 4000\r\n\r\na",
    "an upload": b"POST /api/v1/benchmarks/x/check HTTP/1.1\r\n" + HEAD + b"Content-Length: 1900000\r\n\r\n{",
}


@pytest.fixture(scope="module")
def web(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Web]:
    with django_db_blocker.unblock(), pytest.MonkeyPatch.context() as patch:
        for size in ("UPLOAD_MAX_LINE_BYTES", "UPLOAD_MAX_BYTES", "MODEL_MAX_BYTES"):
            patch.setenv(size, "1000000")
        started = Web(broker_url="memory://", log=tmp_path_factory.mktemp("slow") / "web.log")
    yield started.wait_until_ready()
    started.stop()


def connect(web: Web, request: bytes = b"", *, source: str = "127.0.0.1", buffer: int = 0) -> socket.socket:
    place = urlsplit(web.url)
    client = socket.socket()
    if buffer:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    client.settimeout(PATIENCE_SECONDS)
    client.bind((source, 0))
    client.connect((str(place.hostname), place.port or 0))
    client.sendall(request)
    return client


def answer(client: socket.socket) -> bytes:
    """Everything until the server ends the connection."""
    with client:
        return b"".join(iter(lambda: client.recv(1 << 16), b""))


def status(client: socket.socket) -> int:
    return int(answer(client).split(b" ")[1])


@pytest.mark.parametrize("begun", UNFINISHED)
def test_64_clients_that_never_finish_a_request_keep_nobody_waiting(web: Web, begun: str) -> None:
    with ExitStack() as sockets:
        for _ in range(64):
            sockets.enter_context(connect(web, UNFINISHED[begun]))
        with urlopen(f"{web.url}/healthz", timeout=PATIENCE_SECONDS) as response:
            assert response.status == 200


def test_clients_that_never_close_their_end_keep_nobody_waiting(web: Web) -> None:
    ended = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
    with ExitStack() as sockets:
        clients = [sockets.enter_context(connect(web, ended)) for _ in range(64)]
        assert {client.recv(12) for client in clients} == {b"HTTP/1.1 200"}
        with urlopen(f"{web.url}/healthz", timeout=PATIENCE_SECONDS) as response:
            assert response.status == 200


def test_clients_that_read_a_long_response_late_keep_nobody_waiting_and_get_all_of_it(web: Web) -> None:
    request = b"GET /api/schema/ HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    both = request + b"\r\n" + request + b"Connection: close\r\n\r\n"
    with ExitStack() as sockets:
        clients = [sockets.enter_context(connect(web, both, buffer=4096)) for _ in range(40)]
        for client in clients:
            assert client.recv(12) == b"HTTP/1.1 200"
        with urlopen(f"{web.url}/healthz", timeout=PATIENCE_SECONDS) as response:
            assert response.status == 200
        answers = answer(clients[0])
    once = urlopen(f"{web.url}/api/schema/").read()
    assert (len(once) > 300_000, answers.count(once)) == (True, 2)


def test_an_unfinished_request_is_answered_with_408_and_ended(web: Web) -> None:
    clients = {begun: connect(web, UNFINISHED[begun]) for begun in ("a head", "a body", "an upload")}
    for begun, client in clients.items():
        head, _, body = answer(client).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 408 Request Timeout"), begun
        assert json.loads(body)["code"] == "too_slow", begun


def test_bodies_beyond_the_space_of_a_process_are_ended_of_the_network_with_most(web: Web) -> None:
    head = UNFINISHED["an upload"].partition(b"\r\n\r\n{")[0] + b"\r\n\r\n"
    with ExitStack() as sockets:
        other = sockets.enter_context(connect(web, head + b"a" * 300_000, source="127.0.0.2"))
        clients = [sockets.enter_context(connect(web, head + b"a" * 1_890_000)) for _ in range(6)]
        ended, _, _ = select(clients, [], [], PATIENCE_SECONDS)
        assert ended
        assert {client.recv(12) for client in ended} == {b"HTTP/1.1 503"}
        other.sendall(b"a" * 1_600_000)
        assert status(other) == 401


def test_chunks_are_refused_with_411(web: Web) -> None:
    assert status(connect(web, b"POST /login/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n")) == 411


def test_a_body_over_the_limit_is_refused_by_its_length_alone(web: Web) -> None:
    request = b"POST /login/ HTTP/1.1\r\n" + HEAD + b"Content-Length: 999999999999\r\n\r\n"
    assert status(connect(web, request)) == 413


def test_a_body_over_the_limit_of_its_page_is_refused_before_it_comes(tmp_path: Path) -> None:
    started = Web(broker_url="memory://", log=tmp_path / "web.log").wait_until_ready()
    try:
        request = b"POST /login/ HTTP/1.1\r\n" + HEAD + b"Content-Length: 2500001\r\n\r\n"
        assert status(connect(started, request)) == 413
        request = request.replace(b"/login/", b"/boards/a/submit/")
        assert status(connect(started, request)) == 413
    finally:
        started.stop()


def test_headers_without_end_are_refused_with_431(web: Web) -> None:
    assert status(connect(web, b"GET / HTTP/1.1\r\nX-A: " + b"a" * 70_000)) == 431


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([b"X-A: " + b"a" * 60_000], 404),
        ([b"X-A: a"] * 90, 404),
        ([b"X-A: a"] * 101, 431),
    ],
)
def test_long_and_many_headers_are_read_or_refused_as_a_problem(
    web: Web, lines: list[bytes], expected: int
) -> None:
    request = b"\r\n".join([b"GET /api/v1/x HTTP/1.1", *lines, HEAD + b"Connection: close\r\n\r\n"])
    head, _, body = answer(connect(web, request)).partition(b"\r\n\r\n")
    assert (int(head.split(b" ")[1]), json.loads(body)["status"]) == (expected, expected)


def test_a_long_address_is_answered_up_to_the_limit_and_refused_with_414_beyond(web: Web) -> None:
    for size, expected in ((8_100, 404), (8_200, 414)):
        line = b"GET /api/v1/x?y=" + b"a" * (size - 25) + b" HTTP/1.1\r\n"
        head, _, body = answer(connect(web, line + HEAD + b"Connection: close\r\n\r\n")).partition(
            b"\r\n\r\n"
        )
        assert (int(head.split(b" ")[1]), json.loads(body)["status"]) == (expected, expected)


@pytest.mark.parametrize(
    "charset",
    ["=punycode", "=zlib_codec", "=idna", "=undefined", "=latin-1", "=odd", "*=odd''a", "*=utf-8''%00"],
)
def test_a_charset_but_utf_8_is_rejected_before_anything_is_decoded(web: Web, charset: str) -> None:
    """Python decodes punycode in quadratic time: eight forms of 600 kB stalled the service."""
    kind = f"Content-Type: multipart/form-data; boundary=x; charset{charset}\r\n"
    rest = f"Host: 127.0.0.1\r\nConnection: close\r\n{kind}Content-Length: 7\r\n\r\n--x--\r\n"
    assert status(connect(web, f"POST /api/v1/limits?a=b HTTP/1.1\r\n{rest}".encode())) == 415


def test_cookies_in_several_headers_are_rejected(web: Web) -> None:
    """Some versions of Python take quadratic time for one of 64 kB: 4 s for each request of a stranger."""
    cookie = "Cookie: a=b\r\n"
    request = f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n{cookie}"
    assert status(connect(web, f"{request}\r\n".encode())) == 200
    assert status(connect(web, f"{request}{cookie}\r\n".encode())) == 400


def test_no_client_chooses_where_the_service_is_mounted(web: Web) -> None:
    """Pages had links below the path that a stranger's header named."""
    request = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nSCRIPT_NAME: /b\r\n\r\n"
    assert status(connect(web, request)) == 200


def test_a_client_that_asks_before_it_sends_may_send(web: Web) -> None:
    head = b"Expect: 100-continue\r\nConnection: close\r\nContent-Length: 6\r\n\r\n"
    client = connect(web, b"POST /api/v1/projects HTTP/1.1\r\n" + HEAD + head)
    assert client.recv(1 << 16) == b"HTTP/1.1 100 Continue\r\n\r\n"
    client.sendall(b"next=/")
    assert status(client) == 401


def test_a_client_that_leaves_before_it_is_asked_for_a_body_ends_no_process(web: Web) -> None:
    head = b"Expect: 100-continue\r\nContent-Length: 6\r\n\r\n"
    both = b"GET /login/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nPOST /login/ HTTP/1.1\r\n" + HEAD + head
    for _ in range(30):
        with connect(web, both) as client:
            client.recv(1)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, pack("ii", 1, 0))  # a reset
    with urlopen(f"{web.url}/healthz", timeout=PATIENCE_SECONDS) as response:
        assert response.status == 200
    assert "Exception in worker process" not in web.log_text()


def test_requests_in_one_packet_are_answered_in_order(web: Web) -> None:
    first = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    last = b"GET /api/v1/nowhere HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
    answers = answer(connect(web, first * 2 + last))
    assert [part[:3] for part in answers.split(b"HTTP/1.1 ")[1:]] == [b"200", b"200", b"404"]


def test_a_long_body_that_no_view_reads_ends_no_connection(web: Web) -> None:
    unread = b"POST /api/v1/nowhere HTTP/1.1\r\n" + HEAD + b"Content-Length: 200000\r\n\r\n" + b"a" * 200_000
    last = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
    answers = answer(connect(web, unread + last))
    assert [part[:3] for part in answers.split(b"HTTP/1.1 ")[1:]] == [b"404", b"200"]


def test_a_request_with_two_lengths_is_refused_and_what_follows_is_no_request(web: Web) -> None:
    hidden = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    twice = b"POST /login/ HTTP/1.1\r\n" + HEAD + b"Content-Length: 0\r\nContent-Length: 4\r\n\r\n"
    assert answer(connect(web, twice + hidden)).count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize("length", ["0" * 18 + "46", "9" * 20, "9" * 4_301, "4, 4"])
def test_a_length_that_is_no_number_is_refused_and_what_follows_is_no_request(web: Web, length: str) -> None:
    hidden = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    head = b"POST /login/ HTTP/1.1\r\n" + HEAD + f"Content-Length: {length}\r\n\r\n".encode()
    answers = answer(connect(web, head + hidden))
    assert answers.startswith(b"HTTP/1.1 400 ")
    assert answers.count(b"HTTP/1.1 ") == 1


def test_a_body_cut_short_is_answered_as_such(web: Web) -> None:
    client = connect(web, UNFINISHED["a body"])
    client.shutdown(socket.SHUT_WR)
    assert status(client) == 401


def test_secrets_of_addresses_are_not_logged(web: Web) -> None:
    reset, invitation = f"cx3k9a-{'5e5a' * 8}", f"Sesame{'x' * 37}"
    distorted = (
        *(f"/password/./MQ/{reset}/", f"/password/password/MQ/{reset}/", f"/password/?MQ/{reset}"),
        *(f"/join:{invitation}/", f"/join?{invitation}", f"/%6Aoin%2F.%2f{invitation}", f"/{invitation}"),
        *(f"/single-sign-on/back?code={invitation};state={reset}", f"/x?next=/join/./{invitation}"),
    )
    for path in ("/join/sesame-123/", "/password/MQ/sesame-456/", *distorted):
        line = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nReferer: http://127.0.0.1{path}\r\n"
        answer(connect(web, line.encode() + b"Connection: close\r\n\r\n"))
    assert "/join/***" in web.log_text()
    assert "/password/***" in web.log_text()
    secrets = ("sesame", reset, invitation)
    assert not [line for line in web.log_text().splitlines() if any(each in line for each in secrets)]
