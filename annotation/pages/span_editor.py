"""The span editor in a form: what it needs, and the answer that it sends."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from annotation.models import Item
from annotation.ontology.inventory import inventory
from annotation.pages.dispute_view import as_json
from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.web.text_validation import check_storable


@dataclass
class SpanEditor:
    """A text to mark; `answer` is JSON, and `at` the offset shown first."""

    item: Item
    answer: str
    at: int = 0

    @cached_property
    def types(self) -> list[Any]:
        return inventory(self.item.project, "entity")

    @cached_property
    def relation_types(self) -> list[Any]:
        return inventory(self.item.project, "relation")

    @property
    def setup(self) -> str:
        """Return what the script needs, as JSON."""
        setup = {
            "item": {"text": self.item.text, "tokens": self.item.tokens},
            "labels": [{"name": each.name, "title": each.title, "key": each.key} for each in self.types],
            "relations": [
                {"name": each.name, "title": each.title, "key": each.key, "phrase": each.phrase}
                | {"head": each.head_type, "tail": each.tail_type}
                for each in self.relation_types
            ],
            "mayOverlap": self.item.project.spans_may_overlap,
            "bySentence": self.item.project.by_sentence,
            "at": self.at,
        }
        return as_json(setup)


def read_answer(text: str, field: str = "answer") -> Any:
    """Parse JSON of a form, or reject it."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise unreadable(field) from error
    check_storable(value, field=field)
    return value


def unreadable(field: str) -> DomainError:
    hint = (
        'Write {"spans": [[start, end, label], …], "relations": [[span number, relation, span number], …]}.'
    )
    return DomainError("bad_payload", "The answer is not valid JSON.", hint=hint, field=field)
