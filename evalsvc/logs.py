"""Logging: one line per event, without repetitions."""

from __future__ import annotations

import logging
import re
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from evalsvc.core import log_context

LOG_BYTES_MAX = 10_000_000
# Celery logs every tick, every few seconds; the runner logs each job. At level DEBUG the parser of Markdown
# logs several lines per line of text.
QUIET = ("celery.worker.strategy", "celery.app.trace", "celery.beat", "markdown_it")
# Network scans request unknown hosts; beat without a broker fails at each tick.
REPEATED = (
    *("django.security.DisallowedHost", "django.security.RequestDataTooBig"),
    *("django.security.TooManyFieldsSent", "django.security.TooManyFilesSent"),
    *("django.security.SuspiciousMultipartForm", "celery.beat"),
)
# Secrets of invitations and password resets, mistyped ones too, and what a provider adds to its redirects.
SECRET_PATH = re.compile(
    r"(/join/+|/password/+(?!sent/))(?:\s+(?=[\w-]{20}))?[^/\s?#\"']+"
    r"(?:/+(?!accept/|set-password/)[^/\s?#\"']+)?",
    re.IGNORECASE,
)
SECRET_TOKEN = re.compile(r"(evs_|'Bearer )[\w-]{8,}")
# In any other place: an invitation or reset by its form alone, and shorter pieces in lines that name either.
# Each piece is tried from its start only: a long one would else take quadratic time.
SECRET_WORD = re.compile("join|password|single-sign-on|evs_", re.IGNORECASE)
SECRET_FORM = re.compile(r"()(?<![\w-])(?:[\w-]+-[0-9a-fA-F]{32}|(?=[\w-]*[A-Z])(?=[\w-]*[a-z])[\w-]{43,})")
SECRET_PIECE = re.compile(r"()(?<![\w-])(?=[\w-]*(?:[A-Z]|[0-9a-f]{16}))[\w-]{16,}")
FIELDS = r"code|state|(?:__Host-)?sessionid|error_description"
FIELDS += r"|(?![\w-]*_id=)(?=[\w-]*(?:token|secret|password))[\w-]*+"
SECRET_FIELD = re.compile(rf"(?<![\w-])((?:{FIELDS})(?:\[\w*\])?=)[^&\s\"']+", re.IGNORECASE)
SECRET_LINE = re.compile(r"(Invalid HTTP (?:method|request line): ).+")  # it may be anything
WORD = re.compile(r"[^\s\"']+")
MOST_ENCODED = 5  # addresses within addresses
PLAIN = "!#$&()*+,/:;=?@[]%"  # and what `quote` leaves: a decoded line end would begin another line


def without_secrets(text: str) -> str:
    """Mask the secrets that stand in addresses, percent-encoded ones too."""
    text = _masked(text)
    return WORD.sub(_masked_inside, text) if "%" in text else text


def _masked(text: str) -> str:
    anywhere = SECRET_PIECE if SECRET_WORD.search(text) else SECRET_FORM
    for secret in (SECRET_PATH, SECRET_FIELD, SECRET_TOKEN, SECRET_LINE, anywhere):
        text = secret.sub(r"\1***", text)
    return text


def _masked_inside(match: re.Match[str]) -> str:
    """Return a word as it is, or decoded and masked if that shows a secret."""
    text, has_secret = match[0], False
    for _ in range(MOST_ENCODED):
        plain = unquote(text)
        if plain == text:
            break
        text = _masked(plain)
        has_secret |= text != plain
    return quote(text, safe=PLAIN) if has_secret else match[0]


def logging_config(level: str, format: str = "line") -> dict[str, Any]:
    """Value of Django's LOGGING: everything from this level on to the console."""
    loggers: dict[str, dict[str, Any]] = {name: {"level": "WARNING"} for name in QUIET}
    loggers["evalsvc.security"] = {"level": "INFO"}  # whatever the level of the rest
    loggers["celery.app.trace"]["filters"] = ["database error"]
    loggers["django.request"] = {"filters": ["client error"]}
    for name in REPEATED:
        loggers.setdefault(name, {})["filters"] = ["first line"]
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {
            "first line": {"()": "evalsvc.logs.FirstLineFilter"},
            "client error": {"()": "evalsvc.logs.ClientErrorFilter"},
            "database error": {"()": "evalsvc.logs.DatabaseErrorFilter"},
            "ids": {"()": "evalsvc.logs.IdsFilter"},
            "secrets": {"()": "evalsvc.logs.SecretsFilter"},
        },
        "formatters": {name: {"()": f"evalsvc.logs.{name}_formatter"} for name in ("line", "json")},
        "handlers": {
            "console": {"class": "logging.StreamHandler", "formatter": format, "filters": ["ids", "secrets"]}
        },
        "loggers": loggers,
        "root": {"handlers": ["console"], "level": level},
    }


def keep_security_events(config: dict[str, Any], path: Path) -> None:
    """Let the security events of a command go to a file besides: nobody keeps the output of a terminal."""
    console = config["handlers"]["console"]
    config["handlers"]["commands"] = console | {"class": "evalsvc.logs.CommandLog", "filename": path}
    config["loggers"]["evalsvc.security"]["handlers"] = ["commands"]


def rotate(path: Path) -> None:
    """Make room for a log: keep one that has become large as the one before."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and path.stat().st_size > LOG_BYTES_MAX:
        path.replace(path.with_suffix(".log.1"))


class CommandLog(logging.FileHandler):
    """Log in the data folder, made for the first line of a command."""

    def __init__(self, filename: Path) -> None:
        super().__init__(filename, delay=True)

    def _open(self) -> Any:
        rotate(Path(self.baseFilename))
        return super()._open()

    def emit(self, record: logging.LogRecord) -> None:
        try:
            super().emit(record)
        except OSError:  # of opening it
            self.handleError(record)

    def handleError(self, record: logging.LogRecord) -> None:
        sys.stderr.write(f"Not written to {self.baseFilename}: {sys.exception()}\n")


class IdsFilter(logging.Filter):
    """Give each record the ids of its request and job.

    Django logs answers 404 and 500 after the middleware, and with the whole request, its secrets included.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        request = record.__dict__.pop("request", None)
        ids = getattr(record, "ids", {}) | log_context.current()
        if hasattr(request, "log_id"):
            ids["request"] = request.log_id
        record.__dict__["ids"] = ids
        return True


class LineFormatter(logging.Formatter):
    """Lines for people: the ids of the request and the job follow the message."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        ids = getattr(record, "ids", {})
        return super().formatMessage(record) + "".join(f" {name}={value}" for name, value in ids.items())


def line_formatter() -> logging.Formatter:
    return LineFormatter("{asctime} {levelname} {name}: {message}", style="{")


def json_formatter() -> logging.Formatter:
    """One JSON object a line, tracebacks included."""
    from pythonjsonlogger.json import JsonFormatter

    class WithIds(JsonFormatter):
        def process_log_record(self, log_data: dict[str, Any]) -> dict[str, Any]:
            return log_data | log_data.pop("ids", {})

        def formatException(self, exc_info: Any) -> str:  # it would format it anew
            return _traceback(exc_info)

    names = {"asctime": "time", "levelname": "level", "name": "logger", "exc_info": "traceback"}
    formatter = WithIds("{asctime}{levelname}{name}{message}", style="{", rename_fields=names)
    formatter.default_msec_format = "%s.%03dZ"
    return formatter


class SecretsFilter(logging.Filter):
    """Mask secrets of addresses in every message and traceback, whose errors may quote an address."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = without_secrets(record.getMessage()), ()
        if record.exc_info:
            record.exc_text = _traceback(record.exc_info)
        return True


def _traceback(exc_info: Any) -> str:
    return "\n".join(map(without_secrets, logging.Formatter().formatException(exc_info).split("\n")))


class FirstLineFilter(logging.Filter):
    """Keep only the first line of a message, without traceback."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = record.getMessage().partition("\n")[0], ()
        record.exc_info = None
        return True


class ClientErrorFilter(logging.Filter):
    """Drop tracebacks of requests that were answered as errors of the client, such as malformed forms."""

    def filter(self, record: logging.LogRecord) -> bool:
        if getattr(record, "status_code", 500) < 500:
            record.exc_info = None
        return True


class DatabaseErrorFilter(logging.Filter):
    """Drop tracebacks of database errors, which every tick repeats during an outage."""

    def filter(self, record: logging.LogRecord) -> bool:
        from evalsvc.core.database import is_database_away

        if record.exc_info and is_database_away(record.exc_info[1]):
            record.exc_info = None
        return True
