"""Task of the confined process: run a pipeline over documents."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import spacy
from spacy.language import Language
from spacy.tokens import Doc

from evalsvc.core.formats import spacy_pipeline

BATCH = 64


def run(folder: Path, *, begin: Callable[[], None]) -> None:
    """Read the model and the inputs and write the result."""
    model = folder / "model"
    # The upload was checked as text; check it again as the pipeline's own reader understands it.
    spacy_pipeline.check_config(spacy.util.load_config(model / "config.cfg", interpolate=True))
    begin()
    nlp = spacy.load(model)
    with (folder / "out" / "result.jsonl").open("r+", encoding="utf-8") as out:
        for line in predictions(nlp, folder / "in" / "inputs.jsonl"):
            out.write(json.dumps(line, ensure_ascii=False) + "\n")


def predictions(nlp: Language, inputs: Path) -> Iterator[dict[str, Any]]:
    with inputs.open(encoding="utf-8") as lines:
        documents = ((document(nlp, item), item) for item in map(json.loads, lines))
        for doc, item in nlp.pipe(documents, as_tuples=True, batch_size=BATCH):
            yield {"id": item["id"], "spans": spans(doc, by_token=item.get("tokens") is not None)}


def document(nlp: Language, item: dict[str, Any]) -> Doc:
    """Return the document with the gold's tokens, else of its text."""
    if item.get("tokens") is not None:
        return Doc(nlp.vocab, words=item["tokens"])
    return nlp.make_doc(item["text"])


def spans(doc: Doc, *, by_token: bool) -> list[tuple[int, int, str]]:
    if by_token:
        return [(entity.start, entity.end, entity.label_) for entity in doc.ents]
    return [(entity.start_char, entity.end_char, entity.label_) for entity in doc.ents]
