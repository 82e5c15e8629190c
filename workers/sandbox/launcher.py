"""Starting the confined process, watching its clock, and reading what it left."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from workers.sandbox.confinement import OTHER_USER, Bounds

CODE = str(Path(__file__).resolve().parents[2])
START = "import sys; sys.path.append({code!r}); from workers.sandbox.child_main import main; main()"
PREFIX, LEFT_SECONDS = "evalsvc-model-", 7 * 86_400
LOOK_EVERY_SECONDS = 0.05
SAID_BYTES = 8_000


@dataclass(frozen=True, slots=True)
class Ended:
    """How the process ended: in time with 0, or with what it said of its error."""

    code: int
    overdue: bool
    kind: str = ""
    said: str = ""


@contextmanager
def place() -> Iterator[Path]:
    """A folder of its own: `model` and `in` to read, `out` with one file to write, gone afterwards."""
    _sweep()
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    try:
        folder.chmod(0o711)
        for name in ("model", "in", "out"):
            (folder / name).mkdir(mode=0o755)
        result = folder / "out" / "result.jsonl"
        result.touch(mode=0o600)
        if os.geteuid() == 0:
            os.chown(result, OTHER_USER, OTHER_USER)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _sweep() -> None:
    """Take away what workers left that were killed in the middle; no job lasts as long."""
    for left in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        try:
            age = time.time() - left.lstat().st_mtime
        except FileNotFoundError:  # its owner is just done
            continue
        if age > LEFT_SECONDS:
            shutil.rmtree(left, ignore_errors=True)  # refuses what is only a link


def launch(
    task: str,
    folder: Path,
    *,
    bounds: Bounds,
    given: dict[str, Any] | None = None,
    modules: Sequence[str] = (),
    watch: Callable[[], None] = lambda: None,
) -> Ended:
    """Run one task to its end. What `watch` raises stops it, as does the clock."""
    plan = {
        "task": task,
        "folder": str(folder),
        "code": CODE,
        "parent": os.getpid(),
        "modules": list(modules),
        "bounds": asdict(bounds),
        "read": [str(folder / "model"), str(folder / "in")],
        "write": [str(folder / "out")],
        "given": given or {},
    }
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and code, the plan as an argument
            [sys.executable, "-I", "-c", START.format(code=CODE), json.dumps(plan)],
            env={},
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=said,
            close_fds=True,
            start_new_session=True,
        )
        overdue = _watched(process, bounds.seconds, watch)
        kind, words = _told(_end_of(said))
    return Ended(process.returncode, overdue, kind, words)


def _watched(process: subprocess.Popen[bytes], seconds: float, watch: Callable[[], None]) -> bool:
    """Wait for the end; True when the clock ended it. Whatever happens, nothing is left running."""
    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            watch()
            try:
                process.wait(LOOK_EVERY_SECONDS)
            except subprocess.TimeoutExpired:
                continue
            return False
        return True
    finally:
        process.kill()
        process.wait()


def _end_of(said: IO[bytes]) -> bytes:
    """Its last words: an error is told at the end, and a pipeline may have warned of much before it."""
    said.seek(max(0, said.seek(0, os.SEEK_END) - SAID_BYTES))
    return said.read(SAID_BYTES)


def _told(said: bytes) -> tuple[str, str]:
    """The line in which the process told its error; a stranger may have written anything there."""
    words = said.decode(errors="replace")
    line = next((line for line in reversed(words.splitlines()) if line.startswith('{"kind"')), "{}")
    try:
        told = json.loads(line)
    except (ValueError, RecursionError):
        told = {}
    return str(told.get("kind", "")), str(told.get("said", words[-400:]))
