"""What people read of a label when they choose it: title, verb phrase, definition, examples and the like."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from annotation.models import OntologyLabel
from annotation.ontology.inventory import TEXT_FIELDS, lock_project
from annotation.roles import CURATOR, require
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import DomainError

LONGEST = {"title": 200, "phrase": 200, "group": 80, "head_type": 60, "tail_type": 60, "definition": 20_000}
EXAMPLES = ("choose", "avoid")
MOST_EXAMPLES, LONGEST_EXAMPLE = 50, 1_000


@transaction.atomic
def set_texts(label: OntologyLabel, *, by: User, **words: Any) -> OntologyLabel:
    """Give a label other words; its name, and so every answer, stays as it is."""
    require(label.project, by, CURATOR)
    lock_project(label.project)
    for word, said in words.items():
        if not _fits(word, said):
            raise DomainError(
                "bad_label", f"{word}: {said!r:.80} can’t be used.", hint=_expected(), field=word
            )
    OntologyLabel.objects.filter(pk=label.pk).update(**words)
    label.refresh_from_db()
    return label


def _fits(word: str, said: Any) -> bool:
    if word in EXAMPLES:
        return (
            isinstance(said, list)
            and len(said) <= MOST_EXAMPLES
            and all(isinstance(one, str) and 0 < len(one) <= LONGEST_EXAMPLE for one in said)
        )
    fits = isinstance(said, str) and len(said) <= LONGEST.get(word, -1)
    return fits and (word != "title" or bool(said.strip()))


def _expected() -> str:
    lengths = ", ".join(f"{word} up to {most:,} letters" for word, most in LONGEST.items())
    return (
        f"Fields: {', '.join(TEXT_FIELDS)}. Limits: {lengths}; the title is never empty. "
        f"{' and '.join(EXAMPLES)}: at most {MOST_EXAMPLES} examples of up to {LONGEST_EXAMPLE:,} letters."
    )
