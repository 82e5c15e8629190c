"""Limit on the memory of a job, so that one file cannot take that of the machine."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def memory_limit(most: int) -> Iterator[None]:
    """Let this process take so many bytes of address space more; beyond it Python raises MemoryError.

    0: no limit. A narrower one that is set already stays.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limits = [each for each in (soft, hard) if each != resource.RLIM_INFINITY]
    if most:
        limits.append(pages * resource.getpagesize() + most)
    resource.setrlimit(resource.RLIMIT_AS, (min(limits, default=resource.RLIM_INFINITY), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
