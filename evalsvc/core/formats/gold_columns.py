"""Columns of regular gold lines of relations, decoded many at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

import msgspec

from evalsvc.core.formats.json_lines import all_plain, decode_block, has_keys
from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.text_lines import LIMITS, Irregular, Limits, Source, read_blocks


class _GoldMention(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    id: str
    name: msgspec.Raw
    pos: msgspec.Raw


class _GoldLine(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    id: str
    relations: list[str]
    h: _GoldMention
    t: _GoldMention


class _GoldTextLine(_GoldLine, forbid_unknown_fields=True, gc=False):
    text: msgspec.Raw


class _GoldTokensLine(_GoldLine, forbid_unknown_fields=True, gc=False):
    tokens: msgspec.Raw


# Each has the same number of keys in every line.
GOLD_DECODERS: tuple[tuple[msgspec.json.Decoder[Any], int], ...] = (
    (msgspec.json.Decoder(_GoldTextLine), 11),
    (msgspec.json.Decoder(_GoldTokensLine), 11),
    (msgspec.json.Decoder(_GoldLine), 10),
)


class GoldColumns(NamedTuple):
    """Columns of some gold lines."""

    ids: list[str]
    labels: list[list[str]]
    pairs: list[tuple[str, str]]

    def subset(self, rows: Sequence[int]) -> GoldColumns:
        ids, labels = [self.ids[row] for row in rows], [self.labels[row] for row in rows]
        return GoldColumns(ids, labels, [self.pairs[row] for row in rows] if self.pairs else [])


def read_gold_columns(
    source: Source, *, pairs: bool, problems: Problems, limits: Limits = LIMITS
) -> Iterator[GoldColumns]:
    """Yield the columns of regular relation lines with ids.

    Raises `Irregular` at any other line. Without `pairs` that column is empty.
    """
    for block in read_blocks(source, problems=problems, limits=limits):
        lines: list[_GoldLine] | None = None
        for decoder, keys in GOLD_DECODERS:
            lines = decode_block(block, decoder, limits=limits)
            if lines is not None and has_keys(block, keys * len(lines)):
                break
            lines = None
        if lines is None:
            raise Irregular
        entities = [(line.h.id, line.t.id) for line in lines] if pairs else []
        columns = GoldColumns([line.id for line in lines], [line.relations for line in lines], entities)
        names = columns.ids + [name for pair in entities for name in pair]
        if not all_plain(names) or "" in chain.from_iterable(columns.labels):
            raise Irregular
        yield columns
