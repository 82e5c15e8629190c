"""Start the confined process, watch its clock, and read its error."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from workers.sandbox.confinement import OTHER_USER, Bounds

CODE = str(Path(__file__).resolve().parents[2])
START = "import sys; sys.path.append({code!r}); from workers.sandbox.child_main import main; main()"
PREFIX, STALE_SECONDS = "evalsvc-model-", 7 * 86_400
CHECK_EVERY_SECONDS = 0.05
ERROR_BYTES, CHANNEL_BYTES = 8_000, 65_536
FROM_OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)
CONFINED = b'{"step": "confined"}'


@dataclass(frozen=True, slots=True)
class ProcessEnd:
    """Exit code of the process, and class and message of its error.

    `step` is how far it came: "", "confined", or "begun" with the uploaded code, which can forge the error.
    """

    code: int
    overdue: bool
    kind: str = ""
    message: str = ""
    step: str = "begun"

    @property
    def killed(self) -> bool:
        """True if killed from outside, perhaps for want of memory.

        The confined process may send no signals, not even to itself.
        """
        return -self.code in FROM_OUTSIDE and not self.overdue


@contextmanager
def work_folder() -> Iterator[Path]:
    """Make the folder of one run, and delete it afterwards."""
    delete_stale_folders()
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    try:
        for path in (folder, *(folder / name for name in ("model", "in", "out"))):
            path.mkdir(exist_ok=True)
            share(path)
        result = folder / "out" / "result.jsonl"
        result.touch(mode=0o600)
        if os.geteuid() == 0:
            os.chown(result, OTHER_USER, OTHER_USER)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def share(path: Path) -> None:
    """Let only the confined user read this file or folder."""
    path.chmod(0o750 if path.is_dir() else 0o640)
    if os.geteuid() == 0:
        os.chown(path, 0, OTHER_USER)


def delete_stale_folders() -> None:
    """Delete the folders of killed workers; no job lasts as long."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        try:
            age = time.time() - folder.lstat().st_mtime
        except FileNotFoundError:  # deleted by its owner just now
            continue
        if age > STALE_SECONDS:
            shutil.rmtree(folder, ignore_errors=True)  # skips a link


def launch(
    task: str,
    folder: Path,
    *,
    bounds: Bounds,
    arguments: dict[str, Any] | None = None,
    modules: Sequence[str] = (),
    watch: Callable[[], None] = lambda: None,
) -> ProcessEnd:
    """Run one task; the clock and exceptions of `watch` stop it."""
    plan = {
        "task": task,
        "folder": str(folder),
        "code": CODE,
        "parent": os.getpid(),
        "modules": list(modules),
        "bounds": asdict(bounds),
        "read": [str(folder / "model"), str(folder / "in")],
        "write": [str(folder / "out")],
        "arguments": arguments or {},
    }
    with tempfile.TemporaryFile() as errors, _pipe() as (channel, descriptor):
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and code, the plan as an argument
            [sys.executable, "-I", "-c", START.format(code=CODE), json.dumps(plan | {"channel": descriptor})],
            env={},
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            pass_fds=[descriptor],
            start_new_session=True,
        )
        overdue = _wait(process, bounds.seconds, watch)
        reports = _read_reports(channel)
        # the error comes last, and a pipeline may have written many warnings before it
        errors.seek(max(0, errors.seek(0, os.SEEK_END) - ERROR_BYTES))
        printed = errors.read(ERROR_BYTES)
    step = "begun" if b'{"step": "begun"}' in reports else "confined" if reports[:1] == [CONFINED] else ""
    kind, message = read_error(printed if step == "begun" else b"\n".join(reports) or printed)
    return ProcessEnd(process.returncode, overdue, kind, message, step)


@contextmanager
def _pipe() -> Iterator[tuple[int, int]]:
    """A pipe that is read after the end of the process.

    It never fills up.
    """
    reading, writing = os.pipe()
    try:
        os.set_blocking(reading, False)
        yield reading, writing
    finally:
        os.close(reading)
        os.close(writing)


def _read_reports(channel: int) -> list[bytes]:
    """Return the lines of the private channel."""
    try:
        return os.read(channel, CHANNEL_BYTES).splitlines()
    except BlockingIOError:
        return []


def _wait(process: subprocess.Popen[bytes], seconds: float, watch: Callable[[], None]) -> bool:
    """Wait for the end; return True when time ran out."""
    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            watch()
            try:
                process.wait(CHECK_EVERY_SECONDS)
            except subprocess.TimeoutExpired:
                continue
            return False
        return True
    finally:
        process.kill()
        process.wait()


def read_error(output: bytes) -> tuple[str, str]:
    """Return class and message of the error among any other output."""
    text = output.decode(errors="replace")
    line = next((line for line in reversed(text.splitlines()) if line.startswith('{"kind"')), "{}")
    try:
        error = json.loads(line)
    except (ValueError, RecursionError):
        error = {}
    return str(error.get("kind", "")), str(error.get("message", text[-400:]))
