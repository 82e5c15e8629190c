"""Finding of a board in words: who is in front by tests, and where another order disagrees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile

from django.utils.text import capfirst

from evalsvc.core.web.formatting import apart, counted, listed, measured, quoted
from evalsvc.evaluation.boards.ranking import Board, Column
from evalsvc.evaluation.comparison import sentences, words
from evalsvc.evaluation.comparison.board_comparison import BY_MEDIAN, BoardComparison
from evalsvc.evaluation.comparison.compared import Comparison
from evalsvc.evaluation.comparison.sentences import Side
from evalsvc.evaluation.disclosure.policy import WITHHELD
from evalsvc.evaluation.measures.menu import Measure
from evalsvc.evaluation.pages.board_reversals import TestedReversal

NOT_TESTED = "these two are not tested"
PAIR, LISTED = 2, 4  # systems whose test says all; systems named in a row


def sentence(
    column: Column,
    groups: Sequence[Sequence[TestedReversal]],
    names: Mapping[int, str],
    tests: BoardComparison | None = None,
    untested: str = NOT_TESTED,
) -> str:
    """Describe the leader, and its widest reversal in each group."""
    names = {system: quoted(name) for system, name in names.items()}
    sentences, first = [_leader(column, names, tests, untested)], next(iter(column.order), None)
    for pairs in groups:
        for pair in [pair for pair in pairs if pair.first == first][:1]:
            better = "is ahead of" if pair.confirmed else "has a better figure than"
            median = _by_medians(pair.there, pair.second, [pair.first]) if pair.confirmed else ""
            ahead = f"{names[pair.second]} {better} {names[pair.first]}{median}"
            sentences.append(f"By {pair.there.title}, {ahead}.")
    return " ".join(filter(None, sentences))


def tested(tests: BoardComparison, board: Board) -> str:
    """Describe the tests behind the bands of the ordering column."""
    key, measure = board.order_by, board.ordering.measure
    bands = tests.bands(key)
    if not bands:
        return ""
    systems = next(iter(bands.values())).of
    pairs = counted(len(tests.with_p(key)), "pair")
    by = tests.methods_in_words(key)
    described = f"ranks by tests: {by}, .05 after Holm over {pairs} of the {systems} tested systems"
    if board.policy.hidden:
        described += ", by the difference less a step of rounding"
    if tests.are_of_best(key):
        described += ", each p multiplied by the number of pairs of systems of its two teams"
    if few := words.few_runs(board.policy, (board.ordering.figures[system].n for system in bands)):
        described += f"; {few}"
    if ends := tests.detectable(key):
        described += f"; {_detectable(ends, measure, of_best=tests.are_of_best(key))}"
    return described


def _detectable(ends: tuple[float, float], measure: Measure, *, of_best: bool) -> str:
    """State the smallest difference that tests mostly detect; no two systems differ by more than 1."""
    if ends[0] >= 1:
        return "so few runs or items that a test would mostly miss any difference"
    least, most = (apart(end, measure) for end in ends)
    between = most if least == most else f"{least} to {most}"
    if ends[1] >= 1:
        between = f"{least} to more than any"
    adjusted = sentences.adjustment(of_best=of_best)
    detects = f"the smallest difference that a single test, before {adjusted}, mostly detects"
    return f"{detects} is {between} {measure.title}"


def why_untested(board: Board) -> str:
    """Return why the first two systems of a board have no test, as far as its rows decide it."""
    first = board.rows_of(board.ordering.order[:PAIR])
    if len(first) < PAIR:
        return NOT_TESTED
    return Comparison(board, first).withheld(board.ordering, *first) or NOT_TESTED


def _leader(column: Column, names: Mapping[int, str], tests: BoardComparison | None, untested: str) -> str:
    """Compare the first two systems, by their test if there is one."""
    order, figures = column.order, column.figures
    if len(order) < PAIR and any(figures[each].mean is not None for each in figures.keys() - {*order}):
        return ""  # systems without a rank show it
    if not order:
        held_back = [each.reason for each in figures.values() if each.reason.startswith(WITHHELD)]
        if held_back:
            return f"{capfirst(column.title)} is {held_back[0]}."
        return f"No system has a defined {column.title} yet."
    first = figures[order[0]].mean or 0.0
    shown = measured(first, column.measure)
    if len(order) == 1:
        figure = figures[order[0]]
        spread = "" if figure.sd is None else f" ± {measured(figure.sd, column.measure)}"
        over = f" over {counted(figure.n, 'run')}" if figure.n > 1 else ""
        only = f"{names[order[0]]} is the only system that shows {column.title} so far"
        return f"{only}: {shown}{spread}{over}."
    same = {
        *takewhile(lambda each: measured(column.figures[each].mean or 0.0, column.measure) == shown, order)
    }
    wins = tests.wins(column.measure.key) if tests else ()
    if len(same) > 1 and not any(same.issuperset(pair) for pair in wins):
        equal = [names[system] for system in order if system in same]
        return sentences.equal(equal, column.title, shown)
    front = _in_front(column, tests) if tests else []
    tied = len(front) > PAIR and front[0] == order[0]
    parts = [] if tied else [_pair(column, names, tests, untested)]
    return " ".join([*parts, *(_front_in_words(column, names, tests, front) if tests else ())])


def _pair(column: Column, names: Mapping[int, str], tests: BoardComparison | None, untested: str) -> str:
    """State the test between the first two systems."""
    order = column.order
    if tests and tests.of_systems(column.measure.key, *order[:2]):
        pair = (tests.places[order[0]], tests.places[order[1]])
        remark = sentences.remark(words.outcome(tests, column, *pair))
        return f"{words.sentence(tests, column, *pair)} {remark}".rstrip()
    a, b = (Side(names[system], column.figures[system].mean) for system in order[:2])
    return sentences.unclaimed(column.title, column.measure, a, b, untested)


def _in_front(column: Column, tests: BoardComparison) -> list[int]:
    """Return the systems that no other is better than by a test."""
    bands = tests.bands(column.measure.key)
    return [system for system in column.order if system in bands and bands[system].first == 1]


def _front_in_words(
    column: Column, names: Mapping[int, str], tests: BoardComparison, front: Sequence[int]
) -> Iterator[str]:
    """Name the systems in front, unless they are a pair, and say how many are tested."""
    bands = tests.bands(column.measure.key)
    if len(front) > PAIR:
        yield f"By {column.title} no test separates {some_listed(front, names)}."
    elif len(bands) > PAIR and len(front) == 1 and bands[front[0]].last == 1:
        behind = [system for system in column.order if system in bands and system != front[0]]
        others = f"all {len(behind)} other tested systems"
        if len(behind) == PAIR:  # the pair before says the first of them
            paired = column.order[:PAIR] == [front[0], behind[0]]
            others = f"{names[behind[1]]} too" if paired else "both other tested systems"
        yield f"{names[front[0]]} is ahead of {others}{_by_medians(column, front[0], behind)}."
    if PAIR < len(bands) < len(column.order):
        yield f"Tested: {counted(len(bands), 'system')} of {len(column.order):,}."


def _by_medians(column: Column, first: int, others: Sequence[int]) -> str:
    """Say that median runs are tested where one of two systems has several runs."""
    several = column.figures[first].n > 1
    median = any((column.figures[other].n > 1) != several for other in others)
    return f" ({BY_MEDIAN} where the other has one)" if median else ""


def some_listed(systems: Sequence[int], names: Mapping[int, str]) -> str:
    """Name some systems; of many the first, and how many stand with it."""
    if len(systems) <= LISTED:
        return listed([names[system] for system in systems])
    return f"{names[systems[0]]} and {len(systems) - 1} other systems"
