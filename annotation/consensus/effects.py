"""Effect of a change on outcomes and decisions, before it is made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.db import transaction

from annotation.consensus import recomputation
from annotation.models import Adjudication, Item, ItemCount, Project
from annotation.models.item import ItemQuerySet

MAX_ITEMS = 5_000
WAITING = (Item.State.OPEN, Item.State.DISPUTED)


@dataclass(frozen=True, slots=True)
class Effect:
    """Counts of items and decisions that a change touches.

    Of a large project only a sample of `items` is counted, decided ones before others.
    """

    items: int
    of: int
    reopened: int
    ended: int
    changed: int
    decisions_lapsed: int
    decisions_restored: int
    decisions_dropped: int

    def __str__(self) -> str:
        scope = (
            ""
            if self.items == self.of
            else f" Counted on a sample of {self.items:,} of {self.of:,} sentences."
        )
        return (
            f"Reopens {self.reopened:,} and ends {self.ended:,} sentences; "
            f"{self.changed:,} get another gold. "
            f"{self.decisions_lapsed:,} decisions lapse (filled in for the next), "
            f"{self.decisions_restored:,} count again, {self.decisions_dropped:,} are dropped.{scope}"
        )


@dataclass(frozen=True, slots=True)
class _Outcomes:
    items: dict[int, tuple[str, object]]
    active: set[int]
    stored: set[int]

    @classmethod
    def of(cls, keys: Sequence[int]) -> _Outcomes:
        items: dict[int, tuple[str, object]] = {}
        decisions: dict[int, bool] = {}
        for start in range(0, len(keys), recomputation.CHUNK):
            chunk = keys[start : start + recomputation.CHUNK]
            rows = Item.objects.filter(pk__in=chunk).values_list("pk", "state", "gold")
            items |= {pk: (state, gold) for pk, state, gold in rows}
            made = Adjudication.objects.filter(item__in=chunk).values_list("pk", "reopened_at")
            decisions |= {pk: reopened_at is None for pk, reopened_at in made}
        return cls(items, {pk for pk, active in decisions.items() if active}, {*decisions})


def _sample(items: ItemQuerySet) -> list[int]:
    """Return at most 5,000 items, decided ones first, spread evenly over the order of work."""
    keys: list[int] = []
    for part in (items.filter(state__in=Item.DECIDED), items.exclude(state__in=Item.DECIDED)):
        own = part.order_by("rank", "pk").values_list("pk", flat=True)
        n, rows = own.count(), enumerate(own.iterator(chunk_size=10_000))  # not all in memory
        most = min(n, MAX_ITEMS - len(keys))
        keys += [pk for place, pk in rows if place * most // n != (place - 1) * most // n]
    return keys


def preview(
    project: Project,
    change: Callable[[Project], object],
    look: Callable[[Project, Sequence[int]], object] | None = None,
) -> Effect:
    """Make a change, count what it changes, and roll it back.

    `look` is called with the items before the change, and again after it. What was before is read before the
    transaction, in which others wait on SQLite.
    """
    look = look or (lambda project, keys: None)
    keys = _sample(project.items.live())
    fitting = len(recomputation.for_one_request(keys))  # few where answers have many spans
    keys = [keys[at * len(keys) // fitting] for at in range(fitting)]
    before, changed = _Outcomes.of(keys), Project.objects.get(pk=project.pk)
    look(changed, keys)
    with transaction.atomic():
        change(changed)
        for start in range(0, len(keys), recomputation.CHUNK):
            recomputation.recompute_items(project, keys[start : start + recomputation.CHUNK])
        after = _Outcomes.of(keys)
        look(Project.objects.get(pk=project.pk), keys)
        transaction.set_rollback(True)
    pairs = [(before.items[pk], after.items[pk]) for pk in keys]
    waits = [(old[0] in WAITING, new[0] in WAITING) for old, new in pairs]
    return Effect(
        items=len(keys),
        of=ItemCount.objects.live(project).total(),
        reopened=waits.count((False, True)),
        ended=waits.count((True, False)),
        changed=sum(old[0] not in WAITING and new[0] not in WAITING and old != new for old, new in pairs),
        decisions_lapsed=len(before.active - after.active),
        decisions_restored=len(after.active - before.active),
        decisions_dropped=len(before.stored - after.stored),
    )


def other_policy_changes(project: Project) -> int:
    """Count the items that the other policy would decide differently."""
    return ItemCount.objects.live(project).filter(policy_matters=True).total()


def other_policy_settles(project: Project) -> int:
    """Count the disputes that the other policy would settle."""
    counts = ItemCount.objects.live(project)
    return counts.filter(policy_matters=True, state=Item.State.DISPUTED).total()
