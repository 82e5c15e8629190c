"""Why a process could not be confined: then nothing runs in it."""

from __future__ import annotations

import ctypes
import os


class NotConfined(Exception):
    """The kernel lacks something, or refused it."""


libc = ctypes.CDLL(None, use_errno=True)


def call(name: str, number: int, *args: object) -> int:
    """A system call by its number; raises unless the kernel did it."""
    result = int(libc.syscall(ctypes.c_long(number), *args))
    if result < 0:
        raise NotConfined(f"{name}: {os.strerror(ctypes.get_errno())}")
    return result


def prctl(name: str, option: int, value: int = 0) -> None:
    none = ctypes.c_ulong(0)
    if libc.prctl(option, ctypes.c_ulong(value), none, none, none) != 0:
        raise NotConfined(f"{name}: {os.strerror(ctypes.get_errno())}")


def drop_capabilities() -> None:
    """Give up every capability, of which the ambient ones follow."""
    version_3, none = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    if libc.capset(version_3, none) != 0:
        raise NotConfined(f"capset: {os.strerror(ctypes.get_errno())}")
