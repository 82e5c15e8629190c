"""OpenNRE's data and results.

The keys they add to JSON Lines (`token`, `relation`, `anno_relation_list`, `entpair`) are read by the
readers of items and predictions.
"""

from __future__ import annotations

from evalsvc.core.formats.jsonl_items import TEXT_KEYS, read_gold, read_items
from evalsvc.core.formats.jsonl_predictions import read_predictions
from evalsvc.core.formats.registry import Format, Reader, register

GOLD = register(
    Format(
        "opennre-gold",
        "OpenNRE data",
        "One sentence and one relation per line. Lines with the same sentence and pair are one item.",
        '{"h":{"id":"Q1","name":"Ada","pos":[0,3]},"relation":"born_in",'
        '"t":{"id":"Q2","name":"Turin","pos":[16,21]},"text":"Ada was born in Turin."}',
        roles=("items", "gold"),
        rank=30,
        recognise=lambda sample: bool(sample.keys & TEXT_KEYS and sample.keys & {"relation", "token"}),
        readers={"items": Reader(read_items, ("require_text",)), "gold": Reader(read_gold)},
        repeats_items=True,
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
