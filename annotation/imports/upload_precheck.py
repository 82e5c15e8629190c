"""Precheck of an upload: report problems of its first lines at once."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from typing import Any, BinaryIO

from django.conf import settings

from annotation.models import Batch
from annotation.testset import Kind
from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.formats.problems import FileRejected, Problems
from evalsvc.core.formats.readers import open_items
from evalsvc.core.formats.registry import (
    Role,
    by_magic,
    foreign_format_hint,
    formats,
    recognise,
    share_a_reader,
    stated_format,
)
from evalsvc.core.formats.tag_schemes import scheme_hint
from evalsvc.core.formats.text_lines import Limits, peek, read_lines

MAX_LINES, MAX_CHARACTERS = 5_000, 4_000_000
SAMPLE = 50
ROLES: dict[str, Role] = {
    Batch.What.ITEMS: "items",
    Batch.What.GOLD: "gold",
    Batch.What.VOTES: "votes",
    Batch.What.SUGGESTIONS: "suggestions",
}
MOST_READ = 1 << 24
PURPOSES = {
    Batch.What.ITEMS: "sentences to label",
    Batch.What.GOLD: "published gold",
    Batch.What.VOTES: "answers given elsewhere",
    Batch.What.SUGGESTIONS: "predictions",
}
PREDICTIONS_HINT = (
    "Import predictions on the project’s Quality page, or submit a system’s run to a benchmark."
)


def precheck(
    upload: BinaryIO,
    *,
    content: str,
    format: str = "",
    scheme: str = "",
    kind: str = "",
    unit: str = "",
    names: Sequence[str] = (),
) -> None:
    """Reject a file by its first lines, naming the field to correct."""
    binary = by_magic(upload)
    if binary in formats(ROLES[content]) and format in ("", binary):
        _require_kind(binary, kind)
        return
    lines = _first_lines(upload)
    known, accepted = formats(), formats(ROLES[content])
    recognised = recognise(lines) or ""
    if recognised and known[recognised].catch_all and recognised not in accepted:
        recognised = ""
    stated = stated_format(format, scheme, recognised)
    if stated and recognised and stated != recognised and not share_a_reader(stated, recognised):
        raise DomainError(
            "unknown_format",
            f"The content looks like {known[recognised].title}, not {known[stated].title}.",
            hint="Leave the format empty to have it recognised, or choose another file.",
            field="format" if format else "scheme",
        )
    format_key = stated or recognised
    if format_key not in accepted:
        _reject_format(content, format_key, lines[0])
    _require_kind(format_key, kind)
    if known[format_key].has_header and len(lines) == 1:
        raise DomainError(
            "empty_file",
            "The file has a header line only.",
            hint="Add at least one row below the header.",
            field="upload",
        )
    tags_of = known[format_key].first_tags
    if tags_of and not scheme:
        sample = "\n".join(lines).encode()
        raise DomainError(
            "no_scheme",
            "The file has CoNLL columns, which need a tag scheme.",
            hint=f"{scheme_hint(tags_of(sample))} Select the scheme it was written in.",
            field="scheme",
        )
    stated_options = {"unit": unit or None, "names": names, "scheme": scheme or None}
    asked = {"unit", "names", *(["scheme"] if any('"tags"' in line for line in lines) else ())}
    _require_options(upload, format_key, asked, stated_options)


def _require_options(
    upload: BinaryIO, format_key: str, asked: Collection[str], options: Mapping[str, Any]
) -> None:
    """Ask for what the file doesn't say, where its first documents can't be read without."""
    reader = formats()[format_key].readers.get("items")
    if reader is None or not set(asked) & set(reader.options):
        return
    # a larger file is left to the job, which asks as well
    limits = Limits(max_bytes=MOST_READ, max_line_bytes=settings.UPLOAD_MAX_LINE_BYTES)
    items = open_items(upload, format=format_key, problems=Problems(), limits=limits, **options)
    try:
        for _ in islice(items, SAMPLE):
            pass
    except FileRejected as error:
        first = error.problems.first[0]
        if first.code in ("no_unit", "no_names", "no_scheme"):
            raise DomainError(first.code, first.sentence(), field=first.code.removeprefix("no_")) from error
    finally:
        upload.seek(0)


def _first_lines(upload: Any) -> list[str]:
    """Return the first lines, without blank ones; reject unreadable text."""
    head = peek(upload)
    if head:
        return [head]
    lines: list[str] = []
    size, limits = 0, Limits(max_line_bytes=settings.UPLOAD_MAX_LINE_BYTES)
    try:
        for at, text in read_lines(upload, problems=Problems(), limits=limits):
            lines += [text] if text.strip() and len(lines) < SAMPLE else []
            size += 1 + len(text)
            # a single line may be a header: read on to see if rows follow
            if size > MAX_CHARACTERS or (at >= MAX_LINES and len(lines) > 1):
                break
    except FileRejected as error:
        first = error.problems.first[0]
        raise DomainError(first.code, first.sentence(), field="upload") from error
    finally:
        upload.seek(0)
    return lines


def _reject_format(content: str, format_key: str, first_line: str) -> None:
    """Reject the file, naming its likely format and where to import it."""
    purpose = PURPOSES[Batch.What(content)]
    if not format_key:
        titles = ", ".join(format.title for format in formats(ROLES[content]).values())
        detail = f"Unknown format. Formats for {purpose}: {titles}."
        hint = foreign_format_hint(first_line) or "See “Formats” for an example of each."
        raise DomainError("unknown_format", detail, hint=hint, field="upload")
    title = formats()[format_key].title
    for other, role in ROLES.items():
        if format_key in formats(role) and other != Batch.What.GOLD:
            detail = f"This looks like {title}: {PURPOSES[Batch.What(other)]}, not {purpose}."
            hint = PREDICTIONS_HINT if other == Batch.What.SUGGESTIONS else "Choose another file."
            if {content, other} == {Batch.What.ITEMS, Batch.What.VOTES}:
                hint = f"Choose “{PURPOSES[Batch.What(other)]}” above, or choose another file."
            raise DomainError("unknown_format", detail, hint=hint, field="upload")
    raise DomainError("unknown_format", f"This looks like {title}, not {purpose}.", field="upload")


def _require_kind(format_key: str, kind: str) -> None:
    """Reject a format for another kind of project."""
    format = formats()[format_key]
    if kind == Kind.RELATIONS and format.marks == "spans":
        detail = f"The file has spans ({format.title}), but the project is for given pairs of entities."
    elif kind and kind != Kind.RELATIONS and format.marks == "pairs":
        detail = (
            f"The file has a head and a tail per sentence ({format.title}), but the project is for spans."
        )
    else:
        return
    hint = "Choose another file, or create a project of the other kind."
    raise DomainError("mixed_forms", detail, hint=hint, field="upload")
