"""Annotators who never pause: a thread and an open connection each, in one process."""

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
class CrowdResult:
    """Work of one crowd: seconds per item and per request, and the ids of acknowledged votes."""

    seconds: float = 0
    client: float = 0
    item: list[float] = field(default_factory=list)
    lease: list[float] = field(default_factory=list)
    answer: list[float] = field(default_factory=list)
    votes: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    @property
    def rate(self) -> float:
        return len(self.item) / self.seconds


class Connection:
    """An HTTP connection, opened again if the server closed it between two requests."""

    def __init__(self, port: int, token: str) -> None:
        self.port, self.token = port, token
        self.socket: socket.socket | None = None
        self.buffer = b""

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
        raise ConnectionError(f"No answer to {path} after three attempts.")

    def open(self) -> socket.socket:
        if self.socket is None:
            self.socket = socket.create_connection(("127.0.0.1", self.port), timeout=60)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.buffer = b""
        return self.socket

    def close(self) -> None:
        if self.socket is not None:
            self.socket.close()
            self.socket = None

    def read(self) -> tuple[int, Any]:
        while b"\r\n\r\n" not in self.buffer:
            self.receive()
        head, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").lower().split("\r\n")
        headers = dict(line.split(": ", 1) for line in lines[1:] if ": " in line)
        length = int(headers.get("content-length", "0"))
        while len(self.buffer) < length:
            self.receive()
        body, self.buffer = self.buffer[:length], self.buffer[length:]
        if headers.get("connection") == "close":
            self.close()
        return int(lines[0].split()[1]), json.loads(body) if body else None

    def receive(self) -> None:
        assert self.socket is not None
        data = self.socket.recv(65_536)
        if not data:
            raise EOFError
        self.buffer += data


def annotate(
    connection: Connection,
    slug: str,
    result: CrowdResult,
    go: threading.Event,
    stop: threading.Event,
    most: int,
) -> None:
    go.wait()
    try:
        for _ in range(most):
            if stop.is_set() or not label_one(connection, slug, result):
                break
    except Exception as error:  # noqa: BLE001 - every failure of an annotator is reported
        result.faults.append(f"{type(error).__name__}: {error}")
    finally:
        connection.close()


def label_one(connection: Connection, slug: str, result: CrowdResult) -> bool:
    """Lease an item and answer it; False if no item is available."""
    start = time.perf_counter()
    status, lease = connection.post(f"/api/v1/projects/{slug}/lease", {"holding": []})
    leased = time.perf_counter()
    if status == 204:
        return False
    if status != 200:
        raise RuntimeError(f"lease: {status} {lease}")
    vote, item = str(uuid.uuid4()), lease["item"]["id"]
    # everybody gives the same label, so that items are settled
    labels = [LABELS[zlib.crc32(str(item).encode()) % len(LABELS)]]
    body = {
        "client_id": vote,
        "payload": {"spans": [], "relations": labels},
        "base": lease["base"],
        "milliseconds": 1_500,
    }
    status, answer = connection.post(f"/api/v1/items/{item}/answer", body)
    end = time.perf_counter()
    if status != 201:
        raise RuntimeError(f"answer: {status} {answer}")
    result.votes.append(vote)
    result.lease.append(leased - start)
    result.answer.append(end - leased)
    result.item.append(end - start)
    return True


def run_crowd(
    port: int, slug: str, tokens: list[str], *, seconds: float = 3_600, most: int = 1_000_000
) -> CrowdResult:
    """Let everybody label at once, for a time or a number of items each."""
    go, stop = threading.Event(), threading.Event()
    each = [CrowdResult() for _ in tokens]
    threads = [
        threading.Thread(target=annotate, args=(Connection(port, token), slug, result, go, stop, most))
        for token, result in zip(tokens, each, strict=True)
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
    total = CrowdResult(time.perf_counter() - start, time.process_time() - spent)
    for result in each:
        for name in ("item", "lease", "answer", "votes", "faults"):
            getattr(total, name).extend(getattr(result, name))
    return total
