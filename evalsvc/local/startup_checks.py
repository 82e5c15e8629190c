"""What has to be true before the service starts: alone, with a free port, tables and static files."""

from __future__ import annotations

import errno
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

from evalsvc.local.schema_check import remember, require_fitting


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


def port_of(text: object) -> int:
    """A port as somebody wrote it."""
    told = str(text).strip()
    if not (told.isascii() and told.isdigit() and 0 < int(told) < 1 << 16):
        raise CommandError(
            f"{told!r} is no port: it is a whole number from 1 to 65535, as in make up PORT=8080."
        )
    return int(told)


def require_free(host: str, port: int) -> None:
    """Refuse when it can't be listened there, and say what can be done about that."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as refused:
            way = f"Choose another: make up PORT={port + 1 if port < 65535 else 8080}."
            if refused.errno == errno.EACCES:
                way = "Below 1024 only root may listen: make up PORT=8080, with a proxy in front."
            elif refused.errno != errno.EADDRINUSE:
                way = "HOST_ADDRESS names an address of this machine: 127.0.0.1, or 0.0.0.0 for all it has."
            raise CommandError(f"Port {port} on {host} can't be had ({refused.strerror}). {way}") from None


def prepare() -> None:
    """Bring the tables and the static files to this version, and make the place of uploads."""
    require_fitting()
    Path(settings.MEDIA_ROOT).mkdir(exist_ok=True)
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
