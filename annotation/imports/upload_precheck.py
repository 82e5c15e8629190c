"""Precheck of an upload: report problems of its first lines at once."""

from __future__ import annotations

from typing import Any, BinaryIO

from annotation.models import Batch
from annotation.testset import Kind
from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.formats.problems import FileRejected, Problems
from evalsvc.core.formats.registry import (
    Role,
    foreign_format_hint,
    formats,
    recognise,
    share_a_reader,
    stated_format,
)
from evalsvc.core.formats.text_lines import read_lines

LOOKED_AT, MOST_LETTERS = 5_000, 4_000_000
SAMPLE = 50
ROLES: dict[str, Role] = {
    Batch.What.ITEMS: "items",
    Batch.What.GOLD: "gold",
    Batch.What.VOTES: "votes",
    Batch.What.SUGGESTIONS: "suggestions",
}
CALLED = {
    Batch.What.ITEMS: "sentences to label",
    Batch.What.GOLD: "published gold",
    Batch.What.VOTES: "answers that people gave already",
    Batch.What.SUGGESTIONS: "predictions",
}


def precheck(upload: BinaryIO, *, what: str, format: str = "", scheme: str = "", kind: str = "") -> None:
    """Reject a file by its first lines, naming the field to correct."""
    lines = _first_lines(upload)
    known, accepted = formats(), formats(ROLES[what])
    recognised = recognise(lines) or ""
    if recognised and known[recognised].catch_all and recognised not in accepted:
        recognised = ""
    stated = stated_format(format, scheme)
    if stated and recognised and stated != recognised and not share_a_reader(stated, recognised):
        raise DomainError(
            "unknown_format",
            f"The content looks like {known[recognised].title}, not like {known[stated].title}.",
            hint="Leave the format to be recognised, or choose another file.",
            field="format" if format else "scheme",
        )
    meant = stated or recognised
    if meant not in accepted:
        _reject_format(what, meant, lines[0])
    _of_kind(meant, kind)
    if known[meant].has_header and len(lines) == 1:
        raise DomainError(
            "empty_file",
            "There is a header line and nothing after it.",
            hint="Send the file with its rows: at least one under the header.",
            field="upload",
        )
    if known[meant].needs_scheme and not scheme:
        raise DomainError(
            "no_scheme",
            "This file has CoNLL columns, and its tag scheme is not stated.",
            hint="IOB2: every entity begins with B-. IOB1: only one right behind another of its kind does.",
            field="scheme",
        )


def _first_lines(upload: Any) -> list[str]:
    """Return the first lines, without blank ones; reject unreadable text."""
    lines: list[str] = []
    size = 0
    try:
        for at, text in read_lines(upload, problems=Problems()):
            lines += [text] if text.strip() and len(lines) < SAMPLE else []
            size += 1 + len(text)
            # one line may be a header: whether anything follows it is worth looking further
            if size > MOST_LETTERS or (at >= LOOKED_AT and len(lines) > 1):
                break
    except FileRejected as refused:
        first = refused.problems.first[0]
        raise DomainError(first.code, first.sentence(), field="upload") from refused
    finally:
        upload.seek(0)
    return lines


def _reject_format(what: str, meant: str, first_line: str) -> None:
    """Reject the file, naming its likely format and where to import it."""
    purpose = CALLED[Batch.What(what)]
    if not meant:
        titles = ", ".join(format.title for format in formats(ROLES[what]).values())
        detail = f"The content matches none of the formats for {purpose}: {titles}."
        hint = foreign_format_hint(first_line) or "See “Formats” for an example of each."
        raise DomainError("unknown_format", detail, hint=hint, field="upload")
    title = formats()[meant].title
    for other, role in ROLES.items():
        if meant in formats(role) and other != Batch.What.GOLD:
            detail = f"This looks like {title}: {CALLED[Batch.What(other)]}, not {purpose}."
            raise DomainError("unknown_format", detail, hint=_where(what, other), field="upload")
    raise DomainError("unknown_format", f"This looks like {title}, not {purpose}.", field="upload")


def _where(what: str, other: str) -> str:
    if {what, other} == {Batch.What.ITEMS, Batch.What.VOTES}:
        return f"Choose “{CALLED[Batch.What(other)]}” above, or send another file."
    if other == Batch.What.SUGGESTIONS:
        return (
            "Predictions to start from are sent on the project’s page Quality; runs of a system to a board."
        )
    return "Send another file."


def _of_kind(meant: str, kind: str) -> None:
    """Reject a format for another kind of project."""
    format = formats()[meant]
    if kind == Kind.RELATIONS and format.marks == "spans":
        detail = f"{format.title} mark spans, but this project is for relations of two given entities."
    elif kind and kind != Kind.RELATIONS and format.marks == "pairs":
        detail = f"In {format.title} each sentence has a head and a tail, but this project is for spans."
    else:
        return
    hint = "Choose another file, or create a project of the other kind."
    raise DomainError("mixed_forms", detail, hint=hint, field="upload")
