"""Settings of gunicorn, on one machine and in containers alike."""

import gc
import os
import sqlite3
from contextlib import suppress
from datetime import timedelta
from typing import Any

from gunicorn.glogging import Logger

from evalsvc.logs import SecretsFilter, json_formatter, without_secrets
from evalsvc.serving.request_buffer import HEAD_BYTES, LINE_BYTES, MOST_HEADERS
from evalsvc.serving.unused_modules import without_unused

JSON_FIELDS = {
    "address": "h",
    "method": "m",
    "path": "U",
    "status": "s",
    "bytes": "B",
    "seconds": "L",
    "agent": "a",
    "request": "{x-request-id}o",
}
BROKER_SECONDS, BROKER_WAITS = 2, ("socket_timeout", "read_timeout", "write_timeout")
AS_JSON = os.environ.get("LOG_FORMAT") == "json"
FIELDS = ("r", "U", "q", "f", "a", "{referer}i", "{user-agent}i")

worker_class = "evalsvc.serving.worker.BufferingWorker"
logger_class = "evalsvc.serving.gunicorn_settings.MaskedLogger"
# each may have a temporary file: within the 1,024 open files of a usual process
worker_connections = 400
umask = 0o077
preload_app = True
# its own refusals are pages; `RequestBuffer` answers longer or more headers first
limit_request_line, limit_request_field_size, limit_request_fields = LINE_BYTES, HEAD_BYTES, MOST_HEADERS
accesslog = "-"
access_log_format = '%(h)s - - %(t)s "%(r)s" %(s)s %(b)s "%(f)s" "%(a)s" %({x-request-id}o)s'
control_socket_disable = True
# Django alone reads what a proxy says; gunicorn would take SCRIPT_NAME from any local client
forwarder_headers, forwarded_allow_ips = "", ""
secure_scheme_headers: dict[str, str] = {}
sendfile = False  # it would wait for slow readers


def when_ready(_server: object) -> None:
    """Keep the loaded application out of garbage collections, so that all processes share its memory.

    A full collection looks through all of it, for tens of milliseconds, in the midst of a request.
    """
    from django.urls import get_resolver

    with without_unused():
        get_resolver().url_patterns  # noqa: B018  loads the views
    gc.collect()
    gc.freeze()


def post_worker_init(_worker: object) -> None:
    """Keep the pages readable on a full disk, and wait for no broker that hangs."""
    from django.conf import settings

    from evalsvc.core.database import held_open

    if settings.DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
        with suppress(sqlite3.Error):  # it is full already: requests say so
            held_open(str(settings.DATABASES["default"]["NAME"]))
    options = settings.CELERY_BROKER_TRANSPORT_OPTIONS  # meant for workers, which wait long for a message
    options |= {name: BROKER_SECONDS for name in BROKER_WAITS if name in options}


class MaskedLogger(Logger):
    """gunicorn's logger; the secrets of addresses are masked."""

    def setup(self, cfg: Any) -> None:
        super().setup(cfg)
        self.error_log.addFilter(SecretsFilter())  # it names the address of a failed request
        if AS_JSON:
            for handler in (*self.error_log.handlers, *self.access_log.handlers):
                handler.setFormatter(json_formatter())

    def access(self, resp: Any, req: Any, environ: dict[str, Any], request_time: timedelta) -> None:
        if not AS_JSON:
            super().access(resp, req, environ, request_time)
            return
        atoms = self.atoms(resp, req, environ, request_time)
        fields = {name: atoms.get(key, "-") for name, key in JSON_FIELDS.items()}
        fields |= {"status": int(fields["status"]), "seconds": float(fields["seconds"])}
        self.access_log.info("%s %s", fields["method"], fields["path"], extra=fields)

    def atoms(self, *arguments: Any) -> dict[str, Any]:
        fields: dict[str, Any] = super().atoms(*arguments)
        masked = {name: without_secrets(fields[name]) for name in FIELDS if fields.get(name)}
        # cookies and tokens are in no line, whatever the format; people send tokens as a user, too
        hidden = dict.fromkeys(("{cookie}i", "{authorization}i", "u"), "-")
        return {**fields, **masked, **hidden}
