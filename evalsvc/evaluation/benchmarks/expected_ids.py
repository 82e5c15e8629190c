"""What predictions are held against while they arrive: the ids, pairs, lengths and tokens of frozen sets.

A frozen set never changes, so what was read of it is kept in memory under its digest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import msgspec

from annotation.testset import TestSet, TestSetRow, export_lines
from evalsvc.evaluation.models import Setting, SettingVersion

Pair = tuple[str, str]


class Mention(msgspec.Struct):
    name: str = ""
    id: str | None = None

    @property
    def key(self) -> str:
        """What pairs are made of: the id, or the name where there is none."""
        return self.name if self.id is None else self.id


class Line(msgspec.Struct):
    """A gold line without its gold."""

    id: str
    text: str | None = None
    tokens: tuple[str, ...] | None = None
    h: Mention | None = None
    t: Mention | None = None

    @property
    def pair(self) -> Pair | None:
        return None if self.h is None or self.t is None else (self.h.key, self.t.key)


@dataclass(frozen=True, slots=True)
class Roster:
    """Ids in the order of the set; pairs, tokens and lengths where it has them."""

    ids: Mapping[str, Pair | None]
    tokens: Mapping[str, Sequence[str]]
    lengths: Mapping[str, int]

    @property
    def pairs(self) -> list[Pair]:
        return list(dict.fromkeys(pair for pair in self.ids.values() if pair))


@lru_cache(maxsize=8)
def _roster(pk: int, sha256: str, with_text: bool) -> Roster:
    decoder = msgspec.json.Decoder(Line)
    ids: dict[str, Pair | None] = {}
    tokens: dict[str, Sequence[str]] = {}
    lengths: dict[str, int] = {}
    for raw in export_lines(TestSet.objects.get(pk=pk)):
        line = decoder.decode(raw)
        ids[line.id] = line.pair
        if with_text and line.tokens is not None:
            tokens[line.id] = line.tokens
        length_of = line.tokens if line.tokens is not None else line.text
        if with_text and length_of is not None:
            lengths[line.id] = len(length_of)
    return Roster(ids, tokens, lengths)


def roster(test_set: TestSet, *, with_text: bool = False) -> Roster:
    return _roster(test_set.pk, test_set.sha256, with_text)


def of_setting(setting: Setting, *, with_text: bool = False) -> Roster:
    """The rows a setting scores: of its test set, those that stand in `only` too, where that is set."""
    whole = roster(setting.test_set, with_text=with_text)
    if setting.only is None:
        return whole
    kept = roster(setting.only).ids
    return Roster({k: v for k, v in whole.ids.items() if k in kept}, whole.tokens, whole.lengths)


def of_settings(settings: Iterable[Setting]) -> Roster:
    """Everything that any of these settings scores, the first one's rows first."""
    ids: dict[str, Pair | None] = {}
    tokens: dict[str, Sequence[str]] = {}
    lengths: dict[str, int] = {}
    for setting in settings:
        part = of_setting(setting, with_text=setting.unit == Setting.Unit.DOCUMENT)
        ids = ids | dict(part.ids) if ids else dict(part.ids)
        tokens |= part.tokens
        lengths |= part.lengths
    return Roster(ids, tokens, lengths)


def count(gold: Setting | SettingVersion) -> int:
    """How many rows a setting scores, or scored under a version."""
    if gold.only is None:
        return gold.test_set.rows
    return _shared(gold.test_set.pk, gold.test_set.sha256, gold.only.pk, gold.only.sha256)


@lru_cache(maxsize=256)
def _shared(pk: int, sha256: str, only: int, only_sha256: str) -> int:
    """Rows of frozen sets never change, so they are counted once under their digests."""
    kept = TestSetRow.objects.filter(test_set=only).values("external_id")
    return TestSetRow.objects.filter(test_set=pk, external_id__in=kept).count()
