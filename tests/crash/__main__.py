"""`python -m tests.crash`: faults at named points of a real service on PostgreSQL and Valkey.

A failed run prints its seed and schedule; the same seed and number of faults give the same schedule.
"""

from __future__ import annotations

import argparse
import atexit
import json
import os
import random
import shutil
import signal
import sys
import threading
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from io import StringIO
from pathlib import Path
from statistics import median

import django

from tests.crash import checks, faults, points
from tests.crash.clients import RUNS_BEFORE, Clients
from tests.crash.faults import Pair
from tests.crash.service import Service, Strike

SHORT = {"JOB_LEASE_SECONDS": "2", "JOB_RECONCILE_SECONDS": "1"}
PER_ROUND, AT_ONCE = 40, 8
REACHED_SECONDS, SETTLED_SECONDS = 20, 300


class Run:
    """One run: its service and clients."""

    def __init__(self, service: Service, clients: Clients) -> None:
        self.service, self.clients = service, clients
        self.points: dict[str, threading.Lock] = defaultdict(threading.Lock)
        self.restarted = 0
        self.killed: list[tuple[int, int, float]] = []  # job, attempt, when its process was killed

    def begin(self) -> None:
        """Score the runs that are scored again later, and begin to vote."""
        for number in range(RUNS_BEFORE):
            self.clients.send_run(self.clients.new_run("again", number))
        self.wait_for_jobs()
        for who in ("ann0", "ann1"):
            threading.Thread(target=self.clients.label, args=[who], daemon=True).start()

    def inject(self, number: int, at: str, fault: str) -> bool:
        """Arm the point, send work, apply the fault there; return True if it was reached."""
        with self.points[at]:
            strike = Strike(self.service, at)
            strike.arm()
            self.clients.send_for(strike, number)
            end = time.monotonic() + REACHED_SECONDS
            while not (reached := strike.is_reached()) and time.monotonic() < end:
                time.sleep(0.02)
            if fault in ("SIGKILL child", "SIGKILL whole worker"):
                self.killed += running_jobs(strike.pids)
            faults.FAULTS[fault](strike)
            strike.release()
            return reached

    def repairs(self) -> list[float]:
        """Return the seconds from each kill until another attempt of the job began."""
        from evalsvc.core.jobs.models import JobEvent

        claims = JobEvent.objects.filter(what="claimed").order_by("at")
        later = [
            (claims.filter(job=job, attempt__gt=attempt).first(), at) for job, attempt, at in self.killed
        ]
        return [claim.at.timestamp() - at for claim, at in later if claim]

    def settle(self) -> float:
        """Wait until everything has ended, cured and retried where an operator must; return the seconds."""
        start = time.monotonic()
        for thread in self.clients.threads:
            thread.join()
        self.clients.threads.clear()
        self.wait_for_jobs()
        self.heal()
        self.retry()
        self.wait_for_jobs()
        return time.monotonic() - start

    def wait_for_jobs(self) -> None:
        from django.db import DatabaseError, connection

        from evalsvc.core.jobs.models import Job

        end = time.monotonic() + SETTLED_SECONDS
        while time.monotonic() < end:
            try:
                if not Job.objects.exclude(state__in=Job.ENDED).exists():
                    return
            except DatabaseError:
                connection.close()
            time.sleep(0.2)

    def heal(self) -> None:
        """Send the bytes of damaged files again, as their team is told to."""
        from evalsvc.core.upkeep.stored_files import all_files

        damaged = {file.sha256 for file in all_files() if file.difference()}
        for run in [run for run in self.clients.runs if run.sha256 in damaged]:
            again = self.clients.new_run(run.board, run.number, run.answers)
            again.run = f"{run.run} again"
            self.clients.send_run(again)

    def retry(self) -> None:
        """Restart what was damaged, and what was really killed three times."""
        from django.core.management import call_command

        from evalsvc.core.jobs.models import Job
        from evalsvc.core.jobs.transitions import CRASHES_ALLOWED

        for job in Job.objects.filter(state="failed", error_code__in=("file_changed", "worker_lost")):
            killed = job.events.filter(what="lost").count() >= CRASHES_ALLOWED - 1
            if killed if job.error_code == "worker_lost" else job.kind == "score":
                call_command("jobs", "retry", str(job.pk), stdout=StringIO())
                self.restarted += 1


def running_jobs(pids: list[int]) -> list[tuple[int, int, float]]:
    """Return job, attempt and the time now of what these processes run, unless the database is away."""
    from django.db import DatabaseError, connection

    from evalsvc.core.jobs.models import Job

    try:
        running = list(Job.objects.filter(state="running"))
    except DatabaseError:
        return []
    finally:
        connection.close()
    return [(job.pk, job.attempt, time.time()) for job in running if int(job.worker.split(":")[1]) in pids]


def attack(run: Run, pairs: list[Pair]) -> bool:
    """Inject all faults, some at once; report every round and return True if all held."""
    reached, begun = 0, time.monotonic()
    with ThreadPoolExecutor(AT_ONCE) as pool, ExitStack() as end:
        end.callback(pool.shutdown, wait=False, cancel_futures=True)  # a stopped run begins no more faults
        for first in range(0, len(pairs), PER_ROUND):
            part = pairs[first : first + PER_ROUND]
            reached += sum(
                pool.map(lambda each: run.inject(*each), [(n, *pair) for n, pair in enumerate(part, first)])
            )
            with run.clients.voting:
                seconds, wrong = run.settle(), checks.wrong(run.clients)
            done, clients, times = first + len(part), run.clients, run.repairs()
            print(  # noqa: T201
                f"{time.monotonic() - begun:.0f} s: {done} faults, {reached} at their point;",
                f"{len(clients.runs)} runs, {len(clients.model_runs)} models, {len(clients.imports)}",
                f"imports, {len(clients.frozen)} freezes, {len(clients.derived)} derived sets,",
                f"{len(clients.votes)} votes,",
                f"{run.restarted} jobs restarted,",
                f"{len(times)} jobs of killed processes ran again,",
                f"median {median(times):.1f} s, at most {max(times):.1f} s," if times else "",
                f"settled in {seconds:.1f} s, wrong: {wrong or 'nothing'}",
                flush=True,
            )
            if wrong:
                print("schedule:", json.dumps(pairs[:done], ensure_ascii=False))  # noqa: T201
                return False
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--faults", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--settings", choices=("short", "production"), default="short")
    parser.add_argument("--fault", choices=sorted(faults.FAULTS), help="only this one, while runs are scored")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # ends the service, too
    print(f"seed {options.seed}, {options.faults} faults, {options.settings} settings", flush=True)  # noqa: T201
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    django.setup()
    from django.conf import settings
    from environ import Env

    from evalsvc.local.embedded_broker import EmbeddedBroker
    from tests.places import postgres as pg
    from workers.sandbox.readiness import readiness

    folder = Path(settings.DATA_DIR)
    os.environ[points.FOLDER] = str(folder / "points")
    (folder / "points").mkdir()
    (folder / "files").mkdir()
    models = readiness()
    if not models.ready:
        print(f"without models: {models.reason}", flush=True)  # noqa: T201
    cluster, broker = pg.Cluster(), EmbeddedBroker(folder / "crash-broker")
    broker.start()
    entry = {**Env.db_url_config(cluster.url), "CONN_MAX_AGE": 0}
    with pg.default_is(entry):
        service = Service(folder, cluster, broker, SHORT if options.settings == "short" else {})
        try:
            pg.migrate()
            run = Run(service, Clients(service, random.Random(options.seed), models.ready))
            service.start()
            run.begin()
            schedule = faults.schedule(options.seed, options.faults, models=models.ready)
            if options.fault:
                at = random.Random(options.seed).choices(points.SCORING, k=options.faults)
                schedule = [(point, options.fault) for point in at]
            held = attack(run, schedule)
            run.clients.ended.set()
        finally:
            service.stop()
            broker.close()
            cluster.close()
    if not held:
        atexit.unregister(shutil.rmtree)
        print(f"logs: {folder}")  # noqa: T201
    raise SystemExit(not held)


if __name__ == "__main__":
    main()
