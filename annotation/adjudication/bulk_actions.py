"""One action on several items at once, for curators."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from annotation.adjudication import decisions
from annotation.adjudication.unanswerable_items import answerable
from annotation.consensus import applied_decisions, item_state, pending_recomputation, recomputation
from annotation.consensus.rules import Rules
from annotation.models import Adjudication, Item, Project
from annotation.queue import quality_settings
from annotation.roles import CURATOR, require_to_change
from evalsvc.core.accounts.models import User
from evalsvc.core.activity.models import record
from evalsvc.core.database import atomic_again
from evalsvc.core.errors.exceptions import Conflict, DomainError, TooLarge

MAX_ITEMS = 5_000
MAX_NAMED = 100  # gold questions made at once, and items that an entry of the log names
EXCLUDE, INCLUDE, REOPEN, GOLD = ACTIONS = ("exclude", "include", "reopen", "gold")
LOGGED = {
    EXCLUDE: "sentences excluded",
    INCLUDE: "sentences included",
    REOPEN: "sentences reopened",
    GOLD: quality_settings.GOLD_LOGGED,
}
OPEN, SETTLED, DISPUTED, ADJUDICATED, UNUSABLE = Item.State.values
CHANGEABLE = {
    EXCLUDE: (OPEN, SETTLED, DISPUTED, ADJUDICATED),
    INCLUDE: (UNUSABLE,),
    REOPEN: (SETTLED, ADJUDICATED),
    GOLD: (OPEN,),
}
"""States of the items that an action can change."""
PREVIEW_VALUES: dict[str, dict[str, Any]] = {
    EXCLUDE: {"finding": Adjudication.Finding.BROKEN},
    GOLD: {"use": Item.Use.CHECK, "payload": {"spans": [], "relations": []}},
}


def limit_of(action: str) -> int:
    """Return how many items an action changes at once."""
    return MAX_NAMED if action == GOLD else MAX_ITEMS


@dataclass(frozen=True, slots=True)
class ItemEffect:
    """An item before and after; `problem` is why it stays as it is."""

    item: Item
    before: str
    after: str
    problem: str = ""


def digest(effects: Sequence[ItemEffect]) -> str:
    """Return a digest of the items, their answers, and what becomes of them."""
    rows = (f"{each.item.pk} {each.item.votes_key} {each.before} {each.after}" for each in effects)
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()


def require_same(effects: Sequence[ItemEffect], previewed: str) -> None:
    """Reject effects other than those of the preview with this digest, if there was one."""
    if previewed and digest(effects) != previewed:
        detail = "The sentences that match, or their answers, changed since the preview."
        raise Conflict("votes_changed", detail, hint="Look at the effect again.")


@atomic_again
def apply(
    project: Project,
    keys: Collection[UUID],
    action: str,
    *,
    by: User,
    previewed: str = "",
    found_by: Mapping[str, Any] | None = None,
    **values: Any,
) -> list[ItemEffect]:
    """Change the items that allow it, and log it; with another digest than `previewed`, nothing.

    `found_by` are the filters that found the items; the log has them where it can't name all items.
    """
    effects = _apply(project, keys, action, by, values)
    require_same(effects, previewed)
    changed = [effect for effect in effects if not effect.problem]
    if changed:
        before = dict(Counter(effect.before for effect in changed))
        names: Any = [effect.item.external_id for effect in changed]
        if len(names) > MAX_NAMED:
            names = {"sentences": len(names), **(found_by or {})}
        about = f"{len(changed):,} of {len(effects):,} selected{_why(action, values)}"
        record(project, LOGGED[action], by=by, about=about, before=before, after=names)
    return effects


def _why(action: str, values: Mapping[str, Any]) -> str:
    """Return the reason of an exclusion, or the use of gold questions, as the log has it."""
    if action == GOLD:
        return f": {values.get('use', '')}"
    if action != EXCLUDE:
        return ""
    words = (decisions.FINDINGS.get(values.get("finding", ""), ""), values.get("reason", ""))
    return f": {'; '.join(filter(None, words))}"


def preview(project: Project, keys: Collection[UUID], action: str, *, by: User) -> list[ItemEffect]:
    """Return what an action would change, decided on copies; gold questions are made and rolled back."""
    if action == GOLD:
        with transaction.atomic():
            effects = _apply(project, keys, action, by, PREVIEW_VALUES[action])
            transaction.set_rollback(True)
        return effects
    items = list(_chosen(project, keys, action, by))
    problems = _problems(project, items, action)
    changing = [item for item in items if item.pk not in problems]
    return _effects(items, _states_after(project, changing, action), problems)


def _states_after(project: Project, items: Sequence[Item], action: str) -> dict[int, str]:
    """Return the states that `_change` would give to items; stores nothing."""
    if action == EXCLUDE:
        return {item.pk: UNUSABLE for item in items}
    states, rules = {}, Rules(project.pk)
    for start in range(0, len(items), recomputation.CHUNK):
        chunk = [copy(item) for item in items[start : start + recomputation.CHUNK]]
        records = recomputation.load_records([item.pk for item in chunk])
        for item in chunk:
            records[item.pk].decisions = _left(records[item.pk].decisions)
            item.asked += item.state == SETTLED
            item_state.derive_state(item, records[item.pk], rules, applied_decisions.DecisionChanges())
            states[item.pk] = item.state
    return states


def _left(applicable: Sequence[Adjudication]) -> list[Adjudication]:
    """Return the lapsed decisions, outdated unless an exclusion is undone (`applied_decisions.reopen`)."""
    excluded = any(each.is_exclusion for each in applicable if not each.lapsed)
    lapsed = [each for each in applicable if each.lapsed]
    for each in lapsed:
        each.answers_key = each.answers_key if excluded else ""
    return lapsed


def _chosen(project: Project, keys: Collection[UUID], action: str, by: User) -> QuerySet[Item]:
    """Return the items that are so many and so long that one action can change them, in order."""
    require_to_change(project, by, CURATOR)
    limit = limit_of(action)
    if len(keys) > limit:
        detail = f"{len(keys):,} sentences are selected; the limit is {limit:,}."
        raise TooLarge("too_many_items", detail, hint="Select fewer.", field="item", limit=limit)
    present = Item.objects.present().filter(project=project, key__in=keys)
    pks = list(present.order_by("pk").values_list("pk", flat=True))
    if (fitting := len(recomputation.for_one_request(pks))) < len(pks):
        detail = f"The answers of {len(pks):,} sentences are too long to be decided again at once."
        raise TooLarge("too_many_items", detail, hint="Select fewer.", field="item", limit=fitting)
    if not pks:
        raise DomainError("nothing_chosen", "No sentence is selected.", hint="Select some.", field="item")
    return Item.objects.filter(pk__in=pks).order_by("pk")


def _apply(
    project: Project, keys: Collection[UUID], action: str, by: User, values: dict[str, Any]
) -> list[ItemEffect]:
    # locked in one order, so that two curators never wait for each other
    items = list(_chosen(project, keys, action, by).select_for_update(no_key=True))
    pending_recomputation.require_recomputed(project)
    problems = _problems(project, items, action)
    changing = [item for item in items if item.pk not in problems]
    if action == GOLD:
        problems |= _make_gold_questions(changing, by, values)
    elif changing:
        _change(project, changing, action, by, values)
    rows = Item.objects.filter(pk__in=[item.pk for item in items]).values_list("pk", "use", "state")
    return _effects(items, {pk: use or state for pk, use, state in rows}, problems)


def _effects(
    items: Sequence[Item], after: Mapping[int, str], problems: Mapping[int, str]
) -> list[ItemEffect]:
    states = ((item, item.use or item.state) for item in sorted(items, key=lambda item: (item.rank, item.pk)))
    return [
        ItemEffect(item, before, after.get(item.pk, before), problems.get(item.pk, ""))
        for item, before in states
    ]


def _problems(project: Project, items: Sequence[Item], action: str) -> dict[int, str]:
    """Say of each item that the action can't change why it stays as it is."""
    if action == GOLD:
        return {}
    problems = {item.pk: words for item in items if (words := _problem(item, action))}
    settled = [] if action == EXCLUDE else [item for item in items if item.state == SETTLED]
    left = answerable(project, [item.pk for item in settled if item.pk not in problems])
    for item in settled:
        if not (item_state.may_extend(item, project) and item.pk in left):
            problems.setdefault(item.pk, "Nobody is left who could answer this sentence.")
    return problems


def _problem(item: Item, action: str) -> str:
    if item.use:
        return "A gold question has no outcome. Make it an ordinary sentence first."
    if item.state in CHANGEABLE[action]:
        return ""
    if item.state == UNUSABLE:
        return f"This sentence is {'already ' if action == EXCLUDE else ''}excluded."
    return "This sentence is not excluded." if action == INCLUDE else f"This sentence is {item.state}."


def _change(project: Project, items: Sequence[Item], action: str, by: User, values: dict[str, Any]) -> None:
    """Change the decisions of all, or ask one more person, and recompute their states."""
    pks = [item.pk for item in items]
    if action == EXCLUDE:
        decisions.exclude_items(project, items, by=by, **values)
        return
    applied_decisions.reopen(Adjudication.objects.filter(item__in=pks).active())
    settled = [item.pk for item in items if item.state == SETTLED]
    item_state.ask_one_more(Item.objects.filter(pk__in=settled))
    recomputation.recompute_items(project, pks)


def _make_gold_questions(items: Sequence[Item], by: User, values: dict[str, Any]) -> dict[int, str]:
    problems = {}
    for item in items:
        try:
            with transaction.atomic():
                quality_settings.store_gold_question(item, by=by, **values)
        except Conflict as error:
            problems[item.pk] = f"{error.detail} {error.hint}".strip()
    return problems
