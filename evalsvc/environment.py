"""Typed environment variables; an invalid value prevents the start."""

from __future__ import annotations

import fcntl
import json
import logging
import os
import secrets
import stat
from pathlib import Path
from typing import Any

import environ
from django.core.exceptions import ImproperlyConfigured

KEY_LENGTH = 50
PRIVATE_UMASK, PRIVATE_FOLDER = 0o077, 0o700


def env_bool(name: str, *, default: bool) -> bool:
    """Read a boolean."""
    word = os.environ.get(name, "").strip().lower()
    words = {"": default, "1": True, "true": True, "yes": True, "on": True}
    words |= {"0": False, "false": False, "no": False, "off": False}
    if word not in words:
        raise ImproperlyConfigured(f"{name}={word!r} is not a boolean. Use true or false.")
    return words[word]


def env_int(name: str, *, default: int, least: int = 0) -> int:
    """Read a whole number of at least `least`."""
    text = os.environ.get(name, "").strip() or str(default)
    if not (text.isascii() and text.isdigit()) or int(text) < least:
        raise ImproperlyConfigured(f"{name}={text!r} is not a whole number of at least {least}.")
    return int(text)


def env_choice(name: str, *words: str) -> str:
    """Read one of these words; the first is the default."""
    word = os.environ.get(name, "").strip() or words[0]
    if word not in words:
        raise ImproperlyConfigured(f"{name}={word!r} is not one of {', '.join(words)}.")
    return word


def env_for_sign_on(name: str) -> str:
    """Read a value that single sign-on requires."""
    value = os.environ.get(name, "").strip()
    if not value:
        raise ImproperlyConfigured(f"{name} is not set, but OIDC_CLIENT_ID is. Single sign-on needs both.")
    return value


def env_level(name: str) -> str:
    """Read a log level."""
    level = (os.environ.get(name) or "INFO").strip().upper()
    if level not in logging.getLevelNamesMapping():
        raise ImproperlyConfigured(f"{name}={level!r} is not one of DEBUG, INFO, WARNING, ERROR.")
    return level


def env_object(name: str) -> dict[str, Any]:
    """Read a JSON object; the default is empty."""
    text = os.environ.get(name) or "{}"
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise ImproperlyConfigured(
            f'{name}={text!r} is not a JSON object such as {{"bucket_name": "evalsvc"}}.'
        )
    return value


def env_database(name: str, *, default: str) -> dict[str, Any]:
    """Read a database URL, never quoted in messages: it may contain passwords."""
    address = os.environ.get(name) or default
    try:
        supported = address.partition(":")[0] in ("postgres", "postgresql", "sqlite")
        value: dict[str, Any] = environ.Env.db_url_config(address) if supported else {}
    except ValueError:
        value = {}
    if not value.get("NAME"):
        raise ImproperlyConfigured(
            f"{name} is not a PostgreSQL URL such as postgres://USER:PASSWORD@HOST:PORT/NAME. "
            "In a password, write %2F for /, %23 for # and %3F for ?."
        )
    return value


def env_mail(name: str) -> dict[str, Any]:
    """Read a mail URL, never quoted in messages: it may contain passwords."""
    try:
        value: dict[str, Any] = environ.Env().email_url_config(os.environ.get(name) or "consolemail://")
    except (KeyError, ValueError, ImproperlyConfigured) as error:
        raise ImproperlyConfigured(
            f"{name} is not a mail server URL such as smtp://USER:PASSWORD@HOST:PORT."
        ) from error
    return value


def env_folder(name: str, *, default: Path) -> Path:
    """Read a folder; create it if missing; require write permission."""
    folder = Path(os.environ.get(name) or default)
    try:
        folder.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        reason = "" if os.access(folder, os.W_OK | os.X_OK) else "Permission denied"
    except FileExistsError:
        reason = "it is a file"
    except OSError as error:
        reason = str(error.strerror)
    if reason:
        raise ImproperlyConfigured(
            f"Cannot use the data folder {folder} ({reason}). Give user {os.getuid()} write permission, "
            f"or set {name} to another folder."
        )
    return folder


def is_private(folder: Path) -> bool:
    """True if other users of the machine cannot enter the folder."""
    return not folder.stat().st_mode & 0o077


def make_private(folder: Path) -> None:
    """Close an own folder to other users.

    Leave shared ones such as /tmp alone.
    """
    state = folder.stat()
    if state.st_uid == os.geteuid() and not state.st_mode & stat.S_ISVTX:
        folder.chmod(PRIVATE_FOLDER)


def secret_key(folder: Path) -> str:
    """SECRET_KEY of the environment, else of the data folder."""
    if key := os.environ.get("SECRET_KEY", ""):
        return _long_enough(key, "SECRET_KEY")
    path = folder / "secret_key"
    try:
        return _long_enough(_read_or_create(path), f"The key in {path}")
    except OSError as error:
        raise ImproperlyConfigured(
            f"Cannot read {path} ({error.strerror}). Give user {os.getuid()} permission, or set SECRET_KEY."
        ) from error


def _read_or_create(path: Path) -> str:
    """Read the key; the first of several processes creates it."""
    if path.exists() and (key := path.read_text()):
        return key
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    with os.fdopen(handle, "r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        key = file.read()
        if not key:
            key = secrets.token_urlsafe(64)
            file.write(key)
    return key


def _long_enough(key: str, what: str) -> str:
    if len(key) < KEY_LENGTH:
        raise ImproperlyConfigured(
            f"{what} is {len(key)} characters long; at least {KEY_LENGTH} are required."
        )
    return key
