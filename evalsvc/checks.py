"""What is wrong with this installation, said before it starts, with how to mend it."""

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

BROKERS = ("redis", "rediss", "redis+socket", "memory")
Apps = Sequence[AppConfig] | None


@register
def the_data_folder_can_be_written(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    if os.access(settings.DATA_DIR, os.W_OK | os.X_OK):
        return []
    hint = f"Give user {os.getuid()} the right to write there, or name another folder with EVALSVC_DATA."
    return [Error(f"The data folder {settings.DATA_DIR} can't be written.", hint=hint, id="evalsvc.E001")]


@register
def the_broker_is_a_redis(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    scheme = urlsplit(settings.CELERY_BROKER_URL).scheme
    if scheme in BROKERS:
        return []
    hint = "Set REDIS_URL to redis://HOST:PORT/N, or unset it: the embedded broker is used then."
    return [Error(f"A broker of the kind {scheme!r} isn't supported.", hint=hint, id="evalsvc.E002")]


@register
def a_lease_outlives_a_missed_heartbeat(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    lease, beat = settings.JOB_LEASE_SECONDS, settings.JOB_HEARTBEAT_SECONDS
    if lease >= 2 * beat + 1:
        return []
    told = (
        f"JOB_LEASE_SECONDS={lease} is too short for JOB_HEARTBEAT_SECONDS={beat}: live work would be lost."
    )
    hint = f"Make the lease at least {2 * beat + 1} s: it must outlive one heartbeat that is missed."
    return [Error(told, hint=hint, id="evalsvc.E003")]


@register
def upload_limits_fit_together(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    if settings.UPLOAD_MAX_LINE_BYTES <= settings.UPLOAD_MAX_BYTES <= settings.UPLOAD_MAX_UNPACKED_BYTES:
        return []
    hint = "Keep UPLOAD_MAX_LINE_BYTES ≤ UPLOAD_MAX_BYTES ≤ UPLOAD_MAX_UNPACKED_BYTES."
    return [Error("The upload limits contradict each other.", hint=hint, id="evalsvc.E004")]


@register
def the_storage_of_files_can_be_had(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    error = caught(lambda: storages["default"])
    if error is None:
        return []
    named = settings.STORAGES["default"]["BACKEND"]
    hint = "Install its package, or correct STORAGE_BACKEND and STORAGE_OPTIONS."
    return [Error(f"The storage {named} can't be had: {error}.", hint=hint, id="evalsvc.E005")]


@register(Tags.security, deploy=True)
def production_stores_in_postgres(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    if settings.DATABASES["default"]["ENGINE"] != "django.db.backends.sqlite3":
        return []
    hint = "Set DATABASE_URL to postgres://USER:PASSWORD@HOST/NAME. SQLite takes one writer at a time."
    return [Warning("This installation stores in SQLite.", hint=hint, id="evalsvc.W001")]


@register(Tags.security, deploy=True)
def production_has_a_broker_of_its_own(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    if os.environ.get("REDIS_URL") or os.environ.get("BROKER_URL"):
        return []
    hint = "Set REDIS_URL to a Redis with appendonly yes and maxmemory-policy noeviction."
    return [Warning("No broker is named.", hint=hint, id="evalsvc.W002")]
