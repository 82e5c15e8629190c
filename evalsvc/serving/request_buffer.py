"""One HTTP request while it arrives, within deadlines and least rates."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

HEAD_SECONDS, HEAD_BYTES, LINE_BYTES, MOST_HEADERS = 10, 65_536, 8_190, 100
BODY_GRACE_SECONDS, BODY_BYTES_PER_SECOND, SLICE_BYTES = 10, 10_000, 100_000
SMALL_BODY_BYTES = 1_000_000  # every address takes it
MEMORY_BYTES = 65_536  # of a body; a longer one goes to a temporary file
END_OF_HEAD = b"\r\n\r\n"
LENGTH = re.compile(rb"\r\ncontent-length:([^\r\n]*)", re.IGNORECASE)
COOKIE = re.compile(rb"\r\ncookie:", re.IGNORECASE)
DIGITS = re.compile(rb"[0-9]{1,19}")  # more, and gunicorn might read another number than this loop
CHUNKED = re.compile(rb"\r\ntransfer-encoding:", re.IGNORECASE)
EXPECT = re.compile(rb"\r\nexpect:[ \t]*100-continue[ \t]*(?=\r\n)", re.IGNORECASE)
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"

LimitOfHead = Callable[[bytes], int]


@dataclass(frozen=True, slots=True)
class Refusal:
    """A response to a request that no thread gets to see."""

    status: int
    detail: str
    code: str = ""

    def response(self) -> bytes:
        """Return the whole response, in the shape of the API's errors."""
        # gunicorn's first process imports this module before Django is set up
        from evalsvc.core.errors.handlers import PROBLEM_JSON, problem

        body = json.dumps(problem(self.status, detail=self.detail, code=self.code)).encode()
        head = [
            f"HTTP/1.1 {self.status} {HTTPStatus(self.status).phrase}",
            f"Content-Type: {PROBLEM_JSON}",
            f"Content-Length: {len(body)}",
            "Cache-Control: no-store",
            "Connection: close",
        ]
        return "\r\n".join([*head, "", ""]).encode() + body


class RequestBuffer:
    """Head and body of one request; afterwards the source that gunicorn parses.

    `rest` holds bytes of the next request, `size` counts those in the buffer.
    """

    def __init__(
        self, *, max_body: int, now: float, network: str = "", limit_of: LimitOfHead | None = None
    ) -> None:
        self.max_body, self.network, self.limit_of = max_body, network, limit_of
        self.started = self.slice_started = now
        self.slice_received = self.size = 0
        self.head, self.rest = bytearray(), b""
        self.missing: int | None = None  # bytes of the body to come; None before the end of the head
        self.received = 0
        self.refusal: Refusal | None = None
        self.expects_continue = False
        self.spool: Any = tempfile.SpooledTemporaryFile(max_size=MEMORY_BYTES)  # noqa: SIM115 - close()

    @property
    def complete(self) -> bool:
        return self.refusal is not None or self.missing == 0

    def feed(self, data: bytes, *, now: float) -> None:
        """Take the next bytes of the connection."""
        self.received += len(data)
        self.size += len(data)
        self.slice_received += len(data)
        if self.missing is None:
            data = self._read_head(data, now)
        elif self.slice_received >= SLICE_BYTES:
            self.slice_started, self.slice_received = now, 0
        if self.missing is not None and self.refusal is None:
            self.spool.write(data[: self.missing])
            self.rest = data[self.missing :]
            self.missing -= len(data) - len(self.rest)
        if self.complete:
            self.spool.seek(0)

    def _read_head(self, data: bytes, now: float) -> bytes:
        """Add to the head; return the bytes after its end."""
        searched = max(0, len(self.head) - len(END_OF_HEAD))
        self.head += data
        end = self.head.find(END_OF_HEAD, searched)
        if end < 0 and len(self.head) <= HEAD_BYTES:
            return b""
        if not 0 <= end <= HEAD_BYTES:
            self.refusal = Refusal(431, f"The request's headers have more than {HEAD_BYTES:,} bytes.")
            return b""
        end += len(END_OF_HEAD)
        head, body = bytes(self.head[:end]), bytes(self.head[end:])
        del self.head[end:]
        self.started, self.received = now, len(body)
        self.slice_started, self.slice_received = now, len(body)
        self._frame(head)
        without = EXPECT.sub(b"", head)
        self.expects_continue = without != head and bool(self.missing)
        self.spool.write(without)
        return body

    def _frame(self, head: bytes) -> None:
        """Set the length of the body from the head, or refuse the request."""
        lengths = [value.strip(b" \t") for value in LENGTH.findall(head)]
        self.missing = 0
        if head.find(b"\r\n") > LINE_BYTES:
            self.refusal = Refusal(
                414, f"The address has more than {LINE_BYTES:,} bytes. Send long fields in a form."
            )
        elif head.count(b"\r\n") - 2 > MOST_HEADERS:
            self.refusal = Refusal(431, f"The request has more than {MOST_HEADERS} headers.")
        elif len(COOKIE.findall(head)) > 1:  # each has a bound, but they would be read as one
            self.refusal = Refusal(400, "Send all cookies in one header.")
        elif CHUNKED.search(head):
            self.refusal = Refusal(411, "Send the body with Content-Length, not in chunks.")
        elif len(lengths) > 1 or not all(map(DIGITS.fullmatch, lengths)):
            self.refusal = Refusal(400, "Send one Content-Length, of 1 to 19 digits.")
        elif lengths:
            self.missing = int(lengths[0])
        most = self.max_body
        if self.limit_of and SMALL_BODY_BYTES < self.missing <= most:
            most = min(most, self.limit_of(head))
        if self.missing > most:
            hint = " Pack it with gzip." if most == self.max_body else ""
            self.refusal = Refusal(
                413, f"The body has {self.missing:,} bytes; this address takes {most:,}.{hint}"
            )

    def overdue(self, now: float) -> bool:
        """True if the head is late, or the body too slow."""
        if self.missing is None:
            return now - self.started > HEAD_SECONDS
        return now - self.slice_started > BODY_GRACE_SECONDS + self.slice_received / BODY_BYTES_PER_SECOND

    def speed(self, now: float) -> float:
        """Return received bytes per second, infinite at the beginning."""
        waited = now - self.started
        return self.received / waited if waited > 1 else float("inf")

    def end_early(self) -> None:
        """Let the service answer a body that its client did not finish."""
        self.missing = 0
        self.spool.seek(0)

    def recv(self, size: int) -> bytes:
        """Return the next bytes, as a socket would."""
        data: bytes = self.spool.read(size)
        return data

    def close(self) -> None:
        self.size = 0
        with suppress(OSError):  # on a full disk
            self.spool.close()
