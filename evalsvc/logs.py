"""Logging: one line per event, without repetitions."""

from __future__ import annotations

import logging
import re
from typing import Any

# Celery logs every tick, every few seconds; the runner logs each job.
QUIET = ("celery.worker.strategy", "celery.app.trace", "celery.beat")
# Network scans request unknown hosts; beat without a broker fails at each tick.
REPEATED = ("django.security.DisallowedHost", "celery.beat")
# Secrets of invitations and password resets, and what a provider adds to its redirects.
SECRET_PATH = re.compile(
    r"(/join/|/password/(?!sent/))[^/\s?#\"']+(?:/(?!accept/|set-password/)[^/\s?#\"']+)?"
)
SECRET_FIELD = re.compile(
    r"(?<![\w-])((?:code|state|token|secret|password|id_token)=)[^&\s\"']+", re.IGNORECASE
)


def without_secrets(text: str) -> str:
    """Mask the secrets that stand in addresses."""
    return SECRET_FIELD.sub(r"\1***", SECRET_PATH.sub(r"\1***", text))


def logging_config(level: str) -> dict[str, Any]:
    """Value of Django's LOGGING: everything from this level on to the console."""
    loggers: dict[str, dict[str, Any]] = {name: {"level": "WARNING"} for name in QUIET}
    loggers["evalsvc.security"] = {"level": "INFO"}  # whatever the level of the rest
    loggers["celery.app.trace"]["filters"] = ["database error"]
    for name in REPEATED:
        loggers.setdefault(name, {})["filters"] = ["first line"]
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {
            "first line": {"()": "evalsvc.logs.FirstLineFilter"},
            "database error": {"()": "evalsvc.logs.DatabaseErrorFilter"},
            "secrets": {"()": "evalsvc.logs.SecretsFilter"},
        },
        "formatters": {"line": {"format": "{asctime} {levelname} {name}: {message}", "style": "{"}},
        "handlers": {
            "console": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["secrets"]}
        },
        "loggers": loggers,
        "root": {"handlers": ["console"], "level": level},
    }


class SecretsFilter(logging.Filter):
    """Mask secrets of addresses in every message."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = without_secrets(record.getMessage()), ()
        return True


class FirstLineFilter(logging.Filter):
    """Keep only the first line of a message, without traceback."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = record.getMessage().partition("\n")[0], ()
        record.exc_info = None
        return True


class DatabaseErrorFilter(logging.Filter):
    """Drop tracebacks of database errors, which every tick repeats during an outage."""

    def filter(self, record: logging.LogRecord) -> bool:
        from django.db import InterfaceError, OperationalError

        if record.exc_info and isinstance(record.exc_info[1], InterfaceError | OperationalError):
            record.exc_info = None
        return True
