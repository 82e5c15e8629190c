"""Registries of job kinds and periodic tasks, filled when apps start."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from django.contrib.auth.base_user import AbstractBaseUser
from django.db import transaction
from django.http import Http404

from evalsvc.core.errors.exceptions import Conflict, NotAllowed
from evalsvc.core.jobs.exceptions import InputFault, caught
from evalsvc.core.jobs.models import Job

log = logging.getLogger(__name__)
NOT_ALLOWED_CODE = "not_allowed"
NOT_ALLOWED = (
    "Whoever asked for this may no longer do it. Nothing was changed; somebody who may can retry it."
)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of job; `on_change` runs in the transaction of each change.

    Jobs of kinds that are `later` let others come first. `require` is for those that change what counts: it
    takes the subject, and raises as the request would if it came now; it returns who asked, if that matters.
    """

    name: str
    queue: str
    on_change: Callable[[Job], None] | None = None
    later: bool = False
    require: Callable[[int], AbstractBaseUser | None] | None = None


PeriodicTask = Callable[[], object]
_kinds: dict[str, Kind] = {}
_periodic: dict[str, PeriodicTask] = {}


def register(kind: Kind) -> None:
    """Register a kind of job; the same one may be registered again."""
    if _kinds.setdefault(kind.name, kind) != kind:
        raise ValueError(f"The job kind {kind.name!r} is already registered with other values.")


def get(name: str) -> Kind:
    if name not in _kinds:
        raise LookupError(f"The job kind {name!r} is not registered. Use one of: {', '.join(names())}.")
    return _kinds[name]


def names() -> list[str]:
    return sorted(_kinds)


def that_come_later() -> list[str]:
    """Return the kinds that let others come first."""
    return [name for name, kind in _kinds.items() if kind.later]


def state_changed(job: Job) -> None:
    """Run the hook of the job's kind, if any."""
    kind = _kinds.get(job.kind)
    if kind and kind.on_change:
        kind.on_change(job)


def require_allowed(job: Job) -> None:
    """Reject a job that whoever asked for it could not ask for now.

    While it waits or runs, roles and accounts end, and projects are archived.
    """
    kind = _kinds.get(job.kind)
    if kind is None or kind.require is None:
        return
    try:
        with transaction.atomic():
            asker = kind.require(job.subject)
            is_allowed = asker is None or asker.is_active
    except Conflict as error:
        raise InputFault(error.code, f"{error.detail} {error.hint}".strip()) from error
    except (NotAllowed, Http404):
        is_allowed = False
    if not is_allowed:
        raise InputFault(NOT_ALLOWED_CODE, NOT_ALLOWED)


def has_lost_asker(job: Job) -> bool:
    """Return True if a job was refused because whoever asked for it may no longer do it."""
    return job.error_code == NOT_ALLOWED_CODE


def register_periodic(name: str, task: PeriodicTask) -> None:
    """Register a quick task that many workers may run at once."""
    _periodic[name] = task


def run_periodic() -> None:
    """Run every periodic task once, and log failures."""
    for name, task in _periodic.items():
        error = caught(task)
        if error:
            log.error("Periodic task %s failed", name, exc_info=error)
