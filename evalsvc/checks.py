"""System checks of an installation, each with a remedy."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.core.files.storage import storages

from evalsvc.core.jobs.exceptions import caught
from evalsvc.environment import is_private

BROKERS = ("redis", "rediss", "redis+socket", "amqp", "amqps", "memory")
INSTALLATION = "installation"  # the tag of checks that every command makes
Apps = Sequence[AppConfig] | None


@register(INSTALLATION)
def data_folder_is_writable(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    if os.access(settings.DATA_DIR, os.W_OK | os.X_OK):
        return []
    hint = f"Give user {os.getuid()} write permission, or set EVALSVC_DATA to another folder."
    return [Error(f"The data folder {settings.DATA_DIR} is not writable.", hint=hint, id="evalsvc.E001")]


@register(INSTALLATION)
def broker_is_supported(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    scheme = urlsplit(settings.CELERY_BROKER_URL).scheme
    if scheme in BROKERS:
        return []
    hint = (
        "Set BROKER_URL to redis://HOST:PORT/N or amqp://USER:PASSWORD@HOST:PORT/VHOST, "
        "or unset it to use the embedded broker."
    )
    return [Error(f"Unsupported broker {scheme!r}.", hint=hint, id="evalsvc.E002")]


@register(INSTALLATION)
def job_lease_outlives_a_missed_heartbeat(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    lease, beat = settings.JOB_LEASE_SECONDS, settings.JOB_HEARTBEAT_SECONDS
    if lease >= 2 * beat + 1:
        return []
    message = f"JOB_LEASE_SECONDS={lease} is too short for JOB_HEARTBEAT_SECONDS={beat}."
    hint = f"Set it to {2 * beat + 1} or more, so that a job survives a missed heartbeat."
    return [Error(message, hint=hint, id="evalsvc.E003")]


@register(INSTALLATION)
def upload_limits_are_consistent(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    if settings.UPLOAD_MAX_LINE_BYTES <= settings.UPLOAD_MAX_BYTES <= settings.UPLOAD_MAX_UNPACKED_BYTES:
        return []
    hint = "Set UPLOAD_MAX_LINE_BYTES ≤ UPLOAD_MAX_BYTES ≤ UPLOAD_MAX_UNPACKED_BYTES."
    return [Error("The upload limits contradict each other.", hint=hint, id="evalsvc.E004")]


@register(INSTALLATION)
def file_storage_is_available(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    error = caught(lambda: storages["default"])
    if error is None:
        return []
    backend = settings.STORAGES["default"]["BACKEND"]
    hint = "Install its package, or correct STORAGE_BACKEND and STORAGE_OPTIONS."
    return [Error(f"The storage {backend} is unavailable: {error}.", hint=hint, id="evalsvc.E005")]


@register(INSTALLATION)
def data_folder_is_private(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    if not settings.DATA_DIR.exists() or is_private(settings.DATA_DIR):
        return []
    hint = f"It has the database, sessions and logs. Run chmod 700 {settings.DATA_DIR}."
    message = f"Other users of this machine can enter the data folder {settings.DATA_DIR}."
    return [Warning(message, hint=hint, id="evalsvc.W003")]


@register(Tags.security, deploy=True)
def hosts_are_named(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    if "*" not in settings.ALLOWED_HOSTS:
        return []
    hint = "Name the hosts, separated by commas: links in mails are built from the name of the request."
    return [Error("ALLOWED_HOSTS contains *, which accepts any host.", hint=hint, id="evalsvc.E006")]


@register(Tags.security, deploy=True)
def production_uses_postgres(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    if settings.DATABASES["default"]["ENGINE"] != "django.db.backends.sqlite3":
        return []
    hint = "Set DATABASE_URL to postgres://USER:PASSWORD@HOST/NAME. SQLite allows one writer at a time."
    return [Warning("The database is SQLite.", hint=hint, id="evalsvc.W001")]


@register(Tags.security, deploy=True)
def visitors_differ_behind_a_proxy(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    if settings.TRUSTED_PROXIES or not settings.HTTPS:
        return []
    hint = "Set TRUSTED_PROXIES to the number of proxies that append the visitor’s address: one ends TLS."
    message = "All visitors count as one network, whose passwords are checked one at a time."
    return [Warning(message, hint=hint, id="evalsvc.W004")]


@register(Tags.security, deploy=True)
def links_in_mails_have_a_host(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    if not settings.HTTPS or any("*" not in origin for origin in settings.CSRF_TRUSTED_ORIGINS):
        return []
    hint = "Set CSRF_TRUSTED_ORIGINS, first to the address of the service: https://evalsvc.example.org."
    message = "Links in mails are for whichever of ALLOWED_HOSTS a request names."
    return [Warning(message, hint=hint, id="evalsvc.W005")]


@register(Tags.security, deploy=True)
def production_configures_a_broker(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    if os.environ.get("REDIS_URL") or os.environ.get("BROKER_URL"):
        return []
    hint = "Set BROKER_URL to RabbitMQ, or to a Redis with appendonly yes and maxmemory-policy noeviction."
    return [Warning("No broker is configured.", hint=hint, id="evalsvc.W002")]
