"""Systems as boards name them, read when first asked for."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from django.db.models import QuerySet

from evalsvc.evaluation.boards.figures import (
    SystemRuns,
)
from evalsvc.evaluation.models import (
    System,
)


class BoardSystem(NamedTuple):
    """System as boards name it."""

    pk: int
    name: str
    baseline: bool
    team_id: int
    team_name: str
    team_slug: str

    @property
    def named(self) -> str:
        """Name with the team, as addresses have it."""
        return f"{self.team_slug}/{self.name}"


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
        fields = ("pk", "name", "baseline", "team_id", "team__name", "team__slug")
        self._known |= {row[0]: BoardSystem(*row) for row in rows.values_list(*fields)}

    def sort(self, runs: list[SystemRuns]) -> None:
        """Put runs in the order of the names of their systems, which a board keeps among equal ranks."""
        runs.sort(key=lambda each: (self[each.system].name, each.system))
