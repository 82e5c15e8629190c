"""A release as one side of a comparison: from the service, or from a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from annotation.releases.layout import GOLD, MANIFEST, ONTOLOGY, PROVENANCE
from annotation.releases.outcome import Rules, Step
from annotation.testset import TestSet, export_lines, provenance_lines

Lines = Callable[[], Iterable[bytes]]


@dataclass(frozen=True)
class Side:
    """Lines of a release, and what decided them."""

    title: str
    kind: str
    manifest: Mapping[str, Any]
    rules: Rules
    gold: Lines
    provenance: Lines


def rules_of(manifest: Mapping[str, Any], kind: str = "") -> Rules:
    """Return the rules that a freeze recorded."""
    steps = [msgspec.convert(step, Step) for step in manifest.get("ontology") or ()]
    overlap = bool(manifest.get("spans_may_overlap"))
    return Rules(kind or manifest.get("kind", ""), manifest.get("policy", ""), overlap, steps)


def side_of(test_set: TestSet) -> Side:
    """Return a frozen test set."""
    manifest = test_set.manifest
    return Side(
        str(test_set),
        test_set.kind,
        manifest,
        rules_of(manifest, test_set.kind),
        lambda: export_lines(test_set),
        lambda: provenance_lines(test_set),
    )


def side_of_folder(folder: Path) -> Side:
    """Return a folder of a release; raise OSError or msgspec.MsgspecError for another one."""
    decode = msgspec.json.decode
    manifest = decode((folder / MANIFEST).read_bytes(), type=dict[str, Any])
    steps = decode((folder / ONTOLOGY).read_bytes(), type=dict[str, Any]).get("steps") or []
    manifest["ontology"] = steps
    path = folder / PROVENANCE

    def provenance() -> Iterable[bytes]:
        return path.read_bytes().splitlines(keepends=True) if path.is_file() else ()

    return Side(
        f"{manifest['name']} {manifest['version']}",
        manifest["kind"],
        manifest,
        rules_of(manifest),
        lambda: (folder / GOLD).read_bytes().splitlines(keepends=True),
        provenance,
    )
