"""Whether what a crowd was told is what the database holds; nothing is timed before, nothing printed else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg

from bench.queue.seeding import K

if TYPE_CHECKING:
    from bench.queue.crowd import Came
    from bench.queue.rounds import Side

_TWICE = "SELECT count(*) FROM (SELECT FROM {} GROUP BY {} HAVING count(*) > {}) x"
_GIVEN = "FROM {} i JOIN (SELECT item_id, count(*) n FROM {} GROUP BY item_id) a ON a.item_id = i.id"

QUESTIONS = {
    "ours": {
        "votes": "SELECT client_id::text FROM annotation_vote",
        "items over k": _TWICE.format("annotation_answer", "item_id", K),
        "votes twice": _TWICE.format("annotation_vote", "item_id, annotator_id", 1),
        "leases left": "SELECT count(*) FROM annotation_lease WHERE ending <> 'answered'",
        "items wrong": f"SELECT count(*) {_GIVEN.format('annotation_item', 'annotation_answer')} "
        f"WHERE i.free <> {K} - n OR (n = {K}) <> (i.state = 'settled')",
    },
    "bare": {
        "votes": "SELECT client_id::text FROM bare_vote",
        "items over k": _TWICE.format("bare_vote", "item_id", K),
        "votes twice": _TWICE.format("bare_vote", "item_id, person", 1),
        "leases left": "SELECT count(*) FROM bare_lease WHERE NOT ended",
        "items wrong": f"SELECT count(*) {_GIVEN.format('bare_item', 'bare_vote')} "
        f"WHERE i.free <> {K} - n OR i.answers <> n",
    },
}


def hold(side: Side, came: Came | None = None) -> None:
    """Every acknowledged vote is there once, no item has more than k, every lease has ended."""
    if came is not None:
        side.heard(came)
    with psycopg.connect(side.url) as db:
        ask = QUESTIONS[side.name]
        written = {row[0] for row in db.execute(ask["votes"])}
        wrong = {name: db.execute(ask[name]).fetchone()[0] for name in ask if name != "votes"}  # type: ignore[index]
    if written != side.names or any(wrong.values()) or side.faults:
        lost, more = len(side.names - written), len(written - side.names)
        raise SystemExit(f"{side}: {lost} votes lost, {more} nobody sent, {wrong}, {side.faults[:3]}")
