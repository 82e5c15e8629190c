"""The filter of system calls, run by an interpreter of its own: also for the processor that isn't here."""

from __future__ import annotations

import errno

import pytest

from workers.sandbox.system_calls import ALLOWED, AUDIT_ARCH, FORBIDDEN
from workers.sandbox.system_calls import filter_steps as program

ALLOW, KILL = 0x7FFF0000, 0x80000000
REFUSE, ABSENT = 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS
MACHINES = ["x86_64", "aarch64"]
OTHERS = {
    "x86_64": {"socket": 41, "connect": 42, "clone": 56, "fork": 57, "vfork": 58, "execve": 59, "kill": 62,
               "ptrace": 101, "truncate": 76, "chmod": 90, "prctl": 157, "mount": 165, "tgkill": 234,
               "ioctl": 16, "unlink": 87, "link": 86, "symlink": 88, "rename": 82, "setuid": 105,
               "io_uring_setup": 425, "io_uring_enter": 426, "execveat": 322, "openat2": 437},
    "aarch64": {"socket": 198, "connect": 203, "clone": 220, "execve": 221, "kill": 129, "ptrace": 117,
                "truncate": 45, "fchmodat": 53, "prctl": 167, "mount": 40, "tgkill": 131, "ioctl": 29,
                "unlinkat": 35, "linkat": 37, "symlinkat": 36, "renameat2": 276, "setuid": 146,
                "io_uring_setup": 425, "io_uring_enter": 426, "execveat": 281, "openat2": 437},
}  # fmt: skip


def verdict(machine: str, number: int, *args: int, arch: int | None = None) -> int:
    """Return the kernel's verdict: classic BPF over (number, arch, pointer, arguments)."""
    words = {0: number, 4: AUDIT_ARCH[machine] if arch is None else arch}
    for at, arg in enumerate(args):
        words[16 + 8 * at] = arg & 0xFFFFFFFF
    steps, at, held = program(machine), 0, 0
    while True:
        code, jump_true, jump_false, value = steps[at]
        if code == 0x06:
            return value
        if code == 0x20:
            held, at = words[value], at + 1
        else:
            assert code == 0x15
            at += 1 + (jump_true if held == value else jump_false)


@pytest.mark.parametrize("machine", MACHINES)
def test_a_listed_call_is_allowed(machine: str) -> None:
    plain = {name: number for name, number in ALLOWED[machine].items() if name not in {"fcntl", "prlimit64"}}
    assert {verdict(machine, number) for number in plain.values()} == {ALLOW}
    assert {"read", "write", "mmap", "futex", "exit_group"} <= set(plain)


@pytest.mark.parametrize("machine", MACHINES)
def test_any_other_call_is_denied(machine: str) -> None:
    wanted = OTHERS[machine] | FORBIDDEN[machine]
    assert {name for name, number in wanted.items() if verdict(machine, number) != REFUSE} == set()
    unlisted = set(range(700)) - set(ALLOWED[machine].values()) - {435}
    assert {verdict(machine, number) for number in unlisted} == {REFUSE}


@pytest.mark.parametrize("machine", MACHINES)
def test_clone3_is_reported_as_missing(machine: str) -> None:
    assert verdict(machine, 435) == ABSENT


@pytest.mark.parametrize("machine", MACHINES)
def test_a_call_for_another_architecture_kills_the_process(machine: str) -> None:
    other = next(value for name, value in AUDIT_ARCH.items() if name != machine)
    assert verdict(machine, ALLOWED[machine]["read"], arch=other) == KILL
    assert verdict(machine, ALLOWED[machine]["read"], arch=0x40000003) == KILL  # 32-bit Intel


def test_the_x32_calls_are_denied() -> None:
    assert verdict("x86_64", 0x40000000 | 0) == REFUSE


@pytest.mark.parametrize("machine", MACHINES)
def test_a_process_can_access_only_its_own_limits(machine: str) -> None:
    number = ALLOWED[machine]["prlimit64"]
    assert verdict(machine, number, 0) == ALLOW
    assert verdict(machine, number, 1) == REFUSE


@pytest.mark.parametrize("machine", MACHINES)
def test_a_descriptor_cannot_be_set_to_send_signals(machine: str) -> None:
    number = ALLOWED[machine]["fcntl"]
    assert verdict(machine, number, 5, 1) == ALLOW  # F_GETFD
    assert {verdict(machine, number, 5, command) for command in (8, 10, 15, 1024, 1026)} == {REFUSE}
