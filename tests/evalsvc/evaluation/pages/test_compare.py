"""The page of a comparison, its button, its downloads and its sentences."""

from __future__ import annotations

import json
import re
from itertools import product
from math import log
from types import SimpleNamespace
from typing import cast as cast_to

import pytest
from django.test import Client
from django.urls import reverse

from evalsvc.evaluation.boards.leaderboard import board
from evalsvc.evaluation.comparison import compared
from evalsvc.evaluation.comparison.compared import Comparison
from evalsvc.evaluation.disclosure.policy import Policy
from evalsvc.evaluation.models import Benchmark, Setting
from evalsvc.evaluation.pages.compare_figures import (
    SCHEMES,
    ClassFigures,
    ClassWeights,
    curves_table,
    draw_curves,
    draw_weights,
    finding_of_classes,
    finding_of_curves,
    weights,
)
from evalsvc.evaluation.pages.comparison_charts import DOTTED, Series
from tests.cast.benchmarks import BenchmarkCast, freeze, gold_sentence
from workers.runner import run_next


def address(cast: BenchmarkCast, *names: str, view: str = "board-compare", **query: str) -> str:
    args = ["rel", query.pop("format")] if "format" in query else ["rel"]
    systems = {"systems": [f"{cast.kelpie.slug}/{name}" for name in names]}
    return reverse(view, args=args, query=systems | query)


def compute(client: Client, cast: BenchmarkCast, *names: str) -> str:
    """Press the button, run the job, and return the page."""
    client.force_login(cast.kim)
    assert client.post(address(cast, *names), {"action": "compute"}).status_code == 302
    while run_next("heavy"):
        pass
    return client.get(address(cast, *names)).content.decode()


def test_a_reader_sees_figures_before_and_a_test_after_the_job(
    client: Client,
    cast: BenchmarkCast,
    benchmark: Benchmark,
) -> None:
    before = client.get(address(cast, "Net", "Tree")).content.decode()
    assert "Log in to compute the tests" in before
    assert "A paragraph for a paper will be written from the tests." in before
    assert client.post(address(cast, "Net", "Tree"), {"action": "compute"}).status_code == 302
    page = compute(client, cast, "Net", "Tree", "Rules")
    assert (
        "No difference between “Net” and “Tree” could be shown: +53.9, 95 % interval −7.7 to +115.5;" in page
    )
    assert "; before Holm, differences under 68.5 would mostly go unseen." in page
    assert "Compute the tests" not in page
    assert "<span>← Rules</span><span>Net →</span>" in page
    turned = client.get(address(cast, "Net", "Tree", "Rules", a="kelpie/Tree", b="kelpie/Net"))
    assert "Tree − Net" in turned.content.decode()


def test_a_comparison_that_no_test_is_let_out_of_offers_none_and_says_why(
    client: Client, cast: BenchmarkCast, benchmark: Benchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Policy, "step", lambda self, key, claims=None: 0.02)
    Setting.objects.update(disclosure="hidden", ladder=0.02, measures=["micro_f1"])
    benchmark.systems.filter(name="Net").update(team=cast.lugworm)
    client.force_login(cast.kim)
    systems = {"systems": [f"{cast.lugworm.slug}/Net", f"{cast.kelpie.slug}/Tree"]}
    page = client.get(reverse("board-compare", args=["rel"], query=systems)).content.decode()
    assert "Compute the tests" not in page
    assert "not computed yet" not in page
    assert "nothing is claimed: the board shows figures of the Ladder, which are not tested." in page
    assert "Written from the figures below. No pair of these systems is tested." in page


def test_each_dash_of_a_difference_has_its_reason(
    client: Client, cast: BenchmarkCast, benchmark: Benchmark
) -> None:
    scores = [{"id": "s1", "scores": {"born_in": 0.9}}]
    cast.submit(benchmark, scores, system="Soft")
    assert run_next("score")
    page = compute(client, cast, "Rules", "Net")
    assert "Cohen’s d needs several runs of both systems</span>" in page
    assert "One correct answer more or less in the rarest class moves macro F1 of a run by up to " in page
    ranked = reverse("board-compare", args=["rel"], query={"systems": ["kelpie/Soft", "kelpie/Rules"]})
    benchmark.settings.update(main="ap")
    none = "“Rules” shows no average precision: not computed for this form of predictions."
    assert none in client.get(ranked).context["paragraph"]
    three = {"systems": ["kelpie/Soft", "kelpie/Rules", "kelpie/Net"]}
    paragraph = client.get(reverse("board-compare", args=["rel"], query=three)).context["paragraph"]
    assert re.search("“(Net” and “Rules|Rules” and “Net)” show no average precision: not computed", paragraph)
    assert paragraph.count("no average") == 1


def test_a_comparison_names_systems_that_are_not_the_final_entry_of_their_team(
    client: Client, cast: BenchmarkCast, benchmark: Benchmark
) -> None:
    Setting.objects.update(row_rule="entry")
    entered = {"Net", "Tree"} & {row.system.name for row in board(benchmark.settings.get()).rows if row.rank}
    others = [f"“{name}”" for name in ("Net", "Tree") if name not in entered]
    page = compute(client, cast, "Net", "Tree")
    assert others
    assert f"Not the final entry of a team: {' and '.join(others)}." in page


@pytest.mark.parametrize("disclosure", ["open", "hidden"])
def test_effect_sizes_have_columns_only_where_the_gold_is_open(
    client: Client,
    cast: BenchmarkCast,
    benchmark: Benchmark,
    monkeypatch: pytest.MonkeyPatch,
    disclosure: str,
) -> None:
    monkeypatch.setattr(Policy, "step", lambda self, key, claims=None: 0.02)
    Setting.objects.update(disclosure=disclosure, measures=["micro_f1"])
    page = compute(client, cast, "Net", "Tree")
    assert "% interval</th>" in page
    assert ('<th scope="col">Effect</th>' in page) == (disclosure == "open")


def test_a_waiting_comparison_updates_itself_and_can_be_cancelled(
    client: Client,
    cast: BenchmarkCast,
    benchmark: Benchmark,
) -> None:
    client.force_login(cast.kim)
    url = address(cast, "Net", "Tree")
    client.post(url, {"action": "compute"})
    waiting = client.get(url, headers={"HX-Request": "true"})
    assert "HX-Refresh" not in waiting.headers
    assert 'hx-select="#tests"' in waiting.content.decode()
    client.force_login(cast.lars)
    assert client.post(url, {"action": "cancel"}).status_code == 403
    client.force_login(cast.kim)
    client.post(url, {"action": "cancel"})
    ended = client.get(url, headers={"HX-Request": "true"})
    assert ended.headers["HX-Refresh"] == "true"
    assert "The tests were not computed: cancelled." in ended.content.decode()


def test_tables_leave_as_files_with_bold_where_a_test_says_so(
    client: Client,
    cast: BenchmarkCast,
    benchmark: Benchmark,
) -> None:
    compute(client, cast, "Net", "Tree")

    def download(format: str, **query: str) -> str:
        url = address(cast, "Net", "Tree", view="board-compare-file", format=format, **query)
        return client.get(url).content.decode()

    assert r"\textbf{83.3 $\pm$ 16.7}" in download("tex")
    systems = json.loads(download("json"))
    [net, _] = systems["rows"]
    assert (net["system"], net["n"], net["accuracy:n"], net["accuracy:reason"]) == ("Net", 3, 3, "")
    assert net["accuracy:sd"] == pytest.approx(1 / 6)
    assert systems["titles"]["accuracy:sd"] == "accuracy, standard deviation"
    papers = download("tex", table="tests").splitlines()
    assert r"Measure & A & B & A $-$ B & 95 \% from & to & p & p (Holm) & d \\" in papers
    assert len(papers) < len(download("md", table="tests").splitlines()) + 20
    tests = json.loads(download("json", table="tests"))["rows"]
    assert {row["a"] for row in tests} == {"Net"}
    assert "accuracy,Net,Tree," in download("csv", table="tests")
    bib = download("bib")
    assert (bib.count("@misc{rel-"), "@inproceedings{harbecke2022," in bib, "{welch1947," in bib) == (
        2,
        True,
        True,
    )
    assert "{noreen1989," not in bib  # no test over items
    digest = benchmark.settings.get().test_set.sha256
    assert f"sha256 {digest[:12]}…}}" in bib
    assert f"  gold_sha256 = {{{digest}}}" in bib
    assert download("svg", table="classes").startswith("<svg")
    assert "Works for" in download("csv", table="classes") or "works_for" in download("csv", table="classes")
    assert download("csv", table="matrix").splitlines()[0] == "system,Net,Tree,caption"
    for table, format in product(("systems", "tests", "matrix", "weights"), ("csv", "json", "md")):
        assert "Negative class" in download(format, table=table)
    weights = json.loads(download("json", table="weights"))["rows"]
    assert sum(row["macro"] for row in weights) == pytest.approx(1)
    assert all(row["weighted"] == row["gold"] / sum(each["gold"] for each in weights) for row in weights)
    url = address(cast, "Net", "Tree", view="board-compare-file", format="xls")
    assert client.get(url).status_code == 404
    assert "standard deviation over n runs with different answers." in download("md")
    Setting.objects.update(row_rule="latest")
    one = "figures of one run of each system: the latest run with figures; n runs with different answers"
    assert one in download("md")
    page = client.get(address(cast, "Net", "Tree")).content.decode()
    assert one in page
    assert "“Net”: run 3 shown; 3 runs. “Tree”: run" in page
    assert "F1 per class, of the run shown." in page


@pytest.mark.parametrize(
    ("names", "reason"),
    [(["Net"], "1 system chosen, expected 2 to 10."), (["Net", "Nobody"], "has no scored run under")],
)
def test_a_refusal_says_why(
    client: Client,
    cast: BenchmarkCast,
    benchmark: Benchmark,
    names: list[str],
    reason: str,
) -> None:
    response = client.get(address(cast, *names))
    assert response.status_code == 409
    assert reason in response.content.decode()


def test_sealed_scores_are_not_compared(
    client: Client,
    cast: BenchmarkCast,
    benchmark: Benchmark,
) -> None:
    Setting.objects.update(sealed=True, closes_at="2999-01-01T00:00Z")
    assert client.get(address(cast, "Net", "Tree")).status_code == 409


def test_held_out_curves_are_dotted_beside_those_on_labels_by_people(cast: BenchmarkCast) -> None:
    points = [(0.0, 1.0), (0.5, 0.8), (1.0, 0.4)]
    series = [Series("Net", points, (0.5, 0.8), points[:2], (0.5, 0.7)), Series("Tree", points, None)]
    drawn = draw_curves(series)
    assert drawn.count(f'stroke-dasharray="{DOTTED}"') == 2  # the curve, and its line in the legend
    assert "Net, held-out: best F1 at recall 0.50, precision 0.70" in drawn
    assert [head.title for head in curves_table(series, Setting()).heads] == [
        "Recall",
        "Net",
        "Net, held-out",
        "Tree",
    ]
    assert "held-out" not in draw_curves([Series("Net", points, None), Series("Tree", points, None)])


@pytest.mark.parametrize(
    ("counts", "source", "rows"),
    [
        ({"born_in": 9000}, "training", [["born_in", "9000"], ["part_of", ""], ["works_for", ""]]),
        ({}, "gold", [["born_in", "2"], ["part_of", "1"], ["works_for", "1"]]),
    ],
)
def test_classes_are_counted_in_the_training_data_or_in_the_gold_never_in_both(
    client: Client,
    cast: BenchmarkCast,
    benchmark: Benchmark,
    counts: dict[str, int],
    source: str,
    rows: list[list[str]],
) -> None:
    Benchmark.objects.update(training_counts=counts)
    url = address(cast, "Net", "Tree", view="board-compare-file", format="json", table="classes")
    file = client.get(url).json()
    assert file["titles"]["count"] == f"In {'the ' * (source == 'gold')}{source}"
    assert [[row["class"], str("" if row["count"] is None else row["count"])] for row in file["rows"]] == rows
    assert f"Frequent classes of the {source}" in client.get(address(cast, "Net", "Tree")).content.decode()


def test_titles_of_charts_quote_names_that_contain_quotation_marks() -> None:
    curve = Series("Net “tuned”", [(0.0, 1.0), (0.5, 0.5)], (0.5, 0.5))
    assert finding_of_curves([curve]) == "The curve of “Net ‘tuned’” reaches the highest F1, 50.0"


def test_titles_of_charts_name_no_system_as_the_best_that_equals_another_to_the_shown_digits(
    cast: BenchmarkCast, benchmark: Benchmark
) -> None:
    points = [(0.0, 1.0), (0.5, 0.5)]
    best = {"Net": (0.5, 0.5), "Tree": (0.5, 0.5002), "Rules": (0.4, 0.5)}
    drawn = [Series(name, points, of_system) for name, of_system in best.items()]
    assert finding_of_curves(drawn) == "The curves of “Net” and “Tree” reach the highest F1, 50.0"
    found = compared.requested(benchmark.settings.get(), ["kelpie/Net", "kelpie/Tree"], person=cast.kim)
    rows = [ClassFigures(title, 9, False, 9, f1) for title, f1 in [("a", [0.5, 0.5002]), ("b", [0.5, 0.6])]]
    first = found.names_in_sentences[1]
    assert finding_of_classes(found, rows) == f"{first} has the highest F1 on 1 of 2 classes"
    assert finding_of_classes(found, rows[:1]) == "F1 per class"


def test_weights_have_an_axis_of_items_above_and_of_shares_below() -> None:
    drawn = draw_weights(
        [ClassWeights("a", 30, [0.75, 0.7, 0.6, 0.5]), ClassWeights("b", 10, [0.25, 0.3, 0.4, 0.5])]
    )
    assert ">items<" in drawn
    assert ">weight, %<" in drawn
    assert ">20<" in drawn  # half of the items: a weight of .5 in the weighted average
    assert drawn.count('d="M') >= 4


def test_weights_are_those_of_the_figures_where_sentences_have_several_labels(cast: BenchmarkCast) -> None:
    """N of the entropy counts every label: five for four sentences."""
    labels = [["born_in", "works_for"], ["born_in"], ["born_in"], []]
    gold = [gold_sentence(f"s{at}", "Q1", "Q2", *each) for at, each in enumerate(labels)]
    settings = [("main", freeze("several", gold, by=cast.olga), "sentence", "micro_f1")]
    setting = cast.benchmark("sev", settings=settings).settings.get()
    board = SimpleNamespace(version=setting.versions.get())
    comparison = cast_to(Comparison, SimpleNamespace(setting=setting, board=board))
    rows = [ClassFigures(name, None, False, n, []) for name, n in (("born_in", 3), ("works_for", 1))]
    shares = [-3 * log(3 / 5), -log(1 / 5)]
    found = [row.weights[SCHEMES.index("entropy")] for row in weights(comparison, rows)]
    assert found == pytest.approx([each / sum(shares) for each in shares])
