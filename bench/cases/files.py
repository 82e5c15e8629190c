"""Scoring of files in a running process against reading and decoding alone."""

from __future__ import annotations

import json
import random
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import msgspec
import numpy as np

from bench.cases.inputs import SEED
from bench.harness import Case, Goal, Side
from workers.cli.arguments import Options
from workers.cli.local_files import score

SENTENCES = 172_448
RELATIONS = [f"/people/person/relation_{number}" for number in range(52)]
TEXT = "xx Some Name lives in Other Place , and this is a sentence of the usual length , as they go ."


class Files(NamedTuple):
    """Gold lines with text and mentions, prediction lines with the scores of two labels."""

    gold: Path
    predictions: Path
    labels: Path


@lru_cache(maxsize=1)
def folder() -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix="evalsvc-bench-")


def written(n: int, n_scores: int) -> Files:
    rng = random.Random(SEED)
    files = Files(*[Path(folder().name) / name for name in ("gold.jsonl", "predictions.jsonl", "labels.txt")])
    files.labels.write_text("\n".join(RELATIONS))
    with files.gold.open("wb") as gold, files.predictions.open("wb") as predicted:
        for number in range(n):
            gold.write(msgspec.json.encode(_gold(rng, number)) + b"\n")
            names = [*rng.sample(RELATIONS, n_scores - 1), "NA"]
            scores = {name: round(rng.random(), 6) for name in names}
            predicted.write(msgspec.json.encode({"id": f"s{number:06}", "scores": scores}) + b"\n")
    return files


def _gold(rng: random.Random, number: int) -> dict[str, Any]:
    pair = rng.randrange(96_678)
    return {
        "h": {"id": f"m.0h{pair}", "name": "Some Name", "pos": [3, 12]},
        "id": f"s{number:06}",
        "relations": [rng.choice(RELATIONS)] if rng.random() < 0.05 else [],
        "t": {"id": f"m.0t{pair}", "name": "Other Place", "pos": [22, 33]},
        "text": TEXT,
    }


def sentences(n: int = SENTENCES) -> Case:
    return _case("files", n, 2, Goal("to_floor", most=2.5, unit="×"))


def many_scores(n: int = SENTENCES) -> Case:
    return _case("files-24", n, 24, Goal("ratio", least=2, unit="×"))


def _case(key: str, n: int, n_scores: int, goal: Goal) -> Case:
    def files() -> Files:
        return written(n, n_scores)

    return Case(
        key=key,
        title=f"From open files to the score, {n:,} sentence predictions of {n_scores} scores, "
        "against json and a loop of dicts",
        goals=(goal,),
        ours=Side("ours", files, ours),
        theirs=Side("json.loads, sorted dicts", files, theirs),
        floor=Side("reading both and decoding each line (msgspec)", files, decoded),
        same=lambda a, b: np.testing.assert_allclose(a, b, rtol=0, atol=1e-12),
        versions=("msgspec", "numpy"),
        remark="Ours also checks ids, labels, scores and repeated keys, and computes all figures.",
    )


def ours(files: Files) -> tuple[float, float]:
    options = Options(task="sentences", negative="NA", labels=files.labels)
    report = score(files.gold, files.predictions, options).report
    return report.values["max_f1"].value, report.values["p_at_100"].value


def theirs(files: Files) -> tuple[float, float]:
    gold: dict[str, list[str]] = {}
    with files.gold.open() as lines:
        for line in lines:
            item = json.loads(line)
            gold[item["id"]] = item["relations"]
    claims = []
    with files.predictions.open() as lines:
        for line in lines:
            item = json.loads(line)
            claims += [(score, item["id"], name) for name, score in item["scores"].items() if name != "NA"]
    claims.sort(key=lambda claim: -claim[0])
    return _best(claims, gold)


def _best(claims: list[tuple[float, str, str]], gold: dict[str, list[str]]) -> tuple[float, float]:
    """Best F1 over distinct scores, and P@100 with ties in proportion."""
    facts = sum(map(len, gold.values()))
    right, best, seen, hits = 0, 0.0, [0], [0]
    for number, (value, name, relation) in enumerate(claims, 1):
        right += relation in gold[name]
        if number == len(claims) or claims[number][0] != value:
            best = max(best, 2 * right / (number + facts))
            seen.append(number)
            hits.append(right)
    return best, float(np.interp(100, seen, hits)) / 100


def decoded(files: Files) -> int:
    lines = 0
    for path in (files.gold, files.predictions):
        with path.open("rb") as file:
            for line in file:
                msgspec.json.decode(line)
                lines += 1
    return lines
