"""At the start of a worker: what jobs need is imported once, before its processes part from it."""

from __future__ import annotations

import gc
from importlib import import_module
from typing import Any

from celery import bootsteps

from workers.handlers.registry import PLACES


class Warmed(bootsteps.Step):
    """Made before any step starts: the pool's processes, later ones too, come with all of this."""

    def __init__(self, parent: Any, **options: Any) -> None:
        super().__init__(parent, **options)
        for place in PLACES.values():
            import_module(place.partition(":")[0])
        gc.freeze()  # what is there now stays: no process looks through it for rubbish, or copies it
