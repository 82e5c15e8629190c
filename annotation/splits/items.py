"""What splits and leakage look at in an item: its pair, its sentence, its labels, its entities."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field

from evalsvc.core.formats.records import Entity, ItemLine

SEPARATOR = "\x1f"
LONG_WORD = 1_000  # characters


@dataclass(frozen=True, slots=True)
class SplitItem:
    """Keys of an item; equal keys are the same thing.

    `pair` is empty for items without head and tail. Sentences are compared normalised: NFKC, without case,
    runs of white space as one blank. Entities of 1,000 characters or more are digests of their exact words.
    """

    id: str
    sentence: str
    head: str = ""
    tail: str = ""
    relations: tuple[str, ...] = ()
    entities: tuple[str, ...] = field(default=())

    @property
    def pair(self) -> str:
        """Unordered: the smaller id first, by code points."""
        return SEPARATOR.join(sorted((self.head, self.tail))) if self.head or self.tail else ""

    @property
    def facts(self) -> list[tuple[str, str, str]]:
        return [(self.head, relation, self.tail) for relation in self.relations] if self.pair else []


def normalised(text: str) -> str:
    """Return a sentence as it is compared.

    Marks on one letter take quadratic time, so long words stay as they are.

    Examples
    --------
    >>> normalised("  The ﬁrst\\tDAY ")
    'the first day'
    """
    words = (unicodedata.normalize("NFKC", word) if len(word) < LONG_WORD else word for word in text.split())
    return " ".join(" ".join(words).casefold().split())


def split_item(item: ItemLine) -> SplitItem:
    """Return the keys of a line."""
    text = item.text if item.text is not None else " ".join(item.tokens or ())
    pair = item.pair or ("", "")
    relations = tuple(name for name in item.relations or () if isinstance(name, str))
    return SplitItem(item.id, normalised(text), *pair, relations, tuple(_entities(item, text)))


def _entities(item: ItemLine, text: str) -> list[str]:
    """Return the words of the entities, normalised."""
    ends = [end for end in (item.head, item.tail) if isinstance(end, Entity)]
    if ends:
        return [_entity_key(end.name or "") for end in ends]
    units: Sequence[str] = text if item.tokens is None else item.tokens
    words = (units[start:end] for start, end, _ in item.spans or ())
    return [_entity_key(part if isinstance(part, str) else " ".join(part)) for part in words]


def _entity_key(words: str) -> str:
    """Return the words normalised, or a digest of long ones: 20 spans may cover a text of megabytes."""
    if len(words) < LONG_WORD:
        return normalised(words)
    return hashlib.blake2b(words.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
