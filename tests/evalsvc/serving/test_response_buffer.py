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

    def __init__(self, answers: HeldAnswers) -> None:
        self.ours, self.theirs = socket.socketpair()
        self.ours.setblocking(False)
        self.theirs.settimeout(20)
        self.answer = ResponseBuffer(self.ours, answers)

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
    return HeldAnswers(limit=3 * len(CONTENT))


@pytest.fixture
def clients(answers: HeldAnswers) -> Iterator[list[Client]]:
    all_of_them = [Client(answers) for _ in range(3)]
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


def test_of_answers_beyond_the_space_the_slowest_is_ended(
    answers: HeldAnswers, clients: list[Client]
) -> None:
    slow, quick, last = clients
    for client in (slow, quick):
        client.answer.send(CONTENT)
    begun = quick.read(len(CONTENT) // 2)
    for answer in (slow.answer, quick.answer):
        answer.started -= 10  # seconds
    last.answer.send(CONTENT * 2)
    assert list(answers.waiting) == [quick.answer, last.answer]
    with pytest.raises(OSError, match="pipe"):
        slow.answer.drain()
    assert begun + quick.read(len(CONTENT) - len(begun)) == CONTENT
    assert last.read(2 * len(CONTENT)) == CONTENT * 2


def test_only_the_thread_of_a_single_reader_waits_for_space(
    answers: HeldAnswers, clients: list[Client]
) -> None:
    content = CONTENT * 4
    sending = threading.Thread(target=clients[0].answer.send, args=(content,))
    sending.start()
    received = b""
    while len(received) < len(content):
        received += clients[0].theirs.recv(1 << 16)
    sending.join(20)
    assert (sending.is_alive(), received == content, answers.waiting) == (False, True, {})


def test_a_reader_below_the_least_rate_is_ended(answers: HeldAnswers, clients: list[Client]) -> None:
    for client in clients[:2]:
        client.answer.send(CONTENT)
        client.answer.slice_started -= SLICE_SECONDS + 1
    clients[1].read(len(CONTENT) // 2)
    assert answers.end_overdue() == 1
    assert list(answers.waiting) == [clients[1].answer]
    assert not clients[1].answer.overdue(time.monotonic())
