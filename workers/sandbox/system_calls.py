"""System calls of a confined pipeline, and the filter of others."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
from typing import ClassVar

LOAD, EQUALS, RETURN = 0x20, 0x15, 0x06
KILL, ALLOW, ERRNO = 0x80000000, 0x7FFF0000, 0x00050000
NUMBER_AT, ARCH_AT, ARGS_AT = 0, 4, 16
PR_SET_SECCOMP, MODE_FILTER = 22, 2
Step = tuple[int, int, int, int]


class NotConfined(Exception):
    """The process could not be confined, so nothing may run in it."""


X86_64 = {
    "read": 0, "write": 1, "open": 2, "close": 3, "stat": 4, "fstat": 5, "lstat": 6, "poll": 7, "lseek": 8,
    "mmap": 9, "mprotect": 10, "munmap": 11, "brk": 12, "rt_sigaction": 13, "rt_sigprocmask": 14,
    "rt_sigreturn": 15, "pread64": 17, "pwrite64": 18, "readv": 19, "writev": 20, "access": 21,
    "select": 23, "sched_yield": 24, "mremap": 25, "madvise": 28, "dup": 32, "nanosleep": 35, "getpid": 39,
    "exit": 60, "uname": 63, "fcntl": 72, "ftruncate": 77, "getdents": 78, "getcwd": 79, "readlink": 89,
    "gettimeofday": 96, "getrlimit": 97, "getrusage": 98, "sysinfo": 99, "times": 100, "getuid": 102,
    "getgid": 104, "geteuid": 107, "getegid": 108, "getppid": 110, "sigaltstack": 131, "statfs": 137,
    "fstatfs": 138, "gettid": 186, "futex": 202, "sched_getaffinity": 204, "getdents64": 217,
    "restart_syscall": 219, "clock_gettime": 228, "clock_getres": 229, "clock_nanosleep": 230,
    "exit_group": 231, "openat": 257, "newfstatat": 262, "readlinkat": 267, "faccessat": 269,
    "pselect6": 270, "ppoll": 271, "set_robust_list": 273, "prlimit64": 302, "getcpu": 309,
    "getrandom": 318, "membarrier": 324, "statx": 332, "rseq": 334, "faccessat2": 439,
}  # fmt: skip
AARCH64 = {
    "getcwd": 17, "dup": 23, "fcntl": 25, "statfs": 43, "fstatfs": 44, "ftruncate": 46, "faccessat": 48,
    "openat": 56, "close": 57, "getdents64": 61, "lseek": 62, "read": 63, "write": 64, "readv": 65,
    "writev": 66, "pread64": 67, "pwrite64": 68, "pselect6": 72, "ppoll": 73, "readlinkat": 78,
    "newfstatat": 79, "fstat": 80, "exit": 93, "exit_group": 94, "futex": 98, "set_robust_list": 99,
    "nanosleep": 101, "clock_gettime": 113, "clock_getres": 114, "clock_nanosleep": 115,
    "sched_getaffinity": 123, "sched_yield": 124, "restart_syscall": 128, "sigaltstack": 132,
    "rt_sigaction": 134, "rt_sigprocmask": 135, "rt_sigreturn": 139, "times": 153, "uname": 160,
    "getrusage": 165, "getcpu": 168, "gettimeofday": 169, "getpid": 172, "getppid": 173, "getuid": 174,
    "geteuid": 175, "getgid": 176, "getegid": 177, "gettid": 178, "sysinfo": 179, "brk": 214, "munmap": 215,
    "mremap": 216, "mmap": 222, "mprotect": 226, "madvise": 233, "prlimit64": 261, "getrandom": 278,
    "membarrier": 283, "statx": 291, "rseq": 293, "faccessat2": 439,
}  # fmt: skip
ALLOWED = {"x86_64": X86_64, "aarch64": AARCH64}
# The argument that is checked, and its allowed values: limits of other processes, and descriptors that
# would send signals to others, stay out of reach.
ONLY = {"prlimit64": (0, (0,)), "fcntl": (1, (0, 1, 2, 3, 1030))}
AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
# Equal on both processors.
CLONE3, LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 435, 444, 445, 446
# Tried by the self-test, which must fail.
FORBIDDEN = {
    "x86_64": {
        "ptrace": 101, "process_vm_readv": 310, "io_uring_setup": 425, "memfd_create": 319, "bpf": 321,
        "perf_event_open": 298, "unshare": 272, "keyctl": 250, "userfaultfd": 323, "socket": 41,
        "pidfd_open": 434, "kill": 62, "execveat": 322,
    },
    "aarch64": {
        "ptrace": 117, "process_vm_readv": 270, "io_uring_setup": 425, "memfd_create": 279, "bpf": 280,
        "perf_event_open": 241, "unshare": 97, "keyctl": 219, "userfaultfd": 282, "socket": 198,
        "pidfd_open": 434, "kill": 129, "execveat": 281,
    },
}  # fmt: skip

libc = ctypes.CDLL(None, use_errno=True)


def call(name: str, number: int, *args: object) -> int:
    """Make a system call by its number, or raise NotConfined."""
    result = int(libc.syscall(ctypes.c_long(number), *args))
    if result < 0:
        raise NotConfined(f"{name}: {os.strerror(ctypes.get_errno())}")
    return result


def prctl(name: str, option: int, value: int = 0) -> None:
    none = ctypes.c_ulong(0)
    if libc.prctl(option, ctypes.c_ulong(value), none, none, none) != 0:
        raise NotConfined(f"{name}: {os.strerror(ctypes.get_errno())}")


def drop_capabilities() -> None:
    """Drop every capability; the ambient ones follow."""
    version_3, none = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    if libc.capset(version_3, none) != 0:
        raise NotConfined(f"capset: {os.strerror(ctypes.get_errno())}")


def machine() -> str:
    """Return the processor's name; reject one without a table."""
    name = platform.machine()
    if name not in ALLOWED:
        raise NotConfined(f"The processor {name} is not supported. Models need x86_64 or aarch64.")
    return name


class Filter(ctypes.Structure):
    _fields_: ClassVar = [
        ("code", ctypes.c_ushort),
        ("jt", ctypes.c_ubyte),
        ("jf", ctypes.c_ubyte),
        ("k", ctypes.c_uint32),
    ]


class Program(ctypes.Structure):
    _fields_: ClassVar = [("len", ctypes.c_ushort), ("filter", ctypes.POINTER(Filter))]


def filter_steps(name: str) -> list[Step]:
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


def install_filter() -> None:
    """Install the filter on this process for good; it needs no_new_privs."""
    steps = filter_steps(machine())
    filters = (Filter * len(steps))(*[Filter(*step) for step in steps])
    filter_program = Program(len(steps), filters)
    none = ctypes.c_ulong(0)
    if libc.prctl(PR_SET_SECCOMP, ctypes.c_ulong(MODE_FILTER), ctypes.byref(filter_program), none, none) != 0:
        raise NotConfined(f"The kernel rejected the seccomp filter (error {ctypes.get_errno()}).")
