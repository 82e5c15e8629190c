"""Export of a large release: seconds, memory, and whether the bytes are the same each time."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

from bench.harness import Goal

if TYPE_CHECKING:  # the measured process sets Django up first
    from bench.service.running import Service

ITEMS, ANSWERS, CHUNK = 100_000, 4, 5_000
Report = dict[str, Any]


def release(service: Service) -> Report:
    """Export 100,000 sentences with four answers each, twice, each time in a new process."""
    slug = create(service, ITEMS)
    runs = [_measured(slug) for _ in range(3)]
    return {
        "case": f"release of {ITEMS:,} items with {ANSWERS * ITEMS:,} answers",
        "goals": [
            Goal("seconds", most=5, unit=" s"),
            Goal("peak", most=200, unit=" MB"),
            Goal("files", most=1),
        ],
        "seconds": sorted(run["seconds"] for run in runs)[1],
        "slowest": max(run["seconds"] for run in runs),
        "peak": max(run["peak"] for run in runs),
        "megabytes": round(runs[0]["bytes"] / 1e6, 1),
        "files": len({run["sha256"] for run in runs}),
    }


def _measured(slug: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "bench.service.releases", slug]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ)
    return json.loads(done.stdout.splitlines()[-1])


def create(service: Service, n: int) -> str:
    """Store a frozen set as a freeze does, without the votes that it would read."""
    from django.utils import timezone

    from annotation.freezing import writer
    from annotation.testset import TestSet, TestSetRow

    test_set = writer.create_test_set(
        name="Large release", version="1.0", origin="annotated", kind="relations", by=service.olga
    )
    for start in range(0, n, CHUNK):
        rows = [_row(test_set, at) for at in range(start, min(start + CHUNK, n))]
        TestSetRow.objects.bulk_create(rows, batch_size=500)
    counts = {"settled": n, "open": 0, "disputed": 0, "unusable": 0, "answers": ANSWERS * n}
    written = writer.digests(test_set)
    TestSet.objects.filter(pk=test_set.pk).update(
        state="frozen",
        rows=n,
        sha256=written.gold,
        labels=[{"name": "lived_in", "title": "place lived"}, {"name": "born_in", "title": "place of birth"}],
        manifest=written.in_manifest({"policy": "majority", "k": ANSWERS, "counts": counts}),
        statistics={"sentences": n, "labels": {"lived_in": n // 2, "born_in": n - n // 2}},
        frozen_at=timezone.now(),
    )
    return test_set.slug


def _row(test_set: Any, at: int) -> Any:
    from annotation.testset import TestSetRow
    from evalsvc.core.formats.records import canonical_line

    label = ("lived_in", "born_in")[at % 2]
    words = " ".join(hashlib.sha256(f"{at} {n}".encode()).hexdigest()[: 4 + n % 7] for n in range(22))
    text = f"Ada was seen in Turin, {words}."
    gold = {
        "id": f"s{at}",
        "text": text,
        "h": {"id": f"Q{at % 9_973}", "name": "Ada", "pos": [0, 3]},
        "t": {"id": f"P{at % 7_919}", "name": "Turin", "pos": [16, 21]},
        "relations": [label],
    }
    answers = [
        {"by": f"a{(at + n) % 12}", "relations": [label], "milliseconds": 9_000 + 37 * n}
        for n in range(ANSWERS)
    ]
    provenance = {
        "id": f"s{at}",
        "state": "settled",
        "k": ANSWERS,
        "pattern": str(ANSWERS),
        "labels": [{"label": label, "for": ANSWERS, "against": 0, "gold": True}],
        "answers": answers,
    }
    line, row = (canonical_line(value).decode().rstrip("\n") for value in (gold, provenance))
    return TestSetRow(test_set=test_set, number=at + 1, external_id=f"s{at}", line=line, provenance=row)


def main() -> None:
    """Export one set in this process, and print time, memory and digest."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsvc.settings")
    import resource

    import django

    django.setup()
    from annotation.releases.folder import zip_of
    from annotation.testset import TestSet

    test_set = TestSet.objects.get(slug=sys.argv[1])
    digest, size, begun = hashlib.sha256(), 0, time.perf_counter()
    for part in zip_of(test_set):
        digest.update(part)
        size += len(part)
    seconds = time.perf_counter() - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_000
    print(
        json.dumps(
            {
                "seconds": round(seconds, 2),
                "peak": round(peak, 1),
                "bytes": size,
                "sha256": digest.hexdigest(),
            }
        )
    )


if __name__ == "__main__":
    main()
