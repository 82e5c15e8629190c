"""Leaderboard: figures over active runs, ranks by the mean."""

from __future__ import annotations

from datetime import timedelta
from statistics import stdev
from types import SimpleNamespace

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from evalsvc.core.errors.exceptions import Conflict, DomainError
from evalsvc.evaluation import shown_scores, submission_states
from evalsvc.evaluation.benchmarks import creation, final_entries, row_rules, rules
from evalsvc.evaluation.benchmarks.versions import Run, ScoredRun, Shown
from evalsvc.evaluation.boards import stored_boards
from evalsvc.evaluation.boards.compared_runs import compared_runs
from evalsvc.evaluation.boards.figures import EqualRuns
from evalsvc.evaluation.boards.leaderboard import board, boards
from evalsvc.evaluation.boards.ranking import BoardRow
from evalsvc.evaluation.boards.reading import Reading
from evalsvc.evaluation.boards.system_names import names_on_board
from evalsvc.evaluation.disclosure.distinct_runs import Digests
from evalsvc.evaluation.disclosure.policy import Policy
from evalsvc.evaluation.models import (
    Benchmark,
    BoardTests,
    Evaluation,
    Setting,
    SettingVersion,
    Submission,
    System,
)
from evalsvc.evaluation.pages import run_list
from tests.cast.benchmarks import RELATION_GOLD, BenchmarkCast, Line, freeze
from tests.cast.replay import replayed
from workers.metrics.ranking_profiles import FEW_CLAIMS
from workers.runner import run_next

GOLD = [(line["relations"] or ["N/A"])[0] for line in RELATION_GOLD]


def answers(right: int) -> list[Line]:
    """The first answers right, the others wrong: accuracy is right / 6."""
    wrong = {"N/A": "part_of", "part_of": "born_in", "born_in": "works_for", "works_for": "born_in"}
    return [
        {"id": f"s{n}", "label": label if n <= right else wrong[label]} for n, label in enumerate(GOLD, 1)
    ]


@replayed
def scored(cast: BenchmarkCast, benchmark: Benchmark, system: str, *rights: int) -> list[Submission]:
    submissions = [
        cast.submit(benchmark, answers(right), system=system, run=str(run))
        for run, right in enumerate(rights, 1)
    ]
    while run_next("score"):
        pass
    return submissions


def rows(benchmark: Benchmark, order: str = "accuracy") -> dict[str, BoardRow]:
    return {row.system.name: row for row in board(benchmark.settings.get(), order).rows}


def test_a_system_has_mean_deviation_and_range_over_its_runs(cast: BenchmarkCast) -> None:
    benchmark = cast.relations()
    scored(cast, benchmark, "Net", 3, 4, 6)
    figure = rows(benchmark)["Net"].figures["accuracy"]
    values = [3 / 6, 4 / 6, 6 / 6]
    assert figure.mean == pytest.approx(sum(values) / 3)
    assert figure.sd == pytest.approx(stdev(values))
    assert (figure.n, figure.minimum, figure.maximum) == (3, 0.5, 1.0)
    figures = board(benchmark.settings.get()).figures.by_measure
    assert list(figures.run_values("accuracy").values()) == [pytest.approx(values)]


@pytest.mark.parametrize(("rule", "run"), [("latest", "3"), ("final", "3"), ("best:dev", "2"), ("mean", "")])
def test_a_row_shows_the_run_that_the_rule_of_the_setting_chooses(
    cast: BenchmarkCast, rule: str, run: str
) -> None:
    benchmark = cast.relations()
    dev = freeze("dev", RELATION_GOLD[:4], by=cast.olga)
    fields = {"test_set": dev, "unit": "sentence", "main": "accuracy", "disclosure": "open", "by": cast.olga}
    creation.add_setting(benchmark, key="dev", title="Dev", **fields)
    setting = benchmark.settings.get(key="main")
    creation.change_setting(setting, row_rule=rule, by=cast.olga)
    first = scored(cast, benchmark, "Net", 6, 4, 2)[0]
    if rule == "best:dev":
        submission_states.withdraw(first, by=cast.kim)
    values = {"1": 1.0, "2": 4 / 6, "3": 2 / 6}
    [row] = board(setting, "accuracy").rows
    figure = row.figures["accuracy"]
    assert row.runs.chosen == run
    assert figure.mean == pytest.approx(values.get(run, 4 / 6))
    assert (figure.n, row.n) == ((3 if rule == "mean" else 1), len(row.runs.names))
    assert len(compared_runs(board(setting), [row.system.pk])[row.system.pk]) == figure.n


def test_the_best_run_on_dev_may_have_a_file_for_each_phase(cast: BenchmarkCast) -> None:
    benchmark = cast.relations()
    dev = freeze("dev", RELATION_GOLD[:4], by=cast.olga)
    fields = {"test_set": dev, "unit": "sentence", "main": "accuracy", "disclosure": "open", "by": cast.olga}
    creation.add_setting(benchmark, key="dev", title="Dev", phase="dev", **fields)
    setting = benchmark.settings.get(key="main")
    creation.change_setting(setting, row_rule="best:dev", phase="test", by=cast.olga)
    for run, right in (("1", 5), ("2", 6), ("3", 3)):
        cast.submit(benchmark, answers(right), run=run, phase="test")
    while run_next("score"):
        pass
    assert board(setting, "accuracy").rows[0].runs.chosen == "3"  # the latest, as long as dev has no run
    before = stored_boards.changes([setting])
    BoardTests.objects.update_or_create(setting=setting, defaults={"outdated": False})
    for run, right in (("1", 4), ("2", 1), ("3", 2)):
        cast.submit(benchmark, answers(right)[:4], run=run, phase="dev")
    while run_next("score"):
        pass
    assert stored_boards.changes([setting]) != before
    assert BoardTests.objects.get(setting=setting).outdated
    [row] = board(setting, "accuracy").rows
    assert (row.runs.chosen, row.figures["accuracy"].mean) == ("1", pytest.approx(5 / 6))


@pytest.mark.parametrize("disclosure", ["hidden", "open"])
def test_after_the_end_no_file_of_another_phase_chooses_the_run(cast: BenchmarkCast, disclosure: str) -> None:
    """A team withdrew its dev file, or sent another one, once it had read the figures of the test phase."""
    benchmark = cast.relations()
    fields = {"unit": "sentence", "main": "accuracy", "disclosure": "open", "by": cast.olga}
    dev = freeze("dev", RELATION_GOLD[:4], by=cast.olga)
    creation.add_setting(benchmark, key="dev", title="Dev", phase="dev", test_set=dev, **fields)
    setting = benchmark.settings.get(key="main")
    creation.change_setting(setting, row_rule="best:dev", phase="test", disclosure=disclosure, by=cast.olga)
    for run, right in (("1", 5), ("2", 6)):
        cast.submit(benchmark, answers(right), run=run, phase="test")
    first = cast.submit(benchmark, answers(2)[:4], run="1", phase="dev")
    while run_next("score"):
        pass
    creation.change_setting(setting, closes_at=timezone.now(), by=cast.olga)
    cast.submit(benchmark, answers(4)[:4], run="2", phase="dev")
    while run_next("score"):
        pass
    now = timezone.now()
    later, again = {"closes_at": now + timedelta(days=1)}, {"disclosure": "hidden", "closes_at": now}
    earlier, endless = {"closes_at": now - timedelta(days=1)}, {"closes_at": None, "disclosure": "open"}
    for change in ({}, {"disclosure": "open"}, later, again, earlier, endless):
        creation.change_setting(setting, **change, by=cast.olga)
        assert board(setting, "accuracy").rows[0].runs.chosen == "1"
        with pytest.raises(Conflict, match="are final"):
            submission_states.withdraw(first, by=cast.kim)


def test_the_team_chooses_its_final_run_until_the_setting_closes(cast: BenchmarkCast) -> None:
    benchmark = cast.relations()
    setting = benchmark.settings.get()
    first = scored(cast, benchmark, "Net", 6, 4)[0]
    first.refresh_from_db()
    creation.change_setting(setting, row_rule="final", by=cast.olga)
    before = stored_boards.changes([setting])
    final_entries.choose(first, by=cast.kim)
    assert stored_boards.changes([setting]) != before
    assert final_entries.final_phases([benchmark.pk]) == {first.pk: [""]}
    setting.refresh_from_db()
    [row] = board(setting, "accuracy").rows
    assert (row.runs.chosen, row.figures["accuracy"].mean) == ("1", 1.0)
    Setting.objects.update(closes_at=timezone.now())
    with pytest.raises(Conflict, match="are final: it ended on"):
        final_entries.choose(first, by=cast.kim)
    submission_states.withdraw(first, by=cast.olga)
    with pytest.raises(Conflict, match="on no leaderboard"):
        final_entries.choose(Submission.objects.get(pk=first.pk), by=cast.olga)


def test_a_team_has_one_rank_by_the_final_entry_of_all_its_systems(
    cast: BenchmarkCast, client: Client
) -> None:
    benchmark = cast.relations()
    creation.change_setting(benchmark.settings.get(), row_rule="entry", by=cast.olga)
    net, second = scored(cast, benchmark, "Net", 6, 4)
    scored(cast, benchmark, "Tree", 5)
    cast.submit(benchmark, answers(3), team=cast.lugworm, by=cast.lars, system="Rival")
    assert run_next("score")

    def ranks() -> dict[str, int | None]:
        return {name: row.rank for name, row in rows(benchmark).items()}

    assert ranks() == {"Tree": 1, "Rival": 2, "Net": None}  # the latest run of the team
    net.refresh_from_db(), second.refresh_from_db()
    final_entries.choose(net, by=cast.kim)
    assert ranks() == {"Net": 1, "Rival": 2, "Tree": None}
    row = rows(benchmark)["Net"]
    assert (row.runs.chosen, row.figures["accuracy"].mean) == ("1", 1.0)
    client.force_login(cast.kim)
    listed = reverse("api-submissions", args=[benchmark.slug])
    assert [run["run"] for run in client.get(listed).json()["results"] if run["final_at"]] == ["1"]
    final_entries.choose(second, by=cast.kim)
    assert [run["run"] for run in client.get(listed).json()["results"] if run["final_at"]] == ["2"]
    final_entries.choose(net, by=cast.kim)
    before = stored_boards.changes([benchmark.settings.get()])
    rules.name_baselines(benchmark, [System.objects.get(name="Tree")], by=cast.olga)
    assert ranks() == {"Net": 1, "Tree": 2, "Rival": 3}  # baselines enter beside
    assert stored_boards.changes([benchmark.settings.get()]) != before


def test_a_final_entry_stands_when_its_phase_has_ended_and_another_begins(cast: BenchmarkCast) -> None:
    benchmark = cast.relations()
    test = benchmark.settings.get()
    fields = {
        "unit": "sentence",
        "main": "accuracy",
        "disclosure": "open",
        "row_rule": "entry",
        "by": cast.olga,
    }
    dev = freeze("dev", RELATION_GOLD, by=cast.olga)
    creation.add_setting(benchmark, key="dev", title="Dev", test_set=dev, phase="dev", **fields)
    creation.change_setting(test, row_rule="entry", phase="test", disclosure="open", by=cast.olga)
    both = cast.submit(benchmark, answers(6), phase="both")
    other = cast.submit(benchmark, answers(4), system="Tree", phase="both")
    while run_next("score"):
        pass
    both.refresh_from_db(), other.refresh_from_db()
    runs = run_list.with_figures(Submission.objects.filter(pk=both.pk))
    assert run_list.main_figures(runs, cast.kim, phase="dev") == [("100.0", "accuracy, Dev")]
    assert run_list.main_figures(runs, cast.kim, phase="test") == [("100.0", "micro F1, main")]
    final_entries.choose(both, by=cast.kim)
    with pytest.raises(DomainError, match="not sent to the phase"):
        final_entries.choose(both, by=cast.kim, phase="final")
    creation.change_setting(test, row_rule="mean", by=cast.olga)
    with pytest.raises(Conflict, match="No setting in the phase test shows"):
        final_entries.choose(both, by=cast.kim, phase="test")
    creation.change_setting(test, row_rule="entry", by=cast.olga)
    final_entries.choose(both, by=cast.kim, phase="test")
    assert final_entries.final_phases([benchmark.pk]) == {both.pk: ["dev", "test"]}
    Setting.objects.filter(key="dev").update(closes_at=timezone.now())
    final_entries.choose(other, by=cast.kim)
    assert final_entries.final_phases([benchmark.pk]) == {both.pk: ["dev"], other.pk: ["test"]}
    with pytest.raises(Conflict, match="are final: it ended on"):
        final_entries.choose(other, by=cast.kim, phase="dev")
    settings = {each.key: each for each in benchmark.settings.all()}
    first = {key: board(each, "accuracy").rows[0].system.name for key, each in settings.items()}
    assert first == {"dev": "Net", "main": "Tree"}


@pytest.mark.parametrize(
    ("hidden", "orders", "same"),
    [(False, ("1", "2"), False), (False, ("1", "1"), True), (True, ("1", "1"), False)],
)
def test_one_file_makes_other_answers_as_one_than_as_avg(
    hidden: bool, orders: tuple[str, str], same: bool
) -> None:
    reading = SimpleNamespace(policy=SimpleNamespace(hidden=hidden))
    run = SimpleNamespace(file_id="f")
    both = [
        ScoredRun(run, 1, Digests("a", "", order, "f"), aggregate)  # type: ignore[arg-type]
        for order, aggregate in zip(orders, ("ONE", "AVG"), strict=True)
    ]
    first, second = (Reading._answers(reading, each) for each in both)  # type: ignore[arg-type]
    assert (first == second) == same


@pytest.mark.parametrize("withdrawn", [False, True])
def test_answers_sent_again_are_not_the_latest_run(cast: BenchmarkCast, withdrawn: bool) -> None:
    """A team that knew the figures of its runs chose among them."""
    benchmark = cast.relations(main="accuracy")
    first, *_ = scored(cast, benchmark, "Net", 6, 3)
    setting = benchmark.settings.get()
    creation.change_setting(setting, row_rule="latest", by=cast.olga)
    if withdrawn:
        submission_states.withdraw(first, by=cast.kim)
    cast.submit(benchmark, answers(6), system="Net", run="again")
    while run_next("score"):
        pass
    assert board(setting).rows[0].runs.chosen == "2"


def test_no_setting_chooses_its_own_runs(cast: BenchmarkCast) -> None:
    setting = cast.relations().settings.get()
    with pytest.raises(DomainError, match="best:main"):
        creation.change_setting(setting, row_rule="best:main", by=cast.olga)


def test_one_run_has_no_deviation(cast: BenchmarkCast) -> None:
    benchmark = cast.relations()
    scored(cast, benchmark, "Net", 3)
    assert rows(benchmark)["Net"].figures["accuracy"].sd is None


def test_the_best_mean_is_first_and_equal_means_share_a_rank(cast: BenchmarkCast) -> None:
    benchmark = cast.relations()
    for system, right in (("Low", 2), ("B", 5), ("A", 5), ("Top", 6)):
        scored(cast, benchmark, system, right)
    ranked = board(benchmark.settings.get(), "accuracy").rows
    assert [(row.rank, row.system.name) for row in ranked] == [(1, "Top"), (2, "A"), (2, "B"), (4, "Low")]


def test_the_main_measure_orders_unless_another_is_requested(cast: BenchmarkCast) -> None:
    benchmark = cast.relations()
    assert board(benchmark.settings.get()).order_by == "micro_f1"
    with pytest.raises(DomainError, match="no measure nonsense"):
        board(benchmark.settings.get(), "nonsense")


def test_a_withdrawn_run_no_longer_counts(cast: BenchmarkCast) -> None:
    benchmark = cast.relations()
    first, _ = scored(cast, benchmark, "Net", 2, 6)
    submission_states.withdraw(first, by=cast.kim)
    figure = rows(benchmark)["Net"].figures["accuracy"]
    assert (figure.n, figure.mean) == (1, 1.0)


def test_queued_and_failed_runs_are_not_on_the_board(cast: BenchmarkCast) -> None:
    benchmark = cast.relations()
    cast.submit(benchmark, answers(3))
    assert not board(benchmark.settings.get()).rows


@pytest.mark.parametrize("second", [answers(4), answers(4)[::-1], [{"id": "s1", "label": "born_in"}]])
def test_files_with_the_same_answers_are_one_run(cast: BenchmarkCast, second: list[Line]) -> None:
    benchmark = cast.relations(missing="wrong")
    first = answers(4) if len(second) > 1 else second
    cast.submit(benchmark, first, run="1")
    cast.submit(benchmark, second, run="2")
    cast.submit(benchmark, answers(6), run="3")
    while run_next("score"):
        pass
    row = rows(benchmark)["Net"]
    figure = row.figures["accuracy"]
    assert (row.n, figure.n, row.runs.equal) == (2, 2, [EqualRuns("2", "1")])
    assert figure.sd == pytest.approx(stdev(row.columns.by_measure.run_values("accuracy")[row.system.pk]))


def with_scores(made: float, other: float = 0.0) -> list[Line]:
    """The answers of `answers(4)` as scores; of other labels too, if they have any."""
    rest = dict.fromkeys(set(GOLD) - {"N/A"}, other) if other else {}
    labels = {line["id"]: line["label"] for line in answers(4)}
    return [
        {"id": name, "scores": rest | ({label: made} if label != "N/A" else {})}
        for name, label in labels.items()
    ]


LABEL_SETS: list[Line] = [
    {"id": line["id"], "labels": [line["label"]] if line["label"] != "N/A" else []} for line in answers(4)
]


@pytest.mark.parametrize("hidden", [False, True])
def test_one_run_in_several_forms_counts_once(cast: BenchmarkCast, *, hidden: bool) -> None:
    benchmark = cast.relations()
    forms = [answers(4), LABEL_SETS, with_scores(0.9), with_scores(0.8), with_scores(0.9, 0.01)]
    for run, lines in enumerate(forms, 1):
        cast.submit(benchmark, lines, run=str(run))
    cast.submit(benchmark, answers(6), run="other")
    while run_next("score"):
        pass
    if hidden:  # what counts from a threshold on that the gold decides is not compared
        Setting.objects.update(disclosure=Setting.Disclosure.HIDDEN)
    whole = board(benchmark.settings.get(), "micro_f1")
    assert whole.rows[0].n == (5 if hidden else 2)
    own = compared_runs(whole, [whole.rows[0].system.pk])
    assert len(own[whole.rows[0].system.pk]) == whole.rows[0].n
    assert set(run_list.counts_by_system(Submission.objects.all()).values()) == {whole.rows[0].n}


def test_rankings_count_by_the_order_of_their_claims(cast: BenchmarkCast) -> None:
    benchmark = cast.relations("bag", "ap")
    for run, (first, second) in enumerate([(0.5, 0.25), (0.9, 0.8), (0.25, 0.5), (0.5, 0.5)], 1):
        scores = {"born_in": first, "part_of": second}
        cast.submit(benchmark, [{"id": "s1", "scores": scores}], run=str(run))
    while run_next("score"):
        pass
    row = rows(benchmark, "ap")["Net"]
    assert (row.n, row.runs.equal) == (3, [EqualRuns("2", "1")])


def test_a_withdrawn_file_leaves_its_run_to_an_equal_one(cast: BenchmarkCast) -> None:
    benchmark = cast.relations()
    first, second = scored(cast, benchmark, "Net", 4, 4)
    submission_states.withdraw(first, by=cast.kim)
    runs = rows(benchmark)["Net"].runs
    assert (runs.newest, runs.n, runs.equal) == (second.pk, 1, [])


def test_equal_answers_of_two_systems_are_runs_of_each(cast: BenchmarkCast) -> None:
    benchmark = cast.relations()
    scored(cast, benchmark, "Net", 4)
    scored(cast, benchmark, "Other", 4)
    assert [row.n for row in rows(benchmark).values()] == [1, 1]


def test_the_same_scores_under_another_aggregate_are_another_run(cast: BenchmarkCast) -> None:
    benchmark = cast.relations("bag", "ap")
    lines: list[Line] = [
        {"id": "s1", "scores": {"born_in": 0.5, "part_of": 0.4}},
        {"id": "s2", "scores": {"born_in": 0.1}},
    ]
    for run, aggregate in (("1", "ONE"), ("2", "AVG"), ("3", "ONE")):
        cast.submit(benchmark, lines, run=run, aggregate=aggregate)
    while run_next("score"):
        pass
    row = rows(benchmark, "ap")["Net"]
    assert (row.n, row.runs.equal) == (2, [EqualRuns("3", "1")])


def test_byte_identical_files_from_before_digests_are_one_run(cast: BenchmarkCast) -> None:
    benchmark = cast.relations()
    scored(cast, benchmark, "Net", 4, 4, 5)
    Evaluation.objects.update(answers_sha256="", claims_sha256="", order_sha256="")
    assert rows(benchmark)["Net"].n == 2


def test_teams_may_name_systems_alike(cast: BenchmarkCast) -> None:
    benchmark = cast.relations()
    scored(cast, benchmark, "Net", 4)
    cast.submit(benchmark, answers(2), system="Net", team=cast.lugworm, by=cast.lars)
    run_next("score")
    ranked = board(benchmark.settings.get(), "accuracy")
    assert [(row.system.team_name, row.n) for row in ranked.rows] == [("Kelpie", 1), ("Lugworm", 1)]
    # not in brackets: a team may be named “baseline”
    assert {*names_on_board(ranked).values()} == {"Net of Kelpie", "Net of Lugworm"}


def test_undefined_runs_are_excluded_from_the_mean_and_counted(cast: BenchmarkCast) -> None:
    benchmark = cast.relations("bag", "ap")
    cast.submit(benchmark, [{"id": "s1", "scores": {"born_in": 0.5}}])
    run_next("score")
    figure = rows(benchmark, "ap")["Net"].figures["p_at_100"]
    assert (figure.mean, figure.n, figure.of) == (None, 0, 1)
    assert figure.reason == FEW_CLAIMS


def test_a_system_without_the_measure_is_last_without_a_rank(cast: BenchmarkCast) -> None:
    benchmark = cast.relations()
    scored(cast, benchmark, "Labels", 6)
    cast.submit(benchmark, [{"id": "s1", "scores": {"born_in": 0.5}}], system="Scores")
    run_next("score")
    ranked = board(benchmark.settings.get(), "ap").rows
    assert [(row.rank, row.system.name) for row in ranked] == [(1, "Scores"), (None, "Labels")]


def test_a_setting_added_later_is_scored_for_active_runs(cast: BenchmarkCast) -> None:
    benchmark = cast.relations()
    (submission,) = scored(cast, benchmark, "Net", 6)
    part = freeze("part", RELATION_GOLD[:3], by=cast.olga)
    late = creation.add_setting(
        benchmark,
        key="late",
        title="Late",
        test_set=part,
        unit="sentence",
        main="micro_f1",
        by=cast.olga,
        disclosure="open",
    )
    assert [row.system.name for row in board(benchmark.settings.get(key="main")).rows] == ["Net"]
    while run_next("score"):
        pass
    assert [row.system.name for row in board(late).rows] == ["Net"]
    submission.refresh_from_db()
    assert submission.state == "scored"
    assert [e.setting.key for e in shown_scores.newest(submission)] == ["main", "late"]


def test_a_board_of_some_measures_ranks_alike_and_reads_no_other_scores(cast: BenchmarkCast) -> None:
    benchmark = cast.relations(main="accuracy")
    for system, right in (("Low", 2), ("Top", 6), ("Mid", 4)):
        scored(cast, benchmark, system, right)
    settings = list(benchmark.settings.all())
    (whole,), (part,) = boards(settings), boards(settings, measures=("micro_f1",))
    assert [row.system for row in part.rows] == [row.system for row in whole.rows]
    assert part.measures == ["micro_f1", "accuracy"]
    assert part.rows[0].figures["micro_f1"] == whole.rows[0].figures["micro_f1"]


def test_a_row_without_a_chosen_run_is_said_to_show_the_latest_with_figures() -> None:
    """The latest run of all may be withheld."""
    for rule in (row_rules.LATEST, row_rules.ENTRY, row_rules.FINAL, f"{row_rules.BEST}dev"):
        assert "with figures" in row_rules.title(Setting(row_rule=rule))


def test_a_run_is_chosen_by_its_own_figure_before_that_of_another_file_of_its_name() -> None:
    """As when a run of each phase has the name, and the choosing setting scores both."""
    setting = Setting(row_rule=f"{row_rules.BEST}all", main="micro_f1", benchmark=Benchmark())
    reading = Reading(Policy(setting, hidden=False), Shown(SettingVersion(), None, []), "micro_f1")
    runs = [Run(pk, 1, name, "", timezone.now(), False, True, False) for pk, name in ((1, "s1"), (2, "s2"))]
    by_name: dict[int | tuple[int, str], float] = {(1, "s1"): 0.156, (1, "s2"): 0.938}
    for elsewhere, chosen in ((by_name, 2), (by_name | {1: 0.772, 2: 0.398}, 1)):
        reading.elsewhere = {name: (value, timezone.now()) for name, value in elsewhere.items()}
        assert [run.pk for run in reading.chosen(runs)] == [chosen]
