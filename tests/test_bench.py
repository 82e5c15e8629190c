"""Benchmark cases on small data: both sides of each compute the same figures."""

import json
from functools import partial

import pytest

from bench import harness
from bench.cases import CASES, bags, entities, files, labels, processes, words
from bench.harness import Case, Goal, Side
from tests.cast.benchmarks import RELATION_GOLD, BenchmarkCast

SMALL = {
    "seqeval": partial(entities.seqeval_default, 60),
    "seqeval-strict": partial(entities.seqeval_strict, 60),
    "nervaluate": partial(entities.nervaluate, 60),
    "scikit-learn": partial(labels.scikit_learn, 3_000),
    "bags": partial(bags.ranked, 40, 150),
    "bootstrap": partial(bags.bootstrap, 40, 150),
    "rouge-score": partial(words.rouge, 40),
    "files": partial(files.sentences, 400),
    "files-24": partial(files.many_scores, 400),
    "process-2m": partial(processes.large, 30),
    "process-46k": partial(processes.small, 30),
}


def test_every_case_runs_on_small_data():
    assert SMALL.keys() == CASES.keys()


@pytest.mark.parametrize("key", SMALL)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_both_sides_compute_the_same_figures(key):
    case = SMALL[key]()
    assert case.key == key
    figures = [side.run(side.build()) for side in (case.ours, case.theirs)]
    case.same(*figures)
    assert case.floor is None or case.floor.run(case.floor.build()) is not None


def broken(ours: object, theirs: object) -> None:
    raise AssertionError("the figures differ")


def fake(**more: object) -> Case:
    sides = {
        "ours": Side("ours", lambda: 1, lambda data: sum(range(20_000))),
        "theirs": Side("theirs", lambda: 1, lambda data: sum(range(40_000)), units=2),
    }
    return Case(
        **{"key": "fake", "title": "", "goals": (), "same": lambda a, b: None, "rounds": 3, **sides, **more}
    )


def test_nothing_is_timed_when_the_figures_differ(monkeypatch):
    monkeypatch.setattr(harness, "pin", lambda: None)
    with pytest.raises(AssertionError, match="differ"):
        harness.measure(fake(same=broken))


def test_a_report_has_every_round_and_the_median_ratio(monkeypatch):
    monkeypatch.setattr(harness, "pin", lambda: None)
    seconds = iter([0, 0, 1.0, 8.0, 8.0, 1.0, 2.0, 8.0])
    monkeypatch.setattr(harness, "timed", lambda work: (next(seconds), work()))
    row = harness.measure(fake())
    assert [timing["rounds"] for timing in row["timings"]] == [[1.0, 1.0, 2.0], [4.0, 4.0, 4.0]]
    assert (row["ratio"], row["ratio_range"]) == (4.0, [2.0, 4.0])
    assert json.loads(json.dumps(row)) == row
    assert "4.00×" in harness.table_row(harness.judged(row, ()))


@pytest.mark.parametrize(
    ("goal", "missed"),
    [
        (Goal("ratio", least=3, unit="×"), []),
        (Goal("ratio", least=3.1, unit="×"), ["ratio ≥ 3.1×"]),
        (Goal("waits.p95", most=2, unit=" s"), []),
        (Goal("waits.p95", most=1, unit=" s"), ["waits.p95 ≤ 1 s"]),
    ],
)
def test_a_missed_goal_is_named_and_ends_with_exit_code_1(goal, missed, capsys):
    row = harness.judged({"key": "fake", "ratio": 3.0, "waits": {"p95": 2.0}}, [goal])
    assert row["missed"] == missed
    assert harness.exit_code([row], "key") == len(missed)
    assert [line.partition("missed ")[2] for line in capsys.readouterr().err.splitlines()] == missed


def test_the_benchmark_of_cases_fails_where_one_misses_its_goal(monkeypatch, tmp_path):
    from bench import __main__ as command

    seconds = iter([0, 0, *[1.0, 4.0, 4.0, 1.0, 1.0, 4.0] * 2, 0, 0])
    monkeypatch.setattr(harness, "pin", lambda: None)
    monkeypatch.setattr(harness, "timed", lambda work: (next(seconds, 0), work()))
    row = harness.measure(fake())
    monkeypatch.setattr(harness, "measure_apart", lambda key: row)
    monkeypatch.setattr("sys.argv", ["bench", "--out", str(tmp_path)])
    for least, code in ((2, 0), (100, 1)):
        case = fake(goals=(Goal("ratio", least=least),))
        monkeypatch.setattr(command, "CASES", {"fake": lambda case=case: case})
        assert command.main() == code


def test_every_case_but_whole_processes_has_a_goal():
    assert {key for key, make in SMALL.items() if not make().goals} == {"process-2m", "process-46k"}


def test_a_submission_is_scored_in_this_process_without_storing(db, tmp_path, settings):
    from bench.service.cases import scoring_seconds

    settings.MEDIA_ROOT = tmp_path
    cast = BenchmarkCast.create()
    predictions = [{"id": line["id"], "label": "born_in"} for line in RELATION_GOLD]
    submission = cast.submit(cast.relations(), predictions)
    assert scoring_seconds(submission) > 0
    assert not submission.evaluations.exists()
