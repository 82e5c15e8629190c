"""Ranked claims about bags against a sorted list of dicts, and their bootstrap."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.cases.inputs import SEED
from bench.harness import Case, Goal, Side
from workers.metrics.bags import Claims, Facts, claims_of_columns, facts_of_columns
from workers.metrics.ranking_profiles import opennre
from workers.metrics.reranking import SortedClaims, bootstrap_ranking, sort_claims
from workers.metrics.resampling import draw

BAGS, RELATIONS, FACTS = 100_000, 52, 2_000
CUTS = (100, 200, 300)


class Columns(NamedTuple):
    """Scores of every relation of every bag, and the facts."""

    pair: NDArray[np.int32]
    relation: NDArray[np.int32]
    score: NDArray[np.float64]
    facts: NDArray[np.int64]
    n_bags: int


def columns(n_bags: int, n_facts: int) -> Columns:
    """Make scores; those of facts are usually higher."""
    rng = np.random.default_rng(SEED)
    facts = np.sort(rng.choice(n_bags * RELATIONS, n_facts, replace=False))
    score = rng.beta(0.3, 6.0, n_bags * RELATIONS)
    score[facts] = rng.beta(1.2, 1.0, n_facts)
    pair, relation = (part.astype(np.int32) for part in divmod(np.arange(n_bags * RELATIONS), RELATIONS))
    order = rng.permutation(n_bags).repeat(RELATIONS) * RELATIONS + np.tile(np.arange(RELATIONS), n_bags)
    return Columns(pair[order], relation[order], score[order], facts, n_bags)


def ranked(n_bags: int = BAGS, n_facts: int = FACTS) -> Case:
    return Case(
        key="bags",
        title=f"Curve, area, best F1 and P@N of {n_bags * RELATIONS:,} claims on {n_bags:,} bags, "
        f"{n_facts:,} facts, against sorting a list of dicts",
        goals=(Goal("ratio", least=30, unit="×"), Goal("peak of ours", most=600, unit=" MB")),
        ours=Side("ours, three arrays", lambda: columns(n_bags, n_facts), by_arrays),
        theirs=Side("a list of dicts", lambda: dicts(columns(n_bags, n_facts)), by_dicts),
        floor=Side("one argsort", lambda: columns(n_bags, n_facts).score, np.argsort),
        same=_same,
        versions=("numpy",),
        memory=True,
    )


def by_arrays(data: Columns) -> dict[str, float]:
    size = {"n_pairs": data.n_bags, "n_relations": RELATIONS}
    facts = facts_of_columns(data.facts // RELATIONS, data.facts % RELATIONS, **size)
    seen = opennre(claims_of_columns(data.pair, data.relation, data.score, **size), facts)
    figures = {"auc": seen.auc, "max_f1": seen.max_f1, "tau": seen.tau}
    return figures | {f"p_at_{n}": seen.p_at[n] for n in CUTS}


class Dicts(NamedTuple):
    """The same data as lists and dicts."""

    claims: list[dict[str, Any]]
    facts: dict[tuple[str, str, str], int]


def dicts(data: Columns) -> Dicts:
    names = [f"/people/relation_{number}" for number in range(RELATIONS)]
    heads, tails = ([f"m.{side}{bag}" for bag in range(data.n_bags)] for side in ("0h", "0t"))
    rows = zip(data.pair.tolist(), data.relation.tolist(), data.score.tolist(), strict=True)
    claims = [
        {"entpair": (heads[bag], tails[bag]), "relation": names[relation], "score": score}
        for bag, relation, score in rows
    ]
    cells = ((cell // RELATIONS, cell % RELATIONS) for cell in data.facts.tolist())
    return Dicts(claims, {(heads[bag], tails[bag], names[relation]): 1 for bag, relation in cells})


def by_dicts(data: Dicts) -> dict[str, float]:
    ordered = sorted(data.claims, key=lambda claim: claim["score"], reverse=True)
    precision, recall, right = [], [], 0
    total = len(data.facts)
    for seen, claim in enumerate(ordered, 1):
        if (*claim["entpair"], claim["relation"]) in data.facts:
            right += 1
        precision.append(right / seen)
        recall.append(right / total)
    p, r = np.array(precision), np.array(recall)
    f1 = 2 * p * r / (p + r + 1e-20)
    best = int(f1.argmax())
    figures = {"auc": float(np.trapezoid(p, r)), "max_f1": float(f1[best]), "tau": ordered[best]["score"]}
    return figures | {f"p_at_{n}": precision[n - 1] for n in CUTS}


def _same(ours: dict[str, float], theirs: dict[str, float]) -> None:
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        np.testing.assert_allclose(value, theirs[name], rtol=0, atol=1e-12, err_msg=name)


OURS, THEIRS = 20, 2


def bootstrap(n_bags: int = BAGS, n_facts: int = FACTS) -> Case:
    return Case(
        key="bootstrap",
        title=f"One bootstrap replicate of average precision over {n_bags:,} bags, {n_bags * RELATIONS:,} "
        "claims, against sorting the resampled list again",
        goals=(Goal("ratio", least=15, unit="×"),),
        ours=Side("ours, sorted once", lambda: sort_claims(*_claims(n_bags, n_facts)), _reweighted, OURS),
        theirs=Side("sorted again", lambda: _rows(n_bags, n_facts), _resorted, THEIRS),
        floor=Side("one gather of weights", lambda: _gather(n_bags, n_facts), lambda run: run()),
        same=lambda ours, theirs: np.testing.assert_allclose(ours[:THEIRS], theirs, rtol=0, atol=1e-12),
        versions=("numpy",),
        remark=f"Per replicate: {OURS} of ours and {THEIRS} of theirs are timed, not 1,000. Ours is built by "
        "the one sort that all replicates share.",
    )


@lru_cache(maxsize=1)
def _claims(n_bags: int, n_facts: int) -> tuple[Claims, Facts]:
    data = columns(n_bags, n_facts)
    size = {"n_pairs": n_bags, "n_relations": RELATIONS}
    facts = facts_of_columns(data.facts // RELATIONS, data.facts % RELATIONS, **size)
    return claims_of_columns(data.pair, data.relation, data.score, **size), facts


def _reweighted(claims: SortedClaims) -> NDArray[np.float64]:
    return bootstrap_ranking(claims, name="ap", seed=SEED, replicates=range(OURS))


class Rows(NamedTuple):
    """Claims as arrays: bag, score, hit."""

    pair: NDArray[np.int64]
    score: NDArray[np.float64]
    hit: NDArray[np.bool_]
    n_bags: int


def _rows(n_bags: int, n_facts: int) -> Rows:
    claims, facts = _claims(n_bags, n_facts)
    cells = claims.pair.astype(np.int64) * RELATIONS + claims.relation
    return Rows(claims.pair.astype(np.int64), claims.score, np.isin(cells, facts.cells), n_bags)


def _resorted(data: Rows) -> list[float]:
    """Draw bags, repeat their claims, sort, and take one point per distinct score."""
    figures = []
    for replicate in range(THEIRS):
        times = draw(data.n_bags, seed=SEED, replicate=replicate)[data.pair]
        rows = np.repeat(np.arange(len(times)), times)
        order = np.argsort(-data.score[rows], kind="stable")
        score, hit = data.score[rows][order], data.hit[rows][order]
        ends = np.append(np.flatnonzero(score[1:] != score[:-1]), len(score) - 1)
        right = np.cumsum(hit)[ends]
        figures.append(float(np.dot(np.diff(right, prepend=0), right / (ends + 1)) / right[-1]))
    return figures


def _gather(n_bags: int, n_facts: int) -> Callable[[], Any]:
    claims, _ = _claims(n_bags, n_facts)
    drawn = draw(n_bags, seed=SEED, replicate=0)
    pair = claims.pair.astype(np.intp)
    return lambda: drawn.take(pair)
