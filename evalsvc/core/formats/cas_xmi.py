"""UIMA CAS as XMI, a file per document, as INCEpTION exports it; by dkpro-cassis, an optional package.

Spans are `custom.Span` and relations `custom.Relation` (Governor = head, Dependent = tail), each with the
feature `label`. Offsets in the file count UTF-16 units; cassis turns them into code points.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any

from evalsvc.core.formats.brat import file_name
from evalsvc.core.formats.documents import Document
from evalsvc.core.formats.extras import require_extra
from evalsvc.core.formats.json_documents import read_whole, votes_of
from evalsvc.core.formats.json_lines import identifier
from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.records import ItemLine, Link, Span, VoteLine
from evalsvc.core.formats.registry import Export, Format, Reader, Writer, register
from evalsvc.core.formats.text_lines import LIMITS, Limits, Source
from evalsvc.core.formats.text_spans import checked_spans

SPAN, RELATION = "custom.Span", "custom.Relation"
SEGMENTATION = "de.tudarmstadt.ukp.dkpro.core.api.segmentation.type"
METADATA = "de.tudarmstadt.ukp.dkpro.core.api.metadata.type.DocumentMetaData"


def type_system() -> Any:
    """Return the types of DKPro Core with the two layers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # cassis reads its own file in a way that Python will drop
        types = import_module("cassis").load_dkpro_core_typesystem()
    annotation = "uima.tcas.Annotation"
    span = types.create_type(name=SPAN, supertypeName=annotation)
    types.create_feature(domainType=span, name="label", rangeType="uima.cas.String")
    relation = types.create_type(name=RELATION, supertypeName=annotation)
    types.create_feature(domainType=relation, name="label", rangeType="uima.cas.String")
    types.create_feature(domainType=relation, name="Governor", rangeType=span)
    types.create_feature(domainType=relation, name="Dependent", rangeType=span)
    return types


def write(documents: Iterable[Document], export: Export) -> Iterator[tuple[str, Iterable[bytes]]]:
    """Yield the type system, then a file per document."""
    require_extra("cas-xmi")
    types = type_system()
    metadata = types.create_type(name=METADATA, supertypeName="uima.tcas.DocumentAnnotation")
    for name in ("documentTitle", "documentId"):
        types.create_feature(domainType=metadata, name=name, rangeType="uima.cas.String")
    yield "TypeSystem.xml", [types.to_xml().encode()]
    for document in documents:
        yield f"annotation/{file_name(document.id)}.txt/gold.xmi", [_xmi(document, types)]


def _xmi(document: Document, types: Any) -> bytes:
    cas = import_module("cassis").Cas(typesystem=types)
    cas.sofa_string, cas.sofa_mime = document.text, "text/plain"
    metadata = types.get_type(METADATA)
    title = {"documentTitle": f"{document.id}.txt", "documentId": "gold", "language": "x-unspecified"}
    rows = [metadata(begin=0, end=len(document.text), **title)]
    sentence, token = (types.get_type(f"{SEGMENTATION}.{name}") for name in ("Sentence", "Token"))
    for first, end in document.sentences:
        rows.append(sentence(begin=document.places[first][0], end=document.places[end - 1][1]))
    rows += [token(begin=begin, end=end) for begin, end in document.places]
    kinds = types.get_type(SPAN), types.get_type(RELATION)
    spans = [kinds[0](begin=begin, end=end, label=label) for begin, end, label in document.spans]
    rows += spans
    for head, name, tail in document.links:
        place = {"begin": spans[tail].begin, "end": spans[tail].end}
        rows.append(kinds[1](label=name, Governor=spans[head], Dependent=spans[tail], **place))
    cas.add_all(rows)
    return bytes(cas.to_xmi().encode())


def read(
    source: Source, *, problems: Problems, name: str = "document", limits: Limits = LIMITS
) -> Iterator[tuple[int, ItemLine]]:
    """Yield the document; a file with a document type or entities is refused before it is parsed."""
    require_extra("cas-xmi")
    data = read_whole(source, problems=problems, limits=limits)
    item_id = identifier(name, line=1, field="name", problems=problems)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        problems.stop("not_utf8", value=f"byte 0x{data[error.start]:02x}", expected="UTF-8")
    for word in ("<!DOCTYPE", "<!ENTITY"):
        if word in text:
            line = text.count("\n", 0, text.index(word)) + 1
            problems.stop("bad_xml", line=line, value=word, expected="XML without document type and entities")
    cassis = import_module("cassis")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of each type that is not needed here
            cas = cassis.load_cas_from_xmi(io.BytesIO(data), typesystem=type_system(), lenient=True)
        spans = list(cas.select(SPAN))
        relations = list(cas.select(RELATION))
    except Exception as error:  # noqa: BLE001 - whatever the parser says of a damaged file
        problems.stop("bad_xml", value=f"{type(error).__name__}: {error}", expected="XMI of a CAS")
    at = {id(span): number for number, span in enumerate(spans)}
    places: list[Span] = [(span.begin, span.end, span.label or "") for span in spans]
    ends = [(relation.Governor, relation.label or "", relation.Dependent) for relation in relations]
    links: list[Link] = [
        (at[id(head)], label, at[id(tail)]) for head, label, tail in ends if {id(head), id(tail)} <= at.keys()
    ]
    sofa = cas.sofa_string or ""
    checked = checked_spans(places, links, length=len(sofa), line=1, problems=problems)
    if len(links) < len(ends):
        problems.add(
            "bad_reference",
            line=1,
            value=f"{len(ends) - len(links)} relations",
            expected="spans of this file",
        )
    elif checked is not None and item_id is not None:
        yield 1, ItemLine(item_id, sofa, spans=checked[0], relations=checked[1])


def read_votes(
    source: Source, *, problems: Problems, name: str = "", item: str = "", limits: Limits = LIMITS
) -> Iterator[tuple[int, VoteLine]]:
    """Yield the answer of the person that the file is named after, as INCEpTION names its files."""
    items = read(source, problems=problems, limits=limits)
    yield from votes_of(items, item=item, annotator=name, problems=problems)


FORMAT = register(
    Format(
        "cas-xmi",
        "UIMA CAS XMI (INCEpTION)",
        "A document per file. Spans are custom.Span, relations custom.Relation, each with the feature label.",
        '<xmi:XMI xmlns:xmi="http://www.omg.org/XMI">',
        roles=("items", "gold", "votes"),
        rank=57,
        recognise=lambda sample: "<xmi:XMI" in "".join(sample.lines[:2])[:2000],
        readers={"items": Reader(read, ("name",)), "votes": Reader(read_votes, ("name", "item"))},
        writer=Writer(
            write,
            ("entities", "joint"),
            "UTF-16 units",
            "Nothing. Paragraphs are the sentences.",
            extra="dkpro-cassis",
        ),
        merge_by="id",
        marks="spans",
    )
)
