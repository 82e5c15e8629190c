"""Summary of a board: only claims supported by means and deviations."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace

import pytest

from evalsvc.demo.labelling import DATA
from evalsvc.evaluation.boards import rank_reversals
from evalsvc.evaluation.boards.figures import RunStatistics
from evalsvc.evaluation.boards.rank_reversals import reversals
from evalsvc.evaluation.boards.ranking import Column
from evalsvc.evaluation.boards.reading import NOT_COMPUTED, run_statistics
from evalsvc.evaluation.comparison import sentences
from evalsvc.evaluation.comparison.sentences import Outcome, Side
from evalsvc.evaluation.disclosure.policy import ShownValue
from evalsvc.evaluation.measures.menu import MENU
from evalsvc.evaluation.pages import charts
from evalsvc.evaluation.pages.board_headline import sentence
from evalsvc.evaluation.pages.board_reversals import Order, agreements, reversed_pairs
from evalsvc.evaluation.pages.board_view import _scheme_finding
from evalsvc.evaluation.pages.page_table import cell

A, B, C = 1, 2, 3
NAMES = {A: "Alder", B: "Birch", C: "Cedar"}


def runs(*values: float | None) -> RunStatistics:
    return run_statistics([ShownValue("micro_f1", value) for value in values])


def column(
    title: str = "micro F1",
    *,
    a: RunStatistics | None = None,
    b: RunStatistics | None = None,
    c: RunStatistics | None = None,
) -> Column:
    figures = {system: figure for system, figure in ((A, a), (B, b), (C, c)) if figure}
    return Column(MENU["micro_f1"], figures, title)


@pytest.mark.parametrize("of_alder", [runs(0.70, 0.72), runs(0.71), runs(0.60, 0.82)])
def test_a_lead_is_named_without_a_claim(of_alder: RunStatistics) -> None:
    text = sentence(column(a=of_alder, b=runs(0.60, 0.62)), [], NAMES)
    assert text == ("“Alder” has 71.0 micro F1, “Birch” 61.0; nothing is claimed: these two are not tested.")


def test_figures_that_look_equal_have_no_leader() -> None:
    text = sentence(column(a=runs(0.5, 0.5), b=runs(0.5001), c=runs(0.4)), [], NAMES)
    assert text == "“Birch” and “Alder” have the same shown micro F1, 50.0."


def test_a_figure_over_some_of_the_runs_names_their_number() -> None:
    figure = runs(0.0, 0.1, *[None] * 15)
    assert figure.reason
    assert cell(figure, MENU["micro_f1"]).sd.endswith("(n = 2)")
    assert "n =" not in cell(runs(0.5, 0.6), MENU["micro_f1"]).sd


def test_an_undefined_figure_always_has_a_reason() -> None:
    assert runs(0.72, 0.72, 0.72).sd == 0
    not_computed = run_statistics([None])
    assert not_computed.reason == NOT_COMPUTED
    assert runs(None, 0.5).reason
    assert cell(not_computed, MENU["micro_f1"]).reason == NOT_COMPUTED


def test_without_scores_no_leader_is_named() -> None:
    for empty in (column(), column(a=runs(None))):
        text = sentence(empty, [], NAMES)
        assert text.startswith("No system")
        assert not any(name in text for name in NAMES.values())


SCHEMES = ("micro", "weighted", "dodrans", "entropy", "macro")


def scheme_columns(orders: Sequence[str]) -> list[Column]:
    """Return a column for each order, such as `abc`; systems in brackets have equal means."""
    return [
        column(
            title,
            **{
                system: runs(0.9 - 0.1 * place)
                for place, tied in enumerate(re.findall(r"\w|\(\w+\)", order))
                for system in tied.strip("()")
            },
        )
        for title, order in zip(SCHEMES, orders, strict=True)
    ]


@pytest.mark.parametrize(
    ("orders", "finding"),
    [
        (["ab"] * 5, "The order is the same under all five weightings"),
        (
            ["ab", "ba", "ab", "ab", "ba"],
            "“Alder” is first by micro, dodrans and entropy, “Birch” by weighted and macro",
        ),
        (
            ["ab", "ba", "ab", "ab", "ab"],
            "“Alder” is first by micro, dodrans, entropy and macro, “Birch” by weighted",
        ),
        (
            ["(ab)c", "bac", "bac", "bac", "bac"],
            "“Alder” and “Birch” are first by micro, “Birch” by weighted, dodrans, entropy and macro",
        ),
        (["abc", "acb", "abc", "abc", "abc"], "The order below the first rank depends on the weighting"),
        (["a(bc)", "abc", "abc", "abc", "abc"], "The order below the first rank depends on the weighting"),
        (["ab", "", "", "", ""], "4 of the five weightings lack figures"),
        (["ab", "ab", "ab", "ab", "a"], "1 of the five weightings lacks figures"),
        ([""] * 5, "No order yet"),
    ],
)
def test_the_finding_of_weightings_is_of_those_that_have_figures(orders: list[str], finding: str) -> None:
    assert _scheme_finding(scheme_columns(orders), NAMES) == finding


@pytest.mark.parametrize("order", ["ab", "ba"])
def test_the_chart_of_weightings_has_in_colour_the_systems_whose_rank_changes(order: str) -> None:
    chart = charts.ranks(scheme_columns(["(ab)", *[order] * 4]), NAMES)
    coloured = {NAMES[A], NAMES[B]} & set(re.findall(r'class="f[1-5][^>]*><title>“(\w+)”', chart))
    assert coloured == {{"ab": "Birch", "ba": "Alder"}[order]}


def test_a_pair_is_reversed_when_another_column_orders_it_the_other_way() -> None:
    here = column(a=runs(0.7, 0.71), b=runs(0.6, 0.61))
    there = column("macro F1", a=runs(0.4, 0.41), b=runs(0.5, 0.51))
    (pair,) = reversals(here, [there])
    assert (pair.first, pair.second) == (A, B)
    assert round(pair.gain, 6) == 0.1
    assert round(pair.loss, 6) == -0.1


def test_only_the_first_systems_are_compared_in_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rank_reversals, "COMPARED", 2)
    here = column(a=runs(0.7), b=runs(0.6), c=runs(0.5))
    there = column("macro F1", a=runs(0.4), b=runs(0.3), c=runs(0.5))
    assert reversals(here, [there]) == []


def test_a_lead_by_a_test_has_the_digits_in_which_it_differs_from_zero() -> None:
    alder, birch = Side("Alder", 0.8004), Side("Birch", 0.80002)
    outcome = Outcome("paired", 0.00038, 0.0001, 0.0007, ".008", 0.0002, 0)
    words = sentences.sentence("micro F1", MENU["micro_f1"], alder, birch, outcome)
    assert words == "Alder is ahead of Birch by 0.04 micro F1 (80.04 against 80.00, p .008, paired)."
    wide = outcome._replace(difference=0.038)
    words = sentences.sentence("micro F1", MENU["micro_f1"], alder, birch._replace(mean=0.762), wide)
    assert words == "Alder is ahead of Birch by 3.8 micro F1 (p .008, paired)."


def test_figures_without_a_claim_and_what_goes_unseen_do_not_read_as_equal() -> None:
    alder, birch = Side("Alder", 0.80051), Side("Birch", 0.80049)
    outcome = Outcome("paired", 0.00002, -0.0001, 0.0001, ".6", 0.0002, None)
    unseen = sentences.sentence("micro F1", MENU["micro_f1"], alder, birch, outcome)
    assert unseen.endswith("; before Holm, differences under 0.02 would mostly go unseen.")
    unclaimed = sentences.unclaimed("micro F1", MENU["micro_f1"], alder, birch, "not tested")
    assert unclaimed == "Alder has 80.1 micro F1, Birch 80.0; nothing is claimed: not tested."


def test_figures_that_are_not_tested_have_no_direction() -> None:
    """Below a step of rounding the exact ones may have the other order."""
    for means in ((0.75, 0.733), (0.733, 0.75)):
        text = sentences.unclaimed("micro F1", MENU["micro_f1"], *map(Side, "AB", means), "not tested")
        of_a, of_b = (f"{100 * mean:.1f}" for mean in means)
        assert text == f"A has {of_a} micro F1, B {of_b}; nothing is claimed: not tested."


@pytest.mark.parametrize(("step", "shown"), [(0.05, False), (0.01, True)])
def test_a_reversal_that_rounding_leaves_open_is_not_shown(step: float, shown: bool) -> None:
    here, there = column(a=runs(0.7), b=runs(0.6)), column("macro F1", a=runs(0.4), b=runs(0.417))
    for of_here, of_there in ((0.0, step), (step, 0.0)):
        [pair] = reversed_pairs(here, [Order(there, None, step=of_there)], step=of_here)
        assert pair.shown is (shown or not of_there)
    [pair] = reversed_pairs(there, [Order(here, None)], step=step)
    assert pair.shown is shown


def test_the_sentence_names_a_reversal_by_both_measures() -> None:
    here = column(a=runs(0.70, 0.71), b=runs(0.60, 0.61))
    there = column("macro F1", a=runs(0.40, 0.41), b=runs(0.50, 0.51))
    text = sentence(here, [reversed_pairs(here, [Order(there, None)])], NAMES)
    assert text.endswith(" By macro F1, “Birch” has a better figure than “Alder”.")


def test_the_sentence_says_ahead_only_where_tests_confirm_both_orders() -> None:
    here = column(a=runs(0.70, 0.71), b=runs(0.60, 0.61))
    there = column("micro F1 on “Held-out”", a=runs(0.40, 0.41), b=runs(0.50, 0.51))
    [pair] = reversed_pairs(here, [Order(there, None)])
    untested = sentence(here, [[pair]], NAMES)
    assert untested.endswith(" By micro F1 on “Held-out”, “Birch” has a better figure than “Alder”.")
    confirmed = sentence(here, [[replace(pair, confirmed=True)]], NAMES)
    assert confirmed.endswith(" By micro F1 on “Held-out”, “Birch” is ahead of “Alder”.")


def test_a_reversal_of_others_is_not_in_the_headline() -> None:
    here = column(a=runs(0.70), b=runs(0.60), c=runs(0.50))
    there = column("macro F1", a=runs(0.70), b=runs(0.10), c=runs(0.45))
    assert "By macro F1" not in sentence(here, [reversed_pairs(here, [Order(there, None)])], NAMES)


def test_a_reversal_within_the_shown_digits_is_none() -> None:
    here = column(a=runs(0.70), b=runs(0.60), c=runs(0.50))
    there = column("macro F1", a=runs(0.4001), b=runs(0.4002), c=runs(0.402))
    pairs = reversed_pairs(here, [Order(there, None)])
    shown = {(pair.first, pair.second): pair.shown for pair in pairs}
    assert shown == {(A, B): False, (A, C): True, (B, C): True}


def test_orders_by_two_golds_agree_as_in_the_table_of_a_paper() -> None:
    """Gao et al. 2021, Table 4: AUC of 15 systems, held-out and by human labels of bags."""
    tables = json.loads((DATA / "reported.json").read_text())
    held_out, human = (
        [runs(float(row["opennre_auc"])) for row in tables[name]["systems"].values()]
        for name in ("gao-4-held-out", "gao-4-bag")
    )
    here, there = (Column(MENU["auc"], dict(enumerate(each)), "AUC") for each in (held_out, human))
    orders = [Order(there, None)]
    [found] = agreements(here, orders, reversed_pairs(here, orders))
    assert (found.kept, found.turned, found.equal) == (83, 20, 2)
    assert found.tau_b == pytest.approx(0.6057972361, abs=1e-10)


@pytest.mark.parametrize(
    ("step", "counts"), [(0.0, (1, 2, 0)), (0.02, (0, 2, 1)), (0.025, (0, 1, 2)), (0.2, (0, 0, 3))]
)
def test_an_order_reverses_as_many_pairs_as_the_list_above_it_has(
    step: float, counts: tuple[int, int, int]
) -> None:
    here = column(a=runs(0.7), b=runs(0.6), c=runs(0.5))
    there = column("macro F1", a=runs(0.41), b=runs(0.4), c=runs(0.43))
    orders = [Order(there, None, step=step)]
    pairs = reversed_pairs(here, orders)
    [found] = agreements(here, orders, pairs)
    assert (found.kept, found.turned, found.equal) == counts
    assert found.turned == sum(pair.shown for pair in pairs)
    assert (found.tau_b is None) is (step > 0)  # less than a step apart is no tie of a ranking


def test_a_reversal_of_the_leader_is_named_before_others() -> None:
    here = column(a=runs(0.70, 0.71), b=runs(0.60, 0.61), c=runs(0.50, 0.51))
    there = column("macro F1", a=runs(0.40, 0.41), b=runs(0.10, 0.11), c=runs(0.45, 0.451))
    assert "By macro F1, “Cedar” has a better figure than “Alder”." in sentence(
        here, [reversed_pairs(here, [Order(there, None)])], NAMES
    )


def test_the_lowest_leads_where_lower_is_better() -> None:
    measure = replace(MENU["micro_f1"], higher_is_better=False)
    lower = replace(column("error", a=runs(0.1, 0.11), b=runs(0.3, 0.31)), measure=measure)
    assert lower.order == [A, B]
    assert lower.ranks == {A: 1, B: 2}
    assert sentence(lower, [], NAMES).startswith("“Alder” has 10.5 error, “Birch” 30.5; nothing is claimed")
