"""Items and gold as JSON Lines, also in OpenNRE's spelling.

Offsets are half-open. They count code points of `text`; with `tokens` (or OpenNRE's `token`) they count
tokens. Exception: if the name of a mention occurs at the offsets in code points of the joined tokens, and not
at the token offsets, the offsets are code points. A relation item without an id is named after its content,
any other item after its line.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from evalsvc.core.formats.json_lines import (
    Identifier,
    count_keys,
    decode,
    decode_block,
    decode_lines,
    has_keys,
    identifier,
    is_plain,
)
from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.records import Entity, ItemLine, Link, Span, content_id, token_starts
from evalsvc.core.formats.registry import Format, Reader, Writer, register
from evalsvc.core.formats.tag_schemes import Repair, Scheme, checked_tags
from evalsvc.core.formats.text_lines import LIMITS, Limits, Source, read_blocks
from evalsvc.core.formats.text_spans import check_bounds, checked_spans, locate

TEXT_KEYS = {"text", "tokens", "token"}
PREDICTION_KEYS = {"label", "labels", "scores", "score", "tags", "spans", "entpair"}


class WireMention(msgspec.Struct, forbid_unknown_fields=True):
    """A mention as JSON."""

    name: str | UnsetType = UNSET
    id: Identifier | UnsetType | None = UNSET
    pos: tuple[int, int] | UnsetType = UNSET
    type: str | UnsetType | None = UNSET


class WireItem(msgspec.Struct, forbid_unknown_fields=True):
    """An item as JSON."""

    id: Identifier | UnsetType = UNSET
    text: str | UnsetType = UNSET
    tokens: list[str] | UnsetType = UNSET
    token: list[str] | UnsetType = UNSET
    h: WireMention | UnsetType = UNSET
    t: WireMention | UnsetType = UNSET
    relation: str | UnsetType = UNSET
    relations: list[str | Link] | UnsetType = UNSET
    anno_relation_list: list[str] | UnsetType = UNSET
    spans: list[Span] | UnsetType = UNSET
    tags: list[str] | UnsetType = UNSET


def read_items(
    source: Source,
    *,
    problems: Problems,
    limits: Limits = LIMITS,
    require_text: bool = True,
    scheme: Scheme | None = None,
    repair: Repair = "conlleval",
) -> Iterator[tuple[int, ItemLine]]:
    """Yield (line, item); report and skip invalid lines.

    Published gold may lack text (`require_text=False`); its lines then need ids. Tags need their scheme.
    """
    for line, wire in decode_lines(source, WireItem, problems=problems, limits=limits):
        item = _ItemBuilder(wire, line, problems, scheme, repair).build(require_text=require_text)
        if item is not None:
            yield line, item


class _BadLine(Exception):
    """The line has a reported problem."""


class _ItemBuilder:
    """Turns a decoded line into an item, or reports its problem."""

    def __init__(
        self, wire: WireItem, line: int, problems: Problems, scheme: Scheme | None, repair: Repair
    ) -> None:
        self.wire, self.line, self.problems = wire, line, problems
        self.scheme, self.repair = scheme, repair
        self.text: str | None = None
        self.tokens: tuple[str, ...] | None = None

    def build(self, *, require_text: bool) -> ItemLine | None:
        """Return the item, or None after a report."""
        try:
            self._reject_mixtures()
            self._read_text(require_text=require_text)
            if self.wire.tags is not UNSET:
                return self._with_tags(self.wire.tags)
            return self._with_mentions() if self.wire.spans is UNSET else self._with_spans(self.wire.spans)
        except _BadLine:
            return None

    def _problem(self, code: str, *, field: str, expected: str) -> _BadLine:
        self.problems.add(code, line=self.line, field=field, expected=expected)
        return _BadLine()

    def _reject_mixtures(self) -> None:
        wire = self.wire
        if sum(part is not UNSET for part in (wire.text, wire.tokens, wire.token)) > 1:
            raise self._problem("mixed_forms", field="text", expected="either text or tokens")
        if wire.relation is not UNSET and wire.relations is not UNSET:
            raise self._problem("mixed_forms", field="relation", expected="either relation or relations")
        others = (wire.spans, wire.h, wire.t, wire.relation, wire.relations)
        if wire.tags is not UNSET and any(part is not UNSET for part in others):
            raise self._problem("mixed_forms", field="tags", expected="tokens and tags alone")
        if wire.spans is not UNSET and (wire.h is not UNSET or wire.t is not UNSET):
            raise self._problem("mixed_forms", field="spans", expected="either h and t or spans")
        if (wire.h is UNSET) != (wire.t is UNSET):
            field = "h" if wire.h is UNSET else "t"
            raise self._problem("missing_key", field=field, expected="both h and t")

    def _read_text(self, *, require_text: bool) -> None:
        tokens = self.wire.token if self.wire.tokens is UNSET else self.wire.tokens
        may_be_empty = (
            self.wire.spans is not UNSET or self.wire.tags is not UNSET
        )  # a document without anything to find is one
        if tokens is not UNSET:
            if not (tokens or may_be_empty) or not all(tokens):
                raise self._problem(
                    "wrong_type", field="tokens", expected="at least one token, and no empty token"
                )
            self.tokens, self.text = tuple(tokens), " ".join(tokens)
        elif self.wire.text is not UNSET:
            if not (self.wire.text.strip() or may_be_empty):
                raise self._problem("wrong_type", field="text", expected="text that is not blank")
            self.text = self.wire.text
        elif require_text:
            raise self._problem("missing_key", field="text", expected="the key text or tokens")
        elif self.wire.id is UNSET:
            raise self._problem("missing_key", field="id", expected="the key id, as there is no text")

    def _with_spans(self, spans: list[Span]) -> ItemLine:
        relations = [] if self.wire.relations is UNSET else self.wire.relations
        links = [link for link in relations if not isinstance(link, str)]
        if len(links) < len(relations) or self.wire.relation is not UNSET:
            raise self._problem("mixed_forms", field="relations", expected="triples [span, relation, span]")
        item = ItemLine(self._id(f"line-{self.line}"), self.text, self.tokens)
        checked = checked_spans(spans, links, length=item.length, line=self.line, problems=self.problems)
        if checked is None:
            raise _BadLine
        has_links = self.wire.relations is not UNSET
        return msgspec.structs.replace(item, spans=checked[0], relations=checked[1] if has_links else None)

    def _with_tags(self, tags: list[str]) -> ItemLine:
        if self.tokens is None:
            raise self._problem("missing_key", field="tokens", expected="tokens, one for each tag")
        if len(tags) != len(self.tokens):
            value, expected = f"{len(tags):,} tags", f"{len(self.tokens):,}, one per token"
            self.problems.add("token_mismatch", line=self.line, field="tags", value=value, expected=expected)
            raise _BadLine
        item = ItemLine(self._id(f"line-{self.line}"), self.text, self.tokens)
        spans = checked_tags(tags, self.scheme, lines=[self.line], repair=self.repair, problems=self.problems)
        if spans is None:
            raise _BadLine
        return msgspec.structs.replace(item, spans=tuple(spans))

    def _with_mentions(self) -> ItemLine:
        wire = self.wire
        relations: list[str | Link] | None = None if wire.relations is UNSET else wire.relations
        relations = [wire.relation] if wire.relation is not UNSET else relations
        # OpenNRE: several human labels, if present, replace the single one.
        relations = list(wire.anno_relation_list) if wire.anno_relation_list is not UNSET else relations
        names = dict.fromkeys(name for name in relations or () if isinstance(name, str) and name)
        if not names.keys() >= set(relations or ()):
            raise self._problem("mixed_forms", field="relations", expected="names of relations")
        head, tail = self._mention("h"), self._mention("t")
        by_content = content_id(self.text, head, tail) if self.text is not None and head is not None else None
        item_id = self._id(by_content or f"line-{self.line}")
        labels = None if relations is None else tuple(names)
        return ItemLine(item_id, self.text, self.tokens, head, tail, None, labels)

    def _id(self, default: str) -> str:
        return default if self.wire.id is UNSET else self._checked_id(self.wire.id, "id")

    def _checked_id(self, value: Identifier, field: str) -> str:
        checked = identifier(value, line=self.line, field=field, problems=self.problems)
        if checked is None:
            raise _BadLine
        return checked

    def _mention(self, key: str) -> Entity | None:
        mention: WireMention | UnsetType = getattr(self.wire, key)
        if mention is UNSET:
            return None
        entity_id = None
        if isinstance(mention.id, str | int):
            entity_id = self._checked_id(mention.id, f"{key}.id")
        offsets = None if mention.pos is UNSET else self._offsets(mention.pos, mention.name, key)
        name, text, kind = mention.name or "", self.text, mention.type or ""
        if not name and (text is None or offsets is None):
            raise self._problem("missing_key", field=f"{key}.name", expected="a name, or pos in a text")
        if text is None:
            start, end = offsets or (None, None)
            return Entity(entity_id, name, start, end, kind)
        if offsets is not None:
            if name:
                self._compare(name, text[slice(*offsets)], key)
            return Entity(entity_id, name or text[slice(*offsets)], *offsets, kind)
        field = f"{key}.name"
        entity = locate(text, name, entity_id=entity_id, line=self.line, field=field, problems=self.problems)
        if entity is None:
            raise _BadLine
        return msgspec.structs.replace(entity, type=kind)

    def _compare(self, name: str, covered: str, key: str) -> None:
        """Warn if the name occurs elsewhere in the text.

        This is a sign of offsets in another unit.
        """
        if covered.casefold() != name.casefold() and name.casefold() in (self.text or "").casefold():
            self.problems.add(
                "other_words",
                line=self.line,
                field=f"{key}.pos",
                value=covered,
                expected=name,
                hint="Offsets count characters from 0, not bytes or UTF-16 units; the end is exclusive.",
            )

    def _offsets(self, pos: tuple[int, int], name: str | UnsetType, key: str) -> tuple[int, int]:
        """Return the offsets of a mention in code points of the text."""
        (start, end), text, tokens = pos, self.text, self.tokens
        if text is not None and tokens is not None and name is not UNSET and 0 <= start < end <= len(text):
            wanted = name.casefold()
            if text[start:end].casefold() == wanted != " ".join(tokens[start:end]).casefold():
                tokens = None  # these offsets are code points already
        unit = text if tokens is None else tokens
        length, field = None if unit is None else len(unit), f"{key}.pos"
        if not check_bounds(start, end, length=length, line=self.line, field=field, problems=self.problems):
            raise _BadLine
        if tokens is None:
            return start, end
        starts = token_starts(tokens)
        return starts[start], starts[end - 1] + len(tokens[end - 1])


def read_gold(
    source: Source,
    *,
    problems: Problems,
    limits: Limits = LIMITS,
    scheme: Scheme | None = None,
    repair: Repair = "conlleval",
) -> Iterator[tuple[int, ItemLine]]:
    """Yield (line, item) with the labels and pairs of gold, fast.

    Text and offsets of relation lines are neither kept nor checked: no relation measure uses them, and
    published gold may lack them. Lines with spans or tags are read as by `read_items`.
    """
    decoder = msgspec.json.Decoder(WireItem)
    for block in read_blocks(source, problems=problems, limits=limits):
        wires = decode_block(block, decoder, limits=limits)
        lines: Iterator[tuple[int, WireItem | None]]
        if wires is not None and has_keys(block, sum(map(count_keys, wires))):
            lines = iter(enumerate(wires, block.first))
        else:
            texts = block.texts(problems=problems, limits=limits)
            lines = ((line, decode(decoder, text, line=line, problems=problems)) for line, text in texts)
        for line, wire in lines:
            item = wire and (
                _plain_gold(wire)
                or _ItemBuilder(wire, line, problems, scheme, repair).build(require_text=False)
            )
            if item:
                yield line, item


def _plain_gold(wire: WireItem) -> ItemLine | None:
    """Return the item of a usual relation line, None for any other."""
    relations: Any = wire.relations
    if relations is UNSET:
        relations = () if wire.relation is UNSET else (wire.relation,)
    if (
        wire.h is UNSET
        or wire.t is UNSET
        or wire.anno_relation_list is not UNSET
        or wire.spans is not UNSET
        or wire.tags is not UNSET
        or not all(type(name) is str and name for name in relations)
    ):
        return None
    head, tail, item_id = _plain_entity(wire.h), _plain_entity(wire.t), wire.id
    if head is None or tail is None:
        return None
    if item_id is UNSET:
        if wire.text is UNSET or head.start is None or tail.start is None:
            return None
        item_id = content_id(wire.text, head, tail)
    if type(item_id) is not str or not is_plain(item_id):
        return None
    return ItemLine(item_id, None, None, head, tail, None, tuple(relations))


def _plain_entity(mention: WireMention) -> Entity | None:
    entity_id = None if mention.id is UNSET else mention.id
    is_usual = entity_id is None or (type(entity_id) is str and is_plain(entity_id))
    if mention.name is UNSET or not mention.name or not is_usual:
        return None
    return Entity(entity_id, mention.name, *(mention.pos if mention.pos is not UNSET else ()))  # type: ignore[arg-type]


FORMAT = register(
    Format(
        "jsonl-items",
        "Items (JSONL)",
        "One sentence per line with head and tail, or with spans or tags, and with gold labels if available.",
        '{"h":{"id":"Q1","name":"Ada","pos":[0,3]},"id":"s1","relations":["born_in"],'
        '"t":{"id":"Q2","name":"Turin","pos":[16,21]},"text":"Ada was born in Turin."}',
        roles=("items", "gold"),
        rank=20,
        recognise=lambda sample: (
            not sample.keys & {"relation", "token"}
            if sample.keys & TEXT_KEYS
            else bool(sample.keys & {"relation", "relations"}) and not sample.keys & PREDICTION_KEYS
        ),
        readers={
            "items": Reader(read_items, ("require_text", "scheme", "repair")),
            "gold": Reader(read_gold, ("scheme", "repair")),
        },
        writer=Writer(
            None,
            ("relations", "entities", "joint"),
            "code points of the text; tokens, where the line has them",
        ),
    )
)
