"""What the logs say: one line a happening, and nothing that only repeats itself."""

from __future__ import annotations

import logging
from typing import Any

# Ticks come every few seconds and would drown what matters; each job is logged by the runner.
QUIET = ("celery.worker.strategy", "celery.app.trace", "celery.beat")
# Whoever scans the net asks for other hosts; a clock without a broker fails to reach it at each tick.
REPEATED = ("django.security.DisallowedHost", "celery.beat")


def logging_of(level: str) -> dict[str, Any]:
    """Django's LOGGING: everything to the console, from this level on."""
    loggers: dict[str, dict[str, Any]] = {name: {"level": "WARNING"} for name in QUIET}
    loggers["celery.app.trace"]["filters"] = ["no database"]
    for name in REPEATED:
        loggers.setdefault(name, {})["filters"] = ["one line"]
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {
            "one line": {"()": "evalsvc.logs.InOneLine"},
            "no database": {"()": "evalsvc.logs.WithoutDatabase"},
        },
        "formatters": {"line": {"format": "{asctime} {levelname} {name}: {message}", "style": "{"}},
        "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
        "loggers": loggers,
        "root": {"handlers": ["console"], "level": level},
    }


class InOneLine(logging.Filter):
    """The first line says it all, and where it happened is always the same."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = record.getMessage().partition("\n")[0], ()
        record.exc_info = None
        return True


class WithoutDatabase(logging.Filter):
    """Each tick finds a database that is gone anew; where it was looked for says nothing."""

    def filter(self, record: logging.LogRecord) -> bool:
        from django.db import InterfaceError, OperationalError

        if record.exc_info and isinstance(record.exc_info[1], InterfaceError | OperationalError):
            record.exc_info = None
        return True
