"""Texts of a label: title, verb phrase, definition, examples and the like."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from annotation.models import OntologyLabel
from annotation.ontology.inventory import TEXT_FIELDS, lock_project
from annotation.roles import CURATOR, require
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import DomainError

MAX_LENGTHS = {
    "title": 200,
    "phrase": 200,
    "group": 80,
    "head_type": 60,
    "tail_type": 60,
    "definition": 20_000,
}
EXAMPLES = ("choose", "avoid")
MAX_EXAMPLES, MAX_EXAMPLE_LENGTH = 50, 1_000


@transaction.atomic
def set_texts(label: OntologyLabel, *, by: User, **texts: Any) -> OntologyLabel:
    """Change a label's texts; its name and so all answers stay."""
    require(label.project, by, CURATOR)
    lock_project(label.project)
    for name, value in texts.items():
        if not _is_valid(name, value):
            raise DomainError("bad_label", f"Invalid {name}: {value!r:.80}.", hint=_expected(), field=name)
    OntologyLabel.objects.filter(pk=label.pk).update(**texts)
    label.refresh_from_db()
    return label


def _is_valid(name: str, value: Any) -> bool:
    if name in EXAMPLES:
        return (
            isinstance(value, list)
            and len(value) <= MAX_EXAMPLES
            and all(isinstance(text, str) and 0 < len(text) <= MAX_EXAMPLE_LENGTH for text in value)
        )
    is_short = isinstance(value, str) and len(value) <= MAX_LENGTHS.get(name, -1)
    return is_short and (name != "title" or bool(value.strip()))


def _expected() -> str:
    lengths = ", ".join(f"{word} up to {most:,} characters" for word, most in MAX_LENGTHS.items())
    return (
        f"Fields: {', '.join(TEXT_FIELDS)}. Limits: {lengths}; the title must not be empty. "
        f"{' and '.join(EXAMPLES)}: up to {MAX_EXAMPLES} examples of {MAX_EXAMPLE_LENGTH:,} characters."
    )
