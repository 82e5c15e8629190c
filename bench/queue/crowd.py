"""Annotators without a pause between items, in one process: sockets that stay open, a thread each."""

from __future__ import annotations

import json
import socket
import threading
import time
import uuid
import zlib
from dataclasses import dataclass, field
from typing import Any

from bench.queue.seeding import LABELS


@dataclass
class Came:
    """What one crowd did; `took` is seconds per item, from asking for it to its vote being written."""

    seconds: float = 0
    client: float = 0
    took: list[float] = field(default_factory=list)
    asked: list[float] = field(default_factory=list)
    voted: list[float] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    @property
    def rate(self) -> float:
        return len(self.took) / self.seconds


class Line:
    """One connection; it is opened again when the server closed it between two requests."""

    def __init__(self, port: int, token: str) -> None:
        self.port, self.token = port, token
        self.socket: socket.socket | None = None
        self.left = b""

    def post(self, path: str, body: Any) -> tuple[int, Any]:
        text = json.dumps(body).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {self.token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n"
        )
        for _ in range(3):
            try:
                self.open().sendall(head.encode() + text)
                return self.read()
            except (ConnectionError, EOFError):
                self.close()
        raise ConnectionError(f"No answer to {path}.")

    def open(self) -> socket.socket:
        if self.socket is None:
            self.socket = socket.create_connection(("127.0.0.1", self.port), timeout=60)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.left = b""
        return self.socket

    def close(self) -> None:
        if self.socket is not None:
            self.socket.close()
            self.socket = None

    def read(self) -> tuple[int, Any]:
        while b"\r\n\r\n" not in self.left:
            self.more()
        head, _, body = self.left.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").lower().split("\r\n")
        told = dict(line.split(": ", 1) for line in lines[1:] if ": " in line)
        self.left = body
        length = int(told.get("content-length", "0"))
        while len(self.left) < length:
            self.more()
        body, self.left = self.left[:length], self.left[length:]
        if told.get("connection") == "close":
            self.close()
        return int(lines[0].split()[1]), json.loads(body) if body else None

    def more(self) -> None:
        assert self.socket is not None
        got = self.socket.recv(65_536)
        if not got:
            raise EOFError
        self.left += got


def labels_of(item: str | int) -> list[str]:
    """The same answer from everybody: items are settled."""
    return [LABELS[zlib.crc32(str(item).encode()) % len(LABELS)]]


def annotate(
    line: Line, slug: str, came: Came, go: threading.Event, stop: threading.Event, most: int
) -> None:
    go.wait()
    try:
        for _ in range(most):
            if stop.is_set() or not one(line, slug, came):
                break
    except Exception as error:  # noqa: BLE001 - whatever breaks an annotator is a finding
        came.faults.append(f"{type(error).__name__}: {error}")
    finally:
        line.close()


def one(line: Line, slug: str, came: Came) -> bool:
    """Ask for an item and vote on it; False when nothing waits."""
    start = time.perf_counter()
    status, told = line.post(f"/api/v1/projects/{slug}/lease", {"holding": []})
    between = time.perf_counter()
    if status == 204:
        return False
    if status != 200:
        raise RuntimeError(f"lease: {status} {told}")
    name, item = str(uuid.uuid4()), told["item"]["id"]
    said = {"spans": [], "relations": labels_of(item)}
    body = {"client_id": name, "payload": said, "base": told["base"], "milliseconds": 1_500}
    status, told = line.post(f"/api/v1/items/{item}/answer", body)
    end = time.perf_counter()
    if status != 201:
        raise RuntimeError(f"answer: {status} {told}")
    came.names.append(name)
    came.asked.append(between - start)
    came.voted.append(end - between)
    came.took.append(end - start)
    return True


def work(port: int, slug: str, tokens: list[str], *, seconds: float = 3_600, most: int = 1_000_000) -> Came:
    """Everybody at once, for so long or so many items each."""
    go, stop = threading.Event(), threading.Event()
    each = [Came() for _ in tokens]
    lines = [Line(port, token) for token in tokens]
    threads = [
        threading.Thread(target=annotate, args=(line, slug, came, go, stop, most))
        for line, came in zip(lines, each, strict=True)
    ]
    for thread in threads:
        thread.start()
    start, spent = time.perf_counter(), time.process_time()
    go.set()
    for thread in threads:
        thread.join(max(0.0, start + seconds - time.perf_counter()))
    stop.set()
    for thread in threads:
        thread.join()
    every = Came(time.perf_counter() - start, time.process_time() - spent)
    for came in each:
        for name in ("took", "asked", "voted", "names", "faults"):
            getattr(every, name).extend(getattr(came, name))
    return every
