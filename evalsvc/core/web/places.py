"""Places for costly requests: at most half of the threads, so that pages stay available."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore, Condition, local

from django.conf import settings

from evalsvc.core.errors.exceptions import QuotaExceeded

RETRY_SECONDS = 5
WAIT_SECONDS = 5
NETWORK_WAIT_SECONDS = 1
_half, _quarter = (max(1, settings.WEB_THREADS // part) for part in (2, 4))
_reading, _waiting = BoundedSemaphore(_half), BoundedSemaphore(_quarter)
_hashing, _waiting_to_hash = BoundedSemaphore(_quarter), BoundedSemaphore(_quarter)
_waiting_for_network = BoundedSemaphore(_quarter)
_alone = BoundedSemaphore(1)
_of_thread = local()
_networks, _network_left = set[str](), Condition()


@contextmanager
def reading(*, alone: bool = False) -> Iterator[None]:
    """Read a file while at most half of the threads do, so that pages stay available; else answer 429.

    Another quarter of the threads may wait for a place. Of all `alone`, one reads and none waits.
    """
    if alone and not _alone.acquire(blocking=False):
        raise _no_reading()
    try:
        if not _reading.acquire(blocking=False) and (alone or not _waited(_reading, _waiting)):
            raise _no_reading()
        try:
            yield
        finally:
            _reading.release()
    finally:
        if alone:
            _alone.release()


@contextmanager
def hashing(*, network: str = "") -> Iterator[None]:
    """Hash a password, which takes most of a second, while at most a quarter of the threads do.

    Another quarter may wait for a place, of one network one at a time. A last quarter may wait a moment for
    another of their network; the others are answered with 429. A thread takes one place, whatever it asks.
    """
    if getattr(_of_thread, "hashes", False):
        yield
        return
    with _network_left:
        if network in _networks and not _waited_for(network):
            raise _no_hashing()
        _networks.update({network} - {""})
    try:
        if not _waited(_hashing, _waiting_to_hash):
            raise _no_hashing()
        _of_thread.hashes = True
        try:
            yield
        finally:
            _of_thread.hashes = False
            _hashing.release()
    finally:
        with _network_left:
            _networks.discard(network)
            _network_left.notify_all()


def _waited_for(network: str) -> bool:
    """Wait a moment until nobody else of a network has a place, while few do."""
    if not _waiting_for_network.acquire(blocking=False):
        return False
    try:
        return _network_left.wait_for(lambda: network not in _networks, NETWORK_WAIT_SECONDS)
    finally:
        _waiting_for_network.release()


def _no_hashing() -> QuotaExceeded:
    hint = f"Try again in {RETRY_SECONDS} s."
    detail = "Many passwords are being checked. Yours was not."
    return QuotaExceeded("too_many_passwords", detail, retry_after=RETRY_SECONDS, hint=hint)


def _no_reading() -> QuotaExceeded:
    hint = f"Send it again in {RETRY_SECONDS} s."
    detail = "Other files are being read."
    return QuotaExceeded("too_many_checks", detail, retry_after=RETRY_SECONDS, hint=hint)


def _waited(places: BoundedSemaphore, waiting: BoundedSemaphore) -> bool:
    """Take a place, at once or after waiting while few do."""
    if places.acquire(blocking=False):
        return True
    if not waiting.acquire(blocking=False):
        return False
    try:
        return places.acquire(timeout=WAIT_SECONDS)
    finally:
        waiting.release()
