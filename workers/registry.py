"""Which function does which kind of job, and which it is found in when first needed."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from evalsvc.jobs.moves import Store
from evalsvc.jobs.running import Progress

Handler = Callable[[int, Progress], Store]

PLACES = {
    "score": "workers.scoring:score",
    "check": "workers.dense:check",
    "predict": "workers.modelling:predict",
    "import": "workers.imports:load",
    "freeze": "workers.freezing:build",
    "describe": "workers.describing:describe",
    "recompute": "workers.recomputing:recompute",
    "agreement": "workers.agreeing:agree",
}


def lazily(place: str) -> Handler:
    """A handler whose module is imported when it is needed: the clock, which knows it too, needs none."""
    module, name = place.split(":")

    def handle(subject: int, progress: Progress) -> Store:
        handler: Handler = getattr(import_module(module), name)
        return handler(subject, progress)

    return handle


HANDLERS: dict[str, Handler] = {kind: lazily(place) for kind, place in PLACES.items()}
