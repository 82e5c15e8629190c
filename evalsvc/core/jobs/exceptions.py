"""Reasons for work to end early."""

from __future__ import annotations

from collections.abc import Callable

REFUSED = "refused"  # code of a job whose file is not as required


class InputFault(Exception):
    """The input cannot be processed; trying again would change nothing."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code, self.reason = code, reason


class RetryLater(Exception):
    """Part of the infrastructure is missing; the input is not at fault.

    `most` bounds the retries, if each costs much; the job then fails with `code`.
    """

    def __init__(self, reason: str, *, most: int | None = None, code: str = "unavailable") -> None:
        super().__init__(reason)
        self.reason, self.most, self.code = reason, most, code


class Cancelled(Exception):
    """A user asked for the work to stop."""


class TurnOver(Exception):
    """Other jobs come first now; the job has stored its parts so far, and goes on with the others later."""


class LeaseLost(Exception):
    """Another attempt owns the job now: this one must not store anything."""


class IllegalTransition(Exception):
    """A change of state outside the table: a programming error."""


def caught(call: Callable[[], object]) -> Exception | None:
    """Run the call and return the exception it raised, whatever its class."""
    try:
        call()
    except Exception as error:  # noqa: BLE001 - one broken job must not stop the others
        return error
    return None
