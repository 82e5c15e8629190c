"""Everything a process gives up for good, in the one order in which each step still can be taken."""

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

from workers.sandbox import landlock, seccomp
from workers.sandbox.prctl import NotConfined, drop_capabilities, prctl

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS = 1, 4, 38
SIGKILL = 9
# A user that owns nothing; in no range that systems give out by themselves.
OTHER_USER = 60_999
LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache")
DEVICES = ("/dev/null", "/dev/urandom")


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much the process may use."""

    seconds: int
    memory_bytes: int
    result_bytes: int
    files: int = 64


def python_folders() -> list[str]:
    """Where the interpreter and its packages lie."""
    named = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    return sorted(named | set(site.getsitepackages()))


def confine(bounds: Bounds, *, parent: int, read: list[str], write: list[str]) -> None:
    """Give everything up; raises, and then nothing of a stranger's may be run."""
    if len(os.listdir("/proc/self/task")) != 1:
        raise NotConfined("More than one thread runs already: the others would not be confined.")
    os.environ.clear()
    with open("/proc/self/oom_score_adj", "w") as first:
        first.write("1000")  # where memory runs out this process goes, not the worker
    os.closerange(3, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    sys.addaudithook(_no_pickle)
    prctl("no_new_privs", PR_SET_NO_NEW_PRIVS, 1)
    landlock.restrict(read=[*python_folders(), *LIBRARIES, *DEVICES, *read], write=write)
    _bound(bounds)
    _become_nobody()
    prctl("dumpable", PR_SET_DUMPABLE, 0)
    # after the change of user, which clears it: the process must not outlive who started it
    prctl("parent death", PR_SET_PDEATHSIG, SIGKILL)
    if os.getppid() != parent:
        raise NotConfined("Who started the process is gone.")
    gc.collect()
    seccomp.install()


def _no_pickle(event: str, args: tuple[Any, ...]) -> None:
    """A pickle that may name no class or function can do nothing."""
    if event == "pickle.find_class":
        raise pickle.UnpicklingError("Pickles are not loaded here.")


def _bound(bounds: Bounds) -> None:
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
    # at the first a signal of its own ends the process, so that it is known why
    resource.setrlimit(resource.RLIMIT_CPU, (bounds.seconds, bounds.seconds + 1))


def _become_nobody() -> None:
    """Root becomes another user, anybody else stays who they are; neither keeps a capability."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(OTHER_USER, OTHER_USER, OTHER_USER)
        os.setresuid(OTHER_USER, OTHER_USER, OTHER_USER)
        if 0 in (os.getuid(), os.geteuid(), os.getgid(), os.getegid()):
            raise NotConfined("The process is still root.")
    drop_capabilities()
