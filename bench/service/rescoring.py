"""A new gold for many runs at once: the worker is killed half-way, and the board is read all the time."""

from __future__ import annotations

import json
import threading
import time
from typing import Any
from urllib.request import Request, urlopen

from bench.harness import Goal
from bench.service import inputs
from bench.service.running import Service, wait_until
from evalsvc.core.accounts.tokens import issue
from evalsvc.core.jobs.models import Job, JobEvent
from evalsvc.evaluation.models import Evaluation, Setting, Submission
from tests.cast.benchmarks import freeze

RUNS, OF_SYSTEM, SENTENCES = 1_000, 5, 286
SLUG = "rescored"
CHANGED = 20  # one sentence in so many gets another label
LONGEST = 1_800


class Reader(threading.Thread):
    """Reads a board all the time; `states` are the different answers, in their order."""

    def __init__(self, address: str) -> None:
        super().__init__(daemon=True)
        self.address, self.states, self.seconds = address, list[tuple[int, str]](), list[float]()
        self.progress: tuple[int, int] | None = None
        self.errors: list[str] = []
        self.ended = threading.Event()

    def run(self) -> None:
        while not self.ended.wait(0.2):
            begun = time.perf_counter()
            try:
                with urlopen(self.address, timeout=60) as answer:
                    body: dict[str, Any] = json.load(answer)
            except OSError as error:
                self.errors.append(str(error))
                continue
            self.seconds.append(time.perf_counter() - begun)
            newer = body["rescoring"]
            self.progress = (newer["scored"], newer["total"]) if newer else None
            # bands come with the tests, a while after the figures
            rows = [{key: row[key] for key in row if key != "band"} for row in body["rows"]]
            state = body["version"], json.dumps(rows, sort_keys=True)
            if not self.states or self.states[-1] != state:
                self.states.append(state)

    def stop(self) -> None:
        self.ended.set()
        self.join()


def rescoring(service: Service, runs: int = RUNS) -> dict[str, Any]:
    """Score all runs for a new gold, with one SIGKILL of the whole worker at half of them."""
    gold = list(inputs.pairs(SENTENCES))
    inputs.create_board(service, SLUG, iter(gold), unit="sentence", main="micro_f1")
    submissions = Submission.objects.filter(benchmark__slug=SLUG)
    for run in range(runs):
        body = inputs.jsonl(inputs.labels(run, SENTENCES))
        service.submit(SLUG, body, run=str(run % OF_SYSTEM), system=f"Net {run // OF_SYSTEM:03}")
    wait_until(lambda: submissions.filter(state="scored").count() == runs, seconds=LONGEST)
    setting = Setting.objects.get(benchmark__slug=SLUG)
    wait_until(
        lambda: not (row := setting.stored.order_by("-pk").first()) or not row.outdated, seconds=LONGEST
    )
    reader = Reader(f"{service.url}/boards/{SLUG}/board.json")
    reader.start()
    wait_until(lambda: bool(reader.states))
    for at, line in enumerate(gold):
        if at % CHANGED == 0:
            line["relations"] = [inputs.RELATIONS[at % len(inputs.RELATIONS)]]
    mended = freeze(f"{SLUG}-mended", gold, by=service.olga, labels=inputs.RELATIONS)
    token = issue(service.olga, name="bench", scope="full")[1]
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    address = f"{service.url}/api/v1/benchmarks/{SLUG}/settings/main/versions"
    request = Request(address, data=json.dumps({"test_set": mended.slug}).encode(), headers=headers)
    begun = time.perf_counter()
    with urlopen(request, timeout=600):
        pass
    queued = time.perf_counter() - begun
    new = Evaluation.objects.filter(setting=setting, gold_sha256=mended.sha256)
    wait_until(lambda: new.count() >= runs // 2, seconds=LONGEST, every=0.05)
    service.children["worker"].kill()
    killed_at, stopped = new.count(), time.perf_counter()
    service.children["worker"].process.wait()  # type: ignore[union-attr]
    service.children["worker"].start()
    wait_until(lambda: new.count() == runs, seconds=LONGEST)
    wait_until(lambda: not submissions.exclude(state="scored").exists())
    scored = time.perf_counter()
    wait_until(lambda: reader.states[-1][0] == 2, seconds=LONGEST)
    switched = time.perf_counter()
    time.sleep(1)
    reader.stop()
    jobs = Job.objects.filter(pk__in=submissions.values("job"))
    events = JobEvent.objects.filter(job__in=jobs)
    return {
        "case": f"{runs:,} runs for a new gold, the worker killed half-way",
        "goals": [
            Goal("states of the board", most=2), Goal("failed reads", most=0),
            Goal("jobs done twice", most=0), Goal("evaluations", least=runs),
        ],
        "queued within": round(queued, 2), "killed after": killed_at,
        "all scored after": round(scored - begun, 1), "of these after the kill": round(scored - stopped, 1),
        "shown after": round(switched - begun, 1),
        "states of the board": len(reader.states), "versions": [number for number, _ in reader.states],
        "reads": len(reader.seconds), "slowest read": round(max(reader.seconds), 2),
        "failed reads": len(reader.errors),
        "jobs done twice": events.filter(what="done").count() - runs,
        "jobs lost": events.filter(what="lost").count(),
        "evaluations": new.count(),
    }  # fmt: skip
