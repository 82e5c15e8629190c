"""Places: how many threads of a web process may do something slow at once.

Every kind of slow request has its places, and each holder (a person or a network) has one of them at a time.
All kinds together leave a thread to pages, and some to passwords: a log-in waits for no file. A request
without a place is answered with 429; of some kinds, one of each holder waits a little before. Places of long
polls give way: their threads count for nobody else, as they are left within a moment.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from threading import Condition, local

from django.conf import settings

from evalsvc.core.errors.exceptions import QuotaExceeded

RETRY_SECONDS = 5
WAIT_SECONDS = 5


def half(threads: int) -> int:
    return max(1, threads // 2)


def quarter(threads: int) -> int:
    return max(1, threads // 4)


def shared(threads: int) -> int:
    """Return how many threads all kinds but passwords share; one is nobody's."""
    return max(1, threads - quarter(threads) - 1)


class Places:
    """The places of one kind.

    All kinds share some threads. Those of `reserved` places come on top; waiting for one takes a shared one.
    Holders of places that give way ask whether others want their thread.
    """

    kinds: list[Places] = []
    changed = Condition()  # guards the lists of all kinds
    of_thread = local()

    def __init__(
        self,
        code: str,
        detail: str,
        most: int,
        *,
        wait: float = 0,
        reserved: bool = False,
        gives_way: bool = False,
    ) -> None:
        self.code, self.detail, self.most, self.wait = code, detail, most, wait
        self.reserved, self.gives_way = reserved, gives_way
        self.holders: list[Hashable] = []
        self.waiting: list[Hashable] = []
        self.kinds.append(self)

    @contextmanager
    def taken(self, holder: Hashable = None) -> Iterator[None]:
        """Take a place, or answer 429; a thread that has one needs no other."""
        if getattr(self.of_thread, "has_place", False):
            yield
            return
        holder = holder or object()
        self._take(holder)
        self.of_thread.has_place = True
        try:
            yield
        finally:
            self.of_thread.has_place = False
            with self.changed:
                self.holders.remove(holder)
                self.changed.notify_all()

    def _take(self, holder: Hashable) -> None:
        with self.changed:
            at_once = self.reserved and self._is_next(holder)
            is_full = self._shared_in_use(count_all=self.gives_way) >= shared(settings.WEB_THREADS)
            if not at_once and (is_full or holder in self.waiting):
                raise self._error()
            self.waiting.append(holder)
            try:
                if not self.changed.wait_for(lambda: self._is_next(holder), self.wait):
                    raise self._error()
                self.holders.append(holder)
            finally:
                self.waiting.remove(holder)
                self.changed.notify_all()

    def _is_next(self, holder: Hashable) -> bool:
        """Return whether a place is free, and no other holder has waited longer for it."""
        ready = (each for each in self.waiting if each not in self.holders)
        return len(self.holders) < self.most and holder not in self.holders and next(ready, holder) == holder

    def is_wanted(self) -> bool:
        """Return whether others want the threads of places that give way."""
        with self.changed:
            return self._shared_in_use(count_all=True) > shared(settings.WEB_THREADS)

    def _shared_in_use(self, *, count_all: bool) -> int:
        kinds = (kind for kind in self.kinds if count_all or not kind.gives_way)
        return sum(len(kind.waiting) + len(kind.holders) * (not kind.reserved) for kind in kinds)

    def _error(self) -> QuotaExceeded:
        hint = f"Try again in {RETRY_SECONDS} s."
        return QuotaExceeded(self.code, self.detail, retry_after=RETRY_SECONDS, hint=hint)


_half, _quarter = half(settings.WEB_THREADS), quarter(settings.WEB_THREADS)
files = Places("too_many_checks", "Another file of yours, or files of others, are being read.", _half)
# Any number of people at once, but of each one answer and another that waits.
answers = Places(
    "too_many_answers",
    "Other answers of yours are being stored.",
    settings.WEB_THREADS,
    wait=WAIT_SECONDS,
    reserved=True,
)
polls = Places("too_many_polls", "Too many requests wait.", settings.WEB_THREADS // 4, gives_way=True)
mails = Places(
    "too_many_mails", "Many mails are being sent, or the mail server is slow.", _quarter, wait=WAIT_SECONDS
)
provider = Places(
    "too_many_sign_ons",
    "Many people are signing on, or the provider is slow.",
    _quarter,
    wait=WAIT_SECONDS,
)
passwords = Places(
    "too_many_passwords",
    "Many passwords are being checked. Yours was not.",
    _quarter,
    wait=WAIT_SECONDS,
    reserved=True,
)
