"""Reading the environment: a value that makes no sense stops the start with one sentence."""

from __future__ import annotations

import fcntl
import json
import logging
import os
import secrets
from pathlib import Path
from typing import Any

import environ
from django.core.exceptions import ImproperlyConfigured

KEY_LENGTH = 50


def env_bool(name: str, *, default: bool) -> bool:
    """Read a switch; anything but the usual words stops the start."""
    word = os.environ.get(name, "").strip().lower()
    words = {"": default, "1": True, "true": True, "yes": True, "on": True}
    words |= {"0": False, "false": False, "no": False, "off": False}
    if word not in words:
        raise ImproperlyConfigured(f"{name}={word!r} is not a switch. Use true or false.")
    return words[word]


def env_int(name: str, *, default: int, least: int = 0) -> int:
    """Read a whole number not below `least`."""
    text = os.environ.get(name, "").strip() or str(default)
    if not (text.isascii() and text.isdigit()) or int(text) < least:
        raise ImproperlyConfigured(f"{name}={text!r} is not a whole number of at least {least}.")
    return int(text)


def env_choice(name: str, *words: str) -> str:
    """Read one of these words, the first when nothing is set."""
    word = os.environ.get(name, "").strip() or words[0]
    if word not in words:
        raise ImproperlyConfigured(f"{name}={word!r} is none of {', '.join(words)}.")
    return word


def env_needed(name: str) -> str:
    """Read what single sign-on can't do without."""
    value = os.environ.get(name, "").strip()
    if not value:
        raise ImproperlyConfigured(f"OIDC_CLIENT_ID is set and {name} is not: single sign-on needs both.")
    return value


def env_level(name: str) -> str:
    """Read how much the logs say."""
    level = (os.environ.get(name) or "INFO").strip().upper()
    if level not in logging.getLevelNamesMapping():
        raise ImproperlyConfigured(f"{name}={level!r} is none of DEBUG, INFO, WARNING, ERROR.")
    return level


def env_object(name: str) -> dict[str, Any]:
    """Read a JSON object, by default an empty one."""
    text = os.environ.get(name) or "{}"
    try:
        told = json.loads(text)
    except ValueError:
        told = None
    if not isinstance(told, dict):
        raise ImproperlyConfigured(f'{name}={text!r} is no JSON object such as {{"bucket_name": "evalsvc"}}.')
    return told


def env_database(name: str, *, default: str) -> dict[str, Any]:
    """Read where the tables are. The value is not repeated: it may hold a password."""
    address = os.environ.get(name) or default
    try:
        told: dict[str, Any] = environ.Env.db_url_config(address) if _is_known(address) else {}
    except ValueError:
        told = {}
    if not told.get("NAME"):
        expected = "such as postgres://USER:PASSWORD@HOST:PORT/NAME"
        raise ImproperlyConfigured(
            f"{name} is no address of a PostgreSQL, {expected}. In a password / is %2F, # is %23, ? is %3F."
        )
    return told


def _is_known(address: str) -> bool:
    return address.partition(":")[0] in ("postgres", "postgresql", "sqlite")


def env_mail(name: str) -> dict[str, Any]:
    """Read where mail goes, as Django's settings. The value is not repeated: it may hold a password."""
    try:
        told: dict[str, Any] = environ.Env().email_url_config(os.environ.get(name) or "consolemail://")
    except (KeyError, ValueError, ImproperlyConfigured) as error:
        raise ImproperlyConfigured(
            f"{name} is no address of a mail server, such as smtp://USER:PASSWORD@HOST:PORT."
        ) from error
    return told


def env_folder(name: str, *, default: Path) -> Path:
    """Read the data folder, made when it is not there; it must be one that can be written."""
    folder = Path(os.environ.get(name) or default)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        why = "" if os.access(folder, os.W_OK | os.X_OK) else "Permission denied"
    except FileExistsError:
        why = "it is a file"
    except OSError as error:
        why = str(error.strerror)
    if why:
        raise ImproperlyConfigured(
            f"The data folder {folder} can't be used ({why}). Give user {os.getuid()} the right to write "
            f"there, or name another folder with {name}."
        )
    return folder


def secret_key(folder: Path) -> str:
    """SECRET_KEY from the environment, else one made for this data folder and kept in it (mode 600)."""
    if key := os.environ.get("SECRET_KEY", ""):
        return _long_enough(key, "SECRET_KEY")
    path = folder / "secret_key"
    try:
        return _long_enough(_kept(path), f"The key in {path}")
    except OSError as error:
        told = f"{path} can't be read ({error.strerror})."
        raise ImproperlyConfigured(
            f"{told} Give user {os.getuid()} the right to, or set SECRET_KEY."
        ) from error


def _kept(path: Path) -> str:
    """The key of this file; of several processes that find none one makes it, and the others wait for it."""
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
        raise ImproperlyConfigured(f"{what} is shorter than {KEY_LENGTH} characters: too short to be safe.")
    return key
