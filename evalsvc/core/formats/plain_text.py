"""Plain text: paragraphs between blank lines, split into sentences by spaCy, in the job."""

from __future__ import annotations

from evalsvc.core.formats.registry import Format, Reader, register

FORMAT = register(
    Format(
        "plain-text",
        "Plain text",
        "Every sentence becomes an item, named after the file and its number. Blank lines end paragraphs. "
        "The format must be chosen: any text is plain text.",
        "Ada was born in Turin. She lives in Oslo.",
        roles=("items",),
        rank=99,
        readers={"items": Reader(None, ("name",), loader="workers.sentences")},
        is_stated=True,
        merge_by="id",
        marks="spans",
    )
)
