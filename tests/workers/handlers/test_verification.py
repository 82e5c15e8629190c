"""Stored scores recomputed from file, gold and options, and compared bit for bit."""

from __future__ import annotations

import math
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db.models import F

from evalsvc.evaluation.benchmarks import contributed, creation
from evalsvc.evaluation.models import (
    Benchmark,
    Evaluation,
    EvaluationOutcomes,
    PredictionFile,
    Score,
    Submission,
)
from tests.cast.benchmarks import RELATION_GOLD, BenchmarkCast, freeze, gold_sentence
from workers.runner import run_next

LINES = [{"id": line["id"], "label": "born_in"} for line in RELATION_GOLD]
SPANS = [{"id": "d1", "spans": [[0, 1, "PER"]]}, {"id": "d2", "spans": []}, {"id": "d3", "spans": []}]


@pytest.fixture
def benchmark(cast: BenchmarkCast) -> Benchmark:
    """One run, scored under two golds."""
    benchmark = cast.relations()
    cast.submit(benchmark, LINES)
    work()
    gold = [gold_sentence(each["id"], each["h"]["id"], each["t"]["id"], "born_in") for each in RELATION_GOLD]
    mended = freeze("mended", gold, by=cast.olga)
    creation.revise_setting(benchmark.settings.get(), test_set=mended, by=cast.olga)
    work()
    return benchmark


def work() -> None:
    while run_next("score"):
        pass


def verify(*words: str) -> str:
    out = StringIO()
    call_command("verify_scores", *words, stdout=out, stderr=StringIO())
    return out.getvalue()


def differences(*words: str) -> str:
    out = StringIO()
    with pytest.raises(SystemExit) as stopped:
        call_command("verify_scores", *words, stdout=out, stderr=StringIO())
    assert stopped.value.code == 1
    return out.getvalue()


def test_scores_of_every_version_are_recomputed_bit_for_bit(
    cast: BenchmarkCast, benchmark: Benchmark
) -> None:
    scores = Score.objects.count()
    assert verify() == f"{scores} scores of 2 evaluations recomputed: equal bit for bit.\n"
    assert verify("rel", "--setting", "main", "--submission", str(Submission.objects.get().pk))


def test_scores_of_documents_and_bags_are_recomputed(cast: BenchmarkCast) -> None:
    cast.submit(cast.entities(), SPANS)
    cast.submit(cast.relations("bag", "ap", slug="bags"), LINES, system="Bags")
    work()
    assert "2 evaluations recomputed" in verify()


def test_scores_that_equal_files_share_are_recomputed_once(cast: BenchmarkCast, benchmark: Benchmark) -> None:
    cast.submit(benchmark, LINES, run="2")
    work()
    assert {run.evaluations.count() for run in Submission.objects.all()} == {1, 2}
    assert "of 2 evaluations recomputed" in verify()


def test_one_bit_of_one_score_is_found(benchmark: Benchmark) -> None:
    score = Score.objects.filter(measure="accuracy").first()
    assert score is not None
    assert score.value is not None
    Score.objects.filter(pk=score.pk).update(value=math.nextafter(score.value, 1))
    assert f"accuracy: stored {math.nextafter(score.value, 1)!r}, recomputed {score.value!r}" in differences()


def test_a_missing_score_and_changed_parts_are_found(benchmark: Benchmark) -> None:
    Score.objects.filter(measure="macro_f1").delete()
    evaluation = Evaluation.objects.earliest("pk")
    evaluation.classes[0]["correct"] += 1
    evaluation.detail["notes"] = ["changed"]
    evaluation.options["missing"] = "wrong"
    evaluation.answers_sha256 = "0" * 64
    evaluation.save()
    EvaluationOutcomes.objects.update(content=b"other")
    found = differences()
    label = evaluation.classes[0]["label"]
    for expected in (
        "macro_f1: not stored",
        f"class {label}",
        "notes: differs",
        "options:",
        "answers:",
        "outcomes",
    ):
        assert expected in found


def test_families_that_were_not_computed_at_the_time_are_not_missed(cast: BenchmarkCast) -> None:
    cast.submit(cast.entities(), SPANS)
    work()
    Score.objects.filter(measure__startswith="wrf_").delete()
    evaluation = Evaluation.objects.get()
    evaluation.classes = [row for row in evaluation.classes if row["family"] == "conll"]
    evaluation.save()
    assert "equal bit for bit" in verify()


def test_scores_of_another_scorer_are_counted_and_not_recomputed(benchmark: Benchmark) -> None:
    Evaluation.objects.filter(pk=Evaluation.objects.earliest("pk").pk).update(scorer="0.9")
    Score.objects.filter(evaluation__scorer="0.9").update(value=F("value") + 1)
    found = verify()
    assert "1 evaluation not recomputed: scored by 0.9" in found
    assert "of 1 evaluation recomputed" in found


def test_a_changed_file_is_named(cast: BenchmarkCast, benchmark: Benchmark) -> None:
    other = cast.submit(benchmark, [*LINES[:5], {"id": "s6", "label": "N/A"}], run="2")
    PredictionFile.objects.exclude(pk=other.file_id).update(name=other.file.name)
    assert "differs from the uploaded one" in differences()


@pytest.mark.parametrize("words", [("nowhere",), ("rel", "--setting", "nothing"), ("--submission", "999999")])
def test_a_name_that_does_not_exist_is_rejected(benchmark: Benchmark, words: tuple[str, ...]) -> None:
    with pytest.raises(CommandError, match="There is no"):
        verify(*words)


def test_figures_of_contributed_measures_are_recomputed_too(cast: BenchmarkCast) -> None:
    benchmark = cast.entities()
    cast.submit(benchmark, SPANS)
    work()
    measure = contributed.propose(
        benchmark, name="own", title="Own", composition={"base": "wrf", "gamma": "lenient"}, by=cast.kim
    )
    contributed.decide(measure, admit=True, by=cast.olga)
    verify()  # the batch has not scored it yet
    work()
    verify()
    Score.objects.filter(measure=measure.key).update(value=F("value") / 2)
    assert f"{measure.key}: stored" in differences()
