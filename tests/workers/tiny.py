"""A pipeline that learns two words by heart, and the tar it is sent as."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spacy.language import Language

SENTENCES = [
    ("Ada left New Turin", [(0, 3, "PER"), (9, 18, "LOC")]),
    ("It rained", []),
    ("Bo met Cy", [(0, 2, "PER"), (7, 9, "PER")]),
]


def trained() -> Language:
    """An entity recogniser trained until it knows the three sentences."""
    import spacy
    from spacy.training import Example

    nlp = spacy.blank("xx")
    recogniser = nlp.add_pipe("ner")
    for label in ("PER", "LOC"):
        recogniser.add_label(label)
    examples = [Example.from_dict(nlp.make_doc(text), {"entities": spans}) for text, spans in SENTENCES]
    optimizer = nlp.initialize(lambda: examples)
    for _ in range(40):
        nlp.update(examples, sgd=optimizer)
    return nlp


def packed(
    folder: Path, *, root: str = "", leave: Collection[str] = (), more: dict[str, bytes] | None = None
) -> bytes:
    """The folder as one tar, without the files left out, and with more."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder).as_posix()
            if path.is_file() and name not in leave:
                tar.add(path, arcname=f"{root}/{name}" if root else name)
        for name, content in (more or {}).items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return out.getvalue()
