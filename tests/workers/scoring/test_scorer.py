"""Reference figures through the whole path: frozen gold, a posted file, a job, a stored score."""

from __future__ import annotations

import pytest

from evalsvc.evaluation.models import Submission
from tests.cast.benchmarks import BenchmarkCast, Line, freeze
from tests.workers.metrics.ranked_numbers import GOLD, SCORES
from workers.runner import run_next

RELATIONS = ["r1", "r2", "r3"]
LABELS = ["Cause(e1,e2)", "Cause(e2,e1)", "Whole(e1,e2)", "Whole(e2,e1)"]


def pair(n: int) -> dict[str, Line]:
    return {"h": {"id": f"h{n}", "name": "a"}, "t": {"id": f"t{n}", "name": "b"}}


def ranked_gold() -> list[Line]:
    found = []
    for n, word in enumerate(GOLD.split()):
        names = [] if word == "." else [f"r{digit}" for digit in word]
        found.append({"id": f"s{n}", **pair(n), "relations": names})
    return found


def ranked_claims() -> list[Line]:
    thousandths = [int(word) for word in SCORES.split()]
    return [
        {"entpair": [f"h{at // 3}", f"t{at // 3}"], "relation": RELATIONS[at % 3], "score": number / 1000}
        for at, number in enumerate(thousandths)
    ]


def figures(submission: Submission) -> dict[str, float | None]:
    assert run_next("score")
    evaluation = submission.evaluations.get()
    return {score.measure: score.value for score in evaluation.scores.all()}


def test_both_profiles_give_the_reference_figures(cast: BenchmarkCast) -> None:
    gold = freeze("ranked", ranked_gold(), by=cast.olga, labels=RELATIONS)
    benchmark = cast.benchmark(labels=RELATIONS, negative="NA", settings=[("main", gold, "bag", "ap")])
    found = figures(cast.submit(benchmark, ranked_claims()))
    expected = {
        "ap": 0.9137954310,
        "auc": 0.9137064786,
        "max_f1": 0.8395061728,
        "tau": 0.49,
        "macro_f1_at_tau": 0.5705981822,
        "p_at_100": 0.74,
        "p_at_200": 0.415,
        "p_at_300": 0.28,
        "p_at_mean": 0.4783333333,
        "opennre_auc": 0.9016589502,
        "opennre_max_f1": 0.8447204969,
        "opennre_macro_f1_at_tau": 0.5705981822,
        "opennre_micro_f1_at_half": 0.8301886792,
        "opennre_macro_f1_at_half": 0.5608672087,
        "opennre_p_at_mean": 0.4783333333,
    }
    assert {key: found[key] for key in expected} == pytest.approx(expected, abs=5e-11)


def test_a_sentence_is_scored_for_its_pair(cast: BenchmarkCast) -> None:
    gold = freeze("ranked", ranked_gold(), by=cast.olga, labels=RELATIONS)
    benchmark = cast.benchmark(labels=RELATIONS, negative="NA", settings=[("main", gold, "sentence", "ap")])
    lines: list[Line] = [{"id": f"s{n}", "scores": {}} for n in range(120)]
    for claim in ranked_claims():
        lines[int(claim["entpair"][0][1:])]["scores"][claim["relation"]] = claim["score"]
    found = figures(cast.submit(benchmark, lines))
    assert found["ap"] == pytest.approx(0.9137954310, abs=5e-11)
    assert found["opennre_auc"] == pytest.approx(0.9016589502, abs=5e-11)


def test_directed_relations_get_their_official_score(cast: BenchmarkCast) -> None:
    truth = ["Cause(e1,e2)", "Cause(e2,e1)", "Whole(e1,e2)", "Other", "Whole(e2,e1)"]
    lines = [{"id": str(n), "relations": [] if t == "Other" else [t]} for n, t in enumerate(truth)]
    gold = freeze("directed", lines, by=cast.olga, labels=LABELS)
    benchmark = cast.benchmark(
        labels=LABELS,
        negative="Other",
        missing="wrong",
        settings=[("main", gold, "sentence", "semeval2010_f1")],
    )
    answers = b"0\tCause(e1,e2)\n1\tCause(e1,e2)\n2\tWhole(e1,e2)\n3\tWhole(e1,e2)\n"
    found = figures(cast.submit(benchmark, answers))
    # Cause: 1 right of 2 claimed and 2 to find; Whole: 1 right of 2 claimed and 2 to find
    assert found["semeval2010_f1"] == pytest.approx((1 / 2 + 1 / 2) / 2)
    assert found["semeval2010_coverage"] == pytest.approx(4 / 5)


def test_the_negative_class_is_averaged_only_on_request(cast: BenchmarkCast) -> None:
    lines = [{"id": "1", "relations": ["a"]}, {"id": "2", "relations": []}, {"id": "3", "relations": []}]
    gold = freeze("small", lines, by=cast.olga, labels=["a"])
    answers = [{"id": "1", "label": "NA"}, {"id": "2", "label": "NA"}, {"id": "3", "label": "NA"}]
    found = {}
    for asked in (False, True):
        benchmark = cast.benchmark(
            f"b{asked}".lower(),
            labels=["a"],
            negative="NA",
            options={"include_negative": asked},
            settings=[("main", gold, "sentence", "micro_f1")],
        )
        found[asked] = figures(cast.submit(benchmark, answers))["micro_f1"]
    assert found == {False: 0.0, True: pytest.approx(2 / 3)}


def test_the_entropy_scheme_counts_items_of_the_negative_class(cast: BenchmarkCast) -> None:
    lines = [
        {"id": "1", "relations": ["a"]},
        {"id": "2", "relations": ["b"]},
        {"id": "3", "relations": ["b"]},
    ]
    lines += [{"id": str(n), "relations": []} for n in range(4, 11)]
    gold = freeze("small", lines, by=cast.olga, labels=["a", "b"])
    settings = [("main", gold, "sentence", "entropy_f1")]
    benchmark = cast.benchmark(labels=["a", "b"], negative="NA", settings=settings)
    single = [{"id": str(n), "label": "a" if n == 1 else "b" if n == 3 else "NA"} for n in range(1, 11)]
    sets = [{"id": s["id"], "labels": [] if s["label"] == "NA" else [s["label"]]} for s in single]
    one = figures(cast.submit(benchmark, single, run="single"))
    other = figures(cast.submit(benchmark, sets, run="sets"))
    assert one["entropy_f1"] == pytest.approx(other["entropy_f1"])
    assert one["entropy_f1"] != pytest.approx(one["entropy_positive_f1"])
