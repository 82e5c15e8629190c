"""What the other policy would decide otherwise, item by item."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from annotation.consensus import item_state, majority
from annotation.consensus.label_mapping import Payload
from annotation.models import Item, ItemQuerySet, Project
from annotation.roles import MAY_DECIDE, require
from evalsvc.core.accounts.models import User


@dataclass(frozen=True, slots=True)
class Otherwise:
    """An item, and what the other policy makes of the same answers; no gold means disputed."""

    item: Item
    gold: Payload | None
    disputed: bool


def changed(project: Project, *, for_user: User) -> ItemQuerySet:
    """The items that the other policy would decide otherwise, in order of work."""
    require(project, for_user, *MAY_DECIDE)
    return project.items.live().filter(policy_matters=True).order_by("rank", "pk")


def by_other_policy(project: Project, items: Sequence[Item]) -> list[Otherwise]:
    """Decide these items by the other policy, without a trace."""
    rules = item_state.Rules(project)
    around = item_state.load_records([item.pk for item in items])
    found = []
    for item in items:
        k = item_state.answers_needed(item, rules)
        count = item_state.counted_answers(around[item.pk].answers, k=k)
        payloads = [rules.mapping.payload(answer.payload).payload for answer in count]
        verdict = rules.verdict(payloads, k, rules.other_policy)
        found.append(Otherwise(item, verdict.gold, verdict.state == majority.DISPUTED))
    return found
