"""Items in an order, read from its index: of work, by id, vote pattern or newest answer."""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet, Sum

from annotation.adjudication.item_filters import REMARKS
from annotation.models import Annotator, Batch, Item, ItemCount, LastAnswer, Project, Vote

CHUNK, MAX_SCANNED = 5_000, 50_000
FEW = 1_000  # items of a state that are sorted here, rather than looked for in the order of another index
ORDERS = {
    "imported": "as imported",
    "newest": "last imported first",
    "answered": "last answered first",
    "split": "most split votes first",
    "id": "by id",
}
ANSWERED = "answered"  # only items with an answer
UNDISPUTED = (2.0, 0, "")  # after every split
Place = tuple[Any, ...]  # what the order compares, and the primary key


@dataclass(frozen=True, slots=True)
class ItemFilters:
    """What to list: items with all of these; empty values filter nothing.

    `use` lists gold questions instead of ordinary items. With an annotator, the remark is theirs.
    """

    state: str = ""
    use: str = ""
    pattern: str = ""
    label: str = ""
    annotator: Annotator | None = None
    remark: str = ""
    text: str = ""

    @property
    def scans(self) -> bool:
        """True if an item of the index may not match."""
        return bool(self.label or self.annotator or self.remark or self.text)


def counts(project: Project) -> tuple[dict[str, int], Counter[str], dict[str, int]]:
    """Count items by state, disputes by vote pattern and gold questions by use."""
    live = ItemCount.objects.live(project)
    disputed = live.filter(state=Item.State.DISPUTED).order_by().values_list("pattern")
    gold = ItemCount.objects.filter(batch__project=project, batch__state=Batch.State.DONE).exclude(use="")
    patterns = Counter(dict(disputed.annotate(total=Sum("n"))))
    uses = dict(gold.order_by().values_list("use").annotate(total=Sum("n")))
    return live.by_state(), +patterns, uses


def place_of(item: Any, order: str) -> Place:
    """Return the place of an item; a later answer may move it."""
    if order == "id":
        return item.external_id, item.pk
    if order == ANSWERED:
        return last_votes([item.pk]).get(item.pk, 0), item.pk
    if order == "split":
        split = _split(item.pattern) if item.state == Item.State.DISPUTED else UNDISPUTED
        return split, item.rank, item.pk
    return item.rank, item.pk


def last_votes(pks: Sequence[int]) -> dict[int, int]:
    return dict(LastAnswer.objects.filter(item__in=pks).values_list("item", "vote"))


def _split(pattern: str) -> tuple[float, int, str]:
    """Return the share of the most frequent answer, and what decides ties."""
    votes = [int(number) for number in re.findall(r"\d+", pattern)]
    return (max(votes) / max(1, sum(votes)), -len(votes), pattern) if votes else (1.5, 0, pattern)


def places(
    project: Project,
    filters: ItemFilters,
    order: str,
    start: Place | None,
    *,
    descending: bool,
    step: int,
) -> Iterator[Place]:
    """Yield the places of candidates beyond `start`, from indexes only."""
    done = set(project.batches.filter(state=Batch.State.DONE).values_list("pk", flat=True))
    few = _few(project, filters, order)
    if few is not None:
        return iter(_sorted(project, filters, order, few, done, start, descending=descending))
    read = partial(_ranked, project, done=done, use=filters.use, descending=descending, step=step)
    if order == "id":
        return read({}, start=start, column="external_id")
    where = in_state(filters)
    if order == ANSWERED:
        return read({"state": where["state"]} if where else {}, start=start, column="vote")
    if filters.use:
        return read({"use": filters.use}, start=start)
    if filters.pattern and filters.state not in ("", Item.State.DISPUTED):
        return iter(())
    pattern = {"pattern": filters.pattern} if filters.pattern else {}
    states = [Item.State.DISPUTED] if pattern else [filters.state] if filters.state else Item.State.values
    if order == "split":
        return _by_split(project, filters.pattern, states, start, read, descending=descending)
    return heapq.merge(
        *(read({"state": state} | pattern, start=start) for state in states), reverse=descending
    )


def _by_split(
    project: Project,
    pattern: str,
    states: Sequence[str],
    start: Place | None,
    read: Callable[..., Iterator[Place]],
    *,
    descending: bool,
) -> Iterator[Place]:
    """Yield disputes, the most split patterns first, then other items."""
    disputed = Item.State.DISPUTED
    patterns = [pattern] if pattern else [*counts(project)[1]]
    parts: list[tuple[Any, list[dict[str, str]]]] = [
        (_split(name), [{"state": disputed, "pattern": name}]) for name in patterns if disputed in states
    ]
    parts.append((UNDISPUTED, [{"state": state} for state in states if state != disputed]))
    for split, wheres in sorted(parts, key=itemgetter(0), reverse=descending):
        if start is not None and (split > start[0] if descending else split < start[0]):
            continue
        begin = start[1:] if start is not None and split == start[0] else None
        rows = heapq.merge(*(read(where, start=begin) for where in wheres), reverse=descending)
        yield from ((split, *place) for place in rows)


def _ranked(
    project: Project,
    where: dict[str, str],
    *,
    start: Place | None,
    done: set[int],
    use: str,
    descending: bool,
    step: int,
    column: str = "rank",
) -> Iterator[Place]:
    """Yield places in the order of one index, `step` rows a query."""
    order = (f"-{column}", "-pk") if descending else (column, "pk")
    model, item = (LastAnswer, "item__") if column == "vote" else (Item, "")
    items: QuerySet[Any] = model.objects.filter(project=project, **where).order_by(*order)
    while True:
        bound = {} if start is None else {f"{column}__{'lte' if descending else 'gte'}": start[0]}
        rows = items.filter(**bound).values_list(column, "pk", f"{item}batch", f"{item}use")[:step]
        n, at = 0, start
        for value, pk, batch, of_use in rows:
            n, place = n + 1, (value, pk)
            # only equal values are compared here: databases have orders of text of their own
            if start is not None and value == start[0] and (pk >= start[1] if descending else pk <= start[1]):
                continue
            at = place
            if batch in done and of_use == use:
                yield place
        if n < step or at == start:
            return
        start, step = at, min(CHUNK, 4 * step)


def sieves(filters: ItemFilters, order: str) -> bool:
    """Return whether state or pattern are looked for in the order of an index without them."""
    return bool(
        filters.pattern if order == ANSWERED else order == "id" and (filters.state or filters.pattern)
    )


def in_state(filters: ItemFilters) -> dict[str, str]:
    """Return the filters on columns; patterns are those of disputed items."""
    where = {"state": filters.state, "pattern": filters.pattern}
    where["state"] = filters.state or (Item.State.DISPUTED if filters.pattern else "")
    return {name: text for name, text in where.items() if text}


def _few(project: Project, filters: ItemFilters, order: str) -> set[int] | None:
    """Return the items of a selective filter, None if there are too many."""
    if named := by_name(project, filters.text):
        return named
    if filters.use and order not in ("", "imported", "newest"):
        return set(project.items.filter(use=filters.use).values_list("pk", flat=True)[:MAX_SCANNED])
    if sieves(filters, order):
        with_state = list(project.items.filter(**in_state(filters)).values_list("pk", flat=True)[: FEW + 1])
        if len(with_state) <= FEW:
            return set(with_state)
    sources: list[QuerySet[Vote]] = []
    if filters.annotator:
        sources.append(Vote.objects.filter(annotator=filters.annotator))
    if filters.remark:
        sources.append(Vote.objects.filter(REMARKS["any"], annotator__project=project))
    for votes in sources:
        pks = list(votes.order_by().values_list("item", flat=True)[: MAX_SCANNED + 1])
        if len(pks) <= MAX_SCANNED:
            return set(pks)
    return None


def by_name(project: Project, text: str) -> set[int]:
    """Return the items whose id or key is the text."""
    named = Q(external_id=text)
    with suppress(ValueError):
        named |= Q(key=UUID(text))
    return set(project.items.filter(named).values_list("pk", flat=True)[:CHUNK]) if text else set()


def _sorted(
    project: Project,
    filters: ItemFilters,
    order: str,
    pks: set[int],
    done: set[int],
    start: Place | None,
    *,
    descending: bool,
) -> list[Place]:
    where = in_state(filters)
    read = ("pk", "rank", "external_id", "state", "pattern", "batch")
    ordered, places = sorted(pks), list[Place]()
    for at in range(0, len(ordered), CHUNK):
        items = Item.objects.filter(pk__in=ordered[at : at + CHUNK], use=filters.use, **where)
        rows = [row for row in items.values_list(*read, named=True) if row.batch in done]
        if order == ANSWERED:
            votes = last_votes([row.pk for row in rows])
            places += [(vote, pk) for pk, vote in votes.items()]
        else:
            places += [place_of(row, order) for row in rows]
    beyond = [p for p in places if start is None or (p < start if descending else p > start)]
    return sorted(beyond, reverse=descending)
