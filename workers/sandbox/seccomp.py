"""The system call filter: unlisted calls fail."""

from __future__ import annotations

import ctypes
import errno
from typing import ClassVar

from workers.sandbox.system_calls import ALLOWED, AUDIT_ARCH, CLONE3, ONLY, NotConfined, libc, machine

LOAD, EQUALS, RETURN = 0x20, 0x15, 0x06
KILL, ALLOW, ERRNO = 0x80000000, 0x7FFF0000, 0x00050000
NUMBER_AT, ARCH_AT, ARGS_AT = 0, 4, 16
PR_SET_SECCOMP, MODE_FILTER = 22, 2
Step = tuple[int, int, int, int]


class Filter(ctypes.Structure):
    _fields_: ClassVar = [
        ("code", ctypes.c_ushort),
        ("jt", ctypes.c_ubyte),
        ("jf", ctypes.c_ubyte),
        ("k", ctypes.c_uint32),
    ]


class Program(ctypes.Structure):
    _fields_: ClassVar = [("len", ctypes.c_ushort), ("filter", ctypes.POINTER(Filter))]


def program(name: str) -> list[Step]:
    """Return the filter as BPF steps for one processor."""
    steps: list[Step] = [(LOAD, 0, 0, ARCH_AT), (EQUALS, 1, 0, AUDIT_ARCH[name]), (RETURN, 0, 0, KILL)]
    steps.append((LOAD, 0, 0, NUMBER_AT))
    for call, number in ALLOWED[name].items():
        steps += _allow_values(number, *ONLY[call]) if call in ONLY else _allow(number)
    # The C library falls back to the older call, which is denied like any other.
    steps += [(EQUALS, 0, 1, CLONE3), (RETURN, 0, 0, ERRNO | errno.ENOSYS)]
    return [*steps, (RETURN, 0, 0, ERRNO | errno.EPERM)]


def _allow(number: int) -> list[Step]:
    return [(EQUALS, 0, 1, number), (RETURN, 0, 0, ALLOW)]


def _allow_values(number: int, argument: int, values: tuple[int, ...]) -> list[Step]:
    """Allow a call with these values of one argument only."""
    inner: list[Step] = [(LOAD, 0, 0, ARGS_AT + 8 * argument)]
    for value in values:
        inner += _allow(value)
    inner.append((RETURN, 0, 0, ERRNO | errno.EPERM))
    return [(EQUALS, 0, len(inner), number), *inner]


def install() -> None:
    """Install the filter on this process for good; it needs no_new_privs."""
    steps = program(machine())
    filters = (Filter * len(steps))(*[Filter(*step) for step in steps])
    filter_program = Program(len(steps), filters)
    none = ctypes.c_ulong(0)
    if libc.prctl(PR_SET_SECCOMP, ctypes.c_ulong(MODE_FILTER), ctypes.byref(filter_program), none, none) != 0:
        raise NotConfined(f"The kernel rejected the seccomp filter (error {ctypes.get_errno()}).")
