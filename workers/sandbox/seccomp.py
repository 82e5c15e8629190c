"""The filter of system calls: what is not on the list is refused, another processor's calls kill."""

from __future__ import annotations

import ctypes
import errno
from typing import ClassVar

from workers.sandbox.allowed_syscalls import ALLOWED, AUDIT_ARCH, CLONE3, ONLY, machine
from workers.sandbox.prctl import NotConfined, libc

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
    """The filter as steps, for one kind of processor."""
    steps: list[Step] = [(LOAD, 0, 0, ARCH_AT), (EQUALS, 1, 0, AUDIT_ARCH[name]), (RETURN, 0, 0, KILL)]
    steps.append((LOAD, 0, 0, NUMBER_AT))
    for call, number in ALLOWED[name].items():
        steps += _looked_at(number, *ONLY[call]) if call in ONLY else _let_through(number)
    # The C library falls back to the older call, which is refused like any other.
    steps += [(EQUALS, 0, 1, CLONE3), (RETURN, 0, 0, ERRNO | errno.ENOSYS)]
    return [*steps, (RETURN, 0, 0, ERRNO | errno.EPERM)]


def _let_through(number: int) -> list[Step]:
    return [(EQUALS, 0, 1, number), (RETURN, 0, 0, ALLOW)]


def _looked_at(number: int, argument: int, values: tuple[int, ...]) -> list[Step]:
    """One call, let through with these values of one argument only (its lower half; ints both)."""
    inner: list[Step] = [(LOAD, 0, 0, ARGS_AT + 8 * argument)]
    for value in values:
        inner += _let_through(value)
    inner.append((RETURN, 0, 0, ERRNO | errno.EPERM))
    return [(EQUALS, 0, len(inner), number), *inner]


def install() -> None:
    """Put the filter on this process for good; needs no_new_privs."""
    steps = program(machine())
    filters = (Filter * len(steps))(*[Filter(*step) for step in steps])
    told = Program(len(steps), filters)
    none = ctypes.c_ulong(0)
    if libc.prctl(PR_SET_SECCOMP, ctypes.c_ulong(MODE_FILTER), ctypes.byref(told), none, none) != 0:
        raise NotConfined(f"The kernel takes no seccomp filter (error {ctypes.get_errno()}).")
