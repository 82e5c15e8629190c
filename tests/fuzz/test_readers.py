"""Damaged files by the thousand: every reader reads or refuses them, quickly and in little memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.fuzz.mutations import damaged, seeds
from tests.fuzz.readers import readers

ROOT = Path(__file__).resolve().parents[2]
CORE = ("items", "predictions", "votes", "labels", "array", "archive", "tar", "configuration", "JSON")
INPUTS = int(os.environ.get("FUZZ_INPUTS", "3000"))


def test_every_reader_reads_or_refuses_damaged_files_within_bounds() -> None:
    command = [sys.executable, "-m", "tests.fuzz", "0", str(INPUTS)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    *failures, summary = run.stdout.splitlines() or [run.stderr]
    assert failures == [], run.stderr
    counts = json.loads(summary)
    assert (counts["inputs"], counts["failures"]) == (INPUTS, 0)
    print(summary)  # noqa: T201 - `make fuzz` shows it


def test_a_number_makes_the_same_file_again_and_others_differ() -> None:
    known = seeds()
    files = [damaged(known, number) for number in range(200)]
    assert files == [damaged(known, number) for number in range(200)]
    assert len(set(files)) > 150


def test_every_kind_of_reader_is_among_them() -> None:
    kinds = {name.partition(" ")[0] for name in readers()}
    assert kinds >= {*CORE, "import", "precheck", "scoring", "gold", "command", "training"}
