"""Which function does which kind of job, and which it is found in when first needed."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from evalsvc.core.jobs.lease import Progress
from evalsvc.core.jobs.transitions import Store

Handler = Callable[[int, Progress], Store]

PLACES = {
    "score": "workers.handlers.score:score",
    "check": "workers.handlers.dense_scores:check",
    "predict": "workers.handlers.predict:predict",
    "import": "workers.handlers.import_file:load",
    "freeze": "workers.handlers.freeze:build",
    "describe": "workers.handlers.describe:describe",
    "recompute": "workers.handlers.recompute:recompute",
    "agreement": "workers.handlers.agreement:agree",
}


def lazily(place: str) -> Handler:
    """A handler whose module is imported when it is needed: the clock, which knows it too, needs none."""
    module, name = place.split(":")

    def handle(subject: int, progress: Progress) -> Store:
        handler: Handler = getattr(import_module(module), name)
        return handler(subject, progress)

    return handle


HANDLERS: dict[str, Handler] = {kind: lazily(place) for kind, place in PLACES.items()}
