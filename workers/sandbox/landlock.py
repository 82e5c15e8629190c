"""Landlock: limit the files that a process can open."""

from __future__ import annotations

import ctypes
import os
import stat
from collections.abc import Iterable
from typing import ClassVar

from workers.sandbox.system_calls import (
    LANDLOCK_ADD,
    LANDLOCK_CREATE,
    LANDLOCK_RESTRICT,
    NotConfined,
    call,
    libc,
)

WRITE_FILE, READ_FILE, READ_DIR = 1 << 1, 1 << 2, 1 << 3
TRUNCATE = 1 << 14
PATH_BENEATH = 1
# Every right of a Landlock version is handled, so that anything without a rule is denied.
RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1, 5: (1 << 16) - 1}
NETWORK, SCOPES = (1 << 2) - 1, (1 << 2) - 1
NETWORK_FROM, SCOPES_FROM = 4, 6


class Ruleset(ctypes.Structure):
    _fields_: ClassVar = [
        ("files", ctypes.c_uint64),
        ("network", ctypes.c_uint64),
        ("scoped", ctypes.c_uint64),
    ]


class Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_: ClassVar = [("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32)]


def version() -> int:
    """Return the kernel's Landlock version; reject kernels without it."""
    abi = int(libc.syscall(ctypes.c_long(LANDLOCK_CREATE), None, ctypes.c_size_t(0), ctypes.c_uint32(1)))
    if abi < 1:
        raise NotConfined("The kernel has no Landlock. Use Linux 5.13 or later with Landlock switched on.")
    return abi


def restrict(*, read: Iterable[str], write: Iterable[str]) -> None:
    """Allow reading below `read` and writing existing files below `write`, nothing else."""
    abi = version()
    handled = RIGHTS[min(abi, max(RIGHTS))]
    network = NETWORK if abi >= NETWORK_FROM else 0
    attributes = Ruleset(handled, network, SCOPES if abi >= SCOPES_FROM else 0)
    size = 24 if abi >= SCOPES_FROM else 16 if abi >= NETWORK_FROM else 8
    ruleset = call(
        "landlock_create_ruleset",
        LANDLOCK_CREATE,
        ctypes.byref(attributes),
        ctypes.c_size_t(size),
        ctypes.c_uint32(0),
    )
    for path in read:
        _allow(ruleset, path, READ_FILE | READ_DIR)
    for path in write:
        _allow(ruleset, path, (READ_FILE | WRITE_FILE | TRUNCATE) & handled)
    call("landlock_restrict_self", LANDLOCK_RESTRICT, ctypes.c_int(ruleset), ctypes.c_uint32(0))
    os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    """Add a rule for a folder or file that exists."""
    try:
        parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(parent).st_mode):
            rights &= ~READ_DIR
        rule = Beneath(rights, parent)
        call(
            "landlock_add_rule",
            LANDLOCK_ADD,
            ctypes.c_int(ruleset),
            ctypes.c_int(PATH_BENEATH),
            ctypes.byref(rule),
            ctypes.c_uint32(0),
        )
    finally:
        os.close(parent)
