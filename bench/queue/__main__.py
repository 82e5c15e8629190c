"""`python -m bench.queue`: compare the labelling queue with a bare application.

Both run under gunicorn as `manage.py up` starts it, on a PostgreSQL that syncs every commit. Annotators are
threads of this process and never pause. Rounds alternate between the two applications.
Ends with exit code 1 if a goal is missed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

from bench.harness import exit_code, save


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.queue", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 1_000_000], help="items")
    parser.add_argument("--crowds", type=int, nargs="+", default=[8, 32], help="annotators")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=5, help="of each application in each round")
    parser.add_argument("--out", type=Path, default=Path("bench/results"), help="folder for the JSON")
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="evalsvc-queue-"))
    os.environ["EVALSVC_DATA"] = str(folder)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsvc.settings")
    import django

    django.setup()
    from bench.queue import rounds, servers

    plan = rounds.Plan(arguments.sizes, arguments.crowds, arguments.rounds, arguments.seconds)
    cluster = servers.SyncedCluster()
    try:
        rows = rounds.run(plan, folder, cluster)
    finally:
        cluster.close()
        shutil.rmtree(folder, ignore_errors=True)
    for row in rows:
        print(rounds.table_row(row))
    print(f"Results written to {save({'rows': rows}, arguments.out / 'queue.json')}")
    return exit_code(rows, "case")


if __name__ == "__main__":
    sys.exit(main())
