"""Maximum-weight one-to-one assignment, exact for integers of any size."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush

Edges = Sequence[tuple[int, int]]


def heaviest_assignment(rows: Sequence[Edges]) -> list[int | None]:
    """Assign each row at most one column, maximising the weight.

    Shortest augmenting paths over reduced costs (Jonker and Volgenant 1987), one row at a time; a row may
    stay alone at weight 0, so only gains are taken. Weights are Python integers: nothing is rounded.

    Parameters
    ----------
    rows : sequence of sequences of (column, weight)
        The columns that each row may take; weights above 0.

    Returns
    -------
    list of int or None
        The column of each row, None for a row left alone.

    Examples
    --------
    >>> heaviest_assignment([[(0, 5), (1, 4)], [(0, 4)]])
    [1, 0]
    """
    search = _Search(rows)
    for row in range(len(rows)):
        search.place(row)
    return [column if column is not None and column >= 0 else None for column in search.taken]


class _Search:
    """Dual variables and the current matching. Column −1−r leaves row r unassigned."""

    def __init__(self, rows: Sequence[Edges]) -> None:
        self.rows = rows
        self.row_dual = [0] * len(rows)
        self.column_dual: dict[int, int] = {}
        self.owner: dict[int, int] = {}
        self.taken: list[int | None] = [None] * len(rows)

    def place(self, row: int) -> None:
        dual = self.column_dual
        self.row_dual[row] = min([0, *(-weight - dual.get(column, 0) for column, weight in self.rows[row])])
        distance: dict[int, int] = {}
        parent: dict[int, int] = {}
        settled: dict[int, int] = {}
        heap: list[tuple[int, int]] = []
        self._relax(row, 0, distance, parent, heap)
        while True:
            reached, column = heappop(heap)
            if column in settled:
                continue
            if column not in self.owner:
                break
            settled[column] = reached
            self._relax(self.owner[column], reached, distance, parent, heap)
        for other, at in settled.items():
            dual[other] = dual.get(other, 0) + at - reached
            self.row_dual[self.owner[other]] += reached - at
        self.row_dual[row] += reached
        self._augment(row, column, parent)

    def _relax(
        self,
        row: int,
        base: int,
        distance: dict[int, int],
        parent: dict[int, int],
        heap: list[tuple[int, int]],
    ) -> None:
        start = base - self.row_dual[row]
        for column, weight in (*self.rows[row], (-1 - row, 0)):
            reach = start - weight - self.column_dual.get(column, 0)
            if column not in distance or reach < distance[column]:
                distance[column], parent[column] = reach, row
                heappush(heap, (reach, column))

    def _augment(self, row: int, column: int, parent: dict[int, int]) -> None:
        while True:
            holder = parent[column]
            before = self.taken[holder]
            self.taken[holder], self.owner[column] = column, holder
            if holder == row:
                return
            assert before is not None  # only a row that holds a column is passed through
            column = before


def heaviest_tree_matching(size: int, edges: Sequence[tuple[int, int, int]]) -> list[tuple[int, int]]:
    """Find the heaviest edges of a tree that share no node.

    Spans that do not overlap within a side hang together as trees, however long the document.

    Parameters
    ----------
    size : int
        Nodes 0 … size−1, connected by size − 1 edges.
    edges : sequence of (node, node, weight)
        Weights are Python integers above 0.

    Returns
    -------
    list of (node, node)

    Examples
    --------
    >>> heaviest_tree_matching(4, [(0, 1, 4), (1, 2, 5), (2, 3, 4)])
    [(0, 1), (2, 3)]
    """
    order, parent, weight = _rooted(size, edges)
    alone, joined, partner = [0] * size, [0] * size, [-1] * size
    for node in reversed(order[1:]):  # alone[node] is complete: its children came before
        above, best = parent[node], max(alone[node], alone[node] + joined[node])
        alone[above] += best
        gain = weight[node] + alone[node] - best
        if gain > joined[above]:
            joined[above], partner[above] = gain, node
    chosen, taken = [], [False] * size
    for node in order:
        if not taken[node] and partner[node] >= 0:
            taken[partner[node]] = True
            chosen.append((node, partner[node]))
    return chosen


def _rooted(size: int, edges: Sequence[tuple[int, int, int]]) -> tuple[list[int], list[int], list[int]]:
    """List nodes from the root down, with parents and edge weights."""
    around: list[list[tuple[int, int]]] = [[] for _ in range(size)]
    for one, other, weight in edges:
        around[one].append((other, weight))
        around[other].append((one, weight))
    order, parent, up = [0], [-1] * size, [0] * size
    for node in order:
        for other, weight in around[node]:
            if other != parent[node]:
                order.append(other)
                parent[other], up[other] = node, weight
    return order, parent, up
