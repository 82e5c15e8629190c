"""The board's sentence claims what means and deviations show, and no more."""

from __future__ import annotations

from evalsvc.evaluation.leaderboard import Figure, figure
from evalsvc.evaluation.pages.board_summary import Column, leader, sentence, turns

NAMES = {"a": "Alder", "b": "Birch", "c": "Cedar"}


def runs(*values: float) -> Figure:
    return figure(list(values), runs=[(str(n), value) for n, value in enumerate(values)])


def column(title: str = "micro F1", **systems: Figure) -> Column:
    return Column(title, systems)


def test_a_lead_wider_than_the_runs_vary_is_said_to_be() -> None:
    told = leader(column(a=runs(0.70, 0.72), b=runs(0.60, 0.62)), NAMES)
    assert told == (
        "Alder has the highest micro F1, 71.0 ± 1.4 over 2 runs; "
        "10.0 ahead of Birch, more than the two vary over runs."
    )


def test_a_lead_within_what_runs_vary_is_said_to_be() -> None:
    told = leader(column(a=runs(0.60, 0.72), b=runs(0.58, 0.70)), NAMES)
    assert told.endswith("2.0 ahead of Birch, which is within what the two vary over runs.")


def test_one_run_says_nothing_of_how_much_runs_vary() -> None:
    told = leader(column(a=runs(0.7), b=runs(0.6, 0.62)), NAMES)
    assert "70.0 over 1 run;" in told
    assert told.endswith("with too few runs to say how much runs vary.")


def test_equal_means_have_no_leader() -> None:
    told = leader(column(a=runs(0.5, 0.5), b=runs(0.5, 0.5)), NAMES)
    assert told == "Alder and Birch have the same micro F1: 50.0 ± 0.0 over 2 runs."


def test_nothing_scored_names_nobody() -> None:
    assert leader(column(), NAMES) == "No system has micro F1 yet."
    assert leader(column(a=figure([], runs=[("1", None)])), NAMES) == "No system has micro F1 yet."


def test_a_pair_turns_when_another_column_orders_it_the_other_way() -> None:
    here = column(a=runs(0.7, 0.71), b=runs(0.6, 0.61))
    there = column("macro F1", a=runs(0.4, 0.41), b=runs(0.5, 0.51))
    (turn,) = turns(here, [there])
    assert (turn.first, turn.second, turn.clear) == ("a", "b", True)
    assert round(turn.gain, 6) == 0.1
    assert round(turn.loss, 6) == -0.1


def test_the_sentence_names_only_turns_that_runs_support() -> None:
    here = column(a=runs(0.70, 0.71), b=runs(0.60, 0.61))
    clear = column("macro F1", a=runs(0.40, 0.41), b=runs(0.50, 0.51))
    loose = column("AUC on “Held-out”", a=runs(0.30, 0.50), b=runs(0.32, 0.52))
    assert "Alder is ahead of Birch by micro F1 and behind it by macro F1." in sentence(
        here, [[clear], [loose]], NAMES
    )
    assert "Held-out" not in sentence(here, [[clear], [loose]], NAMES)


def test_a_turn_of_the_leader_is_named_before_others() -> None:
    here = column(a=runs(0.70, 0.71), b=runs(0.60, 0.61), c=runs(0.50, 0.51))
    there = column("macro F1", a=runs(0.40, 0.41), b=runs(0.10, 0.11), c=runs(0.45, 0.451))
    assert "Alder is ahead of Cedar" in sentence(here, [[there]], NAMES)


def test_where_lower_is_better_the_lowest_leads() -> None:
    lower = Column("error", {"a": runs(0.1, 0.11), "b": runs(0.3, 0.31)}, higher_is_better=False)
    assert lower.order() == ["a", "b"]
    assert lower.ranks() == {"a": 1, "b": 2}
