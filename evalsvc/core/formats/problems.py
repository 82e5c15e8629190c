"""Problems of a file, their kinds, and their collector."""

from __future__ import annotations

import json
import re
from bisect import insort
from collections import Counter
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from math import inf
from typing import Any, NoReturn

import msgspec

from evalsvc.core.formats.problem_kinds import COPIED, KINDS

CLIP = 80
ID_KEY = re.compile(r'"id"[ \t]*:[ \t]*(?:"((?:[^"\\]|\\.){0,1000})"|(-?\d+))')  # of 200 characters
LONGEST_ID = 200
MAX_REMEMBERED = 100_000
MOST_SPANS = 10_000  # of a line
MOST_COVERING = 20  # spans over one character: gold and predictions are paired over all that overlap
MAX_PROBLEMS = 100_000  # then reading stops: the file is another one, or meant to keep us busy
ExampleLine = Callable[[str], str | None]


def clip(value: object) -> str:
    """Shorten a value to 80 characters."""
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= CLIP else text[: CLIP - 1] + "…"


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """A problem at one place of a file."""

    code: str
    line: int | None = None
    field: str | None = None
    value: str | None = msgspec.field(default=None, name="found")
    expected: str | None = None
    hint: str | None = None
    example: str | None = None

    @property
    def shown_value(self) -> str:
        """Return the value, in quotes if it is copied from the file."""
        return f"“{self.value}”" if self.code in COPIED else self.value or ""

    def sentence(self) -> str:
        """Describe place, problem, value, expectation and fix."""
        places = [f"line {self.line:,}" if self.line else "", f"field {self.field}" if self.field else ""]
        where = ", ".join(filter(None, places))
        parts = [f"{where[:1].upper()}{where[1:]}:"] if where else []
        parts.append(KINDS[self.code].message)
        parts += [f"Found {self.shown_value}."] if self.value is not None else []
        parts += [f"Expected {self.expected}."] if self.expected is not None else []
        return " ".join([*parts, self.hint] if self.hint else parts)


class FileRejected(Exception):
    """A rejected file, with its problems."""

    def __init__(self, problems: Problems) -> None:
        self.problems = problems
        super().__init__(problems.summary())

    def __reduce__(self) -> tuple[Any, ...]:
        return FileRejected, (self.problems,)


class UnreadLines:
    """Ids of unreadable lines, which are not missing too."""

    def __init__(self) -> None:
        self.ids: set[str] = set()
        self.without_id = 0

    def add_line(self, text: str) -> None:
        match = ID_KEY.search(text)
        name = match and (match[1] or match[2])
        if match and match[1]:
            try:
                name = str(json.loads(f'"{match[1]}"'))
            except ValueError:
                name = None
        self.add_id(name)

    def add_id(self, name: str | None) -> None:
        if name and len(name) <= LONGEST_ID and "\0" not in name and len(self.ids) < MAX_REMEMBERED:
            self.ids.add(name)
        else:
            self.without_id += 1

    def certainly_missing(self, missing: list[str]) -> tuple[list[str], str | None]:
        """Return ids that no unread line can have.

        The hint tells that an unread line may have one of the ids.
        """
        left = [name for name in missing if name not in self.ids]
        if len(left) <= self.without_id:
            return [], None
        lines = "1 line" if self.without_id == 1 else f"{self.without_id:,} lines"
        return left, f"{lines} could not be read and may have this id." if self.without_id else None


def line_order(problem: Problem) -> float:
    """Sort key: problems without a line come last."""
    return inf if problem.line is None else problem.line


class Problems:
    """Collector of the problems of a file.

    It keeps the first few by line and counts all; warnings reject nothing. `places` counts lines with
    problems, and each problem without a line.
    """

    def __init__(self, *, keep: int = 20) -> None:
        self.keep = keep
        self.first: list[Problem] = []
        self.first_warnings: list[Problem] = []
        self.lines_read = 0
        self.places = 0
        self._bad_lines = bytearray()  # a bit for each line
        self.by_code: Counter[str] = Counter()
        self.warnings: Counter[str] = Counter()
        self.unread = UnreadLines()
        self._example_line: ExampleLine | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the example function, which holds all expected ids."""
        return self.__dict__ | {"_example_line": None}

    def set_example(self, example_line: ExampleLine) -> None:
        """Set the function that writes a correct line for a code."""
        self._example_line = example_line

    def example_of(self, code: str) -> str:
        """Return an example of the fix, preferably a line of the file."""
        line = self._example_line(code) if self._example_line and KINDS[code].use_file_line else None
        return line or KINDS[code].example

    @property
    def total(self) -> int:
        """Number of problems, kept or not, without warnings."""
        return self.by_code.total()

    def add(
        self,
        code: str,
        *,
        line: int | None = None,
        field: str | None = None,
        value: object = None,
        expected: str | None = None,
        hint: str | Callable[[], str | None] | None = None,
        example: str | Callable[[], str] | None = None,
        times: int = 1,
    ) -> None:
        """Count a problem and keep it if it is among the first.

        Hint and example may be functions, called only for a kept problem.
        """
        warning = KINDS[code].warning
        (self.warnings if warning else self.by_code)[code] += times
        self.places += not warning and (line is None or self._mark_bad(line))
        kept = self.first_warnings if warning else self.first
        if len(kept) < self.keep or (line or inf) < line_order(kept[-1]):
            hint = hint() if callable(hint) else hint
            shown = None if value is None else clip(value)
            fix = (example() if callable(example) else example) or self.example_of(code)
            insort(kept, Problem(code, line, field, shown, expected, hint, fix), key=line_order)
            del kept[self.keep :]
        if self.places >= MAX_PROBLEMS or self.total >= 10 * MAX_PROBLEMS:
            raise FileRejected(self)

    def _mark_bad(self, line: int) -> bool:
        """Mark a line as bad; return whether it was not before."""
        at, bit = line >> 3, 1 << (line & 7)
        self._bad_lines.extend(bytes(max(0, at + 1 - len(self._bad_lines))))
        is_new = not self._bad_lines[at] & bit
        self._bad_lines[at] |= bit
        return is_new

    def stop(self, code: str, **details: Any) -> NoReturn:
        """Add a problem that makes further reading pointless, and reject the file."""
        self.add(code, **details)
        raise FileRejected(self)

    def raise_if_any(self) -> None:
        """Reject the file if it has a problem."""
        if any(self.by_code.values()):
            raise FileRejected(self)

    def summary(self) -> str:
        """Describe the first problem and count the others."""
        if not self.first:
            return "No problem found."
        left = self.total - 1
        problems = "problem" if left == 1 else "problems"
        more = f" The file has {left:,} more {problems}." if left else ""
        stopped = " Reading stopped there." if self.places >= MAX_PROBLEMS else ""
        return self.first[0].sentence() + more + stopped

    def as_json(self) -> dict[str, Any]:
        """Return the report that the API sends and a job stores."""
        return {
            "total": self.total,
            "by_code": dict(sorted(self.by_code.items())),
            "problems": [{**msgspec.to_builtins(p), "message": p.sentence()} for p in self.first],
            "warnings": dict(sorted(self.warnings.items())),
            "first_warnings": [
                {**msgspec.to_builtins(p), "message": p.sentence()} for p in self.first_warnings
            ],
        }


def near(word: str, words: Iterable[str]) -> str | None:
    """Return the known word that is most similar, or None."""
    if len(word) > 2 * CLIP:
        return None
    known = {known.casefold(): known for known in words}
    matches = get_close_matches(word.casefold(), known, n=1, cutoff=0.75)
    return known[matches[0]] if matches else None


def did_you_mean(word: str, words: Iterable[str]) -> str | None:
    """Return a hint that names the most similar known word."""
    meant = near(word, words)
    return f"Did you mean {meant}?" if meant is not None else None
