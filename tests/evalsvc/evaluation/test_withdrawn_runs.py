"""Runs withdrawn after their figures were shown are counted, and those that are left are not tested."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from datetime import timedelta
from importlib import import_module
from time import sleep
from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from evalsvc.evaluation import submission_states
from evalsvc.evaluation.benchmarks import creation
from evalsvc.evaluation.boards import leaderboard
from evalsvc.evaluation.boards.leaderboard import board
from evalsvc.evaluation.boards.ranking import BoardRow
from evalsvc.evaluation.comparison import board_comparison, words
from evalsvc.evaluation.disclosure.shown_tests import WITHDRAWN
from evalsvc.evaluation.models import Benchmark, Evaluation, NearDuplicate, Setting, Submission
from evalsvc.evaluation.pages.board_columns import SELECTION
from evalsvc.evaluation.roles import is_sealed
from tests.cast.benchmarks import RELATION_GOLD, BenchmarkCast, freeze
from tests.evalsvc.evaluation.comparison.test_compared import computed, of
from tests.evalsvc.evaluation.test_leaderboard import answers
from workers.runner import run_next


def row_of(benchmark: Benchmark, name: str, **options: Any) -> BoardRow:
    [row] = [each for each in board(benchmark.settings.get(), **options).rows if each.system.name == name]
    return row


def withdraw(runs: Sequence[Submission], *, by: Any) -> None:
    for run in runs:
        submission_states.withdraw(Submission.objects.get(pk=run.pk), by=by)


def work(*queues: str) -> None:
    for queue in queues or ("score", "heavy"):
        while run_next(queue):
            pass


@pytest.fixture
def selected(cast: BenchmarkCast, benchmark: Benchmark) -> Benchmark:
    """A benchmark where Net has withdrawn the worst of its runs."""
    runs = Submission.objects.filter(system__name="Net").order_by("pk")
    withdraw(runs[:1], by=cast.kim)
    return benchmark


def test_a_row_counts_the_scored_runs_that_were_withdrawn(cast: BenchmarkCast, selected: Benchmark) -> None:
    row = row_of(selected, "Net")
    assert (row.n, row.runs.withdrawn, row.runs_text) == (2, 1, "2 of 3 runs, 1 withdrawn")
    assert row_of(selected, "Tree").runs_text == "2 runs"


def test_runs_withdrawn_before_they_were_scored_are_not_counted(
    cast: BenchmarkCast, benchmark: Benchmark
) -> None:
    waiting = cast.submit(benchmark, answers(0), system="Net", run="late")
    withdraw([waiting], by=cast.kim)
    work("score")
    assert row_of(benchmark, "Net").runs.withdrawn == 0


def sealed(setting: Setting, sealed: bool = True, *, by: Any) -> None:
    """Seal the setting for an hour, or take the seal off."""
    creation.change_setting(setting, sealed=sealed, closes_at=timezone.now() + timedelta(hours=1), by=by)


def closed(setting: Setting, *, by: Any) -> None:
    creation.change_setting(setting, closes_at=timezone.now() - timedelta(minutes=1), by=by)


@pytest.mark.parametrize("ends", [sealed, closed])
def test_runs_withdrawn_without_known_figures_are_not_counted_once_the_seal_is_off(
    cast: BenchmarkCast, ends: Callable[..., None]
) -> None:
    benchmark = cast.relations()
    setting = benchmark.settings.get()
    sealed(setting, by=cast.olga)
    runs = [cast.submit(benchmark, answers(right), run=str(right)) for right in (1, 2, 4, 6)]
    work("score")
    withdraw(runs[:2], by=cast.kim)
    ends(setting, **({"sealed": False} if ends is sealed else {}), by=cast.olga)
    assert board(setting).rows[0].runs_text == "2 runs"
    withdraw(runs[2:3], by=cast.olga)
    assert board(setting).rows[0].runs_text == "1 of 2 runs, 1 withdrawn"


def test_a_seal_set_later_changes_nothing_about_what_was_withdrawn_before(
    cast: BenchmarkCast, selected: Benchmark
) -> None:
    setting = selected.settings.get()
    sealed(setting, by=cast.olga)
    assert row_of(selected, "Net", person=cast.olga).runs.withdrawn == 1
    closed(setting, by=cast.olga)
    assert row_of(selected, "Net").runs.withdrawn == 1
    test = computed(cast, selected, "Net", "Rules").test("accuracy", 0, 1)
    assert test is not None
    assert test.reason == WITHDRAWN


@pytest.mark.parametrize("again", [False, True])
def test_runs_whose_figures_were_known_before_a_seal_count_if_they_are_withdrawn_under_it(
    cast: BenchmarkCast, benchmark: Benchmark, again: bool
) -> None:
    """The seal may end by its date and begin anew with a later one."""
    setting = benchmark.settings.get()
    if again:
        Setting.objects.update(sealed=True, closes_at=timezone.now() - timedelta(minutes=1))
        setting.refresh_from_db()
    sealed(setting, by=cast.olga)
    later = cast.submit(benchmark, answers(2), system="Net", run="later")
    work("score")
    withdraw([later, *Submission.objects.filter(system__name="Net").order_by("pk")[:1]], by=cast.olga)
    closed(setting, by=cast.olga)
    assert row_of(benchmark, "Net").runs.withdrawn == 1


def upgraded() -> None:
    """Forget what is kept of figures known, as earlier builds had it, and rebuild it."""
    Submission.objects.update(known_under=[])
    Setting.objects.update(sealed_since=None)
    for name, function in (
        ("0042_figures_known_by_the_log", "note_known"),
        ("0043_near_duplicates_after_the_end", "forget"),
    ):
        getattr(import_module(f"evalsvc.evaluation.migrations.{name}"), function)(apps, None)


def test_without_a_log_an_upgrade_knows_the_present_seals_and_dates(
    cast: BenchmarkCast, selected: Benchmark
) -> None:
    run, setting = Submission.objects.get(withdrawn_at__isnull=False), selected.settings.get()
    hour = timedelta(hours=1)
    for dates, known in (
        ({"sealed": False}, [setting.pk]),
        ({"sealed": True, "closes_at": timezone.now() + hour}, []),
        ({"closes_at": timezone.now() - hour}, [setting.pk]),  # before it was withdrawn
        ({"open_until": timezone.now()}, []),  # when this date was set
    ):
        Setting.objects.update(**dates)
        upgraded()
        run.refresh_from_db()
        assert run.known_under == known


KNOWN_BY_THE_LOG = {  # withdrawn while it is W; the newest seal is kept
    "figures, W, seal": True,
    "figures, W, seal, close": True,
    "figures, seal, W": True,
    "figures, seal, W, unseal": True,
    "figures, seal, close, reopen, W": True,
    "seal, figures, W": False,
    "seal, figures, W, unseal": False,
    "seal, figures, W, close": False,
    "seal, figures, unseal, W, seal": True,
    "figures, W, close, reopen": True,
}


@pytest.mark.parametrize("acts", KNOWN_BY_THE_LOG)
def test_an_upgrade_rebuilds_from_the_log_which_figures_were_known(cast: BenchmarkCast, acts: str) -> None:
    benchmark = cast.relations()
    setting = benchmark.settings.get()
    later = timezone.now() + timedelta(hours=1)
    changes: dict[str, dict[str, Any]] = {
        "seal": {"sealed": True, "closes_at": later},
        "unseal": {"sealed": False},
        "reopen": {"sealed": True, "closes_at": later},
    }
    for act in acts.split(", "):
        sleep(0.002)  # SQLite keeps milliseconds
        if act == "figures":
            runs = [cast.submit(benchmark, answers(right), run=str(right)) for right in (1, 4)]
            work("score")
        elif act == "W":
            withdraw(runs[:1], by=cast.olga)
        elif act == "close":
            closed(setting, by=cast.olga)
        else:
            creation.change_setting(setting, **changes[act], by=cast.olga)
    setting.refresh_from_db()
    run, since = Submission.objects.get(withdrawn_at__isnull=False), setting.sealed_since
    assert run.known_under == ([setting.pk] if KNOWN_BY_THE_LOG[acts] else [])
    upgraded()
    rebuilt = Submission.objects.get(pk=run.pk).known_under, Setting.objects.get().sealed_since
    assert rebuilt[0] == run.known_under
    if is_sealed(setting):
        assert (rebuilt[1] is None) == (since is None)
        assert since is None or abs(rebuilt[1] - since) < timedelta(seconds=1)


def test_an_upgrade_counts_no_near_duplicate_that_organisers_withdrew_after_a_hidden_phase(
    cast: BenchmarkCast,
) -> None:
    """It showed the figures of a run that still stands; another setting may hide the gold for longer."""
    benchmark = cast.relations()
    setting = benchmark.settings.get()
    stays, near = (cast.submit(benchmark, answers(right), run=str(right)) for right in (4, 3))
    work("score")
    NearDuplicate.objects.create(
        submission=near, setting=setting, earlier=stays, claims=1, gold_sha256=setting.test_set.sha256
    )
    Setting.objects.update(disclosure="hidden", closes_at=timezone.now())
    sleep(0.002)
    withdraw([near], by=cast.olga)
    for ended in (True, False):
        Setting.objects.update(closes_at=timezone.now() - timedelta(hours=1) if ended else None)
        upgraded()
        near.refresh_from_db()
        assert near.known_under == []


def test_an_upgrade_follows_the_log_of_a_split_for_its_rest(cast: BenchmarkCast) -> None:
    """The rest is sealed from the beginning; it closes, and opens again, with the other one."""
    benchmark = cast.relations()
    whole = benchmark.settings.get()
    fields = {"unit": "sentence", "main": "accuracy", "disclosure": "hidden", "by": cast.olga}
    dates = {"closes_at": timezone.now() + timedelta(hours=1)}
    split = creation.add_setting(
        benchmark, key="split", title="Split", test_set=whole.test_set, share=0.5, **fields, **dates
    )
    rest = benchmark.settings.get(rest_of=split)
    run = cast.submit(benchmark, answers(4))
    work("score")
    sleep(0.002)
    withdraw([run], by=cast.olga)
    sleep(0.002)
    closed(split, by=cast.olga)
    upgraded()
    run.refresh_from_db()
    assert run.known_under == [whole.pk, split.pk]
    assert rest.pk not in run.known_under


def test_a_run_that_organisers_withdraw_is_counted(cast: BenchmarkCast, benchmark: Benchmark) -> None:
    withdraw(Submission.objects.filter(system__name="Tree")[:1], by=cast.olga)
    assert row_of(benchmark, "Tree").runs.withdrawn == 1


def test_answers_that_a_system_still_shows_are_not_withdrawn(
    cast: BenchmarkCast, selected: Benchmark
) -> None:
    cast.submit(selected, answers(4), system="Net", run="again")
    work("score")
    assert row_of(selected, "Net").runs.withdrawn == 0


def test_answers_sent_again_under_another_name_bring_what_was_withdrawn_there(
    cast: BenchmarkCast, benchmark: Benchmark
) -> None:
    withdraw(Submission.objects.filter(system__name="Net"), by=cast.kim)
    cast.submit(benchmark, answers(6), system="Renamed", run="1")
    work("score")
    assert row_of(benchmark, "Renamed").runs.withdrawn == 2
    assert row_of(benchmark, "Tree").runs.withdrawn == 0


@pytest.mark.parametrize("other_gold", [False, True])
def test_withdrawn_runs_count_under_a_setting_added_later_on_their_gold(
    cast: BenchmarkCast, selected: Benchmark, other_gold: bool
) -> None:
    """It scores only what is left: of ten runs the best three would be tested."""
    other = freeze("other", RELATION_GOLD[::-1], by=cast.olga)
    fields = {"unit": "sentence", "main": "accuracy", "disclosure": "open", "by": cast.olga}
    gold = other if other_gold else selected.settings.get().test_set
    late = creation.add_setting(selected, key="late", title="Late", test_set=gold, **fields)
    work()
    [net] = [each for each in board(late).rows if each.system.name == "Net"]
    assert (net.n, net.runs.withdrawn) == (2, 0 if other_gold else 1)


def test_runs_withdrawn_in_another_phase_on_the_same_gold_count_unless_the_row_shows_their_files(
    cast: BenchmarkCast,
) -> None:
    benchmark = cast.relations()
    setting = benchmark.settings.get()
    fields = {"unit": "sentence", "main": "accuracy", "disclosure": "open", "by": cast.olga}
    creation.add_setting(benchmark, key="dev", title="Dev", phase="dev", test_set=setting.test_set, **fields)
    creation.change_setting(setting, phase="test", by=cast.olga)
    in_dev = [cast.submit(benchmark, answers(right), run=str(right), phase="dev") for right in (1, 2, 6)]
    cast.submit(benchmark, answers(6), run="6", phase="test")
    work("score")
    assert board(setting).rows[0].runs.withdrawn == 0
    withdraw(in_dev, by=cast.kim)
    assert board(setting).rows[0].runs_text == "1 of 3 runs, 2 withdrawn"


def test_withdrawn_runs_count_under_a_new_version(selected: Benchmark) -> None:
    """They were never scored under that."""
    Evaluation.objects.filter(submissions__withdrawn_at__isnull=False).update(scorer="0.9")
    assert row_of(selected, "Net").runs.withdrawn == 1


def test_a_system_with_withdrawn_runs_is_not_tested(cast: BenchmarkCast, benchmark: Benchmark) -> None:
    assert computed(cast, benchmark, "Tree", "Net").verdict("accuracy", 0, 1) == "W"
    withdraw(Submission.objects.filter(system__name="Net").order_by("pk")[:1], by=cast.kim)
    before = of(cast, benchmark, "Tree", "Net")
    assert (before.state, before.verdict("accuracy", 0, 1)) == ("absent", "·")
    for found in (before, computed(cast, benchmark, "Tree", "Net")):
        test = found.test("accuracy", 0, 1)
        assert test is not None
        assert (test.reason, test.p, test.winner) == (WITHDRAWN, None, None)
        assert words.paragraph(found)[:2] == [
            f"“Net” has 87.5 micro F1, “Tree” 21.1; nothing is claimed: {WITHDRAWN}.",
            "“Net”: 2 of 3 runs, 1 withdrawn after scoring.",
        ]
    assert {test.reason for tests in found.tests.values() for test in tests} == {WITHDRAWN}


def test_others_are_tested_without_it(cast: BenchmarkCast, selected: Benchmark) -> None:
    found = computed(cast, selected, "Net", "Rules", "Tree")
    test = found.test("accuracy", 1, 2)
    assert test is not None
    assert (test.reason, test.p_holm) == ("", test.p)


def test_the_last_run_of_a_selection_is_not_tested_over_items(
    cast: BenchmarkCast, benchmark: Benchmark
) -> None:
    withdraw(Submission.objects.filter(system__name="Net").order_by("pk")[:2], by=cast.kim)
    test = computed(cast, benchmark, "Net", "Rules").test("accuracy", 0, 1)
    assert test is not None
    assert test.reason == WITHDRAWN


def test_a_run_that_teams_choose_by_the_rule_is_tested(cast: BenchmarkCast, selected: Benchmark) -> None:
    """They know the figures of all, and readers know that."""
    selected.settings.update(row_rule="final")
    test = computed(cast, selected, "Net", "Rules").test("accuracy", 0, 1)
    assert test is not None
    assert test.reason != WITHDRAWN


def test_hidden_gold_lets_out_no_test_of_a_system_with_withdrawn_runs(
    cast: BenchmarkCast, selected: Benchmark
) -> None:
    selected.settings.update(disclosure="hidden", measures=["micro_f1", "accuracy"])
    test = computed(cast, selected, "Tree", "Net").test("accuracy", 0, 1)
    assert test is not None
    assert (test.reason, test.p_text) == (WITHDRAWN, "")


def test_a_withdrawal_takes_the_system_out_of_the_tests_of_the_board(
    cast: BenchmarkCast, benchmark: Benchmark, client: Client
) -> None:
    work()
    setting = benchmark.settings.select_related("benchmark", "test_set", "only").get()

    def bands() -> dict[str, Any]:
        shown = board(setting)
        tests = board_comparison.read([shown], ["accuracy"]).get(setting.pk)
        found = tests.bands("accuracy") if tests else {}
        return {shown.systems[pk].name: str(band) for pk, band in found.items()}

    page = reverse("board", args=[benchmark.slug])
    withdraw(Submission.objects.filter(system__name="Net").order_by("pk")[:1], by=cast.kim)
    assert bands() == {}
    work()
    assert "Net" not in bands()
    text = client.get(page).content.decode()
    assert "1 run withdrawn" in text
    assert "2 of 3" in text
    assert SELECTION in text
    assert WITHDRAWN in text


def test_pages_and_downloads_count_withdrawn_runs(
    cast: BenchmarkCast, selected: Benchmark, client: Client
) -> None:
    slug, system = selected.slug, row_of(selected, "Net").system.pk
    rows = json.loads(client.get(reverse("board-json", args=[slug])).content)["rows"]
    assert {row["system"]: row["withdrawn"] for row in rows} == {"Net": 1, "Tree": 0, "Rules": 0, "Copy": 0}
    lines = client.get(reverse("board-csv", args=[slug])).content.decode().splitlines()
    assert {row["withdrawn"] for row in csv.DictReader(lines) if row["system"] == "Net"} == {"1"}
    for name, part in (("tex", "2 of 3"), ("md", "2 of 3"), ("csv", "withdrawn"), ("json", '"withdrawn"')):
        assert part in client.get(reverse("board-view-file", args=[slug, name])).content.decode(), name
    page = client.get(reverse("system", args=[slug, system])).content.decode()
    assert "2 of 3 runs, 1 withdrawn" in page
    query = "&".join(f"systems={row.system.named}" for row in board(selected.settings.get()).rows[:2])
    page = client.get(reverse("board-compare", args=[slug]) + f"?{query}").content.decode()
    assert "2 of 3 runs, 1 withdrawn" in page


def test_more_withdrawn_runs_take_no_further_queries(cast: BenchmarkCast, benchmark: Benchmark) -> None:
    setting = benchmark.settings.select_related("benchmark", "test_set", "only").get()

    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert list(leaderboard.board(setting).rows)
        return len(captured)

    net = Submission.objects.filter(system__name="Net").order_by("pk")
    withdraw(net[:1], by=cast.kim)
    before = queries()
    withdraw(net[1:2], by=cast.kim)
    assert queries() == before


def test_a_run_is_not_tested_once_a_file_that_chose_another_one_is_withdrawn(cast: BenchmarkCast) -> None:
    """Dev files choose test runs of their names: to withdraw one is a choice by the figures of the test."""
    benchmark = cast.relations()
    fields = {"unit": "sentence", "main": "accuracy", "disclosure": "open", "by": cast.olga}
    dev = freeze("dev", RELATION_GOLD[:4], by=cast.olga)
    creation.add_setting(benchmark, key="dev", title="Dev", phase="dev", test_set=dev, **fields)
    setting = benchmark.settings.get(key="main")
    creation.change_setting(setting, row_rule="best:dev", phase="test", by=cast.olga)
    early = cast.submit(benchmark, answers(1)[:4], run="0", phase="dev")
    work("score")
    withdraw([early], by=cast.kim)  # before any figure of the test
    files = []
    for run, right in (("0", 4), ("1", 6)):
        files.append(cast.submit(benchmark, answers(4 - int(run))[:4], run=run, phase="dev"))
        cast.submit(benchmark, answers(right), run=run, phase="test")
    work("score")
    before = board(setting, "accuracy").rows[0]
    assert (before.runs.chosen, before.runs.withdrawn_elsewhere, before.is_selection) == ("0", 0, False)
    withdraw(files[:1], by=cast.kim)
    after = board(setting, "accuracy").rows[0]
    assert (after.runs.chosen, after.runs.withdrawn_elsewhere, after.is_selection) == ("1", 1, True)
    assert after.runs_text == "2 runs, 1 withdrawn under “dev”"
    withdraw(Submission.objects.filter(run="0", phase="test"), by=cast.kim)
    cast.submit(benchmark, answers(4), run="0", phase="test")  # the same answers, sent after the withdrawal
    work("score")
    assert board(setting, "accuracy").rows[0].is_selection
    cast.submit(benchmark, answers(4)[:4], run="0", phase="dev")
    work("score")
    again = board(setting, "accuracy").rows[0]
    assert (again.runs.chosen, again.is_selection) == ("0", False)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_file_that_chose_a_run_counts_as_withdrawn_if_figures_of_that_were_known(
    cast: BenchmarkCast, when: str
) -> None:
    benchmark = cast.relations()
    fields = {"unit": "sentence", "main": "accuracy", "disclosure": "open", "by": cast.olga}
    dev = freeze("dev", RELATION_GOLD[:4], by=cast.olga)
    creation.add_setting(benchmark, key="dev", title="Dev", phase="dev", test_set=dev, **fields)
    setting = benchmark.settings.get(key="main")
    creation.change_setting(setting, row_rule="best:dev", phase="test", by=cast.olga)
    if when == "before":
        sealed(setting, by=cast.olga)
    for run, right in (("0", 4), ("1", 6)):
        cast.submit(benchmark, answers(4 - int(run))[:4], run=run, phase="dev")
        cast.submit(benchmark, answers(right), run=run, phase="test")
    work("score")
    withdraw(Submission.objects.filter(run="0", phase="dev"), by=cast.kim)
    sealed(setting, when == "after", by=cast.olga)
    row = board(setting, "accuracy", person=cast.olga).rows[0]
    assert (row.runs.withdrawn_elsewhere, row.is_selection) == ((1, True) if when == "after" else (0, False))
