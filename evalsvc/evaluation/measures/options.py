"""What a benchmark may set besides its labels: a closed table; each entry changes a number."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from evalsvc.core.errors.exceptions import DomainError


@dataclass(frozen=True, slots=True)
class Option:
    """Its default, what it changes, and which values it takes."""

    default: Any
    explains: str
    choices: tuple[str, ...] = ()
    least: float | None = None
    task: str = ""

    def accepts(self, value: Any) -> bool:
        if isinstance(self.default, bool):
            return isinstance(value, bool)
        if self.choices:
            return value in self.choices
        number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        return number and (self.least is None or value > self.least)

    def expected(self) -> str:
        if isinstance(self.default, bool):
            return "true or false"
        if self.choices:
            return "one of " + ", ".join(self.choices)
        return "a number" if self.least is None else f"a number above {self.least:g}"


OPTIONS: dict[str, Option] = {
    "beta": Option(1.0, "Weight of recall against precision in F.", least=0.0),
    "threshold": Option(
        0.5, "From this score on a claim counts as made, where label sets are counted.", task="relations"
    ),
    "include_negative": Option(
        False, "Whether the negative class enters the averages of single-label settings.", task="relations"
    ),
    "scheme": Option(
        "IOB2", "How tags write spans.", choices=("IOB1", "IOB2", "BIOES", "BILOU"), task="entities"
    ),
    "repair": Option(
        "conlleval",
        "An I- that continues no entity opens one (conlleval) or is dropped (strict-iob2).",
        choices=("conlleval", "strict-iob2"),
        task="entities",
    ),
    "casefold": Option(False, "Whether WRF takes words that differ only in case as one.", task="entities"),
}


def checked(given: dict[str, Any], *, task: str) -> dict[str, Any]:
    """The options as given, or a refusal that names the key and what it takes."""
    for key, value in given.items():
        option = OPTIONS.get(key)
        if option is None or option.task not in ("", task):
            known = ", ".join(k for k, o in OPTIONS.items() if o.task in ("", task))
            raise DomainError(
                "unknown_option", f"{key} is no option of this task.", hint=f"Use {known}.", field="options"
            )
        if not option.accepts(value):
            raise DomainError(
                "bad_option", f"{key} is {value!r}, expected {option.expected()}.", field="options"
            )
    return given


def effective(given: dict[str, Any], *, task: str) -> dict[str, Any]:
    """Every option of the task with its value, defaults filled in."""
    return {key: given.get(key, o.default) for key, o in OPTIONS.items() if o.task in ("", task)}
