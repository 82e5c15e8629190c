"""Whole processes: `python -m workers.metrics` against a bare Python script."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from bench.cases.files import folder
from bench.cases.inputs import SEED, TYPES, tagged
from bench.harness import Case, Side

SCRIPT = Path(__file__).with_name("bare_conll.py")
ROOT = Path(__file__).parents[2]


def large(n: int = 100_000) -> Case:
    return _case(n, "process-2m", "conlleval.pl took 7.0 s on a file of this size on another machine.")


def small(n: int = 2_310) -> Case:
    return _case(n, "process-46k", "conlleval.pl took 0.17 s on a file of this size on another machine.")


def _case(n: int, key: str, remark: str) -> Case:
    def write() -> Path:
        return written(n, Path(folder().name) / f"{key}.txt")

    return Case(
        key=key,
        title=f"The whole process on a CoNLL file of {n:,} sentences, against a bare Python script",
        goals=(),
        ours=Side("python -m workers.metrics", write, run("-m", "workers.metrics")),
        theirs=Side("bare script", write, bare),
        floor=Side("python -c pass", write, lambda path: _output([sys.executable, "-c", "pass"])),
        same=lambda a, b: np.testing.assert_allclose(a, b, rtol=0, atol=1e-12),
        versions=("numpy", "msgspec"),
        remark=f"{remark} It has no goal, since start-up is included.",
    )


def written(n: int, path: Path) -> Path:
    """Write token, gold tag and predicted tag; about 20 tokens a sentence."""
    rng = random.Random(SEED)
    words = [f"word{number}" for number in range(30_000)]
    with path.open("w") as file:
        for gold, predicted in zip(*tagged(n), strict=True):
            rows = [f"{rng.choice(words)}\t{a}\t{b}\n" for a, b in zip(gold, predicted, strict=True)]
            file.write("".join(rows) + "\n")
    return path


def run(*command: str) -> Callable[[Path], float]:
    def scored(path: Path) -> float:
        options = ["--task", "entities", "--scheme", "IOB2", "--family", "conll", "--json"]
        labels = path.with_name("types.txt")
        labels.write_text("\n".join(TYPES))
        options += ["--labels", str(labels)]
        output = _output([sys.executable, *command, str(path), str(path), *options])
        return float(json.loads(output)["measures"]["conll_micro_f1"])

    return scored


def bare(path: Path) -> float:
    return float(_output([sys.executable, str(SCRIPT), str(path)]))


def _output(command: list[str]) -> bytes:
    # byte code is kept between runs, as usual
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, check=True).stdout
