"""Scoring options of a benchmark; each one changes figures."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.formats.tag_schemes import REPAIRS, SCHEMES


@dataclass(frozen=True, slots=True)
class ScoringOption:
    """Default, effect and valid values of an option."""

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
        if value is None:
            return self.default is None
        number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        return number and (self.least is None or value > self.least)

    def expected(self) -> str:
        if isinstance(self.default, bool):
            return "true or false"
        if self.choices:
            return "one of " + ", ".join(self.choices)
        number = "a number" if self.least is None else f"a number above {self.least:g}"
        return f"{number}, or null" if self.default is None else number


OPTIONS: dict[str, ScoringOption] = {
    "beta": ScoringOption(1.0, "Weight of recall against precision in F.", least=0.0),
    "threshold": ScoringOption(
        None,
        "Lowest score of a claim that is counted as a label. By default τ*, the score of the best micro F1.",
        task="relations",
    ),
    "include_negative": ScoringOption(
        False, "Include the negative class in the averages of single-label settings.", task="relations"
    ),
    "scheme": ScoringOption("IOB2", "Tagging scheme of spans.", choices=SCHEMES, task="entities"),
    "repair": ScoringOption(
        "conlleval",
        "An entity without its beginning or end in the scheme counts (conlleval) or is dropped (strict, as "
        "by seqeval); strict-iob2 drops those without a beginning.",
        choices=REPAIRS,
        task="entities",
    ),
    "casefold": ScoringOption(False, "Treat words that differ only in case as one in WRF.", task="entities"),
}


def validate_options(options: dict[str, Any], *, task: str) -> dict[str, Any]:
    """Return the options; reject unknown keys and invalid values."""
    for key, value in options.items():
        option = OPTIONS.get(key)
        if option is None or option.task not in ("", task):
            valid = ", ".join(k for k, o in OPTIONS.items() if o.task in ("", task))
            raise DomainError(
                "unknown_option",
                f"Unknown option: {key}.",
                hint=f"Use {valid}.",
                field="options",
            )
        if not option.accepts(value):
            raise DomainError(
                "bad_option", f"Invalid option {key}: {value!r}. Enter {option.expected()}.", field="options"
            )
    return options


def complete_options(options: dict[str, Any], *, task: str) -> dict[str, Any]:
    """Return every option of the task, with defaults filled in."""
    return {key: options.get(key, o.default) for key, o in OPTIONS.items() if o.task in ("", task)}
