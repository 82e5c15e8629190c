"""What the web server holds of requests and responses: bounds, and who is ended for want of space."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Protocol, TypeVar

PIECE_BYTES, EVENT_BYTES = 1 << 18, 1 << 20  # of a connection at once, and before others have their turn


class Held(Protocol):
    """A request or a response that occupies space."""

    network: str

    @property
    def size(self) -> int: ...

    def speed(self, now: float) -> float: ...


H = TypeVar("H", bound=Held)


def largest(held: Collection[H], now: float) -> H | None:
    """Return the slowest of the network that occupies most."""
    sizes = Counter[str]()
    for each in held:
        sizes[each.network] += each.size
    if not sizes:
        return None
    network = max(sizes, key=sizes.__getitem__)
    return min((each for each in held if each.network == network), key=lambda each: each.speed(now))
