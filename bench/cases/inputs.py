"""Synthetic data, the same in every run."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import NamedTuple

SEED = 20220901
TYPES = [f"TYPE{number}" for number in range(18)]
Sentences = list[list[str]]


class Tagged(NamedTuple):
    """Sentences with gold tags and the tags of an imperfect system."""

    gold: Sentences
    predicted: Sentences


def tagged(n_sentences: int, *, contested: bool = True, seed: int = SEED) -> Tagged:
    """Make sentences of about 20 tokens, a quarter of them in entities, every sixth wrong.

    Without contested entities no wrong entity overlaps two, so pairing does not depend on order.
    """
    rng = random.Random(seed)
    gold, predicted = [], []
    for _ in range(n_sentences):
        truth = list(_entities(rng, rng.randint(10, 30)))
        gold.append(_tags(truth))
        predicted.append(_tags([_mistaken(rng, *entity) for entity in truth]))
        if contested and rng.random() < 0.3:
            at = rng.randrange(len(gold[-1]))
            predicted[-1][at] = f"{rng.choice('BI')}-{rng.choice(TYPES)}"
    return Tagged(gold, predicted)


def _entities(rng: random.Random, length: int) -> Iterator[tuple[int, str]]:
    """Yield lengths and types; a token outside has no type."""
    while length > 0:
        inside = rng.random() < 0.14
        size = min(length, rng.choice((1, 1, 2, 2, 3))) if inside else 1
        yield size, rng.choice(TYPES) if inside else ""
        length -= size


def _mistaken(rng: random.Random, size: int, label: str) -> tuple[int, str]:
    chance = rng.random()
    if chance < 0.06:
        return size, rng.choice(TYPES) if label else ""
    if chance < 0.12:
        return size, ""
    if chance < 0.18 and size > 1:
        return -size, label
    return size, rng.choice(TYPES) if not label and chance > 0.995 else label


def _tags(parts: list[tuple[int, str]]) -> list[str]:
    """Write tags; a negative size is an entity that ends one token early."""
    tags: list[str] = []
    for size, label in parts:
        inside = abs(size) - (size < 0)
        tags += [f"B-{label}", *[f"I-{label}"] * (inside - 1)] if label else ["O"] * inside
        tags += ["O"] * (abs(size) - inside)
    return tags
