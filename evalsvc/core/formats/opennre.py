"""OpenNRE's data and results: lines like ours, and files for its training."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from evalsvc.core.formats.documents import Document
from evalsvc.core.formats.jsonl_items import FORMAT as ITEMS
from evalsvc.core.formats.jsonl_items import TEXT_KEYS
from evalsvc.core.formats.jsonl_predictions import read_predictions
from evalsvc.core.formats.pairs import json_lines, mention, pairs, place
from evalsvc.core.formats.registry import Export, Format, Reader, Writer, register

NEGATIVE = "NA"


def write_opennre(documents: Iterable[Document], export: Export) -> Iterator[tuple[str, Iterable[bytes]]]:
    """Yield the lines, one per label, then the numbers of the relations."""
    yield f"{export.name}.txt", json_lines(_opennre_objects(documents))
    numbers = {name: number for number, name in enumerate([NEGATIVE, *export.relations])}
    yield "rel2id.json", [msgspec.json.encode(numbers) + b"\n"]


def _opennre_objects(documents: Iterable[Document]) -> Iterator[dict[str, Any]]:
    for document, head, tail in pairs(documents):
        places = [place(head), place(tail)]
        if document.has_tokens:
            sentence: dict[str, Any] = {"token": document.tokens}
            places = [document.in_tokens(*at) for at in places]
        else:
            sentence = {"text": document.text}
        mentions = {"h": mention(head, places[0]), "t": mention(tail, places[1])}
        for label in document.labels or (NEGATIVE,):
            yield sentence | mentions | {"relation": label}


register(
    Format(
        "opennre-gold",
        "OpenNRE data",
        "One sentence and one relation per line. Lines with the same sentence and pair are one item.",
        '{"h":{"id":"Q1","name":"Ada","pos":[0,3]},"relation":"born_in",'
        '"t":{"id":"Q2","name":"Turin","pos":[16,21]},"text":"Ada was born in Turin."}',
        roles=("items", "gold"),
        rank=30,
        recognise=lambda sample: bool(sample.keys & TEXT_KEYS and sample.keys & {"relation", "token"}),
        readers=ITEMS.readers,
        repeats_items=True,
        writer=Writer(
            write_opennre,
            ("relations",),
            "code points of the text; tokens, where the set has them",
            "Ids; lines of one pair become one item again.",
        ),
        marks="pairs",
    )
)
RESULTS = register(
    Format(
        "opennre-results",
        "OpenNRE results",
        "One scored triple of an entity pair per line.",
        '{"entpair":["Q1","Q2"],"relation":"born_in","score":0.93}',
        roles=("predictions",),
        rank=50,
        recognise=lambda sample: "entpair" in sample.keys,
        readers={"predictions": Reader(read_predictions)},
        task="relations",
    )
)
