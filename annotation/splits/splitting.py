"""Split items into parts by a seed, without shared pairs or sentences; deterministic on every machine."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from enum import StrEnum
from itertools import accumulate

from annotation.splits.items import SEPARATOR, SplitItem

_BELOW_ONE = 2**64


class Unit(StrEnum):
    """What never falls apart: all items of a pair, of a sentence, or whatever shares either."""

    PAIR = "pair"
    SENTENCE = "sentence"
    NEITHER = "neither"


def uniform(seed: str, key: str) -> float:
    """Draw a number in [0, 1) by seed and key alone.

    The first 8 bytes of SHA-256 of seed, U+001F and key in UTF-8, big endian, divided by 2⁶⁴.
    """
    digest = hashlib.sha256(f"{seed}{SEPARATOR}{key}".encode()).digest()
    return int.from_bytes(digest[:8], "big") / _BELOW_ONE


def groups(items: Sequence[SplitItem], unit: Unit) -> list[str]:
    """Return the key of the group of each item, which a split keeps together.

    Where neither pairs nor sentences may be shared, groups are the connected components of both, and the key
    is the least of their pairs, of items without a pair the least of their sentences.
    """
    if unit == Unit.SENTENCE:
        return [item.sentence for item in items]
    if unit == Unit.PAIR:
        return [item.pair or item.sentence for item in items]
    parents: dict[tuple[bool, str], tuple[bool, str]] = {}

    def root(key: tuple[bool, str]) -> tuple[bool, str]:
        path = []
        while parents.setdefault(key, key) != key:
            path.append(key)
            key = parents[key]
        for each in path:
            parents[each] = key
        return key

    for item in items:
        sentence = root((False, item.sentence))
        if item.pair:
            parents[sentence] = root((True, item.pair))
    names: dict[tuple[bool, str], str] = {}
    roots = [root((False, item.sentence)) for item in items]
    for item, of_item in zip(items, roots, strict=True):
        key = item.pair or item.sentence
        names[of_item] = min(names.get(of_item, key), key)
    return [names[of_item] for of_item in roots]


def split(
    items: Sequence[SplitItem],
    shares: Mapping[str, float],
    *,
    seed: str,
    unit: Unit = Unit.NEITHER,
    stratified: bool = False,
) -> list[str]:
    """Return the name of the part of each item.

    Parameters
    ----------
    items : sequence of SplitItem
    shares : mapping of str to float
        Share of each part, > 0, summing to 1; the order of parts matters.
    seed : str
        The same seed gives the same parts.
    unit : Unit
        What is kept together.
    stratified : bool
        Best effort to give each part its share of every relation: groups are taken by their rarest relation,
        rare ones first and those without any last, the largest first, each to the part that is farthest
        under its share of that relation's items.
    """
    keys = groups(items, unit)
    if not stratified:
        bounds = list(accumulate(shares.values()))
        names = list(shares)

        def part(key: str) -> str:
            drawn = uniform(seed, key)
            return next((name for name, end in zip(names, bounds, strict=True) if drawn < end), names[-1])

        of_group = {key: part(key) for key in set(keys)}
    else:
        of_group = _stratified(items, keys, shares, seed)
    return [of_group[key] for key in keys]


def _stratified(
    items: Sequence[SplitItem], keys: Sequence[str], shares: Mapping[str, float], seed: str
) -> dict[str, str]:
    counts = Counter(relation for item in items for relation in item.relations)
    rarity = {name: place for place, name in enumerate(sorted(counts, key=lambda name: (counts[name], name)))}
    size: Counter[str] = Counter(keys)
    stratum: dict[str, int] = dict.fromkeys(keys, len(rarity))
    for item, key in zip(items, keys, strict=True):
        for relation in item.relations:
            stratum[key] = min(stratum[key], rarity[relation])
    strata: dict[int, list[str]] = defaultdict(list)
    for key, place in stratum.items():
        strata[place].append(key)
    of_group: dict[str, str] = {}
    for place in sorted(strata):
        members = sorted(strata[place], key=lambda key: (-size[key], uniform(seed, key)))
        total, filled = sum(size[key] for key in members), Counter[str]()
        for key in members:
            name = max(shares, key=lambda part: shares[part] * total - filled[part])
            of_group[key] = name
            filled[name] += size[key]
    return of_group


def worst_deviation(
    items: Sequence[SplitItem], parts: Sequence[str], shares: Mapping[str, float], *, least: int = 1
) -> float:
    """Return the greatest difference between a part's share of a relation's items and its own share.

    Relations with fewer than `least` items are left out.
    """
    totals: Counter[str] = Counter()
    found: Counter[tuple[str, str]] = Counter()
    for item, part in zip(items, parts, strict=True):
        for relation in item.relations:
            totals[relation] += 1
            found[relation, part] += 1
    return max(
        (
            abs(found[relation, part] / n - share)
            for relation, n in totals.items()
            if n >= least
            for part, share in shares.items()
        ),
        default=0.0,
    )
