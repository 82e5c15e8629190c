"""The limit on the memory of jobs, in a process of its own."""

from __future__ import annotations

import subprocess
import sys

JOBS = """
import gc
from workers.memory_limit import memory_limit
for megabytes in (150, 250, 150, 250):
    try:
        with memory_limit(200_000_000):
            gc.collect()  # as happens in any job
            held = []
            held.append(held)  # such garbage stays for a while
            held += (bytes(1_000_000) for _ in range(megabytes))
        print(megabytes, "fits")
    except MemoryError:
        print(megabytes, "is too much")
    del held
"""


def test_what_a_job_may_take_does_not_depend_on_earlier_jobs() -> None:
    """What these left was freed in the midst of the next one, which could take that besides."""
    ended = subprocess.run([sys.executable, "-c", JOBS], capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines() == ["150 fits", "250 is too much"] * 2
