"""Replicates of the difference of two runs: as parts, put together, and the test they give."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from workers.metrics.ratios import Floats
from workers.metrics.resampling import Interval, percentile_interval, randomisation_p
from workers.metrics.systems import spread

DETECTED = 2.80  # standard errors that a test at .05 detects in 80 % of cases


class ResampledMeasure(NamedTuple):
    """Both figures of a measure, interval and p of their difference.

    Differences under `detectable` would mostly go unseen. `differing` items have other right answers of
    one system than of the other.
    """

    a: float
    b: float
    interval: Interval
    p: float
    detectable: float
    differing: int


class Replicates(NamedTuple):
    """Both figures of a measure; their difference in bootstrap replicates, and with answers swapped.

    `differing`: items whose outcomes differ.
    """

    a: float
    b: float
    drawn: Floats
    swapped: Floats
    differing: int

    def tested(self) -> ResampledMeasure:
        real = self.drawn[~np.isnan(self.drawn)]
        # replicates that do not vary do not tell what a test detects
        error = spread(real).deviation if len(real) > 1 else 0.0
        detectable = DETECTED * error if error else float("nan")
        p = randomisation_p(self.a - self.b, self.swapped)
        interval = percentile_interval(self.drawn)
        return ResampledMeasure(self.a, self.b, interval, p, detectable, self.differing)


def packed(replicates: Replicates) -> list[object]:
    """Write replicates for JSON, each float exactly."""
    return [b64encode(np.asarray(part, dtype="<f8").tobytes()).decode() for part in replicates]


def unpacked(row: Sequence[object]) -> Replicates:
    a, b, drawn, swapped, differing = (np.frombuffer(b64decode(str(part)), dtype="<f8") for part in row)
    return Replicates(float(a[0]), float(b[0]), drawn, swapped, int(differing[0]))


def joined(parts: Sequence[Mapping[str, Replicates]]) -> dict[str, Replicates]:
    """Put ranges of replicates together, in the order of their numbers."""
    return {
        name: first._replace(
            drawn=np.concatenate([part[name].drawn for part in parts]),
            swapped=np.concatenate([part[name].swapped for part in parts]),
        )
        for name, first in parts[0].items()
    }
