"""`python -m bench.service [CASE …]`: measure the named cases on a service of their own, or all of them.

Starts the real thing on an empty folder (SQLite unless DATABASE_URL is set): Valkey, gunicorn, beat, and one
worker with one process. Times are those that the service itself wrote down, and those that a client sees.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
import time
from pathlib import Path

from bench.harness import machine


def main() -> None:
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
    chosen = parser.parse_args()
    if unknown := set(chosen.cases) - set(CASES):
        parser.error(f"no such case: {', '.join(sorted(unknown))}")
    reports = []
    try:
        with Service(folder) as service:
            for key in chosen.cases or CASES:
                reports.append({**CASES[key](service), "load": round(os.getloadavg()[0], 1)})
                print(json.dumps(reports[-1], indent=1, ensure_ascii=False), flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    chosen.out.mkdir(parents=True, exist_ok=True)
    path = chosen.out / f"service-{time.strftime('%Y%m%d-%H%M%S')}.json"
    path.write_text(json.dumps({"machine": machine(), "cases": reports}, indent=1))
    print(f"Written to {path}")


if __name__ == "__main__":
    main()
