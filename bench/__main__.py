"""`python -m bench [CASE …]`: measure the named comparisons, or all of them."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from bench import harness
from bench.cases import CASES


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--one", choices=CASES, help="measure in this very process and print JSON")
    parser.add_argument("--peak", nargs=2, metavar=("CASE", "SIDE"), help="print one side's peak of memory")
    parser.add_argument("--out", type=Path, default=Path("bench/results"), help="folder for the JSON")
    chosen = parser.parse_args()
    if chosen.one:
        print(json.dumps(harness.measure(CASES[chosen.one]())))
        return
    if chosen.peak:
        key, name = chosen.peak
        print(harness.peak(getattr(CASES[key](), name)))
        return
    unknown = set(chosen.cases) - set(CASES)
    if unknown:
        parser.error(f"no such case: {', '.join(sorted(unknown))}")
    rows = []
    for key in chosen.cases or CASES:
        rows.append(harness.apart(key))
        case = CASES[key]()
        if case.memory:
            rows[-1]["peaks"] = harness.peaks(key, case)
        print(harness.line(rows[-1]), flush=True)
    print(f"Written to {harness.save(rows, chosen.out)}")


if __name__ == "__main__":
    main()
