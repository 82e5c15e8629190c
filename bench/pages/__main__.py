"""`python -m bench.pages`: CPU time and queries of each page at two sizes.

Each size has its own folder with a filled SQLite database (or, with DATABASE_URL, that database is filled and
measured at one size). Ends with exit code 1 if a page misses a goal.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
from math import log
from pathlib import Path
from typing import Any

from bench.harness import exit_code, save
from bench.harness import log as tell

MOST_MILLISECONDS = 100
Row = dict[str, Any]


def measured(items: int, folder: Path, *, only: list[str]) -> list[Row]:
    """Measure a size in its own process, which fills the folder if it is new."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "bench.pages", *only, "--one", str(items)]
    run = subprocess.run(
        command,
        env={**os.environ, "EVALSVC_DATA": str(folder)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    rows: list[Row] = json.loads(run.stdout)
    return rows


def measure_here(items: int, only: list[str]) -> list[Row]:
    """Fill the database of this process unless it is filled, and measure."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsvc.settings")
    import django

    django.setup()
    logging.disable()
    from django.core.management import call_command

    from bench.pages import copies, filling, measuring

    filled = Path(os.environ["EVALSVC_DATA"]) / "filled"
    # also where the folder is filled, perhaps by an earlier build
    call_command("collectstatic", interactive=False, verbosity=0)
    call_command("migrate", verbosity=0)
    if not filled.exists():
        tell(f"filling {items:,} items")
        filling.fill(copies.size_of(items))
        filled.touch()
    rows = []
    for page in measuring.pages():
        if not only or page.title.partition("?")[0] in only:
            row = measuring.measure(page)
            rows.append({**page._asdict(), **row._asdict(), "page": page.title})
            tell(f"{items:,} items, {page.title}: {row.milliseconds:.0f} ms, {row.queries} queries")
    return rows


def compared(small: Row, large: Row, factor: float) -> Row:
    """A page at both sizes; its goals are a bound in time, and no more queries for more rows."""
    exponent = log(max(large["milliseconds"], 0.1) / max(small["milliseconds"], 0.1)) / log(factor)
    missed = [
        *(["time"] if large["milliseconds"] > MOST_MILLISECONDS else []),
        *(["queries"] if large["queries"] > small["queries"] else []),
    ]
    figures = {
        name: [round(row[name], 1) for row in (small, large)]
        for name in ("milliseconds", "queries", "kilobytes")
    }
    return {
        "page": small["page"],
        "who": small["who"],
        **figures,
        "exponent": round(exponent, 2),
        "missed": missed,
    }


def table_row(row: Row) -> str:
    (small, large), (few, many) = row["milliseconds"], row["queries"]
    missed = f"  MISSED: {', '.join(row['missed'])}" if row["missed"] else ""
    times = f"{small:8.1f} {large:8.1f} ms  exponent {row['exponent']:5.2f}"
    return f"{row['page']:24.24} {row['who'] or 'nobody':8} {times}  {few:4.0f} {many:4.0f} queries{missed}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.pages", description=__doc__)
    parser.add_argument("pages", nargs="*", metavar="PAGE", help="names of routes, by default all")
    parser.add_argument("--sizes", type=int, nargs=2, default=[100_000, 1_000_000], help="items")
    parser.add_argument("--keep", type=Path, help="folder that keeps the filled databases for the next run")
    parser.add_argument("--one", type=int, help="measure one size in this process and print JSON")
    parser.add_argument("--out", type=Path, default=Path("bench/results"), help="folder for the JSON")
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure_here(arguments.one, arguments.pages)))
        return 0
    root = arguments.keep or Path(tempfile.mkdtemp(prefix="evalsvc-pages-"))
    try:
        small, large = (measured(n, root / str(n), only=arguments.pages) for n in arguments.sizes)
    finally:
        if not arguments.keep:
            shutil.rmtree(root, ignore_errors=True)
    factor = arguments.sizes[1] / arguments.sizes[0]
    rows = [compared(*pair, factor) for pair in zip(small, large, strict=True)]
    for row in rows:
        print(table_row(row))
    print(
        f"Goals: at most {MOST_MILLISECONDS} ms of CPU at the large size, no more queries than at the small."
    )
    print(f"Results written to {save({'pages': rows}, arguments.out / 'pages.json')}")
    return exit_code(rows, "page")


if __name__ == "__main__":
    sys.exit(main())
