"""Claims as numbers, and the rule on near-duplicates."""

from __future__ import annotations

import gzip
import json
from itertools import combinations

import numpy as np
import pytest

from evalsvc.demo.labelling import DATA
from workers.scoring.claims import ClaimCodes, changed_claims

POSITIVES = 200


def claims(codes: object, *, ranked: bool = False) -> ClaimCodes:
    return ClaimCodes(np.array(codes, dtype=np.uint64), ranked)


LABELS = claims(range(POSITIVES))
RANKING = claims(np.random.Generator(np.random.PCG64(1)).permutation(2_000), ranked=True)


def test_labels_differ_by_the_claims_that_one_file_makes() -> None:
    assert changed_claims(claims([1, 2]), claims([1, 3]), POSITIVES) == 2
    assert changed_claims(claims([1, 2]), claims([1]), POSITIVES) == 1
    assert changed_claims(LABELS, claims(range(20, POSITIVES + 1)), POSITIVES) is None


@pytest.mark.parametrize(("made", "changes"), [(41, 1), (81, 2), (150, 3), (200, 9), (800, 4)])
def test_a_ranking_is_compared_down_to_any_depth(made: int, changes: int) -> None:
    """The same first claims in another order, but for a few, and other ones below."""
    random = np.random.Generator(np.random.PCG64(2))
    first = random.permutation(np.sort(RANKING.codes[:made]))
    first[:changes] += np.uint64(10_000)
    other = claims([*first, *range(20_000, 22_000)], ranked=True)
    assert changed_claims(RANKING, other, POSITIVES) is not None
    labels = claims(np.sort(first))
    assert (
        changed_claims(RANKING, labels, POSITIVES) == changed_claims(labels, RANKING, POSITIVES) is not None
    )


@pytest.mark.parametrize("made", [41, 150, 200, 800])
def test_a_tenth_of_other_first_claims_makes_another_ranking(made: int) -> None:
    first = RANKING.codes.copy()
    first[: max(made, POSITIVES) : 10] += np.uint64(10_000)
    assert changed_claims(RANKING, claims(first, ranked=True), POSITIVES) is None
    assert changed_claims(RANKING, claims(np.sort(first[:made])), POSITIVES) is None


def test_few_first_claims_in_common_are_no_near_duplicate() -> None:
    """Systems agree on what is easy."""
    other = claims([*RANKING.codes[:35], *range(20_000, 22_000)], ranked=True)
    assert changed_claims(RANKING, other, POSITIVES) is None
    assert changed_claims(RANKING, claims([]), POSITIVES) is None
    assert changed_claims(RANKING, claims(np.sort(RANKING.codes[:35])), POSITIVES) is None


@pytest.mark.parametrize("positives", [150, 181, 250])
def test_no_depth_but_the_number_of_gold_labels_makes_other_seeds_near_duplicates(positives: int) -> None:
    """Fifteen runs of the demo, of which few agree on all but twenty of their first claims."""
    runs = [_ranking(path.name) for path in sorted(DATA.glob("runs/*run*")) if "scores" in _text(path.name)]
    assert len(runs) == 15
    near = set()
    for first, second in combinations(runs, 2):
        changes = len(np.setxor1d(first.codes[:positives], second.codes[:positives]))
        near |= {changes} if changes < 20 else set()
        assert changed_claims(first, second, positives) == (changes if changes < 20 else None)
    assert len(near) < 5


def _text(name: str) -> str:
    return gzip.decompress((DATA / "runs" / name).read_bytes()).decode()


def _ranking(name: str) -> ClaimCodes:
    lines = [json.loads(line)["scores"] for line in _text(name).splitlines()]
    scores = np.array([[line[label] for label in sorted(line)] for line in lines]).ravel()
    return claims(np.lexsort((np.arange(len(scores)), -scores))[: len(scores) // 4], ranked=True)
