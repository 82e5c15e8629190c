"""Places for requests that take long: they leave a thread to pages and one to a password."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore, Condition, local

from django.conf import settings

from evalsvc.core.errors.exceptions import QuotaExceeded

RETRY_SECONDS = 5
WAIT_SECONDS = 5
NETWORK_WAIT_SECONDS = 1
_half, _quarter = (max(1, settings.WEB_THREADS // part) for part in (2, 4))
_reading, _waiting = BoundedSemaphore(_half), BoundedSemaphore(_quarter)
_waiting_by_network, _waiting_for_network = BoundedSemaphore(_quarter), BoundedSemaphore(_quarter)
_alone = BoundedSemaphore(1)
_busy = BoundedSemaphore(max(1, settings.WEB_THREADS - 2))  # and one more for a password
_of_thread = local()


@contextmanager
def busy(error: Callable[[], Exception]) -> Iterator[None]:
    """Occupy a thread for long, while two are left, for pages and a password; else raise the error."""
    if getattr(_of_thread, "busy", False):
        yield
        return
    if not _busy.acquire(blocking=False):
        raise error()
    _of_thread.busy = True
    try:
        yield
    finally:
        _of_thread.busy = False
        _busy.release()


@contextmanager
def reading(*, alone: bool = False) -> Iterator[None]:
    """Read a file while at most half of the threads do, so that pages stay available; else answer 429.

    Another quarter of the threads may wait for a place. Of all `alone`, one reads and none waits.
    """
    if alone and not _alone.acquire(blocking=False):
        raise _no_reading()
    try:
        with busy(_no_reading):
            if not _reading.acquire(blocking=False) and (alone or not _waited(_reading, _waiting)):
                raise _no_reading()
            try:
                yield
            finally:
                _reading.release()
    finally:
        if alone:
            _alone.release()


class NetworkPlaces:
    """Places for a quarter of the threads, of each network one at a time.

    Another quarter may wait for a place, of each network one, and a last quarter a moment for another of
    their network; the others are answered with 429.
    """

    def __init__(self, code: str, detail: str, *, quick: bool = False) -> None:
        self.code, self.detail, self.quick = code, detail, quick
        self.free, self.networks, self.left = BoundedSemaphore(_quarter), set[str](), Condition()

    @contextmanager
    def taken(self, network: str) -> Iterator[None]:
        """Take a place, or answer 429; a quick one that is free also while all else is busy."""
        if self.quick and network not in self.networks and self.free.acquire(blocking=False):
            try:
                with self._turn_of(network):
                    yield
            finally:
                self.free.release()
            return
        with busy(self._none), self._turn_of(network):
            if not _waited(self.free, _waiting_by_network):
                raise self._none()
            try:
                yield
            finally:
                self.free.release()

    @contextmanager
    def _turn_of(self, network: str) -> Iterator[None]:
        with self.left:
            if network in self.networks and not self._waited_for(network):
                raise self._none()
            self.networks.update({network} - {""})
        try:
            yield
        finally:
            with self.left:
                self.networks.discard(network)
                self.left.notify_all()

    def _waited_for(self, network: str) -> bool:
        """Wait a moment until nobody else of a network has a place, while few do."""
        if not _waiting_for_network.acquire(blocking=False):
            return False
        try:
            return self.left.wait_for(lambda: network not in self.networks, NETWORK_WAIT_SECONDS)
        finally:
            _waiting_for_network.release()

    def _none(self) -> QuotaExceeded:
        hint = f"Try again in {RETRY_SECONDS} s."
        return QuotaExceeded(self.code, self.detail, retry_after=RETRY_SECONDS, hint=hint)


passwords = NetworkPlaces(
    "too_many_passwords", "Many passwords are being checked. Yours was not.", quick=True
)
mails = NetworkPlaces("too_many_mails", "Many mails are being sent, or the mail server is slow.")
provider = NetworkPlaces("too_many_sign_ons", "Many people are signing on, or the provider is slow.")


@contextmanager
def hashing(*, network: str = "") -> Iterator[None]:
    """Hash a password, which takes most of a second.

    A thread takes one place, however often it hashes.
    """
    if getattr(_of_thread, "hashes", False):
        yield
        return
    with passwords.taken(network):
        _of_thread.hashes = True
        try:
            yield
        finally:
            _of_thread.hashes = False


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
