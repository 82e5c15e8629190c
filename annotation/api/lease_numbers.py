"""Numbers of leases in addresses and replies: a secret permutation of the numbers of their rows.

These would tell how many leases others got meanwhile: a sentence that was returned can be leased to them, a
hidden check to nobody.
"""

from __future__ import annotations

from functools import cache
from hashlib import blake2b
from typing import Any

from django.conf import settings
from rest_framework import serializers

HALF = 26  # bits; numbers stay below those that JavaScript rounds
ROUNDS = 6


def number_of(pk: int) -> int:
    """Return the number that stands for a row."""
    left, right = divmod(pk, 1 << HALF)
    for n in range(ROUNDS):
        left, right = right, left ^ _mixed(n, right)
    return left << HALF | right


def row_of(number: int) -> int:
    """Return the row for which a number stands; 0, which none has, for others."""
    if not 0 <= number < 1 << 2 * HALF:
        return 0
    left, right = divmod(number, 1 << HALF)
    for n in reversed(range(ROUNDS)):
        left, right = right ^ _mixed(n, left), left
    return left << HALF | right


def _mixed(n: int, half: int) -> int:
    mixed = blake2b(b"%d %d" % (n, half), key=_key(), digest_size=4).digest()
    return int.from_bytes(mixed) % (1 << HALF)


@cache
def _key() -> bytes:
    return blake2b(settings.SECRET_KEY.encode(), person=b"lease numbers").digest()


class LeaseNumberField(serializers.IntegerField):
    def to_representation(self, value: Any) -> int:
        return number_of(super().to_representation(value))

    def to_internal_value(self, data: Any) -> int:
        return row_of(super().to_internal_value(data))
