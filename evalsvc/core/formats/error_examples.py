"""What is right looks like this: an example of the fix for every code, and a right line in every form."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Any

MENTION = '"h": {"name": "Ada", "pos": [0, 3]}'
EXAMPLES: dict[str, str] = {
    "not_utf8": "iconv -f WINDOWS-1252 -t UTF-8 FILE > FILE.utf8",
    "nul_character": "iconv -f UTF-16 -t UTF-8 FILE > FILE.utf8",
    "empty_file": '{"id": "s1", "label": "born_in"}',
    "too_large": "split -l 100000 FILE",
    "too_many_lines": "sort -u FILE | wc -l",
    "line_too_long": "jq -c '.[]' FILE > FILE.jsonl",
    "bad_gzip": "gzip -c FILE > FILE.gz && gzip -t FILE.gz",
    "unknown_format": '{"id": "s1", "label": "born_in"}',
    "not_json": '{"id": "s1", "label": "born_in"}',
    "lone_surrogate": '{"id": "s1", "label": "born_in"}',
    "unknown_key": '{"id": "s1", "label": "born_in"}',
    "missing_key": '{"id": "s1", "label": "born_in"}',
    "duplicate_key": '{"id": "s1", "label": "born_in"}',
    "wrong_type": '{"id": "s1", "label": "born_in"}',
    "mixed_forms": '{"id": "s1", "label": "born_in"}',
    "wrong_columns": "Turin\tB-place",
    "no_scheme": '{"scheme": "IOB2"}',
    "bad_tag": "Turin\tB-place",
    "bad_block": '8001\t"The <e1>letter</e1> was about <e2>tides</e2>."',
    "bad_npy": 'numpy.save("scores.npy", numpy.ascontiguousarray(scores, dtype="float32"))',
    "wrong_shape": "scores.shape == (sentences, labels)",
    "bad_span": '{"id": "s1", "spans": [[0, 1, "person"]]}',
    "bad_reference": '{"id": "s1", "spans": [[0, 1, "p"], [3, 4, "q"]], "relations": [[0, "at", 1]]}',
    "duplicate_span": '{"id": "s1", "spans": [[0, 1, "person"]]}',
    "entity_not_in_text": f'{{{MENTION}, "t": {{"name": "Turin"}}, "text": "Ada was born in Turin."}}',
    "ambiguous_entity": MENTION,
    "loose_entity": MENTION,
    "other_words": MENTION,
    "missing_id": '{"id": "s1", "label": "N/A"}',
    "unknown_id": '{"id": "s1", "label": "born_in"}',
    "duplicate_id": '{"id": "s1", "label": "born_in"}',
    "duplicate_claim": '{"h": "Q1", "t": "Q2", "relation": "born_in", "score": 0.93}',
    "duplicate_vote": '{"annotator": "ann1", "item": "s1", "labels": ["born_in"]}',
    "duplicate_label": '{"id": "s1", "labels": ["born_in"]}',
    "unknown_label": '{"id": "s1", "label": "born_in"}',
    "near_label": '{"id": "s1", "label": "born_in"}',
    "negative_with_label": '{"id": "s1", "labels": ["born_in"]}',
    "bad_score": '{"id": "s1", "scores": {"born_in": 0.93}}',
    "token_mismatch": '{"id": "s1", "tags": ["B-person", "O", "O"]}',
    "empty_cell": "s1\tw7\tNONE",
}  # fmt: skip
# These are said better by a line of the format that is being read than by the words above.
OF_A_LINE = EXAMPLES.keys() - {
    *("not_utf8", "nul_character", "too_large", "too_many_lines", "line_too_long", "bad_gzip"),
    *("no_scheme", "bad_block", "bad_npy", "wrong_shape", "ambiguous_entity", "loose_entity", "empty_cell"),
    "other_words",
}
MOST_TAGS, FEW_LINES = 12, 50
KEY_OF = {form: f'"{form}"'.encode() for form in ("label", "labels", "scores", "spans", "tags")} | {
    "bag": b'"relation"'
}
FIRST = {"BIOES": "S", "BILOU": "U"}


class RightLines:
    """Lines of predictions that are right in the form at hand; the answer in them is any answer."""

    def __init__(
        self,
        *,
        ids: Collection[str],
        labels: Collection[str],
        pairs: Collection[tuple[str, str]] | None,
        forms: Sequence[str],
        lengths: Mapping[str, int] | None,
        scheme: str | None,
        relations: Collection[str],
    ) -> None:
        self.ids, self.labels, self.pairs, self.relations = ids, labels, pairs, relations
        self.lengths, self.first_tag = lengths or {}, FIRST.get(scheme or "", "B")
        self.forms, self.form, self.format = forms, (*forms, "label")[0], ""

    def begin(self, head: bytes) -> None:
        """The form that the first lines of a file seem to have, until one of them is taken."""
        for line in head.split(b"\n", FEW_LINES)[:FEW_LINES]:
            seen = [form for form in self.forms if KEY_OF.get(form, b"\0") in line]
            if seen:
                self.form = seen[0]
                return

    @cached_property
    def usual(self) -> tuple[str, str, tuple[str, str]]:
        """An id, a label and a pair: the first by name, whatever their answer is."""
        pair = min(self.pairs) if self.pairs else ("Q1", "Q2")
        return min(self.ids, default="s1"), min(self.labels, default="born_in"), pair

    def __call__(self, code: str, *, id: str = "", label: str = "") -> str:
        """A line as the file should have it; `id` and `label` where they are what is wrong."""
        usual_id, usual_label, pair = self.usual
        name, label = id or usual_id, label or usual_label
        tag = f"{self.first_tag}-{label}"
        if self.format == "conll":
            return f"Turin\t{tag}"
        if self.format == "semeval-answers" and name.isdigit():
            return f"{name}\t{label}"
        shapes: dict[str, dict[str, Any]] = {
            "label": {"id": name, "label": label},
            "labels": {"id": name, "labels": [label]},
            "scores": {"id": name, "scores": {label: 0.93}},
            "bag": {"h": pair[0], "t": pair[1], "relation": label, "score": 0.93},
            "spans": {"id": name, "spans": [[0, 1, label]]},
            "tags": {"id": name, "tags": _tags(self.lengths.get(name, 1), tag)},
        }
        if code == "bad_reference" and self.relations:
            shapes["spans"] |= {"relations": [[0, min(self.relations), 0]]}
        return json.dumps(shapes[self.form], ensure_ascii=False)


def _tags(length: int, first: str) -> list[str]:
    """As many tags as there are tokens; of many only so many that one sees what is meant."""
    return ([first] + ["O"] * (length - 1))[: max(1, length)] if length <= MOST_TAGS else [first, "O", "…"]
