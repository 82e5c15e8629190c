"""Forms of prediction lines, and a correct line of each as an example."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from evalsvc.core.formats.records import (
    BagPrediction,
    EntityTextsPrediction,
    LabelPrediction,
    LabelsPrediction,
    ScoresPrediction,
    SpansPrediction,
    TagsPrediction,
    TriplesPrediction,
)

Form = Literal["label", "labels", "scores", "bag", "spans", "tags", "entity_texts", "triple_texts"]
FORM_OF: dict[type[Any], Form] = {
    LabelPrediction: "label",
    LabelsPrediction: "labels",
    ScoresPrediction: "scores",
    BagPrediction: "bag",
    SpansPrediction: "spans",
    TagsPrediction: "tags",
    EntityTextsPrediction: "entity_texts",
    TriplesPrediction: "triple_texts",
}
FORMS: tuple[Form, ...] = tuple(FORM_OF.values())
TEXT_FORMS: tuple[Form, ...] = ("entity_texts", "triple_texts")
BAG_ONLY: tuple[Form, ...] = ("bag",)
# In these forms an item without a line has no label, and costs recall.
SILENT_FORMS: frozenset[Form] = frozenset({"labels", "scores", "bag"})

KEY_OF = {str(form): f'"{form}"'.encode() for form in FORMS} | {
    "bag": b'"relation"',
    "entity_texts": b'"entities"',
    "triple_texts": b'"triples"',
}
SINGLE_TAG = {"BIOES": "S", "BILOU": "U"}
MAX_EXAMPLE_TAGS, FIRST_LINES = 12, 50


@dataclass
class ExampleLines:
    """Correct prediction lines in the form of the file.

    They are shown with errors. Their answer is arbitrary.
    """

    ids: Collection[str]
    labels: Collection[str]
    pairs: Collection[tuple[str, str]] | None
    forms: Sequence[str]
    lengths: Mapping[str, int] | None
    scheme: str | None
    relations: Collection[str]
    head: bytes = b""
    form: str = ""
    write_line: Callable[[str, str, str], str | None] = lambda id, label, tag: None

    def guess_form(self) -> str:
        """Return the form that the first lines seem to have."""
        for line in self.head.split(b"\n", FIRST_LINES)[:FIRST_LINES]:
            matching = [form for form in self.forms if KEY_OF.get(form, b"\0") in line]
            if matching:
                return matching[0]
        return (*self.forms, "label")[0]

    @cached_property
    def usual(self) -> tuple[str, str, tuple[str, str]]:
        """Return the alphabetically first expected id, label and pair."""
        pair = min(self.pairs) if self.pairs else ("Q1", "Q2")
        return min(self.ids, default="s1"), min(self.labels, default="born_in"), pair

    def __call__(self, code: str, *, id: str = "", label: str = "") -> str:
        """Return a correct line, with the id and label if given."""
        usual_id, usual_label, pair = self.usual
        name, label = id or usual_id, label or usual_label
        tag = f"{SINGLE_TAG.get(self.scheme or '', 'B')}-{label}"
        line = self.write_line(name, label, tag)
        if line is not None:
            return line
        length = (self.lengths or {}).get(name, 1)
        tags = [tag, "O", "…"] if length > MAX_EXAMPLE_TAGS else [tag] + ["O"] * (length - 1)
        relation = min(self.relations, default=label)
        shapes: dict[str, dict[str, Any]] = {
            "label": {"id": name, "label": label},
            "labels": {"id": name, "labels": [label]},
            "scores": {"id": name, "scores": {label: 0.93}},
            "bag": {"h": pair[0], "t": pair[1], "relation": label, "score": 0.93},
            "spans": {"id": name, "spans": [[0, 1, label]]},
            "tags": {"id": name, "tags": tags},
            "entity_texts": {"id": name, "entities": [["Ada Byron", label]]},
            "triple_texts": {"id": name, "triples": [["Ada Byron", relation, "Turin"]]},
        }
        if self.relations:
            shapes["spans"] |= {"relations": [[0, relation, 0]]}
        return json.dumps(shapes[self.form or self.guess_form()], ensure_ascii=False)
