"""Outcome of every item of an evaluation: what the scoring job stores, and who may read it.

Columns are bytes, so that a page slices its own items without reading the others.
"""

from __future__ import annotations

import zlib
from array import array
from functools import cached_property
from typing import Any

import msgspec

from evalsvc.evaluation.disclosure.disclosed import Disclosed
from evalsvc.evaluation.disclosure.gold_digest import SecretGold, version_of
from evalsvc.evaluation.disclosure.policy import Policy
from evalsvc.evaluation.models import EvaluationOutcomes
from evalsvc.evaluation.roles import Person, organised

KINDS = (
    "right", "missed", "spurious", "type", "bounds", "type and bounds", "relation", "direction",
    "missed relation", "turned relation", "other relation", "type of an end", "bounds of an end",
    "end not in the gold", "spurious relation",
)  # fmt: skip
"""Kinds of outcomes; the place of a kind is its code, and its bit in the mask of an item."""
RIGHT, MISSED, SPURIOUS, TYPE, BOUNDS, TYPE_AND_BOUNDS, RELATION, DIRECTION, LINK_MISSED = range(9)
CLAIM_KINDS = (
    ("right", RIGHT), ("direction", 9), ("relation", 10), ("label", 11), ("bounds", 12), ("argument", 13),
    ("spurious", 14),
)  # fmt: skip


class Column(msgspec.Struct, frozen=True):
    """Numbers of one type, as bytes."""

    type: str
    content: bytes

    def numbers(self) -> array[Any]:
        return array(self.type, self.content)


class Claims(msgspec.Struct, frozen=True, dict=True):
    """Claims in the order of their items: those of item i are first[i] to first[i + 1].

    `places` are start and end of spans, or the numbers of head and tail among the spans of the document.
    """

    first: Column
    label: Column
    kind: Column
    places: tuple[Column, Column] | None = None

    @cached_property
    def columns(self) -> tuple[array[Any], array[Any], array[Any], array[Any] | None, array[Any] | None]:
        a, b = (each.numbers() for each in self.places) if self.places else (None, None)
        return self.first.numbers(), self.label.numbers(), self.kind.numbers(), a, b

    def of(self, item: int, most: int | None = None) -> list[tuple[int, int, int, int]]:
        """Return label, kind and places of the claims of an item, or of the first ones."""
        _, label, kind, a, b = self.columns
        rows = self.rows(item)[:most]
        return [(label[i], kind[i], a[i] if a else 0, b[i] if b else 0) for i in rows]

    def rows(self, item: int) -> range:
        first = self.columns[0]
        return range(first[item], first[item + 1])


class Outcomes(msgspec.Struct, frozen=True, dict=True):
    """Outcome of every item, in the order of the gold.

    `mask` has a bit per kind that occurs in the item; `f1` and `wrf` are nan where undefined. `confusion` has
    rows of gold label, predicted label and weight, −1 for none; `apart` those of spans that overlap only.
    """

    labels: list[str]
    relations: list[str]
    ids: list[str]
    mask: Column
    f1: Column
    wrf: Column | None
    gold: Claims
    predicted: Claims
    gold_links: Claims | None
    predicted_links: Claims | None
    confusion: list[tuple[int, int, float]]
    apart: list[tuple[int, int, float]]
    against_f1: tuple[int, int, int, int] | None = None
    """Documents whose WRF lies above, at, below CoNLL F1, and those left out."""
    widest: list[tuple[int, float, float]] = []
    """Item, WRF and CoNLL F1 where they differ most."""
    sentences: list[list[str]] | None = None
    """Ids of the sentences of each bag."""
    answers: tuple[list[list[str]], list[list[str]]] | None = None
    """Texts of each gold claim and each predicted one, of answers without offsets."""

    @cached_property
    def masks(self) -> array[Any]:
        return self.mask.numbers()

    @cached_property
    def wrf_scores(self) -> array[Any]:
        """WRF by item; empty where there is none."""
        return self.wrf.numbers() if self.wrf else array("f")

    @cached_property
    def f1_scores(self) -> array[Any]:
        return self.f1.numbers()


def pack(outcomes: Outcomes) -> bytes:
    return zlib.compress(msgspec.msgpack.encode(outcomes), 1)


def unpack(content: bytes | memoryview) -> Outcomes:
    return msgspec.msgpack.decode(zlib.decompress(content), type=Outcomes)


def why_closed(policy: Policy, gold_sha256: str, person: Person | None) -> str:
    """Say why a reader may not see items with their gold; empty if they may.

    A gold that an open setting shows is closed while another one hides lines of it, except to the organisers.
    """
    if policy.hidden:
        return policy.sentence
    benchmark = policy.setting.benchmark_id
    version = policy.version or version_of(policy.setting, gold_sha256)
    if SecretGold().has_lines_of(version) and benchmark not in organised([benchmark], person):
        return "Another setting hides this gold, or gold that may share lines with it."
    return ""


def outcomes_of(disclosed: Disclosed, person: Person | None) -> Outcomes | None:
    """Return the outcomes that a reader of an evaluation may see.

    None on closed gold, whose labels they are, and for scores that were computed without them.
    """
    if why_closed(disclosed.policy, disclosed.gold_sha256, person):
        return None
    rows = EvaluationOutcomes.objects.filter(evaluation=disclosed.pk)
    content = rows.values_list("content", flat=True).first()
    return None if content is None else unpack(content)
