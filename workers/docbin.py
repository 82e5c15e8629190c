"""spaCy DocBin: frozen test sets out, documents in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import spacy
from spacy.tokens import Doc, DocBin

from evalsvc.core.formats.documents import Document
from evalsvc.core.formats.registry import Export

GROUP = "sc"


def write(documents: Iterable[Document], export: Export) -> Iterator[tuple[str, Iterable[bytes]]]:
    """Yield one DocBin: `doc.ents` flat, all spans in a group, relations by first tokens in `doc._.rel`."""
    if not Doc.has_extension("rel"):
        Doc.set_extension("rel", default=None)
    nlp = spacy.blank("xx")
    docs = DocBin(store_user_data=True)
    for document in documents:
        words, spaces = _words(document)
        doc = Doc(nlp.vocab, words=words, spaces=spaces)
        if doc.text != document.text:
            export.lost["documents whose text spaCy can't hold"] += 1
            continue
        # tokens of blanks stand between those of the document
        marked = [doc.char_span(start, end, label) for start, end, label in document.spans]
        spans = [span for span in marked if span is not None]  # tokens are cut at spans: none is missing
        doc.spans[GROUP] = spans
        doc.ents = spacy.util.filter_spans(spans)
        relations: dict[tuple[int, int], dict[str, float]] = {}
        for head, name, tail in document.links:
            named = relations.setdefault((spans[head].start, spans[tail].start), {})
            export.lost["relations of spans that begin at the same tokens"] += name in named
            named[name] = 1.0
        doc._.rel = relations
        doc.user_data["id"] = document.id
        docs.add(doc)
    yield f"{export.name}.spacy", [docs.to_bytes()]


def _words(document: Document) -> tuple[list[str], list[bool]]:
    """Return the words of spaCy: one space may follow each, other blanks are words of their own."""
    words: list[str] = []
    spaces: list[bool] = []
    at = 0
    for start, end in [*document.places, (len(document.text), len(document.text))]:
        between = document.text[at:start]
        if words and between.startswith(" "):
            spaces[-1] = True
            between = between[1:]
        if between:
            words.append(between)
            spaces.append(False)
        if start < end:
            words.append(document.text[start:end])
            spaces.append(False)
        at = end
    return words, spaces
