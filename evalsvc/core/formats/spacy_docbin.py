"""spaCy DocBin. Written and read outside of the web, which never loads spaCy."""

from __future__ import annotations

from evalsvc.core.formats.registry import Format, Reader, Writer, register

FORMAT = register(
    Format(
        "spacy-docbin",
        "spaCy DocBin",
        'Documents of spaCy: doc.ents without overlaps, all spans in doc.spans["sc"], '
        "relations in doc._.rel.",
        "corpus.spacy",
        roles=("items", "gold"),
        rank=98,
        magic=b"x\x9c",
        readers={"items": Reader(None, loader="workers.docbin")},
        merge_by="id",
        marks="spans",
        writer=Writer(
            None,
            ("entities", "joint"),
            "tokens",
            "Relations are of first tokens; those of spans that begin at the same token can't be told apart.",
            loader="workers.docbin",
        ),
    )
)
