"""The files of a release: as a folder, and as one zip stream."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from annotation.releases import card_text
from annotation.releases.composition import Composition
from annotation.releases.layout import (
    BLIND,
    FORMAT,
    GOLD,
    GUIDELINE,
    MANIFEST,
    ONTOLOGY,
    PROVENANCE,
    STATISTICS,
    SUMS,
    blind_line,
)
from annotation.testset import GoldChanged, Origin, TestSet, provenance_lines, verified_lines
from evalsvc.core.errors.exceptions import Conflict
from evalsvc.core.web.zip_stream import with_sums, zip_stream

MANY_LINES = 1_000_000  # from here on a file may exceed 2 GB, which must be stated before it


@dataclass(frozen=True, slots=True)
class ReleaseFile:
    """A file of the folder; `parts` makes its bytes anew each time."""

    name: str
    purpose: str
    parts: Callable[[], Iterator[bytes]]


def require_complete(test_set: TestSet) -> None:
    """Reject a set that is not frozen, or whose statistics are still being computed."""
    if test_set.state != TestSet.State.FROZEN:
        raise Conflict("not_frozen", f"{test_set} is {test_set.state}: only frozen sets have release files.")
    if test_set.statistics is None:
        raise Conflict("not_described", f"The statistics of {test_set} are still being computed.")


def files(test_set: TestSet, *, with_gold: bool = True) -> list[ReleaseFile]:
    """List the files in order, all but the checksums.

    Without gold there is nothing that tells a label of a sentence, nor how often a label occurs, nor a digest
    that checks guesses of them.
    """
    require_complete(test_set)
    content = Composition(test_set, with_gold=with_gold, in_release=True)
    parts = [
        _text("README.md", "card", lambda: card_text.readme(content, with_gold=with_gold, files=listed)),
        _json(MANIFEST, "how the set was made", release_manifest(test_set, with_gold=with_gold)),
        _text("CITATION.cff", "citation", lambda: card_text.citation_cff(test_set, with_gold=with_gold)),
        _text("citation.bib", "citation for BibTeX", lambda: card_text.bibtex(test_set, with_gold=with_gold)),
        *_bound_files(test_set, with_gold=with_gold),
    ]
    if with_gold:
        parts.append(_json(STATISTICS, "statistics of the gold", content.statistics))
    parts += line_files(test_set, with_gold=with_gold)
    listed = sorted([(file.name, file.purpose) for file in parts] + [(SUMS, "SHA-256 of all other files")])
    return sorted(parts, key=lambda file: file.name)


def _bound_files(test_set: TestSet, *, with_gold: bool) -> list[ReleaseFile]:
    """List what describes the data and never changes after the freeze; the manifest has the digests."""
    purpose = "labels with their texts, and the steps that led to them"
    found = [_json(ONTOLOGY, purpose, _ontology(test_set, with_gold=with_gold))]
    if guideline := test_set.manifest.get("guideline"):
        found.append(_text(GUIDELINE, "guideline as it was", lambda: f"{guideline.rstrip()}\n"))
    return found


def line_files(test_set: TestSet, *, with_gold: bool = True) -> list[ReleaseFile]:
    """List the files of lines, which may be large and which nothing changes after the freeze."""
    lines = [ReleaseFile(BLIND, "sentences to predict, without labels", lambda: _blind_lines(test_set))]
    if with_gold:
        lines.append(ReleaseFile(GOLD, "gold lines", lambda: verified_lines(test_set)))
        if test_set.manifest.get("provenance_sha256"):
            lines.append(ReleaseFile(PROVENANCE, "what decided each line", lambda: _provenance(test_set)))
    return lines


def _text(name: str, purpose: str, text: Callable[[], str]) -> ReleaseFile:
    return ReleaseFile(name, purpose, lambda: iter([text().encode()]))


def _json(name: str, purpose: str, value: Any) -> ReleaseFile:
    written = msgspec.json.format(msgspec.json.encode(value, order="sorted"), indent=2) + b"\n"
    return ReleaseFile(name, purpose, lambda: iter([written]))


def _provenance(test_set: TestSet) -> Iterator[bytes]:
    digest = hashlib.sha256()
    for line in provenance_lines(test_set):
        digest.update(line)
        yield line
    if digest.hexdigest() != test_set.manifest["provenance_sha256"]:
        raise GoldChanged(test_set)


def _blind_lines(test_set: TestSet) -> Iterator[bytes]:
    return map(blind_line, verified_lines(test_set))


def release_manifest(test_set: TestSet, *, with_gold: bool = True) -> dict[str, Any]:
    """Return what the freeze recorded; people are counted, not named.

    Reasons of decisions are those of sentences left out: the others are in the provenance. Digests are those
    of the files: another set, such as the whole of a split, may be hidden gold.
    """
    stored = test_set.manifest
    identity: dict[str, Any] = {
        "format": FORMAT,
        "name": test_set.name,
        "version": test_set.version,
        "slug": test_set.slug,
        "kind": test_set.kind,
        "origin": test_set.origin,
        "frozen_at": test_set.frozen_at.isoformat() if test_set.frozen_at else None,
        "rows": test_set.rows,
        "negative": test_set.negative,
    }
    if stored.get("binds_files"):  # copies of older sets have a manifest without them
        bound = _bound_files(test_set, with_gold=with_gold)
        identity["files_sha256"] = {file.name: _sha256(file) for file in bound}
    if not with_gold:
        return {name: stored[name] for name in IN_BLIND_MANIFEST if name in stored} | identity
    kept = {name: value for name, value in stored.items() if name not in NOT_IN_MANIFEST}
    excluded = [entry for entry in stored.get("decisions") or () if entry["finding"]]
    # one imported later would change the manifest of gold that others have
    source = TestSet.objects.frozen().filter(twin=test_set, batch=None).first()
    annotated = test_set.twin if test_set.origin == Origin.SOURCE else None
    return kept | _made_of(stored) | identity | {
        "sha256": test_set.sha256,
        "excluded": excluded,
        "people": len(stored.get("people") or ()),
        "source_set": source.slug if source else None,
        "annotated_set": annotated.slug if annotated else None,
    }  # fmt: skip


def _made_of(stored: dict[str, Any]) -> dict[str, Any]:
    """Return how other sets were used, without digests of theirs and of their files."""
    made_of: dict[str, Any] = {}
    if split := stored.get("split"):
        seed = () if split["stratified"] else ("seed",)  # with it, the labels of a part place those of others
        names = ("of", "part", "shares", "keep_together", "stratified", *seed)
        made_of["split"] = {name: split[name] for name in names}
        if file := stored.get("file"):
            made_of["file"] = {name: value for name, value in file.items() if name != "sha256"}
    if mapped := stored.get("mapped"):
        made_of["mapped"] = mapped | {"of": [each["slug"] for each in mapped["of"]]}
    return made_of


IN_BLIND_MANIFEST = ("project", "policy", "policy_version", "k", "na_means", "spans_may_overlap", "evalsvc")
NOT_IN_MANIFEST = (
    *("guideline", "inventory", "ontology", "decisions", "people", "options", "binds_files"),
    "agreement",  # in the statistics, once it may be shown
    "left_out_answers_sha256",  # would check guesses of these answers
)


def _ontology(test_set: TestSet, *, with_gold: bool) -> dict[str, Any]:
    """Return labels, texts and steps; without gold by name, as old imports had the most frequent first."""
    manifest, labels = test_set.manifest, test_set.labels
    texts: dict[str, list[dict[str, Any]]] = manifest.get("inventory") or {}
    if not with_gold:
        labels = _by_name(labels)
        texts = {part: _by_name(entries) for part, entries in texts.items()}
    return {
        "labels": labels,
        "texts": texts,
        "steps": manifest.get("ontology") or [],
    }


def _by_name(labels: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(labels, key=lambda label: label["name"])


def manifest_sha256(test_set: TestSet, *, with_gold: bool = True) -> str:
    """Return the digest of `manifest.json`, which states those of other files."""
    return _sha256(_json(MANIFEST, "", release_manifest(test_set, with_gold=with_gold)))


def _sha256(file: ReleaseFile) -> str:
    return hashlib.sha256(b"".join(file.parts())).hexdigest()


# ---- ways out -------------------------------------------------------------------------------------
def streams(test_set: TestSet, *, with_gold: bool = True) -> Iterator[tuple[str, Iterator[bytes]]]:
    """Yield name and bytes of each file, the checksums last; read each before the next."""
    return with_sums((file.name, file.parts()) for file in files(test_set, with_gold=with_gold))


def write_folder(test_set: TestSet, folder: Path, *, with_gold: bool = True) -> int:
    """Write the files into a new or empty folder; return their number."""
    require_complete(test_set)
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise Conflict("folder_not_empty", f"{folder} is not empty.", hint="Name a new folder.")
    count = 0
    for name, parts in streams(test_set, with_gold=with_gold):
        with (folder / name).open("wb") as file:
            file.writelines(parts)
        count += 1
    return count


def zip_of(test_set: TestSet, *, with_gold: bool = True) -> Iterator[bytes]:
    """Return the folder as one zip in parts, without ever holding it."""
    require_complete(test_set)  # before the response begins
    parts = streams(test_set, with_gold=with_gold)
    return zip_stream(parts, folder=test_set.slug, large=test_set.rows > MANY_LINES)
