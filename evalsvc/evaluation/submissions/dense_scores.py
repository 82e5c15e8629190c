"""Dense score files: rows are items or pairs, columns are labels."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import islice
from typing import Any

from evalsvc.core.formats.npy import ArrayHeader
from evalsvc.core.formats.problems import Problems
from evalsvc.evaluation.benchmarks.file_contract import FileContract
from evalsvc.evaluation.models import Setting

BAG = Setting.Unit.BAG


def rows_of(contract: FileContract, form: str) -> Sequence[Any]:
    """Return the ids (`scores`) or pairs (`bag`) of the rows."""
    return list(contract.expected.ids) if form == "scores" else contract.expected.pairs


def form_of(header: ArrayHeader, contract: FileContract, problems: Problems) -> str:
    """Return the form by the number of rows.

    Reject when no form has that many.
    """
    sizes = _sizes(contract)
    shape = f"scores.shape == ({next(iter(sizes.values()), 'rows')}, {len(contract.labels)})"
    matching = next((form for form, size in sizes.items() if size == header.rows), None)
    if matching is None:
        nouns = {"scores": "sentences", "bag": "pairs"}
        expected = " or ".join(f"{size:,} rows ({nouns[form]})" for form, size in sizes.items())
        expected = expected or "no dense file: this benchmark accepts spans or tags"
        problems.stop("wrong_shape", field="rows", value=header.rows, expected=expected, example=shape)
    return matching


def _sizes(contract: FileContract) -> dict[str, int]:
    units = {setting.unit for setting in contract.settings}
    if Setting.Unit.DOCUMENT in units:
        return {}
    bags = {"bag": len(contract.expected.pairs)} if BAG in units else {}
    return {"scores": len(contract.expected.ids)} | bags


def layout(contract: FileContract, form: str, *, rows: int) -> str:
    """Digest the meaning of rows and columns.

    Reordered gold must not shift scores.
    """
    digest = hashlib.sha256(form.encode())
    for name in [*islice(rows_of(contract, form), rows), *contract.labels]:
        digest.update(repr(name).encode() + b"\n")
    return digest.hexdigest()
