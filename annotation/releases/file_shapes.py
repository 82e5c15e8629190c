"""Shapes of the files of a release as a check reads them, and how much of them it reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

import msgspec

from annotation.releases.layout import BLIND, GOLD, GUIDELINE, ONTOLOGY, PROVENANCE, STATISTICS
from annotation.releases.outcome import ProvenanceRow, Step

Shape = TypeVar("Shape")
MOST_STEPS, MOST_SOURCES = 1_000, 10_000  # of an ontology
MOST_ANSWERS, MOST_MARKS = 1_000, 20_000  # of a line
Slug = Annotated[str, msgspec.Meta(pattern=r"^[-\w]*\Z")]  # others, such as NUL, cannot be looked up
LONGEST_LINE = 1 << 22  # bytes; values take up to 20 times that


class Ontology(msgspec.Struct):
    labels: msgspec.Raw
    steps: list[Step] = []

    @property
    def is_replayable(self) -> bool:
        sources = sum(len(step.sources) for step in self.steps)
        return len(self.steps) <= MOST_STEPS and sources <= MOST_SOURCES


def left_out_counts(left: Mapping[str, list[Any] | int] | None) -> dict[str, int]:
    """Count by state what a manifest says was left out; of a part, of the whole."""
    counts = {state: len(ids) if isinstance(ids, list) else ids for state, ids in (left or {}).items()}
    return {state: n for state, n in counts.items() if n}


class Manifest(msgspec.Struct):
    format: str
    name: str
    version: str
    kind: str
    rows: int
    slug: Slug = ""
    sha256: str = ""
    policy: str = ""
    spans_may_overlap: bool = False
    provenance_sha256: str = ""
    files_sha256: dict[str, str] = {}
    k_of_items: list[int] | None = None
    answers_of_items: list[int] | None = None
    answers: Any = None
    counts: dict[str, Any] = {}
    left_out: dict[str, list[Any] | int] | None = None
    split: Any = None

    @property
    def digests(self) -> dict[str, str]:
        """SHA-256 of each file that the manifest binds."""
        lines = {GOLD: self.sha256, PROVENANCE: self.provenance_sha256}
        return {name: digest for name, digest in (lines | self._described).items() if digest}

    @property
    def _described(self) -> dict[str, str]:
        return {name: self.files_sha256.get(name, "") for name in (GUIDELINE, ONTOLOGY)}

    @property
    def implied(self) -> list[str]:
        """Files that a release with this manifest has."""
        return [*self.digests, BLIND, *([STATISTICS] if self.sha256 else [])]


def decoded_line(line: bytes, shape: type[Shape]) -> Shape:
    return msgspec.json.decode(line, type=shape)


def require_replayable(row: ProvenanceRow) -> None:
    """Reject more than people do, which takes seconds to decide."""
    answers = [*row.answers, *([row.decision] if row.decision else ())]
    marks = sum(len(answer.spans) + len(answer.relations) for answer in answers)
    if len(row.answers) > MOST_ANSWERS or marks > MOST_MARKS:
        raise ValueError("the line has too many answers")
