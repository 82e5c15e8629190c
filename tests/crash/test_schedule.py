"""A schedule of faults can be repeated, and has every pair of point and fault."""

from __future__ import annotations

import threading
from collections import Counter
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from evalsvc.core.jobs.models import Job, JobEvent
from tests.crash import __main__ as crash
from tests.crash import checks, faults


def test_a_seed_gives_the_same_schedule_each_time() -> None:
    assert faults.schedule(7, 300) == faults.schedule(7, 300) != faults.schedule(8, 300)


def test_a_short_schedule_has_every_fault_once_and_a_full_one_every_pair() -> None:
    assert Counter(fault for _, fault in faults.schedule(1, len(faults.FAULTS))) == Counter([*faults.FAULTS])
    pairs = faults.schedule(1, 1_000)
    assert len(pairs) == 1_000
    assert {*faults.pairs()} <= {*pairs}


@pytest.mark.parametrize(("wrong", "held", "rounds"), [([], True, 2), (["orphan x"], False, 1)])
def test_a_run_ends_at_the_first_round_that_is_wrong_and_prints_its_schedule(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    wrong: list[str],
    held: bool,
    rounds: int,
) -> None:
    sent: Any = {name: [] for name in ("runs", "model_runs", "imports", "frozen", "derived", "votes")}
    clients = SimpleNamespace(voting=threading.Lock(), **sent)
    run: Any = SimpleNamespace(
        inject=lambda *_: True,
        settle=lambda: 0.0,
        clients=clients,
        restarted=0,
        service=None,
        repairs=lambda: [1.0, 2.0, 6.0],
    )
    monkeypatch.setattr(checks, "wrong", lambda clients: wrong)
    assert crash.attack(run, faults.schedule(1, 2 * crash.PER_ROUND)) is held
    output = capsys.readouterr().out
    assert output.count(" faults, ") == rounds
    assert output.count("3 jobs of killed processes ran again, median 2.0 s, at most 6.0 s") == rounds
    assert ('schedule: [["' in output) is not held


@pytest.mark.django_db
def test_the_time_until_a_killed_job_runs_again_is_counted_from_the_kill() -> None:
    """One that the killed process had ended already needs no other attempt."""
    again, ended = (Job.objects.create(kind="score", subject=n, queue="score") for n in (1, 2))
    unused: Any = None
    run = crash.Run(unused, unused)
    for job, attempt in ((again, 1), (again, 2), (again, 3), (ended, 1)):
        JobEvent.objects.create(
            job=job, attempt=attempt, what="claimed", at=datetime.fromtimestamp(100 + 7 * attempt, UTC)
        )
    run.killed = [(again.pk, 1, 110.0), (ended.pk, 1, 110.0)]
    assert run.repairs() == [4.0]
