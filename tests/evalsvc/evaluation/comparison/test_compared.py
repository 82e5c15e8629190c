"""Systems are tested by a job, once for all readers, and shown by the rules of the board."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode

import pytest
from django.db.models.functions import Now
from django.test import Client
from django.urls import reverse

from evalsvc.core.accounts.teams import create_team
from evalsvc.core.errors.exceptions import Conflict
from evalsvc.core.jobs.exceptions import RetryLater
from evalsvc.core.jobs.lease import Progress
from evalsvc.core.jobs.models import Job
from evalsvc.core.jobs.queue import enqueue
from evalsvc.evaluation import submission_states
from evalsvc.evaluation.benchmarks import contributed
from evalsvc.evaluation.comparison import compared, tables, words
from evalsvc.evaluation.comparison.compared import Comparison
from evalsvc.evaluation.comparison.sentences import Outcome, remark
from evalsvc.evaluation.disclosure import rules, shown_tests
from evalsvc.evaluation.disclosure.policy import Policy
from evalsvc.evaluation.measures.families import label_of
from evalsvc.evaluation.models import Benchmark, Setting, StoredComparison
from tests.cast.benchmarks import BenchmarkCast
from tests.evalsvc.evaluation.test_leaderboard import answers, scored
from workers.handlers import compare
from workers.metrics.systems import holm, welch
from workers.runner import HANDLERS, run_inline, run_next


def of(cast: BenchmarkCast, benchmark: Benchmark, *names: str, person: Any = None) -> Comparison:
    teams = {system.name: system.team.slug for system in benchmark.systems.select_related("team")}
    setting = benchmark.settings.select_related("benchmark", "test_set", "only").get()
    return compared.requested(setting, [f"{teams[name]}/{name}" for name in names], person=person)


def computed(cast: BenchmarkCast, benchmark: Benchmark, *names: str, person: Any = None) -> Comparison:
    compared.start(of(cast, benchmark, *names), by=cast.kim)
    while run_next("heavy"):
        pass
    return of(cast, benchmark, *names, person=person)


def give_teams(cast: BenchmarkCast, benchmark: Benchmark) -> None:
    """Give each system but Net a team of its own."""
    teams = {"Tree": cast.lugworm} | {
        name: create_team(name=name, by=cast.lars) for name in ("Rules", "Copy")
    }
    for name, team in teams.items():
        benchmark.systems.filter(name=name).update(team=team)


def test_the_method_names_the_tests_that_the_comparison_has(
    cast: BenchmarkCast, benchmark: Benchmark
) -> None:
    """Of hidden gold it named tests of the board over runs above a table of tests over items."""
    give_teams(cast, benchmark)
    over_runs, over_items = (
        "Welch’s t over runs, two-sided, ",
        "paired randomisation and bootstrap over items, ",
    )
    for names, found in (
        (("Net", "Tree"), [True, False]),
        (("Net", "Rules"), [False, True]),
        (("Net", "Tree", "Rules"), [True, True]),
    ):
        assert words.method(of(cast, benchmark, *names)) == "No test of these systems is computed."
        after = computed(cast, benchmark, *names)
        text = words.method(after)
        assert [over_runs in text, over_items in text] == found
        assert {test.is_over_items for tests in after.tests.values() for test in tests} == {
            is_items for is_items, named in zip((False, True), found, strict=True) if named
        }
    Setting.objects.update(disclosure="hidden", measures=["micro_f1"])
    text = words.method(of(cast, benchmark, "Net", "Tree"))
    assert "Cohen" not in text


def test_systems_with_several_runs_are_tested_over_runs(cast: BenchmarkCast, benchmark: Benchmark) -> None:
    found = computed(cast, benchmark, "Tree", "Net")
    [test] = found.tests["accuracy"]
    expected = welch([4 / 6, 5 / 6, 1], [1 / 6, 2 / 6])
    assert found.names == ["Net", "Tree"]
    assert test.test == compare.WELCH
    assert (test.difference, test.p, test.low) == pytest.approx(
        (expected.difference, expected.p, expected.low)
    )
    assert (test.p_holm, test.word, test.winner) == (test.p, "huge", 0)
    assert words.sentence(found, found.board.columns["accuracy"], 0, 1) == (
        "“Net” is ahead of “Tree” by 58.3 accuracy (p .021, Welch’s t over runs)."
    )
    assert found.verdict("accuracy", 0, 1) + found.verdict("accuracy", 1, 0) == "WL"


def test_labels_are_compared_with_scores(cast: BenchmarkCast) -> None:
    benchmark = cast.relations(main="micro_f1")
    soft = [{"id": line["id"], "scores": {"born_in": 0.9}} for line in answers(6)]
    for system, lines in (("Net", answers(6)), ("Soft", soft)):
        cast.submit(benchmark, lines, system=system)
    while run_next("score"):
        pass
    found = computed(cast, benchmark, "Net", "Soft")
    assert found.state == Job.State.DONE
    [test] = found.tests["micro_f1"]
    assert (test.reason, test.p is None) == ("", False)


def test_tests_under_another_main_measure_are_computed_anew(
    cast: BenchmarkCast, benchmark: Benchmark
) -> None:
    """It decides which runs are equal, and which of several is the median."""
    assert computed(cast, benchmark, "Tree", "Net").state == Job.State.DONE
    benchmark.settings.update(main="macro_f1")
    assert of(cast, benchmark, "Tree", "Net").state == "absent"


def test_a_measure_admitted_later_is_tested_too(cast: BenchmarkCast, benchmark: Benchmark) -> None:
    """Over items also, like those that it is composed of."""
    assert computed(cast, benchmark, "Rules", "Tree").state == Job.State.DONE
    parts = {"base": "classification", "beta": 2, "scheme": "dodrans"}
    measure = contributed.propose(benchmark, name="d2", title="Dodrans F2", composition=parts, by=cast.kim)
    contributed.decide(measure, admit=True, by=cast.olga)
    assert of(cast, benchmark, "Rules", "Tree").state == Job.State.DONE  # until all runs have it
    while run_next("score"):
        pass
    assert of(cast, benchmark, "Rules", "Tree").state == "absent"
    [test] = computed(cast, benchmark, "Rules", "Tree").tests[measure.key]
    assert (test.test, test.reason) == ("paired randomisation over sentences", "")
    contributed.retire(measure, by=cast.olga)
    assert of(cast, benchmark, "Rules", "Tree").state == Job.State.DONE


def test_a_system_with_one_run_is_tested_over_items(cast: BenchmarkCast, benchmark: Benchmark) -> None:
    found = computed(cast, benchmark, "Net", "Rules", "Tree")
    test = found.test("accuracy", 0, 1)
    assert test is not None
    assert test.test == "paired randomisation over sentences"
    assert test.difference == pytest.approx(5 / 6 - 3 / 6)  # the median run
    assert round((test.p or 0) * 100, 6).is_integer()
    assert (test.detectable is None, test.winner) == (False, None)
    smallest = min(found.tests["accuracy"], key=lambda test: test.p or 1)
    assert smallest.p_holm == pytest.approx(min(1, 3 * (smallest.p or 0)))  # over the pairs of the measure
    named = [[name for name in ("Net", "Rules", "Tree") if name in each] for each in words.paragraph(found)]
    assert named[:3] == [["Net", "Rules"], ["Net", "Tree"], ["Rules", "Tree"]]


def test_systems_with_the_same_run_are_not_tested(cast: BenchmarkCast, benchmark: Benchmark) -> None:
    [test] = computed(cast, benchmark, "Copy", "Rules").tests["accuracy"]
    assert (test.p, test.reason) == (None, compare.SAME_RUNS)


def test_the_same_systems_are_computed_once(cast: BenchmarkCast, benchmark: Benchmark) -> None:
    computed(cast, benchmark, "Net", "Tree")
    computed(cast, benchmark, "Tree", "Net", person=cast.olga)
    assert (StoredComparison.objects.count(), Job.objects.filter(kind=compared.KIND).count()) == (1, 1)
    scored(cast, benchmark, "Net", 4, 5, 6, 2)
    assert of(cast, benchmark, "Net", "Tree").state == "absent"


def test_hidden_gold_lets_out_no_test_between_systems_of_one_team(
    cast: BenchmarkCast, benchmark: Benchmark
) -> None:
    """The interval of two files that differ in one answer told whether it was right."""
    Setting.objects.update(disclosure="hidden", measures=["micro_f1", "accuracy"])
    for tests in computed(cast, benchmark, "Net", "Rules").tests.values():
        for test in tests:
            assert test.reason == shown_tests.ONE_TEAM
            assert (test.low, test.high, test.p_text, test.detectable, test.winner) == (
                None,
                None,
                "",
                None,
                None,
            )
    organisers = computed(cast, benchmark, "Net", "Rules", person=cast.olga).tests["accuracy"][0]
    assert organisers.p is not None


def test_the_f1_of_frequent_classes_is_tested_as_one_family_over_all_pairs(
    cast: BenchmarkCast, benchmark: Benchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compare, "THIN", 2)
    found = computed(cast, benchmark, "Net", "Rules", "Tree")
    assert {label_of(key) for key in found.class_tests} == {"born_in"}  # the others occur once
    monkeypatch.setattr(compare, "THIN", 1)
    StoredComparison.objects.all().delete()
    found = computed(cast, benchmark, "Net", "Rules", "Tree")
    assert {label_of(key) for key in found.class_tests} == {"born_in", "works_for", "part_of"}
    tests = [test for tests in found.class_tests.values() for test in tests]
    known = [test for test in tests if test.p is not None]
    assert len(known) > 3
    assert [test.p_holm for test in known] == pytest.approx(holm([test.p or 0 for test in known]).tolist())
    assert {test.test for test in known} == {compare.WELCH, "paired randomisation over sentences"}
    table = tables.tests_table(found, every=True)
    assert [row[0].text for row in table.rows if row[0].text.startswith("F1 of ")].count("F1 of born_in") == 3
    Setting.objects.update(disclosure="hidden", measures=["micro_f1", "accuracy"])
    assert computed(cast, benchmark, "Net", "Rules", "Tree").class_tests == {}


def test_hidden_gold_lets_out_ranges_and_steps_alone(
    cast: BenchmarkCast, benchmark: Benchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Policy, "step", lambda self, key, claims=None: 0.2)
    benchmark.systems.filter(name="Tree").update(team=cast.lugworm)
    exact = computed(cast, benchmark, "Net", "Tree").tests["accuracy"][0]
    Setting.objects.update(disclosure="hidden", measures=["micro_f1", "accuracy"])
    shown = computed(cast, benchmark, "Net", "Tree").tests
    organisers = computed(cast, benchmark, "Net", "Tree", person=cast.olga).tests["accuracy"][0]
    assert set(shown) <= {"micro_f1", "accuracy"}
    assert organisers == exact
    for test in (test for tests in shown.values() for test in tests):
        assert (test.p, test.p_holm, test.d, test.word) == (None, None, None, "")
        assert test.difference is None or test.difference != exact.difference
        assert (test.reason, test.p_text in ("< .05", "≥ .05")) == ("", True)
        assert test.difference == pytest.approx(((test.low or 0) + (test.high or 0)) / 2)
    # exact figures of two runs would be multiplied by up to 12.7
    expected = welch([0.6, 0.8, 1.0], [0.2, 0.4])
    half = rules.at_least((expected.high - expected.low) / 2 + 0.2, 0.2)
    shown_accuracy = shown["accuracy"][0]
    assert (shown_accuracy.high or 0) - (shown_accuracy.difference or 0) == pytest.approx(half)
    assert shown_accuracy.p_text == rules.p_range(welch([0.6, 0.8, 1.0], [0.2, 0.4], step=0.2).p)


def test_hidden_gold_lets_out_tests_between_the_best_systems_of_teams_alone(
    cast: BenchmarkCast, benchmark: Benchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests of each file of a team with each of another gave more labels than both had files."""
    monkeypatch.setattr(Policy, "step", lambda self, key, claims=None: 0.2)
    scored(cast, benchmark, "Rival", 3)  # equal to Copy, and later
    benchmark.systems.filter(name__in=("Copy", "Rival")).update(team=cast.lugworm)
    Setting.objects.update(disclosure="hidden", measures=["micro_f1", "accuracy"])
    assert {test.reason for test in computed(cast, benchmark, "Rules", "Copy").tests["accuracy"]} == {
        shown_tests.NOT_BEST
    }
    reasons = [
        computed(cast, benchmark, "Net", name).tests["accuracy"][0].reason for name in ("Copy", "Rival")
    ]
    assert reasons[1] == shown_tests.NOT_BEST != reasons[0]


@pytest.mark.parametrize("rule", ["final", "latest", "best:dev"])
def test_hidden_gold_lets_out_no_test_where_rows_show_chosen_runs(
    cast: BenchmarkCast, benchmark: Benchmark, monkeypatch: pytest.MonkeyPatch, rule: str
) -> None:
    """Teams that chose other runs again and again got a test of every two of their files."""
    monkeypatch.setattr(Policy, "step", lambda self, key, claims=None: 0.2)
    benchmark.systems.filter(name="Tree").update(team=cast.lugworm)
    Setting.objects.update(row_rule=rule)
    open_gold = computed(cast, benchmark, "Net", "Tree").tests["accuracy"]
    assert [test.p is not None for test in open_gold] == [True]
    Setting.objects.update(disclosure="hidden", measures=["micro_f1", "accuracy"])
    shown = computed(cast, benchmark, "Net", "Tree")
    assert {test.reason for tests in shown.tests.values() for test in tests} == {shown_tests.CHOSEN_RUNS}
    [test] = shown.tests["accuracy"]
    assert (test.low, test.p_text, test.detectable, test.winner) == (None, "", None, None)
    assert shown.verdict("accuracy", 0, 1) == "·"


def test_hidden_gold_lets_out_no_test_over_few_items_that_differ(
    cast: BenchmarkCast, benchmark: Benchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether five or six outcomes differ decides p < .05, so that one known guess decided a label."""
    monkeypatch.setattr(Policy, "step", lambda self, key, claims=None: 0.2)
    scored(cast, benchmark, "Rival", 6)
    benchmark.systems.exclude(name="Rules").update(team=cast.lugworm)
    Setting.objects.update(disclosure="hidden", measures=["micro_f1", "accuracy"])
    shown = computed(cast, benchmark, "Rival", "Rules")
    assert {test.reason for tests in shown.tests.values() for test in tests} == {shown_tests.FEW_DIFFER}
    [test] = shown.tests["accuracy"]
    assert (test.low, test.high, test.p_text, test.p_holm_text, test.detectable) == (None, None, "", "", None)
    assert f"nothing is claimed: {shown_tests.FEW_DIFFER}." in words.paragraph(shown)[0]
    assert {row[-1].text for row in tables.tests_table(shown, every=True).rows} == {shown_tests.FEW_DIFFER}
    organisers = of(cast, benchmark, "Rival", "Rules", person=cast.olga).tests["accuracy"]
    assert [test.p is not None for test in organisers] == [True]
    monkeypatch.setattr(shown_tests, "FEW", 2)
    [test] = of(cast, benchmark, "Rival", "Rules").tests["accuracy"]
    assert (test.reason, test.p_text) == ("", "≥ .05")
    monkeypatch.setattr(compared, "FORMAT", 4)  # stored without the number
    assert of(cast, benchmark, "Rival", "Rules").state == "absent"


def test_hidden_gold_adjusts_p_over_the_tests_let_out_alone(
    cast: BenchmarkCast, benchmark: Benchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The adjusted p of a pair showed the order of those of pairs that are withheld."""
    monkeypatch.setattr(Policy, "step", lambda self, key, claims=None: 0.001)
    give_teams(cast, benchmark)
    Setting.objects.update(disclosure="hidden", measures=["micro_f1", "accuracy"])
    found = computed(cast, benchmark, "Net", "Tree", "Rules", "Copy")
    shown = [test for test in found.tests["accuracy"] if not test.reason]
    assert [(test.p_text, test.p_holm_text) for test in shown] == [("< .05", "< .05")]
    organisers = computed(cast, benchmark, "Net", "Tree", "Rules", "Copy", person=cast.olga)
    assert organisers.tests["accuracy"][2].p_holm != organisers.tests["accuracy"][2].p  # all six pairs


def test_hidden_gold_adjusts_p_for_all_systems_of_which_a_team_knew_figures(
    cast: BenchmarkCast, benchmark: Benchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A team that gave its runs many names was ahead by the best of them in 25 % of cases."""
    monkeypatch.setattr(Policy, "step", lambda self, key, claims=None: 0.001)
    give_teams(cast, benchmark)
    Setting.objects.update(disclosure="hidden", measures=["micro_f1", "accuracy"])

    unseen = "before the factor for the systems of the two teams and Holm, "

    def p_of_test() -> tuple[int, str]:
        found = computed(cast, benchmark, "Net", "Tree")
        factor = "Before it, p is multiplied by the number of pairs of systems of the two teams."
        assert words.method(found).endswith(factor) is (found.rows[0].runs.systems_of_team > 1)
        sentence = words.sentence(found, found.board.columns["accuracy"], 0, 1)
        assert (unseen in sentence) is (found.rows[0].runs.systems_of_team > 1)
        [test] = found.tests["accuracy"]
        return found.rows[0].runs.systems_of_team, test.p_holm_text

    assert p_of_test() == (1, "< .05")
    Setting.objects.update(disclosure="open")  # no quota
    further = [run for right in (0, 1, 2) for run in scored(cast, benchmark, f"Further {right}", right)]
    Setting.objects.update(disclosure="hidden")
    assert p_of_test() == (4, "≥ .05")
    for run in further:
        submission_states.withdraw(run, by=cast.kim)
    assert p_of_test() == (4, "≥ .05")


def test_on_hidden_gold_few_runs_have_few_degrees_of_freedom(
    cast: BenchmarkCast, benchmark: Benchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of equal systems of two runs the best of ten was ahead of 20 runs in 15 % of cases, all p adjusted."""
    monkeypatch.setattr(Policy, "step", lambda self, key, claims=None: 0.001)
    monkeypatch.setattr(rules, "few_against_many", lambda one, other: sorted((one, other)) == [2, 3])
    benchmark.systems.filter(name="Tree").update(team=cast.lugworm)
    Setting.objects.update(disclosure="hidden", measures=["micro_f1", "accuracy"])
    runs = [0.667, 0.833, 1.0], [0.167, 0.333]
    assert rules.p_range(welch(*runs).p) == "< .05"
    [test] = computed(cast, benchmark, "Net", "Tree").tests["accuracy"]
    assert (test.p_text, test.winner) == (rules.p_range(welch(*runs, least_df=True).p), None)


def test_on_hidden_gold_a_difference_within_a_step_is_none(
    cast: BenchmarkCast, benchmark: Benchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of equal systems with runs that round to one figure the best of five was ahead in 17 % of cases."""
    give_teams(cast, benchmark)
    Setting.objects.update(disclosure="hidden", measures=["micro_f1", "accuracy"])
    texts = []
    for step in (0.001, 0.3):
        monkeypatch.setattr(Policy, "step", lambda self, key, claims=None, step=step: step)
        monkeypatch.setattr(compared, "FORMAT", step)
        [test] = computed(cast, benchmark, "Net", "Tree").tests["accuracy"]
        texts.append((test.p_text, test.winner))
    assert texts == [("< .05", 0), ("≥ .05", None)]


def test_hidden_gold_tests_the_run_that_is_the_median_by_the_figures_shown(
    cast: BenchmarkCast, benchmark: Benchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which of two runs with the same figure was tested showed which of them is right more often."""
    monkeypatch.setattr(
        Policy, "step", lambda self, key, claims=None: 0.4
    )  # 4 and 5 of 6 are both shown as .8
    scored(cast, benchmark, "Falling", 5, 4)
    scored(cast, benchmark, "Rising", 4, 5)
    right = {}
    for disclosure in ("open", "hidden"):
        Setting.objects.update(disclosure=disclosure, measures=["micro_f1", "accuracy"])
        found = computed(cast, benchmark, "Falling", "Rising", "Rules", person=cast.olga)
        for name in ("Falling", "Rising"):
            test = found.test("accuracy", *(found.names.index(each) for each in (name, "Rules")))
            right[disclosure, name] = (
                round(6 * abs(test.difference)) + 3 if test and test.difference else None
            )
    assert right == {
        ("open", "Falling"): 4, ("open", "Rising"): 4,  # the lower of the two
        ("hidden", "Falling"): 5, ("hidden", "Rising"): 4,  # the older
    }  # fmt: skip


@pytest.mark.parametrize(
    ("names", "code"),
    [
        (["Net"], "bad_comparison"),
        (["Net", "Nobody"], "unknown_system"),
        ([f"S{n}" for n in range(11)], "bad_comparison"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    cast: BenchmarkCast, benchmark: Benchmark, names: list[str], code: str
) -> None:
    setting = benchmark.settings.get()
    with pytest.raises(Conflict) as refused:
        compared.requested(setting, [f"kelpie/{name}" for name in names], person=None)
    assert refused.value.code == code


def test_one_system_under_two_names_is_no_comparison(
    client: Client, cast: BenchmarkCast, benchmark: Benchmark
) -> None:
    """The slug and the name of a team name the same system."""
    twice = {"systems": ["kelpie/Net", "Kelpie/Net"]}
    client.force_login(cast.kim)
    page = reverse("board-compare", args=["rel"], query=twice)
    file = reverse("board-compare-file", args=["rel", "csv"], query=twice)
    api = f"/api/v1/benchmarks/rel/compare?{urlencode(twice, doseq=True)}"
    responses = [client.get(page), client.post(page), client.get(file), client.get(api), client.post(api)]
    assert [response.status_code for response in responses] == [409] * 5
    assert responses[-1].json()["code"] == "bad_comparison"
    assert "1 system chosen, expected 2 to 10." in responses[0].content.decode()
    assert StoredComparison.objects.count() == 0
    three = {"systems": [*twice["systems"], "kelpie/Tree"]}
    assert client.get(reverse("board-compare", args=["rel"], query=three)).status_code == 200


def test_systems_are_also_named_with_the_team_as_boards_do(cast: BenchmarkCast, benchmark: Benchmark) -> None:
    found = compared.requested(benchmark.settings.get(), ["Kelpie/Net", "kelpie/Tree"], person=None)
    assert found.names == ["Net", "Tree"]


def test_a_cancelled_comparison_can_be_started_again(cast: BenchmarkCast, benchmark: Benchmark) -> None:
    compared.start(of(cast, benchmark, "Net", "Tree"), by=cast.kim)
    compared.cancel(of(cast, benchmark, "Net", "Tree"), by=cast.kim)
    assert of(cast, benchmark, "Net", "Tree").state == Job.State.CANCELLED
    assert computed(cast, benchmark, "Net", "Tree").state == Job.State.DONE


def test_a_person_has_a_few_comparisons_at_once(
    cast: BenchmarkCast, benchmark: Benchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compared, "AT_ONCE", 1)
    compared.start(of(cast, benchmark, "Net", "Tree"), by=cast.kim)
    compared.start(of(cast, benchmark, "Net", "Tree"), by=cast.kim)
    with pytest.raises(Conflict, match="waiting or running"):
        compared.start(of(cast, benchmark, "Net", "Rules"), by=cast.kim)


FOUR = ("Net", "Tree", "Rules", "Copy")


def stored_tests(cast: BenchmarkCast, benchmark: Benchmark, *names: str, first: str) -> Any:
    """Tests of systems, by default four; jobs of this kind run before the others, one after another."""
    StoredComparison.objects.all().delete()
    compared.start(of(cast, benchmark, *(names or FOUR)), by=cast.kim)
    jobs = Job.objects.filter(kind__in=(compared.KIND, compared.PARTS), state=Job.State.QUEUED)
    for job in sorted(jobs, key=lambda job: (job.kind != first, job.pk)):
        assert run_inline(job).state == Job.State.DONE
    row = StoredComparison.objects.get()
    assert row.parts.count() == 0
    return row.tests


def test_any_number_of_jobs_in_any_order_give_the_same_figures(
    cast: BenchmarkCast, benchmark: Benchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    tested: list[tuple[str, int]] = []
    original = compare._Comparison._part

    def noted(self: Any, number: int) -> Any:
        tested.append((self.progress._lease.job.kind, number))
        return original(self, number)

    monkeypatch.setattr(compare._Comparison, "_part", noted)
    with_help = stored_tests(cast, benchmark, first=compared.PARTS)
    assert Job.objects.filter(kind=compared.PARTS).count() == 3
    assert [number for kind, number in tested if kind == compared.KIND] == [0]
    monkeypatch.setattr(compared, "HELPERS", 0)
    tested.clear()
    assert stored_tests(cast, benchmark, first=compared.KIND) == with_help
    assert [number for _, number in tested] == [0, 1, 2, 3, 4, 5]


def test_the_replicates_of_a_pair_are_divided_among_jobs_without_changing_a_figure(
    cast: BenchmarkCast, benchmark: Benchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, reports = [], []
    original = compare._Comparison._report

    def noted(self: Any, done: int, total: int, unit: str) -> None:
        original(self, done, total, unit)
        reports.append(self.report[2])

    monkeypatch.setattr(compare._Comparison, "_report", noted)
    for helpers, systems in ((0, 2), (1, 2), (3, 2), (0, 3), (3, 3)):
        monkeypatch.setattr(compared, "HELPERS", helpers)
        reports.clear()
        names = ("Net", "Rules", "Copy")[:systems]
        found.append(stored_tests(cast, benchmark, *names, first=compared.PARTS))
        assert Job.objects.filter(kind=compared.PARTS, state=Job.State.DONE).count() == helpers
        Job.objects.all().delete()
        if (helpers, systems) == (3, 2):
            assert ("0 of 4 parts tested" in reports, reports[-1]) == (True, "4 of 4 parts tested")
    assert found[0] == found[1] == found[2]
    assert found[3] == found[4]
    assert found[0]["accuracy"][0][4] is not None


def test_an_interrupted_comparison_goes_on_behind_its_last_pair(
    cast: BenchmarkCast, benchmark: Benchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    tested: list[int] = []
    original = compare._Comparison._part

    def killed_at_the_third(self: Any, number: int) -> Any:
        tested.append(number)
        if tested == [0, 1, 2]:
            raise RetryLater("stopped")
        return original(self, number)

    monkeypatch.setattr(compared, "HELPERS", 0)
    expected = stored_tests(cast, benchmark, first=compared.KIND)
    StoredComparison.objects.all().delete()
    compared.start(of(cast, benchmark, "Net", "Tree", "Rules", "Copy"), by=cast.kim)
    monkeypatch.setattr(compare._Comparison, "_part", killed_at_the_third)
    job = Job.objects.filter(kind=compared.KIND).latest("pk")
    assert run_inline(job).state == Job.State.QUEUED
    Job.objects.update(run_after=job.run_after)
    assert run_inline(job).state == Job.State.DONE
    assert tested == [0, 1, 2, 2, 3, 4, 5]
    assert StoredComparison.objects.get().tests == expected


def test_a_comparison_lets_statistics_come_first_between_two_pairs(
    cast: BenchmarkCast, benchmark: Benchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compared, "HELPERS", 0)
    expected = stored_tests(cast, benchmark, first=compared.KIND)
    StoredComparison.objects.all().delete()
    Job.objects.all().delete()
    monkeypatch.setattr(Progress, "TURN_SECONDS", 0)
    begun: list[tuple[str, int]] = []
    original = compare._Comparison._part

    def joined_by_another_set(self: Any, number: int) -> Any:
        begun.append((compared.KIND, number))
        if number == 1:
            enqueue("describe", benchmark.settings.get().test_set_id, lane="user 0")
        return original(self, number)

    monkeypatch.setattr(compare._Comparison, "_part", joined_by_another_set)
    monkeypatch.setitem(HANDLERS, "describe", lambda *_: begun.append(("describe", 0)) or (lambda: None))
    found = computed(cast, benchmark, *FOUR)
    numbers = [(compared.KIND, number) for number in range(6)]
    assert begun == [*numbers[:2], ("describe", 0), *numbers[2:]]
    assert (found.state, StoredComparison.objects.get().tests) == (Job.State.DONE, expected)


def test_a_helper_that_comes_late_stores_nothing(cast: BenchmarkCast, benchmark: Benchmark) -> None:
    compared.start(of(cast, benchmark, "Net", "Tree", "Rules"), by=cast.kim)
    row = StoredComparison.objects.get()
    late = compare._Comparison(row, lambda *report: None)
    for job in Job.objects.filter(kind=compared.KIND):
        run_inline(job)
    assert late.store_part(0) is False
    assert row.parts.count() == 0


def test_old_comparisons_are_deleted(cast: BenchmarkCast, benchmark: Benchmark) -> None:
    computed(cast, benchmark, "Net", "Tree")
    compared.start(of(cast, benchmark, "Net", "Rules"), by=cast.kim)  # waits
    assert compared.sweep() == 0
    StoredComparison.objects.update(created_at=Now() - timedelta(days=91))
    assert compared.sweep() == 1
    assert StoredComparison.objects.get().job.state == Job.State.QUEUED  # type: ignore[union-attr]


def test_pooled_wrf_and_that_of_documents_are_named_where_they_turn_a_pair(cast: BenchmarkCast) -> None:
    benchmark = cast.entities()
    one, both = [[0, 1, "PER"]], [[0, 1, "PER"], [2, 3, "PER"]]
    for name, spans in (("Long", {"d3": both}), ("Wide", {"d1": one, "d3": one})):
        cast.submit(
            benchmark, [{"id": d, "spans": spans.get(d, [])} for d in ("d1", "d2", "d3")], system=name
        )
    while run_next("score"):
        pass
    found = computed(cast, benchmark, "Long", "Wide")
    assert not any("By WRF" in text for text in words.paragraph(found))  # no test says so
    for key, winner in (("wrf_strict", 0), ("wrf_strict_mean", 1)):
        found.tests[key] = [replace(found.tests[key][0], winner=winner)]
    names = found.names
    expected = f"By WRF strict “{names[0]}” is ahead, by WRF strict, mean of documents “{names[1]}”."
    assert expected in words.paragraph(found)


def test_a_note_on_several_pairs_is_printed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes = [
        Outcome("welch", 0.1, low, 0.2, p, None, None, p=alone, alone=alone == ".03")
        for low, alone, p in (
            *((0.01, ".03", ".06"), (0.02, ".03", ".07"), (-0.1, ".2", ".4")),
            *((0.01, ".06", ".2"), (0.01, ".07", ".3")),
        )
    ]
    monkeypatch.setattr(words, "outcome", lambda comparison, column, a, b: outcomes[b - 1])
    names = ["A", "B", "C", "D", "E", "F"]
    board = SimpleNamespace(ordering=None)
    four = SimpleNamespace(board=board, names_in_sentences=names, rows=names, columns=[1])
    adjusted, single = words.remarks(four)  # type: ignore[arg-type]
    assert adjusted.endswith("after Holm over all pairs p is .06 for A and B and .07 for A and C.")
    assert single.endswith("not the interval: of the pair alone p is .06 for A and E and .07 for A and F.")


def test_holm_is_the_reason_only_where_the_pair_alone_would_differ() -> None:
    outcome = Outcome("paired", 0.1, 0.01, 0.2, ".15", None, None, p=".03", alone=True)
    assert remark(outcome) == "The interval is for this pair alone; p is .15 after Holm over all pairs."
    outcome = outcome._replace(p=".07", alone=False)
    assert remark(outcome) == "The test decides, not the interval: p is .07 for this pair alone."
    assert remark(outcome._replace(low=-0.1)) == ""
