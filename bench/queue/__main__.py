"""`python -m bench.queue`: next item and vote over HTTP, beside a bare application that does the same writes.

Both run under gunicorn as `manage.py up` starts it, on one PostgreSQL of their own that syncs every commit;
the annotators are threads of this process and never pause. Rounds go to and fro between the two.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
from pathlib import Path

from bench.harness import machine


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.queue", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 1_000_000], help="items")
    parser.add_argument("--crowds", type=int, nargs="+", default=[8, 32], help="annotators")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=5, help="of each side in each round")
    parser.add_argument("--out", type=Path, default=Path("bench/results"), help="folder for the JSON")
    asked = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="evalsvc-queue-"))
    os.environ["EVALSVC_DATA"] = str(folder)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsvc.settings")
    import django

    django.setup()
    from bench.queue import places, rounds

    plan, cluster = rounds.Plan(asked.sizes, asked.crowds, asked.rounds, asked.seconds), places.Synced()
    try:
        rows = rounds.run(plan, folder, cluster)
    finally:
        cluster.close()
        shutil.rmtree(folder, ignore_errors=True)
    for row in rows:
        print(rounds.line(row))
    asked.out.mkdir(parents=True, exist_ok=True)
    path = asked.out / "queue.json"
    path.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1))
    print(f"Written to {path}")


if __name__ == "__main__":
    main()
