"""Texts of a label: title, verb phrase, definition, examples, heading, kinds of head and tail."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from annotation.models import OntologyLabel
from annotation.ontology.inventory import lock_project
from annotation.ontology.labels import TEXT_FIELDS
from annotation.roles import CURATOR, require_to_change
from evalsvc.core.accounts.models import User
from evalsvc.core.activity.models import record
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
TEXTS_HINT = (
    f"Fields: {', '.join(TEXT_FIELDS)}. "
    f"Limits: {', '.join(f'{name} up to {most:,} characters' for name, most in MAX_LENGTHS.items())}; "
    "the title must not be empty. "
    f"{' and '.join(EXAMPLES)}: up to {MAX_EXAMPLES} examples of {MAX_EXAMPLE_LENGTH:,} characters."
)


@transaction.atomic
def set_texts(label: OntologyLabel, *, by: User, **texts: Any) -> OntologyLabel:
    """Change a label's texts; its name and so all answers stay."""
    require_to_change(label.project, by, CURATOR)
    lock_project(label.project)
    for name, value in texts.items():
        if not _is_valid_text(name, value):
            raise DomainError("bad_label", f"Invalid {name}: {value!r:.80}.", hint=TEXTS_HINT, field=name)
    before = {name: getattr(label, name) for name in texts}
    record(label.project, "label texts", by=by, about=label.name, before=before, after=texts)
    OntologyLabel.objects.filter(pk=label.pk).update(**texts)
    label.refresh_from_db()
    return label


def _is_valid_text(name: str, value: Any) -> bool:
    if name in EXAMPLES:
        return (
            isinstance(value, list)
            and len(value) <= MAX_EXAMPLES
            and all(isinstance(text, str) and 0 < len(text) <= MAX_EXAMPLE_LENGTH for text in value)
        )
    is_short = isinstance(value, str) and len(value) <= MAX_LENGTHS.get(name, -1)
    return is_short and (name != "title" or bool(value.strip()))
