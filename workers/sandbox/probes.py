"""Attempts at everything forbidden, run inside the sandbox for the self-test."""

from __future__ import annotations

import _thread
import ctypes
import errno
import json
import mmap
import os
import pickle
import resource
import socket
from collections.abc import Callable
from pathlib import Path

from workers.sandbox.system_calls import FORBIDDEN, libc, machine

# Any other error means that the kernel considered the request.
DENIED = frozenset({errno.EPERM, errno.EACCES, errno.ENOSYS, errno.EFBIG, errno.ENOMEM})
Attempt = Callable[[], object]


def denied(attempt: Attempt) -> bool:
    try:
        attempt()
    except OSError as error:
        return error.errno in DENIED
    except (MemoryError, RuntimeError, ValueError, pickle.UnpicklingError):
        return True
    return False


def by_number(name: str, *args: int) -> None:
    """Make a system call without the C library's function."""
    number = FORBIDDEN[machine()][name]
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(arg) for arg in args])
    if result < 0:
        raise OSError(ctypes.get_errno(), name)


def fork() -> None:
    if os.fork() == 0:
        os._exit(0)


def two_sockets() -> None:
    for end in socket.socketpair():
        end.close()


def more_files() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard + 1))


def inherited() -> None:
    """Look for a descriptor besides the three standard ones."""
    if not any(map(is_open, range(3, 256))):
        raise OSError(errno.EPERM, "none")


def is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def environment() -> None:
    if not os.environ and not libc.getenv(b"PATH"):
        raise OSError(errno.EPERM, "empty")


def other_user() -> None:
    """Be root, or become it."""
    if os.getuid() != 0:
        os.setuid(0)


def write(path: Path, flags: int) -> None:
    os.close(os.open(path, flags, 0o600))


def overlong(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(bytes(resource.getrlimit(resource.RLIMIT_FSIZE)[0] + 1))


def attempts(folder: Path, memory_bytes: int) -> dict[str, Attempt]:
    """Return each forbidden action by name."""
    own, parent = os.getpid(), os.getppid()
    create, cut = os.O_WRONLY | os.O_CREAT, os.O_WRONLY | os.O_TRUNC
    return {
        "an internet socket": lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM).close(),
        "a local socket": lambda: socket.socket(socket.AF_UNIX, socket.SOCK_STREAM).close(),
        "a socket pair": two_sockets,
        "a socket by its number": lambda: by_number("socket", 2, 1, 0),
        "a new process": fork,
        "a new thread": lambda: _thread.start_new_thread(int, ()),
        "tracing": lambda: by_number("ptrace", 0, 0, 0, 0),
        "another's memory": lambda: by_number("process_vm_readv", parent, 0, 0, 0, 0, 0),
        "io_uring": lambda: by_number("io_uring_setup", 1, 0),
        "a file in memory": lambda: by_number("memfd_create", 0, 0),
        "bpf": lambda: by_number("bpf", 0, 0, 0),
        "performance counters": lambda: by_number("perf_event_open", 0, 0, 0, 0, 0),
        "a namespace": lambda: by_number("unshare", 0x10000000),
        "keys": lambda: by_number("keyctl", 0, 0, 0),
        "page faults": lambda: by_number("userfaultfd", 0),
        "a handle on a process": lambda: by_number("pidfd_open", parent, 0),
        "a signal to the parent": lambda: by_number("kill", parent, 0),
        "a signal to itself": lambda: by_number("kill", own, 0),
        "reading outside": lambda: os.open("/etc/passwd", os.O_RDONLY),
        "reading processes": lambda: os.open(f"/proc/{parent}/environ", os.O_RDONLY),
        "reading a file beside": lambda: os.open(folder / "beside.txt", os.O_RDONLY),
        "listing outside": lambda: os.listdir("/"),
        "writing outside": lambda: write(Path(f"/tmp/evalsvc-{own}"), create),  # noqa: S108
        "writing beside": lambda: write(folder / "beside.txt", cut),
        "changing the model": lambda: write(folder / "model" / "config.cfg", cut),
        "a new file in its folder": lambda: write(folder / "out" / "more", create),
        "deleting": lambda: os.unlink(folder / "out" / "result.jsonl"),
        "linking": lambda: os.symlink("/etc", folder / "out" / "etc"),
        "cutting short": lambda: os.truncate(folder / "model" / "config.cfg", 0),
        "changing rights": lambda: os.chmod(folder / "out" / "result.jsonl", 0o644),
        "raising limits": more_files,
        "more memory": lambda: mmap.mmap(-1, memory_bytes + 1),
        "a longer result": lambda: overlong(folder / "out" / "result.jsonl"),
        "descriptors": inherited,
        "the environment": environment,
        "being root": other_user,
        "a pickle": lambda: pickle.loads(b"cposix\nsystem\n."),  # noqa: S301
        # last, as it would replace this process, which then reports nothing and fails the test
        "another program by its number": lambda: by_number("execveat", -100, 0, 0, 0, 0),
        "another program": lambda: os.execv("/bin/true", ["true"]),  # noqa: S606
    }


def run(folder: Path, *, begin: Callable[[], None], memory_bytes: int) -> None:
    """Try everything, then run a pipeline, which must work; write the report."""
    begin()
    report = {name: denied(attempt) for name, attempt in attempts(folder, memory_bytes).items()}
    with (folder / "out" / "result.jsonl").open("r+") as out:
        out.truncate(0)
        out.write(json.dumps({"denied": report, "tokens": pipeline()}) + "\n")


def pipeline() -> int:
    import spacy

    nlp = spacy.blank("xx")
    nlp.add_pipe("sentencizer")
    return len(nlp("Nothing leaves this place."))
