"""Every fault, and schedules of them."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psycopg

from tests.crash import points
from tests.crash.service import Strike, send, suspend

AT = (*points.WEB, *points.SCORING, *points.LONG, "inserting")
OWN_FILE = ("file stored", *points.SCORING)
GOLD = (*points.SCORING, "rescoring", "splitting", "mapping")


def stop_database(strike: Strike, mode: str, times: int = 1) -> None:
    service = strike.service
    with service.cluster_held:
        for n in range(times):
            if n:
                time.sleep(15 * service.part_of_production)
            service.cluster.stop(mode=mode)
            service.cluster.start()


def kill_broker(strike: Strike, *, away: float = 0, wiped: bool = False) -> None:
    service = strike.service
    with service.broker_held:
        service.broker.process.kill()
        service.broker.process.wait()
        if away:
            strike.release()
            time.sleep(away * service.part_of_production)
        service.broker.start()
        if wiped:
            service.broker.clear()


def move_storage_away(strike: Strike) -> None:
    """The folder is gone for a while, as a mount would be."""
    strike.release()
    files = strike.service.folder / "files"
    with strike.service.storage_held:
        away = files.rename(files.with_name("away"))
        time.sleep(5 * strike.service.part_of_production)
        with suppress(FileNotFoundError):
            files.rename(files.with_name(f"meanwhile-{time.monotonic_ns()}"))
        away.rename(files)


def fill_storage(strike: Strike) -> None:
    """No file can be written to its end for a while."""
    full = Path(os.environ[points.FOLDER], points.FULL)
    strike.release()
    with strike.service.storage_held:
        full.touch()
        time.sleep(5 * strike.service.part_of_production)
        full.unlink()


def flip_own_file(strike: Strike) -> None:
    """Another byte in the file that was sent, if it is stored already."""
    files = strike.service.folder / "files" / "predictions"
    with strike.service.storage_held, suppress(FileNotFoundError):
        for path in files.rglob(f"{strike.stored}*"):
            content = bytearray(path.read_bytes())
            content[len(content) // 2] ^= 1
            path.write_bytes(content)


def flip_gold(strike: Strike) -> None:
    """Another character in a frozen line, until the operator restores it."""
    where = "test_set_id = (SELECT id FROM annotation_testset WHERE slug = %s) AND number = 1"
    line = insist(strike, f"SELECT line FROM annotation_testsetrow WHERE {where}", strike.gold)[0][0]
    change = f"UPDATE annotation_testsetrow SET line = %s WHERE {where}"
    insist(strike, change, line[:5] + chr(ord(line[5]) ^ 1) + line[6:], strike.gold)
    strike.release()
    time.sleep(2 * strike.service.lease)
    insist(strike, change, line, strike.gold)


def insist(strike: Strike, statement: str, *values: str) -> list[tuple[str]]:
    """Repeat a statement until PostgreSQL is there."""
    while True:
        with suppress(psycopg.OperationalError):
            return strike.service.sql(statement, *values)
        time.sleep(0.3)


def kill_model(strike: Strike, number: int) -> None:
    """Send a signal to the confined process of a model."""
    from evalsvc.local.child_process import children

    send([child for pid in strike.pids for child in children(pid)], number)


def supervisor(strike: Strike) -> list[int]:
    return [strike.service.up.pid] if strike.service.up else []


Fault = Callable[[Strike], None]
FAULTS: dict[str, Fault] = {
    "none": lambda _: None,  # the hint itself is lost or doubled
    "SIGKILL child": lambda strike: send(strike.pids, signal.SIGKILL),
    "SIGTERM child": lambda strike: send(strike.pids, signal.SIGTERM),
    "SIGSTOP child": lambda strike: suspend(strike, strike.pids),
    "SIGKILL worker": lambda strike: send(strike.workers(), signal.SIGKILL),
    "SIGKILL whole worker": lambda strike: send(strike.workers(), signal.SIGKILL, group=True),
    "SIGTERM worker": lambda strike: send(strike.workers(), signal.SIGTERM),
    "SIGSTOP worker": lambda strike: suspend(strike, strike.workers(), group=True),
    "SIGKILL web": lambda strike: send(strike.service.mains("web"), signal.SIGKILL, group=True),
    "SIGTERM web": lambda strike: send(strike.service.mains("web"), signal.SIGTERM),
    "SIGSTOP web": lambda strike: suspend(strike, strike.service.mains("web"), group=True),
    "SIGKILL beat": lambda strike: send(strike.service.mains("beat"), signal.SIGKILL),
    "SIGTERM beat": lambda strike: send(strike.service.mains("beat"), signal.SIGTERM),
    "SIGSTOP beat": lambda strike: suspend(strike, strike.service.mains("beat")),
    "worker hangs": lambda strike: send(strike.workers(), points.HANG),
    "beat hangs": lambda strike: send(strike.service.mains("beat"), points.HANG),
    "SIGKILL supervisor": lambda strike: send(supervisor(strike), signal.SIGKILL),
    "SIGTERM supervisor": lambda strike: send(supervisor(strike), signal.SIGTERM),
    "SIGKILL model": lambda strike: kill_model(strike, signal.SIGKILL),
    "SIGTERM model": lambda strike: kill_model(strike, signal.SIGTERM),
    "broker killed": kill_broker,
    "broker wiped": lambda strike: kill_broker(strike, wiped=True),
    "database stopped at once": lambda strike: stop_database(strike, "immediate"),
    "database restarted": lambda strike: stop_database(strike, "fast"),
    "storage away": move_storage_away,
    "storage full": fill_storage,
    "bits flipped in the file": flip_own_file,
    "bits flipped in the gold": flip_gold,
    "broker away 60 s": lambda strike: kill_broker(strike, away=60),
    "database stopped four times in a minute": lambda strike: stop_database(strike, "immediate", 4),
}
ONLY_AT = {
    "none": ("hint lost", "hint doubled"),
    "SIGKILL model": ("predicting",),
    "SIGTERM model": ("predicting",),
    "bits flipped in the file": OWN_FILE,
    "bits flipped in the gold": GOLD,
}
# These cost little, and make up what a schedule has beyond one of each pair.
CHEAP = {
    "none": 6,
    "SIGKILL child": 8,
    "SIGTERM child": 4,
    "broker killed": 1,
    "broker wiped": 1,
    "database stopped at once": 1,
    "storage full": 1,
    "bits flipped in the file": 1,
}
Pair = tuple[str, str]


def pairs(*, models: bool = True) -> list[Pair]:
    """Every fault at every point where it means something."""
    return [(at, fault) for fault in FAULTS for at in ONLY_AT.get(fault, AT) if models or at != "predicting"]


def schedule(seed: int, n: int, *, models: bool = True) -> list[Pair]:
    """Points and faults in a random order: every fault once, then every pair, then cheap ones."""
    dice, every = random.Random(seed), pairs(models=models)
    by_fault: dict[str, list[str]] = {}
    for at, fault in every:
        by_fault.setdefault(fault, []).append(at)
    first = [(dice.choice(by_fault[fault]), fault) for fault in dice.sample(sorted(by_fault), len(by_fault))]
    rest = [pair for pair in every if pair not in first]
    names = dice.choices(sorted(CHEAP), [CHEAP[name] for name in sorted(CHEAP)], k=max(0, n - len(every)))
    short = [name for name in AT if name not in points.LONG]
    rest += [(dice.choice([at for at in ONLY_AT.get(name, short) if at in short]), name) for name in names]
    return (first + dice.sample(rest, len(rest)))[:n]
