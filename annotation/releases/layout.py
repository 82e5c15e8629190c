"""Names and forms of the files in a release. Pure."""

from __future__ import annotations

import msgspec

from evalsvc.core.formats.records import canonical_line

FORMAT = "evalsvc release 1"
GOLD, BLIND, PROVENANCE = "gold.jsonl", "blind.jsonl", "provenance.jsonl"
MANIFEST, ONTOLOGY, STATISTICS, SUMS = "manifest.json", "ontology.json", "statistics.json", "SHA256SUMS"
GUIDELINE = "guideline.md"
LABEL_KEYS = ("relations", "spans")


def blind_line(line: bytes) -> bytes:
    """Return a gold line without its labels."""
    item = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
    return canonical_line({key: value for key, value in item.items() if key not in LABEL_KEYS})
