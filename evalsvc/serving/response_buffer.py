"""Answers as far as their clients have not read them yet."""

from __future__ import annotations

import select
import socket
import tempfile
import time
from contextlib import suppress
from threading import Semaphore
from typing import Any

from evalsvc.serving.request_buffer import largest

SLICE_BYTES, SLICE_SECONDS = 1 << 16, 30
PIECE_BYTES, EVENT_BYTES = 1 << 18, 1 << 20
MEMORY_BYTES = 1 << 18  # of an answer; a longer one goes to a temporary file
HELD_BYTES = 1 << 29  # of all answers of a process


class HeldAnswers:
    """The answers of a process that wait for their readers."""

    def __init__(self, *, limit: int = HELD_BYTES, threads: int = 1) -> None:
        self.limit = limit
        self.waiting: dict[ResponseBuffer, None] = {}
        self.threads = Semaphore(threads)  # that may wait for readers

    def slowest(self) -> ResponseBuffer | None:
        now = time.monotonic()
        # threads add and remove answers meanwhile
        return min(list(self.waiting), key=lambda answer: answer.speed(now), default=None)

    def end_overdue(self) -> int:
        """End the connections of clients that read too slowly; return how many."""
        now = time.monotonic()
        late = [answer for answer in list(self.waiting) if answer.overdue(now)]
        # one whose client would take more waits for its thread
        overdue = [answer for answer in late if not answer.is_writable(0)]
        for answer in overdue:
            answer.end()
        return len(overdue)

    def make_room(self, answer: ResponseBuffer) -> None:
        """Keep within the limit: let few threads wait for their readers, then end connections.

        That of the slowest reader in the network with most bytes ends first.
        """
        while sum(held.size for held in list(self.waiting)) > self.limit:
            if self.threads.acquire(blocking=False):
                try:
                    answer.wait_until_read()
                finally:
                    self.threads.release()
            elif slowest := largest(list(self.waiting), time.monotonic()):
                slowest.end()


class ResponseBuffer:
    """The answer to one request: sent as its client reads it, and held meanwhile.

    A thread sends and waits only when there is no more space; when it is done, the main loop drains what is
    left. `sock` doesn't block.
    """

    def __init__(self, sock: socket.socket, answers: HeldAnswers, *, network: str = "") -> None:
        self.sock, self.answers, self.network = sock, answers, network
        self.unread = self.read = self.sent = self.sent_of_slice = 0
        self.started = self.slice_started = 0.0
        self.spool: Any = None

    @property
    def size(self) -> int:
        """Bytes that the answer occupies."""
        return self.read + self.unread

    def send(self, data: bytes) -> None:
        """Send what the client takes at once; hold the rest."""
        left = memoryview(data)
        if self.unread and self.is_writable(0):
            self.drain()
        if not self.unread:
            left = left[self._pass_on(left) :]
        if left:
            self._hold(left)
            self.answers.make_room(self)

    def drain(self) -> None:
        """Send what the client takes now, up to a fair bound."""
        drained = 0
        while self.unread and drained < EVENT_BYTES:
            self.spool.seek(self.read)
            piece = self.spool.read(PIECE_BYTES)
            n = self._pass_on(piece)
            self.read, self.unread, drained = self.read + n, self.unread - n, drained + n
            if n < len(piece):
                break
        if not self.unread:
            self.close()

    def wait_until_read(self) -> None:
        """Wait for the client; `end_overdue` ends the connection of a slow one."""
        while self.unread:
            self.is_writable(SLICE_SECONDS)
            self.drain()

    def overdue(self, now: float) -> bool:
        return self.unread > 0 and now - self.slice_started > SLICE_SECONDS

    def speed(self, now: float) -> float:
        """Return bytes read per second, infinite at the beginning."""
        waited = now - self.started
        return self.sent / waited if waited > 1 else float("inf")

    def end(self) -> None:
        """End the connection: sending, here or in the loop, fails from now on."""
        self.answers.waiting.pop(self, None)
        with suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Free the space."""
        self.answers.waiting.pop(self, None)
        self.read = self.unread = 0
        if self.spool is not None:
            self.spool.close()
            self.spool = None

    def _hold(self, data: memoryview) -> None:
        if self.spool is None:
            self.spool = tempfile.SpooledTemporaryFile(max_size=MEMORY_BYTES)  # noqa: SIM115 - close()
            self.slice_started, self.sent_of_slice = time.monotonic(), 0
            self.started = self.started or self.slice_started
        self.spool.seek(self.size)
        self.spool.write(data)
        self.unread += len(data)
        self.answers.waiting[self] = None

    def is_writable(self, seconds: int) -> bool:
        """Wait until the socket takes more, or has ended."""
        waiting = select.poll()
        waiting.register(self.sock, select.POLLOUT)
        return bool(waiting.poll(seconds * 1000))

    def _pass_on(self, data: memoryview | bytes) -> int:
        """Return how many bytes the socket has taken."""
        try:
            n = self.sock.send(data)
        except BlockingIOError:
            return 0
        self.sent += n
        self.sent_of_slice += n
        if self.sent_of_slice >= SLICE_BYTES:
            self.sent_of_slice, self.slice_started = 0, time.monotonic()
        return n
