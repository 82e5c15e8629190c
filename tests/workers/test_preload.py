"""A worker is warm when it says that it is ready."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import StartWorker


@pytest.mark.worker
def test_worker_processes_share_the_measures_and_their_libraries(sqlite: None, worker: StartWorker) -> None:
    pid = worker(concurrency=2).process.pid
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    pool = [Path(f"/proc/{child}/maps").read_text() for child in children]
    loaded = [maps for maps in pool if "_multiarray_umath" in maps]
    assert len(loaded) >= 2
    assert all("csgraph" in maps and "spacy" in maps for maps in loaded)
