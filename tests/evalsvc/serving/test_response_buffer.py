"""Responses that wait for their readers: their space, and who is ended for want of it."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from evalsvc.serving.response_buffer import SLICE_SECONDS, HeldResponses, ResponseBuffer

CONTENT = bytes(range(256)) * 4096  # 1 MB, more than a socket takes at once


class Client:
    """A reader that reads only when it is asked to."""

    def __init__(self, responses: HeldResponses, *, network: str) -> None:
        self.ours, self.theirs = socket.socketpair()
        self.ours.setblocking(False)
        self.theirs.settimeout(20)
        self.response = ResponseBuffer(self.ours, responses, network=network)

    def read(self, n: int = 1 << 30) -> bytes:
        """Read up to n bytes, or until the server ends the connection, while the loop drains."""
        data = b""
        while len(data) < n:
            self.response.drain()
            piece = self.theirs.recv(1 << 16)
            if not piece:
                break
            data += piece
        return data


@pytest.fixture
def responses() -> HeldResponses:
    return HeldResponses(limit=2 * len(CONTENT) + len(CONTENT) // 2)


@pytest.fixture
def clients(responses: HeldResponses) -> Iterator[list[Client]]:
    all_of_them = [Client(responses, network=network) for network in "aab"]
    yield all_of_them
    for client in all_of_them:
        client.response.close()
        client.ours.close()
        client.theirs.close()


def test_a_thread_hands_over_a_response_that_nobody_reads(
    responses: HeldResponses, clients: list[Client]
) -> None:
    for at in range(0, len(CONTENT), 1000):
        clients[0].response.send(CONTENT[at : at + 1000])
    assert clients[0].response.unread > 0
    assert clients[0].read(len(CONTENT)) == CONTENT
    assert (clients[0].response.size, list(responses.waiting)) == (0, [])


def test_of_responses_beyond_the_space_the_slowest_of_the_network_with_most_is_ended(
    responses: HeldResponses, clients: list[Client]
) -> None:
    assert responses.threads.acquire()  # as if a thread waited already
    slow, quick, other = clients
    for client in (slow, quick):
        client.response.send(CONTENT)
    begun = quick.read(len(CONTENT) // 2)
    for response in (slow.response, quick.response):
        response.started -= 10  # seconds
    other.response.send(CONTENT + CONTENT[: len(CONTENT) // 2])
    assert list(responses.waiting) == [quick.response, other.response]
    with pytest.raises(OSError, match="pipe"):
        slow.response.drain()
    assert begun + quick.read(len(CONTENT) - len(begun)) == CONTENT
    assert other.read(len(CONTENT) * 3 // 2) == CONTENT + CONTENT[: len(CONTENT) // 2]


def test_few_threads_wait_for_space(responses: HeldResponses, clients: list[Client]) -> None:
    for client in clients[:2]:
        client.response.send(CONTENT)
    content = CONTENT * 4
    sending = threading.Thread(target=clients[2].response.send, args=(content,))
    sending.start()
    received = b""
    while len(received) < len(content):
        received += clients[2].theirs.recv(1 << 16)
    sending.join(20)
    assert (sending.is_alive(), received == content) == (False, True)
    assert list(responses.waiting) == [client.response for client in clients[:2]]


def test_a_thread_whose_response_is_read_waits_no_longer(
    responses: HeldResponses, clients: list[Client]
) -> None:
    """It asked again without end while others' responses were beyond the limit."""
    clients[0].response.send(CONTENT)
    responses.limit = 0
    waiting = threading.Thread(target=responses.make_room, args=[clients[1].response], daemon=True)
    waiting.start()
    waiting.join(20)
    assert not waiting.is_alive()
    assert list(responses.waiting) == [clients[0].response]


def test_a_reader_below_the_least_rate_is_ended(responses: HeldResponses, clients: list[Client]) -> None:
    for client in clients[:2]:
        client.response.send(CONTENT)
        client.response.slice_started -= SLICE_SECONDS + 1
    clients[1].read(len(CONTENT) // 2)
    clients[2].response.send(CONTENT)
    assert clients[2].theirs.recv(1 << 22)  # reads all that was sent, and its thread sends nothing more
    clients[2].response.slice_started -= SLICE_SECONDS + 1
    assert responses.end_overdue() == 1
    responses.waiting.pop(clients[2].response)
    assert list(responses.waiting) == [clients[1].response]
    assert not clients[1].response.overdue(time.monotonic())
