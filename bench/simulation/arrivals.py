"""Arrivals before a deadline, and the service times they draw."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bench.simulation.model import Floats, Load

MEASURED = Path(__file__).with_name("measured.json")


def measured(name: str) -> Floats:
    """Quantiles of seconds as `python -m bench.simulation measure` stored them."""
    return np.asarray(json.loads(MEASURED.read_text())[name], dtype=np.float64)


def quantiles(seconds: Floats) -> list[float]:
    """Return 21 equally spaced quantiles."""
    return [round(float(value), 4) for value in np.quantile(seconds, np.linspace(0, 1, 21))]


def draw(at_ranks: Sequence[float] | Floats, n: int, rng: np.random.Generator) -> Floats:
    """Draw from an empirical distribution, given by its sorted values or equally spaced quantiles."""
    points = np.asarray(at_ranks, dtype=np.float64)
    return np.interp(rng.random(n), np.linspace(0, 1, len(points)), points)


def before_deadline(
    *, teams: int, each: int, hours: float, service: Sequence[float] | Floats, seed: int
) -> Load:
    """Submissions of all teams before a deadline; half of them come in the last tenth of the time.

    Within the last tenth, and before it, submissions come evenly. Teams have as many submissions each.
    """
    rng = np.random.default_rng(seed)
    n, span = teams * each, 3600 * hours
    late = rng.random(n) < 0.5
    at = np.where(late, 0.9 + 0.1 * rng.random(n), 0.9 * rng.random(n)) * span
    lane = np.repeat(np.arange(teams), each)
    order = np.argsort(at)
    return Load(at[order], lane[order], draw(service, n, rng))
