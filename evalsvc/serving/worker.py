"""A gunicorn worker that buffers requests before they reach a thread, and responses after it.

gunicorn's threads read from the network and write to it, and so wait for slow clients: a few dozen sockets
that never finish a request, or read its response byte by byte, would occupy all of them. Here the main loop
receives requests, within `RequestBuffer`'s limits, and sends what a `ResponseBuffer` still holds. It never
waits either, not even for a client to close its end.
"""

from __future__ import annotations

import errno
import selectors
import socket
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial, wraps
from typing import Any

from gunicorn.http import get_parser
from gunicorn.workers.gthread import TConn, ThreadWorker

from evalsvc.core.web.body_limits import largest_body, limit_of_head
from evalsvc.core.web.networks import network
from evalsvc.serving.held import EVENT_BYTES, PIECE_BYTES, largest
from evalsvc.serving.request_buffer import CONTINUE, Refusal, RequestBuffer
from evalsvc.serving.response_buffer import HeldResponses, ResponseBuffer

HELD_BODIES = 5  # of the greatest size, in all requests of a process
SEND_BUFFER_BYTES = 1 << 18  # an ordinary page fits
CLOSING_SECONDS = 2
SWEEP_SECONDS = 0.5
NO_SPACE = "The service has no space for the request’s body. Try again later."


class ClientSocket:
    """A client's socket, which never blocks; it holds what its client has not read."""

    def __init__(self, sock: socket.socket, responses: HeldResponses, *, network: str) -> None:
        self.sock, self.responses, self.network = sock, responses, network
        self.begin_response()
        sock.setblocking(False)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.sock, name)

    def setblocking(self, _flag: bool) -> None:  # gunicorn asks for both
        self.sock.setblocking(False)

    def begin_response(self) -> None:
        self.response = ResponseBuffer(self.sock, self.responses, network=self.network)

    def sendall(self, data: bytes) -> None:
        self.response.send(data)


def guarded(handle: Callable[..., None]) -> Callable[..., None]:
    """Drop the connection if handling it fails: an error that leaves the main loop ends the process."""

    @wraps(handle)
    def handle_or_drop(worker: BufferingWorker, conn: Connection, *arguments: Any) -> None:
        try:
            handle(worker, conn, *arguments)
        except OSError:
            worker.drop(conn)
        except Exception:
            worker.log.exception("A connection was ended by an error.")
            worker.drop(conn)

    return handle_or_drop


class Connection(TConn):
    """A client's connection with the request that arrives on it."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.initialized = self.data_ready = True  # the parser comes with each request
        self.request: RequestBuffer | None = None
        self.dropped = False

    def arm(self, request: RequestBuffer) -> None:
        """Give the complete request to gunicorn's parser, and begin its response."""
        self.sock.begin_response()
        self.parser = get_parser(self.cfg, request, self.client)


class BufferingWorker(ThreadWorker):
    """Threads for complete requests; one loop for the network.

    A connection is arriving, with a thread, being drained, kept for its next request, or closing.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.arriving: dict[Connection, RequestBuffer] = {}
        self.requests: dict[RequestBuffer, Connection] = {}  # arriving or with a thread
        self.closing: dict[Connection, float] = {}  # since when
        self.responses = HeldResponses(threads=max(1, self.cfg.threads // 2))
        self.swept_at = 0.0

    @property
    def max_body(self) -> int:
        return largest_body()

    def accept(self, listener: socket.socket) -> None:
        """Accept a connection and receive what it already sent."""
        try:
            client, address = listener.accept()
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.ECONNABORTED, errno.EWOULDBLOCK):
                return
            if error.errno not in (errno.EMFILE, errno.ENFILE):
                raise
            self.end_slowest()  # no more open files
            return
        self.nr_conns += 1
        with suppress(OSError):
            client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
        sock = ClientSocket(client, self.responses, network=network(str(address[0])))
        self.expect(Connection(self.cfg, sock, address, listener.getsockname()))
        if self.nr_conns >= self.worker_connections:
            self.end_slowest()

    def end_slowest(self) -> None:
        """Close a connection that ends anyway, or that with the slowest request or reader."""
        if self.closing:
            return self.drop(next(iter(self.closing)))
        now = time.monotonic()
        request = min(self.arriving, key=lambda conn: self.arriving[conn].speed(now), default=None)
        response = self.responses.slowest()
        if response and (not request or response.speed(now) < self.arriving[request].speed(now)):
            response.end()
        elif request:
            self.drop(request)
        return None

    @guarded
    def expect(self, conn: Connection, begun: bytes = b"") -> None:
        """Wait for the next request, of which `begun` is here already."""
        conn.sock.setblocking(False)
        now = time.monotonic()
        request = RequestBuffer(
            max_body=self.max_body, now=now, network=conn.sock.network, limit_of=limit_of_head
        )
        self.arriving[conn] = conn.request = request
        self.requests[request] = conn
        self.poller.register(conn.sock, selectors.EVENT_READ, partial(self.on_readable, conn))
        if begun:
            self.feed(conn, begun)
        if conn in self.arriving:
            self.on_readable(conn)

    @guarded
    def on_readable(self, conn: Connection, _socket: Any = None) -> None:
        """Receive the available bytes, up to a fair bound."""
        received = 0
        try:
            while received < EVENT_BYTES and conn in self.arriving:
                data = conn.sock.recv(PIECE_BYTES)
                if not data:
                    return self.on_end(conn)
                received += len(data)
                self.feed(conn, data)
        except BlockingIOError:
            return None
        return None

    def on_end(self, conn: Connection) -> None:
        """Answer a request that ended early, if it has a head."""
        request = self.arriving[conn]
        if request.missing is None:
            return self.drop(conn)
        request.end_early()
        return self.dispatch(conn)

    def feed(self, conn: Connection, data: bytes) -> None:
        request = self.arriving[conn]
        try:
            request.feed(data, now=time.monotonic())
        except OSError:
            self.log.exception("A request body could not be stored.")
            request.refusal = Refusal(503, NO_SPACE)
        self.make_room()
        if conn not in self.arriving:
            return None
        if request.refusal:
            return self.refuse(conn, request.refusal)
        if request.expects_continue:
            request.expects_continue = False
            with suppress(BlockingIOError):
                conn.sock.send(CONTINUE)
        return self.dispatch(conn) if request.complete else None

    def make_room(self) -> None:
        """End requests until those of this process fit: the slowest of the network with most bytes."""
        while sum(request.size for request in self.requests) > HELD_BODIES * self.max_body:
            arriving = [request for request in self.arriving.values() if request.size]
            ended = largest(arriving, time.monotonic())
            if not ended:  # all are with threads, which end them
                return
            self.refuse(self.requests[ended], Refusal(503, NO_SPACE))

    def dispatch(self, conn: Connection) -> None:
        """Hand the complete request to a thread."""
        request = self.arriving.pop(conn)
        self.poller.unregister(conn.sock)
        conn.arm(request)
        self.enqueue_req(conn)

    def refuse(self, conn: Connection, refusal: Refusal) -> None:
        with suppress(OSError):
            conn.sock.send(refusal.response())
        self.log.warning("Request refused: %s", refusal.detail)
        self.discard(conn)

    def discard(self, conn: Connection) -> None:
        """End the connection.

        Read on for a moment, so that the response arrives.
        """
        self.close_request(conn)
        if self.arriving.pop(conn, None):
            self.poller.unregister(conn.sock)
        with suppress(OSError):
            conn.sock.shutdown(socket.SHUT_WR)
            self.poller.register(conn.sock, selectors.EVENT_READ, partial(self.on_late_bytes, conn))
            self.closing[conn] = time.monotonic()
            return
        self.drop(conn)

    @guarded
    def on_late_bytes(self, conn: Connection, _socket: Any) -> None:
        with suppress(BlockingIOError):
            if not conn.sock.recv(EVENT_BYTES):
                self.drop(conn)

    def drop(self, conn: Connection) -> None:
        """Close a connection at once."""
        if conn.dropped:
            return
        conn.dropped = True
        with suppress(OSError, KeyError, ValueError):
            self.poller.unregister(conn.sock)
        self.arriving.pop(conn, None)
        self.closing.pop(conn, None)
        self.close_request(conn)
        conn.sock.response.close()
        self.nr_conns -= 1
        conn.close()

    def close_request(self, conn: Connection) -> bytes:
        """Free the space of a request; return what came after it."""
        request, conn.request = conn.request, None
        if request is None:
            return b""
        self.requests.pop(request, None)
        request.close()
        return request.rest

    def murder_pending(self) -> None:
        """Close connections beyond their deadline; called after each event."""
        now = time.monotonic()
        if now < self.swept_at + SWEEP_SECONDS:
            return
        self.swept_at = now
        if ended := self.responses.end_overdue():
            self.log.warning("Connections ended whose clients read too slowly: %s", ended)
        for conn in [each for each, since in self.closing.items() if now > since + CLOSING_SECONDS]:
            self.drop(conn)
        for conn, request in list(self.arriving.items()):
            if request.overdue(now) or not (self.alive or request.received):
                self.on_overdue(conn, request)

    @guarded
    def on_overdue(self, conn: Connection, request: RequestBuffer) -> None:
        if request.missing is None and not request.head:
            return self.drop(conn)
        return self.refuse(conn, Refusal(408, "The request arrived too slowly. Send it again."))

    @guarded
    def on_client_socket_readable(self, conn: Connection, client: Any) -> None:
        """Receive the next request of a kept connection."""
        self.poller.unregister(client)
        self.keepalived_conns.remove(conn)
        self.expect(conn)

    def _keepalive_after(self, conn: Connection, keepalive: bool) -> bool:
        """Keep a connection whose request has been received, read or not.

        gunicorn ends those with more than 64 kB of a body that no view read, after announcing to keep them.
        """
        return keepalive

    @guarded
    def finish_request(self, conn: Connection, done: Future[Any]) -> None:
        """Keep the connection for its next request, or end it; send the rest of the response first."""
        if conn.sock.fileno() < 0:  # gunicorn has closed it after an error in the midst of a response
            return self.drop(conn)
        if conn.sock.response.unread:
            self.poller.register(conn.sock, selectors.EVENT_WRITE, partial(self.on_writable, conn, done))
            return None
        begun = self.close_request(conn)
        keep = not done.cancelled() and done.exception() is None and bool(done.result())
        if not keep:
            return self.discard(conn)
        if begun:
            return self.expect(conn, begun)
        return self.keep(conn)

    @guarded
    def on_writable(self, conn: Connection, done: Future[Any], _socket: Any) -> None:
        """Send more of a response whose thread is done."""
        conn.sock.response.drain()
        if not conn.sock.response.unread:
            self.poller.unregister(conn.sock)
            self.finish_request(conn, done)

    def keep(self, conn: Connection) -> None:
        conn.sock.setblocking(False)
        conn.set_timeout()
        self.keepalived_conns.append(conn)
        wait: Callable[..., None] = partial(self.on_client_socket_readable, conn)
        self.poller.register(conn.sock, selectors.EVENT_READ, wait)
