"""Table of file formats.

A format defines its purpose, how it is recognised, and how it is read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal, NamedTuple

import msgspec

from evalsvc.core import formats as package
from evalsvc.core.formats.documents import Document, Unit
from evalsvc.core.formats.problems import FileRejected, Problems
from evalsvc.core.formats.tag_schemes import Scheme
from evalsvc.core.formats.text_lines import LIMITS, LONGEST_MAGIC, Limits, Source, peek, read_lines

SAMPLE = 50
HTML = re.compile(r"\s*<(?:!doctype|html|\?xml|head|body)\b", re.IGNORECASE)
# a string without an end is one part, or each of its quotes would be looked at as the beginning of one
JSON_PARTS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[\[\]{}:]', re.DOTALL)
COMMAS = re.compile(r"[^\s,]+,[^\s,]*")

Role = Literal["items", "gold", "predictions", "suggestions", "votes", "labels", "models"]
Records = Literal["items", "gold", "predictions", "votes"]
Kind = Literal["relations", "entities", "joint"]
EmptyCell = Literal["no-vote", "no-label"]
# Sections of the documentation: title, introduction, and the roles of the formats listed.
SECTIONS: dict[str, tuple[str, str, tuple[Role, ...]]] = {
    "items": (
        "Items and gold",
        "Import items into a project, or published gold as a test set.",
        ("items", "gold"),
    ),
    "predictions": (
        "Predictions",
        "Submit predictions to a benchmark, as plain text or gzip.",
        ("predictions",),
    ),
    "votes": ("Votes", "Import answers that annotators gave elsewhere.", ("votes",)),
    "other": ("Other files", "Label inventories and trained pipelines.", ("labels", "models")),
}


class Sample(NamedTuple):
    """The first lines of a file, and keys of a JSON line."""

    lines: Sequence[str]
    keys: frozenset[str] = frozenset()


class Reader(NamedTuple):
    """A function that yields (line, record).

    `options` are those it takes besides problems and limits. `loader` names the module of `read` for readers
    that the web must not import: jobs and commands run them, as they do those `by_job`, whose libraries
    take much more than a file has. A reader of gold that `keeps_text` serves imports too.
    """

    read: Callable[..., Iterator[tuple[int, Any]]] | None
    options: tuple[str, ...] = ()
    loader: str = ""
    by_job: bool = False
    keeps_text: bool = False


@dataclass
class Export:
    """What a writer knows of the set besides its documents.

    `types` label spans, `relations` pairs and links. Writers count in `lost` what the format can't hold.
    """

    name: str
    title: str
    types: Sequence[str] = ()
    relations: Sequence[str] = ()
    scheme: Scheme = "IOB2"
    unit: Unit = "utf16"
    lost: Counter[str] = field(default_factory=Counter)


class Writer(NamedTuple):
    """A function that yields (file name, pieces of bytes), and what it makes of a test set.

    Each file is read to its end before the next. `kinds` are those of test sets it can hold, `unit` says what
    offsets count, `loses` what is lost of any set; counts of the rest stand in `Export.lost`. `options` are
    fields of `Export` that matter; `extra` is the optional package it needs. `loader` names a module, for
    writers that the web must not import.
    """

    write: Callable[[Iterable[Document], Export], Iterator[tuple[str, Iterable[bytes]]]] | None
    kinds: tuple[Kind, ...]
    unit: str
    loses: str = ""
    options: tuple[Literal["scheme", "unit"], ...] = ()
    extra: str = ""
    loader: str = ""


class Variant(NamedTuple):
    """One of several forms that a line of the format may have."""

    title: str
    description: str
    example: str


class Format(NamedTuple):
    """A file format.

    `rank` is the order in which formats are tried and listed. `recognise` tells a text format by its first
    lines, `magic` a binary one by its first bytes. `catch_all` formats match too much to suggest them; those
    that `is_stated` match anything and are never recognised. Items
    of an import merge by id if other files refer to their ids.
    `marks` is what annotated items of the format have, if always the same; `task` is the only task of its
    predictions. `negatives` are usual names of the negative class. `example_line` writes a correct line for
    an id, a label and a tag.
    """

    key: str
    title: str
    description: str
    example: str
    roles: tuple[Role, ...]
    rank: int
    recognise: Callable[[Sample], bool] = lambda sample: False
    readers: Mapping[Records, Reader] = {}
    writer: Writer | None = None
    magic: bytes = b""
    has_ids: bool = True
    has_header: bool = False
    first_tags: Callable[[Source], list[tuple[str, ...]]] | None = None
    repeats_items: bool = False
    merge_by: Literal["content", "id"] = "content"
    catch_all: bool = False
    is_stated: bool = False
    marks: Literal["pairs", "spans", ""] = ""
    task: Literal["relations", "entities", ""] = ""
    negatives: tuple[str, ...] = ()
    variants: tuple[Variant, ...] = ()
    example_line: Callable[[str, str, str], str | None] = lambda id, label, tag: None

    @property
    def needs_scheme(self) -> bool:
        """Return whether its tags need a stated scheme."""
        return self.first_tags is not None


_REGISTERED: dict[str, Format] = {}


def register(format: Format) -> Format:
    """Add a format to the table."""
    _REGISTERED[format.key] = format
    return format


def formats(*roles: Role) -> dict[str, Format]:
    """Return the formats by key, ordered by rank.

    With roles, only formats that have one of them.
    """
    package.load()
    ranked = sorted(_REGISTERED.values(), key=lambda format: format.rank)
    return {format.key: format for format in ranked if not roles or not set(roles).isdisjoint(format.roles)}


def written_formats(kind: str = "") -> dict[str, Format]:
    """Return the formats that test sets can be written in; with a kind, those that hold it."""
    return {
        key: format
        for key, format in formats().items()
        if format.writer and (not kind or kind in format.writer.kinds)
    }


def own_format() -> Format:
    """Return the format of the frozen lines themselves."""
    return next(
        each
        for each in written_formats().values()
        if each.writer and not (each.writer.write or each.writer.loader)
    )


def recognise(first_lines: Sequence[str]) -> str | None:
    """Return the format of a file by its first lines, or None."""
    lines = [line for line in first_lines if line.strip()]
    if lines and lines[0].lstrip().startswith("["):
        sample = Sample(lines, _keys_of_array("\n".join(lines)))
        arrays = (each for each in formats().values() if each.example.startswith("["))
        return next((each.key for each in arrays if each.recognise(sample)), None)
    is_json = bool(lines) and lines[0].lstrip().startswith("{")
    for line in lines if is_json else lines[:1]:
        keys = _keys_of(line) if is_json else frozenset()
        if is_json and not keys:  # one broken line must not hide the format of the others
            continue
        for format in formats().values():
            if not format.is_stated and format.recognise(Sample(lines, keys)):
                return format.key
    return None


def _keys_of(line: str) -> frozenset[str]:
    try:
        return frozenset(msgspec.json.decode(line, type=dict[str, msgspec.Raw]))
    except (msgspec.DecodeError, RecursionError):
        return frozenset()


def by_magic(source: Source) -> str:
    """Return the format of imported items that a binary file begins like, or nothing."""
    if hasattr(source, "seek"):
        file: Any = source
        position = file.tell()
        head = file.read(LONGEST_MAGIC)
        file.seek(position)
    else:
        head = source[:LONGEST_MAGIC] if isinstance(source, bytes) else b""
    found = (
        key for key, each in formats("items", "gold").items() if each.magic and head.startswith(each.magic)
    )
    return next(found, "")


def _keys_of_array(text: str) -> frozenset[str]:
    """Return the keys of the first object of an array, of which the text may be the beginning."""
    keys, depth, name = set(), 0, ""
    for match in JSON_PARTS.finditer(text):
        part = match[0]
        if part in "[{":
            depth += 1
        elif part in "]}":
            depth -= 1
            if depth < 2:
                break
        elif part == ":":
            keys |= {name} if depth == 2 else set()
        else:
            name = part[1:-1]
    return frozenset(keys)


def recognise_source(
    source: Source,
    *,
    problems: Problems | None = None,
    accepted: Collection[str] = (),
    catch_all: bool = True,
    limits: Limits = LIMITS,
) -> str:
    """Return the format of a file by its content, or reject it.

    Without `accepted`, any text format is accepted; without `catch_all`, none of those. A file object is
    read from its current position and set back to it.
    """
    binary = by_magic(source)
    if binary and (not accepted or binary in accepted):
        return binary
    problems = Problems() if problems is None else problems
    file: Any = source if hasattr(source, "seek") else None
    position = file.tell() if file is not None else 0
    head = peek(source)
    read = read_lines(source, problems=problems, limits=limits)
    lines = [head] if head else [text for _, text in islice(read, SAMPLE)]
    if file is not None:
        file.seek(position)
    key, known = recognise(lines), formats()
    accepted = accepted or [name for name, format in known.items() if not format.magic]
    if key is None or key not in accepted or (known[key].catch_all and not catch_all):
        first = next((line for line in lines if line.strip()), "")
        other = known[key].title if key and not known[key].catch_all else None
        hint = f"It looks like {other}, which is not accepted here." if other else foreign_format_hint(first)
        titles = ", ".join(known[name].title for name in accepted)
        problems.stop("unknown_format", line=1, value=first, expected=f"one of: {titles}", hint=hint)
    return key


def foreign_format_hint(line: str) -> str | None:
    """Describe how to convert an unsupported format."""
    start = line.lstrip()[:1]
    if HTML.match(line):
        return (
            "It looks like a web page (HTML), perhaps an error page of another server. Send the file itself."
        )
    if start == "[":
        return "It looks like one JSON array. Write each of its objects on a line of its own (JSONL)."
    if start == "{":
        return "It looks like JSON over several lines. Write each object on one line (JSONL)."
    if line.count(",") > 1 or COMMAS.fullmatch(line.strip()):
        return (
            "It looks like comma-separated values (CSV), but not with the columns of a known format. "
            "Write each row as a JSON object (JSONL)."
        )
    if "\t" in line:
        return 'It looks like tab-separated values. Write each row as {"id": "s1", "label": "born_in"}.'
    return None


def stated_format(format: str, scheme: str | None, recognised: str = "") -> str:
    """Return the stated format, or the one implied by a scheme.

    A recognised format that may have tags is meant, else the columns that need a scheme.
    """
    if format or not scheme:
        return format
    readers = formats()[recognised].readers.values() if recognised in formats() else ()
    if any("scheme" in reader.options for reader in readers):
        return recognised
    return next((key for key, known in formats("items").items() if known.needs_scheme), "")


def format_of(source: Source, *, scheme: str | None, problems: Problems, limits: Limits) -> str:
    """Return the format of a file whose tag scheme may be stated."""
    if not scheme:
        return recognise_source(source, problems=problems, limits=limits)
    try:
        recognised = recognise_source(source, limits=limits)
    except FileRejected:
        recognised = ""
    return stated_format("", scheme, recognised)


def share_a_reader(one: str, other: str) -> bool:
    """Return whether two formats have a reader in common.

    If so, either may be stated for the other.
    """
    known = formats()
    readers = [
        {reader.read or reader.loader for reader in known[key].readers.values()} for key in (one, other)
    ]
    return not readers[0].isdisjoint(readers[1])
