"""Facts of an answer: labels between two entities, or spans and links of a document."""

from __future__ import annotations

from typing import Any

from annotation.consensus.choices import choices_of
from annotation.models import Item
from evalsvc.core.formats.label_mapping import Payload

Fact = tuple[Any, ...]
WITH_GOLD = (Item.State.SETTLED, Item.State.ADJUDICATED)


def facts_of(item: Item, payload: Payload) -> set[Fact]:
    """Return facts that end with label and tail; spans and links of a document are facts of its own."""
    if item.head is not None and item.tail is not None:
        head, tail = (mention["id"] or mention["name"] for mention in (item.head, item.tail))
        return {(head, name, tail) for name in payload["relations"]}
    return {
        (item.pk, choice[:2], choice[2], "") if isinstance(choice[1], int) else (item.pk, *choice)
        for choice in choices_of(payload)
    }
