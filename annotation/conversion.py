"""Frozen test sets in the formats of other tools."""

from __future__ import annotations

import json
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from importlib import import_module
from io import BytesIO
from shutil import copyfileobj
from typing import IO, cast

from django.db import transaction

from annotation.models import MadeExport
from annotation.testset import Kind, TestSet, characters_of, verified_lines
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import Conflict, DomainError
from evalsvc.core.formats.documents import UNITS, Document, Unit, document
from evalsvc.core.formats.extras import EXTRAS, has_extra
from evalsvc.core.formats.registry import Export, Format, own_format, written_formats
from evalsvc.core.formats.tag_schemes import SCHEMES, Scheme
from evalsvc.core.jobs.exceptions import InputFault
from evalsvc.core.jobs.lease import Progress
from evalsvc.core.jobs.models import Job
from evalsvc.core.jobs.queue import enqueue
from evalsvc.core.jobs.transitions import Store

KIND = "export"
IN_MEMORY, MOST_MADE = 1 << 22, 64 << 20
MOST_IN_WEB = 8_000_000  # characters of lines that the web writes in another format: two seconds
FIRST_DAY = (1980, 1, 1, 0, 0, 0)  # a zip of the same set has the same bytes each time
NO_TEXT = "lines without text or offsets"


@dataclass
class Exported:
    """A file, at its start, and how much could not be written to it."""

    name: str
    file: IO[bytes]
    lost: dict[str, int]


def choose(test_set: TestSet, format: str, *, scheme: str = "", unit: str = "") -> Format:
    """Return the format, or raise DomainError if the set can't be written in it here."""
    fitting = written_formats(test_set.kind)
    chosen = fitting.get(format)
    if chosen is None or chosen.writer is None:
        known = written_formats().get(format)
        why = f"{known.title} can’t hold {test_set.kind}." if known else f"Unknown format {format!r}."
        raise DomainError("bad_format", f"{why} Use one of: {', '.join(fitting)}.", field="format")
    for name, value, values in (("scheme", scheme, SCHEMES), ("unit", unit, UNITS)):
        if value and value not in values:
            raise DomainError(
                "bad_option", f"Invalid {name}: {value!r}. Use one of: {', '.join(values)}.", field=name
            )
        if not value and name == "unit" and name in chosen.writer.options:
            hint = "doccano draws in utf16 unless its project counts grapheme clusters (graphemes)."
            message = f"{chosen.title} needs a unit of offsets: {', '.join(values)}."
            raise DomainError("bad_option", message, hint=hint, field=name)
    if not has_extra(format):
        message = f"{chosen.title} needs the package {EXTRAS[format][1]}, which is not installed here."
        hint = "An administrator installs it with: pip install --require-hashes -r requirements-formats.txt."
        raise DomainError("format_not_installed", message, hint=hint, field="format")
    return chosen


def export(
    test_set: TestSet, format: str, *, scheme: str = "", unit: str = "", in_web: bool = True
) -> Exported:
    """Write the set to a file: one file as it is, several as a zip.

    The web returns what a job has made, of large sets and of formats that the web can't write.
    """
    chosen = choose(test_set, format, scheme=scheme, unit=unit)
    if in_web and is_made(test_set, chosen):
        made = _require_made(test_set, chosen, scheme, unit)
        return Exported(made.name, BytesIO(bytes(made.data or b"")), made.lost)
    if format == own_format().key:
        return _own(test_set)
    target = _target(test_set, scheme, unit)
    files = _files(test_set, chosen, target)
    with ExitStack() as opened:  # what is returned stays open, and the response closes it
        name, pieces = next(files)
        first = opened.enter_context(tempfile.SpooledTemporaryFile(IN_MEMORY))
        first.writelines(pieces)
        first.seek(0)
        second = next(files, None)
        if second is None:
            opened.pop_all()
            return Exported(name, cast(IO[bytes], first), _counts(target))
        packed = opened.enter_context(tempfile.SpooledTemporaryFile(IN_MEMORY))
        with zipfile.ZipFile(packed, "w") as archive, first:
            with archive.open(_entry(name), "w", force_zip64=True) as entry:
                copyfileobj(first, entry)
            while second is not None:
                name, pieces = second
                with archive.open(_entry(name), "w", force_zip64=True) as entry:
                    for piece in pieces:
                        entry.write(piece)
                second = next(files, None)
        packed.seek(0)
        opened.pop_all()
        return Exported(f"{test_set.slug}-{format}.zip", cast(IO[bytes], packed), _counts(target))


def losses(test_set: TestSet, format: str, *, scheme: str = "", unit: str = "") -> dict[str, int]:
    """Count what the format can't hold of the set, by writing it to nowhere."""
    chosen = choose(test_set, format, scheme=scheme, unit=unit)
    if is_made(test_set, chosen):
        return _require_made(test_set, chosen, scheme, unit).lost
    target = _target(test_set, scheme, unit)
    if format != own_format().key:
        for _, pieces in _files(test_set, chosen, target):
            for _ in pieces:
                pass
    return _counts(target)


# ---- formats that only a job writes ---------------------------------------------------------------
def is_made(test_set: TestSet, format: Format) -> bool:
    """True if a job writes the format, or a set as large in any but its own."""
    assert format.writer is not None
    if format.key == own_format().key:
        return False
    return bool(format.writer.loader) or characters_of(test_set) > MOST_IN_WEB


def _made_name(format: str, *options: str) -> str:
    return " ".join(filter(None, (format, *options)))


def made_export(test_set: TestSet, format: str, *, scheme: str = "", unit: str = "") -> MadeExport | None:
    """Return what was asked for, without its bytes."""
    name = _made_name(format, scheme, unit)
    return MadeExport.objects.filter(test_set=test_set, format=name).defer("data").first()


@transaction.atomic
def make(test_set: TestSet, format: str, *, scheme: str = "", unit: str = "", by: User) -> MadeExport:
    """Queue the job that writes the file; one that failed is queued again."""
    test_set.require_reader(by)
    chosen = choose(test_set, format, scheme=scheme, unit=unit)
    if not is_made(test_set, chosen):
        detail = f"{chosen.title} needs no job: download it."
        raise DomainError("bad_format", detail, field="format")
    name = _made_name(format, scheme, unit)
    MadeExport.objects.get_or_create(test_set=test_set, format=name, defaults={"by": by})
    row = MadeExport.objects.select_for_update().defer("data").get(test_set=test_set, format=name)
    waiting = Job.objects.filter(kind=KIND, subject=row.pk, state__in=(Job.State.QUEUED, Job.State.RUNNING))
    if row.size is None and not waiting.exists():
        enqueue(KIND, row.pk, lane=f"user {by.pk}")
    return row


def build(row: MadeExport, progress: Progress) -> Store:
    """Write the file of a format that only a job writes."""
    progress(0, row.test_set.rows, f"writing {row}")
    format, *options = row.format.split()
    chosen = {("scheme" if option in SCHEMES else "unit"): option for option in options}
    made = export(row.test_set, format, **chosen, in_web=False)
    with made.file:
        data = made.file.read(MOST_MADE + 1)
    if len(data) > MOST_MADE:
        named = "".join(f" --{name} {option}" for name, option in chosen.items())
        command = f"manage.py export {row.test_set.slug} --format {format}{named} --output FILE"
        raise InputFault(
            "too_large", f"The file has more than {MOST_MADE:,} bytes. Write it with: {command}."
        )

    def store() -> None:
        values = {"name": made.name, "size": len(data), "data": data, "lost": made.lost}
        MadeExport.objects.filter(pk=row.pk).update(**values)

    return store


def _require_made(test_set: TestSet, format: Format, scheme: str, unit: str) -> MadeExport:
    name = _made_name(format.key, scheme, unit)
    made = MadeExport.objects.filter(test_set=test_set, format=name).exclude(size=None).first()
    if made is None:
        hint = "Start the job that writes it, on its page or by POST."
        raise Conflict("not_made", f"{format.title} of {test_set} is not written yet.", hint=hint)
    return made


def _own(test_set: TestSet) -> Exported:
    with ExitStack() as opened:  # the response closes what is returned
        file = opened.enter_context(tempfile.SpooledTemporaryFile(IN_MEMORY))
        file.writelines(verified_lines(test_set))
        file.seek(0)
        opened.pop_all()
    return Exported(f"{test_set.slug}.jsonl", cast(IO[bytes], file), {})


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, FIRST_DAY)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    return entry


def _target(test_set: TestSet, scheme: str, unit: str) -> Export:
    names = {
        part: [label["name"] for label in test_set.labels if _part(test_set, label) == part]
        for part in ("entity", "relation")
    }
    target = Export(test_set.slug, str(test_set), names["entity"], names["relation"])
    target.scheme = cast(Scheme, scheme or target.scheme)
    target.unit = cast(Unit, unit or target.unit)
    return target


def _part(test_set: TestSet, label: dict[str, str]) -> str:
    only = {Kind.RELATIONS.value: "relation", Kind.ENTITIES.value: "entity"}.get(test_set.kind)
    return only or label.get("part", "entity")


def _files(test_set: TestSet, chosen: Format, target: Export) -> Iterator[tuple[str, Iterable[bytes]]]:
    assert chosen.writer is not None
    write = import_module(chosen.writer.loader).write if chosen.writer.loader else chosen.writer.write
    assert write is not None
    yield from write(_documents(test_set, target), target)


def _documents(test_set: TestSet, target: Export) -> Iterator[Document]:
    for line in verified_lines(test_set):
        found = document(json.loads(line))
        if found is None:
            target.lost[NO_TEXT] += 1
        else:
            yield found


def _counts(target: Export) -> dict[str, int]:
    return {name: n for name, n in sorted(target.lost.items()) if n}
