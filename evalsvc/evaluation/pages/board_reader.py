"""What a board needs to know of its reader, in one query."""

from __future__ import annotations

from typing import Any, NamedTuple

from django.db.models import Value

from evalsvc.core.accounts.models import User
from evalsvc.evaluation.models import Benchmark
from evalsvc.evaluation.roles import ORGANISER, Person


class BoardReader(NamedTuple):
    """Reader of a board: organiser or not, teams, and views: those for everybody, then the reader's own."""

    person: User | None
    organiser: bool
    teams: frozenset[int]
    views: list[dict[str, Any]]

    @property
    def sees_exact(self) -> User | None:
        """Return the person if an organiser; others see what everybody does."""
        return self.person if self.organiser else None

    def sees_runs_of(self, team: int) -> bool:
        """Return True for teams whose submissions the reader may open."""
        return self.organiser or team in self.teams


def board_reader(benchmark: Benchmark, person: Person) -> BoardReader:
    """Read role, teams and own views."""
    shared = list(benchmark.views)
    if not isinstance(person, User):
        return BoardReader(None, False, frozenset(), shared)
    nothing = Value("")
    teams = person.memberships.order_by().values_list(Value("team"), "team", nothing, nothing)
    roles = benchmark.people.filter(user=person, role=ORGANISER).order_by()
    own = benchmark.saved_views.filter(by=person, shared=False).order_by()
    rows = list(
        teams.union(
            roles.values_list(Value("role"), "pk", nothing, nothing),
            own.values_list(Value("view"), "pk", "title", "query"),
            all=True,
        )
    )
    views = sorted((title, pk, query) for kind, pk, title, query in rows if kind == "view")
    return BoardReader(
        person,
        person.is_superuser or any(kind == "role" for kind, *_ in rows),
        frozenset(pk for kind, pk, *_ in rows if kind == "team"),
        shared + [{"own": True, "pk": pk, "title": title, "query": query} for title, pk, query in views],
    )
