"""UIMA CAS as XMI, a file per document, as INCEpTION exports it; by dkpro-cassis, an optional package.

Spans are written as `custom.Span` and relations as `custom.Relation` (Governor = head, Dependent = tail),
each with the feature `label`. Projects name their layers otherwise, so files are read by the layers that they
have, one of each kind. Offsets in the file count UTF-16 units; cassis turns them into code points.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any, NamedTuple

from evalsvc.core.formats.brat import file_name
from evalsvc.core.formats.documents import Document
from evalsvc.core.formats.extras import require_extra
from evalsvc.core.formats.json_documents import read_whole, votes_reader
from evalsvc.core.formats.json_lines import identifier
from evalsvc.core.formats.problems import FileRejected, Problems
from evalsvc.core.formats.records import ItemLine, Link, Span
from evalsvc.core.formats.registry import Export, Format, Reader, Writer, register
from evalsvc.core.formats.text_lines import LIMITS, Limits, Source
from evalsvc.core.formats.text_spans import checked_spans
from evalsvc.core.formats.webanno_tsv import label_feature

SPAN, RELATION = "custom.Span", "custom.Relation"
SEGMENTATION = "de.tudarmstadt.ukp.dkpro.core.api.segmentation.type"
METADATA = "de.tudarmstadt.ukp.dkpro.core.api.metadata.type.DocumentMetaData"
NAMED_ENTITY = "de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity"
MOST_TAGS = 50_000  # of a document; the parser takes a fifth of a millisecond for each
ENCODING = re.compile(r"""\sencoding\s*=\s*["']([^"']*)""")
NO_LAYERS = ("uima.", "de.tudarmstadt.", "org.dkpro.")  # tokens, sentences, metadata, parses
ENDS = {"Governor", "Dependent"}
NO_FEATURES = ENDS | {"{http://www.omg.org/XMI}id", "sofa", "begin", "end", "order"}


class Layers(NamedTuple):
    """Types of spans and of relations, each with the feature that has its label."""

    span: str = SPAN
    span_label: str = "label"
    relation: str = RELATION
    relation_label: str = "label"


def type_system(layers: Layers) -> Any:
    """Return the types of DKPro Core with the two layers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # cassis reads its own file in a way that Python will drop
        types = import_module("cassis").load_dkpro_core_typesystem()
    for name, label, ends in (
        (layers.span, layers.span_label, ()),
        (layers.relation, layers.relation_label, ("Governor", "Dependent")),
    ):
        if types.contains_type(name):
            continue
        layer = types.create_type(name=name, supertypeName="uima.tcas.Annotation")
        types.create_feature(domainType=layer, name=label, rangeType="uima.cas.String")
        for end in ends:
            types.create_feature(domainType=layer, name=end, rangeType=types.get_type(layers.span))
    return types


def write(documents: Iterable[Document], export: Export) -> Iterator[tuple[str, Iterable[bytes]]]:
    """Yield the type system, then a file per document."""
    require_extra("cas-xmi")
    types = type_system(Layers())
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
    text = _text(data, problems)
    if (tags := text.count("<")) > MOST_TAGS:
        problems.stop("too_large", value=f"{tags:,} tags", expected=f"at most {MOST_TAGS:,} tags")
    for word in ("<!DOCTYPE", "<!ENTITY"):
        if word in text:
            line = text.count("\n", 0, text.index(word)) + 1
            problems.stop("bad_xml", line=line, value=word, expected="XML without document type and entities")
    data = text.encode()
    cassis = import_module("cassis")
    try:
        layers = _layers(data, problems)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of each type that is not needed here
            cas = cassis.load_cas_from_xmi(io.BytesIO(data), typesystem=type_system(layers), lenient=True)
        spans = list(cas.select(layers.span))
        relations = list(cas.select(layers.relation))
    except FileRejected:
        raise
    except Exception as error:  # noqa: BLE001 - whatever the parser says of a damaged file
        problems.stop("bad_xml", value=f"{type(error).__name__}: {error}", expected="XMI of a CAS")
    at = {id(span): number for number, span in enumerate(spans)}
    places: list[Span] = [(span.begin, span.end, span[layers.span_label] or "") for span in spans]
    ends = [(link.Governor, link[layers.relation_label] or "", link.Dependent) for link in relations]
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


def _text(data: bytes, problems: Problems) -> str:
    """Return the text with a declaration of UTF-8, so that the parser reads what is checked here."""
    try:
        text = data.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        problems.stop("not_utf8", value=f"byte 0x{data[error.start]:02x}", expected="UTF-8")
    if "\0" in text:
        problems.stop("nul_character", value="NUL", expected="text without NUL")
    declared, end, rest = text.partition("?>") if text.startswith("<?xml") else ("", "", text)
    encoding = ENCODING.search(declared[:1_000])
    if encoding and encoding[1].lower() not in ("utf-8", "us-ascii"):
        problems.stop("not_utf8", value=f"encoding={encoding[1][:50]!r}", expected="UTF-8")
    return f'<?xml version="1.0" encoding="UTF-8"?>{rest if end else text}'


def _layers(data: bytes, problems: Problems) -> Layers:
    """Return the layers that a file has, or reject one with several."""
    etree = import_module("lxml.etree")
    found: dict[str, set[str]] = {}
    for element in etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True)):
        package, _, name = element.tag.removeprefix("{http:///").rpartition(".ecore}")
        layer = f"{package.replace('/', '.')}.{name}"
        if (
            package
            and (layer == NAMED_ENTITY or not layer.startswith(NO_LAYERS))
            and "begin" in element.attrib
        ):
            found.setdefault(layer, set()).update(element.attrib)
    relations = {layer: names for layer, names in found.items() if names >= ENDS}
    spans = {layer: names for layer, names in found.items() if not names & ENDS}
    chosen = []
    for layers, usual in ((spans, SPAN), (relations, RELATION)):
        if len(layers) > 1:
            hint = "Export the document again with one layer of spans and one of relations."
            expected = "one layer of each kind"
            problems.stop("several_layers", value=", ".join(sorted(layers)), expected=expected, hint=hint)
        layer, names = next(iter(layers.items()), (usual, set()))
        chosen += [layer, label_feature(names - NO_FEATURES, problems)]
    return Layers(*chosen)


FORMAT = register(
    Format(
        "cas-xmi",
        "UIMA CAS XMI (INCEpTION)",
        "A document per file, with a layer of spans, such as custom.Span, and one of relations.",
        '<xmi:XMI xmlns:xmi="http://www.omg.org/XMI">',
        roles=("items", "gold", "votes"),
        rank=57,
        recognise=lambda sample: "<xmi:XMI" in "".join(sample.lines[:2])[:2000],
        readers={
            "items": Reader(read, ("name",), by_job=True),
            "votes": Reader(votes_reader(read), ("name", "item")),
        },
        writer=Writer(
            write,
            ("entities", "joint"),
            "UTF-16 units",
            "Tokens become text; paragraphs are the sentences.",
            extra="dkpro-cassis",
        ),
        merge_by="id",
        marks="spans",
    )
)
