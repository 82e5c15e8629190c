"""Entry point of the confined process: confine, then run one task."""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any

from workers.sandbox.confinement import Bounds, confine

TASKS = {"predict": "workers.sandbox.predict_task", "probe": "workers.sandbox.probes"}
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")


def main() -> None:
    """Run the task of the JSON plan in the first argument."""
    plan: dict[str, Any] = json.loads(sys.argv[1])
    channel = Channel(plan["channel"])
    sys.excepthook = channel.report_error
    os.environ.update(dict.fromkeys(THREADS, "1"))
    task = import_module(TASKS[plan["task"]])
    for name in plan["modules"]:
        import_module(name)
    sys.path[:] = [path for path in sys.path if path != plan["code"]]
    confine(
        Bounds(**plan["bounds"]),
        parent=plan["parent"],
        read=plan["read"],
        write=plan["write"],
        keep=channel.descriptor,
    )
    channel.write(step="confined")
    task.run(Path(plan["folder"]), begin=channel.begin, **plan["arguments"])


class Channel:
    """Pipe of the parent, closed before the upload is run.

    Whatever comes later goes to the error output, where an upload can write too.
    """

    def __init__(self, descriptor: int) -> None:
        self.descriptor, self.output = descriptor, descriptor

    def write(self, **fields: str) -> None:
        os.write(self.output, json.dumps(fields).encode() + b"\n")

    def begin(self) -> None:
        """Announce the upload's code, and give up the pipe."""
        self.write(step="begun")
        self.output = sys.stderr.fileno()
        os.close(self.descriptor)

    def report_error(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        """Write the error as one JSON line, which the parent reads."""
        self.write(kind=kind.__name__, message=str(error)[:2_000])
