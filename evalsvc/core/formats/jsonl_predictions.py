"""Predictions as JSON Lines.

The forms are labels, label sets, scores, bag triples (also OpenNRE's), spans and tags; and without offsets,
entities and triples as text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from evalsvc.core.formats.json_lines import Identifier, all_plain, decode, identifier
from evalsvc.core.formats.prediction_blocks import BLOCK_READERS, names_of, read_block
from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.records import (
    Abstention,
    BagPrediction,
    EntityTextsPrediction,
    ItemLine,
    LabelPrediction,
    LabelsPrediction,
    Link,
    PredictionLine,
    ScoresPrediction,
    Span,
    SpansPrediction,
    TagsPrediction,
    TriplesPrediction,
)
from evalsvc.core.formats.registry import Format, Reader, Variant, register
from evalsvc.core.formats.tag_schemes import Repair, Scheme, checked_tags
from evalsvc.core.formats.text_lines import LIMITS, Limits, Source, read_blocks
from evalsvc.core.formats.text_spans import checked_spans


class WirePrediction(msgspec.Struct, forbid_unknown_fields=True):
    """A prediction as JSON, in any form."""

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
    entities: list[tuple[str, str]] | UnsetType = UNSET
    triples: list[tuple[str, str, str]] | UnsetType = UNSET
    abstain: bool | UnsetType = UNSET
    label_true: str | UnsetType = UNSET
    label_pred: str | UnsetType = UNSET


KEYS = WirePrediction.__struct_fields__
CONSTRUCTORS: dict[tuple[str, ...], Callable[[str, Any], PredictionLine]] = {
    ("id", "label"): LabelPrediction,
    ("id", "labels"): lambda id, labels: LabelsPrediction(id, tuple(labels)),
    ("id", "scores"): ScoresPrediction,
    ("id", "tags"): lambda id, tags: TagsPrediction(id, tuple(tags)),
    ("id", "entities"): lambda id, entities: EntityTextsPrediction(id, tuple(entities)),
    ("id", "triples"): lambda id, triples: TriplesPrediction(id, tuple(triples)),
    ("id", "abstain"): lambda id, abstain: Abstention(id),
}
PAIR_KEYS = ("h", "t", "relation", "score")
ENTPAIR_KEYS = ("entpair", "relation", "score")
TACRED_KEYS = ("id", "label_true", "label_pred")
SPAN_KEYS = ("id", "spans"), ("id", "spans", "relations")
KEY_SETS = (*CONSTRUCTORS, PAIR_KEYS, ENTPAIR_KEYS, *SPAN_KEYS, TACRED_KEYS)
FORMS = (
    "one of: id and label; id and labels; id and scores; h, t, relation and score; "
    "entpair, relation and score; id and spans (and relations); id and tags; "
    "id and entities; id and triples; id and abstain; id, label_true and label_pred"
)


def read_predictions(
    source: Source, *, problems: Problems, limits: Limits = LIMITS, truth: bool = False
) -> Iterator[tuple[int, PredictionLine]]:
    """Yield (line, prediction); report and skip invalid lines.

    Of lines with a true and a predicted label the latter counts, or the former for `truth`. A block of
    regular lines is decoded at once, which is several times faster.
    """
    decoder, readers = msgspec.json.Decoder(WirePrediction), BLOCK_READERS
    for block in read_blocks(source, problems=problems, limits=limits):
        predictions, readers = read_block(block, limits, readers)
        if predictions is not None and all_plain(names_of(predictions)):
            yield from enumerate(predictions, block.first)
            continue
        for line, text in block.texts(problems=problems, limits=limits):
            wire = decode(decoder, text, line=line, problems=problems)
            prediction = None if wire is None else _build(wire, line, problems, truth=truth)
            if prediction is None:
                problems.unread.add_line(text)
            else:
                yield line, prediction


def read_as_gold(
    source: Source,
    *,
    problems: Problems,
    limits: Limits = LIMITS,
    scheme: Scheme | None = None,
    repair: Repair = "conlleval",
) -> Iterator[tuple[int, ItemLine]]:
    """Yield (line, item) of labels, spans or tags, as gold without text."""
    for line, prediction in read_predictions(source, problems=problems, limits=limits, truth=True):
        name = getattr(prediction, "id", "")
        if isinstance(prediction, LabelPrediction):
            yield line, ItemLine(name, None, relations=(prediction.label,))
        elif isinstance(prediction, LabelsPrediction):
            yield line, ItemLine(name, None, relations=prediction.labels)
        elif isinstance(prediction, SpansPrediction):
            yield line, ItemLine(name, None, spans=prediction.spans, relations=prediction.relations)
        elif isinstance(prediction, TagsPrediction):
            spans = checked_tags(prediction.tags, scheme, lines=[line], repair=repair, problems=problems)
            if spans is not None:
                yield line, ItemLine(name, None, spans=tuple(spans))
        else:
            problems.add("mixed_forms", line=line, expected="gold with label, labels, spans or tags")


def _build(wire: WirePrediction, line: int, problems: Problems, *, truth: bool) -> PredictionLine | None:
    """Return the prediction of a decoded line, or report its problem."""
    keys = tuple([key for key in KEYS if getattr(wire, key) is not UNSET])
    if keys == ENTPAIR_KEYS:
        head, tail = wire.entpair  # type: ignore[misc]
        return _triple(wire, (head, tail), ("entpair[0]", "entpair[1]"), line, problems)
    if keys == PAIR_KEYS:
        return _triple(wire, (wire.h, wire.t), ("h", "t"), line, problems)  # type: ignore[arg-type]
    if keys not in KEY_SETS:
        code, expected = _incomplete(keys)
        problems.add(code, line=line, value=", ".join(keys), expected=expected)
        return None
    name = identifier(wire.id, line=line, field="id", problems=problems)  # type: ignore[arg-type]
    if name is None:
        return None
    if wire.abstain is False:
        problems.add("wrong_type", line=line, field="abstain", value="false", expected="true, or no such key")
        return None
    if keys == TACRED_KEYS:
        return LabelPrediction(name, wire.label_true if truth else wire.label_pred)  # type: ignore[arg-type]
    if keys in CONSTRUCTORS:
        return CONSTRUCTORS[keys](name, getattr(wire, keys[1]))
    links = [] if wire.relations is UNSET else wire.relations
    spans = [] if wire.spans is UNSET else wire.spans
    checked = checked_spans(spans, links, length=None, line=line, problems=problems)
    return None if checked is None else SpansPrediction(name, *checked)


@lru_cache(maxsize=256)
def _incomplete(keys: tuple[str, ...]) -> tuple[str, str]:
    """Return code and expected keys of a line with these alone; a file may have a million such lines."""
    begun = sorted((complete for complete in KEY_SETS if set(keys) < set(complete)), key=len)
    missing = [key for key in begun[0] if key not in keys] if keys and begun else []
    code = "mixed_forms" if keys and not begun else "missing_key"
    return code, f"also {' and '.join(missing)}" if missing else FORMS


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


ANSWER_KEYS = frozenset(
    {"label", "labels", "scores", "score", "spans", "tags", "entities", "triples", "abstain", "label_pred"}
)
FORMAT = register(
    Format(
        "jsonl-predictions",
        "Predictions (JSONL)",
        "One item per line with a label, labels, scores, spans, tags, or entities or triples as text; or one "
        "scored triple per line. "
        "Published gold may have labels, spans or tags in the same form.",
        '{"id":"s1","scores":{"born_in":0.93}}',
        roles=("gold", "predictions", "suggestions"),
        rank=40,
        recognise=lambda sample: bool(sample.keys & ANSWER_KEYS) and "entpair" not in sample.keys,
        readers={"predictions": Reader(read_predictions), "gold": Reader(read_as_gold, ("scheme", "repair"))},
        variants=(
            Variant(
                "Label",
                "The relation of each sentence. Spell the negative class as the benchmark does.",
                '{"id": "s1", "label": "born_in"}',
            ),
            Variant(
                "Label beside the true one",
                "As in prediction files for TACRED: label_pred counts. In a gold file label_true does.",
                '{"id": "s1", "label_true": "lived_in", "label_pred": "born_in"}',
            ),
            Variant(
                "Label set",
                "Use it if several relations can hold. An empty list means the negative class.",
                '{"id": "s1", "labels": ["born_in", "lived_in"]}',
            ),
            Variant(
                "Scores",
                "A score for each predicted relation. Needed for curves, and for bags by ONE or AVG.",
                '{"id": "s1", "scores": {"born_in": 0.93, "lived_in": 0.41}}',
            ),
            Variant(
                "Scored triple",
                "A score for a relation of an entity pair, for bag settings only.",
                '{"h": "Q1", "t": "Q2", "relation": "born_in", "score": 0.93}',
            ),
            Variant(
                "Spans",
                "Half-open offsets [start, end), in tokens or else in characters, and a label.",
                '{"id": "d1", "spans": [[0, 2, "person"], [5, 6, "place"]]}',
            ),
            Variant(
                "Tags",
                "One tag per token in the tag scheme of the benchmark.",
                '{"id": "d1", "tags": ["B-person", "I-person", "O"]}',
            ),
            Variant(
                "Entities as text",
                "Texts and labels without offsets, in the order of the document. Labels that the benchmark "
                "lacks are wrong answers.",
                '{"id": "d1", "entities": [["Ada Byron", "person"], ["Turin", "place"]]}',
            ),
            Variant(
                "Triples as text",
                "Head, relation and tail without offsets, for joint benchmarks.",
                '{"id": "d1", "triples": [["Ada Byron", "born_in", "Turin"]]}',
            ),
            Variant(
                "Abstention",
                "No answer to a document, in files of entities or triples as text. All its gold is missed.",
                '{"id": "d1", "abstain": true}',
            ),
        ),
    )
)
