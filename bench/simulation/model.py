"""Discrete events of the queue of `evalsvc.core.jobs`: lanes, leases, crashes, retries.

As in the service, a free process claims from the lane with the fewest running jobs, then the one served
longest ago, then the one that waits longest. A killed process leaves its job leased; whoever looks for work
once the lease has expired, or the next tick of beat, queues it again.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from math import ceil

import numpy as np
from numpy.typing import NDArray

from evalsvc.core.jobs.queue import REMEMBERED
from evalsvc.core.jobs.transitions import CRASHES_ALLOWED, wait_seconds

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Load:
    """Jobs by arrival: when, of which lane, and for how long each will run."""

    at: Floats
    lane: NDArray[np.int64]
    seconds: Floats


@dataclass(frozen=True)
class Fleet:
    """Processes and what happens to them.

    `gaps` are seconds from the end of a job to the claim of the next; `crashes` the times at which a process
    is killed, `unavailable` the share of attempts that meet an outage and are retried later.
    """

    processes: int
    gaps: Sequence[float] = (0.0,)
    crashes: Sequence[float] = ()
    repair: float = 1.0
    unavailable: float = 0.0
    lease: float = 10.0
    heartbeat: float = 3.0
    tick: float = 3.0


@dataclass
class Result:
    """Seconds until each job was first claimed and until it ended; nan: it failed."""

    waits: Floats
    ends: Floats
    failed: int


@dataclass
class Lane:
    """Jobs of a team: those that wait, by time and number, and what decides its turn."""

    waiting: list[tuple[float, int]] = field(default_factory=list)
    running: int = 0
    served: float = -np.inf
    version: int = 0


class Simulation:
    """One run; `run` returns what became of the jobs."""

    def __init__(self, load: Load, fleet: Fleet, *, seed: int = 0) -> None:
        self.load, self.fleet, self.rng = load, fleet, np.random.default_rng(seed)
        n = len(load.at)
        self.claimed, self.ended = np.full(n, np.nan), np.full(n, np.nan)
        self.lost, self.retries = np.zeros(n), np.zeros(n, dtype=np.int64)
        self.due = load.at.copy()
        self.failed = 0
        self.lanes: dict[int, Lane] = defaultdict(Lane)
        self.turns: list[tuple[int, float, float, int, int]] = []
        self.leased: list[tuple[float, int]] = []  # of killed processes
        self.later: list[tuple[float, int]] = []  # retried jobs
        self.remembered: list[tuple[float, int]] = []
        self.free = list(range(fleet.processes))
        self.busy: dict[int, tuple[int, float]] = {}  # process: job and its claim
        self.lives = [0] * fleet.processes
        self.events: list[tuple[float, int, str, int, int]] = []
        self.numbers = count()
        self.gaps: list[float] = self.rng.choice(np.asarray(fleet.gaps, dtype=np.float64), 9_973).tolist()

    def plan(self, at: float, what: str, subject: int = 0, life: int = 0) -> None:
        heapq.heappush(self.events, (at, next(self.numbers), what, subject, life))

    def plan_tick(self, after: float) -> None:
        self.plan(ceil(after / self.fleet.tick) * self.fleet.tick, "tick")

    def run(self) -> Result:
        for job, at in enumerate(self.load.at):
            self.plan(float(at), "arrive", job)
        for at in self.fleet.crashes:
            self.plan(at, "crash")
        while self.events:
            now, _, what, subject, life = heapq.heappop(self.events)
            if what == "arrive":
                self.queue(subject)
            elif what == "crash":
                self.crash(now)
            elif what == "end" and life == self.lives[subject]:
                self.end(now, subject)
            elif what == "free" and life == self.lives[subject]:
                self.free.append(subject)
            self.claim(now)
        waits, ends = self.claimed - self.load.at, self.ended - self.load.at
        return Result(waits, ends, self.failed)

    def queue(self, job: int) -> None:
        lane = int(self.load.lane[job])
        heapq.heappush(self.lanes[lane].waiting, (float(self.due[job]), job))
        self.order(lane)

    def order(self, number: int) -> None:
        """Put the lane where its turn is now."""
        lane = self.lanes[number]
        lane.version += 1
        if lane.waiting:
            turn = (lane.running, lane.served, lane.waiting[0][0], number, lane.version)
            heapq.heappush(self.turns, turn)

    def claim(self, now: float) -> None:
        """Let free processes claim what is due."""
        while self.free and (job := self.next_job(now)) is not None:
            process, number = self.free.pop(), int(self.load.lane[job])
            self.lanes[number].running += 1
            if np.isnan(self.claimed[job]):
                self.claimed[job] = self.lanes[number].served = now
                heapq.heappush(self.remembered, (now + REMEMBERED.total_seconds(), number))
            self.order(number)
            self.busy[process] = job, now
            self.plan(now + float(self.load.seconds[job]), "end", process, self.lives[process])

    def next_job(self, now: float) -> int | None:
        """Release what is due again, and take the first job of the lane whose turn it is."""
        while self.leased and self.leased[0][0] <= now:
            self.release(heapq.heappop(self.leased)[1])
        while self.later and self.later[0][0] <= now:
            self.queue(heapq.heappop(self.later)[1])
        while self.remembered and self.remembered[0][0] <= now:
            _, number = heapq.heappop(self.remembered)
            if self.lanes[number].served <= now - REMEMBERED.total_seconds():
                self.lanes[number].served = -np.inf
                self.order(number)
        while self.turns:
            *_, number, version = heapq.heappop(self.turns)
            if version == self.lanes[number].version:
                return heapq.heappop(self.lanes[number].waiting)[1]
        return None

    def end(self, now: float, process: int) -> None:
        """End an attempt: the job is done, or retried after an outage."""
        job, _ = self.busy.pop(process)
        self.lanes[int(self.load.lane[job])].running -= 1
        self.order(int(self.load.lane[job]))
        if self.fleet.unavailable and self.rng.random() < self.fleet.unavailable:
            self.due[job] = now + wait_seconds(int(self.retries[job]))
            self.retries[job] += 1
            heapq.heappush(self.later, (float(self.due[job]), job))
            self.plan_tick(self.due[job])
        else:
            self.ended[job] = now
        gap = self.gaps[next(self.numbers) % len(self.gaps)]
        self.plan(now + gap, "free", process, self.lives[process])

    def crash(self, now: float) -> None:
        """Kill a process, one with a job if there is any."""
        if not self.busy:
            return
        process = int(self.rng.choice(list(self.busy)))
        job, since = self.busy.pop(process)
        self.lives[process] += 1
        self.plan(now + self.fleet.repair, "free", process, self.lives[process])
        self.lost[job] += 1
        beats = (now - since) // self.fleet.heartbeat
        expires = since + beats * self.fleet.heartbeat + self.fleet.lease
        heapq.heappush(self.leased, (expires, job))
        self.plan_tick(expires)

    def release(self, job: int) -> None:
        """Queue the job of a killed process again, unless it was the third."""
        self.lanes[int(self.load.lane[job])].running -= 1
        if self.lost[job] < CRASHES_ALLOWED:
            self.queue(job)
        else:
            self.failed += 1
            self.order(int(self.load.lane[job]))
