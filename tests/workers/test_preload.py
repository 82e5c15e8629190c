"""A worker is warm when it says that it is ready."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import StartWorker


@pytest.mark.worker
def test_worker_processes_load_the_measures_before_the_first_job(sqlite: None, worker: StartWorker) -> None:
    pid = worker().process.pid
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    pool = [Path(f"/proc/{child}/maps").read_text() for child in children]
    assert any("_multiarray_umath" in maps for maps in pool)
