"""Effect of a change on outcomes and decisions, before it is made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Protocol

from django.db import transaction

from annotation.consensus import recomputation
from annotation.consensus.applied_decisions import DecisionChanges
from annotation.consensus.item_state import ItemRecords, answers_needed, counted_answers, derive_state
from annotation.consensus.rules import Rules
from annotation.models import Adjudication, Answer, Item, ItemCount, Project
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
    decided_short: int

    def __str__(self) -> str:
        scope = (
            ""
            if self.items == self.of
            else f" Counted on a sample of {self.items:,} of {self.of:,} sentences."
        )
        short = (
            f" {self.decided_short:,} sentences that are or were decided, or are excluded, would ask for no"
            " further answer, which tells annotators what was disputed: choose “Ask about decided sentences,"
            " too”, and include excluded ones."
            if self.decided_short
            else ""
        )
        return (
            f"Reopens {self.reopened:,} and ends {self.ended:,} sentences; "
            f"{self.changed:,} get another gold. "
            f"{self.decisions_lapsed:,} decisions lapse (filled in for the next), "
            f"{self.decisions_restored:,} count again, {self.decisions_dropped:,} are dropped.{short}{scope}"
        )


def _sample(items: ItemQuerySet) -> list[int]:
    """Return at most 5,000 items, decided ones first, spread evenly over the order of work."""
    keys: list[int] = []
    for part in (items.filter(state__in=Item.DECIDED), items.exclude(state__in=Item.DECIDED)):
        own = part.order_by("rank", "pk").values_list("pk", flat=True)
        n, rows = own.count(), enumerate(own.iterator(chunk_size=10_000))  # not all in memory
        most = min(n, MAX_ITEMS - len(keys))
        keys += [pk for place, pk in rows if place * most // n != (place - 1) * most // n]
    return keys


class Look(Protocol):
    """Figures of all items at one time, to which a preview adds some items after others."""

    def add(self, items: Sequence[Item], records: Mapping[int, ItemRecords]) -> None: ...


@dataclass(frozen=True, slots=True)
class _Changed:
    """What decides the items once a change is made: rules, answers excluded, k of items, decisions."""

    rules: Rules
    excluded: set[int]
    k: dict[int, int | None]
    decisions: dict[int, Adjudication]

    @classmethod
    def of(cls, project: Project, keys: Sequence[int]) -> _Changed:
        rules = Rules(project.pk)
        rules.labels = rules.mapping, rules.names  # for use when the change is rolled back
        excluded, k = set[int](), dict[int, int | None]()
        for chunk in _chunks(keys):
            answers = Answer.objects.filter(item__in=chunk, set_aside=True).order_by()
            excluded.update(answers.values_list("pk", flat=True))
            k |= dict(Item.objects.filter(pk__in=chunk, k__isnull=False).values_list("pk", "k"))
        return cls(rules, excluded, k, _decisions(keys))

    def decide(self, items: Sequence[Item], records: Mapping[int, ItemRecords]) -> DecisionChanges:
        """Decide copies of the items; stores nothing."""
        changes = DecisionChanges()
        for item in items:
            item.k = self.k.get(item.pk)
            own = [self.decisions.get(each.pk) for each in records[item.pk].decisions]
            records[item.pk].decisions = [
                each for each in own if each and (each.lapsed or not each.reopened_at)
            ]
            for answer in records[item.pk].answers:
                answer.set_aside = answer.pk in self.excluded
            derive_state(item, records[item.pk], self.rules, changes)
        return changes


def _chunks(keys: Sequence[int]) -> Iterator[Sequence[int]]:
    return (keys[at : at + recomputation.CHUNK] for at in range(0, len(keys), recomputation.CHUNK))


def _decisions(keys: Sequence[int]) -> dict[int, Adjudication]:
    made = (Adjudication.objects.filter(item__in=chunk) for chunk in _chunks(keys))
    return {decision.pk: decision for rows in made for decision in rows}


def preview(
    project: Project,
    change: Callable[[Project], object],
    look: Callable[[Project, Sequence[int]], Look] | None = None,
) -> Effect:
    """Make a change, roll it back, and count what it changes.

    `look` is called with the items before the change, and again after it. The items are decided after the
    transaction, in which others wait on SQLite.
    """
    keys = _sample(project.items.live())
    fitting = len(recomputation.for_one_request(keys))  # few where answers have many spans
    keys = [keys[at * len(keys) // fitting] for at in range(fitting)]
    stored, state = _decisions(keys), Project.objects.get(pk=project.pk)
    looks = [look(state, keys)] if look else []
    with transaction.atomic(), recomputation.left_out():
        change(state)
        changed = _Changed.of(project, keys)
        looks += [look(Project.objects.get(pk=project.pk), keys)] if look else []
        transaction.set_rollback(True)
    counts = Counter({"decisions_dropped": len(stored.keys() - changed.decisions.keys())})
    for chunk in _chunks(keys):
        counts.update(_count(chunk, project, changed, looks))
    names = [field.name for field in fields(Effect)]
    return Effect(**({name: counts[name] for name in names} | {"items": len(keys), "of": _live(project)}))


def _live(project: Project) -> int:
    return ItemCount.objects.live(project).total()


def _is_short(item: Item, records: ItemRecords, project: Project) -> bool:
    """True for an item with fewer answers than it needs of which a decision, or a lapsed one, asks nobody."""
    k = answers_needed(item, project)
    waits = item.state in (*Item.DECIDED, Item.State.DISPUTED)
    return waits and len(counted_answers(records.answers, k=k)) < k


def _count(keys: Sequence[int], project: Project, changed: _Changed, looks: Sequence[Look]) -> Counter[str]:
    """Decide some items, and count what becomes of them and their decisions."""
    items, records = list(Item.objects.filter(pk__in=keys)), recomputation.load_records(keys)
    before = {item.pk: (item.state, item.gold) for item in items}
    short = {item.pk for item in items if _is_short(item, records[item.pk], project)}
    for look in looks[:1]:
        look.add(items, records)
    changes = changed.decide(items, records)
    for look in looks[1:]:
        look.add(items, records)
    counts = Counter(decisions_lapsed=len(changes.lapsed), decisions_restored=len(changes.restored))
    for item in items:
        old, new = before[item.pk], (item.state, item.gold)
        waited, waits = old[0] in WAITING, new[0] in WAITING
        counts["ended"] += waited and not waits
        counts["reopened"] += waits and not waited
        counts["decided_short"] += item.pk not in short and _is_short(
            item, records[item.pk], changed.rules.project
        )
        counts["changed"] += not waited and not waits and old != new
    return counts


def other_policy_changes(project: Project) -> int:
    """Count the items that the other policy would decide differently."""
    return ItemCount.objects.live(project).filter(policy_matters=True).total()


def other_policy_settles(project: Project) -> int:
    """Count the disputes that the other policy would settle."""
    counts = ItemCount.objects.live(project)
    return counts.filter(policy_matters=True, state=Item.State.DISPUTED).total()
