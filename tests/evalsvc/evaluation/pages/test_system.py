"""The page of a system, its downloads, and what a hidden gold leaves of it."""

from __future__ import annotations

import json
from csv import DictReader
from statistics import fmean, stdev
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from evalsvc.evaluation import submission_states
from evalsvc.evaluation.models import Benchmark, Evaluation, Setting, Submission, System
from evalsvc.evaluation.pages import system_figures
from evalsvc.evaluation.pages.board_columns import ONLY_RANKED
from tests.cast.benchmarks import RELATION_GOLD, BenchmarkCast, freeze
from workers.runner import run_next

EMPTY_DOCUMENTS = [{"id": name, "spans": []} for name in ("d2", "d3")]


def address(benchmark: Benchmark, name: str, view: str = "system", **query: str) -> str:
    args: list[object] = ["rel", System.objects.get(benchmark=benchmark, name=name).pk]
    args += [query.pop("format")] if "format" in query else []
    return reverse(view, args=args, query=query)


def test_every_reader_sees_scores_runs_classes_and_what_to_compare_with(
    client: Client, cast: BenchmarkCast, benchmark: Benchmark
) -> None:
    tags = {"trained_on": "train 1.1", "external_data": True}
    Submission.objects.filter(system__name="Net").update(tags=tags)
    page = client.get(address(benchmark, "Net")).content.decode()
    assert "Micro F1 75.0 ± 25.0, the mean of 3 runs: no rank by tests on" in page
    assert "every label has equal weight" in page
    assert "Trained on" in page
    assert "train 1.1" in page
    assert "Relation by relation" in page
    assert '<span class="chip">median</span>' in page
    assert 'value="kelpie/Tree"' in page
    assert reverse("board-compare", args=["rel"]) in page
    Setting.objects.update(row_rule="entry")  # of the team its latest run
    entry = client.get(address(benchmark, benchmark.submissions.latest("pk").system.name)).content.decode()
    assert "one run: no rank by tests on" in entry
    assert "of one run: the final entry of the team" in entry
    of_team = client.get(reverse("board-view-file", args=["rel", "md"])).content.decode()
    assert "ordered by micro F1, highest first, the others by name." in of_team
    Setting.objects.update(row_rule="latest")
    latest = client.get(address(benchmark, "Net")).content.decode()
    assert "the latest run with figures, of 3 with different answers" in latest
    Setting.objects.update(row_rule="mean")
    run = f'href="/submissions/{benchmark.submissions.earliest("pk").pk}/?'
    assert run not in page  # the runs of a team are its own
    client.force_login(cast.kim)
    assert run in client.get(address(benchmark, "Net")).content.decode()


def test_what_one_answer_moves_is_the_most_of_the_runs_of_a_system(
    client: Client, cast: BenchmarkCast, benchmark: Benchmark
) -> None:
    """It was that of the median run, which nothing stated."""
    scored = Evaluation.objects.filter(submissions__system__name="Net").order_by("pk")
    for evaluation, flip in zip(scored, (0.4, 0.1, 0.2), strict=True):
        evaluation.detail["counts"]["macro_flip"] = flip
        evaluation.save()
    page = client.get(address(benchmark, "Net")).context
    assert any("moves macro F1 of a run by up to 40.0 points" in remark for remark in page["remarks"])


@pytest.mark.parametrize("table", ["scores", "runs", "classes-classes", "confusion"])
def test_each_file_of_a_system_names_its_team(
    client: Client, cast: BenchmarkCast, benchmark: Benchmark, table: str
) -> None:
    """Tables of two systems of one name had the same caption."""
    System.objects.filter(name="Tree").update(name="Net", team=cast.lugworm)
    captions = set()
    for team in (cast.kelpie, cast.lugworm):
        args = ["rel", System.objects.get(name="Net", team=team).pk]
        file = client.get(reverse("system-file", args=[*args, "json"], query={"table": table}))
        caption = file.json()["caption"]
        assert caption.startswith(f"“Net” (team {team.slug}) on ")
        captions.add(caption)
    assert len(captions) == 2


def test_tables_of_a_system_leave_as_files(client: Client, cast: BenchmarkCast, benchmark: Benchmark) -> None:
    def download(format: str, **query: str) -> str:
        url = address(benchmark, "Net", "system-file", format=format, **query)
        return client.get(url).content.decode()

    rows = {row["measure"]: row for row in json.loads(download("json"))["rows"]}
    assert (rows["micro_f1"]["n"], rows["micro_f1"]["place"]) == (3, 1)
    assert abs(rows["micro_f1"]["mean"] - 0.75) < 1e-12
    assert download("csv", table="runs").count("\n") == 4
    assert r"\toprule" in download("tex")
    assert "born_in,0.8,2,2,3,0.6666666666666666,1.0" in download("csv", table="classes-classes")
    for unknown in ({"format": "xls"}, {"format": "csv", "table": "claims"}):
        url = address(benchmark, "Net", "system-file", **unknown)
        assert client.get(url).status_code == 404


def test_words_by_type_are_for_every_reader(client: Client, cast: BenchmarkCast) -> None:
    benchmark = cast.entities()
    cast.submit(benchmark, [{"id": "d1", "spans": [[0, 1, "PER"], [2, 3, "LOC"]]}, *EMPTY_DOCUMENTS])
    assert run_next("score")
    args = ["ner", benchmark.systems.get().pk]
    page = client.get(reverse("system", args=args)).content.decode()
    assert "Words by type" in page
    moved = "One correct answer more or less in the rarest class, of 1 example, moves macro F1 of a run by"
    assert f"{moved} up to 33.3 points, all else equal." in page
    file = client.get(reverse("system-file", args=[*args, "json"], query={"table": "words"}))
    person, place, together = json.loads(file.content)["rows"]
    assert (person["gold"], person["r1_p"], round(person["r1_r"], 3)) == (3, 1.0, 0.333)
    assert (place["type"], place["gamma_strict"]) == ("LOC", pytest.approx(1 / 3))
    assert together["shared"] == person["shared"] + place["shared"]
    Setting.objects.update(disclosure="hidden", measures=["conll_micro_f1"])
    page = client.get(reverse("system", args=args)).content.decode()
    assert "Words by type" not in page
    assert "rarest class" not in page


def test_each_class_has_its_mean_and_deviation_over_the_runs(
    client: Client, cast: BenchmarkCast, benchmark: Benchmark
) -> None:
    [table] = client.get(address(benchmark, "Net")).context["class_tables"]
    shown = next(row for row in table.rows if row.title == "born_in")
    stored = Evaluation.objects.filter(submissions__system__name="Net").values_list("classes", flat=True)
    f1 = [row["f1"] for of_run in stored for row in of_run if row["label"] == "born_in"]
    assert (table.runs, len(f1)) == (3, 3)
    assert shown.mean == pytest.approx(fmean(f1))
    assert shown.sd == pytest.approx(stdev(f1))


def test_each_score_and_class_stands_beside_the_best_of_the_board(
    client: Client, cast: BenchmarkCast, benchmark: Benchmark
) -> None:
    page = client.get(address(benchmark, "Tree"))
    for groups in (page.context["groups"], client.get(address(benchmark, "Net")).context["groups"]):
        assert {row.measure.key: row.best for _, shown, _ in groups for row in shown}["micro_f1"] == "75.0"
    [own] = client.get(address(benchmark, "Net")).context["class_tables"]
    [table] = page.context["class_tables"]
    of_net = {row.title: row.mean for row in own.rows}
    best = {row.title: (row.best, row.by) for row in table.rows}
    assert best["born_in"] == (pytest.approx(of_net["born_in"]), "Net")
    assert {row.title: row.by for row in own.rows}["born_in"] == "this system"
    assert "best " in page.content.decode()
    behind = client.get(address(benchmark, "Tree"), {"order": "behind"}).context["class_tables"][0]
    distances = [row.behind for row in behind.rows]
    assert distances == sorted(distances, reverse=True)
    assert distances[0] > distances[-1]
    assert behind.caption.endswith("furthest behind first")


def test_beside_a_sole_final_entry_the_figures_of_other_systems_count(
    client: Client, cast: BenchmarkCast, benchmark: Benchmark
) -> None:
    """It was “the only system with micro F1” above a better one, and the best beside the figure of that."""
    Setting.objects.update(row_rule="entry")
    board = client.get(reverse("board", args=["rel"])).context
    lines = {line.row.system.name: line for line in board["table"].rows}
    [entry] = [line.row.system.name for line in lines.values() if line.row.rank]
    assert (board["sentence"], lines[entry].no_rank) == ("", ONLY_RANKED)
    figures = {name: line.row.figure("micro_f1").mean for name, line in lines.items()}
    best = max(figures, key=lambda name: figures[name])
    assert best != entry
    for name in (best, entry):
        page = client.get(address(benchmark, name)).context
        shown = {row.measure.key: row.best for _, rows, _ in page["groups"] for row in rows}
        assert shown["micro_f1"] == f"{100 * figures[best]:.1f}"
        [table] = page["class_tables"]
        assert all(row.best >= row.f1 for row in table.rows if row.f1 is not None)
        assert table.best == "all systems"


def test_the_classes_of_the_board_are_read_once_until_its_runs_change(
    client: Client, cast: BenchmarkCast, benchmark: Benchmark
) -> None:
    system_figures._best.clear()
    counts = []
    for _ in range(2):
        with CaptureQueriesContext(connection) as queries:
            [table] = client.get(address(benchmark, "Tree")).context["class_tables"]
        counts.append(len(queries))
    assert counts[1] < counts[0]
    assert {row.title: row.by for row in table.rows}["born_in"] == "Net"
    for run in benchmark.submissions.filter(system__name="Net"):
        submission_states.withdraw(run, by=cast.kim)
    [table] = client.get(address(benchmark, "Tree")).context["class_tables"]
    assert {row.title: row.by for row in table.rows}["born_in"] != "Net"


def test_of_systems_that_are_equally_good_at_a_class_the_first_of_the_board_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Their means differ in the last digit of a float."""
    f1 = {1: (0, 4 / 6, 1), 2: (1 / 6, 4 / 6, 5 / 6)}
    assert fmean(f1[1]) < fmean(f1[2])
    runs = {pk: [SimpleNamespace(evaluation=(pk, value)) for value in values] for pk, values in f1.items()}
    rows = {
        run.evaluation: [{"family": "f", "label": "born_in", "f1": run.evaluation[1]}]
        for of_system in runs.values()
        for run in of_system
    }
    monkeypatch.setattr(system_figures, "_best", {})
    monkeypatch.setattr(system_figures, "compared_runs", lambda *_: runs)
    monkeypatch.setattr(system_figures.shown_scores, "class_rows", lambda *_: rows)
    monkeypatch.setattr(system_figures.tested_systems, "identity_of_rows", lambda *_, **__: "equal")
    systems = [SimpleNamespace(runs=SimpleNamespace(system=system)) for system in (1, 2)]
    board: Any = SimpleNamespace(rows=systems, policy=SimpleNamespace(hidden=False))
    assert system_figures._best_classes(board)["f"]["born_in"] == (pytest.approx(5 / 9), 1)


def test_the_curve_on_labels_of_a_source_is_dotted_beside_that_on_labels_by_people(
    client: Client, cast: BenchmarkCast
) -> None:
    human = freeze("human", RELATION_GOLD, by=cast.olga)
    source = freeze("source", RELATION_GOLD, by=cast.olga, origin="source")
    settings = [("human", human, "bag", "ap"), ("held", source, "bag", "ap")]
    benchmark = cast.benchmark(settings=settings)
    claims = [{"h": "Q1", "t": "Q2", "relation": "born_in", "score": 0.5}]
    cast.submit(benchmark, [*claims, {"h": "Q3", "t": "Q4", "relation": "part_of", "score": 0.9}])
    while run_next("score"):
        pass
    page = client.get(address(benchmark, "Net", setting="human")).content.decode()
    assert "Solid: human; dotted: held." in page
    assert "Scored predictions: counted at τ*" in page
    assert "<title>held-out</title></path>" in page
    held_out = client.get(address(benchmark, "Net", setting="held")).content.decode()
    assert "dotted" not in held_out
    file = client.get(address(benchmark, "Net", "system-file", format="csv", table="curve", setting="human"))
    assert {row["setting"] for row in DictReader(file.content.decode().splitlines())} == {"human", "held"}


def test_gold_stands_against_prediction_in_a_matrix_and_as_a_file(
    client: Client, cast: BenchmarkCast, benchmark: Benchmark
) -> None:
    confusion = client.get(address(benchmark, "Tree")).context["confusion"]  # its median run has 1 right
    rows = {title: (n, [text for text, _ in cells]) for title, n, cells in confusion.rows}
    assert confusion.heads == ["born_in", "works_for", "part_of", "N/A"]
    assert rows == {
        "born_in": ("2", ["1", "1", "–", "–"]),
        "works_for": ("1", ["1", "–", "–", "–"]),
        "part_of": ("1", ["1", "–", "–", "–"]),
        "N/A": ("2", ["–", "–", "2", "–"]),
    }
    url = address(benchmark, "Tree", "system-file", format="csv", table="confusion")
    assert "works_for,born_in,1.0" in client.get(url).content.decode()
    Setting.objects.update(disclosure="hidden")
    assert client.get(address(benchmark, "Tree")).context["confusion"] is None
    assert client.get(url).status_code == 404


def test_a_confusion_is_a_share_of_all_gold_also_of_spans_that_only_overlap(
    client: Client, cast: BenchmarkCast
) -> None:
    spans = {"d1": [[0, 1, "PER"]], "d2": [], "d3": [[0, 1, "LOC"], [1, 3, "PER"]]}
    cast.submit(cast.entities(), [{"id": key, "spans": of} for key, of in spans.items()])
    assert run_next("score")
    page = client.get(reverse("system", args=["ner", System.objects.get().pk]))
    assert page.context["confusion"].pairs == [("PER", "LOC", "1", "33 %")]  # of Ada, Bo and Cy


def test_on_hidden_gold_a_system_has_the_figures_of_its_board_alone(
    client: Client, cast: BenchmarkCast, benchmark: Benchmark
) -> None:
    Setting.objects.update(disclosure="hidden", measures=["micro_f1"], class_rows=True)
    page = client.get(address(benchmark, "Net"))
    text = page.content.decode()
    assert "held back while the setting is open" in text
    assert page.context["runs"] is None
    assert page.context["class_tables"] == page.context["errors"] == []
    assert [row.measure.key for _, shown, rest in page.context["groups"] for row in shown + rest] == [
        "micro_f1"
    ]
    assert "Relation by relation" not in text
    for table in ("runs", "curve", "classes-classes"):
        file = client.get(address(benchmark, "Net", "system-file", format="json", table=table))
        assert file.status_code == 404 or json.loads(file.content)["rows"] == []


def test_a_sealed_or_withdrawn_system_has_no_page(
    client: Client, cast: BenchmarkCast, benchmark: Benchmark
) -> None:
    url = address(benchmark, "Rules")
    System.objects.get(name="Rules").runs.update(withdrawn_at="2026-01-01T00:00Z")
    assert client.get(url).status_code == 404
    Setting.objects.update(sealed=True)
    assert client.get(address(benchmark, "Net")).status_code == 404


def test_a_system_of_many_runs_takes_as_many_queries_as_one_of_few(
    client: Client, cast: BenchmarkCast, benchmark: Benchmark
) -> None:
    client.get(address(benchmark, "Rules"))  # fills caches
    counts = []
    for name in ("Rules", "Net"):
        with CaptureQueriesContext(connection) as queries:
            client.get(address(benchmark, name))
        counts.append(len(queries))
    assert counts[0] == counts[1]
