"""spaCy's DocBin keeps spans, relations and ids."""

from __future__ import annotations

import zlib

import pytest
import spacy
from spacy.tokens import DocBin

from evalsvc.core.formats.documents import document
from evalsvc.core.formats.problems import FileRejected, Problems
from evalsvc.core.formats.readers import open_items
from evalsvc.core.formats.registry import Export, recognise_source
from evalsvc.core.formats.text_lines import Limits
from tests.evalsvc.core.formats.test_round_trips import DOCUMENTS, in_code_points, of_item
from workers.docbin import AMBIGUOUS, GROUP, write


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
    assert +export.lost == {AMBIGUOUS: 2}  # of two labels on one span


def written() -> bytes:
    documents = [found for gold in DOCUMENTS if (found := document(gold)) is not None]
    ((_, pieces),) = write(documents, Export("set", "A set"))
    return b"".join(pieces)


def test_documents_come_back_from_a_docbin() -> None:
    assert recognise_source(written()) == "spacy-docbin"
    problems = Problems()
    items = [item for _, item in open_items(written(), format="spacy-docbin", problems=problems)]
    assert problems.total == 0
    back = {item.id: of_item(item) for item in items}
    # relations are of first tokens: one of two labels on a span is not told apart
    ambiguous = {"twice"}
    assert {name: found for name, found in back.items() if name not in ambiguous} == {
        gold["id"]: in_code_points(gold) for gold in DOCUMENTS if gold["id"] not in ambiguous
    }


@pytest.mark.parametrize(
    "data", [b"x\x9cnothing", zlib.compress(b"\x81\xa1a\x01"), zlib.compress(b"\x00" * 64)]
)
def test_a_damaged_docbin_is_refused(data: bytes) -> None:
    with pytest.raises(FileRejected) as error:
        list(open_items(data, format="spacy-docbin", problems=Problems()))
    assert error.value.problems.first[0].code == "bad_binary"


def test_a_docbin_that_unpacks_above_the_limit_is_refused() -> None:
    bomb = zlib.compress(b"\x00" * (1 << 22))
    with pytest.raises(FileRejected) as error:
        list(open_items(bomb, format="spacy-docbin", problems=Problems(), limits=Limits(max_bytes=1 << 20)))
    assert error.value.problems.first[0].code == "too_large"
