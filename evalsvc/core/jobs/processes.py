"""Names of the processes that run jobs, and their liveness."""

from __future__ import annotations

import os
import socket
from pathlib import Path


def process_name() -> str:
    """Name this process by machine, number and time of its start."""
    return f"{socket.gethostname()}:{os.getpid()}:{_started(os.getpid())}"


def is_alive(name: str) -> bool:
    """True if the named process runs on this machine.

    Without the time of its start, a later process with its number would pass for it. Processes of other
    machines cannot be seen: they report themselves when their lease ran out while they lived.
    """
    host, _, numbers = name.partition(":")
    pid, _, started = numbers.partition(":")
    return bool(started) and host == socket.gethostname() and pid.isdigit() and _started(int(pid)) == started


def _started(pid: int) -> str:
    """Return the start of a live process in clock ticks.

    It is empty for dead processes, and outside Linux.
    """
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    fields = text.rpartition(")")[2].split()  # the name before may contain anything
    return "" if fields[0] in "ZX" else fields[19]
