"""`python -m bench.simulation measure | check | table`: waits in the queue by number of worker processes.

`measure` stores the seconds of real scoring jobs in `bench/simulation/measured.json`. `check` plays loads to
real workers of 1, 2 and 4 processes and compares their waits with simulated ones. `table` finds the fewest
processes for up to 10,000 teams before a deadline. Both take those seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from bench.harness import log, save

GOALS = {"1 min": 60.0, "5 min": 300.0}
TEAMS = (20, 100, 500, 1_000, 5_000, 10_000)
SIZES, LANES, FILES, MEAN_SECONDS = ("sentences", "pairs"), 10, 12, 0.5


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench.simulation", description=__doc__)
    parser.add_argument("what", choices=("measure", "check", "table"))
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2, 4], help="check: of the worker")
    parser.add_argument("--seconds", type=float, default=25, help="check: of each load")
    parser.add_argument("--repeats", type=int, default=4, help="check: loads with and without kills")
    parser.add_argument("--teams", type=int, nargs="+", default=TEAMS, help="table: teams")
    parser.add_argument("--files", nargs="+", default=SIZES, help="table: what teams submit")
    parser.add_argument("--each", type=int, default=5, help="table: submissions of a team")
    parser.add_argument("--hours", type=float, default=1, help="table: half of them come in the last tenth")
    parser.add_argument(
        "--crash-hours", type=float, default=10, help="table: hours between crashes of a process"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("bench/results"), help="folder for the JSON")
    return parser.parse_args()


def main() -> None:
    arguments = parse()
    folder = Path(tempfile.mkdtemp(prefix="evalsvc-simulation-"))
    os.environ["EVALSVC_DATA"] = str(folder)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsvc.settings")
    import django

    django.setup()
    try:
        rows = {"measure": measure, "check": check, "table": table}[arguments.what](arguments, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    path = save({"seed": arguments.seed, "rows": rows}, arguments.out / f"simulation-{arguments.what}.json")
    print(f"Results written to {path}")


def measure(arguments: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    """Score files that wait, with one process; store quantiles of the seconds of jobs and between them."""
    from bench.service import inputs
    from bench.service.running import Service, wait_until
    from bench.simulation import arrivals, real
    from evalsvc.core.jobs.models import Job
    from evalsvc.evaluation.models import Submission

    quantiles: dict[str, Any] = {"machine load": round(os.getloadavg()[0], 1)}
    gaps: list[float] = []
    with Service(folder) as service:
        inputs.create_board(service, "sentences", inputs.documents(), labels=inputs.TYPES, unit="document")
        inputs.create_board(service, "pairs", inputs.pairs())
        for slug, make in (("sentences", inputs.predictions), ("pairs", inputs.claims)):
            bodies = [inputs.jsonl(make(run)) for run in range(FILES)]
            sent = [service.submit(slug, body, run=str(run))["id"] for run, body in enumerate(bodies)]
            log(f"{slug}: {FILES} files accepted")
            jobs = Job.objects.filter(pk__in=Submission.objects.filter(pk__in=sent).values("job"))
            wait_until(lambda jobs=jobs: not jobs.exclude(state__in=Job.ENDED).exists(), every=0.5)  # type: ignore[misc]
            seen = real.measured([*jobs.order_by("pk").values_list("pk", flat=True)])
            quantiles[slug] = arrivals.quantiles(seen.service)
            gaps += [*seen.gaps]
    quantiles["gaps"] = arrivals.quantiles(np.array(gaps))
    arrivals.MEASURED.write_text(json.dumps(quantiles) + "\n")
    return [quantiles]


def check(arguments: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    """Play a load without kills and one with; compare each with its simulation."""
    from django.core.management import call_command

    from bench.simulation import real
    from bench.simulation.arrivals import before_deadline, measured
    from evalsvc.celery import app
    from evalsvc.local.embedded_broker import EmbeddedBroker

    call_command("migrate", verbosity=0)
    broker, times, rows = EmbeddedBroker(folder / "broker"), measured("pairs"), list[dict[str, Any]]()
    times *= MEAN_SECONDS / times.mean()
    broker.start()
    app.conf.broker_url = broker.url
    kills = tuple(np.arange(4.0, arguments.seconds, 8.0))
    try:
        for n in arguments.processes:
            each = max(1, round(n * arguments.seconds / float(np.mean(times)) / LANES))
            with real.workers(folder, broker, n) as worker:
                for crashes in ((), kills):
                    played = []
                    for seed in range(arguments.repeats):
                        load = before_deadline(
                            teams=LANES, each=each, hours=arguments.seconds / 3600, service=times,
                            seed=10 * arguments.seed + seed,
                        )  # fmt: skip
                        played.append((load, real.play(load, worker, crashes=crashes, seed=seed)))
                    rows.append(compare(played, n, crashes))
                    log(str(rows[-1]))
    finally:
        broker.close()
    return rows


def compare(played: list[tuple[Any, Any]], n: int, crashes: tuple[float, ...]) -> dict[str, Any]:
    """Compare p95 of the wait and of the time to the end, over some loads, with the median of simulations.

    Each run itself gives what a busy machine adds to the seconds of a job and takes between two jobs, drawn
    anew by each simulation. Turns, waits, leases and repeated jobs are what is compared.
    """
    from bench.simulation.arrivals import draw
    from bench.simulation.model import Fleet, Load, Simulation

    repair = float(np.median([seen.repair for _, seen in played]))
    gaps = np.concatenate([seen.gaps for _, seen in played])
    fleet, runs = Fleet(n, gaps=gaps, crashes=crashes, repair=repair), []
    for seed in range(20):
        run = []
        for load, seen in played:
            added = np.sort(seen.service - load.seconds)
            seconds = load.seconds + draw(added[~np.isnan(added)], len(load.at), np.random.default_rng(seed))
            run.append(Simulation(Load(load.at, load.lane, seconds), fleet, seed=seed).run())
        runs.append(run)
    row: dict[str, Any] = {
        "processes": n, "jobs": sum(len(load.at) for load, _ in played),
        "crashes": len(crashes) * len(played), "repair": round(repair, 2),
        "gap": round(float(np.median(gaps)), 4), "machine load": round(os.getloadavg()[0], 1),
    }  # fmt: skip
    for name in ("waits", "ends"):
        real = _p95([seen for _, seen in played], name)
        simulated = float(np.median([_p95(run, name) for run in runs]))
        ratio = round(simulated / real, 3)
        row[name] = {"real": round(real, 3), "simulated": round(simulated, 3), "ratio": ratio}
    return row


def _p95(results: list[Any], name: str) -> float:
    """Return the percentile over the jobs of several loads."""
    return float(np.nanpercentile(np.concatenate([getattr(each, name) for each in results]), 95))


def table(arguments: argparse.Namespace, _: Path) -> list[dict[str, Any]]:
    """Find the fewest processes that keep the p95 of waits within each goal."""
    from bench.simulation.arrivals import measured

    rows = []
    for size in arguments.files:
        times, gaps = measured(size), measured("gaps")
        for teams in arguments.teams:
            row: dict[str, Any] = {"files": size, "teams": teams}
            row |= {goal: fewest(arguments, teams, times, gaps, limit) for goal, limit in GOALS.items()}
            rows.append(row)
            log(str(row))
    return rows


def fewest(arguments: argparse.Namespace, teams: int, times: Any, gaps: Any, limit: float) -> int:
    """Bisect the number of processes, from the work of the last tenth of the time; more never wait longer."""
    work = teams * arguments.each / 2 * (float(np.mean(times)) + float(np.mean(gaps)))
    low, high = 0, max(1, round(work / (360 * arguments.hours + limit)))
    while p95(arguments, teams, times, gaps, high) > limit:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if p95(arguments, teams, times, gaps, middle) > limit:
            low = middle
        else:
            high = middle
    return high


def p95(arguments: argparse.Namespace, teams: int, times: Any, gaps: Any, processes: int) -> float:
    """Simulate the deadline with this many processes."""
    from bench.simulation.arrivals import before_deadline
    from bench.simulation.model import Fleet, Simulation

    load = before_deadline(
        teams=teams, each=arguments.each, hours=arguments.hours, service=times, seed=arguments.seed
    )
    rng = np.random.default_rng(arguments.seed)
    span = 3600 * arguments.hours
    crashes = np.sort(rng.random(rng.poisson(processes * arguments.hours / arguments.crash_hours)) * span)
    fleet = Fleet(processes, gaps=gaps, crashes=crashes, unavailable=0.001)
    return float(np.percentile(Simulation(load, fleet, seed=arguments.seed).run().waits, 95))


if __name__ == "__main__":
    main()
