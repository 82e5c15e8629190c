"""Documents as other tools see them: a text, its tokens, spans and relations, in any unit of offsets.

Every writer of an export reads these. Offsets are half-open and count code points of `text` unless a name
says otherwise.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, NamedTuple, get_args

import msgspec

from evalsvc.core.formats.records import Entity, Link, Span, token_starts

Unit = Literal["utf16", "graphemes", "code-points"]
UNITS: tuple[Unit, ...] = get_args(Unit)
LINE_END = r"(?:\r\n|\n|\r(?!\n)|[\u2028\u2029])"
PARAGRAPHS = re.compile(rf"{LINE_END}\s*?{LINE_END}\s*")


class Sentence(NamedTuple):
    """Tokens `first` to `end` of a document."""

    first: int
    end: int


class Document(msgspec.Struct, frozen=True, dict=True):
    """A sentence or document with its gold.

    With `head` and `tail` the gold is `labels`, else `spans` and `links`. `given` are the places of tokens
    in a set that has some.
    """

    id: str
    text: str
    given: tuple[tuple[int, int], ...] | None = None
    spans: tuple[Span, ...] = ()
    links: tuple[Link, ...] = ()
    head: Entity | None = None
    tail: Entity | None = None
    labels: tuple[str, ...] = ()

    @property
    def has_tokens(self) -> bool:
        return self.given is not None

    @cached_property
    def places(self) -> tuple[tuple[int, int], ...]:
        """Return the places of the tokens: the given ones, else of words, cut at spans and mentions."""
        if self.given is not None:
            return self.given
        marked = [(start, end) for start, end, _ in self.spans]
        marked += [(entity.start or 0, entity.end or 0) for entity in (self.head, self.tail) if entity]
        return tuple(tokenised(self.text, marked))

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        return tuple(self.text[start:end] for start, end in self.places)

    @cached_property
    def token_spans(self) -> tuple[Span, ...]:
        """Return the spans in tokens; tokens are cut at every span."""
        return tuple((*self.in_tokens(start, end), label) for start, end, label in self.spans)

    def in_tokens(self, start: int, end: int) -> tuple[int, int]:
        """Return the first token of a place, and the one after its last."""
        return self._starts[start], self._ends[end] + 1

    @cached_property
    def _starts(self) -> dict[int, int]:
        return {start: at for at, (start, _) in enumerate(self.places)}

    @cached_property
    def _ends(self) -> dict[int, int]:
        return {end: at for at, (_, end) in enumerate(self.places)}

    @cached_property
    def sentences(self) -> tuple[Sentence, ...]:
        """Return the paragraphs; a blank line within a span divides nothing."""
        breaks = [
            match.end()
            for match in PARAGRAPHS.finditer(self.text)
            if not any(start < match.end() and match.start() < end for start, end, _ in self.spans)
        ]
        firsts = [start for start, _ in self.places]
        bounds = [0, *(bisect_right(firsts, at - 1) for at in breaks), len(firsts)]
        return tuple(Sentence(first, end) for first, end in pairwise(bounds) if first < end)

    @cached_property
    def flat_spans(self) -> tuple[tuple[int, int, str], ...]:
        """Return spans in tokens without overlaps: those of most tokens, then the earliest."""
        kept: list[Span] = []
        used: set[int] = set()
        for span in sorted(self.token_spans, key=lambda span: (span[0] - span[1], span[0])):
            if used.isdisjoint(range(span[0], span[1])):
                kept.append(span)
                used.update(range(span[0], span[1]))
        return tuple(sorted(kept))

    def words(self, span: Sequence[Any]) -> str:
        return self.text[span[0] : span[1]]


def document(gold: dict[str, Any]) -> Document | None:
    """Return the document of a gold line, or None if it has no text."""
    tokens: list[str] | None = gold.get("tokens")
    text: str = gold.get("text") or ""
    if tokens is None and "text" not in gold:
        return None
    spans = [(start, end, label) for start, end, label in gold.get("spans") or ()]
    mentions = [gold[key] for key in "ht" if key in gold]
    if any("pos" not in mention for mention in mentions):
        return None
    places: list[tuple[int, int]] = []
    if tokens is not None:
        text = " ".join(tokens)
        starts = token_starts(tuple(tokens))
        places = [(start, start + len(token)) for start, token in zip(starts, tokens, strict=True)]
        spans = [(places[start][0], places[end - 1][1], label) for start, end, label in spans]
    head, tail = ((_entity(gold[key], text, places) if key in gold else None) for key in "ht")
    found = gold.get("relations") or ()
    links = tuple((link[0], link[1], link[2]) for link in found if not isinstance(link, str))
    labels = tuple(name for name in found if isinstance(name, str))
    given = None if tokens is None else tuple(places)
    return Document(gold["id"], text, given, tuple(spans), links, head, tail, labels)


def _entity(mention: dict[str, Any], text: str, places: Sequence[tuple[int, int]]) -> Entity:
    start, end = mention["pos"]
    if places:
        start, end = places[start][0], places[end - 1][1]
    name = mention.get("name") or text[start:end]
    return Entity(mention.get("id"), name, start, end, mention.get("type") or "")


def tokenised(text: str, marked: Iterable[tuple[int, int]] = ()) -> list[tuple[int, int]]:
    """Return the places of tokens: words, and every other character but blanks.

    Tokens are cut where a marked place begins or ends, so that every span is of whole tokens.
    """
    cuts = {place for both in marked for place in both}
    places: list[tuple[int, int]] = []
    start = -1
    for at, character in enumerate(text):
        category = unicodedata.category(character)
        is_word = category[0] in "LMN" or character == "_"
        if start >= 0 and (not is_word or at in cuts):
            places.append((start, at))
            start = -1
        if is_word:
            start = at if start < 0 else start
        elif not character.isspace():
            places.append((at, at + 1))
    return [*places, (start, len(text))] if start >= 0 else places


class Offsets:
    """Offsets of a text in another unit, from and to code points."""

    def __init__(self, text: str, unit: Unit) -> None:
        self.by_code_point = list(range(len(text) + 1))
        if unit == "utf16":
            at = 0
            for number, character in enumerate(text):
                self.by_code_point[number] = at
                at += 2 if ord(character) > 0xFFFF else 1
            self.by_code_point[len(text)] = at
        elif unit == "graphemes":
            self.by_code_point = _grapheme_numbers(text)
        # the first code point of each unit; half a surrogate pair has none
        self.code_points = {unit_at: number for number, unit_at in reversed([*enumerate(self.by_code_point)])}

    def to_unit(self, at: int) -> int:
        return self.by_code_point[at]

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Return a place in units; of those at its ends it has all."""
        return self.by_code_point[start], self.by_code_point[end] + self._is_within(end)

    def widens(self, start: int, end: int) -> bool:
        """True if a place in code points begins or ends within a unit."""
        return self._is_within(start) or self._is_within(end)

    def _is_within(self, at: int) -> bool:
        return at > 0 and self.by_code_point[at] == self.by_code_point[at - 1]

    def from_unit(self, at: int) -> int | None:
        """Return the code point, or None where the unit has no place of this number."""
        return self.code_points.get(at)


def _grapheme_numbers(text: str) -> list[int]:
    """Number every code point with its grapheme cluster, by the common rules of Unicode Annex 29."""
    numbers, at, previous = [], -1, ""
    flags = 0
    for number, character in enumerate(text):
        flags = flags + 1 if "\U0001f1e6" <= character <= "\U0001f1ff" else 0
        joined = bool(previous) and _continues(text, number, character, previous, flags)
        at += not joined
        numbers.append(at)
        previous = character
    return [*numbers, at + 1]


def _continues(text: str, number: int, character: str, previous: str, flags: int) -> bool:
    if previous == "\r" or character == "\n" or unicodedata.category(previous) == "Cc":
        return previous == "\r" and character == "\n"
    if unicodedata.category(character)[0] == "M" or character in "\u200c\u200d" or _is_modifier(character):
        return True
    if previous == "\u200d":
        return number > 1 and unicodedata.category(character) == "So"
    return (flags > 0 and flags % 2 == 0) or _is_hangul_joined(previous, character)


def _is_modifier(character: str) -> bool:
    return "\U0001f3fb" <= character <= "\U0001f3ff" or "\U000e0020" <= character <= "\U000e007f"


def _is_hangul_joined(one: str, other: str) -> bool:
    """Return whether two Hangul letters are of one syllable."""
    leading = "\u1100" <= one <= "\u115f"
    vowel = "\u1160" <= one <= "\u11a7" or ("\uac00" <= one <= "\ud7a3" and (ord(one) - 0xAC00) % 28 == 0)
    trailing = "\u11a8" <= one <= "\u11ff" or "\uac00" <= one <= "\ud7a3"
    if leading:
        return "\u1100" <= other <= "\u11a7" or "\uac00" <= other <= "\ud7a3"
    return (vowel and "\u1160" <= other <= "\u11ff") or (trailing and "\u11a8" <= other <= "\u11ff")
