"""spaCy's DocBin keeps spans, relations and ids."""

from __future__ import annotations

import spacy
from spacy.tokens import DocBin

from evalsvc.core.formats.documents import document
from evalsvc.core.formats.registry import Export
from tests.evalsvc.core.formats.test_round_trips import DOCUMENTS
from workers.docbin import GROUP, write


def test_docbin_holds_every_document() -> None:
    export = Export("set", "A set")
    documents = [found for gold in DOCUMENTS if (found := document(gold)) is not None]
    ((name, pieces),) = write(documents, export)
    docs = list(DocBin().from_bytes(b"".join(pieces)).get_docs(spacy.blank("xx").vocab))
    assert (name, [doc.user_data["id"] for doc in docs]) == ("set.spacy", [found.id for found in documents])
    for doc, found in zip(docs, documents, strict=True):
        assert doc.text == found.text
        assert [(s.start_char, s.end_char, s.label_) for s in doc.spans[GROUP]] == list(found.spans)
        starts = {(doc[a].idx, name, doc[b].idx) for (a, b), names in doc._.rel.items() for name in names}
        assert starts == {(found.spans[a][0], name, found.spans[b][0]) for a, name, b in found.links}
    assert sum(export.lost.values()) == 0
