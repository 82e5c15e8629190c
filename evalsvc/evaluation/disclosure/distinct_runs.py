"""Which runs of a system are distinct: those whose claims count differently."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import NamedTuple

from evalsvc.evaluation.measures.menu import MENU
from evalsvc.evaluation.models import Setting

COLUMNS = ("answers_sha256", "claims_sha256", "order_sha256", "file_id")
BY_ORDER = frozenset(key for key, each in MENU.items() if each.family in ("bags", "opennre"))


class Digests(NamedTuple):
    """Digests of a scored file, in the order of `COLUMNS`.

    Of the answers as they stand in the file, of the claims that count, and of rankings of their order; empty
    for scores from before there were such digests.
    """

    answers: str
    claims: str
    order: str
    file: str


def keys_of(digests: Digests, setting: Setting, *, hidden: bool) -> set[str]:
    """Return the digests of which equal runs share one.

    The form of a file is no difference: labels, sets of labels and scores that make the same claims are one
    run. By ranked measures the order of the claims counts. While the gold is hidden nothing counts that
    depends on it, such as the claims from τ* on; of a split, equal answers to the share would tell what else
    is in it, so files are compared.
    """
    answers, claims, order, file = digests
    if hidden and setting.share is not None:
        return {file}
    family = MENU[setting.main].family if setting.main in MENU else ""
    if hidden:
        counted = "" if order else claims
    elif setting.main in BY_ORDER:
        counted = order or claims
    else:
        counted = claims
    if family == "semeval2010":  # only one form has its figures
        counted = ""
    return {answers or file, counted} - {""}


class Firsts:
    """The first run of each group and key, in the order of the calls."""

    def __init__(self) -> None:
        self._first: dict[tuple[Hashable, str], int] = {}

    def of(self, run: int, group: Hashable, keys: Iterable[str]) -> int:
        """Return the first run that equals this one, or itself."""
        places = [(group, key) for key in keys]
        first = min((self._first[place] for place in places if place in self._first), default=run)
        for place in places:
            self._first.setdefault(place, first)
        return first
