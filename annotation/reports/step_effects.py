"""Effect of each step of a plan, on what the steps before it leave. Nothing is written."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from annotation.consensus import item_state, recomputation
from annotation.consensus.applied_decisions import DecisionChanges
from annotation.consensus.effects import WAITING
from annotation.consensus.facts import WITH_GOLD, Fact, facts_of
from annotation.consensus.item_state import ItemRecords
from annotation.consensus.rules import Rules, labels_in
from annotation.models import Item, Project
from annotation.ontology.plans import PlannedStep, stages
from evalsvc.core.web.formatting import counted

MOST_LABELS = 40_000  # of answers that are decided again, step by step: a second or two
FEWEST_ITEMS = 20  # in memory at once, if there are many steps


@dataclass(slots=True)
class StepEffect:
    """What a step touches: items that have its labels in an answer or a decision, and facts of their gold."""

    items: int = 0
    ended: int = 0
    reopened: int = 0
    changed: int = 0
    decisions_lapsed: int = 0
    decisions_restored: int = 0
    facts_touched: set[Fact] = field(default_factory=set)

    @property
    def facts(self) -> int:
        return len(self.facts_touched)


@dataclass(frozen=True, slots=True)
class StepEffects:
    """The effects of all steps, counted on so many items."""

    items: int
    steps: Sequence[StepEffect]


def effects_of_steps(project: Project, plan: Sequence[PlannedStep], keys: Sequence[int]) -> StepEffects:
    """Decide the items again after each step that touches them; fewer where answers or the plan are long."""
    rules = [Rules(project, labels) for labels in stages(project, plan)]
    effects, items, spent = [StepEffect() for _ in plan], 0, 0
    size = min(recomputation.CHUNK, max(FEWEST_ITEMS, MOST_LABELS // (4 * len(plan))))
    chunks = -(-len(keys) // size)
    for at in range(chunks):
        chunk = _Chunk.of(keys[at::chunks])  # spread over the order, if it is the last one
        for step, effect, stage in zip(plan, effects, pairwise(rules), strict=True):
            spent += chunk.apply(step, effect, *stage)
        items += len(chunk.items)
        if spent > MOST_LABELS:
            break
    return StepEffects(items, effects)


Outcome = tuple[str, Any, frozenset[int]]
"""State, gold and active decisions of an item."""


@dataclass(slots=True)
class _Chunk:
    """Some items in memory, as the steps so far leave them."""

    items: dict[int, Item]
    records: dict[int, ItemRecords]
    outcomes: dict[int, Outcome]
    having: dict[str, set[int]]
    """Items by the raw labels of their answers and decisions."""
    size: dict[int, int]

    @classmethod
    def of(cls, keys: Sequence[int]) -> _Chunk:
        items, records = Item.objects.in_bulk(keys), recomputation.load_records(keys)
        outcomes, size = dict[int, Outcome](), dict[int, int]()
        having: dict[str, set[int]] = defaultdict(set)
        for pk, item in items.items():
            own = records[pk]
            active = frozenset(each.pk for each in own.decisions if not each.lapsed)
            outcomes[pk] = (item.state, item.gold, active)
            payloads = [each.payload for each in own.answers] + [each.payload for each in own.decisions]
            size[pk] = sum(1 + len(payload["spans"]) + len(payload["relations"]) for payload in payloads)
            for name in set[str]().union(*map(labels_in, payloads)):
                having[name].add(pk)
        return cls(items, records, outcomes, having, size)

    def apply(self, step: PlannedStep, effect: StepEffect, before: Rules, after: Rules) -> int:
        """Decide the items that a step touches by the rules after it; return how many labels that took."""
        sources = {*step.sources}
        touched = self._having(
            name for name in self.having if sources.intersection(before.mapping.inventory([name]))
        )
        effect.items += len(touched)
        deciding = touched | self._having({step.target, *step.targets})
        for pk in deciding:
            old, new = self.outcomes[pk], self._decided(pk, after)
            if old[0] in WITH_GOLD and old[1] is not None:
                own = facts_of(self.items[pk], old[1])
                effect.facts_touched |= {fact for fact in own if fact[-2] in sources}
            waited, waits = old[0] in WAITING, new[0] in WAITING
            effect.ended += waited and not waits
            effect.reopened += waits and not waited
            effect.changed += not waited and not waits and old[:2] != new[:2]
            effect.decisions_lapsed += len(old[2] - new[2])
            effect.decisions_restored += len(new[2] - old[2])
            self.outcomes[pk] = new
        return sum(self.size[pk] for pk in deciding)

    def _having(self, names: Iterable[str]) -> set[int]:
        return set[int]().union(*(self.having.get(name, ()) for name in names))

    def _decided(self, pk: int, rules: Rules) -> Outcome:
        item, changes = self.items[pk], DecisionChanges()
        item_state.derive_state(item, self.records[pk], rules, changes)
        stored = {each.pk for each in self.records[pk].decisions if not each.lapsed}
        return item.state, item.gold, frozenset(stored - {*changes.lapsed} | {*changes.restored})


def in_words(effect: StepEffect) -> str:
    """Return what a step touches and changes, as a line of figures."""
    facts = f", {counted(effect.facts, 'fact')}" if effect.facts else ""
    lapsed, restored = effect.decisions_lapsed, effect.decisions_restored
    changes = [
        f"settles {effect.ended:,}" * bool(effect.ended),
        f"opens {effect.reopened:,}" * bool(effect.reopened),
        f"{counted(lapsed, 'decision')} {'lapses' if lapsed == 1 else 'lapse'}" * bool(lapsed),
        f"{counted(restored, 'decision')} {'counts' if restored == 1 else 'count'} again" * bool(restored),
    ]
    return " · ".join([f"{counted(effect.items, 'sentence')}{facts}", *filter(None, changes)])
