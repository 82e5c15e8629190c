"""Limit on the memory of a job, so that one file cannot take that of the machine."""

from __future__ import annotations

import gc
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path


@contextmanager
def memory_limit(most: int) -> Iterator[None]:
    """Let a job take so many bytes of address space; beyond them Python raises MemoryError.

    They count from what the process had before its first job, and what that left is freed before the next
    one, so that each job has the same. 0: no limit. A narrower one that is set already stays.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    limits = [each for each in (soft, hard) if each != resource.RLIM_INFINITY]
    if most:
        limits.append(before_jobs() + most)
        gc.collect()
    resource.setrlimit(resource.RLIMIT_AS, (min(limits, default=resource.RLIM_INFINITY), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@cache
def before_jobs() -> int:
    """Return the bytes of address space that this process had before its first job.

    What it has then stays, so that no later collection looks through it.
    """
    gc.freeze()
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
