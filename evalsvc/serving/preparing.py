"""What has to be true before the service starts: alone, with a free port, tables and static files."""

from __future__ import annotations

import fcntl
import hashlib
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import CommandError, call_command

from evalsvc.serving.fitting import remember, require_fitting


@contextmanager
def only_one(folder: Path, address: str) -> Iterator[None]:
    """Hold the data folder; refuse when another start holds it."""
    path = folder / "up.lock"
    with path.open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            raise CommandError(
                f"It already runs on this data folder ({folder}): {lock.read().strip() or 'just starting'}. "
                "Stop that one with Ctrl-C first, or give this one another folder with EVALSVC_DATA."
            ) from None
        lock.truncate(0)
        lock.write(f"{address} (process {os.getpid()})")
        lock.flush()
        yield
        lock.truncate(0)


def require_free(host: str, port: int) -> None:
    """Refuse when somebody else listens there."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as taken:
            raise CommandError(
                f"Port {port} on {host} can't be had ({taken.strerror}). "
                f"Choose another: make up PORT={port + 1}."
            ) from None


def prepare() -> None:
    """Bring the tables and the static files to this version."""
    require_fitting()
    call_command("migrate", interactive=False, verbosity=0)
    remember()
    stamp, digest = settings.DATA_DIR / "static.stamp", static_digest()
    collected = settings.STATIC_ROOT.exists() and stamp.exists() and stamp.read_text() == digest
    if not collected:
        call_command("collectstatic", interactive=False, verbosity=0, clear=True)
        stamp.write_text(digest)


def static_digest() -> str:
    """Changes when any static file does."""
    seen = hashlib.sha256(settings.STORAGES["staticfiles"]["BACKEND"].encode())
    for finder in get_finders():
        for path, storage in finder.list([]):
            state = Path(storage.path(path)).stat()
            seen.update(f"{path}\0{state.st_size}\0{state.st_mtime_ns}\n".encode())
    return seen.hexdigest()
