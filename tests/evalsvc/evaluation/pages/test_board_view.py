"""Summary of a board: only claims supported by means and deviations."""

from __future__ import annotations

from dataclasses import replace

from evalsvc.evaluation.leaderboard import Column, RunStatistics, reversals, run_statistics
from evalsvc.evaluation.measures.menu import MENU
from evalsvc.evaluation.models import Score
from evalsvc.evaluation.pages.board_view import leader, sentence

A, B, C = 1, 2, 3
NAMES = {A: "Alder", B: "Birch", C: "Cedar"}


def runs(*values: float | None) -> RunStatistics:
    return run_statistics((str(n), Score(value=value)) for n, value in enumerate(values))


def column(
    title: str = "micro F1",
    *,
    a: RunStatistics | None = None,
    b: RunStatistics | None = None,
    c: RunStatistics | None = None,
) -> Column:
    figures = {system: figure for system, figure in ((A, a), (B, b), (C, c)) if figure}
    return Column(MENU["micro_f1"], figures, title)


def test_a_lead_wider_than_the_variation_of_runs_is_named() -> None:
    text = leader(column(a=runs(0.70, 0.72), b=runs(0.60, 0.62)), NAMES)
    assert text.startswith(
        "Alder has the highest micro F1, 71.0 ± 1.4 over 2 runs; 10.0 ahead of Birch, more than"
    )


def test_a_lead_within_the_variation_of_runs_is_named() -> None:
    text = leader(column(a=runs(0.60, 0.72), b=runs(0.58, 0.70)), NAMES)
    assert "2.0 ahead of Birch, within" in text


def test_one_run_does_not_estimate_the_variation() -> None:
    text = leader(column(a=runs(0.7), b=runs(0.6, 0.62)), NAMES)
    assert "70.0 over 1 run;" in text
    assert "too few runs" in text


def test_equal_means_have_no_leader() -> None:
    text = leader(column(a=runs(0.5, 0.5), b=runs(0.5, 0.5)), NAMES)
    assert text == "Alder and Birch have the same micro F1: 50.0 ± 0.0 over 2 runs."


def test_without_scores_no_leader_is_named() -> None:
    for empty in (column(), column(a=runs(None))):
        text = leader(empty, NAMES)
        assert text.startswith("No system")
        assert not any(name in text for name in NAMES.values())


def test_a_pair_is_reversed_when_another_column_orders_it_the_other_way() -> None:
    here = column(a=runs(0.7, 0.71), b=runs(0.6, 0.61))
    there = column("macro F1", a=runs(0.4, 0.41), b=runs(0.5, 0.51))
    (pair,) = reversals(here, [there])
    assert (pair.first, pair.second, pair.clear) == (A, B, True)
    assert round(pair.gain, 6) == 0.1
    assert round(pair.loss, 6) == -0.1


def test_the_sentence_names_only_reversals_that_runs_support() -> None:
    here = column(a=runs(0.70, 0.71), b=runs(0.60, 0.61))
    clear = column("macro F1", a=runs(0.40, 0.41), b=runs(0.50, 0.51))
    loose = column("AUC on “Held-out”", a=runs(0.30, 0.50), b=runs(0.32, 0.52))
    assert "Alder is ahead of Birch by micro F1 and behind it by macro F1." in sentence(
        here, [reversals(here, [clear]), reversals(here, [loose])], NAMES
    )
    assert "Held-out" not in sentence(here, [reversals(here, [loose])], NAMES)


def test_a_reversal_of_the_leader_is_named_before_others() -> None:
    here = column(a=runs(0.70, 0.71), b=runs(0.60, 0.61), c=runs(0.50, 0.51))
    there = column("macro F1", a=runs(0.40, 0.41), b=runs(0.10, 0.11), c=runs(0.45, 0.451))
    assert "Alder is ahead of Cedar" in sentence(here, [reversals(here, [there])], NAMES)


def test_the_lowest_leads_where_lower_is_better() -> None:
    measure = replace(MENU["micro_f1"], higher_is_better=False)
    lower = replace(column("error", a=runs(0.1, 0.11), b=runs(0.3, 0.31)), measure=measure)
    assert lower.order == [A, B]
    assert lower.ranks == {A: 1, B: 2}
