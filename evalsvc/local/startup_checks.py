"""Preconditions of a start: data folder and port."""

from __future__ import annotations

import errno
import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.core.management import CommandError

UNFINISHED_RESTORE = "restore.unfinished"


@contextmanager
def lock_data_folder(folder: Path, address: str) -> Iterator[None]:
    """Lock the data folder; fail if the service already runs on it."""
    path = folder / "up.lock"
    with path.open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            raise CommandError(
                f"Already running on this data folder ({folder}): {lock.read().strip() or 'starting'}. "
                "Stop it with Ctrl-C, or use another folder with EVALSVC_DATA."
            ) from None
        lock.truncate(0)
        lock.write(f"{address} (process {os.getpid()})")
        lock.flush()
        yield
        lock.truncate(0)


def require_no_unfinished_restore(folder: Path) -> None:
    """Fail if what a restore ends last may still be in force."""
    if (folder / UNFINISHED_RESTORE).exists():
        raise CommandError(
            f"A restore into this data folder ({folder}) has not ended. Run the same manage.py restore "
            "again, or restore elsewhere: another EVALSVC_DATA, with PostgreSQL another DATABASE_URL, too."
        )


def parse_port(text: object) -> int:
    port = str(text).strip()
    if not (port.isascii() and port.isdigit() and 0 < int(port) < 1 << 16):
        raise CommandError(
            f"Invalid port {port!r}. Use a whole number from 1 to 65535, for example make up PORT=8080."
        )
    return int(port)


def require_free_port(host: str, port: int) -> None:
    """Fail if nothing can listen on this port, with a way out."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            hint = f"Choose another: make up PORT={port + 1 if port < 65535 else 8080}."
            if error.errno == errno.EACCES:
                hint = "Ports below 1024 are for root: make up PORT=8080, with a proxy in front."
            elif error.errno != errno.EADDRINUSE:
                hint = (
                    "HOST_ADDRESS must be an address of this machine: 127.0.0.1, or 0.0.0.0 for all of them."
                )
            raise CommandError(f"Cannot listen on port {port} of {host} ({error.strerror}). {hint}") from None
