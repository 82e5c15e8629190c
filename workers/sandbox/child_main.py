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
    sys.excepthook = report_error
    plan: dict[str, Any] = json.loads(sys.argv[1])
    os.environ.update(dict.fromkeys(THREADS, "1"))
    task = import_module(TASKS[plan["task"]])
    for name in plan["modules"]:
        import_module(name)
    sys.path[:] = [path for path in sys.path if path != plan["code"]]
    confine(Bounds(**plan["bounds"]), parent=plan["parent"], read=plan["read"], write=plan["write"])
    task.run(Path(plan["folder"]), **plan["arguments"])


def report_error(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Write the error as one JSON line, which the parent reads."""
    os.write(2, json.dumps({"kind": kind.__name__, "message": str(error)[:2_000]}).encode() + b"\n")
