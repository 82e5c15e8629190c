"""Search of the error browser: items whose text has some words."""

from __future__ import annotations

import json
import re

from annotation.testset import TestSet, TestSetRow
from evalsvc.evaluation.disclosure.outcomes import Outcomes

MOST_CHARACTERS = 100


def items_with(text: str, outcomes: Outcomes, test_set: TestSet) -> frozenset[int]:
    """Return the places of the items with a text in one of their sentences, in any case."""
    rows = TestSetRow.objects.filter(test_set=test_set)
    # databases fold ASCII alone alike, and lines have tokens and escapes
    for word in re.findall(r"[a-z0-9]+", text, re.IGNORECASE | re.ASCII):
        rows = rows.filter(line__icontains=word)
    wanted = " ".join(text.casefold().split())
    lines = rows.values_list("external_id", "line").iterator(chunk_size=2000)
    found = {name for name, line in lines if wanted in _text(json.loads(line))}
    if outcomes.sentences is None:
        return frozenset(at for at, name in enumerate(outcomes.ids) if name in found)
    return frozenset(at for at, names in enumerate(outcomes.sentences) if not found.isdisjoint(names))


def _text(line: dict[str, object]) -> str:
    tokens = line.get("tokens")
    text = str(line.get("text") or (" ".join(map(str, tokens)) if isinstance(tokens, list) else ""))
    return " ".join(text.casefold().split())
