"""Rails of a board join neighbours that no test tells apart."""

from __future__ import annotations

from itertools import combinations

from evalsvc.evaluation.pages.board_rails import LANES, Rail, rails


def test_neighbours_that_no_test_tells_apart_share_a_rail_and_rails_may_overlap() -> None:
    order, wins = [1, 2, 3, 4], {(1, 3), (1, 4), (2, 4)}
    assert rails(order, order, wins) == {
        1: [Rail(1, " from")],
        2: [Rail(1, " to"), Rail(2, " from")],
        3: [Rail(2, " to"), Rail(1, " from")],
        4: [Rail(1, " to")],
    }


def test_untested_systems_and_single_ones_have_no_rail() -> None:
    assert rails([1, 2, 3], [1, 3], set()) == {1: [Rail(1, " from")], 3: [Rail(1, " to")]}
    assert rails([1, 2, 3], [1, 2, 3], set(combinations([1, 2, 3], 2))) == {}


def test_a_board_with_too_many_rails_beside_each_other_has_none() -> None:
    systems = list(range(3 * LANES))
    far = {(a, b) for a, b in combinations(systems, 2) if b - a > LANES}
    assert rails(systems, systems, far) == {}
