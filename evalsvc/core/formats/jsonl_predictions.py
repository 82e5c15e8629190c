"""Prediction lines in JSONL: labels, label sets, scores, bag triples (OpenNRE's too), spans and tags."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from evalsvc.core.formats.json_blocks import Block, Irregular, decoded, has_keys, read_blocks
from evalsvc.core.formats.json_lines import Identifier, all_plain, decode, identifier
from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.records import (
    BagPrediction,
    LabelPrediction,
    LabelsPrediction,
    Link,
    PredictionLine,
    ScoresPrediction,
    Span,
    SpansPrediction,
    TagsPrediction,
)
from evalsvc.core.formats.span_checks import checked_spans
from evalsvc.core.formats.text_lines import LIMITS, Limits, Source


class WirePrediction(msgspec.Struct, forbid_unknown_fields=True):
    id: Identifier | UnsetType = UNSET
    label: str | UnsetType = UNSET
    labels: list[str] | UnsetType = UNSET
    scores: dict[str, float] | UnsetType = UNSET
    h: Identifier | UnsetType = UNSET
    t: Identifier | UnsetType = UNSET
    entpair: tuple[Identifier, Identifier] | UnsetType = UNSET
    relation: str | UnsetType = UNSET
    score: float | UnsetType = UNSET
    spans: list[Span] | UnsetType = UNSET
    relations: list[Link] | UnsetType = UNSET
    tags: list[str] | UnsetType = UNSET


KEYS = WirePrediction.__struct_fields__
FORMS = (
    "id and label",
    "id and labels",
    "id and scores",
    "h, t, relation and score",
    "entpair, relation and score",
    "id and spans (and relations)",
    "id and tags",
)


def read_predictions(
    source: Source, *, problems: Problems, limits: Limits = LIMITS
) -> Iterator[tuple[int, PredictionLine]]:
    """Yield (line, prediction); lines that cannot be taken are reported and left out.

    A block of lines is first tried in the form of the line before it, which is several times faster.
    """
    decoder = msgspec.json.Decoder(WirePrediction)
    whole: Whole = _nothing
    for block in read_blocks(source, problems=problems, limits=limits):
        quick = whole(block, limits)
        if quick is not None and all_plain(_names_of(quick)):
            yield from enumerate(quick, block.first)
            continue
        prediction: PredictionLine | None = None
        for line, text in block.texts(problems=problems, limits=limits):
            wire = decode(decoder, text, line=line, problems=problems)
            prediction = None if wire is None else _built(wire, line, problems)
            if prediction is None:
                problems.unread.line(text)
            else:
                yield line, prediction
        whole = WHOLE.get(type(prediction), _nothing)


def read_parts(
    source: Source, *, problems: Problems, limits: Limits = LIMITS
) -> Iterator[Sequence[PredictionLine]]:
    """Yield predictions of one form, many at a time; raises `Irregular` at anything unusual.

    Whether a text can be an id is not asked: whoever looks the ids up among known ones finds out.
    """
    forms: Collection[Whole] = WHOLE.values()
    for block in read_blocks(source, problems=problems, limits=limits):
        for form in forms:
            found = form(block, limits)
            if found is not None:
                forms = (form,)
                yield found
                break
        else:
            raise Irregular


def _built(wire: WirePrediction, line: int, problems: Problems) -> PredictionLine | None:
    given = tuple([key for key in KEYS if getattr(wire, key) is not UNSET])
    build = _BUILDERS.get(given)
    if build is not None:
        return build(wire, line, problems)
    _report_form(given, line=line, problems=problems)
    return None


def _report_form(given: tuple[str, ...], *, line: int, problems: Problems) -> None:
    """Say what is lacking where one form was begun, or that forms are mixed."""
    given_keys = set(given)
    begun = sorted((form for form in _BUILDERS if given_keys < set(form)), key=len)
    if not given or begun:
        lacking = [key for key in begun[0] if key not in given_keys] if begun else []
        expected = f"also {' and '.join(lacking)}" if lacking else f"one of: {'; '.join(FORMS)}"
        problems.add("missing_key", line=line, found=", ".join(given), expected=expected)
    else:
        problems.add("mixed_forms", line=line, found=", ".join(given), expected=f"one of: {'; '.join(FORMS)}")


def _id(wire: WirePrediction, line: int, problems: Problems) -> str | None:
    return None if wire.id is UNSET else identifier(wire.id, line=line, field="id", problems=problems)


def _label(wire: WirePrediction, line: int, problems: Problems) -> PredictionLine | None:
    name = _id(wire, line, problems)
    return None if name is None or wire.label is UNSET else LabelPrediction(name, wire.label)


def _labels(wire: WirePrediction, line: int, problems: Problems) -> PredictionLine | None:
    name = _id(wire, line, problems)
    return None if name is None or wire.labels is UNSET else LabelsPrediction(name, tuple(wire.labels))


def _scores(wire: WirePrediction, line: int, problems: Problems) -> PredictionLine | None:
    name = _id(wire, line, problems)
    return None if name is None or wire.scores is UNSET else ScoresPrediction(name, wire.scores)


def _tags(wire: WirePrediction, line: int, problems: Problems) -> PredictionLine | None:
    name = _id(wire, line, problems)
    return None if name is None or wire.tags is UNSET else TagsPrediction(name, tuple(wire.tags))


def _spans(wire: WirePrediction, line: int, problems: Problems) -> PredictionLine | None:
    name = _id(wire, line, problems)
    links = [] if wire.relations is UNSET else wire.relations
    if name is None or wire.spans is UNSET:
        return None
    checked = checked_spans(wire.spans, links, length=None, line=line, problems=problems)
    return None if checked is None else SpansPrediction(name, *checked)


def _bag(wire: WirePrediction, line: int, problems: Problems) -> PredictionLine | None:
    if wire.h is UNSET or wire.t is UNSET:
        return None
    return _triple(wire, (wire.h, wire.t), ("h", "t"), line, problems)


def _entpair(wire: WirePrediction, line: int, problems: Problems) -> PredictionLine | None:
    if wire.entpair is UNSET:
        return None
    return _triple(wire, wire.entpair, ("entpair[0]", "entpair[1]"), line, problems)


def _triple(
    wire: WirePrediction,
    pair: tuple[Identifier, Identifier],
    fields: tuple[str, str],
    line: int,
    problems: Problems,
) -> PredictionLine | None:
    head = identifier(pair[0], line=line, field=fields[0], problems=problems)
    tail = identifier(pair[1], line=line, field=fields[1], problems=problems)
    if head is None or tail is None or wire.relation is UNSET or wire.score is UNSET:
        return None
    return BagPrediction(head, tail, wire.relation, wire.score)


Builder = Callable[[WirePrediction, int, Problems], PredictionLine | None]
_BUILDERS: dict[tuple[str, ...], Builder] = {
    ("id", "label"): _label,
    ("id", "labels"): _labels,
    ("id", "scores"): _scores,
    ("h", "t", "relation", "score"): _bag,
    ("entpair", "relation", "score"): _entpair,
    ("id", "spans"): _spans,
    ("id", "spans", "relations"): _spans,
    ("id", "tags"): _tags,
}


class _Entpair(msgspec.Struct, forbid_unknown_fields=True):
    entpair: tuple[str, str]
    relation: str
    score: float


class _Pair(msgspec.Struct, forbid_unknown_fields=True):
    h: str
    t: str
    relation: str
    score: float


class _Spans(msgspec.Struct, forbid_unknown_fields=True):
    id: str
    spans: tuple[Span, ...]


FARTHEST = 1 << 31  # beyond it the careful reader looks
LABEL = msgspec.json.Decoder(LabelPrediction)
SCORES = msgspec.json.Decoder(ScoresPrediction)
ENTPAIR = msgspec.json.Decoder(_Entpair)
PAIR = msgspec.json.Decoder(_Pair)
SPANS = msgspec.json.Decoder(_Spans)


def _nothing(block: Block, limits: Limits) -> None:
    return None


def _all_labels(block: Block, limits: Limits) -> Sequence[PredictionLine] | None:
    found = decoded(block, LABEL, limits=limits)
    return found if found is not None and has_keys(block, 2 * len(found)) else None


def _all_scores(block: Block, limits: Limits) -> Sequence[PredictionLine] | None:
    found = decoded(block, SCORES, limits=limits)
    if found is None or not has_keys(block, 2 * len(found) + sum([len(one.scores) for one in found])):
        return None
    return found


def _all_triples(block: Block, limits: Limits) -> Sequence[PredictionLine] | None:
    entpair = b'"entpair"' in block.data
    triples = _entpairs(block, limits) if entpair else _pairs(block, limits)
    if triples is None or not has_keys(block, (3 if entpair else 4) * len(triples)):
        return None
    return triples


def _entpairs(block: Block, limits: Limits) -> list[BagPrediction] | None:
    found = decoded(block, ENTPAIR, limits=limits)
    return None if found is None else [BagPrediction(*one.entpair, one.relation, one.score) for one in found]


def _pairs(block: Block, limits: Limits) -> list[BagPrediction] | None:
    found = decoded(block, PAIR, limits=limits)
    return None if found is None else [BagPrediction(one.h, one.t, one.relation, one.score) for one in found]


def _all_spans(block: Block, limits: Limits) -> Sequence[PredictionLine] | None:
    found = decoded(block, SPANS, limits=limits)
    if found is None or not has_keys(block, 2 * len(found)):
        return None
    for line in found:
        spans = line.spans
        if len(spans) > 1 and len(set(spans)) < len(spans):
            return None
        for start, end, label in spans:
            if not (0 <= start < end <= FARTHEST and label):
                return None
    return [SpansPrediction(line.id, line.spans) for line in found]


def _names_of(found: Sequence[Any]) -> list[str]:
    """The ids that lines of one form give."""
    if isinstance(found[0], BagPrediction):
        return [name for one in found for name in (one.head, one.tail)]
    return [one.id for one in found]


Whole = Callable[[Block, Limits], Sequence[PredictionLine] | None]
WHOLE: dict[type, Whole] = {
    LabelPrediction: _all_labels,
    ScoresPrediction: _all_scores,
    BagPrediction: _all_triples,
    SpansPrediction: _all_spans,
}
