"""Item and gold lines in JSONL, the house's own and OpenNRE's spelling.

Offsets are half-open. They count code points of `text`; where `tokens` (or OpenNRE's `token`) stand instead,
they count tokens, except that a mention whose name is found at the same offsets in code points of the
joined tokens, and not at the token offsets, is taken at its code points. A relation item without an id is
named after its content, any other item after its line.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec import UNSET, UnsetType

from evalsvc.core.formats.json_lines import Identifier, decode_lines, identifier
from evalsvc.core.formats.mention_search import locate
from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.records import Entity, ItemLine, Link, Span, content_id, token_starts
from evalsvc.core.formats.span_checks import check_bounds, checked_spans
from evalsvc.core.formats.text_lines import LIMITS, Limits, Source


class Mention(msgspec.Struct, forbid_unknown_fields=True):
    name: str | UnsetType = UNSET
    id: Identifier | UnsetType | None = UNSET
    pos: tuple[int, int] | UnsetType = UNSET
    type: str | UnsetType | None = UNSET


class WireItem(msgspec.Struct, forbid_unknown_fields=True):
    id: Identifier | UnsetType = UNSET
    text: str | UnsetType = UNSET
    tokens: list[str] | UnsetType = UNSET
    token: list[str] | UnsetType = UNSET
    h: Mention | UnsetType = UNSET
    t: Mention | UnsetType = UNSET
    relation: str | UnsetType = UNSET
    relations: list[str | Link] | UnsetType = UNSET
    anno_relation_list: list[str] | UnsetType = UNSET
    spans: list[Span] | UnsetType = UNSET


def read_items(
    source: Source, *, problems: Problems, limits: Limits = LIMITS, require_text: bool = True
) -> Iterator[tuple[int, ItemLine]]:
    """Yield (line, item); lines that cannot be taken are reported and left out.

    Published gold may come without text (`require_text=False`); its lines then need ids.
    """
    for line, wire in decode_lines(source, WireItem, problems=problems, limits=limits):
        item = item_of(wire, line=line, problems=problems, require_text=require_text)
        if item is not None:
            yield line, item


def item_of(wire: WireItem, *, line: int, problems: Problems, require_text: bool = True) -> ItemLine | None:
    """The item of a decoded line, or None and a report of what is wrong with it."""
    return _Item(wire, line, problems).build(require_text=require_text)


class _Fault(Exception):
    """The line was reported; leave it out."""


class _Item:
    def __init__(self, wire: WireItem, line: int, problems: Problems) -> None:
        self.wire, self.line, self.problems = wire, line, problems

    def build(self, *, require_text: bool) -> ItemLine | None:
        try:
            self._refuse_mixtures()
            tokens = self._tokens()
            text = self._text(tokens, require_text=require_text)
            if self.wire.spans is not UNSET:
                return self._with_spans(text, tokens)
            return self._with_mentions(text, tokens)
        except _Fault:
            return None

    def _fault(self, code: str, *, field: str, expected: str) -> _Fault:
        self.problems.add(code, line=self.line, field=field, expected=expected)
        return _Fault()

    def _refuse_mixtures(self) -> None:
        wire = self.wire
        if sum(part is not UNSET for part in (wire.text, wire.tokens, wire.token)) > 1:
            raise self._fault("mixed_forms", field="text", expected="either text or tokens")
        if wire.relation is not UNSET and wire.relations is not UNSET:
            raise self._fault("mixed_forms", field="relation", expected="either relation or relations")
        if wire.spans is not UNSET and (wire.h is not UNSET or wire.t is not UNSET):
            raise self._fault("mixed_forms", field="spans", expected="either h and t or spans")
        if (wire.h is UNSET) != (wire.t is UNSET):
            raise self._fault("missing_key", field="h" if wire.h is UNSET else "t", expected="both h and t")

    def _tokens(self) -> tuple[str, ...] | None:
        given = self.wire.token if self.wire.tokens is UNSET else self.wire.tokens
        if given is UNSET:
            return None
        if not given or not all(given):
            raise self._fault("wrong_type", field="tokens", expected="at least one token, none of them empty")
        return tuple(given)

    def _text(self, tokens: tuple[str, ...] | None, *, require_text: bool) -> str | None:
        if tokens is not None:
            return " ".join(tokens)
        if self.wire.text is UNSET:
            if require_text:
                raise self._fault("missing_key", field="text", expected="the key text or tokens")
            return None
        if not self.wire.text.strip():
            raise self._fault("wrong_type", field="text", expected="text that is not blank")
        return self.wire.text

    def _with_spans(self, text: str | None, tokens: tuple[str, ...] | None) -> ItemLine:
        links = self._links()
        bare = ItemLine(self._id(f"line-{self.line}"), text, tokens)
        spans = [] if self.wire.spans is UNSET else self.wire.spans
        checked = checked_spans(spans, links, length=bare.length, line=self.line, problems=self.problems)
        if checked is None:
            raise _Fault
        given = self.wire.relations is not UNSET
        return msgspec.structs.replace(bare, spans=checked[0], relations=checked[1] if given else None)

    def _links(self) -> list[Link]:
        given = [] if self.wire.relations is UNSET else self.wire.relations
        links = [link for link in given if not isinstance(link, str)]
        if len(links) < len(given) or self.wire.relation is not UNSET:
            raise self._fault("mixed_forms", field="relations", expected="triples [span, relation, span]")
        return links

    def _with_mentions(self, text: str | None, tokens: tuple[str, ...] | None) -> ItemLine:
        relations = self._relations()
        head, tail = self._mention("h", text, tokens), self._mention("t", text, tokens)
        named = content_id(text, head, tail) if text is not None and head is not None else None
        item_id = self._id(named or f"line-{self.line}")
        return ItemLine(item_id, text, tokens, head, tail, None, relations)

    def _relations(self) -> tuple[str, ...] | None:
        wire = self.wire
        given: list[str | Link] | None = None if wire.relations is UNSET else wire.relations
        given = [wire.relation] if wire.relation is not UNSET else given
        # OpenNRE's several human labels, where there are any, replace its single one
        given = list(wire.anno_relation_list) if wire.anno_relation_list is not UNSET else given
        names = [name for name in given or [] if isinstance(name, str) and name]
        if given is not None and len(names) < len(given):
            raise self._fault("mixed_forms", field="relations", expected="names of relations")
        return None if given is None else tuple(dict.fromkeys(names))

    def _id(self, otherwise: str) -> str:
        if self.wire.id is UNSET:
            return otherwise
        found = identifier(self.wire.id, line=self.line, field="id", problems=self.problems)
        if found is None:
            raise _Fault
        return found

    def _mention(self, key: str, text: str | None, tokens: tuple[str, ...] | None) -> Entity | None:
        mention: Mention | UnsetType = getattr(self.wire, key)
        if mention is UNSET:
            return None
        found = self._named(mention, key, text, tokens)
        return msgspec.structs.replace(found, type=mention.type) if mention.type else found

    def _named(self, mention: Mention, key: str, text: str | None, tokens: tuple[str, ...] | None) -> Entity:
        entity_id = self._entity_id(mention, key)
        start, end = (None, None) if mention.pos is UNSET else self._offsets(mention, key, text, tokens)
        if mention.name is not UNSET and mention.name:
            if text is not None and start is None:
                return self._located(mention.name, entity_id, key, text)
            if text is not None and start is not None:
                self._compare(mention.name, text, start, end, key)
            return Entity(entity_id, mention.name, start, end)
        if text is None or start is None:
            raise self._fault("missing_key", field=f"{key}.name", expected="a name, or pos in a text")
        return Entity(entity_id, text[start:end], start, end)

    def _compare(self, name: str, text: str, start: int, end: int | None, key: str) -> None:
        """A name that stands elsewhere tells of offsets counted otherwise; one that is nowhere does not."""
        covered = text[start:end].casefold()
        if covered != name.casefold() and name.casefold() in text.casefold():
            self.problems.add(
                "other_words",
                line=self.line,
                field=f"{key}.pos",
                found=text[start:end],
                expected=name,
                hint="Offsets count characters from 0, not bytes or UTF-16 units; the end is not included.",
            )

    def _entity_id(self, mention: Mention, key: str) -> str | None:
        if mention.id is UNSET or mention.id is None:
            return None
        found = identifier(mention.id, line=self.line, field=f"{key}.id", problems=self.problems)
        if found is None:
            raise _Fault
        return found

    def _located(self, name: str, entity_id: str | None, key: str, text: str) -> Entity:
        found = locate(
            text, name, entity_id=entity_id, line=self.line, field=f"{key}.name", problems=self.problems
        )
        if found is None:
            raise _Fault
        return found

    def _offsets(
        self, mention: Mention, key: str, text: str | None, tokens: tuple[str, ...] | None
    ) -> tuple[int, int]:
        assert mention.pos is not UNSET
        start, end = mention.pos
        if (
            tokens is not None
            and text is not None
            and not self._means_code_points(mention.name, start, end, text, tokens)
        ):
            self._bounds(start, end, len(tokens), key)
            starts = token_starts(tokens)
            return starts[start], starts[end - 1] + len(tokens[end - 1])
        self._bounds(start, end, None if text is None else len(text), key)
        return start, end

    @staticmethod
    def _means_code_points(
        name: str | UnsetType, start: int, end: int, text: str, tokens: tuple[str, ...]
    ) -> bool:
        if name is UNSET or not 0 <= start < end <= len(text):
            return False
        as_tokens = " ".join(tokens[start:end])
        return text[start:end].casefold() == name.casefold() != as_tokens.casefold()

    def _bounds(self, start: int, end: int, length: int | None, key: str) -> None:
        if not check_bounds(
            start, end, length=length, line=self.line, field=f"{key}.pos", problems=self.problems
        ):
            raise _Fault
