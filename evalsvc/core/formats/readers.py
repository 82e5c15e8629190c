"""Reading of any registered format: items, gold, predictions and votes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from importlib import import_module
from typing import Any, TypedDict, Unpack

import msgspec

from evalsvc.core.formats.documents import Unit
from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.records import ItemLine, PredictionLine, VoteLine
from evalsvc.core.formats.registry import EmptyCell, Records, formats
from evalsvc.core.formats.tag_schemes import ANY_SCHEME, Repair, Scheme, mostly_kept, scheme_hint
from evalsvc.core.formats.text_lines import LIMITS, Limits, Source


class ItemOptions(TypedDict, total=False):
    """Facts about a file of items that it does not state itself.

    `unit` is that of offsets; `name` the id of a file of one document, `names` those of labels that a file
    has as numbers.
    """

    scheme: Scheme | None
    repair: Repair
    column: int
    unit: Unit | None
    name: str
    names: Sequence[str]


UNSTATED: dict[str, Any] = {"scheme": None, "repair": "conlleval", "column": -1}
UNSTATED |= {"unit": None, "name": "document", "names": ()}


def read_by_job(format: str, kind: Records) -> bool:
    """Return whether only jobs and commands read a format."""
    reader = formats()[format].readers.get(kind)
    return reader is not None and (reader.by_job or bool(reader.loader))


def open_records(
    source: Source, kind: Records, *, format: str, problems: Problems, limits: Limits, **options: Any
) -> Iterator[tuple[int, Any]]:
    """Yield (line, record) of any format that has records of this kind."""
    known = formats()
    chosen = known.get(format)
    reader = chosen.readers.get(kind) if chosen else None
    if chosen is None or reader is None:
        expected = ", ".join(key for key, other in known.items() if kind in other.readers)
        problems.stop("unknown_format", field="format", value=format, expected=f"one of: {expected}")
    if chosen.first_tags and options.get("scheme") is None:
        hint = scheme_hint(chosen.first_tags(source))
        problems.stop("no_scheme", field="scheme", expected=ANY_SCHEME, hint=hint)
    if kind != "predictions":
        first_line = chosen.example.splitlines()[0]
        problems.set_example(lambda code: first_line)
    used = {name: options[name] for name in reader.options}
    read = import_module(reader.loader).read if reader.loader else reader.read
    assert read is not None
    records = read(source, problems=problems, limits=limits, **used)
    if used.get("repair", "conlleval") == "conlleval" or kind not in ("items", "gold"):
        return records
    return mostly_kept(records, problems, scheme=used["scheme"], repair=used["repair"])


def open_items(
    source: Source,
    *,
    format: str,
    problems: Problems,
    limits: Limits = LIMITS,
    **options: Unpack[ItemOptions],
) -> Iterator[tuple[int, ItemLine]]:
    """Yield (line, item) of any item format; CoNLL needs its tag scheme."""
    used = UNSTATED | options | {"require_text": True}
    return open_records(source, "items", format=format, problems=problems, limits=limits, **used)


def open_gold(
    source: Source,
    *,
    format: str,
    problems: Problems,
    limits: Limits = LIMITS,
    with_text: bool = False,
    **options: Unpack[ItemOptions],
) -> Iterator[tuple[int, ItemLine]]:
    """Yield (line, item) with gold labels.

    Text and offsets may be missing; `with_text` keeps those of the file.
    """
    chosen = formats().get(format)
    readers = chosen.readers if chosen else {}
    needs_items = with_text and "items" in readers and not ("gold" in readers and readers["gold"].keeps_text)
    kind: Records = "gold" if "gold" in readers and not needs_items else "items"
    used = UNSTATED | options | {"require_text": False}
    return open_records(source, kind, format=format, problems=problems, limits=limits, **used)


def open_predictions(
    source: Source,
    *,
    format: str,
    problems: Problems,
    limits: Limits = LIMITS,
    scheme: Scheme | None = None,
    column: int = -1,
    ids: Collection[str] | None = None,
) -> Iterator[tuple[int, PredictionLine]]:
    """Yield (line, prediction) of any prediction format; CoNLL needs its tag scheme.

    In a format without ids, the n-th prediction is about the n-th of `ids`.
    """
    options = {"scheme": scheme, "column": column}
    lines = open_records(source, "predictions", format=format, problems=problems, limits=limits, **options)
    return lines if ids is None or formats()[format].has_ids else _with_ids(lines, list(ids))


def _with_ids(lines: Iterator[tuple[int, Any]], ids: list[str]) -> Iterator[tuple[int, PredictionLine]]:
    for line, prediction in lines:
        at = int(prediction.id) - 1
        name = ids[at] if at < len(ids) else f"number {at + 1} of {len(ids):,}"
        yield line, msgspec.structs.replace(prediction, id=name)


def open_votes(
    source: Source,
    *,
    format: str,
    problems: Problems,
    limits: Limits = LIMITS,
    empty: EmptyCell = "no-vote",
    name: str = "document",
    item: str = "",
    unit: Unit | None = None,
) -> Iterator[tuple[int, VoteLine]]:
    """Yield (line, vote) of any vote format.

    `empty` is the meaning of an empty cell in a table, or of a document without a label; `unit` that of
    offsets, where a file does not say it. A file of one person and one document is named after
    the person (`name`) and is about `item`.
    """
    options = {"empty": empty, "name": name, "item": item, "unit": unit}
    return open_records(source, "votes", format=format, problems=problems, limits=limits, **options)
