"""What rooms want done every few seconds without anybody asking; the workers' clock runs it."""

from __future__ import annotations

import logging
from collections.abc import Callable

from evalsvc.core.jobs.exceptions import caught

log = logging.getLogger(__name__)
Tick = Callable[[], object]
_ticks: dict[str, Tick] = {}


def register(name: str, tick: Tick) -> None:
    """Called by a room when it starts; a tick is quick, and safe to run by many at once."""
    _ticks[name] = tick


def run() -> None:
    """Every tick once; one that breaks is logged and stops no other."""
    for name, tick in _ticks.items():
        error = caught(tick)
        if error:
            log.error("The tick %s broke", name, exc_info=error)
