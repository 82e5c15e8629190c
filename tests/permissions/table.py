"""The outcomes expected of every route, by method and person.

A row is a route name (after a colon, one of several objects), a method, and a column per person or token:
the status, or `login` for a redirect to the login page. Methods without a row are rejected for everybody.
"""

from __future__ import annotations

from collections import Counter

from tests.permissions import api, pages
from tests.places.extent import FULL

Row = tuple[str, str]
REJECTED = ("401", "403", "404", "405", "login")
# The people whose pages hold most secrets: they open all that they may read.
READERS = ("anon", "anno", "cura", "memb", "rivl", "orga")


def parsed(text: str, *, prefix: str = "") -> dict[Row, dict[str, str]]:
    heads, *lines = [line.split() for line in text.strip("\n").splitlines()]
    rows = {(prefix + name, method): dict(zip(heads, cells, strict=True)) for name, method, *cells in lines}
    assert len(rows) == len(lines), "Duplicate row."
    return rows


RECORDS = pages.RECORDS.split()
ADMIN = [f"admin-{record}_{view}" for record in RECORDS for view in ("changelist", "change")]
ADMIN += ["admin-index", "admin-app_list", "admin-jsi18n"]
HEAD = pages.TABLE.strip("\n").splitlines()[0]
PAGES = parsed(pages.TABLE) | parsed(
    "\n".join([HEAD, *(f"{row} GET {pages.FOR_ADMINISTRATORS}" for row in ADMIN)])
)
PAGES["admin-teams_user_change", "POST"] = PAGES["admin-teams_user_change", "GET"] | {"root": "302"}
API = parsed(api.TABLE, prefix="api-")
EXPECTED = PAGES | API


def requested() -> dict[str, list[Row]]:
    """The rows that each person requests: all of them with `FULL=1`.

    Otherwise each row is requested once for each of its outcomes, by the person who did so least often, and
    by every reader who may read it; each person gets each outcome of theirs. What the annotator may write is
    compared, too.
    """
    rows: dict[str, list[Row]] = {who: [] for cells in EXPECTED.values() for who in cells}
    turns: Counter[tuple[str, str]] = Counter()
    for row, cells in sorted(EXPECTED.items()):
        chosen = {
            who
            for who, outcome in cells.items()
            if FULL or (who in READERS and outcome[0] in "23" and (row[1] == "GET" or who == "anno"))
        }
        for outcome in sorted(set(cells.values())):
            alike = [who for who, cell in cells.items() if cell == outcome]
            in_turn = min(alike, key=lambda who: (who in chosen, turns[who, outcome]))
            chosen |= {in_turn, *(who for who in alike if not turns[who, outcome])}
            turns.update((who, outcome) for who in chosen.intersection(alike))
        for who in chosen:
            rows[who].append(row)
    return rows


REQUESTED = requested()
