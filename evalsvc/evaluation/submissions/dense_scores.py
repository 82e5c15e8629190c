"""Dense score files: one row per sentence or pair in the benchmark's order, one column per label."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import islice
from typing import Any

from evalsvc.core.formats.npy import Header
from evalsvc.core.formats.problems import Problems
from evalsvc.evaluation.benchmarks.file_contract import Terms
from evalsvc.evaluation.models import Setting

BAG = Setting.Unit.BAG


def rows_of(terms: Terms, form: str) -> Sequence[Any]:
    """What the rows stand for, in order: ids (form `scores`) or pairs (form `bag`)."""
    return list(terms.roster.ids) if form == "scores" else terms.roster.pairs


def columns_of(terms: Terms) -> list[str]:
    return [label["name"] for label in terms.benchmark.labels]


def form_of(header: Header, terms: Terms, problems: Problems) -> str:
    """Whether the rows are sentences or pairs, told by their number; refused when they are neither."""
    columns, negative = len(columns_of(terms)), bool(terms.benchmark.negative)
    sizes = _sizes(terms)
    shape = f"scores.shape == ({next(iter(sizes.values()), 'rows')}, {columns})"
    if header.columns != columns and not (negative and header.columns == columns + 1):
        more = f", or {columns + 1:,} with {terms.benchmark.negative} last" if negative else ""
        problems.stop(
            "wrong_shape", field="columns", found=header.columns, expected=f"{columns:,} columns{more}",
            example=shape,
        )  # fmt: skip
    found = next((form for form, size in sizes.items() if size == header.rows), None)
    if found is None:
        words = {"scores": "sentences", "bag": "pairs"}
        expected = " or ".join(f"{size:,} rows ({words[form]})" for form, size in sizes.items())
        expected = expected or "no dense file: this board takes spans or tags"
        problems.stop("wrong_shape", field="rows", found=header.rows, expected=expected, example=shape)
    return found


def _sizes(terms: Terms) -> dict[str, int]:
    units = {setting.unit for setting in terms.settings}
    if Setting.Unit.DOCUMENT in units:
        return {}
    bags = {"bag": len(terms.roster.pairs)} if BAG in units else {}
    return {"scores": len(terms.roster.ids)} | bags


def layout(terms: Terms, form: str, *, rows: int) -> str:
    """The digest of what rows and columns stand for: a later order of the gold must not shift a score."""
    digest = hashlib.sha256(form.encode())
    for name in [*islice(rows_of(terms, form), rows), *columns_of(terms)]:
        digest.update(repr(name).encode() + b"\n")
    return digest.hexdigest()
