"""The guard ends what outlives a killed supervisor, and nothing else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evalsvc.local.process_guard import ProcessGuard

SUPERVISOR = """
import subprocess, sys, time
from evalsvc.local.process_guard import ProcessGuard
children = [subprocess.Popen(["sleep", "600"], start_new_session=True) for _ in range(2)]
guard = ProcessGuard(grace=0.5)
guard.watch([children[0].pid])
print(guard.process.pid, *(child.pid for child in children), flush=True)
time.sleep(600)
"""
linux = pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc")


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def gone(*pids: int) -> bool:
    until = time.monotonic() + 120
    while any(map(is_running, pids)) and time.monotonic() < until:
        time.sleep(0.05)
    return not any(map(is_running, pids))


@linux
def test_a_suspended_process_is_killed_after_its_supervisor() -> None:
    command = [sys.executable, "-c", SUPERVISOR]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as supervisor:
        assert supervisor.stdout
        guard, suspended, foreign = map(int, supervisor.stdout.readline().split())
        os.kill(suspended, signal.SIGSTOP)
        supervisor.kill()
    try:
        assert gone(guard, suspended)
        assert is_running(foreign)
    finally:
        os.kill(foreign, signal.SIGKILL)


@linux
def test_a_guard_ends_with_its_supervisor_and_starts_again_if_killed() -> None:
    guard = ProcessGuard(grace=120)
    guard.watch([os.getpid() + 1_000_000])
    first = guard.process
    assert first
    first.kill()
    first.wait()
    guard.watch(guard.sessions)
    assert guard.process
    assert guard.process.pid != first.pid
    started = time.monotonic()
    guard.close()
    assert time.monotonic() - started < guard.grace
