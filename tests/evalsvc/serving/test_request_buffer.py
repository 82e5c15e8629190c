"""Requests while they arrive: least rates, and who is ended for want of space."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

import pytest

from evalsvc.serving.held import largest
from evalsvc.serving.request_buffer import RequestBuffer

HEAD = b"POST / HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n"


Begun = Callable[..., RequestBuffer]


@pytest.fixture
def begun() -> Iterator[Begun]:
    """Requests with so much of their bodies after so many seconds."""
    with ExitStack() as open_ones:

        def begin(*, size: int, seconds: float, network: str = "a") -> RequestBuffer:
            request = RequestBuffer(max_body=1_000_000, now=0, network=network)
            open_ones.enter_context(closing(request))
            request.feed(HEAD, now=0)
            request.feed(b"a" * size, now=seconds)
            return request

        yield begin


def test_a_body_that_came_quickly_earns_no_time_to_be_idle(begun: Begun) -> None:
    request = begun(size=900_000, seconds=1)
    assert [request.overdue(now) for now in (1, 11, 12)] == [False, False, True]
    slow = begun(size=90_000, seconds=1)
    assert [slow.overdue(now) for now in (11, 18, 20)] == [False, False, True]


def test_the_slowest_request_of_the_network_with_most_bytes_is_the_largest(begun: Begun) -> None:
    slow, quick = begun(size=300_000, seconds=9), begun(size=500_000, seconds=9)
    other = begun(size=600_000, seconds=9, network="b")
    assert largest([other, quick, slow], 10) is slow
    quick.close()
    assert largest([other, quick, slow], 10) is other
    assert largest([], 10) is None


@pytest.mark.parametrize(
    "value", ["", "-1", "+5", "0x5", "5, 5", "1_0", "\x0b5", "٣", "5" * 20, "0" * 18 + "46", "0" * 40 + "5"]
)
def test_a_length_but_one_to_nineteen_digits_is_refused_and_nothing_follows(value: str) -> None:
    head = f"POST /login/ HTTP/1.1\r\nContent-Length: {value}\r\n\r\n".encode()
    with closing(RequestBuffer(max_body=1_000_000, now=0)) as request:
        request.feed(head + b"GET /healthz HTTP/1.1\r\n\r\n", now=0)
        assert request.refusal is not None
        assert (request.refusal.status, request.rest) == (400, b"")


def test_a_length_of_nineteen_digits_is_read_with_its_zeros() -> None:
    with closing(RequestBuffer(max_body=1_000_000, now=0)) as request:
        request.feed(b"POST / HTTP/1.1\r\nContent-Length: \t0000000000000000005 \r\n\r\nabcdefg", now=0)
        assert (request.refusal, request.complete, request.rest) == (None, True, b"fg")


@pytest.mark.parametrize(("length", "refused"), [(1_000_000, False), (1_500_000, False), (1_500_001, True)])
def test_a_body_beyond_the_limit_of_its_address_is_refused_before_it_comes(
    length: int, refused: bool
) -> None:
    head = f"POST / HTTP/1.1\r\nContent-Length: {length}\r\n\r\n".encode()
    limits = {head: 1_500_000}
    with closing(RequestBuffer(max_body=9_000_000, now=0, limit_of=limits.__getitem__)) as request:
        request.feed(head, now=0)
        assert (request.refusal is not None) is refused
        assert request.refusal is None or request.refusal.status == 413
