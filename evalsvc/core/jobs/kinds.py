"""The kinds of work there are: which queue does them, and which room mirrors their state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from evalsvc.core.jobs.models import Job


@dataclass(frozen=True, slots=True)
class Kind:
    """`follow` runs inside the transaction of every change of state of a job of this kind."""

    name: str
    queue: str
    follow: Callable[[Job], None] | None = None


_kinds: dict[str, Kind] = {}


def register(kind: Kind) -> None:
    """Called by each room when it starts."""
    if _kinds.setdefault(kind.name, kind) != kind:
        raise ValueError(f"The kind of job {kind.name!r} is registered twice, differently.")


def get(name: str) -> Kind:
    if name not in _kinds:
        raise LookupError(f"No room registered the kind of job {name!r}; known: {', '.join(names())}.")
    return _kinds[name]


def names() -> list[str]:
    return sorted(_kinds)


def follow(job: Job) -> None:
    """Tell the room of this job that its state changed; a kind no room knows any more has nobody to tell."""
    kind = _kinds.get(job.kind)
    if kind and kind.follow:
        kind.follow(job)
