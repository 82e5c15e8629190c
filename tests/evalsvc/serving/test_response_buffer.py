"""Answers that wait for their readers: their space, and who is ended for want of it."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from evalsvc.serving.response_buffer import SLICE_SECONDS, HeldAnswers, ResponseBuffer

CONTENT = bytes(range(256)) * 4096  # 1 MB, more than a socket takes at once


class Client:
    """A reader that reads only when it is asked to."""

    def __init__(self, answers: HeldAnswers, *, network: str) -> None:
        self.ours, self.theirs = socket.socketpair()
        self.ours.setblocking(False)
        self.theirs.settimeout(20)
        self.answer = ResponseBuffer(self.ours, answers, network=network)

    def read(self, n: int = 1 << 30) -> bytes:
        """Read up to n bytes, or until the server ends the connection, while the loop drains."""
        data = b""
        while len(data) < n:
            self.answer.drain()
            piece = self.theirs.recv(1 << 16)
            if not piece:
                break
            data += piece
        return data


@pytest.fixture
def answers() -> HeldAnswers:
    return HeldAnswers(limit=2 * len(CONTENT) + len(CONTENT) // 2)


@pytest.fixture
def clients(answers: HeldAnswers) -> Iterator[list[Client]]:
    all_of_them = [Client(answers, network=network) for network in "aab"]
    yield all_of_them
    for client in all_of_them:
        client.answer.close()
        client.ours.close()
        client.theirs.close()


def test_a_thread_hands_over_an_answer_that_nobody_reads(answers: HeldAnswers, clients: list[Client]) -> None:
    for at in range(0, len(CONTENT), 1000):
        clients[0].answer.send(CONTENT[at : at + 1000])
    assert clients[0].answer.unread > 0
    assert clients[0].read(len(CONTENT)) == CONTENT
    assert (clients[0].answer.size, list(answers.waiting)) == (0, [])


def test_of_answers_beyond_the_space_the_slowest_of_the_network_with_most_is_ended(
    answers: HeldAnswers, clients: list[Client]
) -> None:
    assert answers.threads.acquire()  # as if a thread waited already
    slow, quick, other = clients
    for client in (slow, quick):
        client.answer.send(CONTENT)
    begun = quick.read(len(CONTENT) // 2)
    for answer in (slow.answer, quick.answer):
        answer.started -= 10  # seconds
    other.answer.send(CONTENT + CONTENT[: len(CONTENT) // 2])
    assert list(answers.waiting) == [quick.answer, other.answer]
    with pytest.raises(OSError, match="pipe"):
        slow.answer.drain()
    assert begun + quick.read(len(CONTENT) - len(begun)) == CONTENT
    assert other.read(len(CONTENT) * 3 // 2) == CONTENT + CONTENT[: len(CONTENT) // 2]


def test_few_threads_wait_for_space(answers: HeldAnswers, clients: list[Client]) -> None:
    for client in clients[:2]:
        client.answer.send(CONTENT)
    content = CONTENT * 4
    sending = threading.Thread(target=clients[2].answer.send, args=(content,))
    sending.start()
    received = b""
    while len(received) < len(content):
        received += clients[2].theirs.recv(1 << 16)
    sending.join(20)
    assert (sending.is_alive(), received == content) == (False, True)
    assert list(answers.waiting) == [client.answer for client in clients[:2]]


def test_a_reader_below_the_least_rate_is_ended(answers: HeldAnswers, clients: list[Client]) -> None:
    for client in clients[:2]:
        client.answer.send(CONTENT)
        client.answer.slice_started -= SLICE_SECONDS + 1
    clients[1].read(len(CONTENT) // 2)
    clients[2].answer.send(CONTENT)
    assert clients[2].theirs.recv(1 << 22)  # reads all that was sent, and its thread sends nothing more
    clients[2].answer.slice_started -= SLICE_SECONDS + 1
    assert answers.end_overdue() == 1
    answers.waiting.pop(clients[2].answer)
    assert list(answers.waiting) == [clients[1].answer]
    assert not clients[1].answer.overdue(time.monotonic())
