"""How often each label occurs in the training data, as a file tells it."""

from __future__ import annotations

import json
import re
from typing import Any

from evalsvc.refusals import Refusal

MOST_BYTES = 1_000_000
EXPECTED = "Expected a line per label with its name and its count, such as born_in 1204; or a JSON object."
LINE = re.compile(r"(?P<name>\S.*?)\s*[\t,; ]\s*(?P<count>[0-9][0-9,_]*)")


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
        fits = LINE.fullmatch(line.strip())
        if line.strip() and fits is None:
            if number == 1:
                continue  # the heading of a table
            raise _bad(f"Line {number} is {line.strip()[:60]!r}.")
        if fits:
            name = fits["name"].strip("\"'")
            if name in found:
                raise _bad(f"Line {number} says {name} a second time.")
            found[name] = int(re.sub(r"[,_]", "", fits["count"]))
    if not found:
        raise _bad("No line has a name and a count.")
    return found


def _bad(detail: str) -> Refusal:
    return Refusal("bad_counts", detail, hint=EXPECTED, field="training_counts")
