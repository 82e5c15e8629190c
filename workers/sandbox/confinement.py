"""Confine the process for good: files, system calls, limits and user.

The order matters: each step takes rights that an earlier one needs.
"""

from __future__ import annotations

import gc
import os
import pickle
import resource
import site
import sys
import sysconfig
from dataclasses import dataclass
from typing import Any

from workers.sandbox import landlock, system_calls
from workers.sandbox.system_calls import NotConfined, drop_capabilities, prctl

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS = 1, 4, 38
SIGKILL = 9
# A user that owns nothing, outside the ranges that systems assign.
OTHER_USER = 60_999
LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache")
DEVICES = ("/dev/null", "/dev/urandom")


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits of the process."""

    seconds: int
    memory_bytes: int
    result_bytes: int
    files: int = 64


def python_folders() -> list[str]:
    """Return the folders of the interpreter and its packages."""
    named = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    return sorted(named | set(site.getsitepackages()))


def confine(bounds: Bounds, *, parent: int, read: list[str], write: list[str], keep: int = 2) -> None:
    """Confine this process; after an exception no uploaded code may run.

    The descriptor `keep` stays open, for the caller to close.
    """
    if len(os.listdir("/proc/self/task")) != 1:
        raise NotConfined("Several threads are already running. The others would not be confined.")
    os.environ.clear()
    with open("/proc/self/oom_score_adj", "w") as first:
        first.write("1000")  # when memory runs out, this process ends, not the worker
    os.closerange(3, keep)
    os.closerange(keep + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    sys.addaudithook(_reject_pickles)
    prctl("no_new_privs", PR_SET_NO_NEW_PRIVS, 1)
    landlock.restrict(read=[*python_folders(), *LIBRARIES, *DEVICES, *read], write=write)
    _set_limits(bounds)
    _change_user()
    prctl("dumpable", PR_SET_DUMPABLE, 0)
    # after the change of user, which clears it: the process must not outlive its parent
    prctl("parent death", PR_SET_PDEATHSIG, SIGKILL)
    if os.getppid() != parent:
        raise NotConfined("The parent process has ended.")
    gc.collect()
    system_calls.install_filter()


def _reject_pickles(event: str, args: tuple[Any, ...]) -> None:
    """Reject every class or function that a pickle names."""
    if event == "pickle.find_class":
        raise pickle.UnpicklingError("Pickles are not loaded here.")


def _set_limits(bounds: Bounds) -> None:
    limits = {
        resource.RLIMIT_AS: bounds.memory_bytes,
        resource.RLIMIT_FSIZE: bounds.result_bytes,
        resource.RLIMIT_NOFILE: bounds.files,
        resource.RLIMIT_NPROC: 0,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_MEMLOCK: 0,
        resource.RLIMIT_MSGQUEUE: 0,
    }
    for which, most in limits.items():
        resource.setrlimit(which, (most, most))
    # the soft limit sends a signal of its own, which names the cause
    resource.setrlimit(resource.RLIMIT_CPU, (bounds.seconds, bounds.seconds + 1))


def _change_user() -> None:
    """Turn root into a user without rights, and drop every capability."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(OTHER_USER, OTHER_USER, OTHER_USER)
        os.setresuid(OTHER_USER, OTHER_USER, OTHER_USER)
        if 0 in (os.getuid(), os.geteuid(), os.getgid(), os.getegid()):
            raise NotConfined("The process is still root.")
    drop_capabilities()
