"""Inputs of a benchmark: the items to predict, without gold.

A frozen test set never changes, so its expected ids stay in memory under its digest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

import msgspec

from annotation.testset import TestSet, TestSetRow, export_lines, verified_batches
from evalsvc.evaluation.disclosure.split import Part, key_of, part_of
from evalsvc.evaluation.models import Setting, SettingVersion

Pair = tuple[str, str]


class EntityMention(msgspec.Struct, omit_defaults=True):
    name: str = ""
    id: str | None = None

    @property
    def key(self) -> str:
        """One side of a pair: the id, or the name without one."""
        return self.name if self.id is None else self.id


class InputMention(EntityMention, omit_defaults=True):
    pos: tuple[int, int] | None = None


class InputItem(msgspec.Struct, omit_defaults=True):
    """Item to predict: a gold line whose labels are not decoded."""

    id: str
    text: str | None = None
    tokens: tuple[str, ...] | None = None
    h: InputMention | None = None
    t: InputMention | None = None

    @property
    def pair(self) -> Pair | None:
        return None if self.h is None or self.t is None else (self.h.key, self.t.key)


@dataclass(frozen=True, slots=True)
class ExpectedIds:
    """Ids to predict in order, with pairs, tokens and lengths."""

    ids: Mapping[str, Pair | None]
    tokens: Mapping[str, Sequence[str]]
    lengths: Mapping[str, int]

    @property
    def pairs(self) -> list[Pair]:
        return list(dict.fromkeys(pair for pair in self.ids.values() if pair))


def expected_ids(setting: Setting) -> ExpectedIds:
    """Return the test set's ids, limited to `only` if set."""
    every = _read_ids(
        setting.test_set_id, setting.test_set.sha256, with_text=setting.unit == Setting.Unit.DOCUMENT
    )
    if setting.only is None:
        return every
    kept = _read_ids(setting.only.pk, setting.only.sha256, with_text=False).ids
    return ExpectedIds(
        {id: pair for id, pair in every.ids.items() if id in kept}, every.tokens, every.lengths
    )


@lru_cache(maxsize=8)
def _read_ids(pk: int, sha256: str, *, with_text: bool) -> ExpectedIds:
    decoder = msgspec.json.Decoder(InputItem)
    ids: dict[str, Pair | None] = {}
    tokens: dict[str, Sequence[str]] = {}
    lengths: dict[str, int] = {}
    test_set = TestSet.objects.get(pk=pk)
    for raw in chain.from_iterable(verified_batches(test_set)):
        try:
            item = decoder.decode(raw)
        except msgspec.MsgspecError:
            test_set.verify()
            raise
        ids[item.id] = item.pair
        if with_text and item.tokens is not None:
            tokens[item.id] = item.tokens
        measured = item.tokens if item.tokens is not None else item.text
        if with_text and measured is not None:
            lengths[item.id] = len(measured)
    return ExpectedIds(ids, tokens, lengths)


def ids_of_part(gold: Setting | SettingVersion, unit: str, part: Part) -> frozenset[str]:
    """Return the item ids in a part of a split setting."""
    items = _read_ids(gold.test_set.pk, gold.test_set.sha256, with_text=unit == Setting.Unit.DOCUMENT).ids
    kept = _read_ids(gold.only.pk, gold.only.sha256, with_text=False).ids if gold.only else items
    return frozenset(id for id, pair in items.items() if id in kept and part.has(key_of(unit, id, pair)))


def input_lines(*settings: Setting) -> Iterator[bytes]:
    """Yield each item of the settings once, setting by setting.

    Within a setting they come in the order of CoNLL columns and dense rows.
    """
    decoder, encoder = msgspec.json.Decoder(InputItem), msgspec.json.Encoder(order="deterministic")
    written: set[str] = set()
    for setting in settings:
        kept = expected_ids(setting).ids.keys() - written
        written |= kept
        for raw in export_lines(setting.test_set) if kept else ():
            item = decoder.decode(raw)
            if item.id in kept:
                yield encoder.encode(item) + b"\n"


def count_items(gold: Setting | SettingVersion) -> int:
    """Count the items a setting scores, or scored under a version."""
    setting = gold.setting if isinstance(gold, SettingVersion) else gold
    if part := part_of(setting):
        return len(ids_of_part(gold, setting.unit, part))
    return count_inputs(gold)


def count_inputs(gold: Setting | SettingVersion) -> int:
    """Count the items a file must answer, also those scored later."""
    if gold.only is None:
        return gold.test_set.rows
    return _count_shared(gold.test_set.pk, gold.test_set.sha256, gold.only.pk, gold.only.sha256)


@lru_cache(maxsize=256)
def _count_shared(pk: int, sha256: str, only: int, only_sha256: str) -> int:
    kept = TestSetRow.objects.filter(test_set=only).values("external_id")
    return TestSetRow.objects.filter(test_set=pk, external_id__in=kept).count()
