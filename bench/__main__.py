"""`python -m bench [CASE …]`: measure the given cases, or all.

Ends with exit code 1 if a case misses a goal.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from bench import harness
from bench.cases import CASES


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--one", choices=CASES, help="measure in this process and print JSON")
    parser.add_argument("--peak", nargs=2, metavar=("CASE", "SIDE"), help="print the peak memory of one side")
    parser.add_argument("--out", type=Path, default=Path("bench/results"), help="folder for the JSON")
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(harness.measure(CASES[arguments.one]())))
        return 0
    if arguments.peak:
        key, name = arguments.peak
        print(harness.peak(getattr(CASES[key](), name)))
        return 0
    unknown = set(arguments.cases) - set(CASES)
    if unknown:
        parser.error(f"unknown case: {', '.join(sorted(unknown))}")
    rows = []
    for key in arguments.cases or CASES:
        rows.append(harness.measure_apart(key))
        case = CASES[key]()
        if case.memory:
            rows[-1]["peaks"] = harness.peaks(key, case)
            rows[-1]["peak of ours"] = rows[-1]["peaks"][case.ours.name]
        rows[-1] = harness.judged(rows[-1], case.goals)
        print(harness.table_row(rows[-1]), flush=True)
    path = arguments.out / f"{time.strftime('%Y%m%d-%H%M%S')}.json"
    print(f"Results written to {harness.save({'cases': rows}, path)}")
    return harness.exit_code(rows, "key")


if __name__ == "__main__":
    sys.exit(main())
