"""Why work ends early: the input or the surroundings are at fault, it was cancelled, or the lease is lost."""

from __future__ import annotations

from collections.abc import Callable


class InputFault(Exception):
    """The input cannot be worked on; trying again would change nothing."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code, self.reason = code, reason


class TryLater(Exception):
    """Something around the work is missing just now; the input is not to blame."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Cancelled(Exception):
    """Somebody asked for the work to stop."""


class LeaseLost(Exception):
    """Another attempt owns the job now: nothing this one found may be written."""


class IllegalMove(Exception):
    """A change of state that the table of moves does not know: a defect of ours."""


def caught(call: Callable[[], object]) -> Exception | None:
    """Run the call and hand back what it raised: the one place where anything at all is caught."""
    try:
        call()
    except Exception as error:  # noqa: BLE001 - one broken job must not stop the others
        return error
    return None
