"""Responses that their clients have not read yet."""

from __future__ import annotations

import select
import socket
import tempfile
import time
from contextlib import suppress
from threading import Semaphore
from typing import Any

from evalsvc.serving.held import EVENT_BYTES, PIECE_BYTES, largest

SLICE_BYTES, SLICE_SECONDS = 1 << 16, 30
MEMORY_BYTES = 1 << 18  # of a response; a longer one goes to a temporary file
HELD_BYTES = 1 << 29  # of all responses of a process


class HeldResponses:
    """The responses of a process that wait for their readers."""

    def __init__(self, *, limit: int = HELD_BYTES, threads: int = 1) -> None:
        self.limit = limit
        self.waiting: dict[ResponseBuffer, None] = {}
        self.threads = Semaphore(threads)  # that may wait for readers

    def slowest(self) -> ResponseBuffer | None:
        now = time.monotonic()
        # threads add and remove responses meanwhile
        return min(list(self.waiting), key=lambda response: response.speed(now), default=None)

    def end_overdue(self) -> int:
        """End the connections of clients that read too slowly; return how many."""
        now = time.monotonic()
        late = [response for response in list(self.waiting) if response.overdue(now)]
        # one whose client would take more waits for its thread
        overdue = [response for response in late if not response.is_writable(0)]
        for response in overdue:
            response.end()
        return len(overdue)

    def make_room(self, response: ResponseBuffer) -> None:
        """Keep within the limit: let few threads wait for their readers, then end connections.

        That of the slowest reader in the network with most bytes ends first.
        """
        while response.unread and sum(held.size for held in list(self.waiting)) > self.limit:
            if self.threads.acquire(blocking=False):
                try:
                    response.wait_until_read()
                finally:
                    self.threads.release()
            elif slowest := largest(list(self.waiting), time.monotonic()):
                slowest.end()


class ResponseBuffer:
    """The response to one request: sent as its client reads it, and held meanwhile.

    A thread sends and waits only when there is no more space; when it is done, the main loop drains what is
    left. `sock` doesn't block.
    """

    def __init__(self, sock: socket.socket, responses: HeldResponses, *, network: str = "") -> None:
        self.sock, self.responses, self.network = sock, responses, network
        self.unread = self.read = self.sent = self.sent_of_slice = 0
        self.started = self.slice_started = 0.0
        self.spool: Any = None

    @property
    def size(self) -> int:
        """Bytes that the response occupies."""
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
            self.responses.make_room(self)

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
        self.responses.waiting.pop(self, None)
        with suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Free the space."""
        self.responses.waiting.pop(self, None)
        self.read = self.unread = 0
        spool, self.spool = self.spool, None
        if spool is not None:
            with suppress(OSError):  # on a full disk
                spool.close()

    def _hold(self, data: memoryview) -> None:
        if self.spool is None:
            self.spool = tempfile.SpooledTemporaryFile(max_size=MEMORY_BYTES)  # noqa: SIM115 - close()
            self.slice_started, self.sent_of_slice = time.monotonic(), 0
            self.started = self.started or self.slice_started
        self.spool.seek(self.size)
        self.spool.write(data)
        self.unread += len(data)
        self.responses.waiting[self] = None

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
