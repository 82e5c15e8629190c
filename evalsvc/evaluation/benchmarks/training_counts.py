"""How often each label occurs in the training data, as a file tells it."""

from __future__ import annotations

import json
from typing import Any

from evalsvc.core.errors.exceptions import DomainError

MOST_BYTES = 1_000_000
EXPECTED = "Expected a line per label with its name and its count, such as born_in 1204; or a JSON object."
COUNTING, PARTING = "0123456789,_", (" ", "\t", ";")


def read_counts(content: bytes) -> dict[str, int]:
    """Label to count, from JSON or from lines; a refusal names the line that does not fit."""
    if len(content) > MOST_BYTES:
        raise _bad("The file is larger than a list of labels can be.")
    try:
        text = content.decode("utf-8-sig").strip()
    except UnicodeDecodeError as error:
        raise _bad("The file is not UTF-8 text.") from error
    if not text:
        raise _bad("The file is empty.")
    return _of_json(text) if text.startswith(("{", "[")) else _of_lines(text)


def _of_json(text: str) -> dict[str, int]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise _bad(f"The file is no whole JSON: {error}.") from error
    except RecursionError as error:
        raise _bad("The file nests too deep.") from error
    if not isinstance(found, dict):
        raise _bad("The file is JSON, and no object of names and counts.")
    for name, count in found.items():
        if not _is_count(count):
            raise _bad(f"{name} has {count!r}, no whole number.")
    return found


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _of_lines(text: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        name, count = _split(line.strip())
        if name and count:
            if name in found:
                raise _bad(f"Line {number} says {name} a second time.")
            found[name] = int(count)
        elif line.strip() and number > 1:  # the first may be the heading of a table
            raise _bad(f"Line {number} is {line.strip()[:60]!r}.")
    if not found:
        raise _bad("No line has a name and a count.")
    return found


def _split(line: str) -> tuple[str, str]:
    """Name and digits; a comma is a mark of thousands behind a blank, a tab or a semicolon, else it parts."""
    name = line.rstrip(COUNTING)
    count = line[len(name) :]
    if not name.endswith(PARTING):
        before, _, count = count.partition(",")
        name += before
    digits = count.replace(",", "").replace("_", "")
    return name.rstrip(" \t,;").strip("\"'"), digits if len(digits) < 16 else ""


def _bad(detail: str) -> DomainError:
    return DomainError("bad_counts", detail, hint=EXPECTED, field="training_counts")
