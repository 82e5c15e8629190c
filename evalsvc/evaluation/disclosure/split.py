"""Split of a hidden setting: a share scored first, then the rest.

A split setting is two: one for the share, and a sealed one for the rest. Which items or pairs are in the
share depends on a secret seed and their ids alone, so it is the same for every team and every gold version.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass

from evalsvc.evaluation.models import Setting

LEAST_SHARE, MOST_SHARE = 0.05, 0.95
SEPARATOR = "\x1f"


@dataclass(frozen=True, slots=True)
class Part:
    """Items or pairs that a setting of a split scores."""

    seed: str
    share: float
    rest: bool = False

    def has(self, key: str) -> bool:
        return (draw(self.seed, key) < self.share) is not self.rest


def part_of(setting: Setting) -> Part | None:
    """Return the part that a setting scores; None: everything."""
    if setting.share is None:
        return None
    return Part(setting.share_seed, setting.share, rest=setting.rest_of_id is not None)


def new_seed() -> str:
    return secrets.token_hex(16)


def seed_sha256(setting: Setting) -> str:
    """Return the digest of the seed, published before the seed is."""
    return hashlib.sha256(setting.share_seed.encode()).hexdigest()


def draw(seed: str, key: str) -> float:
    """Return the number in [0, 1) drawn for a key."""
    digest = hashlib.sha256(f"{seed}{SEPARATOR}{key}".encode()).digest()
    return float(int.from_bytes(digest[:8], "big") / 2**64)


def key_of(unit: str, item: str, pair: tuple[str, str] | None) -> str:
    """Return the key of a unit in the draw: pair or item."""
    return SEPARATOR.join(sorted(pair)) if unit == Setting.Unit.BAG and pair else item
