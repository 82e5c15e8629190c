"""Lines that could not be taken, by the id that they name: none of them is told again as missing."""

from __future__ import annotations

import json
import re

NAMED = re.compile(r'"id"[ \t]*:[ \t]*(?:"((?:[^"\\]|\\.)*)"|(-?\d+))')
LONGEST = 200  # no id is longer
MOST = 100_000  # ids that are remembered; a file with more broken lines than that has other troubles


class Unread:
    """Their ids, and how many there are whose id cannot be told."""

    def __init__(self) -> None:
        self.ids: set[str] = set()
        self.nameless = 0

    def line(self, text: str) -> None:
        """Remember a line as it was written."""
        match = NAMED.search(text)
        self.named(_unescaped(match[1]) if match and match[1] else match[2] if match else None)

    def named(self, name: str | None) -> None:
        if name and len(name) <= LONGEST and "\0" not in name and len(self.ids) < MOST:
            self.ids.add(name)
        else:
            self.nameless += 1

    def besides(self, missing: list[str]) -> tuple[list[str], str | None]:
        """Ids that are missing for certain, or a hint where an unread line may be theirs."""
        left = [name for name in missing if name not in self.ids]
        if len(left) <= self.nameless:
            return [], None
        lines = "1 line" if self.nameless == 1 else f"{self.nameless:,} lines"
        return left, f"{lines} could not be read, which may be the one of this id." if self.nameless else None


def _unescaped(text: str) -> str | None:
    try:
        return str(json.loads(f'"{text}"'))
    except ValueError:
        return None
