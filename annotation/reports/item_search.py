"""Search of a project's items, in bounded time whatever its size.

Items are read from an index of their order: of work, by id, vote pattern or newest answer.
Filters that this index doesn't serve are applied to the next `MAX_SCANNED` items only, a label to fewer if
answers are long; the result says where to continue. A person, remarks and an id give few items in most
projects, and then only those are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, QuerySet

from annotation.adjudication import bulk_actions, second_readings
from annotation.adjudication.item_filters import MOST_CHARACTERS, with_label, with_remark
from annotation.consensus import recomputation
from annotation.models import Item, Project, Vote
from annotation.reports import item_order
from annotation.reports.item_order import ANSWERED, CHUNK, MAX_SCANNED, ItemFilters
from annotation.roles import CURATOR, require
from evalsvc.core.accounts.models import User

PER_PAGE = 50


@dataclass(frozen=True, slots=True)
class ItemPage:
    """Items in order, and the items to continue after, in both directions."""

    items: list[Item]
    next: UUID | None
    previous: UUID | None
    scanned: int = 0
    complete: bool = True


def search(
    project: Project,
    filters: ItemFilters,
    *,
    for_user: User,
    order: str = "",
    after: Item | None = None,
    before: Item | None = None,
    size: int = PER_PAGE,
    begun: bool = False,
) -> ItemPage:
    """Return a page of items, with what curators alone may read.

    Items that wait for the person's second reading have no gold, and aren't found by it. A download that was
    `begun` as a curator goes on, whatever becomes of the role.
    """
    if not begun:
        require(project, for_user, CURATOR)
    unread = second_readings.hidden_items(project, for_user) if filters.label else set()
    backwards = before is not None
    start = before or after
    descending = (order in ("newest", ANSWERED)) != backwards
    scans = filters.scans or item_order.sieves(filters, order)
    named = bool(item_order.by_name(project, filters.text))
    step = min(CHUNK, 10 * size) if scans else size + 1
    place = item_order.place_of(start, order) if start else None
    places = item_order.places(project, filters, order, place, descending=descending, step=step)
    found: list[int] = []
    scanned, last, complete, left = 0, 0, True, MOST_CHARACTERS
    while len(found) <= size and complete and (read := [pk for *_, pk in islice(places, step)]):
        chunk, left = _searchable(read, filters, left)
        matching = set(_matching(project, filters, chunk, unread, named=named) if scans else chunk)
        found += [pk for pk in chunk if pk in matching]
        scanned, last = scanned + len(chunk), chunk[-1]
        step = min(CHUNK, 4 * step) if scans else step
        if (scanned >= MAX_SCANNED or not left) and len(found) <= size:
            complete = len(chunk) == len(read) and next(places, None) is None
    by_key = Item.objects.in_bulk([*found[:size], last])
    items = [by_key[pk] for pk in found[:size]]
    back = (items[0] if items else start) if start else None
    onwards = items[-1] if len(found) > size else None if complete else by_key[last]
    if backwards:
        items.reverse()
        back, onwards = onwards, back
    following, previous = (item.key if item else None for item in (onwards, back))
    second_readings.without_outcomes(items, for_user)
    return ItemPage(items, following, previous, scanned, complete)


def matching(
    project: Project,
    filters: ItemFilters,
    *,
    action: str,
    for_user: User,
    order: str = "",
) -> tuple[list[UUID], bool]:
    """Return the keys of matching items that an action can change; True if there may be more.

    Fewer where answers have many spans. Gold questions have no state that an action could change.
    """
    require(project, for_user, CURATOR)
    states, most = bulk_actions.CHANGEABLE[action], bulk_actions.limit_of(action)
    unread = second_readings.hidden_items(project, for_user) if filters.label else set()
    found: list[int] = []
    scanned, left, named = 0, MOST_CHARACTERS, bool(item_order.by_name(project, filters.text))
    if filters.use:
        return [], False
    for state in states if not filters.state else {*states} & {filters.state}:
        wanted = replace(filters, state=state)
        places = item_order.places(project, wanted, "", None, descending=False, step=CHUNK)
        while read := [pk for *_, pk in islice(places, CHUNK)]:
            chunk, left = _searchable(read, filters, left)
            matches = _matching(project, wanted, chunk, unread, named=named) if filters.scans else chunk
            found += item_order.last_votes([*matches]) if order == ANSWERED else matches
            scanned += len(chunk)
            if len(found) > most or scanned >= MAX_SCANNED or not left:
                break
    fitting = recomputation.for_one_request(found[:most])
    keys = [*Item.objects.filter(pk__in=fitting).values_list("key", flat=True)]
    return keys, len(found) > len(fitting) or scanned >= MAX_SCANNED or not left


# ---- filters without an index ------------------------------------------------------------------------
def _searchable(keys: list[int], filters: ItemFilters, left: int) -> tuple[list[int], int]:
    """Return the first items whose answers have so many characters, and how many are left to the next."""
    if not filters.label:
        return keys, left
    found, size = recomputation.fitting(keys, left)
    return found, max(0, left - size) if len(found) == len(keys) else 0


def _matching(
    project: Project, filters: ItemFilters, pks: Sequence[int], unread: set[int], *, named: bool
) -> QuerySet[Any, int]:
    """Return those of the items that match; the outcomes of those unread by the person do not.

    `named`: the text is the id or key of these items.
    """
    where = item_order.in_state(filters)
    items: QuerySet[Item] = Item.objects.filter(pk__in=pks, **where).order_by()
    votes = Vote.objects.filter(item=OuterRef("pk"))
    if filters.text and not named:
        items = items.filter(text__icontains=filters.text)
    if filters.annotator:
        votes = votes.filter(annotator=filters.annotator)
        items = items.filter(Exists(votes))
    if filters.remark:
        items = with_remark(items, filters.remark, votes)
    if filters.label:
        items = with_label(project, items, filters.label, unread)
    return items.values_list("pk", flat=True)
