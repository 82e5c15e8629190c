"""Connections of the web server's main loop, of which none may end the process."""

from __future__ import annotations

import errno
import io
import selectors
import socket
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import pytest
from gunicorn.config import Config

from evalsvc.serving.worker import BufferingWorker, ClientSocket, Connection


@pytest.fixture
def worker() -> Iterator[BufferingWorker]:
    made: Any = BufferingWorker(0, 0, [], None, 10, Config(), Config().logger_class(Config()))
    made.poller = selectors.DefaultSelector()
    yield made
    made.poller.close()
    made.tmp.close()


def test_a_response_that_broke_off_in_its_thread_ends_its_connection_alone(worker: BufferingWorker) -> None:
    ours, theirs = socket.socketpair()
    conn = Connection(worker.cfg, ClientSocket(ours, worker.responses, network="a"), ("a", 1), ("b", 2))
    worker.nr_conns = 1
    conn.sock.sendall(b"a" * 4_000_000)
    assert conn.sock.response.unread
    ours.close()  # as gunicorn does after an error in the midst of a response
    done: Future[bool] = Future()
    done.set_result(False)
    worker.finish_request(conn, done)
    assert (worker.nr_conns, dict(worker.poller.get_map()), worker.responses.waiting) == (0, {}, {})
    theirs.close()


def test_an_error_of_one_connection_is_logged_and_drops_it(
    worker: BufferingWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = socket.socketpair()
    conn = Connection(worker.cfg, ClientSocket(ours, worker.responses, network="a"), ("a", 1), ("b", 2))
    worker.nr_conns = 1
    theirs.sendall(b"GET / HTTP/1.1\r\n")

    def fail(*_: object) -> None:
        raise RuntimeError("a fault")

    monkeypatch.setattr(worker, "feed", fail)
    worker.expect(conn)
    assert (worker.nr_conns, conn.dropped, worker.requests) == (0, True, {})
    theirs.close()


def test_an_unfinished_request_ends_no_process_while_the_disk_is_full(worker: BufferingWorker) -> None:
    ours, theirs = socket.socketpair()
    conn = Connection(worker.cfg, ClientSocket(ours, worker.responses, network="a"), ("a", 1), ("b", 2))
    worker.nr_conns = 1
    theirs.sendall(b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\na")
    worker.expect(conn)
    request = worker.arriving[conn]
    request.slice_started -= 1_000

    class Full(io.BytesIO):
        def close(self) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

    request.spool.close()
    request.spool = conn.sock.response.spool = Full()
    worker.murder_pending()
    assert theirs.recv(12) == b"HTTP/1.1 408"
    worker.drop(conn)
    assert (worker.nr_conns, worker.arriving, worker.closing, worker.requests) == (0, {}, {}, {})
    theirs.close()
