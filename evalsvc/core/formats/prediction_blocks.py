"""Blocks of regular prediction lines of one form, decoded at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from evalsvc.core.formats.json_lines import decode_block, has_keys
from evalsvc.core.formats.problems import MOST_COVERING, MOST_SPANS, Problems
from evalsvc.core.formats.records import (
    BagPrediction,
    LabelPrediction,
    PredictionLine,
    ScoresPrediction,
    Span,
    SpansPrediction,
)
from evalsvc.core.formats.text_lines import LIMITS, Block, Irregular, Limits, Source, read_blocks
from evalsvc.core.formats.text_spans import most_covering


class _EntpairLine(msgspec.Struct, forbid_unknown_fields=True):
    entpair: tuple[str, str]
    relation: str
    score: float


class _PairLine(msgspec.Struct, forbid_unknown_fields=True):
    h: str
    t: str
    relation: str
    score: float


class _SpansLine(msgspec.Struct, forbid_unknown_fields=True):
    id: str
    spans: tuple[Span, ...]


MAX_OFFSET = 1 << 31  # lines with larger ones are read one by one
LABEL_DECODER = msgspec.json.Decoder(LabelPrediction)
SCORES_DECODER = msgspec.json.Decoder(ScoresPrediction)
ENTPAIR_DECODER = msgspec.json.Decoder(_EntpairLine)
PAIR_DECODER = msgspec.json.Decoder(_PairLine)
SPANS_DECODER = msgspec.json.Decoder(_SpansLine)


def _read_label_block(block: Block, limits: Limits) -> Sequence[PredictionLine] | None:
    lines = decode_block(block, LABEL_DECODER, limits=limits)
    return lines if lines is not None and has_keys(block, 2 * len(lines)) else None


def _read_scores_block(block: Block, limits: Limits) -> Sequence[PredictionLine] | None:
    lines = decode_block(block, SCORES_DECODER, limits=limits)
    if lines is None or not has_keys(block, 2 * len(lines) + sum([len(line.scores) for line in lines])):
        return None
    return lines


def _read_triple_block(block: Block, limits: Limits) -> Sequence[PredictionLine] | None:
    if b'"entpair"' in block.data:
        lines = decode_block(block, ENTPAIR_DECODER, limits=limits)
        if lines is None or not has_keys(block, 3 * len(lines)):
            return None
        return [BagPrediction(*line.entpair, line.relation, line.score) for line in lines]
    pairs = decode_block(block, PAIR_DECODER, limits=limits)
    if pairs is None or not has_keys(block, 4 * len(pairs)):
        return None
    return [BagPrediction(pair.h, pair.t, pair.relation, pair.score) for pair in pairs]


def _read_spans_block(block: Block, limits: Limits) -> Sequence[PredictionLine] | None:
    lines = decode_block(block, SPANS_DECODER, limits=limits)
    if lines is None or not has_keys(block, 2 * len(lines)):
        return None
    for line in lines:
        spans = line.spans
        if len(spans) > 1 and (len(spans) > MOST_SPANS or len(set(spans)) < len(spans)):
            return None
        for start, end, label in spans:
            if not (0 <= start < end <= MAX_OFFSET and label):
                return None
        if len(spans) > MOST_COVERING and most_covering(spans) > MOST_COVERING:
            return None
    return [SpansPrediction(line.id, line.spans) for line in lines]


BlockReader = Callable[[Block, Limits], Sequence[PredictionLine] | None]
BLOCK_READERS: Sequence[BlockReader] = (
    _read_label_block,
    _read_scores_block,
    _read_triple_block,
    _read_spans_block,
)


def read_uniform_predictions(
    source: Source, *, problems: Problems, limits: Limits = LIMITS
) -> Iterator[Sequence[PredictionLine]]:
    """Yield many predictions of one form at a time.

    Raises `Irregular` at any other line. Ids are not checked: they are looked up among known ones later.
    """
    readers = BLOCK_READERS
    for block in read_blocks(source, problems=problems, limits=limits):
        predictions, readers = read_block(block, limits, readers)
        if predictions is None:
            raise Irregular
        yield predictions


def read_block(
    block: Block, limits: Limits, readers: Sequence[BlockReader]
) -> tuple[Sequence[PredictionLine] | None, Sequence[BlockReader]]:
    """Return the predictions of a regular block, and its reader."""
    for reader in readers:
        predictions = reader(block, limits)
        if predictions is not None:
            return predictions, (reader,)
    return None, readers


def names_of(predictions: Sequence[Any]) -> list[str]:
    """Return the ids of lines of one form."""
    if isinstance(predictions[0], BagPrediction):
        return [name for line in predictions for name in (line.head, line.tail)]
    return [line.id for line in predictions]
