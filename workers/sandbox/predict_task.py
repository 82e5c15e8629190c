"""A pipeline over the inputs, confined: one result line per document."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import spacy
from spacy.language import Language
from spacy.tokens import Doc

from evalsvc.core.formats import spacy_pipeline

BATCH = 64


def run(folder: Path) -> None:
    """Read model and inputs, write the result."""
    model = folder / "model"
    # What the web read as text is read once more as the pipeline's own reader understands it.
    spacy_pipeline.check_config(spacy.util.load_config(model / "config.cfg", interpolate=True))
    nlp = spacy.load(model)
    with (folder / "out" / "result.jsonl").open("r+", encoding="utf-8") as out:
        for line in predicted(nlp, folder / "in" / "inputs.jsonl"):
            out.write(json.dumps(line, ensure_ascii=False) + "\n")


def predicted(nlp: Language, inputs: Path) -> Iterator[dict[str, Any]]:
    with inputs.open(encoding="utf-8") as lines:
        documents = ((made(nlp, given), given) for given in map(json.loads, lines))
        for doc, given in nlp.pipe(documents, as_tuples=True, batch_size=BATCH):
            yield {"id": given["id"], "spans": spans(doc, by_token=given.get("tokens") is not None)}


def made(nlp: Language, given: dict[str, Any]) -> Doc:
    """The document as the gold has it: its tokens, or its text where it has none."""
    if given.get("tokens") is not None:
        return Doc(nlp.vocab, words=given["tokens"])
    return nlp.make_doc(given["text"])


def spans(doc: Doc, *, by_token: bool) -> list[tuple[int, int, str]]:
    if by_token:
        return [(entity.start, entity.end, entity.label_) for entity in doc.ents]
    return [(entity.start_char, entity.end_char, entity.label_) for entity in doc.ents]
