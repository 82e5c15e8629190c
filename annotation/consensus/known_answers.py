"""Known answers of gold questions, and whether an answer is right.

Answers are compared by digests. To read a known answer of many marks would take time that tells hidden checks
from ordinary sentences.
"""

from __future__ import annotations

import hashlib
from itertools import product
from typing import Any

from django.db.models import QuerySet

from annotation.consensus.choices import choices_of
from annotation.models import Item, KnownAnswer
from evalsvc.core.formats.label_mapping import LabelMapping, Payload


def known_answer(item: Item, payload: Payload, mapping: LabelMapping, **values: Any) -> KnownAnswer:
    """Return a row with its digest; it isn't stored yet."""
    return KnownAnswer(item=item, payload=payload, digest=digest(payload, mapping), **values)


def digest(payload: Payload, mapping: LabelMapping) -> str:
    """Return the digest of the mapping, then that of the answer's choices in current labels.

    The second part is missing if a label was split: it has several current ones.
    """
    choices = _current_choices(payload, mapping)
    if any(len(options) > 1 for options in choices):
        return mapping.digest
    names = sorted(map(repr, frozenset[Any]().union(*choices)))
    return mapping.digest + hashlib.sha256(repr(names).encode()).hexdigest()


def is_right_on(item: Item, payload: Payload, mapping: LabelMapping) -> bool:
    """True if the answer has the choices of the known one; False on an ordinary sentence.

    An answer on either takes the same work, except on a check with a label that was split.
    """
    sent = digest(payload, mapping)
    known = KnownAnswer.objects.filter(pk=item.pk).only("digest").first()
    if known is None:
        return False
    if not known.digest.startswith(mapping.digest):
        store_digests(KnownAnswer.objects.filter(pk=item.pk), mapping)
        known.refresh_from_db(fields=["digest"])
    if mapping.digest not in (sent, known.digest):
        return sent == known.digest
    return is_right(payload, known.payload, mapping)


def store_digests(known_answers: QuerySet[KnownAnswer], mapping: LabelMapping) -> None:
    """Store the digests of known answers where labels have changed since."""
    for known in known_answers.exclude(digest__startswith=mapping.digest).only("payload"):
        KnownAnswer.objects.filter(pk=known.pk).update(digest=digest(known.payload, mapping))


def is_right(payload: Payload, known: Payload, mapping: LabelMapping) -> bool:
    """True if the choices are those of the known answer; for a label that was split, any of its parts.

    All are compared, also after one that differs: else a reply would take longer the more of them are right.
    """
    chosen, expected = (_current_choices(each, mapping) for each in (payload, known))
    return _are_among(chosen, expected) & _are_among(expected, chosen)


def _are_among(choices: list[frozenset[Any]], others: list[frozenset[Any]]) -> bool:
    """True if each choice has an option of the others."""
    options = frozenset[Any]().union(*others)
    return not sum(options.isdisjoint(choice) for choice in choices)


def _current_choices(payload: Payload, mapping: LabelMapping) -> list[frozenset[Any]]:
    """Return what each choice may mean in current labels; deleted ones are left out."""

    def current(choice: Any) -> frozenset[Any]:
        if isinstance(choice, str):
            return frozenset(mapping.inventory([choice]))
        if isinstance(choice[0], tuple):
            return frozenset(product(*map(current, choice)))
        start, end, label = choice
        return frozenset((start, end, name) for name in current(label))

    return [options for choice in choices_of(payload) if (options := current(choice))]
