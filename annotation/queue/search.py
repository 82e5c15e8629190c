"""Search for the next items to assign, slice by slice."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, NoReturn

from django.utils import timezone

from annotation.models import Annotator, Item
from annotation.queue import gold_questions, sql
from annotation.queue.participants import Participant

SEARCHES_HOLD = timedelta(hours=6)  # then all items are searched again
SLICE = 10_000  # items searched by one request, about 50 ms; the next request goes on
LAST_RANK = 2**31 - 1


class StillSearching(Exception):
    """No item yet: the same request again, after `wait` seconds, searches the next slice.

    `reason` says why none comes before a change of the project is done.
    """

    def __init__(self, reason: str = "", *, wait: int = 0) -> None:
        super().__init__(reason)
        self.reason, self.wait = reason, wait


class ItemLocked(Exception):
    """The item to lease is locked by another transaction."""

    def __init__(self, item: Item) -> None:
        self.item = item.pk


def next_items(participant: Participant, n: int, *, must_find: bool) -> list[Item]:
    """Lock the items after the person's last, else any.

    Raises ItemLocked, and StillSearching with `must_find`.
    """
    annotator = participant.annotator
    if participant.project.check_every:  # no more than come before the next hidden check
        n = max(1, min(n, gold_questions.items_before_check(participant)))
    where = {"project": participant.project.pk, "annotator": annotator.pk}
    where["once"] = gold_questions.keeps_leases(participant.project)
    held = annotator.searched_at and timezone.now() - annotator.searched_at < SEARCHES_HOLD
    if held and sql.value(sql.AFTER_FREED_SLICE, **where, size=SLICE) is None:
        return _search_freed(annotator, where, n, must_find=must_find)
    if must_find:
        return _search_all(annotator, where, n)
    items, end = _search_slice(where, annotator.cursor, n)
    return items if items or end else _search_slice(where, 0, n)[0]


def _search_freed(annotator: Annotator, where: dict[str, Any], n: int, *, must_find: bool) -> list[Item]:
    """Search what was freed; if none is left, look at none of these again."""
    items = sql.fetch(Item, sql.NEXT_FREED_UNLOCKED_ITEMS, **where, n=n)
    if items or not must_find:
        return items
    time = sql.value(sql.SEARCH_TIME)
    _require_none(sql.fetch(Item, sql.NEXT_FREED_ITEMS, **where, n=1))
    sql.execute(sql.SAVE_SEARCH, annotator=annotator.pk, time=time)
    return []


def _search_all(annotator: Annotator, where: dict[str, Any], n: int) -> list[Item]:
    """Search from the person's last item to the end, then a round from the first item on, slice by slice.

    Only the round looks for locked items. If it finds none, what is freed later is searched alone: whoever
    has answered every open item of a large project asks again and again.
    """
    if not annotator.round_since:
        items, end = _search_slice(where, annotator.cursor, n)
        if items:
            return items
        if end:
            _go_on(annotator, end)
        sql.execute(sql.START_ROUND, annotator=annotator.pk)
        annotator.cursor = 0
    items, end = _search_slice(where, annotator.cursor, 1)
    if items:
        return items
    _require_none(_search_slice(where, annotator.cursor, 1, statement=sql.NEXT_ITEMS)[0])
    if end:
        _go_on(annotator, end)
    sql.execute(sql.END_ROUND, annotator=annotator.pk)
    return []


def _require_none(items: list[Item]) -> None:
    """Raise ItemLocked for the first of these items, which a search of unlocked ones did not find."""
    if items:
        raise ItemLocked(items[0])


def _search_slice(
    where: dict[str, Any], first: int, n: int, *, statement: str = sql.NEXT_UNLOCKED_ITEMS
) -> tuple[list[Item], int | None]:
    """Return items of the slice that starts at this rank, and the rank behind it; None at the end."""
    end = sql.value(sql.AFTER_SLICE, project=where["project"], first=first, size=SLICE)
    last = LAST_RANK if end is None else end - 1
    return sql.fetch(Item, statement, **where, first=first, last=last, n=n), end


def _go_on(annotator: Annotator, rank: int) -> NoReturn:
    sql.execute(sql.SAVE_SLICE, annotator=annotator.pk, cursor=rank)
    raise StillSearching
