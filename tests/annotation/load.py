"""Load test: no vote of killed, late or repeating clients is lost or stored twice.

`python -m tests.annotation.load` runs the whole proof on PostgreSQL; the tests run a bounded one.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID, uuid4

from tests.annotation.log_checks import LoadResult, check_log

NAMES = ("A", "B", "C")
TEXT = "Ada met Bob in Turin."
MOST_RESERVE = 6


@dataclass
class Plan:
    """Sizes and rates of the load; shares are of a client's turns."""

    kind: str = "relations"
    clients: int = 32
    items: int = 7_000
    operations: int = 100_000
    seconds: float = 3_600
    kill_every: float = 0.4
    lapse_every: float = 0.5
    seed: int = 7


class Client:
    """One annotator at a machine that may be switched off at any moment; its journal survives."""

    def __init__(self, project: int, user: int, journal: Path, seed: int) -> None:
        from annotation.models import Project
        from evalsvc.core.accounts.models import User

        self.project, self.user = Project.objects.get(pk=project), User.objects.get(pk=user)
        self.dice = random.Random(seed)
        self.file = os.open(journal, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self.leases: list[int] = []
        self.past: list[tuple[UUID, int, UUID, dict]] = []

    def note(self, kind: str, name: str = "") -> None:
        os.write(self.file, f"{kind} {name}\n".encode())

    def work(self, deadline: float) -> None:
        moves: tuple[Callable[[], None], ...] = (self.turn, self.again, self.stale, self.revise, self.reserve)
        while time.time() < deadline:
            if self.dice.random() < 0.1:
                time.sleep(self.dice.random() * 0.05)
            self.dice.choices(moves, (80, 6, 3, 5, 6))[0]()

    def turn(self) -> None:
        """Take an item; answer, skip, keep alive, return, or forget it."""
        from annotation.queue import lease_endings, leases

        lease = leases.lease_next(self.project, self.user, current_leases=self.leases)
        self.note("lease")
        if lease is None:
            self.leases.clear()
            time.sleep(0.05)
            return
        move = self.dice.random()
        if move < 0.04:
            lease_endings.return_lease(lease.pk, self.user)
            self.note("return")
        elif move < 0.08:
            self.leases = [*self.leases, lease.pk][-MOST_RESERVE:]
        else:
            self.send(lease.item.key, lease.base, skip=move < 0.11)

    def reserve(self) -> None:
        from annotation.queue import leases

        held = leases.lease_several(self.project, self.user, n=3, current_leases=self.leases)
        self.note("reserve")
        self.leases = []
        for lease in held:
            self.send(lease.item.key, lease.base)

    def send(self, item: UUID, base: int, *, skip: bool = False, name: UUID | None = None) -> None:
        from annotation.queue import votes as voting

        name = name or uuid4()
        payload = self.payload()
        if skip:
            cast = self.refused(
                lambda: voting.skip(item, self.user, client_id=name, base=base, reason="later")
            )
        else:
            cast = self.refused(
                lambda: voting.answer(item, self.user, client_id=name, base=base, payload=payload)
            )
        if cast is not None:
            self.note("vote", f"{name} {cast.vote.pk}")
            self.past = [*self.past, (item, cast.vote.number, name, payload)][-20:]

    def payload(self) -> dict[str, Any]:
        """A random answer of the project's kind, of so few values that majorities occur."""
        chosen = self.dice.sample(NAMES, self.dice.choice((0, 1, 1, 1, 2)))
        if self.project.kind == "relations":
            return {"relations": chosen}
        spans = [[start, start + 3, name] for start, name in zip((0, 8), chosen, strict=False)]
        linked = self.project.kind == "joint" and len(spans) == 2
        return {"spans": spans, "relations": [[0, "r", 1]] if linked else []}

    def refused(self, write: Callable[[], object]) -> object | None:
        """Return the vote, or None on an expected conflict."""
        from evalsvc.core.errors.exceptions import Conflict

        try:
            return write()
        except Conflict as conflict:
            self.note("conflict", conflict.code)
            return None

    def again(self) -> None:
        """The network repeats what it sent."""
        from annotation.queue import votes as voting

        if self.past:
            item, _, name, payload = self.dice.choice(self.past)
            cast = voting.answer(item, self.user, client_id=name, payload=payload)
            self.note("repeat" if cast.repeated else "DOUBLED", str(name))

    def stale(self) -> None:
        """A tab that knows nothing of the others."""
        if self.past:
            self.send(self.dice.choice(self.past)[0], 0)

    def revise(self) -> None:
        if self.past:
            item, number, _, _ = self.past[-1]
            self.send(item, number)


def prove(plan: Plan) -> LoadResult:
    """Set up, let them loose, then hold the outcome to what was promised."""
    from annotation import projects
    from annotation.ontology import inventory
    from tests.cast.basics import sentence
    from tests.cast.projects import annotators, create_project, curator
    from tests.cast.projects import import_lines as bring

    result = LoadResult(items=plan.items)
    project = create_project(plan.kind, labels=NAMES, k=2)
    if plan.kind == "joint":
        inventory.add_labels(project, ["r"], by=curator(), part="relation")
    names = [f"s{at}" for at in range(plan.items)]
    paired = plan.kind == "relations"
    bring(project, [sentence(name) if paired else {"id": name, "text": TEXT} for name in names])
    projects.open_for_work(project, by=curator())
    people = annotators(project, plan.clients)
    start = time.time()
    with TemporaryDirectory() as folder:
        _let_loose(plan, result, project.pk, [user.pk for user in people], Path(folder))
        journal = [text for path in Path(folder).iterdir() for text in path.read_text().splitlines()]
    result.seconds = time.time() - start
    _finish(project.pk, people)
    check_log(result, project.pk, [text.split() for text in journal])
    return result


def _let_loose(plan: Plan, result: LoadResult, project: int, users: list[int], folder: Path) -> None:
    """Keep all clients going, killing one now and then, lapsing leases, changing k, until enough is done."""
    from annotation import projects
    from annotation.models import Project
    from annotation.queue import lease_endings
    from tests.cast.projects import curator
    from workers.runner import run_next

    dice, deadline = random.Random(plan.seed), time.time() + plan.seconds
    running = {
        at: _fork(project, user, folder / str(at), deadline, plan.seed) for at, user in enumerate(users)
    }
    next_kill, next_lapse, changes = time.time() + 1, time.time(), [(0.6, 3), (0.75, 2), (0.85, 3)]
    result.k = [2]
    while True:
        time.sleep(0.1)
        done = _done(folder)
        enough = time.time() >= deadline or done >= plan.operations
        if enough and result.kills and len(result.k) > 1:  # on a slow machine these two still come
            break
        if time.time() >= next_kill:
            at = dice.randrange(len(users))
            os.kill(running[at], signal.SIGKILL)
            os.waitpid(running[at], 0)
            running[at] = _fork(project, users[at], folder / str(at), deadline, dice.random())
            result.kills, next_kill = result.kills + 1, time.time() + plan.kill_every
        if time.time() >= next_lapse:
            result.lapsed += _lapse(project)
            lease_endings.expire_overdue()
            next_lapse = time.time() + plan.lapse_every
        spent = 1 - (deadline - time.time()) / plan.seconds
        if changes and max(done / plan.operations, spent) >= changes[0][0]:
            result.wrong.setdefault("over k under a lease that never lapsed", _over_assigned(project))
            result.k.append(changes[0][1])
            projects.set_k(Project.objects.get(pk=project), k=changes.pop(0)[1], by=curator())
            run_next("heavy")  # what a worker does: large projects are decided anew by a job
    for process in running.values():
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)


def _fork(project: int, user: int, journal: Path, deadline: float, seed: float) -> int:
    from django.db import connections

    connections.close_all()
    process = os.fork()
    if process:
        return process
    # Where a browser's event loop runs in this thread, Django kept the connection with that loop, and the
    # child, which has no loop, would find the one from before it: SQLite's.
    connections["default"] = connections.create_connection("default")
    try:
        Client(project, user, journal, hash((seed, user))).work(deadline)
    except BaseException as error:  # noqa: BLE001 - whatever breaks a client is a finding
        with journal.open("a") as file:
            file.write(f"BROKEN {type(error).__name__}: {error}\n".replace("\n", " ") + "\n")
    finally:
        os._exit(0)


def _done(folder: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in folder.iterdir())


def _lapse(project: int) -> int:
    """Some running leases are suddenly half an hour old."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE annotation_lease SET expires_at = now() - interval '1 second' WHERE ending = '' "
            "AND random() < 0.05 AND item_id IN (SELECT id FROM annotation_item WHERE project_id = %s)",
            [project],
        )
        return int(cursor.rowcount)


def _over_assigned(project: int) -> int:
    """Answers behind the first k though their lease ran from being handed out to being answered."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "WITH placed AS (SELECT a.item_id, a.annotator_id, p.k, "
            "rank() OVER (PARTITION BY a.item_id ORDER BY a.position) AS place FROM annotation_answer a "
            "JOIN annotation_item i ON i.id = a.item_id JOIN annotation_project p ON p.id = i.project_id "
            "WHERE i.project_id = %s) SELECT count(*) FROM placed WHERE place > k AND NOT EXISTS ("
            "SELECT 1 FROM annotation_lease l WHERE l.item_id = placed.item_id AND l.ending <> 'answered') "
            "AND NOT EXISTS (SELECT 1 FROM annotation_vote v WHERE v.item_id = placed.item_id "
            "AND v.act = 'skip')",
            [project],
        )
        return int(cursor.fetchone()[0])


def _finish(project_id: int, people: list) -> None:
    """Everybody comes back once more: whatever is still wanted can be answered."""
    from annotation.models import Lease, Project
    from annotation.queue import lease_endings, leases
    from annotation.queue import votes as voting

    project = Project.objects.get(pk=project_id)
    for lease in Lease.objects.filter(ending="", item__project=project).select_related("annotator__user"):
        lease_endings.return_lease(lease.pk, lease.annotator.user)
    for user in people:
        while (lease := leases.lease_next(project, user)) is not None:
            base, payload = lease.base, {"relations": ["A"]}
            if project.kind != "relations":
                payload = {"spans": [[0, 3, "A"]]}
            voting.answer(lease.item, user, client_id=uuid4(), base=base, payload=payload)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, value in asdict(Plan()).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value)
    plan = Plan(**vars(parser.parse_args()))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    import django

    django.setup()
    from tests.places import postgres as pg

    name = f"evalsvc_load_{os.getpid()}"
    with pg.server() as url, pg.database(url, name, tables=True) as entry, pg.default_is(entry):
        result = prove(plan)
    print(json.dumps(asdict(result), indent=1, ensure_ascii=False))  # noqa: T201
    raise SystemExit(any(result.wrong.values()))


if __name__ == "__main__":
    main()
