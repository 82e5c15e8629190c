"""`python -m tests.crash`: faults at named points of a real service on PostgreSQL and Valkey.

A failed run prints its seed and schedule; the same seed and number of faults give the same schedule.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import django

from tests.crash import points

AT = (*points.WEB, *points.SCORING)
SHORT = {"JOB_LEASE_SECONDS": "3", "JOB_HEARTBEAT_SECONDS": "1", "JOB_RECONCILE_SECONDS": "1"}
PER_ROUND, REACHED_SECONDS, SETTLED_SECONDS = 10, 15, 180
LABELS = ("born_in", "works_for", "part_of", "N/A")


class Service:
    """The processes of `manage.py up`, a Valkey and a PostgreSQL of their own."""

    def __init__(self, folder: Path, cluster: Any, broker: Any, settings: dict[str, str]) -> None:
        from tests.places.workers import environment

        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.folder, self.cluster, self.broker = folder, cluster, broker
        self.url, self.lease = f"http://127.0.0.1:{self.port}", float(settings.get("JOB_LEASE_SECONDS", 10))
        more = {"DJANGO_SETTINGS_MODULE": "tests.crash.settings", "PORT": str(self.port), "DEMO": "0"}
        self.env = environment(broker.url, **more, **settings)
        self.up: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the supervisor again and again, as systemd would, until the web server answers."""
        from evalsvc.local.supervisor import answers

        end = time.monotonic() + 60
        while not (self.up and self.up.poll() is None and answers(f"{self.url}/healthz")):
            if self.up is None or self.up.poll() is not None:
                with (self.folder / "up.log").open("ab") as log:
                    command = [sys.executable, "manage.py", "up"]
                    self.up = subprocess.Popen(command, env=self.env, stdout=log, stderr=log)
            assert time.monotonic() < end, (self.folder / "up.log").read_text()[-2_000:]
            time.sleep(0.3)

    def mains(self, *names: str) -> list[int]:
        """The main processes of web, worker, heavy or beat."""
        from evalsvc.local.child_process import children

        marks = {"web": b"gunicorn", "worker": b"worker@", "heavy": b"heavy@", "beat": b"\0beat\0"}
        result = []
        for pid in children(self.up.pid) if self.up else []:
            with suppress(OSError):
                line = Path(f"/proc/{pid}/cmdline").read_bytes()
                result += [pid for name in names if marks[name] in line]
        return result

    def stop(self) -> None:
        if self.up and self.up.poll() is None:
            self.up.terminate()
            self.up.wait(60)


def send(pids: list[int], number: int, *, group: bool = False) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            (os.killpg if group else os.kill)(pid, number)


def suspend(service: Service, pids: list[int], *, group: bool = False) -> None:
    """Stop processes for twice the lease."""
    send(pids, signal.SIGSTOP, group=group)
    time.sleep(2 * service.lease)
    send(pids, signal.SIGCONT, group=group)


def stop_database(service: Service, mode: str, times: int = 1) -> None:
    for n in range(times):
        if n:
            time.sleep(15)
        service.cluster.stop(mode=mode)
        service.cluster.start()


def kill_broker(service: Service, *, away: float = 0, wiped: bool = False) -> None:
    service.broker.process.kill()
    service.broker.process.wait()
    time.sleep(away)
    service.broker.start()
    if wiped:
        service.broker.clear()


def move_storage_away(service: Service) -> None:
    """The folder is gone for some seconds, as a mount would be."""
    files = service.folder / "files"
    away = files.rename(files.with_name("away"))
    time.sleep(3)
    with suppress(FileNotFoundError):
        files.rename(files.with_name(f"meanwhile-{time.monotonic_ns()}"))
    away.rename(files)


Fault = Callable[[Service, list[int]], None]
FAULTS: dict[str, Fault] = {
    "SIGKILL child": lambda service, caught: send(caught, signal.SIGKILL),
    "SIGTERM child": lambda service, caught: send(caught, signal.SIGTERM),
    "SIGSTOP child": suspend,
    "SIGKILL worker": lambda service, _: send(service.mains("worker"), signal.SIGKILL),
    "SIGKILL whole worker": lambda service, _: send(service.mains("worker"), signal.SIGKILL, group=True),
    "SIGTERM worker": lambda service, _: send(service.mains("worker"), signal.SIGTERM),
    "SIGSTOP worker": lambda service, _: suspend(service, service.mains("worker"), group=True),
    "SIGKILL web": lambda service, _: send(service.mains("web"), signal.SIGKILL, group=True),
    "SIGTERM web": lambda service, _: send(service.mains("web"), signal.SIGTERM),
    "SIGSTOP web": lambda service, _: suspend(service, service.mains("web"), group=True),
    "SIGKILL beat": lambda service, _: send(service.mains("beat"), signal.SIGKILL),
    "SIGSTOP beat": lambda service, _: suspend(service, service.mains("beat")),
    "SIGKILL supervisor": lambda service, _: send([service.up.pid] if service.up else [], signal.SIGKILL),
    "SIGTERM supervisor": lambda service, _: send([service.up.pid] if service.up else [], signal.SIGTERM),
    "broker killed": lambda service, _: kill_broker(service),
    "broker wiped": lambda service, _: kill_broker(service, wiped=True),
    "database stopped at once": lambda service, _: stop_database(service, "immediate"),
    "database restarted": lambda service, _: stop_database(service, "fast"),
    "storage away": lambda service, _: move_storage_away(service),
}
LONG_FAULTS: dict[str, Fault] = {
    "broker away 60 s": lambda service, _: kill_broker(service, away=60),
    "database stopped four times in a minute": lambda service, _: stop_database(service, "immediate", 4),
}


def schedule(seed: int, n: int) -> list[tuple[str, str]]:
    """Points and faults in a random order; one in fifty is a long one."""
    dice, pairs = random.Random(seed), [(at, fault) for at in AT for fault in FAULTS]
    result: list[tuple[str, str]] = []
    while len(result) < n:
        result += dice.sample(pairs, len(pairs))
    for place in range(dice.randrange(50), n, 50):
        result[place] = (result[place][0], dice.choice(sorted(LONG_FAULTS)))
    return result[:n]


class Run:
    """One run: its service, and what was accepted."""

    def __init__(self, service: Service, seed: int) -> None:
        from evalsvc.core.accounts.tokens import issue
        from tests.cast.benchmarks import BenchmarkCast

        self.service, self.dice, self.accepted = service, random.Random(seed), dict[int, list[str]]()
        cast = BenchmarkCast.create()
        self.benchmark, self.team = cast.relations(), cast.kelpie
        self.token = issue(cast.kim, name="crash", team=cast.kelpie, scope="full")[1]
        self.clients: list[threading.Thread] = []

    def submit(self, run: int) -> None:
        """Send a run until it is accepted."""
        from tests.cast.benchmarks import RELATION_GOLD

        labels = [self.dice.choice(LABELS) for _ in RELATION_GOLD]
        lines = [
            json.dumps({"id": each["id"], "label": label})
            for each, label in zip(RELATION_GOLD, labels, strict=True)
        ]
        client = threading.Thread(target=self._send, args=(run, labels, "\n".join(lines).encode()))
        client.start()
        self.clients.append(client)

    def _send(self, run: int, labels: list[str], body: bytes) -> None:
        address = f"{self.service.url}/api/v1/benchmarks/{self.benchmark.slug}/submissions"
        headers = {"Authorization": f"Bearer {self.token}", "Idempotency-Key": f"run {run}"}
        headers["Content-Type"] = "application/x-ndjson"
        end = time.monotonic() + SETTLED_SECONDS
        while time.monotonic() < end:
            with suppress(OSError, ValueError):  # every error of HTTP is an OSError or ValueError here
                request = urllib.request.Request(f"{address}?system=Net&run={run}", body, headers)
                with urllib.request.urlopen(request, timeout=15) as response:
                    self.accepted[json.load(response)["id"]] = labels
                    return
            time.sleep(0.5)

    def inject(self, number: int, at: str, fault: str) -> bool:
        """Arm the point, send work, apply the fault there; return True if it was reached."""
        folder = Path(os.environ[points.FOLDER])
        (folder / f"{at}.armed").touch()
        self.submit(number)
        end, caught = time.monotonic() + REACHED_SECONDS, list[Path]()
        while not caught and time.monotonic() < end:
            time.sleep(0.02)
            caught = list(folder.glob(f"{at}.[0-9]*"))
        (FAULTS | LONG_FAULTS)[fault](self.service, [int(path.suffix[1:]) for path in caught])
        for path in folder.iterdir():
            path.unlink(missing_ok=True)
        self.service.start()
        return bool(caught)

    def settle(self) -> float:
        """Wait until everything has ended; return the seconds."""
        from django.db import DatabaseError, connection

        from evalsvc.core.jobs.models import Job

        start = time.monotonic()
        for client in self.clients:
            client.join()
        while time.monotonic() < start + SETTLED_SECONDS:
            try:
                if not Job.objects.exclude(state__in=Job.ENDED).exists():
                    break
            except DatabaseError:
                connection.close()
            time.sleep(0.2)
        return time.monotonic() - start

    def wrong(self) -> list[str]:
        """What does not hold after the faults."""
        from django.db.models import Count

        from evalsvc.core.jobs.models import Job, JobEvent
        from evalsvc.core.upkeep import registry
        from evalsvc.evaluation.benchmarks import quotas
        from evalsvc.evaluation.models import PredictionFile, Submission

        result = [f"job {job.pk}: {job.state} {job.error_code}" for job in Job.objects.exclude(state="done")]
        rows = Submission.objects.in_bulk(self.accepted)
        for pk, labels in self.accepted.items():
            values = list(
                rows[pk].evaluations.values_list("scores__value", "scores__reason", "scores__measure")
            )
            value = [value for value, _, measure in values if measure == "micro_f1"]
            if rows[pk].state != "scored" or value != [expected(labels)]:
                result.append(f"submission {pk}: {rows[pk].state} {value}, not {expected(labels)}")
        twice = JobEvent.objects.filter(what="done").values("job").annotate(n=Count("pk")).filter(n__gt=1)
        result += [f"job {row['job']} done {row['n']} times" for row in twice]
        if (used := Submission.objects.filter(quotas.COUNTED).count()) != len(self.accepted):
            result.append(f"{used} submissions count against the quota, not {len(self.accepted)}")
        root, before = self.service.folder / "files", time.time() - 7_200
        for path in filter(Path.is_file, root.rglob("*")):
            os.utime(path, (before, before))
        registry.sweep()
        stored = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}
        result += [
            f"orphan {name}" for name in stored - {*PredictionFile.objects.values_list("name", flat=True)}
        ]
        return result + [f"{finding.code}: {finding.detail}" for finding in registry.findings()]


def expected(labels: list[str]) -> float:
    """Micro F1 by hand."""
    from tests.cast.benchmarks import RELATION_GOLD

    gold = [each["relations"] for each in RELATION_GOLD]
    hits = sum(label in names for label, names in zip(labels, gold, strict=True))
    predicted = sum(label != "N/A" for label in labels)
    return 2 * hits / (predicted + sum(map(len, gold)))


def attack(run: Run, faults: list[tuple[str, str]]) -> bool:
    """Inject all faults, some a round; report every round and return True if all held."""
    reached = 0
    for first in range(0, len(faults), PER_ROUND):
        part = faults[first : first + PER_ROUND]
        for number, (at, fault) in enumerate(part, first):
            reached += run.inject(number, at, fault)
        seconds, wrong = run.settle(), run.wrong()
        done = first + len(part)
        counts = f"{reached} at their point, {len(run.accepted)} accepted, settled in {seconds:.1f} s"
        print(f"{done} faults, {counts}, wrong: {wrong or 'nothing'}", flush=True)  # noqa: T201
        if wrong:
            print("schedule:", json.dumps(faults[:done], ensure_ascii=False))  # noqa: T201
            return False
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--faults", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--settings", choices=("short", "production"), default="short")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # ends the service, too
    print(f"seed {options.seed}, {options.faults} faults, {options.settings} settings", flush=True)  # noqa: T201
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    django.setup()
    from django.conf import settings
    from environ import Env

    from evalsvc.local.embedded_broker import EmbeddedBroker
    from tests.places import postgres as pg

    folder = Path(settings.DATA_DIR)
    os.environ[points.FOLDER] = str(folder / "points")
    (folder / "points").mkdir()
    (folder / "files").mkdir()
    cluster, broker = pg.Cluster(), EmbeddedBroker(folder / "crash-broker")
    broker.start()
    entry = {**Env.db_url_config(cluster.url), "CONN_MAX_AGE": 0}
    with pg.default_is(entry):
        service = Service(folder, cluster, broker, SHORT if options.settings == "short" else {})
        try:
            pg.migrate()
            service.start()
            held = attack(Run(service, options.seed), schedule(options.seed, options.faults))
        finally:
            service.stop()
            broker.close()
            cluster.close()
    raise SystemExit(not held)


if __name__ == "__main__":
    main()
