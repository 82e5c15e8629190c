"""Start the confined process, watch its clock, and read its error."""

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
from typing import Any

from workers.sandbox.confinement import OTHER_USER, Bounds

CODE = str(Path(__file__).resolve().parents[2])
START = "import sys; sys.path.append({code!r}); from workers.sandbox.child_main import main; main()"
PREFIX, STALE_SECONDS = "evalsvc-model-", 7 * 86_400
CHECK_EVERY_SECONDS = 0.05
ERROR_BYTES = 8_000


@dataclass(frozen=True, slots=True)
class ProcessEnd:
    """Exit code of the process, and class and message of its error."""

    code: int
    overdue: bool
    kind: str = ""
    message: str = ""


@contextmanager
def work_folder() -> Iterator[Path]:
    """Make the folder of one run, and delete it afterwards."""
    _delete_stale()
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


def _delete_stale() -> None:
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
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and code, the plan as an argument
            [sys.executable, "-I", "-c", START.format(code=CODE), json.dumps(plan)],
            env={},
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            close_fds=True,
            start_new_session=True,
        )
        overdue = _wait(process, bounds.seconds, watch)
        # the error comes last, and a pipeline may have written many warnings before it
        errors.seek(max(0, errors.seek(0, os.SEEK_END) - ERROR_BYTES))
        kind, message = read_error(errors.read(ERROR_BYTES))
    return ProcessEnd(process.returncode, overdue, kind, message)


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
