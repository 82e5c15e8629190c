"""The handler of each job kind, imported when first needed."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from evalsvc.core.jobs.lease import Progress
from evalsvc.core.jobs.transitions import Store

Handler = Callable[[int, Progress], Store]

HANDLER_PATHS = {
    "score": "workers.handlers.score:score",
    "check": "workers.handlers.score:check",
    "predict": "workers.handlers.predict:predict",
    "import": "workers.handlers.annotation:import_file",
    "freeze": "workers.handlers.annotation:freeze",
    "recompute": "workers.handlers.annotation:recompute",
    "describe": "workers.handlers.describe:describe",
    "agreement": "workers.handlers.agreement:agree",
}


def lazy_handler(path: str) -> Handler:
    """Return a handler that imports its module when called."""
    module, name = path.split(":")

    def handle(subject: int, progress: Progress) -> Store:
        handler: Handler = getattr(import_module(module), name)
        return handler(subject, progress)

    return handle


HANDLERS: dict[str, Handler] = {kind: lazy_handler(path) for kind, path in HANDLER_PATHS.items()}
