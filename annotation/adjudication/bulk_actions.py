"""One action on several items at once, for curators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction

from annotation.adjudication import decisions
from annotation.models import Item, Project
from annotation.queue import gold_questions
from annotation.roles import CURATOR, require_to_change
from evalsvc.core.accounts.models import User
from evalsvc.core.activity.models import record
from evalsvc.core.errors.exceptions import Conflict, DomainError, TooLarge

MAX_ITEMS = 100
EXCLUDE, INCLUDE, REOPEN, GOLD = ACTIONS = ("exclude", "include", "reopen", "gold")
LOGGED = {
    EXCLUDE: "sentences excluded",
    INCLUDE: "sentences included",
    REOPEN: "sentences reopened",
    GOLD: "gold questions",
}


@dataclass(frozen=True, slots=True)
class ItemEffect:
    """An item before and after; `problem` is why it stays as it is."""

    item: Item
    before: str
    after: str
    problem: str = ""


def apply(
    project: Project, keys: Collection[UUID], action: str, *, by: User, **values: Any
) -> list[ItemEffect]:
    """Change the items that allow it, in one transaction, and log it."""
    with transaction.atomic():
        effects = _apply(project, keys, action, by, values)
        changed = [effect for effect in effects if not effect.problem]
        if changed:
            before = dict(Counter(effect.before for effect in changed))
            names = [effect.item.external_id for effect in changed]
            about = f"{len(changed)} of {len(effects)} selected"
            record(project, LOGGED[action], by=by, about=about, before=before, after=names)
    return effects


def preview(
    project: Project, keys: Collection[UUID], action: str, *, by: User, **values: Any
) -> list[ItemEffect]:
    """Change the items, return what changed, and roll it back."""
    with transaction.atomic():
        effects = _apply(project, keys, action, by, values)
        transaction.set_rollback(True)
    return effects


def _apply(
    project: Project, keys: Collection[UUID], action: str, by: User, values: dict[str, Any]
) -> list[ItemEffect]:
    require_to_change(project, by, CURATOR)
    if len(keys) > MAX_ITEMS:
        detail = f"{len(keys):,} sentences are selected; the limit is {MAX_ITEMS}."
        raise TooLarge("too_many_items", detail, hint="Select fewer.", field="item", limit=MAX_ITEMS)
    present = Item.objects.present().filter(project=project, key__in=keys)
    # locked in one order, so that two curators never wait for each other
    pks = present.order_by("pk").values_list("pk", flat=True)
    items = list(Item.objects.filter(pk__in=list(pks)).order_by("pk").select_for_update(no_key=True))
    if not items:
        raise DomainError("nothing_chosen", "No sentence is selected.", hint="Select some.", field="item")
    return [_one(item, action, by, values) for item in sorted(items, key=lambda item: (item.rank, item.pk))]


def _one(item: Item, action: str, by: User, values: dict[str, Any]) -> ItemEffect:
    before = item.use or item.state
    try:
        with transaction.atomic():
            _change(item, action, by, values)
    except Conflict as error:
        return ItemEffect(item, before, before, f"{error.detail} {error.hint}".strip())
    now = Item.objects.get(pk=item.pk)
    return ItemEffect(item, before, now.use or now.state)


def _change(item: Item, action: str, by: User, values: dict[str, Any]) -> None:
    is_excluded = item.state == Item.State.UNUSABLE
    if action == EXCLUDE:
        decisions.exclude_item(item, by=by, **values)
    elif action == GOLD:
        gold_questions.make_gold_question(item, by=by, **values)
    elif item.use:
        raise Conflict("not_decided", "A gold question has no outcome.")
    elif is_excluded != (action == INCLUDE):
        detail = "This sentence is excluded." if is_excluded else "This sentence is not excluded."
        raise Conflict("not_decided", detail, hint="Include it again." if is_excluded else "")
    elif item.state == Item.State.SETTLED:
        if not decisions.may_ask_one_more(item, item.project):
            raise Conflict("nobody_left", "Nobody is left who could answer this sentence.")
        decisions.ask_one_more(item, by=by)
    else:
        decisions.reopen(item, by=by)
