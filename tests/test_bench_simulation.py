"""The simulated queue takes turns, loses and repeats jobs as the real one does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bench.simulation.arrivals import before_deadline, draw
from bench.simulation.model import Fleet, Load, Result, Simulation


def simulate(jobs: list[tuple[float, int, float]], processes: int = 1, **fleet: Any) -> Result:
    at, lane, seconds = (np.array(column) for column in zip(*jobs, strict=True))
    return Simulation(Load(at, lane, seconds), Fleet(processes, **fleet)).run()


def test_one_process_serves_one_lane_in_order_of_arrival() -> None:
    result = simulate([(0, 0, 5.0), (1, 0, 5.0), (2, 0, 5.0)])
    assert result.waits.tolist() == [0, 4, 8]
    assert result.ends.tolist() == [5, 9, 13]


def test_the_lane_served_longest_ago_goes_first() -> None:
    result = simulate([(0, 0, 1.0)] * 5 + [(0.5, 1, 1.0)])
    assert result.waits.tolist() == [0, 2, 3, 4, 5, 0.5]


def test_a_lane_with_fewer_running_jobs_goes_first() -> None:
    jobs = [(0, 0, 10.0), (1, 1, 1.0), (1.5, 0, 1.0), (1.75, 1, 1.0)]
    assert simulate(jobs, processes=2).waits.tolist() == [0, 0, 1.5, 0.25]


@pytest.mark.parametrize(("processes", "rate", "mean"), [(1, 0.8, 4.0), (2, 1.0, 1 / 3)])
def test_random_arrivals_wait_as_queueing_theory_says(processes: int, rate: float, mean: float) -> None:
    """M/M/1 at 0.8 and M/M/2 at 0.5: the mean wait is ρ/(1−ρ) and ρ²/(1−ρ²) of a service time."""
    rng, n = np.random.default_rng(1), 20_000
    at = np.cumsum(rng.exponential(1 / rate, n))
    load = Load(at, np.zeros(n, dtype=np.int64), rng.exponential(1, n))
    assert Simulation(load, Fleet(processes)).run().waits.mean() == pytest.approx(mean, rel=0.15)


def test_the_job_of_a_killed_process_runs_again_when_its_lease_has_expired() -> None:
    """Killed after 7 s, two renewals: the lease ends at 16 s, and the tick at 18 s finds it."""
    result = simulate([(0, 0, 8.0)], crashes=[7.0])
    assert result.ends.tolist() == [18 + 8]
    assert result.waits.tolist() == [0]


def test_a_process_that_looks_for_work_releases_an_expired_lease_before_the_tick() -> None:
    result = simulate([(0, 0, 8.0), (8, 1, 8.5)], processes=2, crashes=[7.0])
    assert result.ends.tolist() == [16.5 + 8, 8.5]


def test_the_third_crash_fails_a_job() -> None:
    result = simulate([(0, 0, 5.0)], crashes=[1.0, 13.0, 25.0], repair=0.1)
    assert result.failed == 1
    assert np.isnan(result.ends).all()


def test_an_outage_is_retried_after_a_growing_pause() -> None:
    result = simulate([(0, 0, 1.0)] * 200, processes=200, unavailable=0.5)
    assert result.failed == 0
    # due after pauses of 2, 4, 8 s, and found by the next tick or process that looks
    assert np.unique(result.ends)[:3].tolist() == [1, 4, 10]


def test_gaps_between_jobs_are_time_in_which_nothing_is_claimed() -> None:
    assert simulate([(0, 0, 1.0)] * 3, gaps=[0.5]).waits.tolist() == [0, 1.5, 3.0]


def test_the_same_seed_gives_the_same_load_with_half_of_it_in_the_last_tenth() -> None:
    first, second = (before_deadline(teams=100, each=10, hours=1, service=[1, 2], seed=3) for _ in range(2))
    assert first.at.tolist() == second.at.tolist()
    assert np.mean(first.at > 3240) == pytest.approx(0.5, abs=0.05)
    assert np.bincount(first.lane).tolist() == [10] * 100
    assert first.seconds.min() >= 1
    assert first.seconds.max() <= 2


def test_draws_keep_the_distribution_they_come_from() -> None:
    drawn = draw([0, 1, 10], 20_000, np.random.default_rng(0))
    assert np.median(drawn) == pytest.approx(1, abs=0.1)
    assert drawn.mean() == pytest.approx(3, abs=0.1)
