"""A hidden phase shows rounded figures alone, on every way out; organisers see all."""

from __future__ import annotations

import csv
import json
import re
import time
from datetime import timedelta
from io import StringIO
from math import log2
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from evalsvc.evaluation import shown_scores, submission_states
from evalsvc.evaluation.benchmarks import creation
from evalsvc.evaluation.boards import leaderboard
from evalsvc.evaluation.disclosure import rules
from evalsvc.evaluation.disclosure.ledger import Ledger
from evalsvc.evaluation.disclosure.policy import Policy, is_hidden, policy_for
from evalsvc.evaluation.models import Setting, SettingVersion, Submission, System
from tests.cast.basics import jsonl
from tests.cast.benchmarks import LABELS, BenchmarkCast, freeze
from tests.evalsvc.evaluation.disclosure.phase import (
    gold_labels,
    gold_lines,
    hidden_phase,
    labels_file,
    scored,
    setting_of,
    wrong,
)
from workers.runner import run_next

GOLD = gold_labels(400)


def scores(client: Client, pk: int) -> dict[str, Any]:
    evaluation: dict[str, Any] = client.get(reverse("api-scores", args=[pk])).json()["evaluations"][0]
    return evaluation


def test_a_team_sees_three_rounded_figures_and_nothing_else(client: Client, cast: BenchmarkCast) -> None:
    submission = scored(cast, hidden_phase(cast, GOLD), wrong(GOLD, 0.31))
    client.force_login(cast.kim)
    shown = scores(client, submission.pk)
    assert set(shown["scores"]) == {"micro_f1", "macro_f1", "accuracy"}
    for score in shown["scores"].values():
        assert score["value"] * 200 == pytest.approx(round(score["value"] * 200))
    assert shown["classes"] == []
    assert shown["detail"] == {"counts": {"missing": 0, "left_out": 0}, "curve": None, "notes": []}
    assert "give the hidden gold away" in shown["held_back"]


def test_the_precision_of_a_file_with_few_claims_is_withheld(client: Client, cast: BenchmarkCast) -> None:
    """Lines that say N/A are no claims."""
    benchmark = hidden_phase(cast, GOLD)
    Setting.objects.update(measures=["micro_f1", "micro_precision"])
    claimed = next(name for name, label in GOLD.items() if label != "N/A")
    submission = scored(cast, benchmark, dict.fromkeys(GOLD, "N/A") | {claimed: GOLD[claimed]})
    client.force_login(cast.kim)
    assert scores(client, submission.pk)["scores"]["micro_precision"]["value"] is None


def test_a_precision_that_is_shown_is_untested_for_its_step_and_not_called_withheld(
    client: Client, cast: BenchmarkCast
) -> None:
    """The step depends on the claims of a file, so that the measure itself has none."""
    benchmark = hidden_phase(cast, GOLD, main="micro_precision", measures=["micro_precision", "micro_f1"])
    scored(cast, benchmark, wrong(GOLD, 0.1), system="Alder")
    scored(cast, benchmark, wrong(GOLD, 0.4), system="Birch", team=cast.lugworm, by=cast.lars)
    client.force_login(cast.kim)
    board = client.get(reverse("board", args=[benchmark.slug]))
    assert board.context["sentence"].endswith(
        "; nothing is claimed: while the gold is hidden, no precision is tested, as its step of rounding"
        " depends on a file’s claims."
    )
    assert "by 5 points or more" not in board.content.decode()
    rows = client.get(reverse("api-board", args=[benchmark.slug])).json()
    assert "(micro F1 to 1.0 points; micro precision by the claims of each file)" in rows["held_back"]
    assert all(row["figures"]["micro_precision"]["mean"] for row in rows["rows"])


@pytest.mark.parametrize(("unit", "by"), [("sentence", "label"), ("bag", "label"), ("sentence", "scores")])
def test_gold_without_any_label_looks_like_gold_with_a_few(
    client: Client, cast: BenchmarkCast, unit: str, by: str
) -> None:
    """An undefined F1 would say that all labels are negative, and so would an accuracy of scores."""
    client.force_login(cast.kim)
    none = dict.fromkeys(gold_labels(40), "N/A")
    answer = {"label": "N/A"} if by == "label" else {"scores": dict.fromkeys(LABELS[:2], 0.5)}
    file, seen = jsonl({"id": name} | answer for name in none), []
    for gold in (none, none | {"s1": LABELS[0]}):
        with transaction.atomic():
            submission = cast.submit(hidden_phase(cast, gold, unit=unit), file)
            assert run_next("score")
            shown = scores(client, submission.pk)
            seen.append(
                {name: (one["value"] is None, one.get("reason")) for name, one in shown["scores"].items()}
            )
            transaction.set_rollback(True)
    assert seen[0] == seen[1]
    assert "by 5 points or more" in seen[0]["micro_f1"][1]
    assert rules.least_claims(0) == rules.least_claims(1)


def test_an_organiser_sees_everything(client: Client, cast: BenchmarkCast) -> None:
    submission = scored(cast, hidden_phase(cast, GOLD), wrong(GOLD, 0.31))
    client.force_login(cast.olga)
    shown = scores(client, submission.pk)
    assert len(shown["scores"]) > 20
    assert shown["classes"]
    assert shown["detail"]["lost"]
    assert shown["held_back"] == ""


def test_the_page_of_a_run_shows_no_count_class_or_curve(client: Client, cast: BenchmarkCast) -> None:
    submission = scored(cast, hidden_phase(cast, GOLD), wrong(GOLD, 0.31))
    client.force_login(cast.kim)
    page = client.get(reverse("submission", args=[submission.pk])).content.decode()
    assert "Figures of runs are rounded" in page
    for absent in ("Errors by kind", "Relation by relation", ">False positives<", "micro precision"):
        assert absent not in page
    for route in ("submission-curve-svg", "submission-curve-csv"):
        assert client.get(reverse(route, args=[submission.pk])).status_code == 404


def test_boards_and_their_downloads_rank_by_the_rounded_figure(client: Client, cast: BenchmarkCast) -> None:
    benchmark = hidden_phase(cast, GOLD, default_quotas=False)
    first = wrong(GOLD, 0.2)
    changed = [name for name in GOLD if first[name] == GOLD[name]][:1]
    second = first | dict.fromkeys(changed, "N/A")
    scored(cast, benchmark, first)
    scored(cast, benchmark, second, team=cast.lugworm, by=cast.lars, system="Other")
    client.force_login(cast.kim)
    board = client.get(reverse("board-json", args=["hid"])).json()
    assert [row["rank"] for row in board["rows"]] == [1, 1]
    assert board["measures"] == ["micro_f1", "macro_f1", "accuracy"]
    api = client.get(reverse("api-board", args=["hid"])).json()
    assert api["rows"] == board["rows"]
    csv = client.get(reverse("board-csv", args=["hid"])).content.decode()
    assert len(csv.splitlines()) == 1 + 2 * 3
    page = client.get(reverse("board", args=["hid"])).content.decode()
    assert "Figures of runs are rounded" in page
    exact = leaderboard.board(setting_of(benchmark), person=cast.olga)
    assert sorted(row.rank or 0 for row in exact.rows) == [1, 2]


def test_the_mean_of_rounded_runs_is_not_rounded_again(cast: BenchmarkCast) -> None:
    """Else two runs in neighbouring steps had the better one as their mean, before a better system."""
    gold = gold_labels(1_000)
    benchmark = hidden_phase(cast, gold, default_quotas=False, main="accuracy")
    for run, share in {"a": 0.257, "b": 0.255}.items():
        scored(cast, benchmark, wrong(gold, share), run=run)
    board = leaderboard.board(setting_of(benchmark))
    [row] = board.rows
    step = board.policy.step("accuracy") or 0
    low, high = sorted(each or 0 for each in board.figures.by_measure.run_values("accuracy")[row.system.pk])
    assert high - low == pytest.approx(step)
    assert board.columns["accuracy"].figures[row.system.pk].mean == pytest.approx(low + step / 2)


def test_a_board_cannot_be_ordered_by_a_measure_held_back(client: Client, cast: BenchmarkCast) -> None:
    scored(cast, hidden_phase(cast, GOLD), GOLD)
    client.force_login(cast.kim)
    for order in ("micro_precision", "weighted_f1"):
        response = client.get(reverse("api-board", args=["hid"]), {"order": order})
        assert (response.status_code, response.json()["code"]) == (400, "unknown_measure")


def test_a_closed_phase_shows_everything(client: Client, cast: BenchmarkCast) -> None:
    submission = scored(cast, hidden_phase(cast, GOLD), wrong(GOLD, 0.3))
    Setting.objects.update(closes_at=timezone.now() - timedelta(minutes=1))
    client.force_login(cast.kim)
    assert len(scores(client, submission.pk)["scores"]) > 20


def test_a_closed_phase_stays_hidden_while_another_asks_for_the_same_gold(cast: BenchmarkCast) -> None:
    benchmark = hidden_phase(cast, GOLD)
    submission = scored(cast, benchmark, wrong(GOLD, 0.3))
    setting = setting_of(benchmark)
    fields = {"title": "Other", "unit": "bag", "main": "micro_f1", "phase": "test", "by": cast.olga}

    creation.add_setting(benchmark, key="other", test_set=setting.test_set, **fields)
    Setting.objects.filter(pk=setting.pk).update(closes_at=timezone.now() - timedelta(minutes=1))
    assert len(shown_scores.newest(submission, person=cast.kim)[0].scores) == 3
    setting.refresh_from_db()
    policy = policy_for(setting, cast.kim)
    assert policy.until == "while another setting hides this gold or lines of it"
    assert policy.until in policy.sentence


@pytest.mark.parametrize("hidden_elsewhere", ["now", "earlier"])
def test_a_closed_phase_stays_hidden_while_another_hides_the_gold_of_any_of_its_versions(
    cast: BenchmarkCast, hidden_elsewhere: str
) -> None:
    """Figures of an earlier version are shown too, and a corrected gold differs from it in few labels."""
    benchmark = hidden_phase(cast, GOLD)
    setting = setting_of(benchmark)
    fields = {"title": "Other", "unit": "bag", "main": "micro_f1", "phase": "test", "by": cast.olga}
    other = creation.add_setting(benchmark, key="other", test_set=setting.test_set, **fields)
    corrected = freeze("corrected", gold_lines(gold_labels(200)), by=cast.olga)
    changed = setting if hidden_elsewhere == "now" else other
    creation.revise_setting(changed, test_set=corrected, by=cast.olga)
    Setting.objects.filter(pk=setting.pk).update(closes_at=timezone.now() - timedelta(minutes=1))
    setting.refresh_from_db()
    assert is_hidden(setting)
    Setting.objects.filter(pk=other.pk).update(closes_at=timezone.now() - timedelta(minutes=1))
    assert not is_hidden(setting)


@pytest.mark.parametrize(
    ("imported", "hidden"), [("before", True), ("before its version", True), ("after", False)]
)
def test_a_closed_phase_stays_hidden_for_a_copy_of_its_gold_from_before_it_closed(
    cast: BenchmarkCast, imported: str, hidden: bool
) -> None:
    """After it has closed anybody may know the gold, and could close it again by a copy."""
    setting = setting_of(hidden_phase(cast, GOLD))
    other = cast.benchmark("other")
    copy = freeze("copy", gold_lines(GOLD), by=cast.olga)
    creation.add_setting(
        other, key="a", title="A", test_set=copy, unit="bag", main="micro_f1", phase="test", by=cast.olga
    )
    began, moment = SettingVersion.objects.get(setting__benchmark=other).created_at, timedelta(milliseconds=1)
    closes_at = began + moment if imported == "before" else began - moment
    Setting.objects.filter(pk=setting.pk).update(closes_at=closes_at)
    if imported == "before its version":  # of the closed setting, whose gold was another one before
        SettingVersion.objects.filter(setting=setting).update(created_at=began + moment)
    setting.refresh_from_db()
    time.sleep(0.002)
    assert is_hidden(setting) == hidden


def test_a_figure_that_one_label_moves_by_more_than_5_points_is_withheld(
    client: Client, cast: BenchmarkCast
) -> None:
    small = gold_labels(36)
    submission = scored(cast, hidden_phase(cast, small), small)
    client.force_login(cast.kim)
    shown = scores(client, submission.pk)["scores"]["micro_f1"]
    assert shown["value"] is None
    assert "by 5 points or more" in shown["reason"]
    page = client.get(reverse("submission", args=[submission.pk])).content.decode()
    assert "Scored: micro F1 withheld on “" in page
    assert "the main measure (micro F1), further measures" in page
    board = client.get(reverse("board", args=[submission.benchmark.slug])).content.decode()
    assert "Micro F1 is withheld while the setting is open: one gold label" in board
    assert "undefined" not in board
    assert "by name, as no micro F1 is ranked: no test gives a rank" in board
    files = [reverse("board-view-file", args=["hid", form]) for form in ("csv", "md")]
    assert all("by name, as no micro F1 is ranked." in client.get(file).content.decode() for file in files)
    options = re.findall(r'<option value="(\w*)"( selected)?>', board)
    assert options == [("", ""), ("accuracy", "")]  # by name, until a measure that is shown is chosen
    response = client.get(reverse("api-board", args=["hid"]), {"order": "macro_f1"})
    assert response.json()["hint"] == "Known: accuracy."
    assert "no main figure is shown" in client.get(reverse("boards")).content.decode()
    client.force_login(cast.olga)
    organised = client.get(reverse("board-organise", args=[submission.benchmark.slug])).content.decode()
    assert "Teams see no ranking of “" in organised


def test_sets_of_labels_and_rankings_are_treated_alike_whether_the_negative_class_is_averaged(
    client: Client, cast: BenchmarkCast
) -> None:
    """They average the other classes alone: 39 labels of 400 items."""
    few = {f"s{at}": LABELS[at % 3] if at < 39 else "N/A" for at in range(400)}
    benchmark = hidden_phase(cast, few, options={"include_negative": True}, default_quotas=False)
    sets = cast.submit(benchmark, [{"id": name, "labels": []} for name in few])
    cast.submit(
        benchmark,
        [{"id": name, "scores": {"part_of": 0.5} if at < 50 else {}} for at, name in enumerate(few)],
        run="2",
    )
    while run_next("score"):
        pass
    client.force_login(cast.kim)
    shown = scores(client, sets.pk)["scores"]["micro_f1"]
    assert (shown["value"], "by 5 points or more" in shown["reason"]) == (None, True)
    policy = Policy(setting_of(benchmark), hidden=True)
    assert policy.withholds_main
    assert [policy.step("accuracy"), policy.step("ap")] == [0.005, None]


def test_class_rows_on_the_organisers_word_are_f1_of_large_classes(
    client: Client, cast: BenchmarkCast
) -> None:
    gold = (
        gold_labels(400) | {f"t{at}": "born_in" for at in range(200)} | {f"n{at}": "N/A" for at in range(200)}
    )
    submission = scored(cast, hidden_phase(cast, gold, class_rows=True), wrong(gold, 0.3))
    client.force_login(cast.kim)
    rows = scores(client, submission.pk)["classes"]
    assert [set(row) for row in rows] == [{"family", "label", "f1"}]
    assert rows[0]["label"] == "born_in"  # N/A, as large, is not averaged
    assert round(rows[0]["f1"] * 100, 9) % 1 == 0
    assert "figures of other classes" in scores(client, submission.pk)["held_back"]
    page = client.get(reverse("submission", args=[submission.pk])).content.decode()
    assert "Relation by relation" in page
    assert ">False negatives<" not in page


def test_a_near_duplicate_under_another_name_has_no_figure_on_the_board(
    client: Client, cast: BenchmarkCast
) -> None:
    benchmark = hidden_phase(cast, GOLD, default_quotas=False)
    good = wrong(GOLD, 0.1)
    first = scored(cast, benchmark, good, system="Good")
    bad = good | dict.fromkeys([name for name in GOLD if good[name] == GOLD[name] != "N/A"][:15], "N/A")
    scored(cast, benchmark, bad, system="Bad")
    client.force_login(cast.kim)

    def rows() -> list[Any]:
        found = leaderboard.board(setting_of(benchmark), person=cast.kim).rows
        return [(row.system.name, row.rank, row.figures["micro_f1"].reason) for row in found]

    (*best, _), (*other, reason) = rows()
    assert (best, other) == (["Good", 1], ["Bad", None])
    assert "hardly differs from an earlier run of another system of its team" in reason
    submission_states.withdraw(first, by=cast.kim)
    assert rows() == [("Bad", None, reason)]


def test_the_ladder_shows_a_team_only_improvements(client: Client, cast: BenchmarkCast) -> None:
    gold = GOLD | {f"t{at}": "born_in" for at in range(200)}
    benchmark = hidden_phase(cast, gold, ladder=0.05, class_rows=True, default_quotas=False)
    shown = []
    client.force_login(cast.kim)
    for seed, (share, system) in enumerate([(0.5, "Net"), (0.6, "Junk"), (0.2, "Best")]):
        submission = scored(cast, benchmark, wrong(gold, share, seed=seed), system=system)
        shown.append(scores(client, submission.pk))
    figures = [each["scores"]["micro_f1"] for each in shown]
    assert all(set(each["scores"]) == {"micro_f1"} for each in shown)
    assert (figures[1]["value"], figures[0]["value"] < figures[2]["value"]) == (None, True)
    assert "improves the best one shown of its team" in figures[1]["reason"]
    assert [len(each["classes"]) for each in shown] == [1, 0, 1]
    assert "only if it improves the best one shown of its team" in shown[1]["held_back"]
    board = leaderboard.board(setting_of(benchmark), person=cast.kim)
    assert [(row.system.name, row.rank) for row in board.rows] == [("Best", 1), ("Net", 2), ("Junk", None)]


def test_pages_and_downloads_count_the_runs_that_a_ladder_held_back(
    client: Client, cast: BenchmarkCast
) -> None:
    gold = GOLD | {f"t{at}": "born_in" for at in range(200)}
    benchmark = hidden_phase(cast, gold, ladder=0.05, default_quotas=False)
    for run, share in enumerate((0.5, 0.6, 0.2)):
        scored(cast, benchmark, wrong(gold, share, seed=run), system="Net", run=str(run))
    [system] = System.objects.all()
    whole = client.get(reverse("board-view-file", args=["hid", "json"])).json()
    assert [(row["n"], row["withheld"]) for row in whole["rows"]] == [(2, 1)]
    assert "“Net”: 2 of 3 runs, 1 withheld." in whole["caption"]
    assert "| 2 of 3 |" in client.get(reverse("board-view-file", args=["hid", "md"])).content.decode()
    [line] = csv.DictReader(StringIO(client.get(reverse("board-csv", args=["hid"])).content.decode()))
    assert (line["runs"], line["withheld"]) == ("2", "1")
    page = " ".join(client.get(reverse("system", args=["hid", system.pk])).content.decode().split())
    assert "the mean of 2 runs (1 run withheld): no rank by tests on" in page
    assert "· 2 of 3 runs, 1 withheld, the last on" in page
    table = client.get(reverse("system-file", args=["hid", system.pk, "json"])).json()
    assert "2 of 3 runs, 1 withheld." in table["caption"]
    assert [row["withheld"] for row in table["rows"]] == [1]


def test_a_withdrawn_run_that_the_ladder_held_back_counts_before_and_after_closing(
    cast: BenchmarkCast,
) -> None:
    """Its team knows that it is no better than the others."""
    benchmark = hidden_phase(cast, GOLD, ladder=0.05, default_quotas=False)
    runs = [scored(cast, benchmark, wrong(GOLD, share), run=str(share)) for share in (0.3, 0.5)]
    submission_states.withdraw(runs[1], by=cast.kim)
    for closes_at in (None, timezone.now()):
        benchmark.settings.update(closes_at=closes_at)
        [row] = leaderboard.board(benchmark.settings.get()).rows
        assert row.runs.withdrawn == 1


def test_a_run_that_the_ladder_held_back_shows_no_figure_where_the_better_one_is_not_scored(
    client: Client, cast: BenchmarkCast
) -> None:
    """A team cancelled the re-scoring of its best run, and saw what the Ladder had held back."""
    benchmark = hidden_phase(cast, GOLD, ladder=0.05, default_quotas=False)
    shares = (0.6, 0.3, 0.5, 0.1)
    runs = [
        scored(cast, benchmark, wrong(GOLD, share, seed=at), run=str(at)) for at, share in enumerate(shares)
    ]
    setting = setting_of(benchmark)
    client.force_login(cast.kim)
    for cancelled, shown in ((True, [0.7, None, 0.9]), (False, [0.7, None, 0.9])):
        gold = gold_lines(GOLD | {"s1": "N/A"} if cancelled else GOLD)
        corrected = freeze(f"gold-{cancelled}", gold, by=cast.olga)
        creation.revise_setting(setting, test_set=corrected, by=cast.olga)
        if cancelled:
            submission_states.cancel(Submission.objects.get(pk=runs[1].pk), by=cast.olga)
        while run_next("score"):
            pass
        setting.refresh_from_db()
        assert [scores(client, run.pk)["scores"]["micro_f1"]["value"] for run in runs[1:]] == shown
        rows = client.get(reverse("board-json", args=["hid"])).json()["rows"]
        assert [row["withheld"] for row in rows] == [shown.count(None)]


def test_the_ledger_counts_the_figures_of_each_version(client: Client, cast: BenchmarkCast) -> None:
    benchmark = hidden_phase(cast, GOLD)
    scored(cast, benchmark, wrong(GOLD, 0.3))
    before = Ledger(setting_of(benchmark))
    assert [(team.files, team.bits) for team in before.teams] == [(1, before.bits_per_file)]
    corrected = freeze("corrected", gold_lines(GOLD | {"s1": "N/A"}), by=cast.olga)
    creation.revise_setting(setting_of(benchmark), test_set=corrected, by=cast.olga)
    assert run_next("score")
    after = Ledger(setting_of(benchmark))
    assert [(team.files, team.bits) for team in after.teams] == [(1, 2 * after.bits_per_file)]


def test_the_ledger_counts_what_was_shown_before_a_seal(cast: BenchmarkCast) -> None:
    benchmark = hidden_phase(cast, GOLD)
    scored(cast, benchmark, wrong(GOLD, 0.3))
    setting = setting_of(benchmark)
    hour = timezone.now() + timedelta(hours=1)
    creation.change_setting(setting, sealed=True, closes_at=hour, by=cast.olga)
    scored(cast, benchmark, wrong(GOLD, 0.3, seed=3), run="2")
    assert [team.files for team in Ledger(setting).teams] == [1]
    creation.change_setting(setting, sealed=False, by=cast.olga)
    assert [team.files for team in Ledger(setting).teams] == [2]


@pytest.mark.parametrize("averaged", [False, True])
def test_the_ledger_counts_the_bits_of_each_label_once(cast: BenchmarkCast, averaged: bool) -> None:
    few = {f"s{at}": "born_in" if at < 100 else "N/A" for at in range(400)}
    setting = setting_of(hidden_phase(cast, few, options={"include_negative": averaged}, class_rows=True))
    assert Ledger(setting).gold_bits == pytest.approx(100 * log2(4) + 300 * log2(4 / 3))
    rows = [cost.title for cost in Ledger(setting).costs if "class" in cost.title]
    assert rows == ["F1 of 1 class"] * averaged  # N/A has 200 labels


def test_the_ledger_counts_the_entities_of_documents_and_not_the_documents(cast: BenchmarkCast) -> None:
    setting = cast.entities().settings.get()
    assert Ledger(setting).gold_bits == pytest.approx(log2(4) + 3 * log2(4 / 3))


@pytest.mark.parametrize("ladder", [None, 0.05])
def test_a_version_limited_to_a_part_shows_figures_of_the_part_alone(
    client: Client, cast: BenchmarkCast, ladder: float | None
) -> None:
    """A Ladder, and near-duplicates, took figures of the part for those of the whole."""
    benchmark = hidden_phase(cast, GOLD, ladder=ladder, default_quotas=False)
    part = freeze("part", gold_lines(dict(list(GOLD.items())[:200])), by=cast.olga)
    first = wrong(GOLD, 1) | dict(list(GOLD.items())[200:])  # each answer of the part is wrong
    near = first | {"s300": "part_of" if GOLD["s300"] != "part_of" else "born_in"}
    runs = [scored(cast, benchmark, labels, run=str(run)) for run, labels in enumerate((first, near))]
    setting = setting_of(benchmark)
    creation.revise_setting(setting, test_set=setting.test_set, only=part, by=cast.olga)
    while run_next("score"):
        pass
    client.force_login(cast.kim)
    for submission in runs:
        address = reverse("api-scores", args=[submission.pk])
        shown = [client.get(address, {"version": number}).json()["evaluations"][0] for number in (1, 2)]
        values = [each["scores"]["micro_f1"]["value"] for each in shown]
        assert values == [pytest.approx(0.5, abs=0.05), 0]


@pytest.mark.parametrize(("main", "shown"), [("micro_f1", 0.5), ("micro_precision", None)])
def test_the_step_of_a_ladder_is_not_finer_than_that_of_other_figures(
    client: Client, cast: BenchmarkCast, main: str, shown: float | None
) -> None:
    """At a step below what one label moves, figures are exact."""
    benchmark = hidden_phase(cast, GOLD, main=main, ladder=0.00001)
    submission = scored(cast, benchmark, wrong(GOLD, 0.5))
    client.force_login(cast.kim)
    value = scores(client, submission.pk)["scores"][main]["value"]
    assert value == (shown and pytest.approx(round(value, 2)))
    step = Policy(setting_of(benchmark), True).step(main)
    assert step == (0.01 if shown else None)


def test_a_hidden_phase_takes_no_file_that_leaves_an_item_out(cast: BenchmarkCast) -> None:
    from evalsvc.core.formats.problems import FileRejected

    benchmark = hidden_phase(cast, GOLD, missing="wrong")
    lines = labels_file(GOLD)[1:]
    for form in (lines, [{"id": line["id"], "labels": []} for line in lines]):
        with pytest.raises(FileRejected) as caught:
            cast.submit(benchmark, form)
        assert "missing_id" in caught.value.problems.by_code


def test_a_ranking_with_fewer_claims_than_the_gold_is_rejected(cast: BenchmarkCast) -> None:
    from evalsvc.core.formats.problems import FileRejected

    benchmark = hidden_phase(cast, GOLD)
    lines: list[dict[str, Any]] = [{"id": name, "scores": {}} for name in GOLD]
    lines[0]["scores"] = {"born_in": 0.9}
    with pytest.raises(FileRejected) as caught:
        cast.submit(benchmark, lines)
    [problem] = [each for each in caught.value.problems.first if each.code == "too_few_claims"]
    positives = sum(label != "N/A" for label in GOLD.values())
    assert problem.expected == f"at least {rules.least_claims(positives)}" != f"at least {positives}"


def test_a_ranking_that_claims_everything_is_accepted_however_small_the_gold(cast: BenchmarkCast) -> None:
    small = dict(list(GOLD.items())[:6])
    benchmark = hidden_phase(cast, small)
    names = [label["name"] for label in benchmark.labels if label["name"] != benchmark.negative]
    cast.submit(benchmark, [{"id": name, "scores": dict.fromkeys(names, 0.5)} for name in small])


def test_a_near_duplicate_counts_and_shows_the_earlier_figures(client: Client, cast: BenchmarkCast) -> None:
    benchmark = hidden_phase(cast, GOLD)
    first = wrong(GOLD, 0.5)
    repaired = [name for name in GOLD if first[name] != GOLD[name]][:9]
    near = first | {name: GOLD[name] for name in repaired}
    scored(cast, benchmark, first, run="1")
    second = scored(cast, benchmark, near, run="2")
    again = scored(cast, benchmark, near, run="3")
    client.force_login(cast.kim)
    shown = [scores(client, each.pk)["scores"]["micro_f1"]["value"] for each in (second, again)]
    exact = leaderboard.board(setting_of(benchmark), person=cast.olga).rows[0].figures["micro_f1"]
    assert shown == [pytest.approx(exact.minimum, abs=0.005)] * 2
    assert (exact.maximum or 0) - (exact.minimum or 0) > 0.015
    page = client.get(reverse("submission", args=[second.pk])).content.decode()
    assert "hardly differs from run 1" in page
    board = leaderboard.board(setting_of(benchmark), person=cast.kim)
    assert [row.n for row in board.rows] == [1]


def test_a_repair_of_twenty_claims_has_figures_of_its_own(cast: BenchmarkCast) -> None:
    benchmark = hidden_phase(cast, GOLD)
    first = wrong(GOLD, 0.5)
    repaired = [name for name in GOLD if first[name] != GOLD[name]][:40]
    scored(cast, benchmark, first, run="1")
    second = scored(cast, benchmark, first | {name: GOLD[name] for name in repaired}, run="2")
    assert not second.near.exists()


def test_bytes_another_team_sent_before_look_like_any_others(client: Client, cast: BenchmarkCast) -> None:
    benchmark = hidden_phase(cast, GOLD)
    labels = wrong(GOLD, 0.3)
    first = scored(cast, benchmark, labels)
    same = cast.submit(benchmark, labels_file(labels), team=cast.lugworm, by=cast.lars)
    assert same.state == "queued"
    same = scored(cast, benchmark, labels, team=cast.lugworm, by=cast.lars)
    for run, member in ((first, cast.kim), (same, cast.lars)):
        client.force_login(member)
        sent = client.get(reverse("api-submission", args=[run.pk])).json()
        assert scores(client, run.pk)["created_at"] == sent["ended_at"]
        assert [step["title"] for step in sent["timeline"]][-1] == "Attempt 1 scored"


def test_a_time_of_scoring_under_a_version_tells_nothing_of_another_teams_bytes(
    client: Client, cast: BenchmarkCast
) -> None:
    benchmark = hidden_phase(cast, GOLD)
    runs = [
        (scored(cast, benchmark, GOLD), cast.kim),
        (scored(cast, benchmark, GOLD, team=cast.lugworm, by=cast.lars), cast.lars),
    ]
    revised = freeze("revised", gold_lines(GOLD | {"s0": "part_of"}), by=cast.olga)
    version = creation.revise_setting(setting_of(benchmark), test_set=revised, by=cast.olga)
    while run_next("score"):
        pass
    times = set()
    for run, member in runs:
        client.force_login(member)
        times.add(scores(client, run.pk)["created_at"])
    assert times == {version.created_at.isoformat().replace("+00:00", "Z")}


def test_a_person_submits_to_a_hidden_phase_for_one_team(client: Client, cast: BenchmarkCast) -> None:
    from evalsvc.core.accounts.teams import add_member
    from evalsvc.core.errors.exceptions import Conflict

    benchmark = hidden_phase(cast, GOLD)
    cast.submit(benchmark, labels_file(GOLD))
    add_member(cast.lugworm, user=cast.kim, by=cast.lars)
    with pytest.raises(Conflict) as caught:
        cast.submit(benchmark, labels_file(GOLD), team=cast.lugworm, by=cast.kim)
    assert caught.value.code == "one_team"


def test_a_member_who_submits_for_another_team_binds_nobody_else(cast: BenchmarkCast) -> None:
    """By one run each for two teams, before the gold was hidden, a member locked a team out."""
    from evalsvc.core.accounts.teams import add_member

    benchmark = hidden_phase(cast, GOLD)
    benchmark.settings.update(disclosure="open")
    add_member(cast.lugworm, user=cast.kim, by=cast.lars)
    cast.submit(benchmark, labels_file(GOLD))
    cast.submit(benchmark, labels_file(GOLD), team=cast.lugworm, by=cast.kim)
    benchmark.settings.update(disclosure="hidden")
    assert cast.submit(benchmark, labels_file(GOLD), team=cast.lugworm, by=cast.lars, run="2").pk
    assert cast.submit(benchmark, labels_file(GOLD), run="2").pk  # for the team of the first run


@pytest.mark.parametrize("disclosure", ["hidden", "open"])
def test_a_person_submits_for_one_team_to_all_hidden_settings_on_a_gold(
    cast: BenchmarkCast, disclosure: str
) -> None:
    """Files are compared within a team; a second team of a person would have tests for nothing."""
    from evalsvc.core.accounts.teams import add_member
    from evalsvc.core.errors.exceptions import Conflict

    benchmark, other = hidden_phase(cast, GOLD), cast.benchmark("other")
    fields = {"title": "Other", "unit": "sentence", "main": "accuracy", "disclosure": disclosure}
    creation.add_setting(other, key="o", test_set=setting_of(benchmark).test_set, by=cast.olga, **fields)
    cast.submit(benchmark, labels_file(GOLD))
    add_member(cast.lugworm, user=cast.kim, by=cast.lars)
    if disclosure == "open":
        assert cast.submit(other, labels_file(GOLD), team=cast.lugworm, by=cast.lars).pk
        return
    with pytest.raises(Conflict, match="to a benchmark on the same gold for another team"):
        cast.submit(other, labels_file(GOLD), team=cast.lugworm, by=cast.kim)
    assert cast.submit(other, labels_file(GOLD)).pk


def test_of_scores_no_figure_is_shown_that_is_counted_at_a_threshold(
    client: Client, cast: BenchmarkCast
) -> None:
    """A gold label moves the threshold, and so what lies above it."""
    benchmark = hidden_phase(cast, GOLD, class_rows=True)
    lines = [{"id": name, "scores": {"born_in": 1 / at}} for at, name in enumerate(GOLD, 1)]
    labels, ranked = scored(cast, benchmark, GOLD), cast.submit(benchmark, lines, system="ranked")
    while run_next("score"):
        pass
    client.force_login(cast.kim)
    of_labels, of_scores = scores(client, labels.pk), scores(client, ranked.pk)
    assert all(row["value"] is not None for row in of_labels["scores"].values())
    shown = [key for key, row in of_scores["scores"].items() if row["value"] is not None]
    assert (shown, of_scores["classes"]) == (["micro_f1"], [])
    board = leaderboard.board(setting_of(benchmark), person=cast.kim)
    figures = next(row.figures for row in board.rows if row.system.name == "ranked")
    assert (figures["micro_f1"].mean is None, figures["accuracy"].mean) == (False, None)


def test_a_figure_at_a_fixed_threshold_is_not_said_to_be_withheld_for_a_moving_one(
    client: Client, cast: BenchmarkCast
) -> None:
    fixed = "opennre_micro_f1_at_half"
    benchmark = hidden_phase(cast, GOLD, measures=["micro_f1", "accuracy", fixed])
    ranked = cast.submit(benchmark, [{"id": name, "scores": {"born_in": 0.9}} for name in GOLD])
    run_next("score")
    client.force_login(cast.kim)
    shown = scores(client, ranked.pk)["scores"]
    assert ["the gold decides the threshold" in shown[key]["reason"] for key in ("accuracy", fixed)] == [
        True,
        False,
    ]
    assert "by 5 points or more" in shown[fixed]["reason"]


def test_a_ladder_neither_shows_nor_climbs_by_figures_counted_at_a_threshold(
    client: Client, cast: BenchmarkCast
) -> None:
    benchmark = hidden_phase(cast, GOLD, main="accuracy", ladder=0.01)
    lines = [
        {"id": name, "scores": dict.fromkeys(LABELS, 0.1) | ({label: 1} if label in LABELS else {})}
        for name, label in GOLD.items()
    ]
    runs = [cast.submit(benchmark, lines, run="1")]
    while run_next("score"):
        pass
    runs.append(scored(cast, benchmark, wrong(GOLD, 0.5), run="2"))
    client.force_login(cast.kim)
    first, second = (scores(client, run.pk)["scores"]["accuracy"]["value"] for run in runs)
    assert first is None
    assert second == pytest.approx(0.5)


@pytest.mark.parametrize("again", [False, True])
def test_twenty_files_a_day_are_rejected_and_no_more(
    cast: BenchmarkCast, client: Client, again: bool
) -> None:
    """Whether they are for a new run, or for one that has an active file."""
    benchmark = hidden_phase(cast, GOLD)
    if again:
        scored(cast, benchmark, GOLD, system="s")
    client.force_login(cast.kim)
    sent = [
        client.post(
            reverse("api-submissions", args=[benchmark.slug]) + "?system=s&run=1",
            jsonl([{"id": "s0", "label": "born_in"}]),
            content_type="application/x-ndjson",
        ).status_code
        for _ in range(21)
    ]
    assert sent == [422] * 20 + [429]
    assert (
        json.loads(client.get(reverse("api-benchmark-limits", args=["hid"])).content)["quotas"][1]["used"]
        == again
    )
