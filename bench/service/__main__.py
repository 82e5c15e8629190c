"""`python -m bench.service [CASE …]`: measure the given cases, or all, on a new service.

Starts the whole service on an empty folder (SQLite unless DATABASE_URL is set): Valkey, gunicorn, beat, and
one worker with one process. Times are those recorded by the service and those seen by a client.
Ends with exit code 1 if a case misses a goal.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

from bench.harness import exit_code, judged, save


def main() -> int:
    folder = Path(tempfile.mkdtemp(prefix="evalsvc-bench-"))
    os.environ["EVALSVC_DATA"] = str(folder)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsvc.settings")
    import django

    django.setup()
    from bench.service.cases import CASES
    from bench.service.running import Service

    parser = argparse.ArgumentParser(prog="bench.service", description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--out", type=Path, default=Path("bench/results"), help="folder for the JSON")
    arguments = parser.parse_args()
    if unknown := set(arguments.cases) - set(CASES):
        parser.error(f"unknown case: {', '.join(sorted(unknown))}")
    reports = []
    try:
        with Service(folder) as service:
            for key in arguments.cases or CASES:
                report = CASES[key](service)
                load = {"load": round(os.getloadavg()[0], 1)}
                reports.append(judged(report | load, report["goals"]))
                print(json.dumps(reports[-1], indent=1, ensure_ascii=False), flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    path = arguments.out / f"service-{time.strftime('%Y%m%d-%H%M%S')}.json"
    print(f"Results written to {save({'cases': reports}, path)}")
    return exit_code(reports, "case")


if __name__ == "__main__":
    sys.exit(main())
