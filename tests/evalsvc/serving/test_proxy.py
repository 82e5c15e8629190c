"""The proxy of compose.yaml as nginx runs it, in front of a server that repeats what it got."""

from __future__ import annotations

import json
import resource
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from evalsvc.core.errors.handlers import problem
from evalsvc.evaluation.submissions.request_body import FORM_OVERHEAD
from tests.places.proxy import NGINX, Proxy, render
from tests.places.skipping import skip_or_fail
from tests.places.workers import until

LIMIT = 1_000_000


class Upstream(BaseHTTPRequestHandler):
    """Answers with the headers it got, and the size of the body."""

    def do_GET(self) -> None:
        size = int(self.headers.get("Content-Length") or 0)
        self.server.seen.append((self.path, time.monotonic()))  # type: ignore[attr-defined]
        if self.path == "/wait":
            self.server.ended.wait(60)  # type: ignore[attr-defined]
        body = json.dumps(dict(self.headers) | {"size": len(self.rfile.read(size))}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET

    def log_message(self, *args: Any) -> None:
        return


@pytest.fixture(scope="module")
def upstream() -> Iterator[Any]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Upstream) as server:
        server.seen, server.ended = [], Event()  # type: ignore[attr-defined]
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
        yield server
        server.shutdown()


@pytest.fixture(scope="module")
def nginx() -> None:
    if NGINX is None:
        skip_or_fail("nginx", "the program is not installed")


@pytest.fixture(scope="module")
def proxy(nginx: None, upstream: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    folder = tmp_path_factory.mktemp("nginx")
    started = Proxy(folder, upstream=f"http://127.0.0.1:{upstream.server_port}", limit=LIMIT)
    begun = started.run()
    assert begun.returncode == 0, begun.stderr
    yield started
    started.run("-s", "stop")


@pytest.fixture
def many_files() -> Iterator[None]:
    """Room for as many connections of this process as a test needs."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 3_000:
        skip_or_fail("files", "a process may open too few")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 3_000), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def ask(proxy: Proxy, path: str = "/", body: bytes | None = None, **headers: str) -> tuple[int, Any]:
    request = Request(f"http://127.0.0.1:{proxy.port}{path}", data=body, headers=headers)
    try:
        with urlopen(request, timeout=60) as answer:
            return answer.status, json.load(answer)
    except HTTPError as error:
        content = error.read()
        return error.code, json.loads(content) if content.startswith(b"{") else content


def test_the_template_takes_all_its_values_from_the_container() -> None:
    site = render(UPLOAD_MAX_BYTES="5000", MODEL_MAX_BYTES="7000", WAIT_MAX_SECONDS="300")
    assert "${" not in site
    for size in (5_000, 7_000):
        assert f"client_max_body_size {size + FORM_OVERHEAD};" in site
    assert "proxy_read_timeout 400s;" in site  # longer than a wait for a submission


def test_nginx_accepts_the_template(nginx: None, tmp_path: Path) -> None:
    tested = Proxy(tmp_path, upstream="http://127.0.0.1:1").run("-t")
    assert tested.returncode == 0, tested.stderr
    assert "warn" not in tested.stderr


def test_a_slow_upload_reaches_the_web_server_when_it_is_complete(proxy: Proxy, upstream: Any) -> None:
    content = b"x" * 90_000
    head = f"POST /slow HTTP/1.0\r\nHost: a\r\nContent-Length: {len(content)}\r\n\r\n".encode()
    with socket.create_connection(("127.0.0.1", proxy.port), timeout=60) as client:
        client.sendall(head)
        for start in range(0, len(content), 30_000):
            assert not [path for path, _ in upstream.seen if path == "/slow"]
            client.sendall(content[start : start + 30_000])
            time.sleep(0.1)
        answer = b"".join(iter(lambda: client.recv(1 << 16), b""))
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["size"] == len(content)


def test_a_wait_for_a_submission_ends_with_the_answer_and_holds_up_no_other(
    proxy: Proxy, upstream: Any
) -> None:
    with ThreadPoolExecutor() as threads:
        waiting = threads.submit(ask, proxy, "/wait")
        while not [path for path, _ in upstream.seen if path == "/wait"]:
            time.sleep(0.01)
        assert ask(proxy)[0] == 200
        assert not waiting.done()
        upstream.ended.set()
        assert waiting.result(timeout=60)[0] == 200


def test_a_visitor_has_32_requests_answered_at_a_time_and_as_many_idle_connections_as_a_group_of_people_needs(
    proxy: Proxy, upstream: Any
) -> None:
    upstream.ended.clear()
    upstream.seen.clear()
    with ExitStack() as places, ThreadPoolExecutor(32) as threads:
        idle = [places.enter_context(closing(HTTPConnection("127.0.0.1", proxy.port))) for _ in range(60)]
        for connection in (*idle, *idle):
            connection.request("GET", "/")
            answer = connection.getresponse()
            assert (answer.status, bool(answer.read())) == (200, True)
        waiting = [threads.submit(ask, proxy, "/wait") for _ in range(32)]
        until(lambda: [path for path, _ in upstream.seen].count("/wait") == 32, seconds=60)
        assert [ask(proxy, path)[0] for path in ("/", "/static/style.css")] == [429, 200]
        assert ask(proxy, **{"X-Forwarded-For": "6.6.6.6"})[0] == 200
        upstream.ended.set()
        assert {each.result(timeout=60)[0] for each in waiting} == {200}


def test_heads_that_are_never_ended_by_more_senders_than_the_image_has_places_keep_nobody_out(
    proxy: Proxy, many_files: None
) -> None:
    with ExitStack() as places:
        for _ in range(1_500):
            half = places.enter_context(socket.create_connection(("127.0.0.1", proxy.port), timeout=60))
            half.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nX: ")
        assert ask(proxy)[0] == 200
        half.settimeout(0)
        with pytest.raises(BlockingIOError):
            half.recv(1)  # it is held, not refused
    assert "worker_connections are not enough" not in proxy.logs


def test_a_visitor_cannot_choose_an_address(proxy: Proxy) -> None:
    for named, taken in {"6.6.6.6": "6.6.6.6", "6.6.6.6, 10.0.0.9": "10.0.0.9", "": "127.0.0.1"}.items():
        _, headers = ask(proxy, **{"X-Forwarded-For": named, "Forwarded": "for=6.6.6.6"})
        assert headers["X-Forwarded-For"] == taken
        assert "Forwarded" not in headers


def test_a_form_around_a_file_of_the_greatest_size_passes(proxy: Proxy) -> None:
    assert ask(proxy, "/", b"x" * (LIMIT + 500))[1]["size"] == LIMIT + 500
    status, body = ask(proxy, "/", b"x" * (LIMIT + FORM_OVERHEAD + 1))
    assert (status, body) == (413, problem(413, detail=body["detail"]))
    assert ask(proxy, "/api/v1/benchmarks/b/models", b"x" * (2 * LIMIT))[0] == 200


def test_headers_beyond_the_limit_are_answered_as_by_the_service(proxy: Proxy) -> None:
    status, body = ask(proxy, **{f"X-{at}": "a" * 15_000 for at in range(5)})
    assert (status, body) == (431, problem(431, detail=body["detail"]))


@pytest.mark.parametrize(
    ("status", "line", "headers"),
    [
        (400, "GET /%zz HTTP/1.1", "Host: a"),
        (400, "GET / HTTP/1.1", "X: a"),
        (400, "GET / HTTP/2.0", "Host: a"),
        (400, "GET / HTTP/1.1", "Host: a/b"),
        (400, "nonsense", "Host: a"),
        (400, "CONNECT a:80 HTTP/1.1", "Host: a"),
        (400, "POST / HTTP/1.1", "Host: a\r\nContent-Length: x"),
        (400, "POST / HTTP/1.1", "Host: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked"),
        (404, "GET /metrics HTTP/1.1", "Host: a"),
        (404, "GET /.error/bad-request HTTP/1.1", "Host: a"),
        (405, "TRACE / HTTP/1.1", "Host: a"),
        (411, "POST / HTTP/1.1", "Host: a\r\nTransfer-Encoding: gzip"),
        (411, "POST / HTTP/1.1", "Host: a\r\nTransfer-Encoding: chunked, identity"),
        (411, "POST / HTTP/1.1", "Host: a\r\nTransfer-Encoding: \x0bchunked"),
        (414, f"GET /{'a' * 20_000} HTTP/1.1", "Host: a"),
    ],
)
def test_what_nginx_refuses_is_answered_as_by_the_service(
    proxy: Proxy, upstream: Any, status: int, line: str, headers: str
) -> None:
    asked = len(upstream.seen)
    with socket.create_connection(("127.0.0.1", proxy.port), timeout=60) as client:
        client.sendall(f"{line}\r\n{headers}\r\nConnection: close\r\n\r\n0\r\n\r\n".encode())
        answer = b"".join(iter(lambda: client.recv(1 << 16), b""))
    head, _, content = answer.partition(b"\r\n\r\n")
    body = json.loads(content)
    assert head.startswith(f"HTTP/1.1 {status} ".encode())
    assert b"Content-Type: application/problem+json" in head
    assert body == problem(status, detail=body["detail"])
    assert len(upstream.seen) == asked


def test_metrics_do_not_leave(proxy: Proxy, upstream: Any) -> None:
    assert ask(proxy, "/metrics")[0] == 404
    assert not [path for path, _ in upstream.seen if path == "/metrics"]


def test_a_web_server_that_is_away_is_503_and_its_addresses_stay_out_of_logs(
    nginx: None, tmp_path: Path
) -> None:
    alone = Proxy(tmp_path, upstream="http://127.0.0.1:1")
    assert alone.run().returncode == 0
    try:
        status, body = ask(alone, "/join/sesame/")
    finally:
        alone.run("-s", "stop")
    assert (status, body) == (503, problem(503, detail=body["detail"]))
    until(lambda: " 503 " in alone.logs, seconds=60, details=lambda: alone.logs)
    assert "sesame" not in alone.logs
