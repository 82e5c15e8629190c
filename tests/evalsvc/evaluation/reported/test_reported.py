"""Figures of papers on a board: entered, checked, tested among themselves, never ranked."""

from __future__ import annotations

import csv
import json
import math
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from scipy.stats import ttest_ind_from_stats

from evalsvc.core.activity.models import LogEntry
from evalsvc.core.errors.exceptions import Conflict, DomainError
from evalsvc.demo.labelling import DATA
from evalsvc.evaluation.benchmarks import creation
from evalsvc.evaluation.boards import leaderboard
from evalsvc.evaluation.models import Benchmark, BoardTests, ReportedSystem, Setting
from evalsvc.evaluation.reported import entries, shown
from tests.cast.benchmarks import RELATION_GOLD, BenchmarkCast, freeze
from tests.errors import code
from tests.evalsvc.evaluation.comparison import test_board_tests as board_runs
from tests.workers.handlers.test_score import SCORE_LINES
from workers.runner import run_next

FILE = DATA / "reported.json"
TABLES: dict[str, Any] = json.loads(FILE.read_text())
PAGE = "/boards/rel/settings/main/reported/"


@pytest.fixture
def setting(cast: BenchmarkCast) -> Setting:
    return cast.relations().settings.get()


def add(setting: Setting, cast: BenchmarkCast, *, runs: int | None = 1, **figures: str) -> ReportedSystem:
    table = f"Table {setting.reported.count()}"
    return entries.add(setting, by=cast.olga, paper="P", table=table, runs=runs, systems={"Net": figures})[0]


def enter(setting: Setting, cast: BenchmarkCast, name: str) -> shown.Reported:
    entries.add(setting, by=cast.olga, **TABLES[name])
    while run_next("ingest"):
        pass
    return shown.reported(setting, None)


@pytest.mark.parametrize(
    ("name", "measure", "d"),
    [
        (name, measure, d)
        for name, ds in (
            ("harbecke-3", ("2.8", "8.7", "14.8", "13.5", "24.2")),
            ("harbecke-4", ("-2.5", "-2.4", "-1.8", "-1.8", "11.5")),
        )
        for measure, d in zip(("micro", "weighted", "dodrans", "entropy", "macro"), ds, strict=True)
    ],
)
def test_the_effect_sizes_of_a_paper_lie_within_what_its_rounding_allows(
    setting: Setting, cast: BenchmarkCast, name: str, measure: str, d: str
) -> None:
    tests = {test.measure: test for _, _, test in enter(setting, cast, name).tests}
    test = tests[f"{measure}_f1"]
    assert test.d_least is not None
    assert test.d_most is not None
    assert test.d_least - 0.05 <= float(d) <= test.d_most + 0.05


def test_printed_means_are_tested_with_welch_and_called_only_if_rounding_leaves_no_doubt(
    setting: Setting, cast: BenchmarkCast
) -> None:
    tests = {test.measure: test for _, _, test in enter(setting, cast, "harbecke-3").tests}
    assert round(tests["micro_f1"].p or 0, 4) == 0.0025
    assert round(tests["micro_f1"].d or 0, 2) == 2.83
    assert tests["micro_f1"].called
    dodrans = {test.measure: test for _, _, test in enter(setting, cast, "harbecke-4").tests[-5:]}[
        "dodrans_f1"
    ]
    assert [round(p or 0, 4) for p in (dodrans.p, dodrans.p_least, dodrans.p_most)] == [
        0.0133,
        0.0022,
        0.0538,
    ]
    assert not dodrans.called


def test_figures_of_one_paper_meet_across_settings(client: Client, cast: BenchmarkCast) -> None:
    """Held-out and manual areas of a paper keep 83 of 105 pairs, turn 20 and have 2 equal."""
    gold = freeze("gold", RELATION_GOLD, by=cast.olga)
    benchmark = cast.benchmark(settings=[(key, gold, "bag", "opennre_auc") for key in ("main", "held")])
    cast.submit(benchmark, SCORE_LINES)
    assert run_next("score")
    for key, name in (("main", "gao-4-bag"), ("held", "gao-4-held-out")):
        entries.add(benchmark.settings.get(key=key), by=cast.olga, **TABLES[name])
    query = {"setting": "main", "columns": ["main:opennre_auc", "held:opennre_auc"]}
    orders = client.get(reverse("board-view-file", args=["rel", "json"]), query | {"table": "orders"}).json()
    [printed] = [row for row in orders["rows"] if row["order"].endswith("as printed")]
    assert [printed[key] for key in ("systems", "kept", "turned", "equal")] == [15, 83, 20, 2]
    assert printed["tau_b"] == pytest.approx(0.606, abs=5e-4)
    response = client.get(reverse("board", args=["rel"]), query)
    both = [
        TABLES[name]["systems"]["CNN+sent+AVG"]["opennre_auc"] for name in ("gao-4-bag", "gao-4-held-out")
    ]
    [line] = [line for line in response.context["table"].reported if line.row.system == "CNN+sent+AVG"]
    assert [line.first.text, line.others[0].text] == both
    assert "as printed" in response.content.decode()
    [figure] = response.context["printed_charts"]
    assert [row[0] for row in figure.table.rows][:2] == list(TABLES["gao-4-bag"]["systems"])[:2]
    drawn = client.get(figure.svg_url).content.decode()
    assert drawn.count("<title>") == 2 * 15
    csv = client.get(figure.csv_url).content.decode().splitlines()
    assert csv[0].startswith("system,paper,main,held,difference")
    assert len(csv) == 1 + 15
    unknown = client.get(figure.csv_url.replace("printed-held", "printed-none"))
    assert (unknown.status_code, "printed-held" in unknown.content.decode()) == (404, True)


@pytest.mark.parametrize(
    ("figures", "runs", "verdict"),
    [
        ({"micro_recall": "75.0"}, 1, "possible"),  # of 4 gold labels
        ({"micro_recall": "70.0"}, 1, "impossible"),
        ({"micro_precision": "60.0", "micro_recall": "75.0", "micro_f1": "66.7"}, 1, "possible"),
        ({"micro_precision": "60.0", "micro_recall": "75.0", "micro_f1": "66.8"}, 1, "impossible"),
        ({"accuracy": "83.3"}, 1, "possible"),  # of 6 sentences
        ({"accuracy": "83.2"}, 1, "impossible"),
        ({"macro_f1": "60.3"}, 1, "undecidable"),
        ({"micro_recall": "70.0"}, 5, "undecidable"),
        ({"micro_recall": "70.0"}, None, "undecidable"),
    ],
)
def test_figures_are_checked_on_the_gold_of_the_setting(
    setting: Setting, cast: BenchmarkCast, figures: dict[str, str], runs: int | None, verdict: str
) -> None:
    row = add(setting, cast, runs=runs, **figures)
    assert [check.verdict for check in shown.reported(setting, None).checks[row.pk]] == [verdict]


def test_hidden_gold_does_not_tell_its_size_by_a_check(setting: Setting, cast: BenchmarkCast) -> None:
    row = add(setting, cast, micro_recall="75.0")
    benchmark, fields = cast.benchmark("other"), {"title": "Other", "unit": "sentence", "main": "accuracy"}
    other = creation.add_setting(benchmark, key="o", test_set=setting.test_set, by=cast.olga, **fields)
    later = timezone.now() + timedelta(days=1)
    for hiding, values in (
        (setting, {"disclosure": "hidden"}),
        (setting, {"sealed": True}),
        (setting, {"opens_at": later}),
        (other, {"disclosure": "hidden"}),
    ):
        Setting.objects.update(disclosure="open", sealed=False, opens_at=None)
        Setting.objects.filter(pk=hiding.pk).update(**values)
        setting.refresh_from_db()
        assert shown.reported(setting, cast.kim).checks == {}
        assert shown.reported(setting, None).checks == {}
    assert shown.reported(setting, cast.olga).checks[row.pk]


def test_a_closed_phase_makes_no_checks_while_another_hides_the_gold_of_any_of_its_versions(
    setting: Setting, cast: BenchmarkCast
) -> None:
    add(setting, cast, micro_recall="75.0")
    benchmark, fields = cast.benchmark("other"), {"title": "Other", "unit": "sentence", "main": "accuracy"}
    fields |= {"disclosure": "hidden", "test_set": setting.test_set}
    other = creation.add_setting(benchmark, key="o", by=cast.olga, **fields)
    creation.revise_setting(
        setting, test_set=freeze("revised", RELATION_GOLD[:5], by=cast.olga), by=cast.olga
    )
    Setting.objects.filter(pk=setting.pk).update(disclosure="hidden", closes_at=timezone.now())
    setting.refresh_from_db()
    assert shown.reported(setting, None).checks == {}
    Setting.objects.filter(pk=other.pk).update(disclosure="open")
    assert shown.reported(setting, None).checks


@pytest.mark.parametrize(
    ("figures", "error"),
    [
        ({"micro_f1": "71,5"}, "bad_figure"),
        ({"micro_f1": "171.5"}, "bad_figure"),
        ({"micro_f1": "–"}, "bad_figure"),
        ({"conll_micro_f1": "71.5"}, "unknown_measure"),
    ],
)
def test_a_figure_that_no_paper_prints_so_is_rejected(
    setting: Setting, cast: BenchmarkCast, figures: dict[str, str], error: str
) -> None:
    with pytest.raises(DomainError, check=code(error)):
        add(setting, cast, **figures)
    assert not setting.reported.exists()


def test_the_same_table_is_not_entered_twice(setting: Setting, cast: BenchmarkCast) -> None:
    enter(setting, cast, "harbecke-3")
    with pytest.raises(Conflict, check=code("reported_already")):
        enter(setting, cast, "harbecke-3")


def test_two_systems_of_a_table_have_different_names(setting: Setting, cast: BenchmarkCast) -> None:
    systems = {"CNN": {"micro_f1": "66.7"}, "CNN ": {"micro_f1": "50.0"}}
    with pytest.raises(DomainError, check=code("bad_figure")):
        entries.add(setting, by=cast.olga, paper="Gao", table="5", systems=systems)
    assert not setting.reported.exists()


def test_a_board_shows_reported_systems_as_hollow_marks_and_never_ranks_them(
    client: Client, cast: BenchmarkCast, benchmark: Benchmark
) -> None:
    setting = benchmark.settings.get()
    before = [(row.system.name, row.rank) for row in leaderboard.board(setting).rows]
    enter(setting, cast, "harbecke-3")
    page = client.get("/boards/rel/").content.decode()
    assert "Reported: 72.5 ± 0.3" in page
    assert "Reported figures are not ranked." in page
    assert "2.83, huge" in page
    assert [(row.system.name, row.rank) for row in leaderboard.board(setting).rows] == before


@pytest.mark.parametrize(("recall", "shown"), [("75.0", False), ("70.0", True)])
def test_a_row_of_the_board_says_that_its_figures_are_impossible(
    client: Client, cast: BenchmarkCast, benchmark: Benchmark, recall: str, shown: bool
) -> None:
    add(benchmark.settings.get(), cast, micro_recall=recall)
    page = client.get("/boards/rel/").content.decode()
    assert ("impossible on this gold</span>" in page) == shown


def test_a_board_without_runs_shows_reported_systems(
    client: Client, cast: BenchmarkCast, setting: Setting
) -> None:
    enter(setting, cast, "harbecke-3")
    assert "60.3 ± 0.8" in client.get("/boards/rel/").content.decode()


def test_an_organiser_pastes_a_table_and_removes_a_system_of_it(
    client: Client, cast: BenchmarkCast, setting: Setting
) -> None:
    client.force_login(cast.olga)
    form = {"paper": "Gao", "table": "5", "runs": "1", "systems": "Model\tmicro F1\taccuracy\nCNN\t66.7\t–\n"}
    assert client.post(PAGE, form).status_code == 302
    row = setting.reported.get()
    assert (row.system, row.figures) == ("CNN", {"micro_f1": ["66.7", ""]})
    assert "CNN" in client.get(PAGE).content.decode()
    assert client.post(PAGE, {"remove": row.pk}).status_code == 302
    assert not setting.reported.exists()
    logged = LogEntry.objects.filter(action="reported figures").order_by("pk").values_list("before", "after")
    assert list(logged) == [(None, {"micro_f1": "66.7"}), ({"micro_f1": "66.7"}, None)]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("Model micro_f1", "This is not a table."),
        ("Model\tmicro_f1\nCNN\t1.0\t2.0", "Line 2 has 3 cells, not 2."),
        ("Model\tmicro_f1\nCNN\t1.0\nCNN\t2.0", "Line 3 repeats a system."),
        ("Model\tmirco_f1\nCNN\t1.0", "mirco_f1 is not a measure"),
        ("Model\tmicro_f1\tMicro F1\nCNN\t1.0\t2.0", "Line 1 repeats micro_f1."),
    ],
)
def test_a_page_says_what_is_wrong_in_a_pasted_table(
    client: Client, cast: BenchmarkCast, setting: Setting, table: str, message: str
) -> None:
    client.force_login(cast.olga)
    answer = client.post(PAGE, {"paper": "Gao", "table": "5", "systems": table})
    assert answer.status_code == 400
    assert message in answer.content.decode()


def test_the_command_enters_a_table_of_the_shipped_file(setting: Setting, cast: BenchmarkCast) -> None:
    out = StringIO()
    words = ("report_figures", "rel", "main", str(FILE), "--by", "olga")
    with pytest.raises(CommandError, match="Name a table"):
        call_command(*words)
    call_command(*words, "--table", "harbecke-4", stdout=out)
    assert "2 reported systems added" in out.getvalue()
    assert setting.reported.get(system="PTR").tests


def test_the_command_rejects_a_file_of_another_shape(
    setting: Setting, cast: BenchmarkCast, tmp_path: Path
) -> None:
    file = tmp_path / "table.json"
    file.write_text('{"paper": "A", "tabel": "1", "systems": {}}')
    with pytest.raises(CommandError, match="paper, table and systems"):
        call_command("report_figures", "rel", "main", str(file), "--by", "olga")


def test_the_api_returns_what_it_was_given_with_checks_and_tests(
    client: Client, cast: BenchmarkCast, setting: Setting
) -> None:
    client.force_login(cast.olga)
    url = "/api/v1/benchmarks/rel/settings/main/reported"
    added = client.post(url, TABLES["harbecke-3"], content_type="application/json")
    assert added.status_code == 201
    run_next("ingest")
    body = client.get(url).json()
    assert body["systems"][1]["figures"]["micro_f1"] == {"value": "72.5", "sd": "0.3"}
    assert body["systems"][1]["checks"][0]["verdict"] == "undecidable"
    assert round(next(test["d"] for test in body["tests"] if test["measure"] == "micro_f1"), 2) == 2.83
    assert client.post(f"{url}/{body['systems'][0]['id']}/remove").status_code == 204
    assert [each["system"] for each in client.get(url).json()["systems"]] == ["PTR"]
    assert client.get(url).json()["tests"] == []


def test_figures_of_bags_entities_and_joint_relations_are_checked_on_their_own_gold(
    cast: BenchmarkCast,
) -> None:
    def verdicts(benchmark: Benchmark, **figures: str) -> list[str]:
        setting = benchmark.settings.get()
        row = add(setting, cast, **figures)
        return [check.verdict for check in shown.reported(setting, None).checks[row.pk]]

    bags = cast.relations("bag", "ap")  # four facts
    assert verdicts(bags, recall_at_tau="75.0", ap="50.0") == ["possible", "undecidable"]
    assert verdicts(bags, opennre_max_f1="28.6", opennre_recall_at_tau="33.3") == ["impossible"]
    spans = cast.entities()  # four entities
    assert verdicts(spans, conll_micro_recall="50.0", muc_strict_recall="33.3") == ["possible", "impossible"]
    joint = cast.joint()  # two relations
    assert verdicts(joint, relation_strict_micro_recall="50.0") == ["possible"]
    assert verdicts(joint, relation_bounds_micro_recall="25.0") == ["impossible"]


def test_f_of_another_beta_is_not_checked(cast: BenchmarkCast) -> None:
    setting = cast.relations(options={"beta": 2}).settings.get()
    row = add(setting, cast, micro_f1="66.7")
    assert [check.verdict for check in shown.reported(setting, None).checks[row.pk]] == ["undecidable"]


@pytest.mark.parametrize(
    ("figures", "verdict"),
    [
        ({"micro_recall": "75.0"}, "possible"),  # of 4 labels in sets
        ({"micro_recall": "83.3"}, "possible"),  # of 6 labels, N/A too
        ({"micro_recall": "70.0"}, "impossible"),
        ({"recall_at_tau": "75.0"}, "possible"),
        ({"recall_at_tau": "83.3"}, "impossible"),
    ],
)
def test_figures_that_may_average_the_negative_class_are_checked_for_each_form(
    cast: BenchmarkCast, figures: dict[str, str], verdict: str
) -> None:
    setting = cast.relations(options={"include_negative": True}).settings.get()
    row = add(setting, cast, **figures)
    assert [check.verdict for check in shown.reported(setting, None).checks[row.pk]] == [verdict]


# ---- systems scored here against printed figures -----------------------------------------------
def scored_here(cast: BenchmarkCast) -> Setting:
    """A system whose five runs have mean 72.5 and deviation 0.3, and one with a single run."""
    benchmark = cast.relations()
    for run, away in enumerate((-1, 0, 0, 0, 1)):
        micro = 0.725 + away * 0.003 * math.sqrt(2)
        board_runs.add(cast, benchmark, "Net", str(run), micro, 0.603)
    board_runs.add(cast, benchmark, "Solo", "1", 0.8, 0.8)
    return benchmark.settings.select_related("benchmark", "test_set", "only").get()


def measured(setting: Setting, person: Any = None) -> dict[tuple[str, str, str], entries.ReportedTest]:
    tests = shown.reported(setting, person).measured
    return {(system.name, row.system, test.measure): test for system, row, test in tests}


def test_a_system_scored_here_is_tested_against_printed_moments_by_its_runs(
    cast: BenchmarkCast, client: Client
) -> None:
    setting = scored_here(cast)
    enter(setting, cast, "harbecke-3")
    assert measured(setting) == {}  # until a job has tested them
    assert board_runs.compute() == 1
    tests = measured(setting)
    assert {name for name, _, _ in tests} == {"Net"}
    micro = tests["Net", "RECENT", "micro_f1"]
    assert round(micro.difference or 0, 6) == 1.0
    assert (round(micro.p or 0, 4), round(micro.d or 0, 2), micro.word) == (0.0025, 2.83, "huge")
    # only the figures of the paper are rounded: 71.5 ± .05 and .4 ± .05
    corners = [
        ttest_ind_from_stats(72.5, 0.3, 5, mean, sd, 5, equal_var=False).pvalue
        for mean in (71.45, 71.55)
        for sd in (0.35, 0.45)
    ]
    assert [micro.p_least, micro.p_most] == pytest.approx([min(corners), max(corners)])
    assert micro.called
    same = tests["Net", "PTR", "micro_f1"]
    assert (round(same.difference or 0, 6), same.p_most, same.called) == (0.0, 1.0, False)
    page = client.get("/boards/rel/").content.decode()
    assert "Differences between systems scored here and printed means" in page
    client.force_login(cast.kim)
    body = client.get("/api/v1/benchmarks/rel/settings/main/reported").json()
    first = next(test for test in body["measured_tests"] if test["measure"] == "micro_f1")
    file = client.get(reverse("board-view-file", args=["rel", "json"]), {"table": "reported"}).json()
    assert len(file["rows"]) == len(body["measured_tests"])
    assert {row["verdict"] for row in file["rows"] if row["measure"] == "micro_f1"} >= {"differ"}
    assert file["rows"][0]["paper"] == "Harbecke et al. 2022, Table 3"
    assert (first["system"], first["team"], first["b"]) == ("Net", "Kelpie", setting.reported.all()[0].pk)
    assert round(first["d"], 2) == 2.83


def test_what_cannot_be_tested_is_named_with_its_reason(cast: BenchmarkCast, client: Client) -> None:
    setting = scored_here(cast)
    rows = [
        add(setting, cast, runs=1, micro_f1="70.0"),
        add(setting, cast, runs=None, micro_f1="70.0 ± 0.2"),
        add(setting, cast, runs=5, micro_f1="70.0"),
    ]
    board_runs.compute()
    assert measured(setting) == {}
    client.force_login(cast.kim)
    body = client.get("/api/v1/benchmarks/rel/settings/main/reported").json()
    reasons = ("reports a single run", "does not state the number of runs", "prints no deviation")
    assert body["untested"] == [
        {"id": row.pk, "measures": ["micro_f1"], "reason": f"the paper {reason}"}
        for row, reason in zip(rows, reasons, strict=True)
    ]
    assert body["measured_tests"] == []
    assert "as the paper prints no deviation" in client.get("/boards/rel/").content.decode()


def test_hidden_gold_lets_out_no_test_against_figures_that_somebody_entered(cast: BenchmarkCast) -> None:
    setting = scored_here(cast)
    enter(setting, cast, "harbecke-3")
    board_runs.compute()
    assert measured(setting, cast.kim)
    Setting.objects.update(disclosure="hidden")
    setting.refresh_from_db()
    assert measured(setting, cast.kim) == measured(setting, cast.olga) == {}
    BoardTests.objects.update(outdated=True)
    board_runs.compute()
    assert BoardTests.objects.get().reported == {}


def test_tests_of_runs_that_have_changed_are_not_shown(cast: BenchmarkCast) -> None:
    setting = scored_here(cast)
    enter(setting, cast, "harbecke-3")
    board_runs.compute()
    board_runs.add(cast, setting.benchmark, "Net", "6", 0.9, 0.9)
    assert measured(setting) == {}
    board_runs.compute()
    assert round(measured(setting)["Net", "PTR", "micro_f1"].difference or 0, 2) == round(17.5 / 6, 2)


# ---- exports ---------------------------------------------------------------------------------------
def exported(client: Client, format: str, benchmark: str = "rel") -> str:
    address = reverse("board-view-file", args=[benchmark, format])
    return client.get(address, {"columns": ["main:macro_f1", "main:accuracy"]}).content.decode()


def test_programs_get_reported_rows_marked_and_in_the_unit_of_the_others(
    client: Client, cast: BenchmarkCast, benchmark: Benchmark
) -> None:
    enter(benchmark.settings.get(), cast, "harbecke-3")
    *scored, recent, ptr = json.loads(exported(client, "json"))["rows"]
    assert {row["reported"] for row in scored} == {""}
    assert all(row["place"] for row in scored)
    assert (ptr["system"], ptr["place"], ptr["reported"]) == ("PTR", None, "Harbecke et al. 2022, Table 3")
    figures = [ptr[f"main:micro_f1{part}"] for part in ("", ":sd", ":n", ":reason")]
    assert figures == [0.725, 0.003, 5, ""]
    assert (ptr["main:accuracy"], ptr["main:accuracy:reason"]) == (None, "the paper does not print it")
    lines = list(csv.DictReader(StringIO(exported(client, "csv"))))
    assert (lines[-2]["system"], lines[-2]["main:micro_f1"]) == ("RECENT", "0.715")
    assert recent["main:macro_f1"] == 0.431


@pytest.mark.parametrize(
    ("format", "line"),
    [
        (
            "tex",
            (
                r"-- & PTR (reported, Harbecke et al. 2022, Table 3) & 5 & 72.5 $\pm$ 0.3 "
                r"& 60.3 $\pm$ 0.8 & -- \\"
            ),
        ),
        ("md", "| – | PTR (reported, Harbecke et al. 2022, Table 3) | 5 | 72.5 ± 0.3 | 60.3 ± 0.8 | – |"),
    ],
)
def test_papers_get_reported_rows_as_printed_below_the_others(
    client: Client, cast: BenchmarkCast, benchmark: Benchmark, format: str, line: str
) -> None:
    assert "reported" not in exported(client, format)
    enter(benchmark.settings.get(), cast, "harbecke-3")
    text = exported(client, format)
    assert line in text.splitlines()
    assert "they are not ranked" in text


def test_exports_mark_printed_figures_that_are_impossible_and_say_why(
    client: Client, cast: BenchmarkCast, benchmark: Benchmark
) -> None:
    setting = benchmark.settings.get()
    add(setting, cast, accuracy="83.2", macro_f1="60.3")
    reason = "no number of right answers gives accuracy as printed, with 6 items"
    row = json.loads(exported(client, "json"))["rows"][-1]
    assert row["main:accuracy:reason"] == f"impossible on this gold: {reason}"
    assert row["main:macro_f1:reason"] == ""
    latex, markdown = exported(client, "tex"), exported(client, "md")
    assert r"& 60.3 & 83.2 {*} \\" in latex
    assert r"| 60.3 | 83.2 \* |" in markdown
    assert f"Net (P, Table 0): impossible on this gold, {reason}." in latex
    Setting.objects.update(disclosure="hidden")
    assert "impossible" not in exported(client, "md")
