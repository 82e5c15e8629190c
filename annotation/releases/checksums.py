"""The files of a copy against its list of checksums."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from annotation.releases.layout import SUMS

Opened = Callable[[], Iterable[bytes]]
"""Opens a file anew and yields its lines with their ends."""
MOST_LINES = 20  # of one kind that are named
SUM_LINE = re.compile(r"([0-9a-f]{64}) [ *](.+)")


@dataclass
class Sums:
    """The digest of each file, which are as listed, and how the others differ."""

    digests: dict[str, str]
    checked: list[str] = field(default_factory=list)
    suspects: set[str] = field(default_factory=set)
    differences: list[tuple[str, str]] = field(default_factory=list)

    def differs(self, name: str, text: str) -> None:
        self.suspects.add(name)
        self.differences.append((name, text))


def open_folder(folder: Path) -> dict[str, Opened]:
    """Return the files of a folder and those below, without hidden ones.

    Raises OSError if it cannot be read.
    """
    next(folder.iterdir(), None)  # rglob passes over what it cannot read
    names = {path.relative_to(folder): path for path in folder.rglob("*") if path.is_file()}

    def opened(path: Path) -> Opened:
        def lines() -> Iterator[bytes]:
            with path.open("rb") as file:
                yield from file

        return lines

    seen = (name for name in sorted(names) if not any(part.startswith(".") for part in name.parts))
    return {name.as_posix(): opened(names[name]) for name in seen}


def compare_sums(files: Mapping[str, Opened]) -> Sums:
    """Compare each file with its checksum, and name what happened to it where that can be seen."""
    sums = Sums({name: _digest(lines()) for name, lines in files.items()})
    if SUMS not in files:
        sums.differs(SUMS, "It is missing, so nothing states what the other files should be.")
        sums.suspects = set(files)
        return sums
    stated = _stated(files[SUMS](), sums)
    missing = {digest: name for name, digest in stated.items() if name not in files}
    for name, digest in stated.items():
        if name not in files:
            sums.differences.append((name, f"It is missing; {SUMS} lists it."))
        elif sums.digests[name] == digest:
            sums.checked.append(name)
        elif _digest(_with_unix_ends(files[name]())) == digest:
            sums.differs(name, "Only its line ends differ: CR LF instead of LF.")
        else:
            sums.differs(name, f"Its SHA-256 is {sums.digests[name]}, not {digest}.")
    for name in files.keys() - stated.keys() - {SUMS}:
        renamed = missing.get(sums.digests[name])
        sums.differs(name, f"{SUMS} does not list it." + (f" Its content is {renamed}." if renamed else ""))
    return sums


def _stated(lines: Iterable[bytes], sums: Sums) -> dict[str, str]:
    """Return the digests by name that a list of checksums states, and name its wrong lines."""
    stated, wrong = dict[str, str](), 0
    for number, line in enumerate(lines, 1):
        match = SUM_LINE.fullmatch(line.decode(errors="replace").rstrip("\r\n"))
        fault = ""
        if match is None:
            fault = "is not a SHA-256, two spaces and a name"
        elif stated.setdefault(match[2], match[1]) != match[1]:
            fault = f"states another SHA-256 of {match[2][:60]}"
        wrong += bool(fault)
        if fault and wrong <= MOST_LINES:
            sums.differences.append((SUMS, f"Line {number} {fault}."))
    if wrong > MOST_LINES:
        sums.differences.append((SUMS, f"{wrong - MOST_LINES:,} more lines are wrong."))
    return stated


def _with_unix_ends(lines: Iterable[bytes]) -> Iterator[bytes]:
    return (line.removesuffix(b"\r\n") + b"\n" if line.endswith(b"\r\n") else line for line in lines)


def _digest(lines: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for line in lines:
        digest.update(line)
    return digest.hexdigest()
