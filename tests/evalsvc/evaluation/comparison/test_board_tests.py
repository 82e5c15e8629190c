"""Tests between the systems of a board: bands, bold figures, confirmed reversals."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from evalsvc.core.jobs.lease import Progress
from evalsvc.core.jobs.models import Job
from evalsvc.core.jobs.queue import enqueue, request_cancel
from evalsvc.evaluation import submission_states
from evalsvc.evaluation.boards import leaderboard, stored_boards
from evalsvc.evaluation.comparison import board_comparison, board_tests, compared, tested_systems, words
from evalsvc.evaluation.comparison.board_comparison import BY_MEDIAN, Band
from evalsvc.evaluation.comparison.sentences import Outcome, _unseen
from evalsvc.evaluation.disclosure import shown_tests
from evalsvc.evaluation.disclosure.policy import Policy
from evalsvc.evaluation.disclosure.shown_tests import ONE_TEAM
from evalsvc.evaluation.measures.menu import MENU
from evalsvc.evaluation.models import (
    Benchmark,
    BoardTests,
    Score,
    Setting,
    SettingVersion,
    Submission,
    System,
)
from evalsvc.evaluation.pages import board_columns
from evalsvc.evaluation.pages.board_columns import (
    ALONE,
    NOT_AMONG_FIRST,
    NOT_YET,
    ONE_RUN_OF_HIDDEN,
    ONE_RUN_OF_MANY,
    ONLY_SYSTEM,
    UNTESTED,
)
from evalsvc.evaluation.pages.board_headline import _detectable
from evalsvc.evaluation.pages.overviews import overviews
from tests.cast.benchmarks import BenchmarkCast
from tests.cast.periodic import look, pause
from tests.evalsvc.evaluation.disclosure.phase import (
    gold_labels,
    hidden_phase,
    scored,
    wrong,
)
from tests.evalsvc.evaluation.test_leaderboard import answers
from workers.handlers import compare as compare_handlers
from workers.handlers.compare import compare_board
from workers.runner import run_next

SCHEMES = ("micro_f1", "weighted_f1", "dodrans_f1", "entropy_f1", "macro_f1")
# micro and macro F1 of each run; Solo has one run
RUNS = {
    "Alder": [(0.80, 0.40), (0.81, 0.41), (0.82, 0.42)],
    "Birch": [(0.79, 0.60), (0.80, 0.61), (0.83, 0.62)],
    "Cedar": [(0.50, 0.70), (0.51, 0.71), (0.52, 0.72)],
    "Solo": [(0.90, 0.90)],
}


@pytest.fixture(autouse=True)
def over_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """No items are tested: the figures here are not those of the files."""
    monkeypatch.setattr(tested_systems, "REPLICATED_ITEMS", 0)


def begin(cast: BenchmarkCast) -> Setting:
    """A board with these figures, each run with answers of its own."""
    benchmark = cast.relations()
    for system, runs in RUNS.items():
        for run, figures in enumerate(runs):
            add(cast, benchmark, system, str(run), *figures)
    return benchmark.settings.select_related("benchmark", "test_set", "only").get()


def add(
    cast: BenchmarkCast, benchmark: Benchmark, system: str, run: str, micro: float, macro: float
) -> Submission:
    submission = cast.submit(benchmark, answers(6), system=system, run=run)
    assert run_next("score")
    evaluation = submission.evaluations.get()
    name = f"{system}{run}"
    evaluation.pk, evaluation.options_sha256 = None, name
    evaluation.answers_sha256 = evaluation.claims_sha256 = name
    evaluation.save(force_insert=True)
    for key, value in zip(SCHEMES, (micro, micro, micro, micro, macro), strict=True):
        Score.objects.create(evaluation=evaluation, measure=key, value=value)
    submission.evaluations.set([evaluation])
    submission.refresh_from_db()
    return submission


def compute() -> int:
    """Queue what is outdated, and compute it; return the number of jobs."""
    ended = Job.objects.filter(kind=board_tests.KIND, state=Job.State.DONE)
    before = ended.count()
    look(board_tests)
    while run_next("heavy"):
        pass
    return ended.count() - before


def bands(setting: Setting, key: str = "micro_f1") -> dict[str, str]:
    board = leaderboard.board(setting)
    tests = board_comparison.read([board], [key]).get(setting.pk)
    names = {row.system.pk: row.system.name for row in board.rows}
    return {names[pk]: str(band) for pk, band in tests.bands(key).items()} if tests else {}


def test_a_band_has_the_ranks_that_tests_leave_open(client: Client, cast: BenchmarkCast) -> None:
    setting = begin(cast)
    assert bands(setting) == {}
    assert compute() == 1
    client.force_login(cast.kim)
    rows = client.get(reverse("api-board", args=["rel"])).json()["rows"]
    by_api = {row["system"]: row["band"] and tuple(row["band"].values()) for row in rows}
    assert by_api == {"Solo": None, "Alder": (1, 2, 3), "Birch": (1, 2, 3), "Cedar": (3, 3, 3)}
    assert bands(setting) == {"Alder": "1–2", "Birch": "1–2", "Cedar": "3"}
    assert bands(setting, "macro_f1") == {"Alder": "3", "Birch": "2", "Cedar": "1"}
    assert (Band(1, 2, 3).leads, Band(1, 3, 3).leads, Band(3, 3, 3).leads) == (True, False, False)
    assert compute() == 0


def test_tests_of_an_earlier_format_are_computed_anew(
    cast: BenchmarkCast, monkeypatch: pytest.MonkeyPatch
) -> None:
    setting = begin(cast)
    assert compute() == 1
    monkeypatch.setattr(tested_systems, "FORMAT", 99)
    assert bands(setting) == {}
    assert (compute(), compute()) == (1, 0)
    assert bands(setting)["Cedar"] == "3"


@pytest.mark.parametrize("change", ["run", "withdrawal"])
def test_tests_of_other_runs_are_not_shown(cast: BenchmarkCast, change: str) -> None:
    setting = begin(cast)
    compute()
    if change == "run":
        add(cast, setting.benchmark, "Cedar", "9", 0.53, 0.73)
    else:
        submission_states.withdraw(Submission.objects.get(system__name="Solo"), by=cast.kim)
    assert bands(setting) == {}
    assert compute() == 1
    assert bands(setting)["Cedar"] == "3"


def test_runs_that_come_while_the_tests_are_computed_outdate_them(cast: BenchmarkCast) -> None:
    setting = begin(cast)
    row, _ = board_tests.begin(setting)
    store = board_tests.stored_by_job(row, {}, {})
    add(cast, setting.benchmark, "Cedar", "9", 0.53, 0.73)
    store()
    assert BoardTests.objects.get().outdated


def test_a_sealed_board_is_tested_once_it_has_closed(cast: BenchmarkCast) -> None:
    begin(cast)
    Job.objects.filter(kind=board_tests.KIND).delete()  # a worker may have looked while the runs were scored
    Setting.objects.update(sealed=True, closes_at=timezone.now() + timedelta(days=1))
    assert compute() == 0
    Setting.objects.update(closes_at=timezone.now())
    assert compute() == 1


def test_the_board_shows_bands_bold_figures_and_confirmed_reversals(
    client: Client, cast: BenchmarkCast
) -> None:
    begin(cast)
    before = client.get(reverse("board", args=["rel"]))
    assert "ordered by micro F1, highest first: no test gives a rank" in before.content.decode()
    waiting = before.context["table"].rows
    assert [(line.rank, line.no_rank) for line in waiting] == [("–", ONE_RUN_OF_MANY), *[("–", NOT_YET)] * 3]
    assert {p for pair in before.context["reversals"] for p in pair["p"]} == {("–", "")}
    assert "confirm both" not in before.context["reversals_lead"]
    compute()
    by_macro = client.get(reverse("board", args=["rel"]), {"order": "macro_f1"}).content.decode()
    assert "“Cedar” is ahead of both other tested systems. Tested: 3 systems of 4." in by_macro
    response = client.get(reverse("board", args=["rel"]), {"columns": "macro_f1"})
    lines = response.context["table"].rows
    assert [(line.row.system.name, line.rank, line.first.leads) for line in lines] == [
        ("Solo", "–", False), ("Alder", "1–2", True), ("Birch", "1–2", True), ("Cedar", "3", False),
    ]  # fmt: skip
    assert [line.others[0].leads for line in lines] == [False, False, False, True]
    assert lines[0].no_rank == ONE_RUN_OF_MANY
    assert [[(rail.lane, rail.end) for rail in line.rails] for line in lines] == [
        [], [(1, " from")], [(1, " to")], [],
    ]  # fmt: skip
    marks = [(line.others[0].mark, line.others[0].confirmed) for line in lines[1:]]
    assert [bool(mark) for mark, _ in marks] == [sure for _, sure in marks] == [True, False, True]
    confirmed = [
        (pair["first"], pair["second"]) for pair in response.context["reversals"] if pair["confirmed"]
    ]
    assert sorted(confirmed) == [("Alder", "Cedar"), ("Birch", "Cedar")]
    assert "For 2 of them tests confirm both orders." in response.content.decode()
    assert "difference that a single test, before Holm, mostly detects is" in response.content.decode()
    latex = client.get(
        reverse("board-view-file", args=["rel", "tex"]), {"columns": "macro_f1"}
    ).content.decode()
    assert r"1--2 & Alder & 3 & \textbf{81.0 $\pm$ 1.0} & 41.0" in latex
    assert r"3 & Cedar & 3 & 51.0 $\pm$ 1.0 & \textbf{71.0" in latex
    system = System.objects.get(name="Birch")
    page = client.get(reverse("system", args=["rel", system.pk])).content.decode()
    assert ": ranks 1–2 of 3 tested systems on" in page
    assert "No difference between “Alder” and “Birch” could be shown" in page
    assert "“Birch” is ahead of “Cedar” by" in page
    tables = {
        name: client.get(reverse("board-view-file", args=["rel", "json"]), {"table": name}).json()["rows"]
        for name in ("reversals", "orders")
    }
    assert len(tables["reversals"]) > len(confirmed)
    assert sum(row["confirmed"] for row in tables["reversals"]) == len(confirmed)
    assert all(isinstance(row["p"], float) for row in tables["reversals"] if row["confirmed"])
    [macro] = [row for row in tables["orders"] if row["order"] == "macro F1"]
    assert (macro["systems"], macro["confirmed"]) == (4, 2)
    assert macro["kept"] + macro["turned"] + macro["equal"] == 6


@pytest.mark.parametrize(
    ("solo", "step", "front", "band"),
    [
        (0.90, 0.0, "“Solo”, 90.0", ""),
        (0.81, 0.0, "“Alder”, “Solo”, 81.0", ""),
        (0.809, 0.0, "“Alder”, “Birch”", "1–2"),
        (0.80, 0.02, "“Alder”, “Solo”", ""),
        (0.78, 0.02, "“Alder”, 81.3", "1"),
    ],
)
def test_the_list_names_all_that_may_have_the_best_mean_where_one_of_them_is_not_tested(
    client: Client,
    cast: BenchmarkCast,
    monkeypatch: pytest.MonkeyPatch,
    solo: float,
    step: float,
    front: str,
    band: str,
) -> None:
    """One untested system below the best took tied ones off the list."""
    begin(cast)
    Score.objects.filter(evaluation__options_sha256="Solo0").update(value=solo)
    if step:
        monkeypatch.setattr(Policy, "step", lambda self, key, claims=None: step)
        Setting.objects.update(disclosure="hidden", measures=["micro_f1"])
        System.objects.filter(name="Cedar").update(team=cast.lugworm)
        Submission.objects.filter(system__name="Birch").update(withdrawn_at=timezone.now())
    compute()
    summary = overviews([Benchmark.objects.get()])[0].summary
    assert (summary.front, summary.band) == (front, band)
    assert "all that may have it are in front" in client.get(reverse("boards")).content.decode()


def test_the_list_has_the_ranks_that_tests_leave_open_of_all_the_systems_it_names(
    cast: BenchmarkCast,
) -> None:
    benchmark = begin(cast).benchmark
    Submission.objects.filter(system__name="Solo").update(withdrawn_at=timezone.now())
    for run, micro in enumerate((0.60, 0.75, 0.90)):
        add(cast, benchmark, "Dogwood", str(run), micro, 0.5)
    compute()
    found = bands(benchmark.settings.get())
    assert [found[name] for name in ("Alder", "Birch", "Dogwood")] == ["1–3", "1–3", "1–4"]
    summary = overviews([benchmark])[0].summary
    assert (summary.front, summary.band) == ("“Alder”, “Birch”, “Dogwood”", "1–4")


def test_figures_alone_give_no_rank(client: Client, cast: BenchmarkCast) -> None:
    """A board of single runs showed 1, 2, 3; by another measure so did untested pairs of systems."""
    begin(cast)
    for system in ("Birch", "Cedar"):
        Submission.objects.filter(system__name=system).update(withdrawn_at=timezone.now())
    lines = client.get(reverse("board", args=["rel"])).context["table"].rows
    assert [(line.rank, line.no_rank) for line in lines] == [("–", ONE_RUN_OF_MANY), ("–", ALONE)]


def test_systems_of_one_run_are_ranked_by_tests_over_items_of_open_gold(
    client: Client, cast: BenchmarkCast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compared, "REPLICATES", 100)
    monkeypatch.setattr(tested_systems, "REPLICATED_ITEMS", 600)  # of six sentences, one pair
    [setting] = cast.relations().settings.select_related("benchmark", "test_set", "only")

    def rows() -> list[tuple[str, str]]:
        lines = client.get(reverse("board", args=["rel"])).context["table"].rows
        return [(line.rank, line.no_rank) for line in lines]

    for system, right in {"All": 6, "None": 0}.items():
        cast.submit(setting.benchmark, answers(right), system=system)
        assert run_next("score")
        if system == "All":
            assert rows() == [("–", ONLY_SYSTEM)]
    assert rows() == [("–", NOT_YET)] * 2
    assert compute() == 1
    assert bands(setting) == {"All": "1", "None": "2"}
    assert rows() == [("1", ""), ("2", "")]
    page = " ".join(client.get(reverse("board", args=["rel"])).content.decode().split())
    assert "ranks by tests: paired randomisation over sentences, .05 after Holm over 1 pair" in page
    # a class with one sentence of the gold, whose F1 is 0 or 1, of three
    moved = "One correct answer more or less in the rarest class moves macro F1 of a run by up to 33.3 points"
    assert f"{moved}, all else equal." in page
    with monkeypatch.context() as patch:
        patch.setattr(tested_systems, "REPLICATED_ITEMS", 599)
        assert board_tests.to_test(setting)[0].systems == []
    Setting.objects.update(disclosure="hidden")
    setting.refresh_from_db()
    assert board_tests.to_test(setting)[0].systems == []
    assert bands(setting) == {}  # the tests of the gold while it was open are for organisers
    assert "rarest class" not in client.get(reverse("board", args=["rel"])).content.decode()


def test_a_board_that_shows_no_figures_gets_no_job_of_tests(cast: BenchmarkCast) -> None:
    setting = begin(cast)
    Setting.objects.update(disclosure="hidden")
    assert (compute(), BoardTests.objects.get(setting=setting).systems) == (0, [])


@pytest.mark.parametrize("closing", ["before", "meanwhile"])
def test_of_hidden_gold_no_job_tests_over_items(
    cast: BenchmarkCast, monkeypatch: pytest.MonkeyPatch, closing: str
) -> None:
    monkeypatch.setattr(tested_systems, "REPLICATED_ITEMS", math.inf)
    [setting] = cast.relations().settings.all()
    for system, right in {"All": 6, "None": 0}.items():
        cast.submit(setting.benchmark, answers(right), system=system)
        assert run_next("score")
    Job.objects.filter(kind=board_tests.KIND).delete()
    if closing == "before":
        Setting.objects.update(disclosure="hidden")
        assert compute() == 0
        return
    monkeypatch.setattr(compare_handlers, "is_hidden", lambda setting: True)
    assert compute() == 1
    assert not BoardTests.objects.get().measures.exists()


def test_single_runs_are_tested_over_items_beside_systems_with_several(
    client: Client, cast: BenchmarkCast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those after the first whose items are few enough have no rank."""
    monkeypatch.setattr(compared, "REPLICATES", 59)
    monkeypatch.setattr(tested_systems, "REPLICATED_ITEMS", 80 * 2 * 59)
    gold = gold_labels(80)
    benchmark = hidden_phase(cast, gold, disclosure="open")
    shares = {"Net": (0.1, 0.12), "Rules": (0.15,), "Tree": (0.6, 0.62), "Last": (0.9,)}
    for system, wrongs in shares.items():
        for run, share in enumerate(wrongs):
            scored(cast, benchmark, wrong(gold, share, seed=run), system=system, run=str(run))
    assert compute() == 1

    def ranks() -> dict[str, tuple[str, str]]:
        lines = client.get(reverse("board", args=["hid"])).context["table"].rows
        return {line.row.system.name: (line.rank, line.no_rank) for line in lines}

    tested = {"Net": ("1–2", ""), "Rules": ("1–2", ""), "Tree": ("3", "")}
    assert ranks() == tested | {"Last": ("–", ONE_RUN_OF_MANY)}
    by = ["Welch’s t over runs", "paired randomisation over sentences"]
    page = " ".join(client.get(reverse("board", args=["hid"])).content.decode().split())
    both = f"{by[0]} and, where a side has one run, {by[1]} ({BY_MEDIAN})"
    assert f"{both}, .05 after Holm over 3 pairs of the 3" in page
    assert f"by {by[0]} and" in client.get(reverse("board-view-file", args=["hid", "tex"])).content.decode()
    client.force_login(cast.kim)
    assert client.get(reverse("api-board", args=["hid"])).json()["tests"] == by
    with monkeypatch.context() as patch:
        patch.setattr(tested_systems, "FIRST", 3)
        assert ranks()["Last"] == ("–", NOT_AMONG_FIRST)
    Setting.objects.update(disclosure="hidden")
    assert ranks()["Last"] == ranks()["Rules"] == ("–", ONE_RUN_OF_HIDDEN)
    response = client.get(reverse("board", args=["hid"]))
    assert f"nothing is claimed: {ONE_TEAM}." in response.context["sentence"]
    assert "ranked two places" not in response.content.decode()  # no figure is marked
    client.force_login(cast.olga)
    BoardTests.objects.update(outdated=True)
    assert compute() == 1
    asked = list[Setting]()
    monkeypatch.setattr(board_columns, "is_hidden", lambda setting: not asked.append(setting))
    several = {"Net": ("1", ""), "Tree": ("2", "")}
    assert ranks() == several | dict.fromkeys(("Rules", "Last"), ("–", ONE_RUN_OF_HIDDEN))
    assert len(asked) == 1  # of a closed setting this is a query


def test_a_team_with_many_systems_of_one_run_leaves_places_to_others(
    cast: BenchmarkCast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten of one team took the ranks of all others away."""
    monkeypatch.setattr(tested_systems, "most_single", lambda *_: 2)
    [setting] = cast.relations().settings.all()
    for system, right in (("Best", 6), ("Second", 5), ("Third", 4)):
        cast.submit(setting.benchmark, answers(right), system=system)
    cast.submit(setting.benchmark, answers(2), system="Other", team=cast.lugworm, by=cast.lars)
    while run_next("score"):
        pass
    tested = board_tests.to_test(setting)[0].systems
    assert {system.name for system in System.objects.filter(pk__in=tested)} == {"Best", "Other"}


@pytest.mark.parametrize("between", ["", "another run", "cancelled"])
def test_tests_of_a_board_let_statistics_come_first_between_two_pairs(
    cast: BenchmarkCast, monkeypatch: pytest.MonkeyPatch, between: str
) -> None:
    """They go on with the runs that they began with, even if another came meanwhile."""
    monkeypatch.setattr(compared, "REPLICATES", 59)
    monkeypatch.setattr(tested_systems, "REPLICATED_ITEMS", 1_000_000)
    monkeypatch.setattr(Progress, "TURN_SECONDS", 0)
    gold = gold_labels(80)
    benchmark = hidden_phase(cast, gold, disclosure="open")
    for at, system in enumerate(("Net", "Rules", "Tree")):
        scored(cast, benchmark, wrong(gold, at / 10), system=system)
    while run_next("heavy"):
        pass
    tested: list[int] = []
    original = compare_handlers._Comparison._part

    def noted(self: Any, number: int) -> Any:
        if not tested:
            enqueue("describe", benchmark.settings.get().test_set_id, lane="user 0")
        tested.append(number)
        return original(self, number)

    monkeypatch.setattr(compare_handlers._Comparison, "_part", noted)
    look(board_tests)
    assert run_next("heavy")
    job = Job.objects.get(kind=board_tests.KIND)
    assert (job.state, tested, board_tests.unfinished(job.subject).get().parts.count()) == ("queued", [0], 1)
    if between == "cancelled":
        request_cancel(job)
        assert not board_tests.unfinished(job.subject).exists()
        return
    if between:
        scored(cast, benchmark, wrong(gold, 0.5), system="Last")
    assert run_next("heavy")
    assert Job.objects.get(kind="describe", lane="user 0").state == "done"
    assert run_next("heavy")
    assert tested == [0, 1, 2]
    board = BoardTests.objects.get()
    assert (len(board.systems), board.outdated) == (3, bool(between))
    assert not board_tests.unfinished(job.subject).exists()


@pytest.mark.parametrize("opened_by", ["its own", "another"])
def test_once_gold_opens_nobody_has_a_rank_until_single_runs_are_tested(
    client: Client, cast: BenchmarkCast, monkeypatch: pytest.MonkeyPatch, opened_by: str
) -> None:
    """It opens at the end of its setting, or of another one that hides it."""
    monkeypatch.setattr(compared, "REPLICATES", 59)
    monkeypatch.setattr(tested_systems, "REPLICATED_ITEMS", math.inf)
    benchmark = hidden_phase(cast, gold := gold_labels(80), disclosure="open")
    for system, wrongs in {"Net": (0.1, 0.12), "Rules": (0.3,), "Tree": (0.6, 0.62)}.items():
        for run, share in enumerate(wrongs):
            scored(cast, benchmark, wrong(gold, share, seed=run), system=system, run=str(run))

    def ranks() -> list[tuple[str, str]]:
        lines = client.get(reverse("board", args=["hid"])).context["table"].rows
        return [(line.rank, line.no_rank) for line in lines]

    Setting.objects.update(disclosure="hidden", closes_at=timezone.now() + timedelta(hours=1))
    assert compute() == 1
    assert ranks()[1] == ("–", ONE_RUN_OF_HIDDEN)
    now = timezone.now()
    own = Setting.objects.filter(benchmark=benchmark)
    if opened_by == "another":
        cast.benchmark("other", settings=[("a", own.get().test_set, "sentence", "micro_f1")])
        other = Setting.objects.filter(benchmark__slug="other")
        other.update(disclosure="hidden")
        own.update(closes_at=now - timedelta(hours=1))
        assert compute() == 0
        other.update(closes_at=now)
    else:
        own.update(closes_at=now)
    assert ranks() == [("–", NOT_YET)] * 3
    assert (compute(), compute()) == (1, 0)
    assert [rank for rank, _ in ranks()] == ["1", "2", "3"]


def test_item_tests_are_limited_by_pairs_replicates_and_items(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()  # the limits themselves
    items, gold = 3_333, SettingVersion()
    monkeypatch.setattr(tested_systems, "count_items", lambda gold: items)
    replicates = [compared.replicates(math.comb(systems, 2)) for systems in (10, 11, 20, 50)]
    assert replicates == [1_000, 1_099, 3_799, 24_499]
    limits = [tested_systems.most_single(gold, several, 50) for several in (0, 1, 9, 16, 17)]
    assert limits == [10, 9, 3, 1, 0]
    items = 3_334
    assert tested_systems.most_single(gold, 0, 50) == 9
    assert tested_systems.most_single(gold, 0, 1) == 0


@pytest.mark.parametrize("most", [2_000, 0])
def test_measures_beside_those_of_the_board_are_tested_if_the_tests_are_few(
    client: Client, cast: BenchmarkCast, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(board_tests, "MOST", most)
    begin(cast)
    rows = Score.objects.filter(measure="micro_f1", evaluation__submissions__isnull=False)
    Score.objects.bulk_create(
        Score(evaluation_id=each.evaluation_id, measure="entropy_recall", value=each.value) for each in rows
    )
    compute()
    lines = client.get(reverse("board", args=["rel"]), {"order": "entropy_recall"}).context["table"].rows
    tested = [(line.rank, line.no_rank) for line in lines[1:]]
    assert tested == ([("1–2", ""), ("1–2", ""), ("3", "")] if most else [("–", UNTESTED)] * 3)


def test_a_comparison_shows_the_tests_of_the_board_until_its_own_are_computed(
    client: Client, cast: BenchmarkCast
) -> None:
    setting = begin(cast)
    systems = {"systems": [f"{cast.kelpie.slug}/{name}" for name in RUNS]}
    address = reverse("board-compare", args=["rel"], query=systems)
    assert "tested against each other yet" in client.get(address).content.decode()
    compute()
    page = client.get(address).content.decode()
    assert "Shown are the tests of the board." in page
    assert "Holm over the tested pairs of a measure" in page
    assert (
        "“Birch” is ahead of “Cedar” by"
        in client.get(
            reverse("board-compare", args=["rel"], query={"systems": systems["systems"][1:3]})
        ).context["paragraph"]
    )
    matrix = dict(client.get(address).context["matrix"])
    assert [verdict for verdict, _ in matrix["Alder"]] == ["·", "", "=", "W"]
    assert matrix["Alder"][0][1] == "not tested against “Solo”: the tests are not computed yet"
    file = reverse("board-compare-file", args=["rel", "json"], query=systems | {"table": "tests"})
    shown = {(row["measure"], row["a"], row["b"]): row["p_holm"] for row in client.get(file).json()["rows"]}
    board = leaderboard.board(setting)
    tests = board_comparison.read([board], ["macro_f1"])[setting.pk]
    pair = [row.system.pk for row in board.rows if row.system.name in ("Alder", "Birch")]
    test = tests.of_systems("macro_f1", *pair)
    assert test is not None
    assert shown["macro_f1", "Alder", "Birch"] == test.p_holm
    client.force_login(cast.kim)
    body = client.get(reverse("api-compare", args=["rel"], query=systems)).json()
    assert (body["state"], len(body["tests"])) == ("absent", len(shown))
    assert body["method"].startswith("Tests of the board")
    assert body["joint"] == []


def test_the_headline_of_three_systems_names_each_once(client: Client, cast: BenchmarkCast) -> None:
    begin(cast)
    Submission.objects.filter(system__name="Solo").update(withdrawn_at=timezone.now())
    compute()
    sentence = client.get(reverse("board", args=["rel"]), {"order": "macro_f1"}).context["sentence"]
    assert sentence.startswith("“Cedar” is ahead of “Birch” by 10.0 macro F1 (p ")
    assert "“Cedar” is ahead of “Alder” too." in sentence
    assert "both" not in sentence


def test_hidden_gold_withholds_tests_within_a_team(
    client: Client, cast: BenchmarkCast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Policy, "step", lambda self, key, claims=None: 0.01)
    setting = begin(cast)
    Setting.objects.update(disclosure="hidden", measures=["micro_f1"])
    setting.refresh_from_db()
    compute()
    assert bands(setting) == {}
    System.objects.filter(name="Cedar").update(team=cast.lugworm)
    # Birch is not the best of its team; Solo is, but has no test over runs
    assert bands(setting) == {"Alder": "1", "Cedar": "2"}
    page = " ".join(client.get(reverse("board", args=["rel"])).content.decode().split())
    assert (
        "2 tested systems, by the difference less a step of rounding, each p multiplied by the number" in page
    )
    factor = "single test, before the factor for the systems of the two teams and Holm, mostly detects"
    assert factor in page
    client.force_login(cast.olga)
    exact = " ".join(client.get(reverse("board", args=["rel"])).content.decode().split())
    assert "single test, before Holm, mostly detects" in exact


def test_sentences_on_hidden_gold_claim_no_more_than_its_rounded_figures(
    client: Client, cast: BenchmarkCast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Policy, "step", lambda self, key, claims=None: 0.05)
    benchmark, teams = cast.relations(), {"Alder": cast.kelpie, "Birch": cast.lugworm, "Cedar": cast.kelpie}
    for system, micro in {"Alder": 0.75, "Birch": 0.65, "Cedar": 0.74}.items():
        for run, change in enumerate((-0.01, 0.0, 0.02)):
            add(cast, benchmark, system, str(run), micro + change, 0.5)
        System.objects.filter(name=system).update(team=teams[system])
    Setting.objects.update(disclosure="hidden", measures=["micro_f1"])
    client.force_login(cast.kim)
    same = client.get(reverse("board", args=["rel"]))
    assert same.context["sentence"] == "“Alder” and “Cedar” have the same shown micro F1, 75.0."
    Submission.objects.filter(system__name="Cedar").update(withdrawn_at=timezone.now())
    compute()
    page = client.get(reverse("board", args=["rel"]))
    unvaried = "the runs of both sides do not vary beyond the step of rounding"
    assert page.context["sentence"].endswith(f"nothing is claimed: {unvaried}.")
    assert {line.no_rank for line in page.context["table"].rows} == {f"no test: {unvaried}, so no rank"}
    assert "equal ones have no deviation" in page.content.decode()
    of_hidden = client.get(reverse("api-board", args=["rel"])).json()["rows"][0]["figures"]["micro_f1"]
    client.force_login(cast.olga)
    exact = client.get(reverse("api-board", args=["rel"])).json()["rows"][0]["figures"]["micro_f1"]
    assert ((of_hidden["mean"], of_hidden["sd"]), round(exact["sd"], 3)) == ((0.75, None), 0.015)


def test_no_sentence_on_hidden_gold_says_which_of_two_figures_closer_than_the_step_is_better(
    client: Client, cast: BenchmarkCast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mean of rounded figures can be on the other side of that of exact ones."""
    monkeypatch.setattr(Policy, "step", lambda self, key, claims=None: 0.05)
    benchmark, teams = cast.relations(), {"Alder": cast.kelpie, "Birch": cast.lugworm}
    for system, figures in {"Alder": [0.733], "Birch": [0.76, 0.76, 0.724]}.items():
        for run, micro in enumerate(figures):
            add(cast, benchmark, system, str(run), micro, 0.5)
        System.objects.filter(name=system).update(team=teams[system])
    Setting.objects.update(disclosure="hidden", measures=["micro_f1"])
    setting = Setting.objects.select_related("benchmark", "test_set", "only").get()
    expected = "“Alder” has 75.0 micro F1, “Birch” 73.3; nothing is claimed: "
    names = [f"{team.slug}/{name}" for name, team in teams.items()]
    comparison = board_comparison.compared_on_board(setting, names, person=None)
    assert words.paragraph(comparison)[0].startswith(expected)
    client.force_login(cast.kim)
    assert client.get(reverse("board", args=["rel"])).context["sentence"].startswith(expected)
    assert overviews([setting.benchmark])[0].summary.front == "“Alder”, “Birch”"
    Setting.objects.update(measures=["micro_f1", "macro_f1", "weighted_f1", "dodrans_f1", "entropy_f1"])
    page = client.get(reverse("board", args=["rel"]), {"columns": "macro_f1"})
    assert page.context["schemes"]["finding"] == "Ranks by rounded figures"
    assert "Ranks by rounded figures of 2 systems" in client.get("/boards/rel/schemes.svg").content.decode()
    assert not {cell.mark for line in page.context["table"].rows for cell in line.others} - {""}
    assert [each.turned for each in page.context["agreements"]] == [0] * len(page.context["agreements"])
    client.force_login(cast.olga)
    exact = client.get(reverse("board", args=["rel"])).context["sentence"]
    assert exact.startswith("“Birch” has 74.8 micro F1, “Alder” 73.3; nothing is claimed: ")


def test_no_marks_on_hidden_gold_compare_ranks_by_rounded_figures(
    client: Client, cast: BenchmarkCast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Untested systems between a confirmed pair turned the mark against it."""
    monkeypatch.setattr(Policy, "step", lambda self, key, claims=None: 0.001)
    begin(cast)
    System.objects.filter(name="Cedar").update(team=cast.lugworm)
    Setting.objects.update(disclosure="hidden", measures=["micro_f1", "macro_f1"])
    compute()
    for user, marked in ((cast.kim, False), (cast.olga, True)):
        client.force_login(user)
        page = client.get(reverse("board", args=["rel"]), {"columns": "macro_f1"})
        cells = {line.row.system.name: line.others[0] for line in page.context["table"].rows}
        assert [bool(cells[system].mark) for system in ("Alder", "Cedar")] == [marked] * 2
        assert ("ranked two places higher than by micro F1" in page.content.decode()) is marked


@pytest.mark.parametrize(
    ("shown_runs", "reason"),
    [
        ({}, ""),
        ({"ladder": 0.001}, shown_tests.LADDER),
        ({"row_rule": "latest"}, shown_tests.CHOSEN_RUNS),
        ({"row_rule": "final"}, shown_tests.CHOSEN_RUNS),
    ],
)
def test_a_hidden_board_ranks_by_no_test_that_its_comparison_withholds(
    client: Client,
    cast: BenchmarkCast,
    monkeypatch: pytest.MonkeyPatch,
    shown_runs: dict[str, Any],
    reason: str,
) -> None:
    """Boards of a Ladder ranked by tests of the runs that had improved on earlier ones.

    Where rows show chosen runs, those of two or three read that they had one, of which no items are tested.
    """
    monkeypatch.setattr(Policy, "step", lambda self, key, claims=None: 0.001)
    begin(cast)
    System.objects.filter(name="Cedar").update(team=cast.lugworm)
    Setting.objects.update(disclosure="hidden", measures=["micro_f1"], **shown_runs)
    setting = Setting.objects.select_related("benchmark", "test_set", "only").get()
    compute()
    names = [f"{team}/{name}" for team, name in ((cast.kelpie.slug, "Alder"), (cast.lugworm.slug, "Cedar"))]
    test = board_comparison.compared_on_board(setting, names, person=None).test("micro_f1", 0, 1)
    assert test is not None
    client.force_login(cast.kim)
    shown = client.get(reverse("api-board", args=["rel"])).json()
    banded = {row["system"] for row in shown["rows"] if row["band"]}
    assert (test.reason, test.p_text) == (reason, "" if reason else "< .001")
    assert (banded, shown["tests"]) == (
        (set(), []) if reason else ({"Alder", "Cedar"}, ["Welch’s t over runs"])
    )
    response = client.get(reverse("board", args=["rel"]))
    assert ("ranks by tests" in response.content.decode()) is not bool(reason)
    unranked = {line.no_rank for line in response.context["table"].rows if line.rank == "–"}
    assert (f"{reason}, so no rank" in unranked) is bool(reason)


def test_the_best_system_of_a_team_on_hidden_gold_is_one_that_can_be_tested(
    cast: BenchmarkCast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a better system that it withdrew in part a team took the ranks of others away."""
    monkeypatch.setattr(Policy, "step", lambda self, key, claims=None: 0.01)
    setting = begin(cast)
    Setting.objects.update(disclosure="hidden", measures=["micro_f1"])
    System.objects.filter(name="Cedar").update(team=cast.lugworm)
    submission_states.withdraw(Submission.objects.get(system__name="Alder", run="0"), by=cast.kim)
    setting.refresh_from_db()
    compute()
    assert bands(setting) == {"Birch": "1", "Cedar": "2"}


@pytest.mark.parametrize(
    ("runs", "few"),
    [((2, 5), True), ((3, 7), True), ((1, 2, 20), True), ((2, 4), False), ((4, 40), False), ((1, 40), False)],
)
def test_two_or_three_runs_against_many_are_named_as_few(runs: tuple[int, ...], few: bool) -> None:
    """Welch's t finds 12 % of equal systems of 2 and of 20 runs to differ at .05."""
    policies = [SimpleNamespace(hidden=hidden) for hidden in (False, True)]
    expected = [words.FEW_RUNS, words.FEW_RUNS_OF_HIDDEN] if few else ["", ""]
    assert [words.few_runs(policy, runs) for policy in policies] == expected


def test_the_headline_says_where_a_side_has_few_runs(client: Client, cast: BenchmarkCast) -> None:
    setting = begin(cast)
    compute()
    url = reverse("board", args=["rel"])
    assert words.FEW_RUNS not in client.get(url).content.decode()
    for run in range(3, 7):
        add(cast, setting.benchmark, "Cedar", str(run), 0.5 + run / 1000, 0.7)
    Submission.objects.filter(system__name="Alder", run="2").delete()
    BoardTests.objects.update(outdated=True, computed_at=timezone.now() - timedelta(days=1))
    compute()
    assert words.FEW_RUNS in client.get(url).content.decode()


def jobs() -> int:
    return Job.objects.filter(kind=board_tests.KIND).count()


def test_runs_that_come_in_a_row_are_tested_together(cast: BenchmarkCast) -> None:
    setting = begin(cast)
    Job.objects.filter(kind=board_tests.KIND).delete()
    look(board_tests)
    for run in "789":
        add(cast, setting.benchmark, "Cedar", run, 0.53, 0.73)
        look(board_tests)
    assert jobs() == 1
    assert run_next("heavy")
    assert (BoardTests.objects.get().outdated, bands(setting)["Cedar"]) == (False, "3")


def test_tests_of_few_systems_come_after_five_minutes_at_most_or_as_long_as_they_took(
    cast: BenchmarkCast,
) -> None:
    begin(cast)
    assert compute() == 1
    now = timezone.now()
    for took, ago, expected in (
        *((1, 5, 1), (1, 11, 2), (60, 299, 2), (60, 301, 3), (400, 399, 3), (400, 401, 4)),  # seconds
    ):
        ended = now - timedelta(seconds=ago)
        Job.objects.update(state=Job.State.DONE, started_at=ended - timedelta(seconds=took), ended_at=ended)
        BoardTests.objects.update(outdated=True)
        board_tests._next_look = 0.0
        board_tests.queue_outdated()
        assert jobs() == expected


def test_tests_that_take_long_are_computed_for_a_tenth_of_the_time(
    cast: BenchmarkCast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(board_tests, "FEW", 0)
    setting = begin(cast)
    assert compute() == 1
    now = timezone.now()
    for minutes, expected in ((9, 1), (11, 2)):
        Job.objects.update(
            started_at=now - timedelta(minutes=minutes + 1), ended_at=now - timedelta(minutes=minutes)
        )
        BoardTests.objects.update(outdated=True)
        board_tests._next_look = 0.0
        board_tests.queue_outdated()
        assert jobs() == expected
    pause()
    assert setting.tests.outdated


def test_two_workers_that_look_at_once_queue_one_job(
    cast: BenchmarkCast, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(cast)
    Job.objects.filter(kind=board_tests.KIND).delete()
    found = board_tests._testable

    def other_worker_is_faster(keys: Collection[int]) -> list[int]:
        monkeypatch.setattr(board_tests, "_testable", found)
        look(board_tests)
        return found(keys)

    monkeypatch.setattr(board_tests, "_testable", other_worker_is_faster)
    look(board_tests)
    assert jobs() == 1


def test_what_changes_while_tests_are_computed_is_tested_again(cast: BenchmarkCast) -> None:
    begin(cast)
    compute()
    setting = Setting.objects.get()
    store = compare_board(setting.pk, lambda *_: None)
    BoardTests.objects.update(outdated=True)  # as by a figure from a paper, or other measures
    store()
    assert BoardTests.objects.get().outdated


def test_a_change_that_is_committed_after_a_whole_job_is_tested_again(
    cast: BenchmarkCast, django_capture_on_commit_callbacks: Callable[..., AbstractContextManager[object]]
) -> None:
    begin(cast)
    compute()
    with django_capture_on_commit_callbacks(execute=True):
        submission_states.mark_boards(Submission.objects.all()[0])
        BoardTests.objects.update(outdated=False)  # by a job that did not see the change yet
    assert BoardTests.objects.get().outdated


def test_tests_that_failed_stay_outdated(cast: BenchmarkCast, monkeypatch: pytest.MonkeyPatch) -> None:
    setting = begin(cast)
    look(board_tests)
    monkeypatch.setattr(compare_handlers, "_Comparison", fault)
    assert run_next("heavy")
    job = Job.objects.get(kind=board_tests.KIND)
    request_cancel(job)
    assert BoardTests.objects.get(setting=setting).outdated


def fault(*_: object, **__: object) -> None:
    raise OSError("out of reach")


def test_a_stored_board_is_tested_once_its_figures_are_the_present_ones(
    cast: BenchmarkCast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_boards, "LARGE", 2)
    monkeypatch.setattr(stored_boards, "SHARE_OF_TIME", 0)
    setting = begin(cast)
    look(stored_boards)
    assert run_next("ingest")
    assert compute() == 1
    add(cast, setting.benchmark, "Cedar", "9", 0.53, 0.73)
    assert compute() == 0
    assert bands(setting)["Cedar"] == "3"  # of the board as it is shown
    look(stored_boards)
    assert run_next("ingest")
    assert compute() == 1
    assert not setting.tests.outdated


def test_one_board_that_waits_keeps_no_other_back(
    cast: BenchmarkCast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(board_tests, "QUEUED_AT_ONCE", 1)
    first = begin(cast)
    look(board_tests)
    second = Setting.objects.get(pk=first.pk)
    second.pk, second.key = None, "second"
    second.save(force_insert=True)
    BoardTests.objects.create(setting=second, outdated=True)
    look(board_tests)
    assert set(Job.objects.filter(kind=board_tests.KIND).values_list("subject", flat=True)) == {
        first.pk,
        second.pk,
    }


@pytest.mark.parametrize(
    ("ends", "words"),
    [
        ((0.045, 0.0451), "is 4.5 micro F1"),
        ((0.02, 0.045), "is 2.0 to 4.5 micro F1"),
        ((0.02, 1.5), "is 2.0 to more than any micro F1"),
    ],
)
def test_the_smallest_difference_is_one_figure_where_its_ends_are_shown_alike(
    ends: tuple[float, float], words: str
) -> None:
    assert _detectable(ends, MENU["micro_f1"], of_best=False).endswith(words)


@pytest.mark.parametrize(
    ("detectable", "words"), [(0.02, "differences under 2.0"), (1.2, "any difference"), (None, "")]
)
def test_no_sentence_names_a_difference_that_no_two_systems_have(
    detectable: float | None, words: str
) -> None:
    tested = Outcome("Welch", 0.0, -0.1, 0.1, ".8", detectable, None)
    remark = _unseen(tested, MENU["micro_f1"])
    assert remark == (f"; before Holm, {words} would mostly go unseen" if words else "")
