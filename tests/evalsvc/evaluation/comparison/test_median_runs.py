"""Tests over items take a system of several runs by its median run, which its mean may contradict."""

from __future__ import annotations

import math

import pytest
from django.test import Client
from django.urls import reverse

from evalsvc.evaluation.boards import leaderboard
from evalsvc.evaluation.comparison import compared, sentences, tables, tested_systems, words
from evalsvc.evaluation.comparison.board_comparison import BY_MEDIAN
from evalsvc.evaluation.comparison.compared import Comparison
from evalsvc.evaluation.comparison.sentences import Outcome, Side
from evalsvc.evaluation.disclosure.rules import p_range
from evalsvc.evaluation.measures.menu import MENU
from evalsvc.evaluation.models import Benchmark, BoardTests, Setting
from tests.cast.benchmarks import BenchmarkCast
from tests.evalsvc.evaluation.comparison.test_board_tests import compute
from tests.evalsvc.evaluation.comparison.test_compared import computed
from tests.evalsvc.evaluation.disclosure.phase import gold_labels, hidden_phase, scored, wrong
from workers.scoring.significance import (
    NEAR,
    TURNED,
    ComparedMeasure,
    median_runs,
    within_steps,
    without_turned,
)

ITEMS = 100
# shares of wrong answers: the median run of Net is better than Rules, its mean is not
RUNS = {"Net": (0.1, 0.12, 0.95), "Rules": (0.3,), "Last": (0.6,)}


@pytest.fixture
def unstable(cast: BenchmarkCast, monkeypatch: pytest.MonkeyPatch) -> Benchmark:
    monkeypatch.setattr(compared, "REPLICATES", 199)
    gold = gold_labels(ITEMS)
    benchmark = hidden_phase(cast, gold, disclosure="open", default_quotas=False, main="accuracy")
    for system, shares in RUNS.items():
        for run, share in enumerate(shares):
            team = cast.kelpie if system == "Net" else cast.lugworm
            by = cast.kim if system == "Net" else cast.lars
            labels = wrong(gold, share, seed=run)
            scored(cast, benchmark, labels, system=system, run=str(run), team=team, by=by)
    return benchmark


def pair(cast: BenchmarkCast, benchmark: Benchmark, *names: str) -> Comparison:
    Setting.objects.update(measures=["accuracy"])
    return computed(cast, benchmark, *names)


@pytest.mark.parametrize("disclosure", ["open", "hidden"])
def test_no_system_is_ahead_whose_figure_is_lower(
    cast: BenchmarkCast, unstable: Benchmark, disclosure: str
) -> None:
    Setting.objects.update(disclosure=disclosure)
    found = pair(cast, unstable, "Net", "Rules")
    assert found.names == ["Rules", "Net"]
    [test] = found.tests["accuracy"]
    assert (test.reason, test.p_text, test.low, test.winner) == (TURNED, "", None, None)
    means = [found.board.columns["accuracy"].figures[row.system.pk].mean or 0 for row in found.rows]
    assert test.difference == pytest.approx(means[0] - means[1])
    assert found.verdict("accuracy", 0, 1) == "·"
    [sentence] = words.paragraph(found)
    rules, net = (f"{100 * mean:.1f}" for mean in means)
    assert sentence == f"“Rules” has {rules} accuracy, “Net” {net}; nothing is claimed: {TURNED}."
    rows = tables.tests_table(found, every=True).rows
    assert [each[-1].text for each in rows if each[0].value == "accuracy"] == [TURNED]
    assert f"Not tested: {TURNED}." in tables.tests_table(found, every=False).caption


def test_on_hidden_gold_the_difference_is_that_of_run_figures_that_are_shown(
    cast: BenchmarkCast, unstable: Benchmark
) -> None:
    Setting.objects.update(disclosure="hidden")
    unstable.systems.get(name="Rules").runs.update(withdrawn_at="2026-01-01T00:00Z", scored_at=None)
    found = pair(cast, unstable, "Net", "Last")
    values = found.board.figures.by_measure.run_values("accuracy")
    of_net, of_last = (
        sorted(value for value in values[row.system.pk] if value is not None) for row in found.rows
    )
    [test] = found.tests["accuracy"]
    assert (test.reason, test.winner) == ("", 0)
    assert test.difference == pytest.approx(of_net[1] - of_last[0])
    assert ((test.low or 0) + (test.high or 0)) / 2 == pytest.approx(test.difference)
    assert words.paragraph(found)[0] == (
        f"“Net” is ahead of “Last” by {100 * (of_net[1] - of_last[0]):.1f} accuracy"
        f" (p {test.p_holm_text}, paired randomisation over sentences, “Net” by its median run)."
    )


def test_a_test_over_items_names_its_runs_once_the_gold_is_open(
    client: Client, cast: BenchmarkCast, unstable: Benchmark
) -> None:
    found = pair(cast, unstable, "Net", "Last")
    [test] = found.tests["accuracy"]
    assert (found.names, found.runs_of(test)) == (["Net", "Last"], ("1", "0"))
    assert found.runs_of(test.turned()) == ("0", "1")
    assert words.paragraph(found)[0].endswith(", “Net” by its median, run 1).")
    cells = {
        head.key: row[at].value
        for table in [tables.tests_table(found, every=True)]
        for at, head in enumerate(table.heads)
        for row in table.rows
        if row[0].value == "accuracy"
    }
    assert (cells["run_a"], cells["run_b"]) == ("1", "0")
    client.force_login(cast.olga)
    query = {"systems": ["kelpie/Net", "lugworm/Last"]}
    [sent, *_] = client.get("/api/v1/benchmarks/hid/compare", query).json()["tests"]
    assert (sent["run_a"], sent["run_b"]) == ("1", "0")
    Setting.objects.update(disclosure="hidden")
    hidden = pair(cast, unstable, "Net", "Last")
    assert [hidden.runs_of(each) for each in hidden.tests["accuracy"]] == [("", "")]


@pytest.mark.parametrize(
    ("rule", "other", "named"),
    [
        ("mean", "Last", "where a side has one run, paired"),
        ("mean", "", "Tests: paired"),
        ("latest", "Last", "Tests: paired"),
    ],
)
def test_the_method_names_a_median_run_only_where_one_was_tested(
    cast: BenchmarkCast, unstable: Benchmark, rule: str, other: str, named: str
) -> None:
    """Where rows show the latest run, that was tested, beside a method that named the median run."""
    Setting.objects.update(row_rule=rule)
    found = pair(cast, unstable, "Net" if other else "Rules", "Last")
    assert any(test.p is not None for test in found.tests["accuracy"])
    text = words.method(found)
    assert named in text
    assert ("of the median run of the other" in text) is (rule == "mean" and bool(other))
    assert ("of the run shown: the latest run with figures." in text) is (rule == "latest")


def test_a_board_that_tests_the_runs_shown_has_no_remark_on_few_runs(
    client: Client, cast: BenchmarkCast, unstable: Benchmark
) -> None:
    gold = gold_labels(ITEMS)
    for run in range(1, 8):
        labels = wrong(gold, 0.6, seed=run)
        scored(cast, unstable, labels, system="Last", run=str(run), team=cast.lugworm, by=cast.lars)
    for rule, remarked in (("mean", True), ("latest", False)):
        Setting.objects.update(row_rule=rule)
        BoardTests.objects.update(outdated=True)
        assert compute() == 1
        tested = client.get(reverse("board", args=["hid"])).context["tested"]
        assert ("Welch’s t over runs" in tested, words.FEW_RUNS in tested) == (remarked, remarked)


def test_a_board_names_median_runs_and_ranks_by_none_that_the_mean_contradicts(
    client: Client, cast: BenchmarkCast, unstable: Benchmark
) -> None:
    assert compute() == 1
    setting = unstable.settings.get()
    bands = {line.row.system.name: line.rank for line in board_lines(client)}
    assert bands == {"Rules": "1–2", "Net": "1–2", "Last": "3"}
    response = client.get(reverse("board", args=["hid"]))
    assert f"nothing is claimed: {TURNED}." in response.context["sentence"]
    page = " ".join(response.content.decode().split())
    assert f"ranks by tests: paired randomisation over sentences ({BY_MEDIAN}), .05 after Holm" in page
    for form in ("md", "tex"):
        file = client.get(reverse("board-view-file", args=["hid", form])).content.decode()
        assert f"paired randomisation over sentences ({BY_MEDIAN}), .05" in " ".join(file.split())
    board = leaderboard.board(setting)
    net = next(row.system.pk for row in board.rows if row.system.name == "Net")
    page = client.get(reverse("system", args=["hid", net])).content.decode()
    assert "paired randomisation over sentences, “Net” by its median, run 1)." in page
    assert "“Net” is ahead of “Rules”" not in page


def board_lines(client: Client) -> list:
    return client.get(reverse("board", args=["hid"])).context["table"].rows


def row(a: float, b: float, p: float = 0.001) -> ComparedMeasure:
    return ComparedMeasure("accuracy", a=a, b=b, difference=a - b, low=-1, high=1, p=p, differing=20)


@pytest.mark.parametrize(
    ("one", "several", "place"),
    [
        (0.81, (0.65, 0.95), 1),  # by the lower one, 0.81 would be ahead by 0.16
        (0.60, (0.65, 0.95), 0),
        (0.99, (0.65, 0.95), 1),
        (0.80, (0.65, 0.95), 0),  # as near: the lower one
        (0.90, (0.9, 0.1, 0.5, 0.6), 3),
        (0.10, (0.9, 0.1, 0.5, 0.6), 2),
        (0.90, (0.9, 0.1, 0.5), 2),
    ],
)
def test_of_an_even_number_of_runs_the_middle_one_nearer_to_the_other_side_is_tested(
    one: float, several: tuple[float, ...], place: int
) -> None:
    sides = [{"accuracy": one}], [{"accuracy": each} for each in several]
    assert median_runs(["accuracy"], *sides) == {"accuracy": (0, place)}
    assert median_runs(["accuracy"], *sides[::-1]) == {"accuracy": (place, 0)}


@pytest.mark.parametrize(
    ("tested", "means", "rounding", "reason"),
    [
        (row(0.9, 0.8), (0.8004, 0.8), 0.001, NEAR),
        (row(0.9, 0.8), (0.7996, 0.8), 0.001, NEAR),
        (row(0.9, 0.8), (0.801, 0.8), 0.001, None),
        (row(0.9, 0.8), (0.799, 0.8), 0.001, TURNED),
        (row(0.8004, 0.8), (0.8004, 0.8), 0.001, None),  # of single runs
        (row(0.9, 0.8), (0.7, 0.8), 0.0, TURNED),
        (row(0.7, 0.8), (0.9, 0.8), 0.0, TURNED),
        (row(0.9, 0.8), (0.85, 0.8), 0.0, None),
        (row(0.9, 0.8), (0.8, 0.8), 0.0, NEAR),
        (row(0.8, 0.8), (0.7, 0.8), 0.0, None),
        (row(math.nan, 0.8), (0.7, 0.8), 0.0, None),
        (row(0.9, 0.8), (0.8 + 1e-15, 0.8), 0.0, NEAR),
        (row(0.8 + 1e-15, 0.8), (0.8, 0.8), 0.0, None),
        (row(0.9, 0.8)._replace(differing=None), (0.7, 0.8), 0.0, None),  # over runs
    ],
)
def test_a_test_is_taken_away_where_means_are_within_their_rounding_or_have_the_other_order(
    tested: ComparedMeasure, means: tuple[float, float], rounding: float, reason: str | None
) -> None:
    [found] = without_turned([tested], *({"accuracy": mean} for mean in means), {"accuracy": rounding})
    assert found.reason == reason
    if reason:
        assert (found.a, found.b, found.difference) == (*means, means[0] - means[1])
        assert math.isnan(found.p)


def test_no_test_orders_systems_whose_figures_are_the_same_to_the_shown_digits(
    client: Client, cast: BenchmarkCast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compared, "REPLICATES", 199)
    gold = gold_labels(ITEMS)
    benchmark = hidden_phase(cast, gold, disclosure="open", default_quotas=False, main="accuracy")
    for system, shares in {"Trio": (0.05, 0.05, 0.52), "Solo": (0.21,)}.items():
        team, by = (cast.kelpie, cast.kim) if system == "Trio" else (cast.lugworm, cast.lars)
        for run, share in enumerate(shares):
            labels = wrong(gold, share, seed=run)
            scored(cast, benchmark, labels, system=system, run=str(run), team=team, by=by)
    assert compute() == 1
    board = reverse("board", args=["hid"])
    assert client.get(board).context["sentence"].startswith("“Trio” is ahead of “Solo” by ")
    Setting.objects.update(digits=0)  # until the tests are computed anew, no headline contradicts the ranks
    assert client.get(board).context["sentence"].startswith("“Trio” is ahead of “Solo” by ")
    monkeypatch.setattr(compared, "FORMAT", 99)
    monkeypatch.setattr(tested_systems, "FORMAT", 99)
    assert compute() == 1
    same = "“Trio” and “Solo” have the same shown accuracy, 79."
    assert client.get(board).context["sentence"] == same
    lines = [(line.rank, line.no_rank) for line in board_lines(client)]
    assert lines == [("–", f"no test: {NEAR}, so no rank")] * 2
    [test] = pair(cast, benchmark, "Trio", "Solo").tests["accuracy"]
    assert (test.reason, test.winner) == (NEAR, None)


@pytest.mark.parametrize(
    ("figures", "step", "p"),
    [((0.81, 0.80), 0.01, "< .01"), ((0.8, 0.8), 0.01, "≥ .05"), ((0.51, 0.5), 0.02, "≥ .05")],
)
def test_a_difference_of_rounded_runs_within_a_step_is_none(
    figures: tuple[float, float], step: float, p: str
) -> None:
    found = within_steps(row(0.803, 0.7996, p=0.001), *figures, step)
    assert (found.difference, p_range(found.p)) == (pytest.approx(figures[0] - figures[1]), p)


def test_sentences_name_the_system_that_is_tested_by_its_median_run() -> None:
    sides = Side("Net", 0.7, n=3), Side("Rules", 0.6)
    tested = Outcome("paired", 0.02, -0.1, 0.14, ".400", 0.1, None, over_items=True)
    found = sentences.sentence("micro F1", MENU["micro_f1"], *sides, tested)
    assert found == (
        "No difference between Net and Rules could be shown: +2.0 (Net by its median run), 95 % interval"
        " −10.0 to +14.0; before Holm, differences under 10.0 would mostly go unseen."
    )
    over_runs = tested._replace(over_items=False)
    assert "median" not in sentences.sentence("micro F1", MENU["micro_f1"], *sides, over_runs)
