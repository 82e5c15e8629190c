"""Systems as boards name them, read when first asked for."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec
from django.db.models import QuerySet, TextField
from django.db.models.functions import Cast

from evalsvc.core.web.formatting import INNER_QUOTES
from evalsvc.core.web.text_validation import is_web_address
from evalsvc.evaluation.boards.figures import (
    SystemRuns,
)
from evalsvc.evaluation.models import (
    LINKS,
    System,
    by_name,
)


class BoardSystem(NamedTuple):
    """System as boards name it."""

    pk: int
    name: str
    tags: str
    baseline: bool
    team_id: int
    team_name: str
    team_slug: str

    @property
    def named(self) -> str:
        """Name with the team, as addresses have it."""
        return f"{self.team_slug}/{self.name}"

    @property
    def declared(self) -> Mapping[str, Any]:
        """Tags of the team by name; only organisers name a baseline."""
        return _declared(self.tags)[0]

    @property
    def tag_texts(self) -> list[str]:
        """Tags as boards show them, without the description and links."""
        declared, links = _declared(self.tags)
        shown = [(key, value) for key, value in declared.items() if value not in (False, None, "")]
        shown = [(key, value) for key, value in shown if key != "description" and key not in links]
        texts = (str(key) if value is True else f"{key}: {value}" for key, value in shown)
        return [text.translate(INNER_QUOTES) for text in texts]

    @property
    def links(self) -> Mapping[str, str]:
        """Addresses of its paper and its code."""
        return _declared(self.tags)[1]


@lru_cache(maxsize=2_000)
def _declared(tags: str) -> tuple[Mapping[str, Any], Mapping[str, str]]:
    """Return the tags in a text, and the links among them; never changed, as a process keeps them."""
    declared = by_name(msgspec.json.decode(tags))
    declared.pop("baseline", None)
    return declared, {key: declared[key] for key in LINKS if is_web_address(declared.get(key))}


class Systems:
    """Systems of benchmarks by their keys, read when first asked for.

    All are read at once, but for those of a page, which it loads beforehand.
    """

    def __init__(self, benchmarks: Collection[int]) -> None:
        self._rows = System.objects.filter(benchmark__in=benchmarks)
        self._known: dict[int, BoardSystem] = {}

    def __getitem__(self, system: int) -> BoardSystem:
        if system not in self._known:
            self._read(self._rows)
        return self._known[system]

    def load(self, systems: Collection[int]) -> None:
        """Read these systems and those that share a name with one of them."""
        missing = set(systems) - self._known.keys()
        if missing:
            names = System.objects.filter(pk__in=missing).values("name")
            self._read(self._rows.filter(name__in=names))

    @property
    def loaded(self) -> Collection[BoardSystem]:
        """The systems that were read."""
        return self._known.values()

    def _read(self, rows: QuerySet[System]) -> None:
        tags = Cast("tags", TextField())  # thousands are read, and fifty shown
        fields = ("pk", "name", tags, "baseline", "team_id", "team__name", "team__slug")
        self._known |= {row[0]: BoardSystem(*row) for row in rows.values_list(*fields)}

    def sort(self, runs: list[SystemRuns]) -> None:
        """Put runs in the order of the names of their systems, which a board keeps among equal ranks."""
        runs.sort(key=lambda each: (self[each.system].name, each.system))
