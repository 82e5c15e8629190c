"""Read damaged files: `python -m tests.fuzz FIRST COUNT [STEP]`; prints one JSON line per failure.

Each file goes to one reader, in turn, all in this process. A reader may refuse it, within 2 seconds of
processor time and 256 MB more than at the start; anything else is a failure. The number alone makes the file
again.
"""

from __future__ import annotations

import base64
import json
import os
import resource
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

SECONDS, BYTES = 2, 256_000_000


class TooSlow(BaseException):
    """The reader had its time; no reader may catch this."""


def stop(*_: object) -> None:
    raise TooSlow


def report(fields: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(fields) + "\n")
    sys.stdout.flush()


def main(first: int, count: int, step: int = 1) -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # each thread would take address space
    import django

    django.setup()
    from tests.fuzz.mutations import damaged, examples, seeds
    from tests.fuzz.readers import readers

    table, known, fitting, failures = list(readers().items()), seeds(), examples(), 0
    for name, read in table:  # the libraries that it loads take no memory of an input
        with suppress(Exception):
            read(fitting.get(name.rpartition(" ")[2], b"\0"))
    slowest, used, began = 0.0, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + BYTES, size + BYTES))
    signal.signal(signal.SIGPROF, stop)
    for number in range(first, first + count * step, step):
        name, read = table[number % len(table)]
        data = damaged(known, number, fitting=fitting.get(name.rpartition(" ")[2], b""))
        start, error = time.process_time(), ""
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            read(data)
        except BaseException as found:  # noqa: BLE001 - whatever it is, it is a failure
            error = f"{type(found).__name__}: {found}"[:300]
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        seconds = time.process_time() - start
        slowest = max(slowest, seconds)
        if error:
            failures += 1
            shown = base64.b64encode(data[:3_000]).decode()
            report({"number": number, "reader": name, "error": error, "seconds": seconds, "data": shown})
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - used) / 1_000
    spent = {"slowest": round(slowest, 2), "megabytes": round(grown), "seconds": time.process_time() - began}
    report({"inputs": count, "failures": failures, **spent})
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
