"""spaCy DocBin: frozen test sets out, documents in."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import spacy
from spacy.attrs import ENT_IOB, ENT_TYPE, ORTH, SPACY  # type: ignore[import-not-found]
from spacy.tokens import Doc, DocBin

from evalsvc.core.formats.documents import Document
from evalsvc.core.formats.json_documents import read_whole
from evalsvc.core.formats.json_lines import identifier
from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.records import ItemLine, Link, Span
from evalsvc.core.formats.registry import Export
from evalsvc.core.formats.spacy_docbin import FORMAT
from evalsvc.core.formats.text_lines import LIMITS, Limits, Source
from evalsvc.core.formats.text_spans import checked_spans

GROUP = "sc"
AMBIGUOUS = "relations of spans that begin at the same token as another"
RELATIONS = ("._.", "rel", None, None)
# the only columns that are read: no parse or other annotation of strangers reaches spaCy's own code
COLUMNS = (ORTH, SPACY, ENT_IOB, ENT_TYPE)
MOST_BYTES = 1 << 28


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
        starts = Counter(span.start for span in spans)
        relations: dict[tuple[int, int], dict[str, float]] = {}
        for head, name, tail in document.links:
            named = relations.setdefault((spans[head].start, spans[tail].start), {})
            export.lost[AMBIGUOUS] += starts[spans[head].start] > 1 or starts[spans[tail].start] > 1
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


def read(source: Source, *, problems: Problems, limits: Limits = LIMITS) -> Iterator[tuple[int, ItemLine]]:
    """Yield (number, item): spans of the group `sc`, of the only group, or of `doc.ents`."""
    data = read_whole(source, problems=problems, limits=limits, accepted=FORMAT.magic)
    most = min(MOST_BYTES, limits.max_bytes)
    try:
        unpacker = zlib.decompressobj()
        unpacker.decompress(data, most)
        if unpacker.unconsumed_tail:
            expected = f"at most {most:,} bytes unpacked"
            problems.stop("too_large", value=f"more than {most:,} bytes", expected=expected)
        docs = DocBin().from_bytes(data)
        kept = [at for at, column in enumerate(docs.attrs) if column in COLUMNS]
        docs.attrs = [docs.attrs[at] for at in kept]
        docs.tokens = [tokens[:, kept] for tokens in docs.tokens]
        for number, doc in enumerate(docs.get_docs(spacy.blank("xx").vocab), 1):
            problems.lines_read = number
            item = _item(doc, number, problems)
            if item is not None:
                yield number, item
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, zlib.error) as error:
        problems.stop("bad_binary", value=f"{type(error).__name__}: {error}", expected="a DocBin of spaCy")


def _item(doc: Doc, number: int, problems: Problems) -> ItemLine | None:
    groups = list(doc.spans)
    group = GROUP if GROUP in groups else groups[0] if len(groups) == 1 else None
    marked = [
        (span.start, span.end, span.label_) for span in (doc.ents if group is None else doc.spans[group])
    ]
    outside = next((span for span in marked if not 0 <= span[0] < span[1] <= len(doc)), None)
    if outside is not None:
        problems.add("bad_span", line=number, value=str(outside), expected=f"tokens 0–{len(doc)}")
        return None
    spans: list[Span] = [(doc[a].idx, doc[b - 1].idx + len(doc[b - 1]), label) for a, b, label in marked]
    first = {start: at for at, (start, _, _) in reversed(list(enumerate(marked)))}
    user_data: dict[Any, Any] = doc.user_data
    given: Any = user_data.get(RELATIONS) or {}
    links: list[Link] = []
    for (head, tail), names in given.items():
        if head not in first or tail not in first:
            expected = "first tokens of spans"
            problems.add("bad_reference", line=number, value=f"{head}, {tail}", expected=expected)
            return None
        links += [(first[head], str(name), first[tail]) for name, score in names.items() if score >= 0.5]
    item_id = identifier(user_data.get("id") or number, line=number, field="id", problems=problems)
    checked = checked_spans(spans, links, length=len(doc.text), line=number, problems=problems)
    if item_id is None or checked is None:
        return None
    return ItemLine(item_id, doc.text, spans=checked[0], relations=checked[1])
